//! Middleboxes that take MPTCP's options away (RFC 8684 section 3.7): the stream is whole, at once
//! over the first path alone or without the path that lost them.

use crate::common::{Event, Fate, Hop, MSS, Pair, Wiring, modern, ms};
use forebay_base::{Rate, Rng, Stream, TcpFlags, Time, kind};
use forebay_cc::{Init, Spec};

const BYTES: u64 = 2000 * MSS;

/// Two paths of 10 Mbit/s; of packets that `strips` is true of, the options are taken away.
/// `reply`: bytes that the server sends.
fn pair(reply: u64, strips: impl Fn(&Event) -> bool + 'static) -> Pair {
    let hop = || [Hop::link(ms(10), Rate::mbps(10), 50), Hop::link(ms(10), Rate::mbps(10), 50)];
    let wiring = Wiring { hops: vec![hop(), hop()], ..Wiring::new(modern(), Some(BYTES), ms(10)) };
    let script = move |e: &Event| Fate { strip: strips(e).then_some(kind::MPTCP), ..Fate::PASS };
    let mut wiring = wiring.script(script);
    wiring.send_bytes[1] = Some(reply);
    let spec = Spec::by_name("mptcp").unwrap();
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

/// The second path carries data.
fn joins(pair: &Pair) -> bool {
    pair.data().iter().any(|e| e.path == 1 && e.arrived)
}

/// Both directions are whole, within the time that one path takes: 2 MB at 10 Mbit/s are 1.7 s.
fn assert_whole(name: &str, mut pair: Pair, joined: bool) {
    pair.finish(Time::from_secs(30));
    pair.drain();
    assert_eq!(joins(&pair), joined, "{name}");
    let last = pair.ends[1].progress().last_byte_at.unwrap();
    assert!(last < Time::from_secs(4), "{name}: {last}");
}

fn is_syn(e: &Event) -> bool {
    e.seg.has(TcpFlags::SYN)
}

/// On the SYN, on its answer, on all of the handshake, or everywhere in one direction or both.
#[test]
fn without_options_on_the_handshake_it_is_plain_tcp() {
    type Strips = fn(&Event) -> bool;
    let cases: [(&str, Strips); 7] = [
        ("SYN", |e| is_syn(e) && e.side == 0),
        ("SYN-ACK", |e| is_syn(e) && e.side == 1),
        ("SYN and SYN-ACK", is_syn),
        ("ACK and data", |e| !is_syn(e) && e.side == 0),
        ("answers", |e| !is_syn(e) && e.side == 1),
        ("all but SYNs", |e| !is_syn(e)),
        ("all", |_| true),
    ];
    for (name, strips) in cases {
        for reply in [0, 300 * MSS] {
            assert_whole(&format!("{name}, {reply}"), pair(reply, strips), false);
        }
    }
}

/// The first ACK still has the keys; the client's data have no signal.
#[test]
fn without_signals_from_the_first_data_on_it_is_plain_tcp() {
    let strips = |e: &Event| !is_syn(e) && e.side == 0 && e.seg.len > 0;
    for reply in [0, 300 * MSS] {
        assert_whole(&format!("{reply}"), pair(reply, strips), false);
    }
}

/// Signals on one path go when both carry data: that path ends, and the other carries the stream.
#[test]
fn a_path_that_loses_its_signals_later_ends() {
    for path in [0, 1] {
        let from = Time::from_millis(500);
        let strips = move |e: &Event| e.path == path && e.side == 0 && e.seg.at >= from;
        let mut pair = pair(0, strips);
        pair.finish(Time::from_secs(30));
        pair.drain();
        let reset = pair.log.iter().find(|e| e.seg.has(TcpFlags::RST)).expect("a reset");
        assert_eq!((reset.path, reset.side), (path, 1));
        let late = ms(200);
        assert!(reset.seg.at < from + late, "{}", reset.seg.at);
        let data = pair.data();
        assert!(data.iter().all(|e| e.path != path || e.seg.at < from + late));
    }
}

/// Nothing is taken away: two paths.
#[test]
fn with_options_both_paths_carry_data() {
    assert_whole("none", pair(300 * MSS, |_| false), true);
}
