//! RCP end points (doi:10.1007/11499169_22): Dukkipati, Kobayashi, Zhang-Shen and McKeown,
//! "Processor Sharing Flows in the Internet", IWQoS 2005.
//!
//! Each router on the path computes one rate for all flows of a port. The sender puts a request on
//! its SYN and on all data, routers lower it to what they grant, the receiver returns it on every
//! ACK, and the sender sends at that rate:
//!
//! 1. request: rate "not set", and the smoothed RTT, of which routers form their mean;
//! 2. `pacing_rate = grant` of the last ACK, the SYN-ACK included: the first data packet leaves
//!    at it, one round trip after the SYN. No window but that of sequence numbers;
//! 3. losses, timeouts and ECN change nothing: the rate is the routers'. What is lost is found as
//!    the transport is configured, and leaves again at the granted rate;
//! 4. a grant "not set" says that no RCP router is on the path: the flow is one of NewReno, from
//!    the initial window on, until a rate comes. So it is before the first grant;
//! 5. a slow flow sends short packets, so that one leaves every `K = min(0.5 s, 2 min RTT)` and
//!    returns with the rate of now: `wire_len <= max(K rate, 128 bytes)`.
//!
//! Rates in bit/s of IP packets.
//!
//! Differs from the authors' code (ns-2) in: 4, where there is no such sender; 5, in whose place
//! that code sends probes of 40 bytes, as often; losses, which it repairs once all data are sent
//! and two round trips have passed. A new rate times the packets that follow; one that waits
//! already keeps its time (as in the port to ns-3), where that code times it again. The peer's
//! window holds here: on a SYN-ACK it is not scaled, so that the first flight is of 65 535 bytes at
//! most, unless `tcp.scaled_syn_ack` is set. After a pause a flow goes on at the last rate. Routers
//! count the bytes of their links, some more than those of IP.

use crate::ParamError;
use crate::controller::{
    Ack, Congestion, Controller, HeaderEdits, Init, Limits, NextPacket, Recovered, RecoveryOwner,
    RttView, Sent, Tag, Timeout, Traits,
};
use crate::feedback::{AckDemand, DatagramView, Feedback};
use crate::newreno::{self, NewReno};
use alloc::boxed::Box;
use forebay_base::{MAX_OPTION_BYTES, OptionList, Rate, Span, Time};
use forebay_signal::rcp::{GRANT_BYTES, Grant, REQUEST_BYTES, Request};
use serde::{Deserialize, Serialize};

/// Longest time between two looks at what routers grant, whatever the RTT (authors' code:
/// SYN_DELAY).
const MAX_SILENCE: Span = Span::from_millis(500);
/// The shortest packet that equation 5 asks for, IP header included: half of it is payload, with
/// IPv4.
const MIN_PACKET_BYTES: u64 = 128;

/// Parameters of RCP end points: there are none, all choices are the routers'.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Params {}

impl Params {
    /// Errors if a parameter is outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }
}

/// The sender of one path.
#[derive(Clone, Debug)]
pub struct Rcp {
    granted: Option<Rate>,
    srtt: Option<Span>,
    min_rtt: Span,
    /// The controller of the flow while no router grants a rate.
    tcp: NewReno,
    /// On the heap: only a new one of `tcp` needs it.
    init: Box<Init>,
}

impl Rcp {
    /// A sender without a rate.
    pub fn new(_params: &Params, init: Init) -> Rcp {
        Rcp {
            granted: None,
            srtt: None,
            min_rtt: Span::MAX,
            tcp: fresh_tcp(&init),
            init: Box::new(init),
        }
    }

    /// Equations 2 and 4.
    fn take_grant(&mut self, options: Option<&OptionList>) {
        let Some(Grant(rate)) = options.and_then(Grant::find) else { return };
        if rate.is_none() && self.granted.is_some() {
            self.tcp = fresh_tcp(&self.init);
        }
        self.granted = rate;
    }

    /// Equation 5; None: longer than any packet.
    fn longest_packet(&self) -> Option<u16> {
        let bytes = self.granted?.bytes_in(MAX_SILENCE.min(self.min_rtt * 2));
        u16::try_from(bytes.max(MIN_PACKET_BYTES)).ok()
    }
}

fn fresh_tcp(init: &Init) -> NewReno {
    NewReno::new(&newreno::Params::default(), init.clone())
}

impl Controller for Rcp {
    fn limits(&self) -> Limits {
        match self.granted {
            Some(rate) => {
                Limits { pacing_rate: Some(rate), ..Limits::window(Limits::MAX_CWND_BYTES) }
            }
            None => self.tcp.limits(),
        }
    }
    fn traits(&self) -> Traits {
        Traits { wants_rate: false, option_bytes: REQUEST_BYTES, ..Traits::default() }
    }

    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        (self.srtt, self.min_rtt) = (rtt.srtt, rtt.min);
        self.take_grant(options);
        self.tcp.on_established(now, rtt, options);
    }

    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        match self.granted {
            Some(_) => Tag(0),
            None => self.tcp.on_sent(now, sent),
        }
    }

    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        (self.srtt, self.min_rtt) = (ack.rtt.srtt, ack.rtt.min);
        self.take_grant(ack.options);
        if self.granted.is_none() {
            self.tcp.on_ack(now, ack);
        }
    }

    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        if self.granted.is_none() {
            self.tcp.on_congestion(now, event);
        }
    }

    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        if self.granted.is_none() {
            self.tcp.on_recovered(now, end);
        }
    }

    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        if self.granted.is_none() {
            self.tcp.on_rto(now, timeout);
        }
    }

    fn on_spurious(&mut self, now: Time) {
        if self.granted.is_none() {
            self.tcp.on_spurious(now);
        }
    }

    fn recovery_owner(&self) -> RecoveryOwner {
        match self.granted {
            Some(_) => RecoveryOwner::Controller,
            None => self.tcp.recovery_owner(),
        }
    }

    /// Equations 1 and 5.
    fn edit_header(&mut self, _now: Time, _next: &NextPacket) -> HeaderEdits {
        let mut options = OptionList::EMPTY;
        let request = Request { rate: None, rtt: self.srtt };
        request.push(&mut options).expect("12 bytes fit into 40");
        let max_wire_len = self.longest_packet();
        HeaderEdits { options: Some(options), max_wire_len, ..HeaderEdits::default() }
    }

    fn ssthresh_bytes(&self) -> Option<u64> {
        if self.granted.is_some() { None } else { self.tcp.ssthresh_bytes() }
    }

    fn phase(&self) -> &'static str {
        if self.granted.is_some() { "granted" } else { self.tcp.phase() }
    }
}

/// The receiver of one path: returns the rate of the last request on every ACK.
#[derive(Clone, Debug, Default)]
pub struct RcpEcho {
    /// None before the first request: the sender does not speak RCP, and would not look.
    last: Option<Grant>,
}

impl RcpEcho {
    /// A receiver that has seen nothing.
    pub fn new(_params: &Params) -> RcpEcho {
        RcpEcho::default()
    }
}

impl Feedback for RcpEcho {
    fn wants_pieces(&self) -> bool {
        false
    }
    fn on_datagram(&mut self, _now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        if let Some(request) = datagram.options.and_then(Request::find) {
            self.last = Some(Grant(request.rate));
        }
        AckDemand::Policy
    }

    fn fill(&mut self, _now: Time, options: &mut OptionList) {
        // A SYN-ACK may be full (MPTCP): then the first ACK does, and until then the sender has no
        // rate.
        if let Some(grant) = self.last
            && options.len() + usize::from(GRANT_BYTES) <= MAX_OPTION_BYTES
        {
            grant.push(options).expect("the room was looked at");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::CongestionCause;
    use crate::testbed::{MSS, ack, congestion, datagram, init, ms, next_packet, sent};

    const NOW: Time = Time::from_secs(1);

    fn rcp() -> Rcp {
        Rcp::new(&Params::default(), init(10))
    }
    fn grant(rate: Option<Rate>) -> OptionList {
        let mut options = OptionList::EMPTY;
        Grant(rate).push(&mut options).unwrap();
        options
    }
    fn told(rcp: &mut Rcp, rate: Option<Rate>) {
        rcp.on_ack(NOW, &Ack { options: Some(&grant(rate)), ..ack(MSS) });
    }
    fn request(rcp: &mut Rcp, syn: bool) -> (Request, usize) {
        let next = NextPacket { syn, ..next_packet() };
        let options = rcp.edit_header(NOW, &next).options.unwrap();
        (Request::find(&options).unwrap(), options.len())
    }

    #[test]
    fn the_grant_of_the_syn_ack_is_the_rate_of_the_first_packet() {
        let mut rcp = rcp();
        assert_eq!(rcp.limits(), Limits::window(10 * MSS), "before: a flow of TCP");
        let rtt = ack(0).rtt;
        rcp.on_established(NOW, &rtt, Some(&grant(Some(Rate::mbps(7)))));
        let Limits { cwnd_bytes, pacing_rate, credits, .. } = rcp.limits();
        assert_eq!((cwnd_bytes, pacing_rate, credits), (1 << 30, Some(Rate::mbps(7)), None));
        told(&mut rcp, Some(Rate::mbps(5)));
        assert_eq!(rcp.limits().pacing_rate, Some(Rate::mbps(5)));
        told(&mut rcp, Some(Rate::MAX));
        assert_eq!(rcp.limits().pacing_rate, Some(Rate::MAX));
        rcp.on_ack(NOW, &ack(MSS));
        assert_eq!(rcp.limits().pacing_rate, Some(Rate::MAX), "an ACK that says nothing");
    }

    #[test]
    fn requests_are_open_and_tell_the_smoothed_rtt() {
        let mut rcp = rcp();
        let none = Request { rate: None, rtt: None };
        assert_eq!(request(&mut rcp, true), (none, 12));
        told(&mut rcp, Some(Rate::mbps(5)));
        // The ACKs of the testbed have 100 ms.
        let open = Request { rate: None, rtt: Some(ms(100)) };
        assert_eq!(request(&mut rcp, false), (open, usize::from(rcp.traits().option_bytes)));
    }

    #[test]
    fn slow_flows_send_short_packets_and_no_others() {
        let next = next_packet();
        let longest = |rate, min| {
            let (mut rcp, rtt) = (rcp(), RttView { min, ..ack(0).rtt });
            rcp.on_established(NOW, &rtt, Some(&grant(rate)));
            rcp.edit_header(NOW, &next).max_wire_len
        };
        // 1500 bytes in 200 ms are 60 kbit/s.
        assert_eq!(longest(Rate::new(60_000), ms(100)), Some(1500));
        assert_eq!(longest(Rate::new(30_000), ms(100)), Some(750));
        assert_eq!(longest(Rate::new(30_000), ms(1_000)), Some(1875), "every 500 ms at least");
        assert_eq!(longest(Rate::new(2_000), ms(100)), Some(128));
        assert_eq!(longest(Some(Rate::MAX), ms(100)), None);
        assert_eq!(longest(None, ms(100)), None, "a flow of TCP");
    }

    #[test]
    fn nothing_but_a_grant_changes_a_granted_rate() {
        let mut rcp = rcp();
        told(&mut rcp, Some(Rate::mbps(5)));
        let before = rcp.limits();
        for cause in [CongestionCause::Loss, CongestionCause::LostRetransmission] {
            rcp.on_congestion(NOW, &congestion(cause, 20.0));
            assert_eq!(rcp.limits(), before);
        }
        rcp.on_rto(NOW, &Timeout { flight_size_bytes: 20 * MSS, first: true });
        rcp.on_spurious(NOW);
        rcp.on_recovered(NOW, &Recovered { cwnd_cap_bytes: Some(MSS) });
        rcp.on_ack(NOW, &Ack { ecn_echo: true, ..ack(MSS) });
        rcp.on_sent(NOW + ms(60_000), &sent(true));
        assert_eq!(rcp.limits(), before);
        assert_eq!((rcp.phase(), rcp.recovery_owner()), ("granted", OWN));
        told(&mut rcp, None);
        assert_eq!(rcp.limits(), Limits::window(11 * MSS), "a new flow of TCP, and this ACK");
        assert_ne!(rcp.recovery_owner(), OWN);
    }
    const OWN: RecoveryOwner = RecoveryOwner::Controller;

    /// Without a rate, whatever happens: the window of NewReno.
    #[test]
    fn a_path_without_routers_of_rcp_is_one_of_newreno() {
        let (mut rcp, mut reno) = (rcp(), NewReno::new(&newreno::Params::default(), init(10)));
        let (mut both, unset) = ([&mut rcp as &mut dyn Controller, &mut reno], grant(None));
        let established = ack(0).rtt;
        let mut seen = 0;
        both.iter_mut().for_each(|c| c.on_established(NOW, &established, Some(&unset)));
        for step in 0..400u64 {
            let news = Ack { options: Some(&unset), cwnd_limited: step % 7 != 0, ..ack(MSS) };
            for c in &mut both {
                let now = NOW + ms(step * if step % 90 == 0 { 400 } else { 40 });
                c.on_sent(now, &sent(step % 90 == 0));
                c.on_ack(now, &news);
                match step % 100 {
                    50 => c.on_congestion(now, &congestion(CongestionCause::Loss, 12.0)),
                    55 => c.on_recovered(now, &Recovered { cwnd_cap_bytes: Some(3 * MSS) }),
                    70 => c.on_rto(now, &Timeout { flight_size_bytes: 9 * MSS, first: true }),
                    71 if step > 200 => c.on_spurious(now),
                    _ => {}
                }
            }
            assert_eq!(both[0].limits(), both[1].limits(), "step {step}");
            assert_eq!(both[0].ssthresh_bytes(), both[1].ssthresh_bytes(), "step {step}");
            seen |= 1u64 << (both[0].limits().cwnd_bytes / MSS).min(63);
        }
        assert!(seen.count_ones() > 10, "the window went up and down: {seen:b}");
    }

    #[test]
    fn the_receiver_returns_the_last_request() {
        let mut echo = RcpEcho::new(&Params::default());
        let filled = |echo: &mut RcpEcho| {
            let mut options = OptionList::EMPTY;
            echo.fill(NOW, &mut options);
            Grant::find(&options)
        };
        let asks = |rate| {
            let mut options = OptionList::EMPTY;
            Request { rate, rtt: None }.push(&mut options).unwrap();
            options
        };
        echo.on_datagram(NOW, &datagram(None));
        assert_eq!(filled(&mut echo), None, "the sender does not speak RCP");
        for rate in [None, Some(Rate::mbps(3)), Some(Rate::mbps(9)), None] {
            let demand = echo.on_datagram(NOW, &datagram(Some(&asks(rate))));
            assert_eq!(demand, AckDemand::Policy);
            assert_eq!(filled(&mut echo), Some(Grant(rate)));
        }
        echo.on_datagram(NOW, &datagram(Some(&asks(Some(Rate::mbps(2))))));
        echo.on_datagram(NOW, &datagram(None));
        assert_eq!(filled(&mut echo), Some(Grant(Some(Rate::mbps(2)))));
    }
}
