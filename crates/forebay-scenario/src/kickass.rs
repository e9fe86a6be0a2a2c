//! `[kickass]`: parameters of the ports of Kick-Ass.

use super::Scenario;
use super::error::Fault;
use super::fields::{
    At, Field, Fields, Section, choices, names, property, read_section, section_schema, sections,
    value_or,
};
use super::item::{Item, Value};
use super::port_tables::{PAIR, PortTable, RateKeys, Replaces, scheme};
use super::protocol::Bundle;
use super::registry::{Carries, Params, SchemeTraits, Schemes};
use forebay_base::{IpVersion, Rate, Span};
use forebay_queue::kickass::{Fallback, Ipv6, Rounding, RttAverage};
use forebay_queue::{KickAssPortParams, RateParams, SchemeSpec};

choices! {
    /// What stands where a key is not given.
    pub(super) enum PresetName {
        /// What the paper says.
        Paper = "paper",
        /// What was measured to be better.
        Recommended = "recommended",
    }
    /// A pair of gains with a name.
    pub(super) enum Pair {
        /// Stable with a standing queue, too.
        Xcp = "xcp",
        /// That of the experiments of RCP.
        Published = "published",
        /// That of the authors of RCP in ns-2.
        Ns2 = "ns2",
        /// One with a larger margin.
        Stable = "stable",
    }
}

names! {
    Rounding { Floor = "floor", Dither = "dither", Shared = "shared", }
    Ipv6 { Pass = "pass", Header = "header", Insert = "insert", }
    RttAverage { Moving = "moving", Median = "median", Trimmed = "trimmed", }
    Fallback { Paper = "paper", Hardened = "hardened", }
}

sections! {
    /// Ports of Kick-Ass.
    pub struct KickAssTable {
        required {}
        optional {
            /// What stands where a key is not given: "recommended" (default; rounding "shared",
            /// rtt_average "trimmed", tagged, fallback "hardened", explicit_tcp) or "paper"; each
            /// for senders with the preset of that name.
            preset: PresetName,
            /// Gains by name: "xcp" (alpha 0.4, beta 0.226; default), "published" (0.1, 1), "ns2"
            /// (0.4, 0.4) or "stable" (0.4, 0.08).
            pair: Pair,
            /// Mean round-trip time before the first indicator, with unit, 1us or more; default
            /// "100ms".
            initial_rtt: Span,
            /// Which code says a rate between two: "floor" (the lower one; in the paper), "dither"
            /// (one of both, drawn for each packet so that the mean is the rate) or "shared" (the
            /// same by a hash of the packet, alike in all routers).
            rounding: Rounding,
            /// Shortest whole packet that is cut, in bytes, IP header included; 45 or more; default
            /// 1500. With IPv6 none below 612 is.
            least_bytes: u16,
            /// With `ip_version = 6`, whose routers do not cut (RFC 8200 section 5) and which has
            /// no DF, which packets are cut: "header" (those that carry a Fragment header, which
            /// senders of Kick-Ass put into what may be cut; default), "insert" (those, and all
            /// others of `least_bytes`, into which the port puts one; in the paper) or "pass"
            /// (none). No link may have more than 8.1 Gbit/s then, but with "pass".
            ipv6: Ipv6,
            /// Count the header that each cut will add when a packet arrives; default true. Without
            /// it a queue stands.
            count_cuts: bool,
            /// How round-trip times are averaged: "moving" (weight 0.02; in the paper), "median" or
            /// "trimmed" (the middle half of a histogram that forgets).
            rtt_average: RttAverage,
            /// Only packets whose IP ID is the tag say round-trip times (false: all that have DF
            /// and 600 to 611 bytes; in the paper).
            tagged: bool,
            /// When ports stop to signal: "paper" (while more than half of the limit waits) or
            /// "hardened" (by means, with hysteresis and trials).
            fallback: Fallback,
            /// Say the smallest code in fallback instead of nothing, so that senders behind a
            /// router that still signals hear of it (false: in the paper).
            explicit_tcp: bool,
            /// Cut at most so many packets of a flow in a mean round-trip time; default 0: all.
            cuts_per_rtt: u32,
        }
        flatten rate: RateKeys,
    }
}

/// What flows of Kick-Ass need: ports of routers that cut.
pub(super) const BUNDLE: (&str, Bundle) =
    ("kickass", Bundle { port: Some("kickass"), ..Bundle::NONE });

/// The scheme in scenarios.
pub(super) const PARAMS: Params<Schemes> =
    scheme::<KickAssTable>(SchemeTraits { carries: Some(carries) });

/// Codes say rates from 120 kbit/s to 9.8 Gbit/s, the last one "or more".
const RATES: (Rate, Rate) = (Rate::clamped(120_000), Rate::mbps(10_000));
/// With IPv6 a packet of 1500 bytes has no room for those above 8.1 Gbit/s.
const MOST_V6: Rate = Rate::mbps(8100);

/// Links on which a port has something to say.
fn carries(spec: &SchemeSpec, version: IpVersion) -> Carries {
    let params =
        if let SchemeSpec::KickAss(params) = spec { *params } else { KickAssTable::DEFAULT };
    let rates = match (version, params.ipv6) {
        (IpVersion::V4, _) | (_, Ipv6::Pass) => RATES,
        _ => (RATES.0, MOST_V6),
    };
    Carries {
        scheme: KickAssTable::NAME,
        by: "Kick-Ass",
        rates,
        packet_bytes: params.least_bytes,
        key: "least_bytes",
        why: "no shorter packet is cut",
    }
}

impl PortTable for KickAssTable {
    const NAME: &'static str = "kickass";
    const DEFAULT: KickAssPortParams = KickAssPortParams::recommended();
    /// A preset stands for everything.
    const REPLACE: &'static [Replaces] = &[PAIR, ("preset", |_| true)];
    type Params = KickAssPortParams;

    fn params(&self) -> KickAssPortParams {
        let pair = match value_or(&self.pair, Pair::Xcp) {
            Pair::Xcp => RateParams::xcp(),
            Pair::Published => RateParams::published(),
            Pair::Ns2 => RateParams::default_ns2(),
            Pair::Stable => RateParams::stable(),
        };
        let preset = match value_or(&self.preset, PresetName::Recommended) {
            PresetName::Paper => KickAssPortParams::paper(),
            PresetName::Recommended => KickAssPortParams::recommended(),
        };
        let initial_rtt = value_or(&self.initial_rtt, preset.control.initial_rtt);
        KickAssPortParams {
            control: self.rate.params(pair, RateParams { initial_rtt, ..preset.control }),
            rounding: value_or(&self.rounding, preset.rounding),
            least_bytes: value_or(&self.least_bytes, preset.least_bytes),
            ipv6: value_or(&self.ipv6, preset.ipv6),
            count_cuts: value_or(&self.count_cuts, preset.count_cuts),
            rtt_average: value_or(&self.rtt_average, preset.rtt_average),
            tagged: value_or(&self.tagged, preset.tagged),
            fallback: value_or(&self.fallback, preset.fallback),
            explicit_tcp: value_or(&self.explicit_tcp, preset.explicit_tcp),
            cuts_per_rtt: value_or(&self.cuts_per_rtt, preset.cuts_per_rtt),
        }
    }
    fn check(params: &KickAssPortParams) -> Result<(), (&'static str, &'static str)> {
        params.check()
    }
    fn all_keys(params: &KickAssPortParams) -> KickAssTable {
        // Without `..`: a new parameter must get a key here.
        let KickAssPortParams {
            control,
            rounding,
            least_bytes,
            ipv6,
            count_cuts,
            rtt_average,
            tagged,
            fallback,
            explicit_tcp,
            cuts_per_rtt,
        } = *params;
        let (rate, initial_rtt) = RateKeys::all(&control);
        KickAssTable {
            preset: None,
            pair: None,
            initial_rtt,
            rounding: At::some(rounding),
            least_bytes: At::some(least_bytes),
            ipv6: At::some(ipv6),
            count_cuts: At::some(count_cuts),
            rtt_average: At::some(rtt_average),
            tagged: At::some(tagged),
            fallback: At::some(fallback),
            explicit_tcp: At::some(explicit_tcp),
            cuts_per_rtt: At::some(cuts_per_rtt),
            rate,
        }
    }
    fn of(scenario: &Scenario) -> &KickAssPortParams {
        &scenario.kickass
    }
    fn machine(params: KickAssPortParams) -> SchemeSpec {
        SchemeSpec::KickAss(params)
    }
}
