//! RCP on the wire: the request that routers lower on data, and its echo on ACKs.
//!
//! ```text
//! request   TCP option, SYN and every data packet   253  12  ExID(2)  rate(4)  rtt(4)
//! grant     TCP option, every ACK                   253   8  ExID(2)  rate(4)
//! ```
//!
//! Dukkipati et al., "Processor Sharing Flows in the Internet" (IWQoS 2005,
//! doi:10.1007/11499169_22) name the fields and leave the format open. Routers overwrite the rate
//! of a request with their own where theirs is lower; a grant is the receiver's answer and passes
//! untouched: a sender of data in the other direction requests its own rate. 253 is the kind for
//! experiments (RFC 6994).
//!
//! A rate is a float of 5 bits of exponent and 27 of mantissa, `mantissa << exponent` bit/s,
//! rounded down, and all ones is "not set": exact below 2^27 bit/s, and to 1.5e-8 of itself from
//! there to 400 Gbit/s. The exponent is as small as it can be, so the order of rates is the order
//! of the 32-bit numbers.

use forebay_base::{OptionError, OptionList, Rate, Span};

/// ExID of the request.
pub const REQUEST_EX_ID: u16 = 0xF0B3;
/// ExID of the grant.
pub const GRANT_EX_ID: u16 = 0xF0B4;
/// Length of the request on the wire, in bytes.
pub const REQUEST_BYTES: u16 = 12;
/// Length of the grant on the wire, in bytes.
pub const GRANT_BYTES: u16 = 8;

const NOT_SET: u32 = u32::MAX;
const MANTISSA_BITS: u32 = 27;

/// The 32 bits of a rate.
const fn encode(rate: Option<Rate>) -> u32 {
    let Some(rate) = rate else { return NOT_SET };
    let bps = rate.bps();
    let exponent = (u64::BITS - bps.leading_zeros()).saturating_sub(MANTISSA_BITS);
    exponent << MANTISSA_BITS | (bps >> exponent) as u32
}

/// The rate of 32 bits: clamped into what a [`Rate`] may be, for they may come from anywhere.
const fn decode(bits: u32) -> Option<Rate> {
    if bits == NOT_SET {
        return None;
    }
    let mantissa = (bits & ((1 << MANTISSA_BITS) - 1)) as u64;
    Some(Rate::clamped(mantissa << (bits >> MANTISSA_BITS)))
}

/// The request of a data packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Request {
    /// The lowest rate of the routers so far; None: no router has set one.
    pub rate: Option<Rate>,
    /// Smoothed round-trip time of the sender, in whole microseconds on the wire; None: it has none
    /// yet.
    pub rtt: Option<Span>,
}

impl Request {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(REQUEST_EX_ID, &self.data())
    }
    /// The option, if it is there and well formed.
    #[inline]
    pub fn find(options: &OptionList) -> Option<Request> {
        let &[a, b, c, d, e, f, g, h] = options.find_experiment(REQUEST_EX_ID)? else {
            return None;
        };
        let rtt = match u32::from_be_bytes([e, f, g, h]) {
            0 | u32::MAX => None,
            us => Some(Span::from_micros(us as u64)),
        };
        Some(Request { rate: decode(u32::from_be_bytes([a, b, c, d])), rtt })
    }
    /// What a router does that would grant `rate`: lower the request if it asks for more. False if
    /// there is none.
    pub fn lower(options: &mut OptionList, rate: Rate) -> bool {
        let Some(request) = Request::find(options) else { return false };
        if request.rate.is_none_or(|asked| asked > rate) {
            let lowered = Request { rate: Some(rate), ..request };
            return options.overwrite_experiment(REQUEST_EX_ID, &lowered.data());
        }
        true
    }
    fn data(self) -> [u8; 8] {
        // An RTT below a microsecond is one; one of more than 71 minutes is as long as can be said.
        let us = |rtt: Span| (rtt.as_nanos() / 1000).clamp(1, u32::MAX as u64 - 1) as u32;
        let rtt = self.rtt.map_or(0, us);
        let mut data = [0; 8];
        data[..4].copy_from_slice(&encode(self.rate).to_be_bytes());
        data[4..].copy_from_slice(&rtt.to_be_bytes());
        data
    }
}

/// The grant of an ACK: the rate in the last request that the receiver saw. None: no router had set
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Grant(pub Option<Rate>);

impl Grant {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(GRANT_EX_ID, &encode(self.0).to_be_bytes())
    }
    /// The option, if it is there and well formed.
    pub fn find(options: &OptionList) -> Option<Grant> {
        let bytes = options.find_experiment(GRANT_EX_ID)?.try_into().ok()?;
        Some(Grant(decode(u32::from_be_bytes(bytes))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_diagram() {
        let mut options = OptionList::EMPTY;
        let rtt = Some(Span::from_millis(100));
        // 10 Mbit/s is 0x989680 with exponent 0; 100 ms is 0x0186A0 microseconds.
        Request { rate: Some(Rate::mbps(10)), rtt }.push(&mut options).unwrap();
        let bytes = [253, 12, 0xF0, 0xB3, 0, 0x98, 0x96, 0x80, 0, 1, 0x86, 0xA0];
        assert_eq!(options.as_bytes(), bytes);
        assert_eq!(options.len(), REQUEST_BYTES as usize);
        let mut options = OptionList::EMPTY;
        // 400 Gbit/s: 39 bits, so the exponent is 12 and the mantissa 97 656 250 = 0x5D21DBA.
        Grant(Some(Rate::MAX)).push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [253, 8, 0xF0, 0xB4, 0x65, 0xD2, 0x1D, 0xBA]);
        assert_eq!(options.len(), GRANT_BYTES as usize);
        let mut options = OptionList::EMPTY;
        Request::default().push(&mut options).unwrap();
        assert_eq!(options.as_bytes()[4..], [255, 255, 255, 255, 0, 0, 0, 0]);
    }

    #[test]
    fn rates_come_back_rounded_down_and_in_order() {
        let mut last = 0;
        let mut bps = Rate::MIN.bps();
        while bps <= Rate::MAX.bps() {
            for bps in [bps - 1, bps, bps + 1] {
                let Some(rate) = Rate::new(bps) else { continue };
                let bits = encode(Some(rate));
                let back = decode(bits).unwrap().bps();
                assert!(back <= bps && (bps - back) as f64 <= 1.5e-8 * bps as f64, "{bps} {back}");
                assert!(bits >= last && bits < NOT_SET, "{bps}");
                last = bits;
            }
            bps += 1 + bps / 700;
        }
        assert_eq!(decode(encode(Some(Rate::MIN))), Some(Rate::MIN));
        assert_eq!(decode(encode(Some(Rate::MAX))), Some(Rate::MAX));
        assert_eq!(decode(0), Some(Rate::MIN), "nothing from outside is out of range");
        assert_eq!(decode(NOT_SET - 1), Some(Rate::MAX));
    }

    #[test]
    fn the_lowest_rate_stays_and_the_rtt_is_not_touched() {
        let mut options = OptionList::EMPTY;
        assert!(!Request::lower(&mut options, Rate::mbps(1)) && options.is_empty());
        Grant(None).push(&mut options).unwrap();
        let rtt = Some(Span::from_micros(250));
        Request { rate: None, rtt }.push(&mut options).unwrap();
        let mut seen = |rate| {
            assert!(Request::lower(&mut options, rate));
            Request::find(&options).unwrap()
        };
        for (offered, kept) in [(8, 8), (9, 8), (5, 5), (5, 5), (100, 5)] {
            let expected = Request { rate: Some(Rate::mbps(kept)), rtt };
            assert_eq!(seen(Rate::mbps(offered)), expected, "{offered}");
        }
        assert_eq!(options.len(), (GRANT_BYTES + REQUEST_BYTES) as usize);
        assert_eq!(Grant::find(&options), Some(Grant(None)), "the neighbour stays");
    }

    #[test]
    fn odd_round_trips_and_lengths() {
        let back = |rtt| {
            let mut options = OptionList::EMPTY;
            Request { rate: None, rtt }.push(&mut options).unwrap();
            Request::find(&options).unwrap().rtt
        };
        assert_eq!(back(None), None);
        assert_eq!(back(Some(Span::from_nanos(3))), Some(Span::from_micros(1)));
        assert_eq!(back(Some(Span::from_nanos(1999))), Some(Span::from_micros(1)));
        assert_eq!(back(Some(Span::MAX)), Some(Span::from_micros(u32::MAX as u64 - 1)));
        let mut odd = OptionList::EMPTY;
        odd.push_experiment(REQUEST_EX_ID, &[255, 255, 255, 255, 255, 255, 255, 255]).unwrap();
        assert_eq!(Request::find(&odd), Some(Request::default()));
        let mut short = OptionList::EMPTY;
        short.push_experiment(REQUEST_EX_ID, &[0; 4]).unwrap();
        short.push_experiment(GRANT_EX_ID, &[0; 3]).unwrap();
        assert_eq!((Request::find(&short), Grant::find(&short)), (None, None));
        assert!(!Request::lower(&mut short, Rate::MIN));
    }
}
