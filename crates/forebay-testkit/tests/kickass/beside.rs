//! Flows of Kick-Ass and others at one port: each has its share, whatever the queue, the discipline
//! and the others. The short forms run in CI, the grids with `--ignored`.
#![allow(clippy::print_stdout)] // the figures

use forebay_lab::scenario::{LoadOptions, Scenario};
use forebay_lab::{RunOptions, RunResult, run_one};

/// What flows of both kinds have at least, of an even share.
const LEAST: f64 = 0.85;

const OTHERS: [&str; 4] = ["newreno", "cubic", "vegas", "bbr"];
const DISCIPLINES: [&str; 5] = ["droptail", "codel", "fq-codel", "pie", "red"];

/// A bottleneck between two routers, whose port alone speaks.
#[derive(Clone, Copy)]
struct Place {
    mbps: u32,
    rtt_ms: f64,
    /// Buffer.
    bdp: f64,
    discipline: &'static str,
}

const NEAR: Place = Place { mbps: 40, rtt_ms: 40.0, bdp: 1.0, discipline: "droptail" };

impl Place {
    fn packets(self) -> u64 {
        let bdp_packets = f64::from(self.mbps) * self.rtt_ms / 12.0;
        ((bdp_packets * self.bdp) as u64).max(10)
    }
    /// This network with these flows, of the protocol of the run between s0 and d0, and of others
    /// between s1 and d1.
    fn with(self, flows: &str, seconds: (f64, f64)) -> Scenario {
        let Place { mbps, rtt_ms, discipline, .. } = self;
        let (until_s, from_s) = seconds;
        let (near_ms, far_ms) = (rtt_ms / 8.0, rtt_ms / 4.0);
        let packets = self.packets();
        let hosts = |name: &str, at: &str| {
            format!(
                "[[hosts]]\nname = '{name}{{}}'\ncount = 41\nattach = '{at}'\nrate = '10Gbit/s'\n\
                 delay = '{near_ms}ms'\nqueue = '100000packets'\nport = 'none'\n"
            )
        };
        let text = format!(
            "protocols = ['kickass', 'newreno', 'cubic', 'vegas', 'bbr']\n\
             routers = ['l', 'r']\nuntil_s = {until_s}\nmeasure_from_s = {from_s}\n\
             start_jitter = '200ms'\n\
             [[links]]\na = 'l'\nb = 'r'\nrate = '{mbps}Mbit/s'\ndelay = '{far_ms}ms'\n\
             queue = {{ discipline = '{discipline}', limit = '{packets}packets' }}\n{}{}{flows}",
            hosts("s", "l"),
            hosts("d", "r"),
        );
        Scenario::parse(&text, "beside.toml", &LoadOptions::default()).expect("it loads")
    }
    /// What each kind of `own` and `others` long flows has of an even share.
    fn shares(self, flows: (u32, u32), other: &str, at: &str, seconds: (f64, f64)) -> [f64; 2] {
        let (own, others) = flows;
        let text = long_flows(flows, other, at);
        let result = run(&self.with(&text, seconds), "kickass", 1);
        let even_bps = f64::from(self.mbps) * 1e6 * 1448.0 / 1500.0 / f64::from(own + others);
        [("own", own), ("others", others)]
            .map(|(class, flows)| goodput_bps(&result, class) / f64::from(flows) / even_bps)
    }
    /// Both have their shares.
    fn check(self, flows: (u32, u32), other: &str) {
        let Place { mbps, rtt_ms, bdp, discipline } = self;
        let seconds = (f64::max(20.0, 0.4 * rtt_ms), f64::max(7.0, 0.13 * rtt_ms));
        let [own, others] = self.shares(flows, other, "", seconds);
        let what = format!("{mbps} Mbit/s {rtt_ms} ms {bdp} BDP {discipline} {flows:?} {other}");
        println!("{what}: {own:.2} {others:.2}");
        // RED drops so early that long flows of TCP alone do not fill the link either.
        let least = if others >= LEAST { LEAST } else { LEAST * self.plain(flows, other, seconds) };
        assert!(own >= LEAST && others >= least, "{what}: {own:.2} {others:.2}");
    }
    /// What the others have of an even share beside as many of their own kind as listen.
    fn plain(self, flows: (u32, u32), other: &str, seconds: (f64, f64)) -> f64 {
        let text = long_flows(flows, other, "");
        let result = run(&self.with(&text, seconds), other, 1);
        let even_bps = f64::from(self.mbps) * 1e6 * 1448.0 / 1500.0;
        let even_bps = even_bps / f64::from(flows.0 + flows.1);
        (goodput_bps(&result, "others") / f64::from(flows.1) / even_bps).min(1.0)
    }
}

/// Long flows of the protocol of the run and of another, and when they start, line by line.
fn long_flows((own, others): (u32, u32), other: &str, at: &str) -> String {
    let line = |n: usize| at.lines().nth(n).unwrap_or("");
    format!(
        "[[flows]]\nsrc = 's0'\ndst = 'd0'\ncount = {own}\nendless = true\nclass = 'own'\n{}\n\
         [[flows]]\nsrc = 's1'\ndst = 'd1'\ncount = {others}\nendless = true\n\
         class = 'others'\nprotocol = '{other}'\n{}\n",
        line(0),
        line(1),
    )
}

fn run(scenario: &Scenario, protocol: &str, seed: u64) -> RunResult {
    let options = RunOptions { without_reference: true, ..RunOptions::default() };
    run_one(scenario, protocol, seed, &options).expect("it runs")
}

fn goodput_bps(result: &RunResult, class: &str) -> f64 {
    result.metrics.by_class[class].of_flows.goodput_bps.expect("it received")
}

#[test]
fn both_have_their_shares_over_each_discipline() {
    for (discipline, other) in DISCIPLINES.into_iter().zip(OTHERS.into_iter().cycle()) {
        for flows in [(8, 1), (1, 8)] {
            Place { discipline, ..NEAR }.check(flows, other);
        }
    }
}

#[test]
#[ignore = "40 runs of 20 s"]
fn both_have_their_shares_beside_each_other_over_each_discipline() {
    for discipline in DISCIPLINES {
        for other in OTHERS {
            for flows in [(8, 1), (1, 8)] {
                Place { discipline, ..NEAR }.check(flows, other);
            }
        }
    }
}

/// Places that nothing was chosen on.
#[test]
#[ignore = "48 runs of 20 to 80 s"]
fn both_have_their_shares_elsewhere() {
    let places = [
        (10, 10.0, 2.0, "droptail"),
        (10, 200.0, 0.5, "pie"),
        (25, 20.0, 4.0, "codel"),
        (100, 10.0, 0.25, "droptail"),
        (100, 100.0, 4.0, "fq-codel"),
        (300, 50.0, 0.5, "droptail"),
    ];
    for (mbps, rtt_ms, bdp, discipline) in places {
        for other in OTHERS {
            for flows in [(8, 1), (1, 8)] {
                Place { mbps, rtt_ms, bdp, discipline }.check(flows, other);
            }
        }
    }
}

/// Who comes late has its share after two seconds, and does not take that of others.
#[test]
fn late_comers_of_both_kinds_have_their_shares() {
    for at in ["start = '8s'", "\nstart = '8s'"] {
        for flows in [(1, 8), (8, 1)] {
            let [own, others] = NEAR.shares(flows, "cubic", at, (18.0, 10.0));
            println!("{flows:?} {at:?}: {own:.2} {others:.2}");
            assert!(own >= LEAST && others >= LEAST, "{flows:?} {at:?}: {own:.2} {others:.2}");
        }
    }
}

/// Others have gone for 10 s: listeners have all.
#[test]
fn listeners_have_what_others_leave() {
    let at = "\nstart = '2s'\nstop = '8s'";
    let text = format!(
        "[[flows]]\nsrc = 's0'\ndst = 'd0'\ncount = 4\nendless = true\nclass = 'own'\n\
         [[flows]]\nsrc = 's1'\ndst = 'd1'\ncount = 4\nendless = true\nclass = 'others'\n\
         protocol = 'cubic'{at}\n"
    );
    let result = run(&NEAR.with(&text, (18.0, 10.0)), "kickass", 1);
    let share = goodput_bps(&result, "own") / (40e6 * 1448.0 / 1500.0);
    assert!(share > 0.97, "{share}");
}

#[test]
#[ignore = "four runs with hundreds of flows"]
fn few_among_many_have_their_shares() {
    for (flows, mbps) in [((64, 64), 150), ((5, 500), 500), ((500, 5), 500)] {
        Place { mbps, ..NEAR }.check(flows, "cubic");
    }
}

/// Data and acknowledgments share both directions, few of one kind against many of the other.
#[test]
fn traffic_both_ways_leaves_both_their_shares() {
    for (there, back) in [((4, 4), (4, 4)), ((8, 1), (1, 8))] {
        let of = |(own, others): (u32, u32), ends: [&str; 4], suffix: &str| {
            let [a, b, c, d] = ends;
            format!(
                "[[flows]]\nsrc = '{a}'\ndst = '{b}'\ncount = {own}\nendless = true\n\
                 class = 'own{suffix}'\n[[flows]]\nsrc = '{c}'\ndst = '{d}'\ncount = {others}\n\
                 endless = true\nprotocol = 'cubic'\nclass = 'others{suffix}'\n"
            )
        };
        let text =
            of(there, ["s0", "d0", "s1", "d1"], "") + &of(back, ["d0", "s0", "d1", "s1"], "-back");
        let result = run(&NEAR.with(&text, (20.0, 6.0)), "kickass", 1);
        for ((own, others), suffix) in [(there, ""), (back, "-back")] {
            let even_bps = 40e6 * 1448.0 / 1500.0 / f64::from(own + others);
            for (class, flows) in [("own", own), ("others", others)] {
                let class = format!("{class}{suffix}");
                let share = goodput_bps(&result, &class) / f64::from(flows) / even_bps;
                println!("{there:?} {back:?} {class}: {share:.2}");
                assert!(share >= 0.75, "{there:?} {back:?} {class}: {share:.2}");
            }
        }
    }
}

/// Mean and p99 of completion times in ms, and the goodput of the download in Mbit/s: 40 clients
/// that fetch files of 60 packets on average over 100 Mbit/s beside one download.
fn web(protocol: &str, discipline: &'static str, think_ms: u32, seeds: u64) -> [f64; 3] {
    let place = Place { mbps: 100, discipline, ..NEAR };
    let text = format!(
        "[[flows]]\nsrc = 's{{}}'\ndst = 'd{{}}'\ncount = 40\nclass = 'web'\n\
         packets = {{ lomax = 1.8, mean = 60, max = 100000 }}\n\
         start = {{ exponential = '{think_ms}ms' }}\nthink = {{ exponential = '{think_ms}ms' }}\n\
         rounds = 'until-end'\n\
         [[flows]]\nsrc = 's40'\ndst = 'd40'\nendless = true\nprotocol = 'cubic'\n\
         class = 'download'\n"
    );
    let scenario = place.with(&text, (60.0, 5.0));
    let mut sums = [0.0; 3];
    for seed in 1..=seeds {
        let result = run(&scenario, protocol, seed);
        let web = &result.metrics.by_class["web"];
        let mbps = goodput_bps(&result, "download") / 1e6;
        let found =
            [web.of_flows.afct_s.unwrap() * 1e3, web.of_flows.fct_p99_s.unwrap() * 1e3, mbps];
        sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += found / seeds as f64);
    }
    println!("{protocol} over {discipline}, thinking {think_ms} ms: {sums:.0?}");
    sums
}

/// At 30 and 60 % of load: no worse than what CUBIC has there, and the download has more than
/// CUBIC over FQ-CoDel leaves it.
fn web_beside_a_download(seeds: u64) {
    for think_ms in [850, 370] {
        let [mean, p99, download] = web("kickass", "droptail", think_ms, seeds);
        let [tcp_mean, tcp_p99, _] = web("cubic", "droptail", think_ms, seeds);
        let [.., fair_download] = web("cubic", "fq-codel", think_ms, seeds);
        assert!(mean <= tcp_mean && p99 <= 1.15 * tcp_p99, "{mean} {p99}, {tcp_mean} {tcp_p99}");
        assert!(download >= 0.85 * fair_download, "{download}, {fair_download}");
    }
}

#[test]
fn web_beside_a_download_is_no_slower_than_that_of_cubic() {
    web_beside_a_download(1);
}

#[test]
#[ignore = "60 runs of 60 s"]
fn web_beside_a_download_is_no_slower_than_that_of_cubic_over_ten_seeds() {
    web_beside_a_download(10);
}
