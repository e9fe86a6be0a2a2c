//! What others measured on the same scenario, to be shown next to it.

use forebay_lab::scenario::Name;

/// Figures of one simulator, or of arithmetic, for one built-in scenario.
#[derive(Debug)]
pub struct Published {
    scenario: &'static str,
    protocol: &'static str,
    /// Heading of the column.
    pub name: &'static str,
    /// Metrics by their names in results.
    pub figures: &'static [(&'static str, f64)],
    /// Where they are from.
    pub source: &'static str,
}

/// All figures. Runs of ns-3 have one seed, no start jitter, and TcpNewReno with SACK as the
/// scenario says; its `jain_goodput` is over size / FCT.
const PUBLISHED: &[Published] = &[
    Published {
        scenario: "s1",
        protocol: "newreno",
        name: "ns-3-dev",
        figures: &[
            ("afct_s", 22.50),
            ("fct_p50_s", 22.75),
            ("all_done_s", 26.09),
            ("jain_goodput", 0.990),
        ],
        source: "ns-3-dev 140646449a33 (July 2026), TcpNewReno, one run without start jitter",
    },
    Published {
        scenario: "s1",
        protocol: "newreno",
        name: "ns-3.41",
        figures: &[
            ("afct_s", 23.58),
            ("fct_p50_s", 22.93),
            ("all_done_s", 26.27),
            ("jain_goodput", 0.993),
        ],
        source: "ns-3.41 and 3.37, TcpNewReno, one run without start jitter",
    },
    Published {
        scenario: "s1",
        protocol: "newreno",
        name: "floor",
        figures: &[("all_done_s", 24.86)],
        source: "30 MB in packets of 1500 bytes, 1448 of them payload, at 10 Mbit/s",
    },
    Published {
        scenario: "s2",
        protocol: "newreno",
        name: "ns-3-dev",
        figures: &[("delivered_bytes", 1.196e9), ("jain_goodput", 0.90)],
        source: "ns-3-dev 140646449a33 (July 2026), TcpNewReno, median of three runs",
    },
    Published {
        scenario: "s2",
        protocol: "newreno",
        name: "htsim",
        figures: &[("delivered_bytes", 1.236e9), ("jain_goodput", 0.975)],
        source: "csg-htsim 841d9e7b (March 2026), TcpSrc: an ACK per packet, no handshake, no SACK",
    },
];

/// The figures for a scenario as it is built in, if the protocol that they are of is compared.
pub fn of(scenario: &str, set: &[String], protocols: &[Name]) -> Vec<&'static Published> {
    let fits =
        |p: &&Published| p.scenario == scenario && protocols.iter().any(|of| *of == p.protocol);
    PUBLISHED.iter().filter(|p| set.is_empty() && fits(p)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_lab::report::METRICS;

    #[test]
    fn figures_stand_beside_the_unchanged_scenario_only() {
        assert_eq!(of("s1", &[], &["newreno", "cubic"].map(Name::from)).len(), 3);
        assert!(of("s1", &[], &["cubic".into()]).is_empty());
        assert!(of("s1", &["tcp.preset=modern".into()], &["newreno".into()]).is_empty());
        assert!(of("dumbbell", &[], &["newreno".into()]).is_empty());
    }

    #[test]
    fn every_figure_has_a_row() {
        for (metric, _) in PUBLISHED.iter().flat_map(|p| p.figures) {
            let row = METRICS.iter().find(|row| row.name == *metric);
            assert!(row.is_some_and(|row| row.in_table), "{metric}");
        }
    }

    #[test]
    fn the_floor_is_arithmetic() {
        let packets = 3.0 * (10e6f64 / 1448.0).ceil();
        let floor_s = packets * 1500.0 * 8.0 / 10e6;
        assert!((floor_s - PUBLISHED[2].figures[0].1).abs() < 0.01, "{floor_s}");
    }
}
