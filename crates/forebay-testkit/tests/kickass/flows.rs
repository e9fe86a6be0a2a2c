//! End points of Kick-Ass over a port that says codes by a script: rates, steps, negotiation.

use forebay_base::{FlowId, Kind, OptionList, Packet, Rate, Span, TcpFlags, Time, kind};
use forebay_cc::kickass::{KickAssReceiver, Params, Preset};
use forebay_cc::{AckDemand, AnyFeedback, DatagramView, Feedback, Init, PieceView, Spec};
use forebay_net::{LinkSpec, NetEvent, SchemeSpec};
use forebay_queue::{Backlog, PortContext, PortScheme, TrailingPackets};
use forebay_signal::kickass::{Code, Indicator, Offer, Report};
use forebay_sim::{Options, PacketEvent, Simulation};
use forebay_testkit::tap::{Notes, Tap};
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::Arc;

const RTT: Span = Span::from_millis(100);

/// Cuts what may be cut and is full-sized: `script` has the length of the first fragment from each
/// time on; 0: leave it whole.
#[derive(Clone)]
struct Cutter {
    script: &'static [(u64, u16)],
    /// Something before it sets DF on all that passes.
    sets_df: bool,
    /// When data came to the port, and how long it was.
    came: Notes<(Time, u16)>,
}

impl PortScheme for Cutter {
    fn on_arrival(&mut self, packet: &mut Packet, _: Backlog, cx: &mut PortContext<'_>) {
        if self.sets_df {
            packet.set_dont_fragment(true);
        }
        if packet.payload_len() > 0 {
            self.came.push((cx.now, packet.wire_len()));
        }
    }
    fn leave(
        &mut self,
        packet: Packet,
        behind: &mut TrailingPackets<'_>,
        _: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet {
        let past = |&&(from_ms, _): &&(u64, u16)| Time::from_millis(from_ms) <= cx.now;
        let bytes = self.script.iter().rev().find(past).map_or(0, |&(_, bytes)| bytes);
        if bytes == 0 || packet.dont_fragment() || packet.wire_len() < 1500 {
            return packet;
        }
        behind.cut(packet, bytes, cx.arena).unwrap_or_else(|whole| whole)
    }
}

/// A middlebox that overwrites experimental options with NOPs.
struct Stripper;

impl PortScheme for Stripper {
    fn on_arrival(&mut self, packet: &mut Packet, _: Backlog, cx: &mut PortContext<'_>) {
        if packet.kind() != Kind::Tcp || packet.cold_part(cx.arena).is_none() {
            return;
        }
        let options = &mut packet.cold_mut(cx.arena).tcp_options;
        if let Some(at) = options.as_bytes().iter().position(|&byte| byte == kind::EXPERIMENT) {
            let len = usize::from(options.as_bytes()[at + 1]);
            options.as_bytes_mut()[at..at + len].fill(kind::NOP);
        }
    }
    fn leave(
        &mut self,
        packet: Packet,
        _: &mut TrailingPackets<'_>,
        _: Backlog,
        _: &mut PortContext<'_>,
    ) -> Packet {
        packet
    }
}

/// Takes the offer, and never reports.
struct Mute(KickAssReceiver);

impl Feedback for Mute {
    fn on_piece(&mut self, now: Time, piece: &PieceView) {
        self.0.on_piece(now, piece);
    }
    fn on_datagram(&mut self, now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        _ = self.0.on_datagram(now, datagram);
        AckDemand::Policy
    }
    fn fill(&mut self, now: Time, options: &mut OptionList) {
        if options.find(kind::MSS).is_some() {
            self.0.fill(now, options);
        }
    }
}

/// What left the hosts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Left {
    at: Time,
    wire_len: u16,
    payload: u16,
    syn: bool,
    clear: bool,
    ip_id: u32,
    offers: bool,
    reports: bool,
}

type Scheme = Arc<dyn Fn() -> Box<dyn PortScheme> + Send + Sync>;

/// One flow from a to b over two routers, RTT 100 ms, 1 Gbit/s everywhere.
struct Lab {
    world: World,
    left: Notes<Left>,
}

fn protocol(name: &'static str, params: &Params) -> Spec {
    match name {
        "kickass" => Spec::KickAss(params.clone()),
        _ => Spec::by_name(name).expect("in the table"),
    }
}

fn lab(
    name: &'static str,
    params: Params,
    scheme: Option<Scheme>,
    bytes: Option<u64>,
    mute: bool,
) -> Lab {
    let mut world = World::new();
    let (a, near) = (world.host("a"), world.router("near"));
    let (far, b) = (world.router("far"), world.host("b"));
    let access = link(Rate::mbps(1000), Span::from_millis(10), u64::MAX);
    world.join(a, near, access.clone());
    let plain = link(Rate::mbps(1000), Span::from_millis(30), u64::MAX);
    let there = match scheme {
        None => plain.clone(),
        Some(make) => {
            LinkSpec { scheme: SchemeSpec::Custom(Arc::new(move |_| make())), ..plain.clone() }
        }
    };
    world.join_with(near, far, there, plain);
    world.join(far, b, access);
    let config = TcpConfig {
        send_buffer_bytes: 1 << 26,
        receive_buffer_bytes: 1 << 26,
        ..PRESETS[0].config
    };
    let (sender, receiver) = (protocol(name, &params), protocol(name, &params));
    let controller = move |init: Init| sender.build(init);
    let feedback = move || {
        if mute {
            AnyFeedback::Custom(Box::new(Mute(KickAssReceiver::new(&params))))
        } else {
            receiver.build_feedback()
        }
    };
    let transport = world.transport_with(name, config, controller, feedback);
    world.flow((a, b), Time::ZERO, bytes, transport);
    Lab { world, left: Notes::default() }
}

impl Lab {
    fn run(&self, until: Time) -> Simulation {
        let left = self.left.clone();
        let tap = Tap::new(move |at, event, packet, arena| {
            let PacketEvent::Sent(_) = event else { return };
            let cold = packet.cold_part(arena);
            let options = cold.map(|cold| &cold.tcp_options);
            left.push(Left {
                at,
                wire_len: packet.wire_len(),
                payload: packet.payload_len(),
                syn: packet.tcp_fields().is_some_and(|tcp| tcp.flags.has(TcpFlags::SYN)),
                clear: !packet.dont_fragment(),
                ip_id: cold.map_or(0, |cold| cold.ip_id),
                offers: options.is_some_and(|list| Offer::find(list).is_some()),
                reports: options.is_some_and(|list| Report::find(list).is_some()),
            });
        });
        let options = Options { observer: Some(Box::new(tap)), ..Options::default() };
        let mut sim = Simulation::new(&self.world.spec, 7, options).expect("a sound network");
        sim.run_until(until).unwrap();
        assert!(sim.conservation().holds());
        sim
    }
    fn left(&self) -> Vec<Left> {
        self.left.read().clone()
    }
}

fn paper() -> Params {
    Params { preset: Preset::Paper, ..Params::default() }
}

fn cutter(script: &'static [(u64, u16)]) -> (Scheme, Notes<(Time, u16)>) {
    let came = Notes::default();
    let cutter = Cutter { script, sets_df: false, came: came.clone() };
    (Arc::new(move || Box::new(cutter.clone())), came)
}

/// Rate of what came to the port between two times, in bit/s of IP packets.
fn rate_between(came: &[(Time, u16)], from: Time, until: Time) -> f64 {
    let inside = came.iter().filter(|(at, _)| (from..until).contains(at));
    let bytes: u64 = inside.map(|&(_, len)| u64::from(len)).sum();
    8.0 * bytes as f64 / until.since(from).as_secs_f64()
}

#[test]
fn a_flow_sends_at_its_code() {
    const SCRIPTS: [&[(u64, u16)]; 5] =
        [&[(0, 200)], &[(0, 400)], &[(0, 640)], &[(0, 880)], &[(0, 936)]];
    for params in [paper(), Params::default()] {
        for script in SCRIPTS {
            let (scheme, came) = cutter(script);
            let lab = lab("kickass", params.clone(), Some(scheme), None, false);
            let sim = lab.run(Time::from_secs(20));
            let code = Code::of_lead_bytes(script[0].1).unwrap().rate().bps() as f64;
            let rate = rate_between(&came.read(), Time::from_secs(5), Time::from_secs(20));
            assert!((rate / code - 1.0).abs() < 0.01, "{params:?}: {rate} for {code}");
            assert_eq!(sim.flow(FlowId(0)).sender.retransmits, 0);
        }
    }
}

/// The first packet that leaves the port with another code reaches the receiver, its ACK the
/// sender, and what that sends then the port: a round trip. With the guards on, two packets that
/// may be cut, an eighth of a round trip apart, must say it where the step is more than to the next
/// code up or to the half.
#[test]
fn steps_are_followed_within_a_round_trip_and_a_packet() {
    const SCRIPT: &[(u64, u16)] = &[(0, 640), (5_000, 880), (8_000, 600), (11_000, 608)];
    for (params, more) in [(paper(), Span::ZERO), (Params::default(), RTT.mul_div(1, 4))] {
        let (scheme, came) = cutter(SCRIPT);
        let lab = lab("kickass", params, Some(scheme), None, false);
        lab.run(Time::from_secs(14));
        let came = came.read();
        for step in SCRIPT.windows(2) {
            let [before, after] = [step[0].1, step[1].1].map(|bytes| {
                let rate = Code::of_lead_bytes(bytes).unwrap().rate();
                (rate.span_of(1500), rate.bps() as f64)
            });
            let at = Time::from_millis(step[1].0);
            // The packet that meets the new code comes within a gap; that of the sender lasts.
            let known = at + RTT + before.0 * 2 + more;
            // After a deep fall the window waits until what was sent before has arrived.
            let first = rate_between(&came, known, known + RTT);
            assert!(first < after.1 * 1.02, "{step:?}: {first}");
            let fills = if after.1 > before.1 { known } else { known + RTT };
            let rate = rate_between(&came, fills, fills + Span::from_millis(500));
            assert!((rate / after.1 - 1.0).abs() < 0.02, "{step:?}: {rate}");
            let earlier = rate_between(&came, at - RTT * 3, at + RTT);
            assert!((earlier / before.1 - 1.0).abs() < 0.02, "{step:?} too early: {earlier}");
        }
    }
}

/// Silence of the port: TCP mode at the same rate; a code: back within a round trip and a packet.
#[test]
fn silence_and_the_way_back() {
    const SCRIPT: &[(u64, u16)] = &[(0, 640), (5_000, 0), (9_000, 760)];
    for (params, clear_gap) in [(paper(), Span::ZERO), (Params::default(), RTT / 2)] {
        let (scheme, came) = cutter(SCRIPT);
        let lab = lab("kickass", params, Some(scheme), None, false);
        lab.run(Time::from_secs(12));
        let came = came.read();
        let rate = Code::of_lead_bytes(640).unwrap().rate().bps() as f64;
        let ms = Time::from_millis;
        // R srtt in a round trip, and a segment more in each: 0.8 % of 123.
        let tcp = rate_between(&came, ms(5_600), ms(6_100));
        assert!((0.97..1.1).contains(&(tcp / rate)), "{tcp}");
        let grown = rate_between(&came, ms(8_500), ms(9_000));
        assert!(grown > tcp * 1.1, "{grown}");
        let known = ms(9_000) + RTT + clear_gap + Span::from_millis(2);
        let again = Code::of_lead_bytes(760).unwrap().rate().bps() as f64;
        let back = rate_between(&came, known, known + Span::from_millis(500));
        assert!((back / again - 1.0).abs() < 0.02, "{back}");
    }
}

/// What left the sender after the handshake, from the first data on.
fn data(lab: &Lab) -> Vec<(Span, u16)> {
    let left = lab.left();
    let data: Vec<_> = left.iter().filter(|packet| packet.payload > 0).collect();
    data.iter().map(|packet| (packet.at.since(data[0].at), packet.wire_len)).collect()
}
fn newreno(scheme: Option<Scheme>) -> Lab {
    let lab = lab("newreno", Params::default(), scheme, Some(3_000_000), false);
    lab.run(Time::from_secs(60));
    lab
}

/// Packets, ACKs and their times are those of NewReno; only DF is clear.
#[test]
fn without_routers_it_is_plain_tcp() {
    let plain = newreno(None);
    for params in [paper(), Params::default()] {
        let lab = lab("kickass", params.clone(), None, Some(3_000_000), false);
        lab.run(Time::from_secs(60));
        assert_eq!(data(&lab), data(&plain));
        let left = lab.left();
        assert!(left.iter().all(|packet| !packet.reports));
        let full = || left.iter().filter(|packet| packet.wire_len == 1500);
        let clear = full().filter(|packet| packet.clear).count();
        match params.preset {
            Preset::Paper => assert_eq!(clear, full().count()),
            // All of the first flight of 10, then at most 8 a round trip of about 8.
            Preset::Recommended => assert!((20..90).contains(&clear), "{clear}"),
        }
    }
}

/// DF stays as it is, nothing is reported, and packets leave as those of NewReno do.
#[test]
fn with_a_middlebox_that_strips_the_offer_it_is_plain_tcp() {
    let (plain, stripper): (_, Scheme) = (newreno(None), Arc::new(|| Box::new(Stripper)));
    let lab = lab("kickass", Params::default(), Some(stripper), Some(3_000_000), false);
    lab.run(Time::from_secs(60));
    assert_eq!(data(&lab), data(&plain));
    let left = lab.left();
    assert_eq!(left.iter().filter(|packet| packet.offers).count(), 1, "the SYN alone");
    assert!(left.iter().all(|packet| !packet.clear && !packet.reports));
}

/// The port cuts, and nothing says so: TCP goes on, and may be cut.
#[test]
fn a_peer_that_agrees_and_never_reports_leaves_tcp() {
    const SCRIPT: &[(u64, u16)] = &[(0, 640)];
    let plain = newreno(None);
    let cut = lab("kickass", paper(), Some(cutter(SCRIPT).0), Some(3_000_000), true);
    cut.run(Time::from_secs(60));
    let count = |lab: &Lab| data(lab).len();
    assert_eq!(count(&cut), count(&plain));
    let end = |lab: &Lab| data(lab).last().unwrap().0.as_secs_f64();
    // A round trip holds a few cut packets more, 20 bytes each at 1 Gbit/s.
    assert!((end(&cut) / end(&plain) - 1.0).abs() < 1e-3, "{} {}", end(&cut), end(&plain));
    assert!(cut.left().iter().all(|packet| !packet.reports));
    assert!(cut.left().iter().all(|p| Indicator::of_wire_len(p.wire_len).is_none()));
}

/// A middlebox sets DF on all packets: no code comes, and TCP goes on.
#[test]
fn df_that_is_set_on_the_way_leaves_tcp() {
    let cutter = Cutter { script: &[(0, 640)], sets_df: true, came: Notes::default() };
    let scheme: Scheme = Arc::new(move || Box::new(cutter.clone()));
    let lab = lab("kickass", Params::default(), Some(scheme), Some(3_000_000), false);
    lab.run(Time::from_secs(60));
    assert_eq!(data(&lab), data(&newreno(None)));
    assert!(lab.left().iter().any(|packet| packet.clear), "it was clear where it left");
}

#[test]
fn a_syn_that_was_lost_goes_again_without_the_offer() {
    const SCRIPT: &[(u64, u16)] = &[(0, 640)];
    let mut lab = lab("kickass", paper(), Some(cutter(SCRIPT).0), Some(300_000), false);
    let first = forebay_base::LinkId(0);
    lab.world.event(Time::from_millis(1), NetEvent::Down(first));
    lab.world.event(Time::from_millis(200), NetEvent::Up(first));
    let sim = lab.run(Time::from_secs(30));
    assert_eq!(sim.flow(FlowId(0)).received_bytes, 300_000);
    let left = lab.left();
    let syns: Vec<_> = left.iter().filter(|packet| packet.syn).map(|syn| syn.offers).collect();
    assert_eq!(syns, [true, false, false], "SYN, SYN again, SYN-ACK");
    assert!(left.iter().all(|packet| !packet.clear && !packet.reports));
}

/// Indicators are sent once a code was seen, with their tag, and never cut: DF is set.
#[test]
fn indicators_say_the_round_trip() {
    const SCRIPT: &[(u64, u16)] = &[(1_000, 640)];
    for (params, tags) in [(paper(), false), (Params::default(), true)] {
        let lab = lab("kickass", params, Some(cutter(SCRIPT).0), None, false);
        lab.run(Time::from_secs(11));
        let left = lab.left();
        let said = |packet: &&Left| packet.payload > 0 && packet.wire_len < 1500;
        let indicators: Vec<_> = left.iter().filter(said).collect();
        assert!((95..=100).contains(&indicators.len()), "{}", indicators.len());
        for packet in &indicators {
            let indicator = Indicator::of_wire_len(packet.wire_len).expect("600 to 611 bytes");
            assert!(packet.at > Time::from_millis(1_000) && !packet.clear);
            assert!(indicator.wire_len() == 606 || tags && indicator.wire_len() == 607);
            assert_eq!(packet.ip_id != 0, tags);
        }
    }
}
