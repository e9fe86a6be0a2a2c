//! Networks with many paths of equal cost, with the caches that scenarios have by default.
#![allow(clippy::print_stdout)] // the table

use super::lab::{Result, run};
use forebay_base::{Rng, Stream};
use forebay_scenario::{LoadOptions, Scenario};
use std::fmt::Write;

/// A host of 1 Gbit/s at each of some routers, and links between these.
fn network(routers: usize, links: &[(usize, usize)]) -> String {
    let mut text =
        "protocols = [\"inrpp\"]\nlink_defaults.queue = \"50ms\"\nrouters = [".to_string();
    (0..routers).for_each(|r| write!(text, "\"r{r}\",").unwrap());
    text.push_str("]\nhosts = [");
    for r in 0..routers {
        let access = "rate = \"1Gbit/s\", delay = \"1ms\"";
        write!(text, "{{ name = \"h{r}\", attach = \"r{r}\", {access} }},").unwrap();
    }
    text.push_str("]\nlinks = [");
    for (a, b) in links {
        let link = "rate = \"10Mbit/s\", delay = \"5ms\"";
        write!(text, "{{ a = \"r{a}\", b = \"r{b}\", {link} }},").unwrap();
    }
    text.push_str("]\n");
    text
}

fn with_flows(mut text: String, flows: impl Iterator<Item = (usize, usize)>) -> String {
    text.push_str("flows = [");
    for (src, dst) in flows {
        write!(text, "{{ src = \"h{src}\", dst = \"h{dst}\", bytes = \"3MB\" }},").unwrap();
    }
    text.push_str("]\n");
    text
}

/// Six routers, each joined to the next two; three flows from each to the one opposite, to which
/// there are four ways of two links. Twice: the order in which links are declared decides which of
/// the four.
fn rings() -> [String; 2] {
    let next = (0..6).map(|r| (r, (r + 1) % 6));
    let chords = (0..6).map(|r| (r, (r + 2) % 6));
    let in_turn = next.clone().zip(chords.clone()).flat_map(<[_; 2]>::from).collect();
    let chords_last = next.chain(chords).collect();
    [in_turn, chords_last]
        .map(|links: Vec<_>| with_flows(network(6, &links), (0..18).map(|i| (i % 6, (i + 3) % 6))))
}

/// A tree with as many links again, and four flows for each router.
fn mesh(seed: u64) -> String {
    let mut rng = Rng::new(seed, Stream::Test, 0);
    let routers = 6 + rng.below(6) as usize;
    let mut below = |bound: usize| rng.below(bound as u64) as usize;
    let mut links: Vec<(usize, usize)> = (1..routers).map(|r| (below(r), r)).collect();
    while links.len() < 2 * routers {
        let (a, b) = (below(routers), below(routers));
        let (a, b) = (a.min(b), a.max(b));
        if a != b && !links.contains(&(a, b)) {
            links.push((a, b));
        }
    }
    let flows: Vec<(usize, usize)> =
        (0..4 * routers).map(|i| (i % routers, (i + 1 + below(routers - 1)) % routers)).collect();
    with_flows(network(routers, &links), flows.into_iter())
}

/// Run it; mean completion time over that of the reference.
fn ratio(name: &str, text: &str, set: &[&str]) -> f64 {
    let set: Vec<String> = set.iter().map(ToString::to_string).collect();
    let options = LoadOptions { set, ..LoadOptions::default() };
    let scenario = Scenario::parse(text, name, &options).unwrap_or_else(|error| panic!("{error}"));
    let result = run(&scenario.build("inrpp", 1).expect("sound"), None);
    let Result { ratio, cache_drops, queue_drops, resent, .. } = result;
    println!("| {name} | {ratio:.3} | {cache_drops} | {queue_drops} | {:.2} % |", resent * 100.0);
    // A probe of a router may find a queue full: it is no data.
    assert_eq!((cache_drops, resent), (0, 0.0), "{name}");
    ratio
}

/// Data and ACKs take the same links: routers see the ACKs of what they hold.
#[test]
fn paths_of_equal_cost_are_the_same_in_both_directions() {
    for ring in rings() {
        let ring = ratio("ring", &ring, &[]);
        assert!(ring <= 1.1, "{ring}");
    }
    for seed in 1..=12 {
        let mesh = ratio(&format!("mesh {seed}"), &mesh(seed), &[]);
        assert!(mesh <= 1.1, "mesh {seed}: {mesh}");
    }
}

/// Data and ACKs take different links on purpose: what SYN and SYN-ACK bring says so, and senders
/// are notified on data.
#[test]
fn where_they_differ_senders_are_notified_on_data() {
    let set = ["routes.equal_costs=independent"];
    // The second one takes 1.144, 1.114, 1.085, 1.040 with gamma (see the detours' law) = 0.3, 0.2,
    // 0.1, 0 and T_d of 5 T_p. Notices are not the cause.
    for ring in rings() {
        let ring = ratio("ring, independent", &ring, &set);
        assert!(ring <= 1.1, "{ring}");
    }
    for seed in 1..=12 {
        let mesh = ratio(&format!("mesh {seed}, independent"), &mesh(seed), &set);
        assert!(mesh <= 1.1, "mesh {seed}: {mesh}");
    }
}

/// Flows spread over four trees, each symmetric.
#[test]
fn multipath_with_symmetric_buckets_loses_nothing_either() {
    for seed in 1..=4 {
        let mesh = ratio(&format!("mesh {seed}, trees"), &mesh(seed), &["routes.trees=4"]);
        assert!(mesh <= 1.1, "mesh {seed}: {mesh}");
    }
}
