//! Figures of other simulators for the same scenarios: CPU time (user and system) of the process in
//! one thread, median of 3 to 5 runs. They are of the machine that each names: next to figures of
//! another machine they say what order of magnitude to expect, and no ratio.

use serde::Serialize;

/// Cost of another simulator for one of the scenarios.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Peer {
    /// The scenario.
    pub name: &'static str,
    /// The simulator with its version.
    pub simulator: &'static str,
    /// CPU nanoseconds per packet-hop.
    pub ns_per_hop: f64,
    /// Peak of resident memory in MiB, if known.
    pub peak_mib: Option<f64>,
    /// Where the figure is from.
    pub source: &'static str,
    /// The machine on which it was measured.
    pub machine: &'static str,
}

const MACHINE: &str = "a shared 4 vCPU AMD EPYC (Zen 4), November 2026";

/// There htsim takes 130, 187 and 748 ns for s1, s2 and s3.
const SECOND_MACHINE: &str = "a shared 2 vCPU Intel Xeon, November 2026";

const NS3: &str = "ns-3-dev of July 2026, -O3, logs off, with an O(1) routing in place of its own";
const HTSIM: &str = "csg-htsim 841d9e7b, -O3; an ACK per packet, no handshake, no SACK";

/// Figures of other simulators.
pub const PEERS: &[Peer] = &[
    peer("s1", "ns-3", 3_000.0, Some(19.0), NS3),
    peer("s2", "htsim", 125.0, Some(11.5), HTSIM),
    peer("s2", "ns-3", 4_700.0, Some(137.0), NS3),
    peer("s3", "htsim", 600.0, Some(62.0), HTSIM),
    peer("s3", "ns-3", 9_900.0, Some(626.0), NS3),
    Peer { machine: SECOND_MACHINE, ..peer("s4", "htsim", 627.0, None, HTSIM) },
    Peer { machine: SECOND_MACHINE, ..peer("s5", "htsim", 309.0, None, HTSIM) },
];

const fn peer(
    name: &'static str,
    simulator: &'static str,
    ns_per_hop: f64,
    peak_mib: Option<f64>,
    source: &'static str,
) -> Peer {
    Peer { name, simulator, ns_per_hop, peak_mib, source, machine: MACHINE }
}
