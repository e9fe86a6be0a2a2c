//! Caches of the sizes that the margin rule gives them: nothing is lost, and nothing waits in vain.
#![allow(clippy::print_stdout)] // the table

use super::lab::{Result, goodputs, run};
use forebay_base::DropReason;
use forebay_net::{ForwardingSpec, NetSpec, NodeKind};
use forebay_router::inrpp::{CacheLimits, CacheSize, PortCache};
use forebay_scenario::{LoadOptions, Scenario};
use std::fmt::Write;
use std::sync::Arc;

/// A scenario of routers `r0` to `rN` and links of 5 ms between them, hosts of 40 Mbit/s.
struct Text {
    text: String,
    hosts: usize,
}

impl Text {
    fn new(routers: usize, links: &[(usize, usize, u64)]) -> Text {
        let names: Vec<String> = (0..routers).map(|i| format!("\"r{i}\"")).collect();
        let mut text = format!(
            "protocols = [\"inrpp\"]\nfct = \"established\"\nstart_jitter = \"0s\"\n\
             routers = [{}]\nlink_defaults = {{ delay = \"5ms\", queue = \"50ms\" }}\n",
            names.join(", ")
        );
        for (a, b, mbps) in links {
            let _ =
                writeln!(text, "[[links]]\na = \"r{a}\"\nb = \"r{b}\"\nrate = \"{mbps}Mbit/s\"");
        }
        Text { text, hosts: 0 }
    }
    /// Routers in a row.
    fn chain(mbps: &[u64]) -> Text {
        let links: Vec<_> = mbps.iter().enumerate().map(|(i, &rate)| (i, i + 1, rate)).collect();
        Text::new(mbps.len() + 1, &links)
    }
    /// A flow between hosts of its own.
    fn flow(&mut self, (from, to): (usize, usize), at_ms: u64, bytes: u64) {
        let i = self.hosts;
        self.hosts += 1;
        for (name, at) in [("s", from), ("d", to)] {
            let _ = writeln!(
                self.text,
                "[[hosts]]\nname = \"{name}{i}\"\nattach = \"r{at}\"\nrate = \"40Mbit/s\""
            );
        }
        let _ = writeln!(
            self.text,
            "[[flows]]\nsrc = \"s{i}\"\ndst = \"d{i}\"\nstart = \"{at_ms}ms\"\nbytes = {bytes}"
        );
    }
    fn scenario(&self) -> Scenario {
        let scenario = Scenario::parse(&self.text, "margin.toml", &LoadOptions::default());
        scenario.unwrap_or_else(|error| panic!("{error}"))
    }
    fn spec(&self) -> NetSpec {
        self.scenario().build("inrpp", 1).expect("builds")
    }
}

/// The same network with half of the room above S_high; and how many packets the other half of the
/// largest would hold.
fn halved(mut spec: NetSpec) -> (NetSpec, u64) {
    let mut largest = 0;
    for node in &mut spec.nodes {
        let NodeKind::Router(ForwardingSpec::Inrpp(settings)) = &mut node.kind else { continue };
        let settings = Arc::make_mut(settings);
        let CacheSize::Ports(ports) = &settings.cache else {
            panic!("the rule gives each its own")
        };
        let mut half = |port: &PortCache| {
            let limits = port.limits;
            let room = limits.total_bytes - limits.high_bytes;
            // Where no flow comes by it is the paper's, of 2 s or more.
            if room < 2_000_000 {
                largest = room.max(largest);
            }
            let total_bytes = limits.high_bytes + room / 2;
            PortCache { limits: CacheLimits { total_bytes, ..limits }, ..*port }
        };
        settings.cache = CacheSize::Ports(ports.iter().map(&mut half).collect());
    }
    (spec, largest / 2 / 1500)
}

fn show(name: &str, result: &Result) {
    let worst = result.ratios.iter().copied().fold(0.0, f64::max);
    let Result { ratio, cache_drops, resent, .. } = result;
    println!("| {name} | {ratio:.3} | {worst:.3} | {cache_drops} | {:.2} % |", resent * 100.0);
}

/// At the rule nothing is lost and the mean is within 2 % of the pooled reference; with half of its
/// room within 10 %, and no more is lost than the other half would have held.
fn judge(name: &str, text: &Text) {
    let at = run(&text.spec(), None);
    show(name, &at);
    assert_eq!((at.cache_drops, at.queue_drops), (0, 0), "{name}");
    assert!((0.98..=1.02).contains(&at.ratio), "{name}: {at:?}");
    let (spec, drops) = halved(text.spec());
    let below = run(&spec, None);
    show(&format!("{name}, half of the room"), &below);
    assert!(below.cache_drops <= drops, "{name}: {below:?}");
    assert!((0.9..=1.1).contains(&below.ratio), "{name}: {below:?}");
}

#[test]
fn chains() {
    for mbps in [[20, 10, 5], [5, 10, 20], [10, 20, 5]] {
        for (flows, apart_ms, bytes) in
            [(3, 10, 3_000_000), (10, 10, 1_000_000), (4, 1_000, 3_000_000)]
        {
            let mut text = Text::chain(&mbps);
            let last = mbps.len();
            (0..flows).for_each(|i| text.flow((0, last), i * apart_ms, bytes));
            judge(&format!("chain {mbps:?}, {flows} flows {apart_ms} ms apart"), &text);
        }
    }
}

#[test]
fn parking_lots() {
    for links in 2..=5 {
        for (at_ms, when) in [(2_900, "first"), (8_000, "late")] {
            let mut text = Text::chain(&vec![10; links]);
            text.flow((0, links), at_ms, 4_000_000);
            (0..links).for_each(|i| text.flow((i, i + 1), 3_000, 20_000_000));
            judge(&format!("parking lot of {links}, {when}"), &text);
        }
    }
}

#[test]
fn rings_and_detours() {
    // No router has a neighbour in common with another: no detours. Each port waits for the next.
    let links: Vec<_> = (0..5).map(|i| (i, (i + 1) % 5, 10)).collect();
    let mut text = Text::new(5, &links);
    (0..5).for_each(|i| text.flow((i, (i + 2) % 5), i as u64, 3_000_000));
    judge("ring of five", &text);
    // The paper's dumbbell, and two ports that share their detour.
    let mut text = Text::new(4, &[(3, 0, 100), (0, 2, 10), (0, 1, 10), (1, 2, 10)]);
    (1..=3).for_each(|i| text.flow((3, 2), 1_000 * i, 10_000_000));
    judge("dumbbell", &text);
    let mut text = Text::new(4, &[(0, 3, 10), (1, 3, 10), (0, 2, 20), (1, 2, 20), (2, 3, 10)]);
    (0..6).for_each(|i| text.flow((i % 2, 3), 10 * i as u64, 4_000_000));
    judge("shared detour", &text);
}

/// Many short flows: what each has to send bounds what may come.
#[test]
fn crowds() {
    let mut text = Text::chain(&[10]);
    (0..100).for_each(|i| text.flow((0, 1), 2 * i, 100_000));
    judge("100 flows of 100 kB", &text);
}

/// A host of 40 Mbit/s sends to one of 40 Mbit/s. What has waited before the link between them
/// while others took a share of it leaves at 400 Mbit/s, ten times what its host can take.
#[test]
fn what_has_waited_leaves_at_the_rate_of_the_link() {
    let mut text = Text::chain(&[400]);
    text.flow((0, 1), 0, 3_000_000);
    (0..20).for_each(|_| text.flow((0, 1), 0, 300_000));
    judge("one of 3 MB and 20 of 300 kB", &text);
}

/// `50 - 10` Mbit/s of this delay, hosts of 1 Gbit/s at 5 ms.
fn long_path(delay_ms: u64, flows: u64, bytes: u64, timestamps: bool) -> Text {
    let mut text = Text::chain(&[50, 10]);
    (0..flows).for_each(|i| text.flow((0, 2), 100 * i, bytes));
    for mbps in [50, 10] {
        let rate = format!("rate = \"{mbps}Mbit/s\"");
        text.text = text.text.replace(&rate, &format!("{rate}\ndelay = \"{delay_ms}ms\""));
    }
    text.text = text.text.replace("rate = \"40Mbit/s\"", "rate = \"1Gbit/s\"");
    text.text = format!("tcp = {{ timestamps = {timestamps} }}\n{}", text.text);
    text
}

/// Paths of 40 to 620 ms and back, hosts of 1 Gbit/s: most of what the hosts send is under way
/// before the first ACK of it comes by.
#[test]
fn long_paths() {
    for (delay_ms, bytes) in [(5, 2_000_000), (85, 1_000_000), (150, 2_000_000)] {
        let result = run(&long_path(delay_ms, 10, bytes, true).spec(), None);
        show(&format!("50-10 Mbit/s, {delay_ms} ms, 10 flows of {bytes} bytes"), &result);
        assert_eq!((result.cache_drops, result.queue_drops), (0, 0), "{delay_ms} ms");
        assert!((0.95..=1.05).contains(&result.ratio), "{delay_ms} ms: {result:?}");
    }
}

/// Round trips longer than the initial RTO and the shortest silence, both 1 s. The SYN leaves twice
/// and is not lost. The reference has no handshake and no first flight: the mean flow may be later
/// by the round trip that a flow waits after its 65 535 bytes, and by no more.
#[test]
fn round_trips_of_more_than_a_second() {
    for (delay_ms, rtt_s) in [(300, 1.22), (450, 1.82)] {
        for (timestamps, flows) in [(true, 10), (false, 10), (true, 1)] {
            let text = long_path(delay_ms, flows, 2_000_000, timestamps);
            let result = run(&text.spec(), None);
            show(&format!("50-10 Mbit/s, {delay_ms} ms, {flows} flows"), &result);
            assert_eq!((result.cache_drops, result.queue_drops), (0, 0), "{delay_ms} ms");
            assert_eq!(result.resent, 0.0, "{delay_ms} ms");
            // 2 MB of each at 10 Mbit/s, without headers.
            let least_s = 2e6 * 8.0 / 10e6 * flows as f64;
            assert!(result.ratio < 1.0 + rtt_s / least_s, "{delay_ms} ms: {result:?}");
        }
    }
}

/// What is retransmitted goes ahead of its flow in caches: with timestamps PAWS would refuse all
/// that it has overtaken. 1 % of loss took 1.38 to 1.45 times as long, and 2 600 packets again.
#[test]
fn repairs_that_overtake_are_no_reason_to_refuse_the_overtaken() {
    for timestamps in [true, false] {
        let mut text = Text::chain(&[40, 10]);
        (0..4).for_each(|i| text.flow((0, 2), 1_000 * i, 4_000_000));
        let lossy = "rate = \"10Mbit/s\"\nloss = 0.01";
        text.text = text.text.replace("rate = \"10Mbit/s\"", lossy);
        text.text = format!("tcp = {{ timestamps = {timestamps} }}\n{}", text.text);
        let result = run(&text.spec(), None);
        show(&format!("40-10 Mbit/s, 1 % lost, timestamps {timestamps}"), &result);
        assert_eq!((result.cache_drops, result.queue_drops), (0, 0));
        assert!(result.resent < 0.012 && result.ratio < 1.05, "{result:?}");
    }
}

/// One flow of CUBIC among 50 of INRPP, and the other way round, over one link of 20 Mbit/s and
/// over three with ten more flows on each. A flow that was new again each time that its queue had
/// run dry had 1.315 of its share over one link, and one of INRPP 0.961.
#[test]
fn one_among_fifty_has_its_share() {
    for (links, kinds) in [1, 3].into_iter().flat_map(|n| [(n, "inrpp"), (n, "cubic")]) {
        let other = if kinds == "inrpp" { "cubic" } else { "inrpp" };
        let mut text = Text::chain(&vec![20; links]);
        let mut flow = |ends, at_ms, protocol: &str| {
            text.flow(ends, at_ms, 1);
            let given = format!("endless = true\nprotocol = \"{protocol}\"");
            text.text = text.text.replace("bytes = 1\n", &format!("{given}\n"));
        };
        (0..50).for_each(|i| flow((0, links), 20 * i, kinds));
        flow((0, links), 10, other);
        if links > 1 {
            for i in 0..10 * links {
                flow((i % links, i % links + 1), 0, if i < 5 * links { kinds } else { other });
            }
        }
        text.text = format!("until_s = 60\n{}", text.text);
        let (mbps, sim) = goodputs(&text.spec(), 20, 60);
        // Payload of packets of 1 500 bytes: timestamps, and the echo.
        let payload = if other == "cubic" { 1448.0 } else { 1440.0 };
        let flows = if links > 1 { 61.0 } else { 51.0 };
        let share = mbps[50] / (20.0 / flows * payload / 1500.0);
        println!("| one {other} among 50, {links} links | {share:.3} |");
        assert!((share - 1.0).abs() < 0.05, "one {other} among 50, {links} links: {share}");
        assert_eq!(sim.drops().count(DropReason::CacheFull), 0);
    }
}
