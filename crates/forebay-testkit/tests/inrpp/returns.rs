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

/// Mean completion time of `flows` flows, in seconds.
fn mean_s(text: &str, protocol: &str, flows: u32) -> (f64, Simulation) {
    let mut sim = simulation(text, protocol);
    sim.run_until(Time::from_secs(100)).unwrap();
    let took = |flow| {
        let flow = sim.flow(FlowId(flow));
        let done = flow.completed_at.expect("100 s are enough");
        done.since(flow.opened_at.expect("it has started")).as_secs_f64()
    };
    ((0..flows).map(took).sum::<f64>() / f64::from(flows), sim)
}

/// 100 flows per second, each of which is a SYN-ACK and a FIN to the return path at least, are two
/// thirds of what it carries: the ACK that only gives the scaled window does not follow where the
/// SYN-ACK waits, nor does one whose FIN has gone before it. With both the path was overloaded, and
/// a flow took 4 s.
#[test]
fn short_flows_over_a_narrow_return_path_do_not_overload_it() {
    let flows = "count = 1000\nbytes = '5kB'\narrivals = { per_s = 100, until = '10s' }";
    let text = network(1, &link("10Mbit/s", "200kbit/s', queue = '100packets"), flows);
    let ((ours, sim), (theirs, _)) = (mean_s(&text, "inrpp", 1000), mean_s(&text, "cubic", 1000));
    println!("| 100 flows of 5 kB per s | {ours:.4} s | CUBIC {theirs:.4} s |");
    assert!(ours < 1.5 * theirs, "{ours} s, CUBIC {theirs} s");
    assert!(sim.drops().count(DropReason::AckReplaced) > 0, "it was exercised");
}

/// A return path that slows down: what its queue takes at the new rate counts.
#[test]
fn a_return_path_that_slows_down_is_as_good_as_one_that_was_slow() {
    let text = |up: &str, event: &str| {
        let up = format!("{up}', queue = '100packets");
        network(1, &link("8Mbit/s", &up), &format!("bytes = '4MB'\n{event}"))
    };
    let event = "[[events]]\nat = '300ms'\nlink = 'r0-r1'\nrate = '20kbit/s'\n\
                 direction = 'reverse'";
    let (slow, _) = mean_s(&text("20kbit/s", ""), "inrpp", 1);
    let (slower, _) = mean_s(&text("800kbit/s", event), "inrpp", 1);
    let (theirs, _) = mean_s(&text("800kbit/s", event), "cubic", 1);
    println!("| slow {slow:.3} s | slows down {slower:.3} s | CUBIC {theirs:.3} s |");
    assert!(slower < 1.1 * slow && slower < theirs, "{slower} s, {slow} s, CUBIC {theirs} s");
}

/// ACKs that overtake each other before a narrow link: one that is overtaken there does not wait.
#[test]
fn acks_that_are_overtaken_do_not_wait() {
    let jitter = |jitter: &str| {
        let text = network(
            4,
            &link("100Mbit/s", "100kbit/s', queue = '100packets"),
            "count = 4\nbytes = '2MB'",
        );
        let hosts = "name = 'd{}'\n";
        assert!(text.contains(hosts), "{text}");
        text.replace(hosts, &format!("{hosts}jitter = '{jitter}'\nreverse = {{ jitter = '0s' }}\n"))
    };
    let (steady, _) = mean_s(&jitter("0ms"), "inrpp", 4);
    let (ours, sim) = mean_s(&jitter("2ms"), "inrpp", 4);
    let (theirs, _) = mean_s(&jitter("2ms"), "cubic", 4);
    println!("| no jitter {steady:.3} s | 2 ms {ours:.3} s | CUBIC {theirs:.3} s |");
    assert!(ours < 1.2 * steady && ours < theirs, "{ours} s, {steady} s, CUBIC {theirs} s");
    let resent: u64 = (0..4).map(|flow| sim.flow(FlowId(flow)).sender.retransmits).sum();
    assert_eq!(resent, 0, "nothing is lost");
}

/// A short round trip, whose cache holds less than what arrives in T_p: ACKs that are thinned wait
/// for no more than the one before them.
#[test]
fn thinned_acks_are_new_where_round_trips_are_short() {
    let text = "until_s = 9
        routers = ['r0', 'r1']
        link_defaults = { queue = '100packets', delay = '10us' }
        links = [{ a = 'r0', b = 'r1', rate = '100Mbit/s', reverse = { rate = '1Mbit/s' } }]
        hosts = [
            { name = 's', attach = 'r0', rate = '1Gbit/s' },
            { name = 'd', attach = 'r1', rate = '1Gbit/s' },
        ]
        flows = [{ src = 's', dst = 'd', endless = true }]";
    let mut sim = simulation(text, "inrpp");
    sim.run_until(Time::from_secs(2)).unwrap();
    let before = sim.flow(FlowId(0)).received_bytes;
    sim.run_until(Time::from_secs(8)).unwrap();
    let mbps = (sim.flow(FlowId(0)).received_bytes - before) as f64 * 8e-6 / 6.0;
    println!("| 100 and 1 Mbit/s, 80 us | {mbps:.2} Mbit/s |");
    assert!(mbps > 0.95 * 100.0 / WIRE, "{mbps} Mbit/s");
}
