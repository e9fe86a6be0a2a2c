//! ECN as RFC 8257 uses it: which packets are ECN-capable, and what ACKs echo.

use crate::common::{Bench, Fate, Inject, Lab, MSS, Seg, Wiring, ms, plain};
use forebay_base::{Ecn, Rng, Stream, TcpFlags, Time};
use forebay_cc::{AckPolicy, AnyController, Init, Spec};
use forebay_transport::TcpConfig;

fn dctcp() -> AnyController {
    let init = Init {
        mss_bytes: MSS as u32,
        initial_window_bytes: 10 * MSS,
        initial_ssthresh_bytes: u64::MAX,
        paced: false,
        rng: Rng::new(1, Stream::Controller, 0),
    };
    Spec::by_name("dctcp").expect("in the table").build(init)
}

/// Delayed ACKs; the peer speaks ECN where this is configured.
fn config() -> TcpConfig {
    let ack_policy = AckPolicy::Delayed { packets: 2, timeout: ms(40), quick: 0 };
    TcpConfig { ecn: true, ack_policy, ..plain() }
}

fn lab() -> Lab {
    Lab { config: config(), controller: Some(dctcp), ..Lab::default() }
}

fn receiver() -> Bench {
    Lab { send_bytes: Some(0), ..lab() }.accepted()
}

/// Segments acknowledged, and the echo, of all ACKs that answer a segment.
fn answers(bench: &mut Bench, number: u64, ecn: Ecn, flags: TcpFlags) -> Vec<(i64, bool)> {
    bench.advance(ms(1));
    let seq = Some(((number - 1) * MSS) as i64);
    let sent = bench.inject(Inject { seq, len: MSS as u16, ecn, flags, ..Inject::default() });
    let read = |seg: &Seg| (seg.ack.expect("an ACK") / MSS as i64, seg.has(TcpFlags::ECE));
    sent.iter().map(read).collect()
}

/// Section 3.2 and figure 1, ACK by ACK.
#[test]
fn an_ack_covers_data_of_one_kind() {
    let (mut bench, none) = (receiver(), TcpFlags(0));
    let mut put = |number, ecn| answers(&mut bench, number, ecn, none);
    assert_eq!(put(1, Ecn::Ect0), []);
    assert_eq!(put(2, Ecn::Ce), [(1, false), (2, true)], "the one that waits goes first");
    assert_eq!(put(3, Ecn::Ce), []);
    assert_eq!(put(4, Ecn::Ce), [(4, true)], "delayed ACKs while nothing changes");
    assert_eq!(put(5, Ecn::Ect0), [(5, false)], "nothing waits: one ACK at once");
    assert_eq!(put(6, Ecn::Ce), [(6, true)]);
    assert_eq!(put(7, Ecn::Ce), []);
    assert_eq!(put(8, Ecn::Ect0), [(7, true), (8, false)]);
    assert_eq!(put(9, Ecn::Ect0), []);
    assert_eq!(put(10, Ecn::Ect0), [(10, false)]);
}

#[test]
fn cwr_ends_no_echo() {
    let mut bench = receiver();
    assert_eq!(answers(&mut bench, 1, Ecn::Ce, TcpFlags(0)), [(1, true)]);
    assert_eq!(answers(&mut bench, 2, Ecn::Ce, TcpFlags::CWR), []);
    assert_eq!(answers(&mut bench, 3, Ecn::Ce, TcpFlags::CWR), [(3, true)]);
}

/// Section 3.6, and Linux's tcp_ecn_send for retransmissions and ACKs.
#[test]
fn all_packets_are_ecn_capable_and_the_syn_asks_whatever_is_configured() {
    let plain = Lab { config: TcpConfig { ecn: false, ..config() }, ..lab() };
    let syn = plain.clone().client().open().remove(0);
    assert!(syn.has(TcpFlags::ECE) && syn.has(TcpFlags::CWR));
    assert_eq!(syn.ecn, Ecn::Ect0);
    let mut server = lab().server();
    server.open();
    let offer = server.peer_syn();
    let reply = server.inject(offer).remove(0);
    assert!(reply.has(TcpFlags::ECE) && reply.ecn == Ecn::Ect0);

    let (mut bench, sent) = lab().connected(ms(100));
    assert!(!sent.is_empty() && sent.iter().all(|s| s.ecn == Ecn::Ect0));
    bench.advance(ms(100));
    let again = bench.sack(0, &[(2, 4)]);
    assert!(again.iter().any(|s| s.label == "R1" && s.ecn == Ecn::Ect0));
    let mut server = receiver();
    server.peer_data(1);
    assert_eq!(server.peer_data(2)[0].ecn, Ecn::Ect0, "a pure ACK");
}

#[test]
fn a_peer_without_ecn_gets_none() {
    let lab = Lab { peer_ecn: false, ..lab() };
    let (_, sent) = lab.clone().connected(ms(100));
    let data: Vec<&Seg> = sent.iter().filter(|s| s.len > 0).collect();
    assert!(!data.is_empty() && data.iter().all(|s| s.ecn == Ecn::NotEct));
    let mut server = lab.server();
    server.open();
    let syn = server.peer_syn();
    assert_eq!(server.inject(syn).remove(0).ecn, Ecn::NotEct);
}

/// The bytes that ACKs with an echo acknowledge are those that came marked, whatever the pattern:
/// what section 3.2 is for.
#[test]
fn the_sender_sees_exactly_the_bytes_that_were_marked() {
    for period in [2_i64, 3, 5, 7] {
        let pattern = move |off: i64| (off / MSS as i64 / period) % period == 0;
        let wiring = Wiring::new(config(), Some(200 * MSS), ms(20)).script(move |e| {
            if e.side == 0 && e.seg.len > 0 && pattern(e.seg.off) { Fate::MARK } else { Fate::PASS }
        });
        let mut pair = wiring.build(|_, _| dctcp());
        pair.finish(Time::from_secs(60));
        let (mut una, mut echoed) = (0, 0);
        for ack in pair.sent(1).into_iter().filter(|e| e.seg.ack.is_some()) {
            let at = ack.seg.ack.expect("an ACK").min(200 * MSS as i64);
            echoed += if ack.seg.has(TcpFlags::ECE) { at - una } else { 0 };
            una = at;
        }
        let marked = (0..200).filter(|&n| pattern(n * MSS as i64)).count() as i64;
        assert_eq!((una / MSS as i64, echoed / MSS as i64), (200, marked), "period {period}");
        assert_eq!(pair.ends[0].counters().retransmits, 0);
    }
}
