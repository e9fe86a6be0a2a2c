//! The Kick-Ass router port: Flores, Wenzel, Kuzmanovic, "Enabling Router-Assisted Congestion
//! Control on the Internet" (ICNP 2016, doi:10.1109/ICNP.2016.7784442).
//!
//! The port computes one rate R for all flows, and signals it by cutting packets: the payload of
//! the first fragment is a code, 24 to 1472 bytes for 120 kbit/s to 9.8 Gbit/s.
//!
//! 1. R is that of RCP (equations 1, 2 and 4 there), in bit/s as the link counts them, including
//!    link overhead and the 20 bytes of each cut. y counts the latter on arrival;
//! 2. a code counts bytes of IP packets before they are cut: it carries `R b / w`, where b is the
//!    length of full-sized packets in the last interval, and w what the link carries for them: 1500
//!    of 1520 where all are cut. At C = 150 Mbit/s one flow receives 148.0;
//! 3. d is the mean of the round-trip times of indicators (packets with DF of 600 to 611 bytes),
//!    and of handshakes where those are timed;
//! 4. a packet is cut where it leaves, with the newest code, if it has no DF and either is whole
//!    and at least 1500 bytes long, or is the first fragment of a datagram and longer than the code
//!    asks for. All else passes: the receiver sees the lowest rate on its path. The tail keeps the
//!    MF of the packet that was cut;
//! 5. where more than half of the limit waits, or R is below the smallest code, nothing is cut:
//!    fallback, in which senders are TCP. Above the largest code the port sends the largest.
//!
//! Of IPv6, whose routers do not cut, the port cuts what carries a Fragment header, or puts one in:
//! see [`Ipv6`].
//!
//! The code is the largest of at most R ("floor"), which makes the loop hunt between two codes 6.4
//! % apart. With dither it is that one or the next, such that the mean of the codes' rates is R: by
//! a draw for each packet, or by a hash of addresses, protocol and ID ("shared"), which is the same
//! in all routers, so that the lower of two equal rates is not too low (two draws: up to 1.6 %).
//!
//! In equilibrium q = 0. If y does not count the 20 bytes, a queue of `q = (20 / 1520) (alpha /
//! beta) C d` stands.
//!
//! Fallback "hardened": the paper's rule does not end where TCP alone keeps more than half of a
//! queue filled, begins with every burst, and R, computed from a load that ignores it, falls to
//! nothing meanwhile. Here the mean of the queue over d counts. Signals end where it is above
//! half of the limit, where the limit is reached after more than d above half, or where R falls
//! below the smallest code. They come back on trial, for 4 d, and stay if the mean is below 0.35
//! then. A trial comes after the mean was below 0.35 for d, 2 d after signals ended at the soonest.
//! If it never is, one comes every 16 s: it costs participating flows what the others take
//! meanwhile. Where nine tenths of what arrives is of flows that let routers cut, no others fill
//! the queue: the trial comes as soon as the others have left, again after 2 d, 4 d and so on, at
//! most 2 s; one that runs when they leave begins anew.
//! R keeps its first value until a participating flow has sent something, for it would rise while
//! flows are in their handshakes, and all of them would receive too much. Until a trial has
//! succeeded R is not the loop's, which sees the half-empty link that fallback leaves, and would
//! raise R by more than a short queue holds: R is `(1 - q / 2Q) gamma C / N`, but no less than the
//! smallest code if that is below `gamma C / N`; Q is the limit, and N the flows that were seen in
//! the last d (linear counting, Whang et al. 1990, doi:10.1145/78922.78925). Where N is above nine
//! tenths of those that could have the smallest code each, no trial comes. d is no less than four
//! packets of a flow at R take: a flow learns of R with its own packets, so that the loop's delay
//! is theirs, and one that sends less than one in d would not be counted. Where N at least doubles
//! within d, and by the `1 / initial_share` flows that the first R is for or more, R is divided by
//! its growth at once, down to `gamma C / N`: before the loop sees what newcomers send, they all
//! send too much.
//!
//! A queue of less than a packet for each of N flows is no reason to fall back: so many may wait
//! where flows obey, as their phases have it. Where the limit is shorter, only the rate is one.
//!
//! Hosts believe no code before a second one came, for the MTU of a link makes one, too. So where R
//! is the whole link, and would stand between the same two codes, neither of them is drawn for
//! less than a quarter of packets, and the two largest are where R is above both. That costs 1.6 %
//! of R there, and nothing elsewhere, where the loop makes up for it.
//!
//! Beside others, "two-queues": flows that let routers cut wait in a queue of their own (see
//! [`Division`]), in which no AQM marks or drops. Both queues have the share of
//! the link that their flows are of all, counted. Fallback, R and d are those of that queue: a flow
//! that lets routers cut and ignores R harms those who listen, and nobody else. In fallback all are
//! TCP, and wait in the discipline, which may mark and drop: that it is short says nothing about
//! the flows then, so that a trial that failed always doubles the wait for the next one. "Floor":
//! one queue, `R >= 0.9 gamma C / N` once N was counted while there are others, and signals go on.
//!
//! Differs from the paper in: gains, about which it is silent, are (0.4, 0.226), whose loop is
//! stable also with a standing queue; the smallest code is 24, not floored to 16; the largest is
//! 1472, for 1480 would be the whole packet; a whole packet too short for the code is cut as near
//! to its end as it can be, for a whole packet carries no code. Where several routers fall back or
//! signal, a missing code hides the others: with `explicit_tcp` a port that falls back sends the
//! smallest code, which end points that agreed on it take for that, and others for 120 kbit/s; the
//! smallest code that says a rate is then the next one, 128 kbit/s.
//!
//! It hurts after the bottleneck of flows whose hosts know no order, where a port that falls back
//! is silent; `forebay reproduce kickass/limits` compares it with RCP, TCP and AQMs.

mod census;
mod cut;
mod fallback;
mod flows;
mod handshake;
mod params;
mod rtt;
mod sharing;

pub use cut::Ipv6;
pub use fallback::Fallback;
pub use params::{Beside, KickAssPortParams, Pair, Preset, Rounding};
pub use rtt::RttAverage;

use crate::lanes::{Division, Lane};
use crate::limit::Limit;
use crate::port::{Backlog, PortContext, PortInit};
use crate::rate_control::RateControl;
use crate::scheme::{Carries, PortScheme, SchemeParams, TrailingPackets};
use alloc::boxed::Box;
use cut::Cuttable;
use fallback::{IntervalSample, Mode, Occupancy};
use flows::Recent;
use forebay_base::{Arena, IPV4_HEADER_BYTES, IpVersion, Packet, Params, Rate, Rng, Span, Time};
use forebay_signal::kickass::Code;
use handshake::Handshakes;
use rtt::RoundTrip;
use sharing::Sharing;

/// What a port publishes: R as codes say it, in bit/s.
pub const RATE_METRIC: &str = "kickass_rate_bps";
/// The largest code of at most that; 0: there is none.
pub const CODE_METRIC: &str = "kickass_code";
/// 0: it signals; 1: fallback.
pub const MODE_METRIC: &str = "kickass_mode";
/// d, in ms.
pub const RTT_METRIC: &str = "kickass_rtt_ms";
/// Packets made by cutting since the start.
pub const PIECES_METRIC: &str = "kickass_pieces";
/// Active flows that let routers cut.
pub const LISTENERS_METRIC: &str = "kickass_listeners_flows";
/// Active flows that do not.
pub const OTHERS_METRIC: &str = "kickass_others_flows";

/// Codes say rates from 120 kbit/s to 9.8 Gbit/s, the last one "or more".
const MIN_RATE: Rate = Rate::clamped(120_000);
const MAX_RATE: Rate = Rate::mbps(10_000);
/// Of an even share: see [`Beside::Floor`].
const FLOOR: f64 = 0.9;
/// With IPv6 a packet of 1500 bytes has no room for those above 8.1 Gbit/s.
const MAX_RATE_V6: Rate = Rate::mbps(8100);

impl SchemeParams for KickAssPortParams {
    type Port = Box<KickAssPort>;

    fn build(&self, init: PortInit) -> Box<KickAssPort> {
        Box::new(KickAssPort::new(*self, init))
    }
    fn carries(&self, version: IpVersion) -> Option<Carries> {
        let most_rate = match (version, self.ipv6) {
            (IpVersion::V4, _) | (_, Ipv6::Pass) => MAX_RATE,
            _ => MAX_RATE_V6,
        };
        Some(Carries {
            least_rate: MIN_RATE,
            most_rate,
            packet_bytes: self.least_bytes,
            key: "least_bytes",
            why: "no shorter packet is cut",
            beside: self.beside == Beside::TwoQueues,
        })
    }
}

/// A rate in codes: the largest code of at most it, and how often to send the next one instead if
/// the mean is to be that rate.
#[derive(Clone, Copy, Debug, PartialEq)]
struct QuantizedRate {
    code: Code,
    next: f64,
}

impl QuantizedRate {
    /// None: below `least`.
    fn of(rate_bps: f64, least: Code) -> Option<QuantizedRate> {
        let code = Code::at_most(Rate::clamped(rate_bps as u64)).filter(|&code| code >= least)?;
        let low_bps = code.rate().bps() as f64;
        let next = code.next().map_or(0.0, |next| {
            let step_bps = next.rate().bps() as f64 - low_bps;
            (rate_bps - low_bps) / step_bps
        });
        Some(QuantizedRate { code, next })
    }
    /// The same, but neither code is rare.
    fn varied(self) -> QuantizedRate {
        let QuantizedRate { code, next } = self;
        match (code.next(), code.previous()) {
            (None, Some(below)) => QuantizedRate { code: below, next: MOST_NEXT },
            _ => QuantizedRate { code, next: next.clamp(1.0 - MOST_NEXT, MOST_NEXT) },
        }
    }
}

/// Share of the larger of two codes where R stands still: of ten packets, a first flight, some say
/// the other one with a chance of 1 - 0.75^10 = 94 %.
const MOST_NEXT: f64 = 0.75;

/// Full-sized packets of an interval.
#[derive(Clone, Copy, Debug, Default)]
struct FullSized {
    /// Before they are cut.
    ip_bytes: u64,
    /// What the link carries for them.
    link_bytes: u64,
}

/// See the module.
#[derive(Clone, Debug)]
pub struct KickAssPort {
    params: KickAssPortParams,
    /// Of the queue that those who listen wait in.
    limit: Limit,
    control: RateControl,
    rtt: RoundTrip,
    handshakes: Option<Handshakes>,
    mode: Mode,
    /// R in codes, computed once per interval.
    coded: Option<QuantizedRate>,
    /// `b / w` of point 2.
    ip_share: f64,
    full_sized: FullSized,
    /// Who listens, where that matters.
    sharing: Option<Box<Sharing>>,
    /// When which flow was last counted as one that is cut, and cut: where not every packet is.
    recent: Option<(Recent, Recent)>,
    /// Dither.
    rng: Rng,
    /// The identification of the next Fragment header that this port puts in; None: it has put in
    /// none.
    next_id: Option<u32>,
    pieces: u64,
}

impl KickAssPort {
    /// A port at the start of time. Panics if the parameters do not pass
    /// [`KickAssPortParams::check`].
    pub fn new(params: KickAssPortParams, init: PortInit) -> KickAssPort {
        assert_eq!(params.check(), Ok(()), "parameters of a Kick-Ass port");
        let PortInit { limit, rate, overhead_bytes, mut rng, .. } = init;
        let full_bytes = u64::from(params.least_bytes);
        let link_bytes = full_bytes + u64::from(IPV4_HEADER_BYTES) + 2 * u64::from(overhead_bytes);
        let mut port = KickAssPort {
            control: RateControl::new(rate, overhead_bytes, params.control(), &mut rng),
            rtt: RoundTrip::new(params.rtt_average, params.initial_rtt, params.time_handshakes),
            handshakes: params.time_handshakes.then(Handshakes::new),
            mode: Mode::new(params.fallback, 1.0 / params.initial_share),
            coded: None,
            ip_share: full_bytes as f64 / link_bytes as f64,
            full_sized: FullSized::default(),
            sharing: (params.beside != Beside::OneQueue)
                .then(|| Box::new(Sharing::new(params.beside, limit, overhead_bytes))),
            recent: (params.cuts_per_rtt > 0).then(Default::default),
            rng,
            next_id: None,
            pieces: 0,
            params,
            limit,
        };
        port.refresh();
        port
    }

    /// d.
    fn rtt(&self) -> Span {
        Span::from_secs_f64(self.control.rtt_s)
    }
    /// R as codes say it, in bit/s.
    fn code_bps(&self, rate_bps: f64) -> f64 {
        rate_bps * self.ip_share
    }
    /// R, as the loop or fallback has it, in codes.
    fn quantized(&self, rate_bps: f64) -> Option<QuantizedRate> {
        QuantizedRate::of(self.code_bps(rate_bps), self.params.least_code())
    }
    /// Seconds between two packets of a flow at R, or at the smallest code if that is more.
    fn packet_gap_s(&self) -> f64 {
        let least_bps = self.params.least_code().rate().bps() as f64;
        let code_bps = self.code_bps(self.control.rate_bps).max(least_bps);
        f64::from(self.params.least_bytes) * 8.0 / code_bps
    }
    /// R has changed.
    fn refresh(&mut self) {
        let coded = self.quantized(self.control.rate_bps);
        // Below what the link has, R swings, and its codes with it.
        let stands = self.control.rate_bps >= self.control.target_bps();
        let varies = stands && self.params.rounding != Rounding::Floor;
        self.coded = if varies { coded.map(QuantizedRate::varied) } else { coded };
    }
    /// The lowest code that a first fragment carries now; None: nothing is cut.
    fn least_code(&self) -> Option<Code> {
        match self.coded.filter(|_| self.signals()) {
            Some(coded) => Some(coded.code),
            None => self.params.explicit_tcp.then_some(Code::MIN),
        }
    }
    /// The code for this packet.
    fn draw(&mut self, packet: &Packet, least: Code, arena: &Arena) -> Code {
        let next = self.coded.filter(|coded| coded.code == least).map_or(0.0, |coded| coded.next);
        if next == 0.0 || !self.signals() {
            return least;
        }
        let goes_up = match self.params.rounding {
            Rounding::Floor => false,
            Rounding::Dither => self.rng.chance(next),
            Rounding::Shared => cut::shared_draw(packet, arena) < next,
        };
        if goes_up { least.next().unwrap_or(least) } else { least }
    }

    /// Do what is due by `now`: the loop, fallback, the code.
    #[inline]
    fn catch_up(&mut self, now: Time, queue: Backlog) {
        if self.control.ends <= now {
            self.end_interval(now, queue);
        }
    }
    #[inline(never)] // once for many packets
    fn end_interval(&mut self, now: Time, queue: Backlog) {
        self.control.rtt_s = self.rtt.mean_s().max(self.mode.least_rtt_s(self.packet_gap_s()));
        let FullSized { ip_bytes, link_bytes } = core::mem::take(&mut self.full_sized);
        if link_bytes > 0 {
            self.ip_share = ip_bytes as f64 / link_bytes as f64;
        }
        self.share_out(now);
        self.control.catch_up(now, queue.bytes);
        if self.mode.waits() {
            let first_bps =
                self.params.initial_share * self.params.gamma * self.control.capacity_bps();
            self.control.set_rate(first_bps);
        }
        let (target_bps, rate_bps) = (self.control.target_bps(), self.control.rate_bps);
        let least_bps = self.params.least_code().rate().bps() as f64 / self.ip_share + 1.0;
        self.mode.on_interval(IntervalSample {
            now,
            filling: self.filling(queue),
            limit_packets: self.limit.packets_of(self.params.least_bytes.into()).max(1) as f64,
            rtt: self.rtt(),
            starved: self.quantized(rate_bps).is_none(),
            most_flows: target_bps / least_bps,
            alone: self.own_queue().map(|division| division.listeners.into()),
        });
        if let Some((growth, flows)) = self.mode.take_growth() {
            let even_bps = target_bps / flows;
            self.control.set_rate((rate_bps / growth).max(rate_bps.min(even_bps)));
        }
        if let Some(flows) = self.mode.crowd() {
            self.control.set_rate(self.control.rate_bps.min(target_bps / flows));
        }
        if let Some((share, drains)) = self.mode.flow_share() {
            let even_bps = share * target_bps;
            // Not below the smallest code, if that is no more than an even share.
            self.control.set_rate((drains * even_bps).max(least_bps.min(even_bps)));
        }
        self.hold_floor();
        self.refresh();
    }
    /// What of the link those that listen may have: what the others leave them, and the share that
    /// they are of all flows at least.
    fn share_out(&mut self, now: Time) {
        let (rtt, rate_bps) = (self.rtt(), self.control.rate_bps);
        let Some(sharing) = &mut self.sharing else { return };
        sharing.census.on_interval(now, rtt, rate_bps);
        if sharing.two_queues {
            let capacity_bps = self.control.capacity_bps();
            let available_bps = sharing.available_bps(now, rtt, capacity_bps);
            self.control.set_available(available_bps);
            let own_bytes = sharing.division.listeners_bytes;
            let all_bytes = sharing.division.limit.full_bytes();
            self.limit = Limit::Bytes(if self.mode.signals() { own_bytes } else { all_bytes });
        }
    }
    /// R is nine tenths of an even share at least.
    fn hold_floor(&mut self) {
        if let Some(flows) = self.floor_flows() {
            let all = f64::from(flows.listeners) + f64::from(flows.others);
            let least_bps = FLOOR * self.control.target_bps() / all;
            self.control.set_rate(self.control.rate_bps.max(least_bps));
        }
    }
    /// Those that share the link, where there are both and a floor holds.
    fn floor_flows(&self) -> Option<census::ActiveFlows> {
        let sharing = self.sharing.as_ref().filter(|_| self.params.beside == Beside::Floor)?;
        let flows = sharing.census.counted();
        (flows.listeners > 0 && flows.others > 0).then_some(flows)
    }
    /// Where listeners have a queue of their own.
    #[inline]
    fn own_queue(&self) -> Option<&Division> {
        self.sharing.as_ref().filter(|sharing| sharing.two_queues).map(|sharing| &sharing.division)
    }
    fn signals(&self) -> bool {
        self.mode.signals() || self.floor_flows().is_some()
    }
    /// What waits, and the limit, in the unit of the limit.
    #[inline]
    fn filling(&self, queue: Backlog) -> Occupancy {
        let waits = self.limit.used(queue.packets, queue.bytes);
        Occupancy { waits, limit: self.limit.most() }
    }
    /// Bytes of `packet` on the link, those of cutting included if it will be cut.
    fn link_bytes(
        &mut self,
        packet: &Packet,
        cuttable: Option<Cuttable>,
        cx: &PortContext<'_>,
    ) -> u64 {
        let whole_bytes = packet.wire_len() as u64 + self.control.overhead_bytes as u64;
        let Some(cut) = cuttable.filter(|_| self.params.count_cuts) else { return whole_bytes };
        let will_be_cut = self.least_code().and_then(|code| cut.lead_bytes(code)).is_some()
            && self.is_due(packet, cx, |(counted, _)| counted);
        let cut_bytes = u64::from(cut.cut_bytes) + self.control.overhead_bytes as u64;
        if will_be_cut { whole_bytes + cut_bytes } else { whole_bytes }
    }
    /// True where every packet is cut, or where none of this flow was lately.
    #[inline]
    fn is_due(
        &mut self,
        packet: &Packet,
        cx: &PortContext<'_>,
        which: fn(&mut (Recent, Recent)) -> &mut Recent,
    ) -> bool {
        self.recent.is_none() || self.is_flow_due(packet, cx, which)
    }
    #[inline(never)] // ports that cut every packet do not ask
    fn is_flow_due(
        &mut self,
        packet: &Packet,
        cx: &PortContext<'_>,
        which: fn(&mut (Recent, Recent)) -> &mut Recent,
    ) -> bool {
        let Some(recent) = &mut self.recent else { return true };
        let rtt = Span::from_secs_f64(self.control.rtt_s);
        let gap = rtt / u64::from(self.params.cuts_per_rtt);
        flows::key(packet, cx.arena).is_none_or(|key| which(recent).is_due(key, cx.now, gap))
    }
}

impl KickAssPort {
    /// How `packet` may be cut, if it may.
    #[inline]
    fn cuttable(&self, packet: &Packet, arena: &Arena) -> Option<Cuttable> {
        cut::cuttable(packet, self.params.least_bytes, self.params.ipv6, arena)
    }
    /// The identification of a Fragment header that is put in now.
    fn take_id(&mut self) -> u32 {
        let id = self.next_id.unwrap_or_else(|| self.rng.next_u64() as u32);
        self.next_id = Some(id.wrapping_add(1));
        id
    }
}

impl PortScheme for KickAssPort {
    fn on_arrival(&mut self, packet: &mut Packet, queue: Backlog, cx: &mut PortContext<'_>) {
        self.catch_up(cx.now, queue);
        if let Some(indicator) = rtt::indicator(packet, self.params.tagged, cx.arena) {
            self.rtt.learn(indicator);
        }
        if let Some(handshakes) = &mut self.handshakes
            && let Some(rtt) = handshakes.time(packet, cx.now, cx.arena)
        {
            self.rtt.learn_exactly(rtt);
        }
        let cuttable = self.cuttable(packet, cx.arena);
        let mut one_queue = true;
        if let Some(sharing) = &mut self.sharing {
            let lets_cut = cuttable.is_some() && !packet.dont_fragment();
            let lane = sharing.census.see(packet, lets_cut, cx.arena);
            let joined = !self.mode.signals();
            sharing.division.joined = joined;
            sharing.division.lane = if joined { Lane::Others } else { lane };
            one_queue = !sharing.two_queues;
            if lane == Lane::Others && !one_queue {
                return;
            }
        }
        let (limit, wire_len) = (self.limit, packet.wire_len());
        let is_full = || !limit.admits(wire_len, queue.packets, queue.bytes);
        self.mode.on_arrival(cx.now, self.filling(queue), is_full);
        if one_queue {
            self.mode.count_flow(packet, cuttable.is_some(), cx.arena);
        }
        let bytes = self.link_bytes(packet, cuttable, cx);
        if packet.wire_len() >= self.params.least_bytes {
            self.full_sized.ip_bytes += packet.wire_len() as u64;
            self.full_sized.link_bytes += bytes;
        }
        self.control.arrive(cx.now, bytes, queue.bytes);
    }
    fn leave(
        &mut self,
        packet: Packet,
        behind: &mut TrailingPackets<'_>,
        queue: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet {
        self.catch_up(cx.now, queue);
        self.mode.on_leaving(self.filling(queue));
        let Some(cuttable) = self.cuttable(&packet, cx.arena) else { return packet };
        let Some(least) = self.least_code() else { return packet };
        if cuttable.lead_bytes(least).is_none() || !self.is_due(&packet, cx, |(_, cut)| cut) {
            return packet;
        }
        let code = self.draw(&packet, least, cx.arena);
        let Some(lead_bytes) = cuttable.lead_bytes(code) else { return packet };
        let cut = match packet.version() {
            IpVersion::V4 => behind.cut(packet, lead_bytes, cx.arena),
            IpVersion::V6 => {
                let id = packet.dont_fragment().then(|| self.take_id());
                behind.cut_v6(packet, id, lead_bytes, cx.arena)
            }
        };
        self.pieces += u64::from(cut.is_ok());
        cut.unwrap_or_else(|whole| whole)
    }
    #[inline]
    fn division(&self) -> Option<&Division> {
        self.own_queue()
    }
    #[inline]
    fn division_mut(&mut self) -> Option<&mut Division> {
        let own = self.sharing.as_mut().filter(|sharing| sharing.two_queues);
        own.map(|sharing| &mut sharing.division)
    }
    #[inline]
    fn touches(&self, packet: &Packet, now: Time) -> bool {
        let is_never_cut = packet.version() == IpVersion::V4 && packet.dont_fragment();
        !is_never_cut || self.control.ends <= now || self.mode.looks_at_leaving()
    }
    fn next_timeout(&self) -> Option<Time> {
        // Fallback ends in silence, too: until then the clock runs.
        let ends = (!self.mode.is_settled()).then_some(self.control.ends);
        ends.or(self.control.next_timeout())
    }
    fn on_timeout(&mut self, now: Time, queue: Backlog) {
        self.catch_up(now, queue);
    }
    fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
        let of_loop_bps = || self.control.rate_at(now).bps() as f64;
        let rate_bps = if self.mode.waits() { self.control.rate_bps } else { of_loop_bps() };
        let coded = self.quantized(rate_bps);
        let signals = coded.is_some() && self.signals();
        see(RATE_METRIC, self.code_bps(rate_bps));
        see(CODE_METRIC, coded.map_or(0.0, |coded| coded.code.byte().into()));
        see(MODE_METRIC, if signals { 0.0 } else { 1.0 });
        see(RTT_METRIC, self.control.rtt_s * 1e3);
        see(PIECES_METRIC, self.pieces as f64);
        if let Some(sharing) = &self.sharing {
            let flows = sharing.census.active();
            see(LISTENERS_METRIC, flows.listeners.into());
            see(OTHERS_METRIC, flows.others.into());
        }
    }
    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.control.set_capacity(rate);
        self.refresh();
    }
}

#[cfg(test)]
mod tests;
