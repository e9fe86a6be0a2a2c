//! The address plan: which bytes stand for an [`Addr`] on the wire.
//!
//! ```text
//! IPv4   10 . id[23..16] . id[15..8] . id[7..0]             10.0.0.0/8, 24-bit ids
//! IPv6   fd00:f0be:0000:0000:0000:0000 : id[31..16] : id[15..0]     /96, 32-bit ids
//! ```

use crate::prefix::Prefix;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::net::IpAddr;
use forebay_base::{Addr, IpVersion};

const V4_IDS: u32 = 1 << 24;

/// Addresses are small integers inside; at the wire a plan turns them into private IPv4 addresses
/// (RFC 1918) or unique local IPv6 addresses (RFC 4193), and back.
///
/// Addresses of strangers stand for the longest prefix that they begin with
/// ([`AddressPlan::with_prefixes`]): no table grows with them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressPlan {
    v4_network: u8,
    v6_prefix: [u8; 12],
    /// Longest first.
    prefixes: Option<Arc<[(Prefix, Addr)]>>,
}

impl Default for AddressPlan {
    fn default() -> Self {
        AddressPlan::new(10, [0xfd, 0, 0xf0, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0])
    }
}

/// What an address on the wire stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// An id of the plan.
    Own(Addr),
    /// A prefix, which has this id.
    Foreign(Addr),
    /// No prefix, though there are some: nobody has a route.
    Nowhere,
    /// There are no prefixes, and it is none of the plan.
    Unknown,
}

/// The id of addresses that nobody has a route to.
const NOWHERE: Addr = Addr(u32::MAX);

impl Found {
    /// The ids of source and destination, and whether one of them is foreign. None: nobody can
    /// answer, or nobody is meant.
    pub fn ends(src: Found, dst: Found) -> Option<((Addr, Addr), bool)> {
        let own = |found| matches!(found, Found::Own(_));
        let id = |found| match found {
            Found::Own(id) | Found::Foreign(id) => Some(id),
            Found::Nowhere | Found::Unknown => None,
        };
        let to = if dst == Found::Nowhere { Some(NOWHERE) } else { id(dst) };
        Some(((id(src)?, to?), !(own(src) && own(dst))))
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
        AddressPlan { v4_network, v6_prefix, prefixes: None }
    }
    /// The same, in which addresses that begin with a prefix stand for the id beside it.
    #[must_use]
    pub fn with_prefixes(mut self, mut prefixes: Vec<(Prefix, Addr)>) -> AddressPlan {
        prefixes.sort_by_key(|(prefix, _)| core::cmp::Reverse(prefix.bits()));
        self.prefixes = (!prefixes.is_empty()).then(|| prefixes.into());
        self
    }
    /// The whole plan as prefixes: those of its ids.
    pub fn own(&self) -> [Prefix; 2] {
        let v4 = IpAddr::from([self.v4_network, 0, 0, 0]);
        let mut v6 = [0; 16];
        v6[..12].copy_from_slice(&self.v6_prefix);
        [(v4, 8), (IpAddr::from(v6), 96)]
            .map(|(address, bits)| Prefix::new(address, bits).expect("the other bits are zero"))
    }
    /// What an address of a packet stands for.
    pub(crate) fn find_v4(&self, bytes: [u8; 4]) -> Found {
        self.from_v4(bytes).map_or_else(|| self.foreign(bytes.into()), Found::Own)
    }
    /// The same of IPv6.
    pub(crate) fn find_v6(&self, bytes: [u8; 16]) -> Found {
        self.from_v6(bytes).map_or_else(|| self.foreign(bytes.into()), Found::Own)
    }
    #[cold]
    fn foreign(&self, address: IpAddr) -> Found {
        let Some(prefixes) = &self.prefixes else { return Found::Unknown };
        let found = prefixes.iter().find(|(prefix, _)| prefix.contains(address));
        found.map_or(Found::Nowhere, |(_, id)| Found::Foreign(*id))
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
    use alloc::string::ToString;

    #[test]
    fn the_longest_prefix_counts() {
        let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
        let plan = AddressPlan::default().with_prefixes(alloc::vec![
            (prefix("0.0.0.0/0"), Addr(7)),
            (prefix("192.0.2.0/24"), Addr(8)),
            (prefix("192.0.2.128/25"), Addr(9)),
            (prefix("2001:db8::/32"), Addr(10)),
        ]);
        assert_eq!(plan.find_v4([10, 0, 0, 3]), Found::Own(Addr(3)));
        assert_eq!(plan.find_v4([192, 0, 2, 127]), Found::Foreign(Addr(8)));
        assert_eq!(plan.find_v4([192, 0, 2, 128]), Found::Foreign(Addr(9)));
        assert_eq!(plan.find_v4([8, 8, 8, 8]), Found::Foreign(Addr(7)));
        let mut v6 = [0; 16];
        v6[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
        assert_eq!(plan.find_v6(v6), Found::Foreign(Addr(10)));
        v6[0] = 0x30;
        assert_eq!(plan.find_v6(v6), Found::Nowhere);
        assert_eq!(AddressPlan::default().find_v6(v6), Found::Unknown);
        let (own, foreign) = (Found::Own(Addr(3)), Found::Foreign(Addr(8)));
        assert_eq!(Found::ends(own, own), Some(((Addr(3), Addr(3)), false)));
        assert_eq!(Found::ends(own, foreign), Some(((Addr(3), Addr(8)), true)));
        assert_eq!(Found::ends(foreign, Found::Nowhere), Some(((Addr(8), NOWHERE), true)));
        assert_eq!(Found::ends(Found::Nowhere, own), None);
        assert_eq!(Found::ends(own, Found::Unknown), None);
        assert_eq!(plan.own().map(|own| own.to_string()), ["10.0.0.0/8", "fd00:f0be::/96"]);
    }

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
