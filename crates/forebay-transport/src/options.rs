//! Options that the transport itself writes and reads.

use forebay_base::{MAX_OPTION_BYTES, OptionList, kind};

/// Bytes of the timestamps option, unpadded (RFC 7323 section 3.2).
pub const TIMESTAMP_BYTES: usize = 10;
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

#[cfg(test)]
mod tests {
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
}
