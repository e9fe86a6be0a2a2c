//! Identifiers are small integers. An address plan turns them into addresses on the wire.

macro_rules! id {
    ($(#[$doc:meta])* $name:ident($int:ty)) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
        pub struct $name(pub $int);
        impl $name {
            /// As an index into a table.
            #[inline]
            pub const fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id!(/// A node of the topology, host or router.
    NodeId(u32));
id!(/// One direction of a link: the port that feeds it and the wire behind it.
    LinkId(u32));
id!(/// A port of a node, numbered from 0 in the order in which its links were declared.
    PortId(u16));
id!(/// A flow of the workload, in the order of the flow table.
    FlowId(u32));
id!(/// An IP address by its place in the address plan. A host with many sockets has several.
    Addr(u32));
id!(/// A socket of a host: its local port number follows from it.
    SocketId(u32));

impl LinkId {
    /// The other direction: links come in pairs.
    #[inline]
    pub const fn opposite(self) -> LinkId {
        LinkId(self.0 ^ 1)
    }
}

/// Address and port: one end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Endpoint {
    /// The address.
    pub addr: Addr,
    /// The transport port.
    pub port: u16,
}

/// The two ECN bits of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECN-capable, code point ECT(1).
    Ect1 = 1,
    /// ECN-capable, code point ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// From the two low bits.
    #[inline]
    pub const fn from_bits(bits: u8) -> Ecn {
        match bits & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    /// True if a router may mark instead of drop.
    pub const fn is_capable(self) -> bool {
        !matches!(self, Ecn::NotEct)
    }
}

/// The IP version that the address plan of a run speaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum IpVersion {
    /// IPv4, 20-byte header and up to 40 bytes of options.
    #[default]
    V4,
    /// IPv6, 40-byte header.
    V6,
}
