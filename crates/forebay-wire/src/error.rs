//! Why bytes are not a packet.

use core::fmt;

/// Why bytes were refused. What parses but is not understood is no error: it becomes an opaque
/// packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum ParseError {
    /// The bytes end before the IP header does, or before the length that it states.
    Truncated,
    /// The IP version is neither 4 nor 6.
    Version,
    /// A length field contradicts another, or bytes follow after the stated length.
    Length,
    /// The IPv4 header checksum is not the one that RFC 1071 gives.
    Checksum,
    /// Longer than the 65 535 bytes that a packet can have inside.
    Unsupported,
    /// The source or destination lies outside the address plan.
    UnknownAddress,
    /// Fragments that do not make one whole datagram.
    Pieces,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ParseError::Truncated => "packet ends before its stated length",
            ParseError::Version => "IP version is neither 4 nor 6",
            ParseError::Length => "length fields contradict each other or the number of bytes",
            ParseError::Checksum => "wrong IPv4 header checksum",
            ParseError::Unsupported => "packet longer than 65535 bytes",
            ParseError::UnknownAddress => "address outside the address plan",
            ParseError::Pieces => "fragments do not make one whole datagram",
        })
    }
}

impl core::error::Error for ParseError {}
