use super::*;
use crate::fq_codel::FqCodel;
use crate::rate_control::RateParams;
use crate::{AnyScheme, DropTail, Pipeline};
use alloc::vec::Vec;
use forebay_base::{
    Addr, Cold, DropLog, Endpoint, FragmentRange, IpVersion, Kind, Stream, TcpFields, TcpFlags,
};
use forebay_signal::kickass::Indicator;

mod control;

const C: Rate = Rate::mbps(150);
const MS: Span = Span::from_millis(1);

fn init(rate: Rate, limit: Limit, overhead_bytes: u16, entity: u64) -> PortInit {
    let rng = Rng::new(1, Stream::Test, entity);
    PortInit { limit, rate, mtu_bytes: 1500, overhead_bytes, rng }
}

/// A full segment without DF, or one of another length, of the flow from `flow`.
fn segment(flow: u32, number: u16, bytes: u16, arena: &mut Arena) -> Packet {
    let end = |addr, port| Endpoint { addr: Addr(addr), port };
    let fields = TcpFields { flags: TcpFlags::ACK, ..TcpFields::default() };
    let ends = (end(flow, 5000), end(900, 80));
    let mut packet = Packet::tcp(IpVersion::V4, ends.0, ends.1, fields, bytes - 40);
    packet.set_dont_fragment(false);
    packet.cold_mut(arena).ip_id = number.into();
    packet
}

/// A port with what it needs to be called.
struct Port {
    scheme: KickAssPort,
    now: Time,
    queue: Backlog,
}

impl Port {
    fn new(params: KickAssPortParams) -> Port {
        Port::of(params, init(C, Limit::Packets(1000), 0, 0))
    }
    fn of(params: KickAssPortParams, init: PortInit) -> Port {
        Port { scheme: KickAssPort::new(params, init), now: Time::ZERO, queue: Backlog::default() }
    }
    /// R as codes say it.
    fn say_bps(&mut self, bps: f64) {
        self.scheme.control.rate_bps = bps / self.scheme.ip_share;
        self.scheme.refresh();
    }
    fn arrive(&mut self, packet: &mut Packet, arena: &mut Arena) {
        let (mut drops, mut split) = (DropLog::default(), 0);
        let mut cx = PortContext { now: self.now, arena, drops: &mut drops, split: &mut split };
        self.scheme.on_arrival(packet, self.queue, &mut cx);
    }
    /// What leaves, in order.
    fn leave(&mut self, packet: Packet, arena: &mut Arena) -> Vec<Packet> {
        let (mut drops, mut split) = (DropLog::default(), 0);
        let mut cx = PortContext { now: self.now, arena, drops: &mut drops, split: &mut split };
        let mut behind = alloc::collections::VecDeque::new();
        let first = self.scheme.leave(
            packet,
            &mut TrailingPackets::new(&mut behind, Time::ZERO),
            self.queue,
            &mut cx,
        );
        [first].into_iter().chain(behind).collect()
    }
    /// Payload of the first fragment of a full packet; None: it comes whole.
    fn lead(&mut self, number: u16) -> Option<u16> {
        let arena = &mut Arena::default();
        let packet = segment(1, number, 1500, arena);
        let out = self.leave(packet, arena);
        (out.len() > 1).then(|| out[0].wire_len() - 20)
    }
    fn published(&self, name: &str) -> f64 {
        let mut found = f64::NAN;
        self.scheme.publish(self.now, &mut |metric, value| {
            if metric == name {
                found = value;
            }
        });
        found
    }
}

/// Offset, payload and MF of each.
fn shape(packets: &[Packet], arena: &Arena) -> Vec<(u16, u16, bool)> {
    let of = |packet: &Packet| {
        let piece = packet.cold_part(arena).and_then(|cold| cold.piece);
        let (offset, more) = piece.map_or((0, false), |piece| (piece.offset, piece.more));
        (offset, packet.wire_len() - packet.ip_header_len(arena), more)
    };
    packets.iter().map(of).collect()
}

/// The fact sheet's table: floor8 of a rate.
#[test]
fn a_rate_is_said_by_the_largest_code_of_at_most_it() {
    let mut port = Port::new(KickAssPortParams::paper());
    let cases = [
        (120.1e3, Some(24)),
        (119.0e3, None),
        (10.0e6, Some(584)),
        (13.636e6, Some(624)),
        (15.0e6, Some(640)),
        (2.344e6, Some(400)),
        (100.0e6, Some(880)),
        (149.164e6, Some(936)),
        (149.162e6, Some(928)),
        (245.0e6, Some(992)),
    ];
    for (bps, lead) in cases {
        port.scheme.control.set_capacity(Rate::mbps(1000));
        port.say_bps(bps);
        assert_eq!(port.lead(0), lead, "{bps} bit/s");
    }
    // Above the largest code, and never the 1480 bytes that would be the whole packet.
    let mut fast =
        Port::of(KickAssPortParams::paper(), init(Rate::mbps(10_000), Limit::Packets(1000), 0, 0));
    for bps in [9.8236e9, 9.86e9] {
        fast.say_bps(bps);
        assert_eq!((fast.lead(0), fast.published(CODE_METRIC)), (Some(1472), 184.0));
    }
}

#[test]
fn what_is_cut_and_what_is_not() {
    let arena = &mut Arena::default();
    let mut port = Port::new(KickAssPortParams::paper());
    port.say_bps(15e6); // 640 bytes
    let pass = |packet: Packet, port: &mut Port, arena: &mut Arena| {
        let out = port.leave(packet, arena);
        let shape = shape(&out, arena);
        out.into_iter().for_each(|packet| arena.free(packet));
        shape
    };
    let full = segment(1, 1, 1500, arena);
    assert_eq!(pass(full, &mut port, arena), [(0, 640, true), (640, 840, false)]);
    let short = segment(1, 1, 1499, arena);
    assert_eq!(pass(short, &mut port, arena), [(0, 1479, false)]);
    let mut with_df = segment(1, 1, 1500, arena);
    with_df.set_dont_fragment(true);
    assert_eq!(pass(with_df, &mut port, arena), [(0, 1480, false)]);
    let piece = |offset, len, more, arena: &mut Arena| {
        let piece = Some(FragmentRange::from_outside(offset, more, 6));
        let body = Some(alloc::vec![0; usize::from(len)].into());
        let cold = Cold { ip_id: 7, piece, body, ..Cold::default() };
        Packet::piece(IpVersion::V4, (Addr(1), Addr(2)), 20 + len, None, cold, arena)
    };
    // First fragments at any length, down to the code; the datagrams stay open at the end.
    let lead = piece(0, 648, true, arena);
    assert_eq!(pass(lead, &mut port, arena), [(0, 640, true), (640, 8, true)]);
    for (offset, len, more) in [(0, 640, true), (0, 24, true), (640, 840, false), (8, 1400, true)] {
        let other = piece(offset, len, more, arena);
        assert_eq!(pass(other, &mut port, arena), [(offset, len, more)]);
    }
    assert_eq!(arena.live(), 0);
}

/// An IPv4 packet of a protocol that is not implemented here, with `flags` (DF 0x4000, MF 0x2000
/// and the offset in units of 8 bytes) and options.
fn foreign(flags: u16, options: &[u8], payload: usize, arena: &mut Arena) -> Packet {
    let header = 20 + options.len();
    let mut bytes = alloc::vec![0; header + payload];
    bytes[0] = 0x40 | (header / 4) as u8;
    bytes[4..6].copy_from_slice(&77_u16.to_be_bytes());
    bytes[6..8].copy_from_slice(&flags.to_be_bytes());
    bytes[9] = 17;
    bytes[20..header].copy_from_slice(options);
    let cold = Cold { body: Some(bytes.into()), ..Cold::default() };
    let ends = (Addr(1), Addr(2));
    let mut packet = Packet::opaque(IpVersion::V4, ends, None, cold, arena);
    packet.set_dont_fragment(flags & 0x4000 != 0);
    packet
}

/// Codes count what stands after the IP header and its options.
#[test]
fn foreign_packets_are_cut_as_any_other() {
    let arena = &mut Arena::default();
    let mut port = Port::new(KickAssPortParams::paper());
    port.say_bps(15e6); // 640 bytes
    let mut payloads = |flags, options: &[u8], payload: usize, port: &mut Port| {
        let packet = foreign(flags, options, payload, arena);
        let out = port.leave(packet, arena);
        let of = |packet: &Packet| packet.wire_len() - packet.ip_header_len(arena);
        let payloads: Vec<u16> = out.iter().map(of).collect();
        out.into_iter().for_each(|packet| arena.free(packet));
        payloads
    };
    assert_eq!(payloads(0, &[], 1480, &mut port), [640, 840]);
    assert_eq!(payloads(0, &[0x94, 4, 0, 0], 1476, &mut port), [640, 836]);
    assert_eq!(payloads(0x4000, &[], 1480, &mut port), [1480], "DF");
    assert_eq!(payloads(0, &[], 1479, &mut port), [1479], "1499 bytes");
    // Fragments of them.
    assert_eq!(payloads(0x2000, &[], 880, &mut port), [640, 240]);
    assert_eq!(payloads(0x2000, &[], 640, &mut port), [640]);
    assert_eq!(payloads(110, &[], 1480, &mut port), [1480], "a tail");
    assert_eq!(arena.live(), 0);
}

#[test]
fn packets_that_are_too_short_for_the_code_do_not_come_whole() {
    let arena = &mut Arena::default();
    let params = KickAssPortParams { least_bytes: 600, ..KickAssPortParams::paper() };
    let mut port = Port::new(params);
    port.say_bps(100e6); // 880 bytes
    for (bytes, lead) in [(1492, 880), (900, 872), (600, 576), (901, 880)] {
        let packet = segment(1, 1, bytes, arena);
        let out = port.leave(packet, arena);
        assert_eq!(shape(&out, arena)[0], (0, lead, true), "{bytes} bytes");
    }
}

/// A full segment of IPv6, or one of another length, with a Fragment header or without.
fn segment_v6(bytes: u16, has_header: bool, arena: &mut Arena) -> Packet {
    let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
    let header = if has_header { 68 } else { 60 };
    let fields = TcpFields::default();
    let mut packet = Packet::tcp(IpVersion::V6, end(1), end(2), fields, bytes - header);
    if has_header {
        packet.add_fragment_header(0xabcd_0001, arena);
    }
    packet
}

/// By hand: of 1500 bytes 40 are of IPv6 and 8 of the Fragment header. 1452 are left, of which the
/// first fragment can have 1448 (code 181) at most; of 1280 bytes 1224 (code 153). `None`: it
/// passes unchanged.
#[test]
fn what_is_cut_of_ipv6() {
    let arena = &mut Arena::default();
    let lead = |ipv6: Ipv6, bps: f64, packet: (u16, bool), arena: &mut Arena| {
        let params = KickAssPortParams { ipv6, least_bytes: 1280, ..KickAssPortParams::paper() };
        let mut port = Port::new(params);
        port.say_bps(bps);
        let out = port.leave(segment_v6(packet.0, packet.1, arena), arena);
        let carried: u16 = out.iter().map(Packet::wire_len).sum();
        let lead = (out.len() == 2).then(|| (shape(&out, arena)[0].1, carried - packet.0));
        out.into_iter().for_each(|packet| arena.free(packet));
        lead
    };
    let mut of = |ipv6, bps, packet| lead(ipv6, bps, packet, arena);
    for (bps, bytes) in [(121e3, 24), (15e6, 640), (8.2e9, 1448), (9.9e9, 1448)] {
        assert_eq!(of(Ipv6::Header, bps, (1500, true)), Some((bytes, 48)), "{bps}");
        assert_eq!(of(Ipv6::Insert, bps, (1500, true)), Some((bytes, 48)), "{bps}");
        assert_eq!(of(Ipv6::Insert, bps, (1500, false)), Some((bytes.min(1448), 56)), "{bps}");
        assert_eq!(of(Ipv6::Header, bps, (1500, false)), None);
        assert_eq!(of(Ipv6::Pass, bps, (1500, true)), None);
    }
    assert_eq!(of(Ipv6::Header, 9.9e9, (1280, true)), Some((1224, 48)));
    assert_eq!(of(Ipv6::Header, 9.9e9, (1279, true)), None, "least_bytes");
    assert_eq!(Code::MAX_V6.lead_bytes(), 1448);
    assert_eq!(Code::MAX_V6.rate().bps() / 1_000_000, 8144, "12.4392 exp(1448 / 128) x 8000");
    // A second router lowers the rate, of a first fragment of any length.
    let ports = [(100e6, Ipv6::Insert), (15e6, Ipv6::Header), (30e6, Ipv6::Insert)];
    let mut pieces = alloc::vec![segment_v6(1500, false, arena)];
    for (bps, ipv6) in ports {
        let mut port = Port::new(KickAssPortParams { ipv6, ..KickAssPortParams::paper() });
        port.say_bps(bps);
        pieces = pieces.into_iter().flat_map(|piece| port.leave(piece, arena)).collect();
    }
    let expected = [(0, 640, true), (640, 240, true), (880, 580, false)];
    assert_eq!(shape(&pieces, arena), expected);
    let id = |piece: &Packet| piece.cold_part(arena).unwrap().ip_id;
    assert!(pieces.iter().all(|piece| id(piece) == id(&pieces[0])));
    pieces.into_iter().for_each(|packet| arena.free(packet));
    assert_eq!(arena.live(), 0);
}

/// An indicator of IPv6 says its tag in a Fragment header, and is not cut, however short packets
/// may be. Without tags its length is enough.
#[test]
fn indicators_of_ipv6_carry_the_tag_in_a_fragment_header() {
    let arena = &mut Arena::default();
    let indicator = Indicator::of_wire_len(609).unwrap(); // 512 to 1023 ms
    let tag = Indicator::tag_v6(indicator.tag(1, 2));
    // One sample of many, so that each changes d.
    let params = KickAssPortParams { time_handshakes: false, ..KickAssPortParams::recommended() };
    let mut port = Port::new(KickAssPortParams { least_bytes: 100, ..params });
    let mut learns = |id: Option<u32>, tagged: bool| {
        port.scheme.params.tagged = tagged;
        let before = port.scheme.rtt.mean_s();
        let mut packet = segment_v6(if id.is_some() { 601 } else { 609 }, false, arena);
        if let Some(id) = id {
            packet.add_fragment_header(id, arena);
        }
        port.arrive(&mut packet, arena);
        let out = port.leave(packet, arena);
        assert_eq!(out.len(), 1);
        out.into_iter().for_each(|packet| arena.free(packet));
        port.scheme.rtt.mean_s() != before
    };
    assert!(learns(Some(tag), true));
    assert!(!learns(Some(tag ^ 1), true) && !learns(Some(tag & 0xffff), true));
    assert!(!learns(None, true) && learns(None, false) && learns(Some(1), false));
    assert_eq!(arena.live(), 0);
}

/// Two routers that lower the rate make three fragments, which are the datagram.
#[test]
fn the_lowest_rate_on_the_way_arrives() {
    let mut arena = Arena::default();
    let ports = [100e6, 15e6, 30e6].map(|bps| {
        let mut port = Port::new(KickAssPortParams::paper());
        port.say_bps(bps);
        port
    });
    let whole = segment(1, 77, 1500, &mut arena);
    let digest = whole.digest(&arena);
    let mut pieces = alloc::vec![whole];
    for mut port in ports {
        pieces = pieces.into_iter().flat_map(|piece| port.leave(piece, &mut arena)).collect();
    }
    let expected = [(0, 640, true), (640, 240, true), (880, 600, false)];
    assert_eq!(shape(&pieces, &arena), expected);
    assert!(pieces.iter().all(|piece| piece.cold_part(&arena).unwrap().ip_id == 77));
    let again = arena.reassemble(&mut pieces).expect("all pieces");
    assert_eq!((again.kind(), again.digest(&arena)), (Kind::Tcp, digest));
    arena.free(again);
    assert_eq!(arena.live(), 0);
}

#[test]
fn arrivals_count_as_the_link_will_carry_them() {
    let count = |params: KickAssPortParams, packet: &dyn Fn(&mut Arena) -> Packet| {
        let mut port = Port::of(params, init(C, Limit::Packets(1000), 38, 0));
        let arena = &mut Arena::default();
        port.arrive(&mut packet(arena), arena);
        port.scheme.control.arrived_bytes
    };
    let full = |arena: &mut Arena| segment(1, 1, 1500, arena);
    let paper = KickAssPortParams::paper();
    assert_eq!(count(paper, &full), 1596.0, "two frames of Ethernet");
    assert_eq!(count(KickAssPortParams { count_cuts: false, ..paper }, &full), 1538.0);
    assert_eq!(count(paper, &|arena| segment(1, 1, 1000, arena)), 1038.0);
    // One flow is sent its rate before packets are cut: 1500 of 1596.
    let mut port = Port::of(paper, init(C, Limit::Packets(1000), 38, 0));
    port.scheme.control.set_rate(1e12);
    let told = port.published(RATE_METRIC);
    assert!((told / (150e6 * 1500.0 / 1596.0) - 1.0).abs() < 1e-6, "{told}");
}

#[test]
fn where_senders_cut_down_on_cuts_the_code_says_more() {
    let arena = &mut Arena::default();
    let mut port = Port::new(KickAssPortParams::paper());
    for number in 0..10 {
        let mut packet = segment(1, number, 1500, arena);
        packet.set_dont_fragment(number > 0);
        port.arrive(&mut packet, arena);
    }
    port.now = port.scheme.control.ends;
    let now = port.now;
    port.scheme.on_timeout(now, Backlog::default());
    assert!((port.scheme.ip_share - 15_000.0 / 15_020.0).abs() < 1e-12);
}

#[test]
fn dither_says_the_rate_in_the_mean() {
    let draws = 20_000;
    for (rounding, bps) in
        [(Rounding::Dither, 15e6), (Rounding::Shared, 15e6), (Rounding::Shared, 2.344e6)]
    {
        let mut port = Port::new(KickAssPortParams { rounding, ..KickAssPortParams::paper() });
        port.say_bps(bps);
        let rate = |lead| Code::of_lead_bytes(lead).unwrap().rate().bps() as f64;
        let rates: Vec<f64> = (0..draws).map(|n| rate(port.lead(n).unwrap())).collect();
        let mean = rates.iter().sum::<f64>() / f64::from(draws);
        // The standard deviation of one of two values a step apart is at most half of the step.
        let error = 0.065 * bps / 2.0 / f64::from(draws).sqrt();
        assert!((mean - bps).abs() < 4.0 * error, "{rounding:?}: {mean}, not {bps}");
    }
}

/// The lower of two rates: two draws lose `p (1 - p)` of a step, a shared one nothing.
#[test]
fn the_lower_of_two_equal_rates_is_not_too_low_if_routers_share_the_draw() {
    let low_of_two = |rounding| {
        let port = |entity| {
            let params = KickAssPortParams { rounding, ..KickAssPortParams::paper() };
            let mut port = Port::of(params, init(C, Limit::Packets(9), 0, entity));
            // Halfway between 640 and 648 bytes.
            port.say_bps((14.7691e6 + 15.7216e6) / 2.0);
            port
        };
        let mut ports = [port(0), port(1)];
        let ups = |number| ports.iter_mut().all(|port| port.lead(number) == Some(648));
        f64::from((0..20_000).map(ups).map(u32::from).sum::<u32>()) / 20_000.0
    };
    // 4 standard errors of 20 000 draws: 0.014.
    assert!((low_of_two(Rounding::Shared) - 0.5).abs() < 0.014);
    assert!((low_of_two(Rounding::Dither) - 0.25).abs() < 0.0125);
}

#[test]
fn above_half_of_the_limit_nothing_is_cut() {
    for (limit, below, above) in [
        (Limit::Packets(1000), (u64::MAX / 4, 500), (0, 501)),
        (Limit::Bytes(1_000_000), (500_000, 9_999), (500_001, 0)),
    ] {
        let mut port = Port::of(KickAssPortParams::paper(), init(C, limit, 0, 0));
        port.say_bps(15e6);
        let of = |(bytes, packets)| Backlog { bytes, packets };
        port.queue = of(below);
        assert_eq!((port.lead(0), port.published(MODE_METRIC)), (Some(640), 0.0), "{limit}");
        port.queue = of(above);
        assert_eq!((port.lead(0), port.published(MODE_METRIC)), (None, 1.0), "{limit}");
        // Nothing more to count, either.
        let arena = &mut Arena::default();
        port.arrive(&mut segment(1, 1, 1500, arena), arena);
        assert_eq!(port.scheme.control.arrived_bytes, 1500.0);
        port.queue = of(below);
        assert_eq!(port.lead(0), Some(640), "at once");
        assert_eq!(port.published(PIECES_METRIC), 2.0);
    }
}

#[test]
fn fallback_may_say_the_smallest_code_which_wins_every_minimum() {
    let params = KickAssPortParams { explicit_tcp: true, ..KickAssPortParams::paper() };
    let mut port = Port::new(params);
    port.say_bps(15e6);
    assert_eq!(port.lead(0), Some(640));
    port.queue = Backlog { bytes: 0, packets: 501 };
    assert_eq!(port.lead(0), Some(24));
    port.queue = Backlog::default();
    port.say_bps(100e3);
    assert_eq!((port.lead(0), port.published(MODE_METRIC)), (Some(24), 1.0), "no code for R");
    // By hand: 12.4392 exp(32 / 128) bytes/ms = 127.8 kbit/s is the smallest that is no order.
    port.say_bps(127.7e3);
    assert_eq!((port.lead(0), port.published(MODE_METRIC)), (Some(24), 1.0), "an order");
    port.say_bps(127.8e3);
    assert_eq!((port.lead(0), port.published(MODE_METRIC)), (Some(32), 0.0), "a rate");
    let mut silent = Port::new(KickAssPortParams::paper());
    silent.say_bps(100e3);
    assert_eq!((silent.lead(0), silent.published(CODE_METRIC)), (None, 0.0));
}

#[test]
fn of_each_flow_so_many_packets_are_cut_in_a_round_trip() {
    let params = KickAssPortParams { cuts_per_rtt: 2, ..KickAssPortParams::paper() };
    let mut port = Port::new(params); // d = 100 ms: one in 50 ms
    let arena = &mut Arena::default();
    let (mut cuts, mut counted) = ([0; 2], 0.0);
    for number in 0..1000 {
        port.now = Time::ZERO + MS * number;
        for flow in 0..2 {
            let mut packet = segment(flow, number as u16, 1500, arena);
            let before = port.scheme.control.arrived_bytes + port.scheme.control.spill_bytes;
            port.arrive(&mut packet, arena);
            let after = port.scheme.control.arrived_bytes + port.scheme.control.spill_bytes;
            // The end of an interval starts the count anew.
            counted += if after > before { after - before - 1500.0 } else { 0.0 };
            let out = port.leave(packet, arena);
            cuts[flow as usize] += out.len() - 1;
            out.into_iter().for_each(|packet| arena.free(packet));
        }
    }
    assert_eq!(cuts, [20, 20]);
    // Of 40 cuts those that do not begin an interval.
    assert!((20.0 * 20.0..=40.0 * 20.0).contains(&counted), "{counted}");
}

#[test]
fn indicators_are_packets_with_df_and_the_tag_if_it_is_asked_for() {
    let arena = &mut Arena::default();
    let indicator = |ms: u64, tag: bool, df: bool, arena: &mut Arena| {
        let says = Indicator::of_rtt(MS * ms);
        let id = if tag { says.tag(1, 900) } else { 3 };
        let mut packet = segment(1, id, says.wire_len(), arena);
        packet.set_dont_fragment(df);
        packet
    };
    for (tagged, tag, df, counts) in [
        (false, false, true, true),
        (false, true, false, false),
        (true, false, true, false),
        (true, true, true, true),
    ] {
        let mut port = Port::new(KickAssPortParams { tagged, ..KickAssPortParams::paper() });
        port.arrive(&mut indicator(10, tag, df, arena), arena);
        let mean_ms = port.scheme.rtt.mean_s() * 1e3;
        let expected = if counts { 100.0 - 0.02 * 88.5 } else { 100.0 };
        assert!((mean_ms - expected).abs() < 1e-9, "{tagged} {tag} {df}: {mean_ms}");
        // The loop uses it from the next interval on.
        let end = port.scheme.control.ends;
        port.scheme.on_timeout(end, Backlog::default());
        assert!((port.scheme.control.rtt_s * 1e3 - expected).abs() < 1e-9);
    }
}

/// Flows at the rate of the port one round trip ago, evenly spaced, and the link that carries what
/// cutting makes of them: packets of 1520 bytes.
struct Loop {
    port: Port,
    flows: f64,
    /// The rate of the port in each step of the last round trip.
    granted: Vec<f64>,
    due_bytes: f64,
    queue_bytes: f64,
}

const STEP: Span = Span::from_micros(100);
const RTT: Span = Span::from_millis(100);

impl Loop {
    fn new(params: KickAssPortParams, flows: f64) -> Loop {
        let port = Port::of(params, init(C, Limit::Bytes(u64::MAX), 0, 0));
        Loop { port, flows, granted: Vec::new(), due_bytes: 0.0, queue_bytes: 0.0 }
    }
    /// 100 us pass.
    fn step(&mut self) {
        let arena = &mut Arena::default();
        let steps = (RTT.as_nanos() / STEP.as_nanos()) as usize;
        let granted = self.granted.len().checked_sub(steps).map_or(0.0, |at| self.granted[at]);
        self.due_bytes += self.flows * granted / 8.0 * STEP.as_secs_f64();
        while self.due_bytes >= 1500.0 {
            self.due_bytes -= 1500.0;
            self.port.queue.bytes = self.queue_bytes as u64;
            self.port.arrive(&mut segment(1, 1, 1500, arena), arena);
            self.queue_bytes += 1520.0;
        }
        self.port.now += STEP;
        let sent_bytes = C.bps() as f64 / 8.0 * STEP.as_secs_f64();
        self.queue_bytes = (self.queue_bytes - sent_bytes).max(0.0);
        self.port.queue.bytes = self.queue_bytes as u64;
        let (now, queue) = (self.port.now, self.port.queue);
        self.port.scheme.on_timeout(now, queue);
        self.granted.push(self.port.published(RATE_METRIC));
    }
    /// Mean of queue and of R from now to `end`.
    fn mean_until(&mut self, end: Time) -> (f64, f64) {
        let (mut queue, mut rate, mut steps) = (0.0, 0.0, 0.0);
        while self.port.now < end {
            self.step();
            queue += self.queue_bytes;
            rate += self.granted.last().unwrap();
            steps += 1.0;
        }
        (queue / steps, rate / steps)
    }
}

/// `q / C = (20 / 1520) (alpha / beta) d` where arrivals count 1500 bytes for what the link carries
/// as 1520, and 0 where they count 1520. With the gains whose loop is stable with a queue.
#[test]
fn what_cutting_adds_must_be_counted_or_a_queue_stands() {
    let stable = KickAssPortParams::paper().with_gains_of(RateParams::stable());
    for count_cuts in [false, true] {
        let params = KickAssPortParams { initial_rtt: RTT, count_cuts, ..stable };
        let mut flows = Loop::new(params, 4.0);
        flows.mean_until(Time::from_secs(40));
        let (queue, rate) = flows.mean_until(Time::from_secs(60));
        let queue_ms = queue * 8.0 / C.bps() as f64 * 1e3;
        let stands_ms = 20.0 / 1520.0 * (0.4 / 0.08) * 100.0;
        let expected_ms = if count_cuts { 0.0 } else { stands_ms };
        // A packet takes 0.08 ms.
        assert!((queue_ms - expected_ms).abs() < 0.05 + 0.05 * expected_ms, "{queue_ms} ms");
        let share = 150e6 * 1500.0 / 1520.0 / 4.0;
        assert!((rate / share - 1.0).abs() < 0.01, "{rate}, not {share}");
    }
}

#[test]
fn an_idle_port_comes_to_rest_and_catches_up() {
    for fallback in [Fallback::Paper, Fallback::Hardened] {
        let mut port = Port::new(KickAssPortParams { fallback, ..KickAssPortParams::paper() });
        assert_eq!(port.scheme.next_timeout(), None, "nothing has come yet");
        let arena = &mut Arena::default();
        port.queue = Backlog { bytes: 1_500_000, packets: 1000 };
        let mut timers = 0;
        for ms in 0..20_000 {
            port.now = Time::from_millis(ms);
            if ms < 500 {
                port.arrive(&mut segment(1, 1, 1500, arena), arena);
            } else {
                port.queue = Backlog::default();
            }
            while let Some(at) = port.scheme.next_timeout().filter(|&at| at <= port.now) {
                port.scheme.on_timeout(at, port.queue);
                timers += 1;
            }
        }
        assert_eq!(port.scheme.next_timeout(), None);
        assert!((1..120).contains(&timers), "{fallback:?}: {timers} timers");
        // With silence R rises to what the link has.
        assert!((port.published(RATE_METRIC) / (150e6 * 1500.0 / 1520.0) - 1.0).abs() < 0.02);
    }
}

#[test]
fn a_whole_port_gives_the_pieces_one_behind_the_other() {
    let mut scheme = KickAssPort::new(KickAssPortParams::paper(), init(C, Limit::Packets(9), 0, 0));
    scheme.control.set_rate(15.3e6);
    scheme.refresh();
    let queue = DropTail::with_limit(Limit::Packets(9));
    let mut port = Pipeline::new(AnyScheme::KickAss(Box::new(scheme)), queue.into());
    let (mut arena, mut drops, mut split) = (Arena::default(), DropLog::default(), 0);
    let packets = [0, 1].map(|number| segment(1, number, 1500, &mut arena));
    let mut cx =
        PortContext { now: Time::ZERO, arena: &mut arena, drops: &mut drops, split: &mut split };
    packets.into_iter().for_each(|packet| port.enqueue(packet, &mut cx).unwrap());
    let out: Vec<Packet> = core::iter::from_fn(|| port.dequeue(&mut cx)).collect();
    let id = |packet: &Packet| packet.cold_part(&arena).unwrap().ip_id;
    let ids: Vec<u32> = out.iter().map(id).collect();
    assert_eq!((ids, split), (alloc::vec![0, 0, 1, 1], 2));
    let one = [(0, 640, true), (640, 840, false)];
    assert_eq!(shape(&out, &arena), [one, one].concat());
}

#[test]
fn where_listeners_have_a_queue_of_their_own_fq_codel_notes_no_packet_that_passes() {
    for (beside, passes) in [(Beside::TwoQueues, false), (Beside::OneQueue, true)] {
        let params = KickAssPortParams { beside, ..KickAssPortParams::default() };
        let init = || init(C, Limit::Packets(9), 0, 0);
        let scheme = AnyScheme::KickAss(Box::new(KickAssPort::new(params, init())));
        let queue = FqCodel::new(&Default::default(), init());
        let port = Pipeline::new(scheme, queue.into());
        assert_eq!((port.is_prompt(), port.notes_passing()), (passes, passes));
    }
}

#[test]
fn parameters_have_ranges() {
    let good = KickAssPortParams::paper();
    assert_eq!(good.check(), Ok(()));
    assert_eq!((good.alpha, good.beta), (0.4, 0.226));
    let name = |params: KickAssPortParams| params.check().map_err(|error| error.param);
    assert_eq!(name(KickAssPortParams { least_bytes: 44, ..good }), Err("least_bytes"));
    assert_eq!(name(KickAssPortParams { least_bytes: 45, ..good }), Ok(()));
    assert_eq!(name(KickAssPortParams { alpha: 0.0, ..good }), Err("alpha"));
}

/// `C / 20`, and nothing more while flows are in their handshakes.
#[test]
fn with_the_hardened_rule_the_first_rate_stands_until_somebody_who_listens_sends() {
    let arena = &mut Arena::default();
    for (fallback, waits) in [(Fallback::Hardened, true), (Fallback::Paper, false)] {
        let params = KickAssPortParams { fallback, ..KickAssPortParams::paper() };
        let mut port = Port::new(params);
        let first_bps = C.bps() as f64 / 20.0;
        for ms in 0..300 {
            port.now = Time::from_millis(ms);
            let mut foreign = segment(2, 1, 100, arena);
            foreign.set_dont_fragment(true);
            port.arrive(&mut foreign, arena);
        }
        let rate_bps = port.scheme.control.rate_bps;
        assert_eq!(rate_bps == first_bps, waits, "{rate_bps} bit/s");
        port.arrive(&mut segment(1, 1, 1500, arena), arena);
        port.now += MS * 20;
        port.arrive(&mut segment(1, 2, 1500, arena), arena);
        assert!(port.scheme.control.rate_bps > rate_bps, "the loop runs");
    }
}
