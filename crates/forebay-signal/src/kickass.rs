//! Kick-Ass on the wire: rates as lengths of first fragments, round-trip times as lengths of whole
//! packets, and two TCP options.
//!
//! ```text
//! code       payload of the first fragment of an IPv4 datagram, in units of 8 bytes: 3 to 184
//! indicator  a packet with DF of 600 to 611 bytes, IP header included: the sender's RTT
//! offer      TCP option of a SYN        253  6   "KA"  version(4 bit) flags(4 bit)  caps(8)
//! report     TCP option of a pure ACK   253  12  "KA"  least(1) last(1) signalled(1) silent(1)
//!                                                      rate(4)
//! ```
//!
//! Flores, Wenzel, Kuzmanovic, "Enabling Router-Assisted Congestion Control on the Internet" (ICNP
//! 2016, doi:10.1109/ICNP.2016.7784442). With R in bytes per millisecond of IP packets before they
//! are cut:
//!
//! 1. `F(R) = 128 ln(R / 12.4392)`: bytes of payload of the first fragment;
//! 2. `G(L) = 12.4392 exp(L / 128)`: the rate of that length;
//! 3. `c = L / 8`, 3 to 184: offsets count in units of 8 bytes (RFC 791 section 3.1), so that a
//!    code means 6.4 % more than the one below. A router that allows R sends the largest code of
//!    at most R.
//!
//! Of datagrams that several routers cut, the shortest first fragment stays: the receiver sees the
//! lowest rate. A whole packet carries no code. The paper counts codes from 24 bytes, which
//! hold the TCP header without its options, to 1480. A first fragment of 1480 bytes would be the
//! whole of a packet of 1500, so that 1472 is the last one (9.8 Gbit/s).
//!
//! With IPv6 the payload is what follows the Fragment header, 1452 bytes of a packet of 1500:
//! [`Code::MAX_V6`], 1448 bytes and 8.1 Gbit/s, is the last one. The table is the same.
//!
//! The paper gives no format for messages between end points. Both options carry the ExID "KA"
//! (RFC 6994; 253 is the kind for experiments). A rate in a report counts 1/256 byte per
//! millisecond.

use forebay_base::{OptionError, OptionList, Rate, Span, mix64};

/// ExID of both options.
pub const EX_ID: u16 = 0x4B41;
/// Length of the offer on the wire, in bytes.
pub const OFFER_BYTES: u16 = 6;
/// Length of the report on the wire, in bytes.
pub const REPORT_BYTES: u16 = 12;

/// R of `F(R) = 0`, in bit/s (12.4392 bytes per millisecond).
const ORIGIN_BPS: f64 = 12.4392 * 8000.0;
/// `exp(8 / 128)`: the step from one code to the next.
const STEP: f64 = 1.064_494_458_917_859_4;
/// Bytes of payload that a code counts in.
const UNIT_BYTES: u16 = 8;

/// The code of a first fragment: its payload in units of 8 bytes, [`Code::MIN`] to [`Code::MAX`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Code(u8);

/// Equation 2 for every code, in bit/s, rounded down; 0 where there is none.
const RATES_BPS: [u64; Code::MAX.0 as usize + 1] = {
    let mut rates = [0; Code::MAX.0 as usize + 1];
    let (mut bps, mut code) = (ORIGIN_BPS, 0);
    while code < Code::MAX.0 as usize {
        code += 1;
        bps *= STEP;
        if code >= Code::MIN.0 as usize {
            rates[code] = bps as u64;
        }
    }
    rates
};

impl Code {
    /// 24 bytes, 120 kbit/s. Where it was negotiated it means "use TCP", and wins every minimum.
    pub const MIN: Code = Code(3);
    /// 1472 bytes, 9.8 Gbit/s: that, or more.
    pub const MAX: Code = Code(184);
    /// 1448 bytes, 8.1 Gbit/s: the last one of a packet of 1500 bytes with IPv6, that or more.
    pub const MAX_V6: Code = Code(181);

    /// The code of a first fragment with this payload; None: not a code.
    pub const fn of_lead_bytes(bytes: u16) -> Option<Code> {
        let units = bytes / UNIT_BYTES;
        if !bytes.is_multiple_of(UNIT_BYTES) || units > Code::MAX.0 as u16 {
            return None;
        }
        Code::from_byte(units as u8)
    }
    /// The code of this number; None: not one.
    pub const fn from_byte(byte: u8) -> Option<Code> {
        if byte < Code::MIN.0 || byte > Code::MAX.0 { None } else { Some(Code(byte)) }
    }
    /// The largest code whose rate is at most `rate` (equation 3, by search: the logarithm of a
    /// code's own rate may round to the code below). None: `rate` is below [`Code::MIN`].
    pub fn at_most(rate: Rate) -> Option<Code> {
        let codes = &RATES_BPS[Code::MIN.0 as usize..];
        let below = codes.partition_point(|&bps| bps <= rate.bps());
        below.checked_sub(1).map(|at| Code(Code::MIN.0 + at as u8))
    }
    /// The next one; None above [`Code::MAX`].
    pub const fn next(self) -> Option<Code> {
        Code::from_byte(self.0 + 1)
    }
    /// The one before it; None below [`Code::MIN`].
    pub const fn previous(self) -> Option<Code> {
        Code::from_byte(self.0 - 1)
    }
    /// Its rate (equation 2), in bit/s of IP packets before they are cut.
    pub const fn rate(self) -> Rate {
        Rate::clamped(RATES_BPS[self.0 as usize])
    }
    /// Payload of the first fragment that carries it, in bytes.
    pub const fn lead_bytes(self) -> u16 {
        self.0 as u16 * UNIT_BYTES
    }
    /// Its number.
    pub const fn byte(self) -> u8 {
        self.0
    }
}

/// What a SYN offers, and a SYN-ACK takes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Offer {
    /// This side averages codes that change from packet to packet.
    pub dither: bool,
    /// This side takes [`Code::MIN`] for "use TCP".
    pub explicit_tcp: bool,
    /// This side clears DF on a few packets of each round trip only.
    pub thinning: bool,
}

impl Offer {
    /// Version of the format.
    pub const VERSION: u8 = 1;

    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        let flags = [self.dither, self.explicit_tcp, self.thinning];
        let flags = flags.iter().rev().fold(0, |bits, &flag| bits << 1 | flag as u8);
        options.push_experiment(EX_ID, &[Offer::VERSION << 4 | flags, 0])
    }
    /// The option, if it is there, well formed and of this version.
    pub fn find(options: &OptionList) -> Option<Offer> {
        let &[first, _caps] = options.find_experiment(EX_ID)? else { return None };
        let flag = |bit: u8| first & 1 << bit != 0;
        let offer = Offer { dither: flag(0), explicit_tcp: flag(1), thinning: flag(2) };
        (first >> 4 == Offer::VERSION).then_some(offer)
    }
}

/// A receiver's report of the codes that arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Report {
    /// The lowest code of the last round trip; None: none came.
    pub least: Option<Code>,
    /// The code of the last first fragment; None: none came.
    pub last: Option<Code>,
    /// Datagrams since the last report that carried a code; 255: that or more.
    pub signalled: u8,
    /// Datagrams since the last report that a router might have cut and none did; 255: that or
    /// more.
    pub silent: u8,
    /// The receiver's mean of the codes' rates, in 1/256 byte per millisecond on the wire,
    /// rounded down; None: none came.
    pub rate: Option<Rate>,
}

/// Bit/s in the unit of a report's rate.
const RATE_UNIT_BPS: f64 = 8000.0 / 256.0;

impl Report {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        let code = |code: Option<Code>| code.map_or(0, Code::byte);
        let units = |rate: Rate| ((rate.bps() as f64 / RATE_UNIT_BPS) as u32).max(1);
        let rate = self.rate.map_or(0, units).to_be_bytes();
        let mut data = [code(self.least), code(self.last), self.signalled, self.silent, 0, 0, 0, 0];
        data[4..].copy_from_slice(&rate);
        options.push_experiment(EX_ID, &data)
    }
    /// The option, if it is there and well formed. Numbers that are no codes are none.
    pub fn find(options: &OptionList) -> Option<Report> {
        let &[least, last, signalled, silent, a, b, c, d] = options.find_experiment(EX_ID)? else {
            return None;
        };
        let (least, last) = (Code::from_byte(least), Code::from_byte(last));
        let rate = match u32::from_be_bytes([a, b, c, d]) {
            0 => None,
            units => Some(Rate::clamped((units as f64 * RATE_UNIT_BPS) as u64)),
        };
        Some(Report { least, last, signalled, silent, rate })
    }
}

/// Meaning of a packet of 600 to 611 bytes with DF: the sender's smoothed RTT lies in
/// `[2^k, 2^(k+1) - 1]` ms; 0: below 2 ms; 11: 2048 ms or more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Indicator(u8);

impl Indicator {
    /// Length of the packet for 0, IP header included, in bytes.
    pub const FIRST_BYTES: u16 = 600;
    /// The last of them.
    pub const LAST: Indicator = Indicator(11);

    /// That of `rtt`, in whole milliseconds.
    pub fn of_rtt(rtt: Span) -> Indicator {
        let ms = (rtt.as_nanos() / 1_000_000).max(1);
        Indicator((ms.ilog2() as u8).min(Indicator::LAST.0))
    }
    /// One of the two whose midpoints surround `rtt`, such that the mean of many midpoints is
    /// `rtt`. `draw` is uniform within [0, 1).
    pub fn dithered(rtt: Span, draw: f64) -> Indicator {
        let [(low, _), (high, share)] = Indicator::around(rtt);
        if draw < share { high } else { low }
    }
    /// The two whose midpoints surround `rtt`, with the shares with which their mean is `rtt`, as
    /// far as midpoints reach.
    pub fn around(rtt: Span) -> [(Indicator, f64); 2] {
        let ms = rtt.as_nanos() as f64 / 1e6;
        let above = (0..=Indicator::LAST.0).find(|&k| Indicator(k).midpoint_ms() >= ms);
        let high = Indicator(above.unwrap_or(Indicator::LAST.0).max(1));
        let low = Indicator(high.0 - 1);
        let (low_ms, high_ms) = (low.midpoint_ms(), high.midpoint_ms());
        let share = ((ms - low_ms) / (high_ms - low_ms)).clamp(0.0, 1.0);
        [(low, 1.0 - share), (high, share)]
    }
    /// That of a packet of this length; None: of none.
    pub const fn of_wire_len(bytes: u16) -> Option<Indicator> {
        let last = Indicator::FIRST_BYTES + Indicator::LAST.0 as u16;
        if bytes < Indicator::FIRST_BYTES || bytes > last {
            return None;
        }
        Some(Indicator((bytes - Indicator::FIRST_BYTES) as u8))
    }
    /// Length of its packet, IP header included, in bytes.
    pub const fn wire_len(self) -> u16 {
        Indicator::FIRST_BYTES + self.0 as u16
    }
    /// Its number, 0 to 11.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
    /// The middle of its range.
    pub fn midpoint(self) -> Span {
        Span::from_nanos((self.midpoint_ms() * 1e6) as u64)
    }
    fn midpoint_ms(self) -> f64 {
        match self.0 {
            0 => 1.0,
            k => 1.5 * (1_u64 << k) as f64 - 0.5,
        }
    }
    /// The IP ID that distinguishes an indicator from a packet of the same length: IDs of packets
    /// with DF have no other use (RFC 6864 section 4.1). `src` and `dst` are the addresses as the
    /// wire has them.
    pub const fn tag(self, src: u32, dst: u32) -> u16 {
        let both = (src as u64) << 32 | dst as u64;
        (mix64(mix64(both) ^ self.wire_len() as u64) >> 48) as u16
    }
    /// The identification of the Fragment header that has this tag, in IPv6: [`EX_ID`] before it.
    /// That of an atomic fragment has no other use (RFC 6946 section 4: it is processed in
    /// isolation).
    pub const fn tag_v6(tag: u16) -> u32 {
        (EX_ID as u32) << 16 | tag as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(bytes: u16) -> Code {
        Code::of_lead_bytes(bytes).unwrap()
    }

    /// Equation 2, computed elsewhere with an exponential function.
    #[test]
    fn lengths_say_the_rates_of_the_table() {
        let vectors = [
            (24, 0.120036),
            (400, 2.26492),
            (584, 9.53567),
            (616, 12.2440),
            (640, 14.7691),
            (880, 96.3068),
            (936, 149.163),
            (1000, 245.928),
            (1176, 972.664),
            (1472, 9823.56),
        ];
        for (bytes, mbps) in vectors {
            let found = code(bytes).rate().bps() as f64 / 1e6;
            assert!((found / mbps - 1.0).abs() < 5e-6, "{bytes} B: {found} Mbit/s");
        }
    }

    #[test]
    fn every_code_comes_back_from_its_own_rate_and_not_from_one_less() {
        assert_eq!((code(24), code(1472)), (Code::MIN, Code::MAX));
        for bytes in (24..=1472).step_by(8) {
            let code = code(bytes);
            assert_eq!(code.lead_bytes(), bytes);
            assert_eq!(Code::from_byte(code.byte()), Some(code));
            let bps = code.rate().bps();
            assert_eq!(Code::at_most(Rate::clamped(bps)), Some(code));
            let below = Code::from_byte(code.byte() - 1);
            assert_eq!(Code::at_most(Rate::clamped(bps - 1)), below);
            assert!(code.next().is_none_or(|next| next.rate() > code.rate()));
        }
        for bytes in [0, 16, 25, 1480, u16::MAX] {
            assert_eq!(Code::of_lead_bytes(bytes), None, "{bytes}");
        }
        assert_eq!(Code::at_most(Rate::MAX), Some(Code::MAX));
        assert_eq!(Code::at_most(Rate::clamped(120_000)), None, "24 bytes say 120 036 bit/s");
    }

    #[test]
    fn the_bytes_of_the_options_are_those_of_the_diagram() {
        let mut options = OptionList::EMPTY;
        let offer = Offer { dither: true, explicit_tcp: false, thinning: true };
        offer.push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [253, 6, 0x4B, 0x41, 0x15, 0]);
        assert_eq!(options.len(), OFFER_BYTES as usize);
        assert_eq!((Offer::find(&options), Report::find(&options)), (Some(offer), None));
        let mut options = OptionList::EMPTY;
        // 15 Mbit/s are 1875 bytes per millisecond, 480 000 = 0x75300 units.
        let rate = Some(Rate::mbps(15));
        let report =
            Report { least: Some(Code(73)), last: Some(Code(80)), signalled: 9, silent: 1, rate };
        report.push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [253, 12, 0x4B, 0x41, 73, 80, 9, 1, 0, 7, 0x53, 0]);
        assert_eq!(options.len(), REPORT_BYTES as usize);
        assert_eq!((Offer::find(&options), Report::find(&options)), (None, Some(report)));
    }

    #[test]
    fn what_is_no_code_and_what_is_of_another_version_is_nothing() {
        let mut odd = OptionList::EMPTY;
        odd.push_experiment(EX_ID, &[2, 185, 0, 0, 255, 255, 255, 255]).unwrap();
        let report = Report::find(&odd).unwrap();
        assert_eq!((report.least, report.last), (None, None));
        assert_eq!(report.rate.unwrap().bps(), (u32::MAX as f64 * RATE_UNIT_BPS) as u64);
        for other in [[0x20, 0].as_slice(), &[0x10], &[0x10, 0, 0]] {
            let mut odd = OptionList::EMPTY;
            odd.push_experiment(EX_ID, other).unwrap();
            assert_eq!((Offer::find(&odd), Report::find(&odd)), (None, None), "{other:?}");
        }
    }

    #[test]
    fn indicators_say_the_bucket_of_the_round_trip() {
        let cases = [(0, 600), (1, 600), (2, 601), (3, 601), (64, 606), (100, 606), (127, 606)];
        for (ms, bytes) in cases.into_iter().chain([(128, 607), (2047, 610), (9999, 611)]) {
            let indicator = Indicator::of_rtt(Span::from_millis(ms));
            assert_eq!(indicator.wire_len(), bytes, "{ms} ms");
            assert_eq!(Indicator::of_wire_len(bytes), Some(indicator));
        }
        assert_eq!([599, 612].map(Indicator::of_wire_len), [None; 2]);
        let midpoint = |bytes| Indicator::of_wire_len(bytes).unwrap().midpoint();
        assert_eq!(midpoint(600), Span::from_millis(1));
        assert_eq!(midpoint(606), Span::from_micros(95_500));
        assert_eq!(midpoint(611), Span::from_micros(3_071_500));
    }

    /// The fact sheet: 100 ms is 606 with p = 0.953 and 607 with p = 0.047.
    #[test]
    fn dithered_indicators_have_the_round_trip_as_their_mean() {
        let at = |ms, draw| Indicator::dithered(Span::from_millis(ms), draw).wire_len();
        assert_eq!((at(100, 0.046), at(100, 0.048)), (607, 606));
        assert_eq!((at(0, 0.0), at(1, 0.9), at(5000, 0.0)), (600, 600, 611));
        for ms in [1, 2, 5, 10, 64, 100, 127, 800, 3000] {
            let draws = (0..1000).map(|i| (f64::from(i) + 0.5) / 1000.0);
            let rtt = Span::from_millis(ms);
            let mean: f64 =
                draws.map(|draw| Indicator::dithered(rtt, draw).midpoint_ms()).sum::<f64>() / 1e3;
            assert!((mean - ms as f64).abs() < 2e-3 * ms as f64, "{ms} ms: {mean}");
        }
    }

    #[test]
    fn tags_differ_by_address_and_length() {
        let tag = |bytes, src, dst| Indicator::of_wire_len(bytes).unwrap().tag(src, dst);
        assert_eq!(Indicator::tag_v6(0x1234), 0x4B41_1234);
        assert_ne!(tag(600, 1, 2), tag(601, 1, 2));
        assert_ne!(tag(600, 1, 2), tag(600, 2, 1));
        assert_eq!(tag(600, 1, 2), tag(600, 1, 2));
    }
}
