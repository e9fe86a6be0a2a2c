//! Options that the transport itself writes and reads.

use forebay_base::{MAX_OPTION_BYTES, OptionList, kind};

/// The timestamps option, unpadded.
pub(crate) const TIMESTAMP_BYTES: usize = 10;
/// Option bytes of a full-sized data packet, padded: timestamps, and what its sender's controller
/// stamps on all data. SACK blocks are on pure ACKs only.
pub fn data_option_bytes(timestamps: bool, stamped: u16) -> u16 {
    let unpadded = stamped + if timestamps { TIMESTAMP_BYTES as u16 } else { 0 };
    unpadded.next_multiple_of(4)
}
/// Largest shift of the window (RFC 7323 section 2.3).
const MAX_SHIFT: u8 = 14;

/// What a SYN offers or accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct SynOptions {
    pub mss: Option<u16>,
    pub sack: bool,
    pub shift: Option<u8>,
}

impl SynOptions {
    pub(crate) fn read(options: Option<&OptionList>) -> SynOptions {
        let Some(options) = options else { return SynOptions::default() };
        let mss = options.find(kind::MSS).and_then(|d| d.try_into().ok());
        let shift = options.find(kind::WINDOW_SCALE).and_then(|d| d.first().copied());
        SynOptions {
            mss: mss.map(u16::from_be_bytes),
            sack: options.find(kind::SACK_PERMITTED).is_some(),
            shift: shift.map(|s| s.min(MAX_SHIFT)),
        }
    }
    pub(crate) fn write(&self) -> OptionList {
        let mut options = OptionList::EMPTY;
        let mut push = |kind, data: &[u8]| {
            options.push(kind, data).expect("nine bytes fit into forty");
        };
        if let Some(mss) = self.mss {
            push(kind::MSS, &mss.to_be_bytes());
        }
        if self.sack {
            push(kind::SACK_PERMITTED, &[]);
        }
        if let Some(shift) = self.shift {
            push(kind::WINDOW_SCALE, &[shift]);
        }
        options
    }
}

/// The smallest shift with which a window of `bytes` fits into 16 bits.
pub(crate) fn shift_for(bytes: u64) -> u8 {
    (0..MAX_SHIFT).find(|s| bytes >> s <= u16::MAX as u64).unwrap_or(MAX_SHIFT)
}

/// Add `more` after `options`. They must fit.
pub(crate) fn append(options: &mut OptionList, more: &OptionList) {
    let mut bytes = [0; MAX_OPTION_BYTES];
    let (a, b) = (options.as_bytes(), more.as_bytes());
    let len = a.len() + b.len();
    bytes[..a.len()].copy_from_slice(a);
    bytes[a.len()..len].copy_from_slice(b);
    *options = OptionList::from_bytes(&bytes[..len]).expect("no longer than the buffer");
}

/// Multipath signalling (RFC 8684): lengths are those of the RFC, keys and tokens are zero.
pub(crate) mod mptcp {
    use super::*;

    /// First sequence number of the data stream: the RFC derives it from the keys, which are not
    /// modelled.
    pub(crate) const DATA_ISN: u32 = u32::MAX - 4;

    const CAPABLE: u8 = 0x00;
    const JOIN: u8 = 0x10;
    const DSS: u8 = 0x20;
    const FLAG_ACK: u8 = 0x01;
    const FLAG_MAPPING: u8 = 0x04;
    const FLAG_FIN: u8 = 0x10;

    /// On SYN and SYN-ACK: MP_CAPABLE on the first path, MP_JOIN on the others.
    pub(crate) fn push_syn(options: &mut OptionList, first: bool, reply: bool) {
        let (subtype, len) = match (first, reply) {
            (true, false) => (CAPABLE, 4),
            (true, true) => (CAPABLE, 12),
            (false, false) => (JOIN, 12),
            (false, true) => (JOIN, 16),
        };
        let mut data = [0; 14];
        data[0] = subtype;
        options.push(kind::MPTCP, &data[..len - 2]).expect("16 bytes beside 9 and timestamps");
    }

    /// A data sequence signal.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
    pub(crate) struct Signal {
        /// Next data sequence number expected.
        pub ack: Option<u32>,
        /// Data and path sequence number of the payload, and its length, DATA_FIN included.
        pub mapping: Option<(u32, u32, u16)>,
        /// The mapping ends with the end of the stream.
        pub fin: bool,
    }

    impl Signal {
        /// 8 bytes on an ACK, 18 on data. Not written where it does not fit.
        pub(crate) fn push(&self, options: &mut OptionList) {
            let mut data = [0; 16];
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
        pub(crate) fn read(options: Option<&OptionList>) -> Option<Signal> {
            let dss = |o: &forebay_base::TcpOption<'_>| {
                o.kind == kind::MPTCP && o.data.first().is_some_and(|b| b & 0xf0 == DSS)
            };
            let data = options?.iter().find(dss)?.data;
            let flags = *data.get(1)?;
            let word = |at: usize| Some(u32::from_be_bytes(data.get(at..at + 4)?.try_into().ok()?));
            let (ack, at) = match flags & FLAG_ACK {
                0 => (None, 2),
                _ => (Some(word(2)?), 6),
            };
            let mapping = match flags & FLAG_MAPPING {
                0 => None,
                _ => {
                    let length = data.get(at + 8..at + 10)?.try_into().ok()?;
                    Some((word(at)?, word(at + 4)?, u16::from_be_bytes(length)))
                }
            };
            Some(Signal { ack, mapping, fin: flags & FLAG_FIN != 0 })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::mptcp::Signal;
    use super::*;

    #[test]
    fn syn_options_read_what_was_written() {
        let full = SynOptions { mss: Some(1460), sack: true, shift: Some(7) };
        assert_eq!(SynOptions::read(Some(&full.write())), full);
        assert_eq!(full.write().len(), 4 + 2 + 3);
        assert_eq!(SynOptions::read(None), SynOptions::default());
    }

    #[test]
    fn options_of_data_are_rounded_up_together() {
        // By hand. Nothing; timestamps 10; an echo of 8; 10 + 8; a rate of 12; 10 + 12; 10 + 10
        // need no padding of their own.
        let cases = [(false, 0, 0), (true, 0, 12), (false, 8, 8), (true, 8, 20), (false, 12, 12)];
        for (timestamps, stamped, padded) in
            cases.into_iter().chain([(true, 12, 24), (true, 10, 20)])
        {
            assert_eq!(data_option_bytes(timestamps, stamped), padded, "{timestamps} {stamped}");
        }
    }

    #[test]
    fn shifts_fit_the_buffer_into_sixteen_bits() {
        assert_eq!([65_535, 65_536, 4 << 20, 1 << 30].map(shift_for), [0, 1, 7, 14]);
    }

    #[test]
    fn signals_have_the_lengths_of_the_rfc() {
        let ack = Signal { ack: Some(7), ..Signal::default() };
        let data = Signal { mapping: Some((9, 1, 1400)), fin: true, ..ack };
        for (signal, len) in [(ack, 8), (data, 18)] {
            let mut options = OptionList::EMPTY;
            signal.push(&mut options);
            assert_eq!(options.len(), len);
            assert_eq!(Signal::read(Some(&options)), Some(signal));
        }
    }
}
