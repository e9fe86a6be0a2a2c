//! Connections of MPTCP (RFC 8684) with LIA and OLIA.

use crate::common::{Event, Fate, Hop, MSS, Pair, Wiring, modern, ms};
use forebay_base::{Rate, Rng, Span, Stream, TcpFlags, Time, kind};
use forebay_cc::{Init, Spec};
use forebay_transport::{Pacing, TcpConfig};

/// Paths of these delays, each of 10 Mbit/s with room for 50 packets.
fn wiring(config: TcpConfig, bytes: u64, delays: &[u64]) -> Wiring {
    let rate = Rate::mbps(10);
    let hops = delays.iter().map(|&delay| [Hop::link(ms(delay), rate, 50), Hop::wire(ms(delay))]);
    let hops = hops.collect();
    Wiring { hops, ..Wiring::new(config, Some(bytes), ms(delays[0])) }
}

fn coupled(wiring: Wiring, algorithm: &str) -> Pair {
    let spec = Spec::by_name(algorithm).unwrap();
    wiring.build(|side, path| {
        spec.build(Init {
            mss_bytes: MSS as u32,
            initial_window_bytes: 10 * MSS,
            initial_ssthresh_bytes: u64::MAX,
            paced: false,
            rng: Rng::new(1, Stream::Controller, 2 * path as u64 + side as u64),
        })
    })
}

/// Payload per second in Mbit/s from the SYN to the last byte.
fn goodput(mut pair: Pair, bytes: u64) -> f64 {
    pair.finish(Time::from_secs(600));
    pair.drain();
    let last = pair.ends[1].progress().last_byte_at.unwrap();
    bytes as f64 * 8.0 / 1e6 / last.as_secs_f64()
}

/// The first byte of the option of a packet: its subtype.
fn subtype(event: &Event) -> Option<u8> {
    event.seg.option(kind::MPTCP).map(|data| data[0])
}
/// Length of that option, kind and length included.
fn option_bytes(event: &Event) -> usize {
    event.seg.option(kind::MPTCP).map_or(0, |data| data.len() + 2)
}

/// Payload is 1000 of 1068 bytes: two paths of 10 Mbit/s carry 18.7 Mbit/s of it.
#[test]
fn two_paths_have_twice_the_goodput() {
    for algorithm in ["mptcp", "mptcp-olia"] {
        let bytes = 40_000 * MSS;
        let both = goodput(coupled(wiring(modern(), bytes, &[10, 10]), algorithm), bytes);
        assert!((17.4..18.73).contains(&both), "{algorithm}: {both} Mbit/s");
    }
}

/// RFC 8684 section 3.1: SYN without a key, SYN-ACK with that of the server, ACK with both, the
/// first data with both and their length. Section 3.2: 12, 16 and 24 bytes, after the first answer.
#[test]
fn subflows_are_opened_as_the_rfc_says() {
    let mut pair = coupled(wiring(modern(), 300 * MSS, &[10, 10]), "mptcp");
    pair.finish(Time::from_secs(10));
    let of = |path: usize, side: usize| {
        let all = pair.log.iter().filter(move |e| e.path == path && e.side == side);
        all.map(|e| (subtype(e).unwrap(), option_bytes(e))).collect::<Vec<_>>()
    };
    assert_eq!(of(0, 0)[..4], [(0x01, 4), (0x01, 20), (0x01, 22), (0x20, 18)]);
    assert_eq!(of(0, 1)[..2], [(0x01, 12), (0x20, 8)]);
    assert_eq!(of(1, 0)[..3], [(0x10, 12), (0x10, 24), (0x20, 18)]);
    assert_eq!(of(1, 1)[..2], [(0x10, 16), (0x20, 8)]);
    // Handshake and answer on the first path, then two on the second: data after four round trips.
    let mut second = pair.log.iter().filter(|e| e.path == 1 && e.seg.len > 0);
    let at = second.next().unwrap().seg.at;
    assert!((Time::from_millis(80)..Time::from_millis(90)).contains(&at), "{at}");
}

/// Each full packet has the MSS as its payload, whatever it carries besides, but the first.
#[test]
fn packets_are_full() {
    let mut pair = coupled(wiring(modern(), 1000 * MSS, &[10, 10]), "mptcp");
    pair.finish(Time::from_secs(10));
    let data = pair.data();
    let short: Vec<u64> = data.iter().map(|e| e.seg.len).filter(|&len| len < MSS).collect();
    // The first carries both keys, which are 4 bytes longer than a signal; the last, which an idle
    // path repeats, has the rest.
    assert_eq!(short, [MSS - 4, 4, 4]);
}

#[test]
fn short_streams_are_whole() {
    for bytes in [0, 1, 999, 1000, 1001, 2000, 5000] {
        let mut pair = coupled(wiring(modern(), bytes, &[10, 10]), "mptcp");
        pair.finish(Time::from_secs(10));
        pair.drain();
        let progress = pair.ends[1].progress();
        // A round trip for the handshake, and one way.
        let late = progress.last_byte_at.unwrap_or_default();
        assert!(late < Time::from_millis(40), "{bytes} bytes: {late}");
    }
}

#[test]
fn one_path_is_mptcp_too() {
    let mut pair = coupled(wiring(modern(), 200 * MSS, &[10]), "mptcp");
    pair.finish(Time::from_secs(10));
    pair.drain();
    assert!(pair.log.iter().all(|e| e.seg.has(TcpFlags::RST) || subtype(e).is_some()));
}

/// One packet in ten is lost on the second path: it carries little, and the first does not suffer.
#[test]
fn a_lossy_path_does_no_harm() {
    let bytes = 10_000 * MSS;
    for algorithm in ["mptcp", "mptcp-olia"] {
        let mut rng = Rng::new(3, Stream::Test, 0);
        let lossy = wiring(modern(), bytes, &[10, 10])
            .script(move |e| Fate::drop_if(e.path == 1 && rng.chance(0.1)));
        let both = goodput(coupled(lossy, algorithm), bytes);
        // 9.36 Mbit/s of payload fit into the first path alone.
        assert!(both > 8.6, "{algorithm}: {both} Mbit/s");
    }
}

/// RTTs of 10 and 100 ms, and a window of less than the sum of rates times the longest RTT, 250 kB:
/// not less than the fast path alone, whose goodput is 9.36 Mbit/s at most.
#[test]
fn a_small_window_is_not_held_up_by_a_slow_path() {
    let bytes = 10_000 * MSS;
    let window = |receive_buffer_bytes| TcpConfig { receive_buffer_bytes, ..modern() };
    for buffer in [60_000, 120_000, 200_000] {
        let alone = goodput(coupled(wiring(window(buffer), bytes, &[5]), "mptcp"), bytes);
        let both = goodput(coupled(wiring(window(buffer), bytes, &[5, 50]), "mptcp"), bytes);
        assert!(both >= 0.98 * alone, "{buffer}: {both} against {alone} Mbit/s");
    }
}

/// A delay of 10 ms, and a long one, both with queues of 10 packets: with any window the goodput is
/// at least that of the short path alone. While the window holds back data that the long path has
/// room for, that is counted.
#[test]
fn a_long_path_does_no_harm_with_any_window() {
    let bytes = 20_000 * MSS;
    let hops = |delays: &[u64]| -> Vec<[Hop; 2]> {
        let rate = Rate::mbps(10);
        delays.iter().map(|&d| [Hop::link(ms(d), rate, 10), Hop::wire(ms(d))]).collect()
    };
    for kilobytes in [64, 128, 256, 512] {
        let config = TcpConfig { receive_buffer_bytes: kilobytes * 1000, ..modern() };
        let pair = |delays: &[u64], algorithm: &str| {
            let wiring = Wiring::new(config, Some(bytes), ms(delays[0]));
            coupled(Wiring { hops: hops(delays), ..wiring }, algorithm)
        };
        let alone = goodput(pair(&[10], "mptcp"), bytes);
        for long in [40, 100, 200, 450] {
            for algorithm in ["mptcp", "mptcp-olia"] {
                let both = goodput(pair(&[10, long], algorithm), bytes);
                assert!(
                    both >= 0.98 * alone,
                    "{kilobytes} kB, {long} ms, {algorithm}: {both} against {alone} Mbit/s"
                );
            }
        }
        // A larger one is not full often: the long path loses packets at small windows.
        if kilobytes > 256 {
            continue;
        }
        let mut pair = pair(&[10, 200], "mptcp");
        pair.finish(Time::from_secs(600));
        let [by_peer, by_buffer] = pair.ends[0].held_back(pair.now);
        assert!(by_peer > Span::from_secs(1) && by_buffer == Span::ZERO, "{by_peer}");
    }
}

/// 50 Mbit/s over 1 ms, and 2 Mbit/s over 5 ms with a queue of 100 packets, 0.5 s: at the end the
/// fast path carries what waits on the slow one, each byte once.
#[test]
fn the_end_does_not_wait_for_a_slow_path() {
    let bytes = 10_000 * MSS;
    let fast = [Hop::link(ms(1), Rate::mbps(50), 20), Hop::wire(ms(1))];
    let slow = [Hop::link(ms(5), Rate::mbps(2), 100), Hop::wire(ms(5))];
    let pair = |hops: Vec<[Hop; 2]>, algorithm: &str| {
        let wiring = Wiring::new(modern(), Some(bytes), ms(1));
        coupled(Wiring { hops, ..wiring }, algorithm)
    };
    let alone = goodput(pair(vec![fast.clone()], "mptcp"), bytes);
    for algorithm in ["mptcp", "mptcp-olia"] {
        let both = goodput(pair(vec![fast.clone(), slow.clone()], algorithm), bytes);
        assert!(both >= alone, "{algorithm}: {both} against {alone} Mbit/s");
    }
}

/// A path: Mbit/s, delay in ms, packets in its queue, share of packets that is lost.
type Way = (u64, u64, usize, f64);

/// A second path does no harm, as uneven as it may be, with any window: at least `bound` of the
/// goodput of the better path alone, the first.
#[test]
fn an_uneven_path_does_no_harm_with_any_window() {
    let bytes = 12_000 * MSS;
    let pairs: [(f64, [Way; 2]); 5] = [
        (0.94, [(50, 22, 50, 0.0), (1, 3, 100, 0.0)]),
        (0.94, [(50, 22, 50, 0.0), (1, 3, 10, 0.0)]),
        (0.94, [(20, 5, 50, 0.0), (2, 100, 200, 0.0)]),
        (0.94, [(100, 10, 100, 0.0), (5, 40, 50, 0.01)]),
        (0.8, [(10, 10, 20, 0.0), (10, 10, 20, 0.05)]),
    ];
    for window in [64_000, 250_000, 1_000_000, 4 << 20] {
        let pacing = Pacing::Windowed { slow_start_percent: 200, avoidance_percent: 120 };
        let config = TcpConfig {
            receive_buffer_bytes: window,
            send_buffer_bytes: window,
            pacing,
            ..modern()
        };
        for (bound, ways) in pairs {
            let measured = |ways: &[Way], algorithm: &str| {
                let hop = |&(rate, delay, queue, _): &Way| {
                    [Hop::link(ms(delay), Rate::mbps(rate), queue), Hop::wire(ms(delay))]
                };
                let loss: Vec<f64> = ways.iter().map(|way| way.3).collect();
                let mut rng = Rng::new(3, Stream::Test, 0);
                let wiring = Wiring::new(config, Some(bytes), ms(ways[0].1));
                let wiring = Wiring { hops: ways.iter().map(hop).collect(), ..wiring };
                let lossy =
                    wiring.script(move |e| Fate::drop_if(e.side == 0 && rng.chance(loss[e.path])));
                goodput(coupled(lossy, algorithm), bytes)
            };
            let alone = measured(&ways[..1], "newreno");
            for algorithm in ["mptcp", "mptcp-olia"] {
                let both = measured(&ways, algorithm);
                let of = format!("{window} bytes, {ways:?}, {algorithm}");
                assert!(both >= bound * alone, "{of}: {both} against {alone} Mbit/s");
            }
        }
    }
}

/// Path 2 dies: its data come over the other within its RTO and a round trip, and no byte is
/// missing.
#[test]
fn what_a_dead_path_held_comes_over_the_other() {
    let died = Time::from_millis(2000);
    let bytes = 10_000 * MSS;
    let mut pair = coupled(
        wiring(modern(), bytes, &[10, 10])
            .script(move |e| Fate::drop_if(e.path == 1 && e.seg.at >= died)),
        "mptcp",
    );
    pair.open();
    let mut received = Vec::new();
    while pair.ends.iter().any(|end| end.progress().ended.is_none()) {
        assert!(pair.step());
        received.push((pair.now, pair.ends[1].progress().received_bytes));
    }
    // Queues of 50 packets make round trips of up to 65 ms; min_rto is 1 s.
    let resumed = Time::from_millis(2000 + 1000 + 2 * 65 + 65);
    let stuck = received.iter().rev().find(|(at, _)| *at <= died + ms(70)).unwrap().1;
    let after = received.iter().find(|(_, bytes)| *bytes > stuck + 100 * MSS).unwrap().0;
    assert!(after < resumed, "{after}");
    assert_eq!(pair.ends[1].progress().received_bytes, bytes);
}

/// The proof of a path that joins is repeated until it is acknowledged.
#[test]
fn a_lost_proof_is_repeated() {
    for (side, nth) in [(0, 2), (1, 2), (0, 1), (1, 1)] {
        let mut seen = 0;
        let lossy = wiring(modern(), 2000 * MSS, &[10, 10]).script(move |e| {
            seen += u64::from(e.path == 1 && e.side == side);
            Fate::drop_if(e.path == 1 && e.side == side && seen == nth)
        });
        let mut pair = coupled(lossy, "mptcp");
        pair.finish(Time::from_secs(30));
        pair.drain();
        let joined = pair.data().iter().any(|e| e.path == 1);
        assert!(joined, "packet {nth} of side {side} was lost");
    }
}

/// An application that pauses, and closes long after its last byte.
#[test]
fn a_stream_that_is_written_over_time() {
    let mut pair = coupled(wiring(modern(), 0, &[10, 10]), "mptcp");
    pair.ends[0].hold(Time::ZERO);
    pair.open();
    let mut written = 0;
    for second in 1..5 {
        pair.run(Time::from_secs(second));
        let now = pair.now;
        assert!(pair.ends[0].write(now, 100_000));
        pair.pump();
        written += 100_000;
    }
    pair.run(Time::from_secs(10));
    assert_eq!(pair.ends[1].progress().received_bytes, written);
    assert!(!pair.ends[1].progress().stream_complete);
    let now = pair.now;
    pair.ends[0].close(now);
    pair.pump();
    pair.run(Time::from_secs(12));
    let [client, server] = [0, 1].map(|side| pair.ends[side].progress());
    assert!(server.stream_complete && client.ended.is_some() && server.ended.is_some());
    assert!(!pair.ends[0].write(now + Span::from_secs(3), 1), "it has closed");
}
