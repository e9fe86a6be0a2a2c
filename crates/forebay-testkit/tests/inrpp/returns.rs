//! Return paths that are full of ACKs: everybody goes on, and TCP beside them has its share.
#![allow(clippy::print_stdout)] // the table

use super::ends::{network, simulation, simulation_with};
use super::lab::WIRE;
use forebay_base::{DropReason, FlowId, Time};
use forebay_sim::{Options, Simulation};

/// Payload of each flow from 20 to 60 s, in Mbit/s.
fn goodputs(text: &str, protocol: &str, flows: u32) -> (Vec<f64>, Simulation) {
    let mut sim = simulation(text, protocol);
    let received = |sim: &Simulation| -> Vec<u64> {
        (0..flows).map(|flow| sim.flow(FlowId(flow)).received_bytes).collect()
    };
    sim.run_until(Time::from_secs(20)).unwrap();
    let before = received(&sim);
    sim.run_until(Time::from_secs(60)).unwrap();
    assert!(sim.conservation().holds());
    let both = received(&sim).into_iter().zip(before);
    (both.map(|(now, before)| (now - before) as f64 * 8e-6 / 40.0).collect(), sim)
}

fn link(down: &str, up: &str) -> String {
    format!("rate = '{down}'\nqueue = '50ms'\nreverse = {{ rate = '{up}' }}")
}

/// The ACKs of eight downloads, one for each packet, are three times what the return path carries:
/// each download has its share of the link all the same.
#[test]
fn downloads_do_not_starve_each_other_of_acks() {
    let text = network(8, &link("100Mbit/s", "1.5Mbit/s"), "count = 8\nendless = true");
    let (mbps, sim) = goodputs(&text, "inrpp", 8);
    let share = 100.0 / WIRE / 8.0;
    println!("| 8 downloads, 100 and 1.5 Mbit/s | {mbps:.2?} of {share:.2} |");
    assert!(mbps.iter().all(|rate| *rate > 0.9 * share), "{mbps:?} of {share}");
    assert!(sim.drops().count(DropReason::AckReplaced) > 0, "it was exercised");
}

/// An upload by NewReno beside a download: turns by bytes leave it half of the uplink at least,
/// which is not much less than it has beside a download by NewReno, which acknowledges every other
/// packet.
#[test]
fn an_upload_by_tcp_has_its_share_beside_a_download() {
    let flows = "endless = true\n[[flows]]\nsrc = 'd0'\ndst = 's0'\nendless = true\n\
                 protocol = 'newreno'";
    let text = network(1, &link("100Mbit/s", "2Mbit/s"), flows);
    let (ours, _) = goodputs(&text, "inrpp", 2);
    let (theirs, _) = goodputs(&text, "newreno", 2);
    println!("| download, upload, 100 and 2 Mbit/s | {ours:.3?} | NewReno {theirs:.3?} |");
    assert!(ours[1] > 0.8 * theirs[1], "{ours:?} beside {theirs:?}");
    assert!(ours[0] > 0.9 * theirs[0], "{ours:?} beside {theirs:?}");
}

/// ACKs that routers have thinned acknowledge several packets each: what senders conclude from them
/// is the same on their fast path.
#[test]
fn thinned_acks_are_the_same_without_fast_paths() {
    let text = "until_s = 900
        link_defaults = { queue = '92packets' }
        routers = ['r0', 'r1', 'r2']
        links = [
            { a = 'r0', b = 'r1', rate = '27.603Mbit/s', delay = '47602us', queue = '46packets',
              reverse = { rate = '22kbit/s', queue = '100packets' } },
            { a = 'r1', b = 'r2', rate = '6277kbit/s', delay = '271us', queue = '26packets',
              reverse = { rate = '324kbit/s', queue = '100packets' } },
        ]
        hosts = [
            { name = 'a{}', count = 5, attach = 'r0', rate = '55Mbit/s', delay = '531us' },
            { name = 'b{}', count = 5, attach = 'r1', rate = '55Mbit/s', delay = '536us' },
            { name = 'c{}', count = 5, attach = 'r2', rate = '55Mbit/s', delay = '3486us' },
        ]
        flows = [
            { src = 'a0', dst = 'c0', start = '3242639us', bytes = '941485B' },
            { src = 'a1', dst = 'c1', bytes = '941485B' },
            { src = 'c2', dst = 'a2', bytes = '941485B' },
            { src = 'b3', dst = 'c3', start = '709532us', bytes = '941485B' },
            { src = 'a4', dst = 'c4', bytes = '941485B' },
        ]";
    let run = |general| {
        let options = Options { general, ..Options::default() };
        let mut sim = simulation_with(text, "inrpp", 1, options);
        sim.run_until(Time::from_secs(900)).unwrap();
        (sim.trace_hash(), sim.drops().count(DropReason::AckReplaced))
    };
    let (hash, replaced) = run(false);
    assert!(replaced > 0, "it was exercised");
    assert_eq!((hash, replaced), run(true));
}

/// One flow whose return path has a tenth to a five-hundredth of the rate: ACKs that would wait in
/// the queue of the link for long wait where newer ones replace them, so that the link has data
/// all the time. NewReno acknowledges every other packet.
#[test]
fn a_download_over_a_narrow_return_path_takes_no_longer_than_tcp() {
    for (up_kbps, size) in [(1000, "500kB"), (200, "500kB"), (100, "500kB"), (20, "4MB")] {
        let up = format!("{up_kbps}kbit/s', queue = '100packets");
        let text = network(1, &link("10Mbit/s", &up), &format!("bytes = '{size}'"));
        let seconds = |protocol| {
            let mut sim = simulation(&text, protocol);
            sim.run_until(Time::from_secs(60)).unwrap();
            let done = sim.flow(FlowId(0)).completed_at.expect("60 s are enough");
            (done.as_secs_f64(), sim.drops().count(DropReason::AckReplaced))
        };
        let ((ours, replaced), (theirs, _)) = (seconds("inrpp"), seconds("newreno"));
        println!("| {size}, ACKs over {up_kbps} kbit/s | {ours:.3} s | NewReno {theirs:.3} s |");
        assert!(ours < 1.05 * theirs, "{up_kbps} kbit/s: {ours} s, NewReno {theirs} s");
        assert!(up_kbps == 1000 || replaced > 0, "it was exercised");
    }
}
