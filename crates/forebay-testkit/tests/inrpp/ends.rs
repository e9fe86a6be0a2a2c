//! End points on networks where TCP does well: INRPP must not do much worse.
#![allow(clippy::print_stdout)] // the table

use forebay_base::{DropReason, FlowId, Time};
use forebay_scenario::{LoadOptions, Scenario};
use forebay_sim::{Options, Simulation};

/// Hosts `s{}` at r0 and `d{}` at r1, `pairs` of each, 1 ms away; `link` is what the link r0-r1
/// has, `flows` the rest of the file.
pub fn network(pairs: usize, link: &str, flows: &str) -> String {
    let hosts = |name: &str, router: &str| {
        format!(
            "[[hosts]]\nname = '{name}{{}}'\ncount = {pairs}\nattach = '{router}'\n\
             rate = '100Mbit/s'\ndelay = '1ms'\nqueue = '1000packets'\n"
        )
    };
    let (s, d) = (hosts("s", "r0"), hosts("d", "r1"));
    let (src, dst) = if pairs == 1 { ("s0", "d0") } else { ("s{}", "d{}") };
    format!(
        "until_s = 900\nrouters = ['r0', 'r1']\n[[links]]\na = 'r0'\nb = 'r1'\n\
         delay = '10ms'\n{link}\n{s}{d}[[flows]]\nsrc = '{src}'\ndst = '{dst}'\n{flows}\n"
    )
}

pub fn simulation(text: &str, protocol: &str) -> Simulation {
    simulation_with(text, protocol, 1, Options::default())
}

pub fn simulation_with(text: &str, protocol: &str, seed: u64, options: Options) -> Simulation {
    let scenario = Scenario::parse(text, "ends.toml", &LoadOptions::default()).expect("sound");
    let spec = scenario.build(protocol, seed).expect("sound");
    Simulation::new(&spec, seed, options).expect("sound")
}

/// Mean completion time in seconds, and packets that came again though they had arrived.
pub fn mean_fct(text: &str, protocol: &str, flows: u32) -> (f64, u64) {
    mean_fct_of(text, protocol, flows, 1)
}

fn mean_fct_of(text: &str, protocol: &str, flows: u32, seed: u64) -> (f64, u64) {
    let mut sim = simulation_with(text, protocol, seed, Options::default());
    sim.run_until(Time::from_secs(900)).unwrap();
    assert!(sim.conservation().holds());
    let (mut sum, mut needless) = (0.0, 0);
    for flow in 0..flows {
        let outcome = sim.flow(FlowId(flow));
        let done = outcome.completed_at.expect("complete");
        sum += done.since(outcome.opened_at.expect("opened")).as_secs_f64();
        needless += outcome.needless_retransmits;
    }
    (sum / f64::from(flows), needless)
}

/// INRPP takes no longer than `times` what NewReno takes. Returns needless retransmissions.
fn compare(name: &str, text: &str, flows: u32, times: f64) -> u64 {
    let (ours, needless) = mean_fct(text, "inrpp", flows);
    let (theirs, _) = mean_fct(text, "newreno", flows);
    println!("| {name} | {ours:.3} | NewReno {theirs:.3} | {needless} needless |");
    assert!(ours < theirs * times, "{name}: {ours} s beside {theirs} s");
    needless
}

/// The bottleneck is a plain port, and the router after it is of INRPP: the flows find that nobody
/// holds their excess, and leave TCP beside them its share.
#[test]
fn a_plain_bottleneck_before_an_inrpp_router() {
    for count in [1, 4, 10] {
        let beside = "[[flows]]\nsrc = 's{}'\ndst = 'd{}'\ncount = 2\nendless = true\n\
                      protocol = 'cubic'\nfirst = ";
        let flows = format!("count = {count}\nendless = true\n{beside}{count}\n");
        let link = "rate = '10Mbit/s'\nqueue = '50ms'";
        let text = format!("inrpp = {{ routers = ['r1'] }}\n{}", network(count + 2, link, &flows));
        let mut sim = simulation(&text, "inrpp");
        let received = |sim: &Simulation, flows: core::ops::Range<usize>| -> u64 {
            flows.map(|flow| sim.flow(FlowId(flow as u32)).received_bytes).sum()
        };
        sim.run_until(Time::from_secs(60)).unwrap();
        let mbps = |bytes: u64| bytes as f64 * 8e-6 / 60.0;
        let (all, theirs) =
            (mbps(received(&sim, 0..count + 2)), mbps(received(&sim, count..count + 2)));
        let share = 9.6 * 2.0 / (count + 2) as f64;
        println!("| {count} INRPP, 2 CUBIC | {all:.2} | {:.2} |", theirs / share);
        assert!(all > 9.3, "{all} of 9.6 Mbit/s");
        assert!(theirs > 0.6 * share, "{theirs} of {share} Mbit/s");
    }
}

/// What waits in a cache for longer than the timeout is not cached again.
#[test]
fn short_flows_over_slow_links() {
    let slow = "rate = '20kbit/s'\nqueue = '20packets'";
    let few = network(5, slow, "count = 5\nbytes = '3kB'");
    let needless = compare("5 of 3 kB, 20 kbit/s", &few, 5, 2.0);
    assert!(needless <= 3, "{needless}");
    let many = network(1, "rate = '2Mbit/s'\nqueue = '64packets'", "count = 300\nbytes = '3kB'");
    let needless = compare("300 of 3 kB, 2 Mbit/s", &many, 300, 2.5);
    assert!(needless <= 12, "{needless}");
    let mut sim = simulation(&many, "inrpp");
    sim.run_until(Time::from_secs(900)).unwrap();
    assert!(sim.drops().count(DropReason::CacheDuplicate) > 0, "it was exercised");
    assert_eq!(sim.drops().count(DropReason::CacheFull), 0);
}

/// One lost packet costs a round trip, and not a second.
#[test]
fn losses_on_paths_without_detours() {
    let link = "rate = '10Mbit/s'\nqueue = '50ms'\nloss = 0.01\nreverse = { loss = 0 }";
    let flows = "count = 100\npackets = 50\nevery = '150ms'";
    assert_eq!(compare("1 % of data", &network(1, link, flows), 100, 1.0), 0);
    let without =
        format!("tcp = {{ sack = false }}\n{}", network(3, link, "count = 3\nbytes = '5MB'"));
    // Which losses meet a retransmission is chance: 13 to 28 s.
    let mean = |protocol| {
        let of = |seed| mean_fct_of(&without, protocol, 3, seed).0;
        (1..=20).map(of).sum::<f64>() / 20.0
    };
    let (ours, theirs) = (mean("inrpp"), mean("newreno"));
    println!("| 1 % of data, no SACK | {ours:.3} | NewReno {theirs:.3} |");
    assert!(ours < theirs * 1.4, "{ours} s beside {theirs} s");
}
