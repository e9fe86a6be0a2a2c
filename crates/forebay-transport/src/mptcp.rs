//! The options of MPTCP (RFC 8684, version 1) as they are on the wire, and what follows from keys.
//!
//! The data of both ends are numbered from a number that follows from its key; offsets of a stream
//! begin at 0. No checksums: an end that asks for them is answered as one that does not speak
//! MPTCP.

use forebay_base::{OptionList, TcpOption, kind};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

const CAPABLE: u8 = 0x00;
const JOIN: u8 = 0x10;
const DSS: u8 = 0x20;
/// Subtype and version of MP_CAPABLE.
const CAPABLE_V1: u8 = CAPABLE | 1;
/// Flags of MP_CAPABLE: C, without which an end joins the addresses that it sees; H, HMAC-SHA256.
const CAPABLE_H: u8 = 0x01;
const CAPABLE_CHECKSUM: u8 = 0x80;

/// Option bytes of the data sequence signal on all data of MPTCP: DATA_ACK and mapping, with
/// numbers of 4 bytes (RFC 8684 section 3.3).
pub const SIGNAL_BYTES: u16 = 18;
/// MP_CAPABLE with both keys, and with the length of data behind them.
const KEYS_BYTES: usize = 20;

/// A key's token: the first 32 bits of its hash.
pub(crate) fn token(key: u64) -> u32 {
    let hash = Sha256::digest(key.to_be_bytes());
    u32::from_be_bytes(hash[..4].try_into().expect("four bytes"))
}
/// The data sequence number of the first byte of the end with this key, as 32 bits: the last 64
/// bits of the hash are those before it (IDSN).
pub(crate) fn first_number(key: u64) -> u32 {
    let hash = Sha256::digest(key.to_be_bytes());
    u32::from_be_bytes(hash[28..].try_into().expect("four bytes")).wrapping_add(1)
}
/// What the end that has the first key and nonce proves itself with (section 3.2).
pub(crate) fn authentication(keys: [u64; 2], nonces: [u32; 2]) -> [u8; 32] {
    let (mut key, mut message) = ([0; 16], [0; 8]);
    key[..8].copy_from_slice(&keys[0].to_be_bytes());
    key[8..].copy_from_slice(&keys[1].to_be_bytes());
    message[..4].copy_from_slice(&nonces[0].to_be_bytes());
    message[4..].copy_from_slice(&nonces[1].to_be_bytes());
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("a key of any length");
    mac.update(&message);
    mac.finalize().into_bytes().into()
}

/// An option of opening a subflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opening {
    /// MP_CAPABLE: the keys of its sender and of its receiver, as far as it has them.
    Capable { keys: [Option<u64>; 2] },
    /// MP_JOIN on a SYN.
    Join { address: u8, token: u32, nonce: u32 },
    /// MP_JOIN on a SYN-ACK: the first 64 bits of [`authentication`].
    JoinReply { address: u8, proof: [u8; 8], nonce: u32 },
    /// MP_JOIN on the ACK that ends the handshake: the first 160 bits.
    JoinAck { proof: [u8; 20] },
}

impl Opening {
    /// As an option.
    pub(crate) fn write(&self) -> OptionList {
        let mut data = [0; 22];
        let mut len = 2;
        let mut put = |bytes: &[u8]| {
            data[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        let head = match self {
            Opening::Capable { keys } => {
                keys.iter().flatten().for_each(|key| put(&key.to_be_bytes()));
                [CAPABLE_V1, CAPABLE_H]
            }
            Opening::Join { address, token, nonce } => {
                put(&token.to_be_bytes());
                put(&nonce.to_be_bytes());
                [JOIN, *address]
            }
            Opening::JoinReply { address, proof, nonce } => {
                put(proof);
                put(&nonce.to_be_bytes());
                [JOIN, *address]
            }
            Opening::JoinAck { proof } => {
                put(proof);
                [JOIN, 0]
            }
        };
        data[..2].copy_from_slice(&head);
        let mut options = OptionList::EMPTY;
        options.push(kind::MPTCP, &data[..len]).expect("at most 24 bytes");
        options
    }

    pub(crate) fn read(options: Option<&OptionList>) -> Option<Opening> {
        let of = |o: &TcpOption<'_>| {
            o.kind == kind::MPTCP && o.data.first().is_some_and(|b| b & 0xf0 != DSS)
        };
        let data = options?.iter().find(of)?.data;
        let (&head, flags) = (data.first()?, *data.get(1)?);
        let word = |at: usize| Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?));
        let key = |at: usize| Some(u64::from_be_bytes(data.get(at..at + 8)?.try_into().ok()?));
        match (head & 0xf0, data.len() + 2) {
            (CAPABLE, _) => {
                let understood =
                    head == CAPABLE_V1 && flags & CAPABLE_H != 0 && flags & CAPABLE_CHECKSUM == 0;
                understood.then(|| Opening::Capable { keys: [key(2), key(10)] })
            }
            (JOIN, 12) => Some(Opening::Join { address: flags, token: word(2)?, nonce: word(6)? }),
            (JOIN, 16) => {
                let proof = data.get(2..10)?.try_into().ok()?;
                Some(Opening::JoinReply { address: flags, proof, nonce: word(10)? })
            }
            (JOIN, 24) => Some(Opening::JoinAck { proof: data.get(2..22)?.try_into().ok()? }),
            _ => None,
        }
    }
}

/// Bytes of the option on a data segment that carries both keys.
///
/// The most that MPTCP puts on data.
pub const MOST_SIGNAL_BYTES: u16 = KEYS_BYTES as u16 + 2;

/// MP_CAPABLE with both keys and the length of the data after it: on the first bytes of a stream,
/// until the peer has shown that it has the keys (section 3.1).
pub(crate) fn push_keyed(keys: &OptionList, length: u16, options: &mut OptionList) {
    let Some(option) = keys.find(kind::MPTCP) else { return };
    let mut data = [0; KEYS_BYTES];
    data[..KEYS_BYTES - 2].copy_from_slice(option);
    data[KEYS_BYTES - 2..].copy_from_slice(&length.to_be_bytes());
    options.push(kind::MPTCP, &data).expect("data packets have room for 22 bytes");
}

/// A data sequence signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Signal {
    /// Next data sequence number expected.
    pub ack: Option<u32>,
    /// Data and subflow sequence number of the payload, and its length, DATA_FIN included.
    pub mapping: Option<(u32, u32, u16)>,
    /// The mapping ends with the end of the stream.
    pub fin: bool,
}

const FLAG_ACK: u8 = 0x01;
const FLAG_WIDE_ACK: u8 = 0x02;
const FLAG_MAPPING: u8 = 0x04;
const FLAG_WIDE_MAPPING: u8 = 0x08;
const FLAG_FIN: u8 = 0x10;

impl Signal {
    /// Option bytes.
    pub(crate) fn len(&self) -> usize {
        4 + if self.ack.is_some() { 4 } else { 0 } + if self.mapping.is_some() { 10 } else { 0 }
    }
    /// DATA_FIN on a segment without payload (section 3.3.3).
    pub(crate) fn ends_alone(&self) -> bool {
        self.fin && matches!(self.mapping, Some((_, 0, 1)))
    }
    /// 8 bytes on an ACK, 18 on data. It must fit.
    pub(crate) fn push(&self, options: &mut OptionList) {
        let mut data = [0; SIGNAL_BYTES as usize - 2];
        let mut len = 2;
        let mut put = |data: &mut [u8; 16], bytes: &[u8]| {
            data[len..len + bytes.len()].copy_from_slice(bytes);
            len += bytes.len();
        };
        data[0] = DSS;
        if let Some(ack) = self.ack {
            data[1] |= FLAG_ACK;
            put(&mut data, &ack.to_be_bytes());
        }
        if let Some((dsn, path_seq, length)) = self.mapping {
            data[1] |= FLAG_MAPPING | if self.fin { FLAG_FIN } else { 0 };
            put(&mut data, &dsn.to_be_bytes());
            put(&mut data, &path_seq.to_be_bytes());
            put(&mut data, &length.to_be_bytes());
        }
        options.push(kind::MPTCP, &data[..len]).expect("data packets have room for 18 bytes");
    }
    /// True if it has no mapping, or one that is as long as such a payload. The RFC lets one
    /// mapping be for several segments (section 3.3); here each segment has its own.
    pub(crate) fn maps(&self, payload: u64) -> bool {
        let length = payload + u64::from(self.fin);
        self.mapping.is_none_or(|(.., mapped)| u64::from(mapped) == length)
    }
    /// Numbers may have 4 bytes or 8, of which the last 4 tell all offsets apart: nobody has 2^31
    /// bytes outstanding. `first` is the number of the sender's first byte.
    pub(crate) fn read(options: Option<&OptionList>, first: u32) -> Option<Signal> {
        let mptcp = |o: &TcpOption<'_>| o.kind == kind::MPTCP;
        let data = options?.iter().find(mptcp)?.data;
        let (head, flags) = (*data.first()?, *data.get(1)?);
        let half = |at: usize| Some(u16::from_be_bytes(data.get(at..at + 2)?.try_into().ok()?));
        if head == CAPABLE_V1 && data.len() >= KEYS_BYTES {
            let mapping = Some((first, 1, half(KEYS_BYTES - 2)?));
            return Some(Signal { mapping, ..Signal::default() });
        }
        if head & 0xf0 != DSS {
            return None;
        }
        let mut at = 2;
        let mut number = |wide: bool| {
            at += if wide { 8 } else { 4 };
            Some(u32::from_be_bytes(data.get(at - 4..at)?.try_into().ok()?))
        };
        let ack = match flags & FLAG_ACK {
            0 => None,
            _ => Some(number(flags & FLAG_WIDE_ACK != 0)?),
        };
        let mapping = match flags & FLAG_MAPPING {
            0 => None,
            _ => {
                let dsn = number(flags & FLAG_WIDE_MAPPING != 0)?;
                Some((dsn, number(false)?, half(at)?))
            }
        };
        Some(Signal { ack, mapping, fin: flags & FLAG_FIN != 0 && mapping.is_some() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [u64; 2] = [0x0102_0304_0506_0708, 0x1122_3344_5566_7788];
    const NONCES: [u32; 2] = [0x0123_4567, 0x89ab_cdef];

    #[test]
    fn signals_have_the_lengths_of_the_rfc() {
        let ack = Signal { ack: Some(7), ..Signal::default() };
        let data = Signal { mapping: Some((9, 1, 1400)), fin: true, ..ack };
        for (signal, len) in [(ack, 8), (data, 18)] {
            let mut options = OptionList::EMPTY;
            signal.push(&mut options);
            assert_eq!((options.len(), signal.len()), (len, len));
            assert_eq!(Signal::read(Some(&options), 0), Some(signal));
        }
    }

    /// Section 3.3, figure 9: A and a, M and m, F; 8-byte numbers, and a checksum.
    #[test]
    fn wide_numbers_are_read() {
        let wide = [
            0x20, 0x1f, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0, 0, 2, 0, 0, 0, 9, 0, 0, 0, 1, 0x05, 0x78,
            0xab, 0xcd,
        ];
        let mut options = OptionList::EMPTY;
        options.push(kind::MPTCP, &wide).unwrap();
        let signal = Signal { ack: Some(7), mapping: Some((9, 1, 1400)), fin: true };
        assert_eq!(Signal::read(Some(&options), 0), Some(signal));
        for cut in 2..24 {
            let mut options = OptionList::EMPTY;
            options.push(kind::MPTCP, &wide[..cut]).unwrap();
            assert_eq!(Signal::read(Some(&options), 0), None, "{cut} bytes");
        }
    }

    /// Figures 4 to 8 of the RFC.
    #[test]
    fn openings_have_the_lengths_of_the_rfc() {
        let [own, peer] = KEYS.map(Some);
        let [token, nonce] = NONCES;
        let all = [
            (Opening::Capable { keys: [None, None] }, 4),
            (Opening::Capable { keys: [own, None] }, 12),
            (Opening::Capable { keys: [own, peer] }, 20),
            (Opening::Join { address: 1, token, nonce }, 12),
            (Opening::JoinReply { address: 2, proof: [3; 8], nonce }, 16),
            (Opening::JoinAck { proof: [4; 20] }, 24),
        ];
        for (opening, len) in all {
            let options = opening.write();
            assert_eq!((options.len(), Opening::read(Some(&options))), (len, Some(opening)));
            assert_eq!(Signal::read(Some(&options), 5), None);
        }
        let mut keyed = OptionList::EMPTY;
        push_keyed(&all[2].0.write(), 100, &mut keyed);
        assert_eq!(keyed.len(), usize::from(MOST_SIGNAL_BYTES));
        assert_eq!(Opening::read(Some(&keyed)), Some(all[2].0));
        let signal = Signal { mapping: Some((5, 1, 100)), ..Signal::default() };
        assert_eq!(Signal::read(Some(&keyed), 5), Some(signal));
    }

    /// Another version, checksums, or another hash: not spoken here.
    #[test]
    fn what_is_not_spoken_is_not_read() {
        for head in [[0x00, 0x01], [0x02, 0x01], [0x01, 0x81], [0x01, 0x00]] {
            let mut options = OptionList::EMPTY;
            options.push(kind::MPTCP, &head).unwrap();
            assert_eq!(Opening::read(Some(&options)), None, "{head:?}");
        }
    }

    /// Computed with hashlib and hmac of Python 3.
    #[test]
    fn what_follows_from_keys() {
        assert_eq!(token(KEYS[0]), TOKEN);
        assert_eq!(first_number(KEYS[0]), FIRST);
        assert_eq!(authentication(KEYS, NONCES)[..20], PROOF);
    }
    const TOKEN: u32 = 0x6684_0dda;
    const FIRST: u32 = 0xd29d_6f72 + 1;
    const PROOF: [u8; 20] = [
        0x18, 0xe8, 0xc3, 0x09, 0xf0, 0xb7, 0x1b, 0x5f, 0xd3, 0x58, 0x2f, 0xde, 0xfb, 0x62, 0x25,
        0x84, 0xd7, 0xe5, 0x74, 0xa8,
    ];
}
