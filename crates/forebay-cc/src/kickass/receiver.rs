//! The receiver half: reads codes off first fragments, and reports them on ACKs.
//!
//! A first fragment shows its code before its datagram is complete. With `complete` it counts only
//! when that happens and TCP has accepted the datagram: its sequence number lies in the window, its
//! checksum holds, and a fragment that was made up overlaps the true one, so that both are dropped.
//! Until then first fragments wait by their IP ID, a few at a time.

use super::params::{Params, RateSelection};
use crate::extreme::{End, WindowedMinMax};
use crate::feedback::{AckDemand, DatagramView, Feedback, PieceView};
use alloc::boxed::Box;
use forebay_base::{
    IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, MAX_OPTION_BYTES, OptionList, Rate, Span, Time, kind,
};
use forebay_signal::kickass::{Code, OFFER_BYTES, Offer, REPORT_BYTES, Report};

/// First fragments that wait for the rest of their datagrams. The rest follows at once, unless the
/// path reorders.
const WAITING: usize = 8;
/// Round trip of which nothing is known.
const FIRST_RTT: Span = Span::from_millis(100);
/// Assumed first round trip: it may hold a pause of the application.
const RTT_BOUNDS: (Span, Span) = (Span::from_millis(1), Span::from_secs(1));
/// A mean of two neighbours is at most a code from either: `exp(8 / 128)`, and room for rounding.
const STEP: f64 = 1.065;

/// The receiver of one path.
#[derive(Clone, Debug)]
pub struct KickAssReceiver {
    /// On the heap: receivers of other schemes are small.
    state: Box<State>,
}

/// What was agreed, what arrived, and what was reported of it.
#[derive(Clone, Debug)]
struct State {
    /// What this side offers.
    own: Offer,
    /// The peer's offer on its last SYN or SYN-ACK.
    peer: Option<Offer>,
    complete: bool,
    /// For experiments: see [`Params`].
    lie_codes: i16,
    mute: bool,
    /// Codes from one to the next are no news: the router draws between them.
    neighbours_are_one: bool,
    mtu: PathMtu,
    /// First fragments by IP ID, the oldest at `oldest`.
    waiting: [Option<(u32, Code)>; WAITING],
    oldest: usize,
    least: WindowedMinMax,
    rtt: RoundTrip,
    mean: Mean,
    told: Report,
    /// The last code that was reported.
    reported: Option<Code>,
}

/// The round trip as a receiver sees it: from its first ACK (or SYN-ACK) to what comes next.
#[derive(Clone, Copy, Debug)]
enum RoundTrip {
    Unknown,
    Since(Time),
    Known(Span),
}

/// The mean of what codes say, over about a round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Mean {
    /// In bit/s, and when the last code came; None: none has.
    last: Option<(f64, Time)>,
}

impl Mean {
    fn add(&mut self, now: Time, code: Code, rtt: Span) -> Rate {
        let said = code.rate().bps() as f64;
        let mean = match self.last {
            Some((mean, at)) if said <= mean * STEP && mean <= said * STEP => {
                let gain = (now.since(at).as_secs_f64() / rtt.as_secs_f64()).min(1.0);
                mean + gain * (said - mean)
            }
            _ => said, // more than a step: not drawn, but changed
        };
        self.last = Some((mean, now));
        Rate::clamped(mean as u64)
    }
}

/// Whether plain IP cuts on the path, for an MTU of less than the packets have: its first fragments
/// look like codes. As many fragments as an MTU makes are doubted until there are two lengths of
/// first ones, which an MTU does not make, or something as long comes that no router might cut.
/// A router of Kick-Ass makes two: it is doubted where it leaves half of the datagram or more in
/// the first.
#[derive(Clone, Copy, Debug)]
enum PathMtu {
    /// Nothing was cut so far.
    Unknown,
    /// Cut at one length, to which this code belongs, out of this many bytes.
    Doubtful(Code, u16),
    /// No.
    Passes,
}

impl PathMtu {
    /// A datagram, cut at the length of `code`, is complete. True if the code is a router's.
    fn admits(&mut self, code: Code, datagram: &DatagramView<'_>) -> bool {
        let payload_bytes = datagram.wire_len - IPV4_HEADER_BYTES;
        let of_mtu = datagram.pieces == payload_bytes.div_ceil(code.lead_bytes());
        match *self {
            PathMtu::Unknown if of_mtu => *self = PathMtu::Doubtful(code, datagram.wire_len),
            PathMtu::Doubtful(other, _) if other != code => *self = PathMtu::Passes,
            _ => {}
        }
        !matches!(self, PathMtu::Doubtful(..)) || !of_mtu
    }
    /// A datagram that no router might cut. The code that counts from now on, if one waited for
    /// that.
    fn pass(&mut self, wire_len: u16) -> Option<Code> {
        let PathMtu::Doubtful(code, cut_len) = *self else { return None };
        if wire_len < cut_len {
            return None;
        }
        *self = PathMtu::Passes;
        Some(code)
    }
}

impl KickAssReceiver {
    /// A receiver that has seen nothing.
    pub fn new(params: &Params) -> KickAssReceiver {
        let settings = params.settings();
        let doubts = settings.doubt_mtu && settings.complete;
        KickAssReceiver {
            state: Box::new(State {
                own: settings.offer(),
                peer: None,
                complete: settings.complete,
                lie_codes: params.lie_codes,
                mute: params.mute,
                neighbours_are_one: settings.take == RateSelection::Mean,
                mtu: if doubts { PathMtu::Unknown } else { PathMtu::Passes },
                waiting: [None; WAITING],
                oldest: 0,
                least: WindowedMinMax::new(End::Smallest),
                rtt: RoundTrip::Unknown,
                mean: Mean::default(),
                told: Report::default(),
                reported: None,
            }),
        }
    }

    fn rtt(&self) -> Span {
        match self.state.rtt {
            RoundTrip::Known(rtt) => rtt,
            _ => FIRST_RTT,
        }
    }
    /// The lowest code is an order, and no rate.
    fn is_order(&self, code: Code) -> bool {
        let taken =
            self.state.own.explicit_tcp && self.state.peer.is_some_and(|peer| peer.explicit_tcp);
        taken && code == Code::MIN
    }

    /// What is reported of a code: the code.
    fn told_of(&self, code: Code) -> Code {
        let told = i16::from(code.byte()) + self.state.lie_codes;
        let bounds = [Code::MIN, Code::MAX].map(|code| i16::from(code.byte()));
        Code::from_byte(told.clamp(bounds[0], bounds[1]) as u8).unwrap_or(code)
    }
    /// A code counts.
    fn on_code(&mut self, now: Time, code: Code) {
        let code = self.told_of(code);
        let rtt = self.rtt();
        let told = &self.state.told;
        let (least, rate) = if self.is_order(code) {
            (told.least, told.rate)
        } else {
            // `WindowedMinMax` keeps times; a code is as good as one.
            let byte = Span::from_nanos(code.byte().into());
            let least = self.state.least.add(now, byte, rtt).as_nanos() as u8;
            (Code::from_byte(least), Some(self.state.mean.add(now, code, rtt)))
        };
        let told = &mut self.state.told;
        (told.least, told.last, told.rate) = (least, Some(code), rate);
        told.signalled = told.signalled.saturating_add(1);
    }
    /// A first fragment waits for the rest of its datagram.
    fn wait(&mut self, id: u32, code: Code) {
        self.state.waiting[self.state.oldest] = Some((id, code));
        self.state.oldest = (self.state.oldest + 1) % WAITING;
    }
    fn take_waiting(&mut self, id: u32) -> Option<Code> {
        let at = self.state.waiting.iter().position(|w| w.is_some_and(|(other, _)| other == id))?;
        self.state.waiting[at].take().map(|(_, code)| code)
    }

    /// The sender wants to know at once.
    fn is_news(&self) -> bool {
        match (self.state.told.last, self.state.reported) {
            (Some(last), Some(reported)) => {
                let apart = last.byte().abs_diff(reported.byte());
                apart > u8::from(self.state.neighbours_are_one)
            }
            (last, _) => last.is_some(),
        }
    }

    fn on_syn(&mut self, options: &OptionList) {
        self.state.peer = Offer::find(options);
    }
    /// Count a datagram with payload.
    fn on_data(&mut self, now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        let code = if !datagram.came_whole() {
            let first = matches!(self.state.mtu, PathMtu::Unknown);
            let code = self.take_waiting(datagram.ip_id);
            let code = code.filter(|&code| self.state.mtu.admits(code, datagram));
            // The next packet tells: it must not wait for a delayed ACK.
            if first && matches!(self.state.mtu, PathMtu::Doubtful(..)) && !self.state.mute {
                return AckDemand::Now;
            }
            code
        } else if datagram.dont_fragment {
            self.state.mtu.pass(datagram.wire_len)
        } else {
            self.state.told.silent = self.state.told.silent.saturating_add(1);
            None
        };
        if let Some(code) = code {
            self.on_code(now, code);
        }
        if self.state.told.signalled > 0 && !self.state.mute && self.is_news() {
            AckDemand::Now
        } else {
            AckDemand::Policy
        }
    }
}

impl Feedback for KickAssReceiver {
    fn on_piece(&mut self, now: Time, piece: &PieceView) {
        if !piece.is_leading() || self.state.peer.is_none() {
            return;
        }
        // Routers of IPv6 do not cut for an MTU.
        if piece.wire_len - piece.payload_bytes >= IPV6_HEADER_BYTES {
            self.state.mtu = PathMtu::Passes;
        }
        let Some(code) = Code::of_lead_bytes(piece.payload_bytes) else { return };
        if self.state.complete { self.wait(piece.ip_id, code) } else { self.on_code(now, code) }
    }

    fn on_datagram(&mut self, now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        if let RoundTrip::Since(then) = self.state.rtt {
            let (least, most) = RTT_BOUNDS;
            self.state.rtt = RoundTrip::Known(now.since(then).clamp(least, most));
        }
        if let Some(options) = datagram.options.filter(|options| is_syn(options)) {
            self.on_syn(options);
        }
        match self.state.peer {
            Some(_) if datagram.payload_bytes > 0 => self.on_data(now, datagram),
            _ => AckDemand::Policy,
        }
    }

    fn fill(&mut self, now: Time, options: &mut OptionList) {
        if let RoundTrip::Unknown | RoundTrip::Since(_) = self.state.rtt {
            self.state.rtt = RoundTrip::Since(now);
        }
        let room = |bytes: u16| options.len() + usize::from(bytes) <= MAX_OPTION_BYTES;
        if self.state.peer.is_none() {
            return;
        }
        if is_syn(options) {
            if room(OFFER_BYTES) {
                self.state.own.push(options).expect("the room was looked at");
            }
            return;
        }
        // Where no code ever came, ACKs are those of plain TCP.
        let news = self.state.told.signalled > 0 || self.state.told.silent > 0;
        if self.state.told.last.is_some() && news && room(REPORT_BYTES) && !self.state.mute {
            self.state.told.push(options).expect("the room was looked at");
            self.state.reported = self.state.told.last;
            (self.state.told.signalled, self.state.told.silent) = (0, 0);
        }
    }
}

/// These are the options of a SYN or SYN-ACK: nothing else has an MSS (RFC 9293 section 3.7.1).
fn is_syn(options: &OptionList) -> bool {
    options.find(kind::MSS).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testbed::{datagram, ms};
    use alloc::vec::Vec;
    use forebay_base::Ecn;

    const NOW: Time = Time::from_secs(10);

    fn code(bytes: u16) -> Code {
        Code::of_lead_bytes(bytes).unwrap()
    }
    fn syn_with(offer: Option<Offer>) -> OptionList {
        let mut options = OptionList::EMPTY;
        options.push(kind::MSS, &[5, 180]).unwrap();
        if let Some(offer) = offer {
            offer.push(&mut options).unwrap();
        }
        options
    }
    const DATA: DatagramView<'static> = DatagramView {
        payload_bytes: 1448,
        wire_len: 1500,
        pieces: 1,
        dont_fragment: false,
        ip_id: 0,
        ecn: Ecn::NotEct,
        options: None,
        in_order: true,
    };

    /// A receiver whose peer offers, the SYN-ACK sent.
    fn receiver(params: &Params) -> KickAssReceiver {
        let mut receiver = KickAssReceiver::new(params);
        let peer = Offer { explicit_tcp: true, ..Offer::default() };
        receiver.on_datagram(NOW, &datagram(Some(&syn_with(Some(peer)))));
        let mut options = syn_with(None);
        receiver.fill(NOW, &mut options);
        assert_eq!(Offer::find(&options), Some(params.settings().offer()));
        receiver.on_datagram(NOW + ms(100), &datagram(None));
        receiver
    }
    fn filled(receiver: &mut KickAssReceiver, now: Time) -> OptionList {
        let mut options = OptionList::EMPTY;
        receiver.fill(now, &mut options);
        options
    }
    fn report(receiver: &mut KickAssReceiver, now: Time) -> Option<Report> {
        Report::find(&filled(receiver, now))
    }
    fn lead(receiver: &mut KickAssReceiver, now: Time, (ip_id, bytes): (u32, u16)) {
        let (wire_len, payload_bytes, ecn) = (bytes + 20, bytes, Ecn::NotEct);
        let (offset, more, dont_fragment, head) = (0, true, false, None);
        let piece =
            PieceView { wire_len, payload_bytes, offset, more, dont_fragment, ip_id, ecn, head };
        receiver.on_piece(now, &piece);
    }
    /// A datagram in two fragments.
    fn cut(receiver: &mut KickAssReceiver, now: Time, (ip_id, bytes): (u32, u16)) -> AckDemand {
        lead(receiver, now, (ip_id, bytes));
        receiver.on_datagram(now, &DatagramView { pieces: 2, ip_id, ..DATA })
    }

    #[test]
    fn a_syn_ack_takes_what_the_last_syn_offers_and_a_peer_that_offers_nothing_hears_nothing() {
        let mut receiver = KickAssReceiver::new(&Params::default());
        let answer = |receiver: &mut KickAssReceiver, offer| {
            receiver.on_datagram(NOW, &datagram(Some(&syn_with(offer))));
            let mut options = syn_with(None);
            receiver.fill(NOW, &mut options);
            Offer::find(&options)
        };
        let own = Offer { dither: false, explicit_tcp: true, thinning: true };
        assert_eq!(answer(&mut receiver, Some(Offer::default())), Some(own));
        assert_eq!(answer(&mut receiver, None), None, "the SYN came again, without");
        for _ in 0..9 {
            assert_eq!(cut(&mut receiver, NOW, (1, 640)), AckDemand::Policy);
            assert!(filled(&mut receiver, NOW).is_empty());
        }
    }

    /// A liar's codes stay codes; a mute receiver writes what plain TCP writes.
    #[test]
    fn receivers_of_experiments_lie_and_keep_silent() {
        for (lie_codes, bytes, told) in
            [(16, 640, 768), (-4, 640, 608), (9, 1464, 1472), (-9, 24, 24)]
        {
            let mut receiver = receiver(&Params { lie_codes, ..Params::paper() });
            cut(&mut receiver, NOW, (7, bytes));
            let report = report(&mut receiver, NOW).unwrap();
            assert_eq!((report.last, report.least), (Some(code(told)), Some(code(told))));
        }
        let mut receiver = receiver(&Params { mute: true, ..Params::default() });
        assert_eq!(cut(&mut receiver, NOW, (7, 640)), AckDemand::Policy);
        assert!(filled(&mut receiver, NOW).is_empty());
        for bad in [-182, 182] {
            let error = Params { lie_codes: bad, ..Params::default() }.check().unwrap_err();
            assert_eq!((error.param, &*error.allowed), ("lie_codes", "-181 to 181"));
        }
    }

    #[test]
    fn acks_are_those_of_tcp_until_a_code_comes() {
        let mut receiver = receiver(&Params::default());
        for _ in 0..9 {
            assert_eq!(receiver.on_datagram(NOW, &DATA), AckDemand::Policy);
            assert!(filled(&mut receiver, NOW).is_empty());
        }
        assert_eq!(cut(&mut receiver, NOW, (7, 640)), AckDemand::Now);
        let (least, last, rate) = (Some(code(640)), Some(code(640)), Some(code(640).rate()));
        let told = report(&mut receiver, NOW).unwrap();
        assert_eq!((told.least, told.last, told.signalled, told.silent), (least, last, 1, 9));
        let off = told.rate.unwrap().bps().abs_diff(rate.unwrap().bps());
        assert!(off < 32, "a unit of 31.25 bit/s");
        assert_eq!(report(&mut receiver, NOW), None, "nothing came since");
        // A packet that could not be cut carries no news; one that could and was not, does.
        receiver.on_datagram(NOW, &DatagramView { dont_fragment: true, ..DATA });
        assert_eq!(report(&mut receiver, NOW), None);
        receiver.on_datagram(NOW, &DATA);
        let told = report(&mut receiver, NOW).unwrap();
        assert_eq!((told.last, told.signalled, told.silent), (last, 0, 1));
    }

    #[test]
    fn a_code_that_moves_is_told_at_once_and_one_that_stays_when_tcp_likes() {
        let demands = |take, codes: &[u16]| -> Vec<AckDemand> {
            let mut receiver = receiver(&Params { take: Some(take), ..Params::default() });
            let mut demand = |&bytes| {
                let demand = cut(&mut receiver, NOW, (1, bytes));
                report(&mut receiver, NOW).unwrap();
                demand
            };
            codes.iter().map(&mut demand).collect()
        };
        const NEWS: AckDemand = AckDemand::Now;
        const NONE: AckDemand = AckDemand::Policy;
        let codes = [640, 640, 648, 640, 656, 656];
        assert_eq!(demands(RateSelection::Last, &codes), [NEWS, NONE, NEWS, NEWS, NEWS, NONE]);
        // Between neighbours the router draws: only 640 to 656 is a change.
        assert_eq!(demands(RateSelection::Mean, &codes), [NEWS, NONE, NONE, NONE, NEWS, NONE]);
    }

    #[test]
    fn the_least_code_is_that_of_a_round_trip() {
        let mut receiver = receiver(&Params::default());
        let mut least = |at, bytes| {
            cut(&mut receiver, NOW + ms(at), (1, bytes));
            report(&mut receiver, NOW + ms(at)).unwrap().least.unwrap().lead_bytes()
        };
        // The handshake took 100 ms.
        assert_eq!([least(200, 640), least(220, 624), least(240, 640)], [640, 624, 624]);
        assert_eq!([least(319, 640), least(330, 640)], [624, 640]);
    }

    /// Of 15 Mbit/s drawn between 14.769 and 15.722: the mean, and from a change on the new one.
    #[test]
    fn the_mean_of_drawn_codes_is_the_rate_they_stand_for() {
        let mut receiver = receiver(&Params::default());
        let (low, high) = (code(640).rate().bps() as f64, code(648).rate().bps() as f64);
        let share = (15e6 - low) / (high - low);
        let mut rng = forebay_base::Rng::new(1, forebay_base::Stream::Test, 0);
        let mut sum = 0.0;
        for packet in 0..10_000 {
            let bytes = if rng.unit() < share { 648 } else { 640 };
            let now = NOW + ms(200 + packet);
            cut(&mut receiver, now, (1, bytes));
            let mean = report(&mut receiver, now).unwrap().rate.unwrap().bps() as f64;
            assert!((low - 32.0..=high).contains(&mean), "{mean}");
            sum += mean;
        }
        // Standard error of 10 000 draws: 3 % / 100 / 2.
        assert!((sum / 1e4 / 15e6 - 1.0).abs() < 1e-3, "{}", sum / 1e4);
        cut(&mut receiver, NOW + ms(10_300), (1, 664));
        let told = report(&mut receiver, NOW).unwrap().rate.unwrap().bps();
        assert!(code(664).rate().bps() - told < 32, "two steps: no mean of both");
    }

    #[test]
    fn a_lead_counts_with_its_datagram_and_in_the_papers_way_at_once() {
        let mut guarded = receiver(&Params::default());
        // Made up, with an ID that no datagram has; others complete before and after.
        lead(&mut guarded, NOW, (999, 24));
        assert_eq!(report(&mut guarded, NOW), None);
        cut(&mut guarded, NOW, (1, 640));
        assert_eq!(report(&mut guarded, NOW).unwrap().last, Some(code(640)));
        // The rest of 2 is late: 3 overtakes it.
        lead(&mut guarded, NOW, (2, 632));
        cut(&mut guarded, NOW, (3, 640));
        guarded.on_datagram(NOW, &DatagramView { pieces: 2, ip_id: 2, ..DATA });
        assert_eq!(report(&mut guarded, NOW).unwrap().last, Some(code(632)));
        // A flood of such leads displaces what waits, and no more.
        lead(&mut guarded, NOW, (4, 640));
        (100..200).for_each(|id| lead(&mut guarded, NOW, (id, 24)));
        guarded.on_datagram(NOW, &DatagramView { pieces: 2, ip_id: 4, ..DATA });
        assert_eq!(report(&mut guarded, NOW), None);
        let mut paper = receiver(&Params::paper());
        lead(&mut paper, NOW, (999, 24));
        assert_eq!(report(&mut paper, NOW).unwrap().last, Some(Code::MIN));
    }

    #[test]
    fn lengths_that_are_no_codes_and_pieces_that_do_not_lead_say_nothing() {
        let mut receiver = receiver(&Params::paper());
        for bytes in [16, 25, 1480] {
            lead(&mut receiver, NOW, (1, bytes));
        }
        let (wire_len, payload_bytes, ecn) = (660, 640, Ecn::NotEct);
        for (offset, more) in [(640, true), (640, false), (0, false)] {
            let (dont_fragment, ip_id, head) = (false, 1, None);
            let piece = PieceView {
                wire_len,
                payload_bytes,
                offset,
                more,
                dont_fragment,
                ip_id,
                ecn,
                head,
            };
            receiver.on_piece(NOW, &piece);
        }
        assert_eq!(report(&mut receiver, NOW), None);
    }

    /// A datagram of 1500 bytes, cut as a router cuts for an MTU.
    fn cut_for(receiver: &mut KickAssReceiver, mtu: u16) {
        let most = (mtu - 20) / 8 * 8;
        lead(receiver, NOW, (1, most));
        let pieces = 1480u16.div_ceil(most);
        receiver.on_datagram(NOW, &DatagramView { pieces, ip_id: 1, ..DATA });
    }

    #[test]
    fn what_plain_ip_cuts_for_an_mtu_is_no_code() {
        for mtu in 68..1500 {
            let mut doubts = receiver(&Params::default());
            (0..9).for_each(|_| cut_for(&mut doubts, mtu));
            assert_eq!(report(&mut doubts, NOW), None, "{mtu}");
            let mut paper = receiver(&Params::paper());
            cut_for(&mut paper, mtu);
            assert!(report(&mut paper, NOW).is_some(), "{mtu}");
        }
    }

    /// A second length, or a packet that passes whole.
    #[test]
    fn a_long_first_fragment_counts_once_no_mtu_can_have_made_it() {
        let mut varied = receiver(&Params::default());
        cut(&mut varied, NOW, (1, 1472));
        assert_eq!(cut(&mut varied, NOW, (1, 1464)), AckDemand::Now);
        let mut whole = receiver(&Params::default());
        for _ in 0..9 {
            cut(&mut whole, NOW, (1, 1472));
        }
        assert_eq!(report(&mut whole, NOW), None);
        let shorter = DatagramView { dont_fragment: true, wire_len: 1499, ..DATA };
        assert_eq!(whole.on_datagram(NOW, &shorter), AckDemand::Policy);
        let passes = DatagramView { dont_fragment: true, ..DATA };
        assert_eq!(whole.on_datagram(NOW, &passes), AckDemand::Now);
        assert_eq!(report(&mut whole, NOW).unwrap().last, Some(code(1472)));
        // Two routers of Kick-Ass leave three pieces, as an MTU of 660 does.
        let mut two = receiver(&Params::default());
        let mut cut_twice = |bytes| {
            lead(&mut two, NOW, (1, bytes));
            two.on_datagram(NOW, &DatagramView { pieces: 3, ip_id: 1, ..DATA })
        };
        cut_twice(640);
        assert_eq!(cut_twice(640), AckDemand::Policy);
        assert_eq!(cut_twice(648), AckDemand::Now);
    }

    #[test]
    fn an_order_is_no_rate() {
        let mut receiver = receiver(&Params::default());
        cut(&mut receiver, NOW, (1, 640));
        let before = report(&mut receiver, NOW).unwrap();
        cut(&mut receiver, NOW + ms(10), (1, 24));
        let told = report(&mut receiver, NOW).unwrap();
        let expected = (Some(Code::MIN), before.least, before.rate);
        assert_eq!((told.last, told.least, told.rate), expected);
    }
}
