//! `[kickass]`: parameters of the ports of Kick-Ass.

use crate::Scenario;
use crate::format::fault::Fault;
use crate::format::fields::{
    At, Field, Fields, Section, choices, names, property, read_section, section_schema, sections,
    value_or,
};
use crate::format::item::{Item, Value};
use crate::keys::port_tables::{PAIR, PortTable, RateKeys, Replaces, scheme};
use crate::registry::protocol::Bundle;
use crate::registry::{Carries, Params, SchemeTraits, Schemes};
use forebay_base::{IpVersion, Rate, Span};
use forebay_queue::kickass::{Fallback, Ipv6, Rounding, RttAverage};
use forebay_queue::{KickAssPortParams, RateParams, SchemeSpec};

choices! {
    /// What stands where a key is not given.
    pub(crate) enum PresetName {
        /// What the paper says.
        Paper = "paper",
        /// What was measured to be better.
        Recommended = "recommended",
    }
    /// A pair of gains with a name.
    pub(crate) enum Pair {
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
            /// Values of the keys that are not given: "recommended" (rounding "shared", rtt_average
            /// "trimmed", tagged, fallback "hardened", explicit_tcp) or "paper"; each for senders
            /// with the preset of that name. Default: "recommended".
            preset: PresetName,
            /// Gains by name: "xcp" (alpha 0.4, beta 0.226), "published" (0.1, 1), "ns2" (0.4, 0.4)
            /// or "stable" (0.4, 0.08). Default: "xcp".
            pair: Pair,
            /// Mean round-trip time before the first RTT indicator. Range: 1us or more. Default:
            /// "100ms".
            initial_rtt: Span,
            /// Which code signals a rate between two codes: "floor" (the lower one, as in the
            /// paper), "dither" (one of both, drawn for each packet so that the mean is the rate)
            /// or "shared" (one of both by a hash of the packet, the same in all routers).
            rounding: Rounding,
            /// Shortest unfragmented packet that is cut, IP header included. With IPv6 none below
            /// 612 is. Range: 45 or more. Default: 1500.
            least_bytes: u16,
            /// Which packets are cut with `ip_version = 6`, whose routers do not fragment (RFC 8200
            /// section 5) and which has no DF: "header" (those with a Fragment header, which
            /// senders of Kick-Ass add to what may be cut), "insert" (those, and all others of
            /// `least_bytes`, to which the port adds one, as in the paper) or "pass" (none). Except
            /// with "pass", no link may then be faster than 8.1 Gbit/s. Default: "header".
            ipv6: Ipv6,
            /// If true, a packet is counted on arrival with the header that each cut will add; if
            /// false, a standing queue remains. Default: true.
            count_cuts: bool,
            /// How round-trip times are averaged: "moving" (weight 0.02, as in the paper), "median"
            /// or "trimmed" (the middle half of a histogram that forgets).
            rtt_average: RttAverage,
            /// If true, only packets whose IP ID is the tag indicate round-trip times; if false,
            /// all with DF and 600 to 611 bytes do, as in the paper.
            tagged: bool,
            /// When ports stop signalling: "paper" (while more than half of the queue limit is
            /// used) or "hardened" (by averages, with hysteresis and trials).
            fallback: Fallback,
            /// If true, fallback is signalled with the smallest code, so that senders learn of it
            /// when another router on the path still signals; if false, with nothing, as in the
            /// paper.
            explicit_tcp: bool,
            /// Maximum number of packets of a flow that are cut per mean round-trip time; 0 is no
            /// maximum. Default: 0.
            cuts_per_rtt: u32,
        }
        flatten rate: RateKeys,
    }
}

/// What flows of Kick-Ass need: ports of routers that cut.
pub(crate) const BUNDLE: (&str, Bundle) =
    ("kickass", Bundle { port: Some("kickass"), ..Bundle::NONE });

/// The scheme in scenarios.
pub(crate) const PARAMS: Params<Schemes> =
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
