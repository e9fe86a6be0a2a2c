//! Prefixes of addresses outside the plan: whole networks behind one host.

use alloc::string::{String, ToString};
use core::fmt;
use core::net::IpAddr;
use core::str::FromStr;
use forebay_base::IpVersion;

/// A prefix of IPv4 or IPv6 addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    /// Its address, bits beyond its length zero.
    address: IpAddr,
    bits: u8,
}

/// A text or a length that is no prefix: what is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixError(String);

impl fmt::Display for PrefixError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for PrefixError {}

impl Prefix {
    /// The first `bits` of `address`. Err if it has fewer, or one of its other bits is set: the
    /// prefix that was meant may be another.
    pub fn new(address: IpAddr, bits: u8) -> Result<Prefix, PrefixError> {
        let most = width(&address);
        if bits > most {
            let why = alloc::format!("a prefix of {bits} bits, and its address has {most}");
            return Err(PrefixError(why));
        }
        let plain = masked(address, bits);
        if plain != address {
            let why = alloc::format!("{address} has bits beyond /{bits}: {plain}/{bits}?");
            return Err(PrefixError(why));
        }
        Ok(Prefix { address, bits })
    }
    /// Number of bits that count.
    pub fn bits(&self) -> u8 {
        self.bits
    }
    /// Of its addresses.
    pub fn version(&self) -> IpVersion {
        if self.address.is_ipv4() { IpVersion::V4 } else { IpVersion::V6 }
    }
    /// True if `address` begins with it.
    pub fn contains(&self, address: IpAddr) -> bool {
        address.is_ipv4() == self.address.is_ipv4() && masked(address, self.bits) == self.address
    }
    /// True if all of its addresses are among those of `other`.
    pub fn is_within(&self, other: &Prefix) -> bool {
        self.bits >= other.bits && other.contains(self.address)
    }
    /// An address that a host may have: the second one, since the first is that of the network; the
    /// only one of a prefix that has one.
    pub fn host_address(&self) -> IpAddr {
        let next = u128::from(self.bits < width(&self.address));
        match self.address {
            IpAddr::V4(address) => IpAddr::V4((u32::from(address) | next as u32).into()),
            IpAddr::V6(address) => IpAddr::V6((u128::from(address) | next).into()),
        }
    }
}

fn width(address: &IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The address with its first bits only.
fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4((u32::from(address) & mask).into())
        }
        IpAddr::V6(address) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6((u128::from(address) & mask).into())
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

impl FromStr for Prefix {
    type Err = PrefixError;
    fn from_str(text: &str) -> Result<Prefix, PrefixError> {
        let form = || PrefixError("an address, a slash and a number of bits".to_string());
        let (address, bits) = text.split_once('/').ok_or_else(form)?;
        let plain = bits.bytes().all(|byte| byte.is_ascii_digit());
        let address = address.parse().map_err(|_| form())?;
        Prefix::new(address, bits.parse().ok().filter(|_| plain).ok_or_else(form)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn prefixes_are_read_and_written() {
        for text in ["0.0.0.0/0", "192.0.2.0/24", "192.0.2.7/32", "::/0", "2001:db8::/32"] {
            assert_eq!(prefix(text).to_string(), text);
        }
        for (text, what) in [
            ("192.0.2.0", "a slash"),
            ("192.0.2.0/", "a slash"),
            ("192.0.2/24", "a slash"),
            ("192.0.2.0/+24", "a slash"),
            ("192.0.2.0/300", "a slash"),
            ("/24", "a slash"),
            ("192.0.2.0/33", "33 bits, and its address has 32"),
            ("2001:db8::/129", "129 bits, and its address has 128"),
            ("192.0.2.1/24", "192.0.2.0/24?"),
            ("2001:db8::1/64", "2001:db8::/64?"),
        ] {
            let error = text.parse::<Prefix>().expect_err(text).to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    #[test]
    fn what_is_in_a_prefix() {
        let address = |text: &str| text.parse::<IpAddr>().expect("an address");
        let net = prefix("192.0.2.128/25");
        assert!(net.contains(address("192.0.2.128")) && net.contains(address("192.0.2.255")));
        assert!(!net.contains(address("192.0.2.127")) && !net.contains(address("::")));
        assert!(prefix("::/0").contains(address("ff02::1")));
        assert!(net.is_within(&prefix("0.0.0.0/0")) && net.is_within(&net));
        assert!(!prefix("0.0.0.0/0").is_within(&net) && !net.is_within(&prefix("::/0")));
        assert_eq!(net.host_address(), address("192.0.2.129"));
        assert_eq!(prefix("192.0.2.7/32").host_address(), address("192.0.2.7"));
        assert_eq!(prefix("2001:db8::/32").host_address(), address("2001:db8::1"));
    }
}
