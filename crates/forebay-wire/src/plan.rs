//! The address plan: which bytes stand for an [`Addr`] on the wire.
//!
//! ```text
//! IPv4   10 . id[23..16] . id[15..8] . id[7..0]             10.0.0.0/8, 24-bit ids
//! IPv6   fd00:f0be:0000:0000:0000:0000 : id[31..16] : id[15..0]     /96, 32-bit ids
//! ```

use core::fmt;
use forebay_base::{Addr, IpVersion};

const V4_IDS: u32 = 1 << 24;

/// Addresses are small integers inside; at the wire a plan turns them into private IPv4 addresses
/// (RFC 1918) or unique local IPv6 addresses (RFC 4193), and back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressPlan {
    v4_network: u8,
    v6_prefix: [u8; 12],
}

impl Default for AddressPlan {
    fn default() -> Self {
        AddressPlan::new(10, [0xfd, 0, 0xf0, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0])
    }
}

/// An id has no IPv4 address: it needs more than 24 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlanError(pub Addr);

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "address id {} has no IPv4 address: the plan has 2^24", self.0.0)
    }
}

impl core::error::Error for PlanError {}

impl AddressPlan {
    /// A plan with another IPv4 /8 network (its first octet) and another IPv6 /96 prefix than the
    /// default's, for live runs next to a network that uses those.
    pub const fn new(v4_network: u8, v6_prefix: [u8; 12]) -> AddressPlan {
        AddressPlan { v4_network, v6_prefix }
    }
    /// The IPv4 address of `addr`.
    pub fn to_v4(&self, addr: Addr) -> Result<[u8; 4], PlanError> {
        if addr.0 >= V4_IDS {
            return Err(PlanError(addr));
        }
        let [_, b, c, d] = addr.0.to_be_bytes();
        Ok([self.v4_network, b, c, d])
    }
    /// The id of an IPv4 address; None outside the plan.
    pub fn from_v4(&self, bytes: [u8; 4]) -> Option<Addr> {
        let [network, b, c, d] = bytes;
        (network == self.v4_network).then(|| Addr(u32::from_be_bytes([0, b, c, d])))
    }
    /// The IPv6 address of `addr`.
    pub fn to_v6(&self, addr: Addr) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..12].copy_from_slice(&self.v6_prefix);
        bytes[12..].copy_from_slice(&addr.0.to_be_bytes());
        bytes
    }
    /// The id of an IPv6 address; None outside the plan.
    pub fn from_v6(&self, bytes: [u8; 16]) -> Option<Addr> {
        let id = bytes.strip_prefix(&self.v6_prefix)?.first_chunk()?;
        Some(Addr(u32::from_be_bytes(*id)))
    }
    /// The wire addresses of the ends of a packet.
    pub(crate) fn ends(&self, version: IpVersion, ends: (Addr, Addr)) -> Result<Ends, PlanError> {
        let (src, dst) = ends;
        Ok(match version {
            IpVersion::V4 => Ends::V4([self.to_v4(src)?, self.to_v4(dst)?]),
            IpVersion::V6 => Ends::V6([self.to_v6(src), self.to_v6(dst)]),
        })
    }
}

/// Source and destination as on the wire.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Ends {
    V4([[u8; 4]; 2]),
    V6([[u8; 16]; 2]),
}

impl Ends {
    /// Source and destination bytes in one run, as pseudo headers have them.
    pub(crate) fn as_bytes(&self) -> &[u8] {
        match self {
            Ends::V4(ends) => ends.as_flattened(),
            Ends::V6(ends) => ends.as_flattened(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_plan_by_hand() {
        let plan = AddressPlan::default();
        assert_eq!(plan.to_v4(Addr(0x01_02_03)), Ok([10, 1, 2, 3]));
        assert_eq!(plan.from_v4([10, 1, 2, 3]), Some(Addr(0x01_02_03)));
        assert_eq!(plan.from_v4([11, 1, 2, 3]), None);
        assert_eq!(plan.to_v4(Addr(1 << 24)), Err(PlanError(Addr(1 << 24))));
        let v6 = [0xfd, 0, 0xf0, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0, 0x89, 0xab, 0xcd, 0xef];
        assert_eq!(plan.to_v6(Addr(0x89ab_cdef)), v6);
        assert_eq!(plan.from_v6(v6), Some(Addr(0x89ab_cdef)));
        let mut outside = v6;
        outside[11] = 1;
        assert_eq!(plan.from_v6(outside), None);
    }
}
