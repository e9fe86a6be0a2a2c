//! The TCP header (RFC 9293 section 3.1), with timestamps unaligned where Forebay writes them.
//!
//! ```text
//!   0                   1                   2                   3
//!   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//!  +-------------------------------+-------------------------------+
//!  |          source port          |       destination port        |   0
//!  +-------------------------------+-------------------------------+
//!  |                        sequence number                        |   4
//!  +---------------------------------------------------------------+
//!  |                     acknowledgment number                     |   8
//!  +-------+-------+-+-+-+-+-+-+-+-+-------------------------------+
//!  |offset |  rsvd |C|E|U|A|P|R|S|F|            window             |  12
//!  +-------+-------+-+-+-+-+-+-+-+-+-------------------------------+
//!  |            checksum           |        urgent pointer         |  16
//!  +---------------+---------------+-------------------------------+
//!  |   kind = 8    |  length = 10  |     timestamp value, high     |  20
//!  +---------------+---------------+-------------------------------+
//!  |     timestamp value, low      |   timestamp echo reply, high  |  24
//!  +-------------------------------+-------------------------------+
//!  |   timestamp echo reply, low   |  other options, zero padding  |  28
//!  +-------------------------------+-------------------------------+
//! ```
//!
//! Timestamps at byte 20 are part of the packet itself; anywhere else (after two NOPs, as Linux
//! sends them) they are one of the other options, kept verbatim.

use crate::checksum::Sum;
use crate::plan::Ends;
use forebay_base::{MAX_OPTION_BYTES, TcpFields, TcpFlags, kind};

/// The protocol number of TCP.
pub(crate) const PROTOCOL: u8 = 6;
/// Without options, in bytes.
pub(crate) const MIN_HEADER: usize = 20;
/// With 40 bytes of options.
pub(crate) const MAX_HEADER: usize = MIN_HEADER + MAX_OPTION_BYTES;
/// Where the checksum stands.
pub(crate) const CHECKSUM: usize = 16;
const TIMESTAMP_BYTES: u8 = 10;

/// The fields of a header.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tcp<'a> {
    pub ports: (u16, u16),
    pub fields: TcpFields,
    /// 4 bits.
    pub reserved: u8,
    pub urgent: u16,
    /// After leading timestamps; padded to the end of the header when parsed, by `write` when
    /// written.
    pub options: &'a [u8],
}

impl<'a> Tcp<'a> {
    /// The header of a whole segment between `ends`, and its payload. None where `write` would not
    /// give the same bytes back: a wrong checksum, or a header shorter than 20 bytes or longer than
    /// the segment.
    pub(crate) fn parse(segment: &'a [u8], ends: &Ends) -> Option<(Tcp<'a>, &'a [u8])> {
        let fixed: &[u8; MIN_HEADER] = segment.first_chunk()?;
        let word = |at: usize| u16::from_be_bytes([fixed[at], fixed[at + 1]]);
        let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let header_len = usize::from(fixed[12] >> 4) * 4;
        if header_len < MIN_HEADER {
            return None;
        }
        let (header, payload) = segment.split_at_checked(header_len)?;
        // The pseudo header is not zero, so a computed field is never 0xffff, though that might
        // verify.
        if segment_checksum(segment, ends) != 0 || word(CHECKSUM) == 0xffff {
            return None;
        }
        let (timestamps, options) = split_timestamps(&header[MIN_HEADER..]);
        let fields = TcpFields {
            seq: long(4),
            ack: long(8),
            flags: TcpFlags(fixed[13]),
            window: word(14),
            timestamps,
        };
        let ports = (word(0), word(2));
        Some((
            Tcp { ports, fields, reserved: fixed[12] & 0x0f, urgent: word(18), options },
            payload,
        ))
    }

    /// Write the header with a zero checksum. Returns its length.
    pub(crate) fn write(&self, out: &mut [u8; MAX_HEADER]) -> usize {
        let TcpFields { seq, ack, flags, window, timestamps } = self.fields;
        let mut at = MIN_HEADER;
        if let Some((value, echo)) = timestamps {
            out[at..at + 2].copy_from_slice(&[kind::TIMESTAMPS, TIMESTAMP_BYTES]);
            out[at + 2..at + 6].copy_from_slice(&value.to_be_bytes());
            out[at + 6..at + 10].copy_from_slice(&echo.to_be_bytes());
            at += usize::from(TIMESTAMP_BYTES);
        }
        out[at..at + self.options.len()].copy_from_slice(self.options);
        at += self.options.len();
        let header_len = at.next_multiple_of(4);
        out[at..header_len].fill(0);
        out[..2].copy_from_slice(&self.ports.0.to_be_bytes());
        out[2..4].copy_from_slice(&self.ports.1.to_be_bytes());
        out[4..8].copy_from_slice(&seq.to_be_bytes());
        out[8..12].copy_from_slice(&ack.to_be_bytes());
        out[12] = (header_len as u8 / 4) << 4 | self.reserved;
        out[13] = flags.0;
        out[14..16].copy_from_slice(&window.to_be_bytes());
        out[CHECKSUM..18].fill(0);
        out[18..20].copy_from_slice(&self.urgent.to_be_bytes());
        header_len
    }
}

fn split_timestamps(options: &[u8]) -> (Option<(u32, u32)>, &[u8]) {
    match options.split_first_chunk() {
        Some((&[kind::TIMESTAMPS, TIMESTAMP_BYTES, a, b, c, d, e, f, g, h], rest)) => {
            let stamps = (u32::from_be_bytes([a, b, c, d]), u32::from_be_bytes([e, f, g, h]));
            (Some(stamps), rest)
        }
        _ => (None, options),
    }
}

/// The checksum over pseudo header (RFC 9293 section 3.1, RFC 8200 section 8.1) and segment: what
/// belongs into its field if that is zero now, and zero if the field is right.
pub(crate) fn segment_checksum(segment: &[u8], ends: &Ends) -> u16 {
    let mut sum = Sum::default();
    sum.bytes(ends.as_bytes());
    sum.word(u32::from(PROTOCOL));
    sum.word(segment.len() as u32);
    sum.bytes(segment);
    sum.checksum()
}
