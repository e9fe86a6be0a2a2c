//! `[reassembly]`, and what hosts say of it.

use super::*;
use forebay_base::{NodeId, Span};
use forebay_net::ReassemblyLimits;

fn set(set: &[&str]) -> Scenario {
    let scenario = parse_with(SMALL, set).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(parse(&scenario.to_toml()), scenario, "{}", scenario.to_toml());
    scenario
}

/// Linux 6.18: ipfrag_time 30 s, ipfrag_high_thresh 4 194 304, ipfrag_max_dist 64.
const LINUX: ReassemblyLimits =
    ReassemblyLimits { timeout: Span::from_secs(30), memory_bytes: 4_194_304, max_distance: 64 };

#[test]
fn hosts_are_as_the_scenario_says_and_as_they_say_themselves() {
    // Nodes of the small scenario: left, right, s0, s1, d.
    let limits = |keys: &[&str]| {
        let spec = set(keys).build("cubic", 1).expect("builds");
        [2, 3, 4].map(|host| spec.reassembly_at(NodeId(host)))
    };
    assert_eq!(limits(&[]), [LINUX; 3]);
    let second = ReassemblyLimits { timeout: Span::from_secs(1), ..LINUX };
    assert_eq!(limits(&["reassembly.timeout=1s"]), [second; 3]);
    let own = ReassemblyLimits { memory_bytes: 64 << 20, max_distance: 0, ..second };
    let keys = [
        "reassembly.timeout=1s",
        "hosts.d.reassembly.memory=64MiB",
        "hosts.d.reassembly.max_distance=0",
    ];
    assert_eq!(limits(&keys), [second, second, own]);
    // RFC 8200 section 4.5 and net.ipv6.ip6frag_time.
    let minute = ReassemblyLimits { timeout: Span::from_secs(60), ..LINUX };
    assert_eq!(limits(&["ip_version=6", "tcp.mss_bytes=1400"]), [minute; 3]);
}

#[test]
fn what_no_host_can_have_is_refused() {
    let refused = |keys: &[&str]| parse_with(SMALL, keys).unwrap_err().to_string();
    let time = "is out of range: expected 1ms to 1000s";
    let bytes = "is out of range: expected 1 byte or more";
    let cases = [
        ("reassembly.timeout=0s", format!("reassembly.timeout: `0s` {time}")),
        ("reassembly.timeout=1001s", format!("reassembly.timeout: `1001s` {time}")),
        ("reassembly.memory=0", format!("reassembly.memory: `0` {bytes}")),
        ("hosts.d.reassembly.memory=0B", format!("reassembly.memory: `0` {bytes}")),
    ];
    for (key, expected) in cases {
        let found = refused(&[key]);
        assert!(found.contains(&expected), "{key}: {found}");
    }
}
