//! Numbers that nobody else can foresee: initial sequence numbers (RFC 9293 section 3.4.1, RFC
//! 6528) and keys of MPTCP follow from a secret where there are strangers.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// The seed of what one end of a flow, which has this number, chooses: who knows what others have
/// chosen, and not the secret, knows nothing of it.
pub fn keyed_seed(secret: [u64; 2], end: u64) -> u64 {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&secret[0].to_be_bytes());
    key[8..].copy_from_slice(&secret[1].to_be_bytes());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key of any length");
    mac.update(&end.to_be_bytes());
    let hash = mac.finalize().into_bytes();
    u64::from_be_bytes(hash[..8].try_into().expect("eight bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed with hashlib and hmac of Python 3.
    #[test]
    fn it_is_hmac_sha256() {
        assert_eq!(keyed_seed([0, 0], 0), ZERO);
        assert_eq!(keyed_seed([0x0123_4567_89ab_cdef, 42], 7), OTHER);
    }

    const ZERO: u64 = 0xf375_180a_ba92_8884;
    const OTHER: u64 = 0xcd62_3707_5155_bd94;
}
