//! The fields of a TCP header that most packets have.

/// The flags of a TCP header (RFC 9293 section 3.1, RFC 3168).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct TcpFlags(pub u8);

impl TcpFlags {
    /// No more data from the sender.
    pub const FIN: TcpFlags = TcpFlags(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: TcpFlags = TcpFlags(0x02);
    /// Reset the connection.
    pub const RST: TcpFlags = TcpFlags(0x04);
    /// Push.
    pub const PSH: TcpFlags = TcpFlags(0x08);
    /// The acknowledgment number is valid.
    pub const ACK: TcpFlags = TcpFlags(0x10);
    /// Urgent pointer valid.
    pub const URG: TcpFlags = TcpFlags(0x20);
    /// ECN echo.
    pub const ECE: TcpFlags = TcpFlags(0x40);
    /// Congestion window reduced.
    pub const CWR: TcpFlags = TcpFlags(0x80);

    /// True if any bit of `other` is set.
    #[inline]
    pub const fn has(self, other: TcpFlags) -> bool {
        self.0 & other.0 != 0
    }
    /// Both sets of flags.
    #[inline]
    pub const fn with(self, other: TcpFlags) -> TcpFlags {
        TcpFlags(self.0 | other.0)
    }
}

/// The usual fields of a TCP header, in wire widths.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpFields {
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags.
    pub flags: TcpFlags,
    /// Window, as on the wire: not scaled.
    pub window: u16,
    /// Timestamp value and echo reply (RFC 7323), if the option is there.
    pub timestamps: Option<(u32, u32)>,
}
