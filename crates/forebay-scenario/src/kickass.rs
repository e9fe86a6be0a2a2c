//! `[kickass]`: parameters of the ports of Kick-Ass.

use super::Scenario;
use super::error::{Fault, Problem};
use super::fields::{
    At, Field, Fields, Section, choices, property, read_section, section_schema, sections,
};
use super::item::{Item, Value, whole};
use super::protocol::Bundle;
use super::registry::{Carries, Made, Params, SchemeTraits, Schemes};
use super::text::shown;
use super::units::Number;
use forebay_base::{IpVersion, Rate, Span};
use forebay_queue::kickass::{Fallback, Ipv6, Rounding, RttAverage};
use forebay_queue::{KickAssPortParams, RateParams, SchemeSpec};
use serde_json::Value as Json;

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
    /// Which code says a rate between two.
    pub(super) enum RoundingName {
        /// The lower one.
        Floor = "floor",
        /// A draw for each packet.
        Dither = "dither",
        /// A hash of the packet that routers share.
        Shared = "shared",
    }
    /// The mean round-trip time.
    pub(super) enum RttAverageName {
        /// A moving average.
        Moving = "moving",
        /// The median of a histogram.
        Median = "median",
        /// The mean between its quartiles.
        Trimmed = "trimmed",
    }
    /// Which packets of IPv6 are cut.
    pub(super) enum Ipv6Name {
        /// None.
        Pass = "pass",
        /// Those with a Fragment header.
        Header = "header",
        /// Those that get one, too.
        Insert = "insert",
    }
    /// When ports stop to signal.
    pub(super) enum FallbackName {
        /// While more than half of the limit waits.
        Paper = "paper",
        /// By means, with hysteresis and trials.
        Hardened = "hardened",
    }
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
            /// Gain on the spare rate, above 0, instead of that of the pair.
            alpha: Number,
            /// Gain on the queue, 0 or more, instead of that of the pair.
            beta: Number,
            /// Share of the link to fill, above 0 and at most 2; default 1.
            gamma: Number,
            /// Mean round-trip time before the first indicator, with unit, 1us or more; default
            /// "100ms".
            initial_rtt: Span,
            /// Longest interval between two rates, with unit, 1us or more; default "10ms".
            max_interval: Span,
            /// First rate as a share of the link, above 0 and at most 1; default 0.05.
            initial_share: Number,
            /// Which code says a rate between two: "floor" (the lower one; in the paper), "dither"
            /// (one of both, drawn for each packet so that the mean is the rate) or "shared" (the
            /// same by a hash of the packet, alike in all routers).
            rounding: RoundingName,
            /// Shortest whole packet that is cut, in bytes, IP header included; 45 or more; default
            /// 1500. With IPv6 none below 612 is.
            least_bytes: u16,
            /// With `ip_version = 6`, whose routers do not cut (RFC 8200 section 5) and which has no
            /// DF, which packets are cut: "header" (those that carry a Fragment header, which
            /// senders of Kick-Ass put into what may be cut; default), "insert" (those, and all
            /// others of `least_bytes`, into which the port puts one; in the paper) or "pass"
            /// (none). No link may have more than 8.1 Gbit/s then, but with "pass".
            ipv6: Ipv6Name,
            /// Count the header that each cut will add when a packet arrives; default true. Without
            /// it a queue stands.
            count_cuts: bool,
            /// How round-trip times are averaged: "moving" (weight 0.02; in the paper), "median" or
            /// "trimmed" (the middle half of a histogram that forgets).
            rtt_average: RttAverageName,
            /// Only packets whose IP ID is the tag say round-trip times (false: all that have DF
            /// and 600 to 611 bytes; in the paper).
            tagged: bool,
            /// When ports stop to signal: "paper" (while more than half of the limit waits) or
            /// "hardened" (by means, with hysteresis and trials).
            fallback: FallbackName,
            /// Say the smallest code in fallback instead of nothing, so that senders behind a
            /// router that still signals hear of it (false: in the paper).
            explicit_tcp: bool,
            /// Cut at most so many packets of a flow in a mean round-trip time; default 0: all.
            cuts_per_rtt: u32,
        }
    }
}

/// What flows of Kick-Ass need: ports of routers that cut.
pub(super) const BUNDLE: (&str, Bundle) =
    ("kickass", Bundle { port: Some("kickass"), ..Bundle::NONE });

/// The scheme in scenarios.
pub(super) const PARAMS: Params<Schemes> = Params {
    name: "kickass",
    schema,
    make,
    over: Some(over),
    traits: SchemeTraits { carries: Some(carries) },
};

/// Codes say rates from 120 kbit/s to 9.8 Gbit/s, the last one "or more".
const RATES: (Rate, Rate) = (Rate::clamped(120_000), Rate::mbps(10_000));
/// With IPv6 a packet of 1500 bytes has no room for those above 8.1 Gbit/s.
const MOST_V6: Rate = Rate::mbps(8100);

/// Links on which a port has something to say.
fn carries(spec: &SchemeSpec, version: IpVersion) -> Carries {
    let params = if let SchemeSpec::KickAss(params) = spec { params } else { &DEFAULT };
    let least_bytes = params.least_bytes;
    let rates = match (version, params.ipv6) {
        (IpVersion::V4, _) | (_, Ipv6::Pass) => RATES,
        _ => (RATES.0, MOST_V6),
    };
    let why = "no shorter packet is cut (least_bytes)";
    Carries { by: "Kick-Ass", rates, mtu_bytes: least_bytes, why }
}

fn schema() -> Json {
    section_schema::<KickAssTable>()
}

/// A port with these parameters.
fn make(given: &toml::Table) -> Result<Made<Schemes>, String> {
    let item = Item::of(&toml::Value::Table(given.clone()));
    let table = At::<KickAssTable>::read(&item, "");
    let params = table.and_then(|table| resolve(Some(&table)));
    let params = params.map_err(|fault| fault.problem.to_string())?;
    Ok(Made { machine: SchemeSpec::KickAss(params), params: given.clone(), range: Ok(()) })
}

/// The parameters of `[kickass]`, and over them those given. A pair that is given stands for both
/// of its gains, and a preset for everything.
fn over(scenario: &Scenario, given: &toml::Table) -> toml::Table {
    let mut params = toml::Table::new();
    all_keys(&scenario.kickass).put(&mut params);
    if given.contains_key("preset") {
        params.clear();
    }
    if given.contains_key("pair") {
        params.retain(|key, _| !matches!(key, "alpha" | "beta"));
    }
    params.extend(given.clone());
    params
}

/// What ports have of which nothing is said.
pub(super) const DEFAULT: KickAssPortParams = KickAssPortParams::recommended();

/// What a table stands for.
pub(super) fn resolve(given: Option<&At<KickAssTable>>) -> Result<KickAssPortParams, Fault> {
    let Some(At { value: table, .. }) = given else { return Ok(DEFAULT) };
    fn or<T: Copy>(at: &Option<At<T>>, default: T) -> T {
        at.as_ref().map_or(default, |at| at.value)
    }
    let gains = match or(&table.pair, Pair::Xcp) {
        Pair::Xcp => RateParams::xcp(),
        Pair::Published => RateParams::published(),
        Pair::Ns2 => RateParams::default_ns2(),
        Pair::Stable => RateParams::stable(),
    };
    let number =
        |at: &Option<At<Number>>, default: f64| at.as_ref().map_or(default, |at| at.value.0);
    let preset = match or(&table.preset, PresetName::Recommended) {
        PresetName::Paper => KickAssPortParams::paper(),
        PresetName::Recommended => KickAssPortParams::recommended(),
    };
    let base = preset.control;
    let control = RateParams {
        alpha: number(&table.alpha, gains.alpha),
        beta: number(&table.beta, gains.beta),
        gamma: number(&table.gamma, base.gamma),
        initial_rtt: or(&table.initial_rtt, base.initial_rtt),
        max_interval: or(&table.max_interval, base.max_interval),
        initial_share: number(&table.initial_share, base.initial_share),
    };
    let params = KickAssPortParams {
        control,
        rounding: table.rounding.as_ref().map_or(preset.rounding, |at| match at.value {
            RoundingName::Floor => Rounding::Floor,
            RoundingName::Dither => Rounding::Dither,
            RoundingName::Shared => Rounding::Shared,
        }),
        least_bytes: or(&table.least_bytes, preset.least_bytes),
        ipv6: table.ipv6.as_ref().map_or(preset.ipv6, |at| match at.value {
            Ipv6Name::Pass => Ipv6::Pass,
            Ipv6Name::Header => Ipv6::Header,
            Ipv6Name::Insert => Ipv6::Insert,
        }),
        count_cuts: or(&table.count_cuts, preset.count_cuts),
        rtt_average: table.rtt_average.as_ref().map_or(preset.rtt_average, |at| match at.value {
            RttAverageName::Moving => RttAverage::Moving,
            RttAverageName::Median => RttAverage::Median,
            RttAverageName::Trimmed => RttAverage::Trimmed,
        }),
        tagged: or(&table.tagged, preset.tagged),
        fallback: table.fallback.as_ref().map_or(preset.fallback, |at| match at.value {
            FallbackName::Paper => Fallback::Paper,
            FallbackName::Hardened => Fallback::Hardened,
        }),
        explicit_tcp: or(&table.explicit_tcp, preset.explicit_tcp),
        cuts_per_rtt: or(&table.cuts_per_rtt, preset.cuts_per_rtt),
    };
    params.check().map_err(|(param, allowed)| fault(table, param, allowed))?;
    Ok(params)
}

/// The parameter of that name is out of its range. Those that are not given are within theirs.
fn fault(table: &KickAssTable, param: &str, allowed: &str) -> Fault {
    fn place<T: Field>(at: &Option<At<T>>) -> Option<(At<()>, String)> {
        at.as_ref().map(|at| (at.place(), shown(&at.value)))
    }
    let given = match param {
        "alpha" => place(&table.alpha),
        "beta" => place(&table.beta),
        "gamma" => place(&table.gamma),
        "initial_share" => place(&table.initial_share),
        "initial_rtt" => place(&table.initial_rtt),
        "max_interval" => place(&table.max_interval),
        "least_bytes" => place(&table.least_bytes),
        _ => None,
    };
    let expected = allowed.to_string();
    match given {
        Some((place, found)) => place.fault(Problem::OutOfRange { found, expected }),
        None => {
            let text = format!("`{param}` must be {expected}");
            Fault::at(whole(0), "kickass", Problem::Conflict(text))
        }
    }
}

/// The table that stands for the ports of a scenario, every key given; None where there are none
/// and nothing was said.
pub(super) fn describe(scenario: &Scenario) -> Option<KickAssTable> {
    let names = scenario.named_protocols().into_iter();
    let mut names = names.filter(|name| scenario.bundle(name).port == Some(PARAMS.name));
    if scenario.kickass == DEFAULT && names.next().is_none() {
        return None;
    }
    Some(all_keys(&scenario.kickass))
}

/// The table that says every parameter.
fn all_keys(params: &KickAssPortParams) -> KickAssTable {
    fn some<T>(value: T) -> Option<At<T>> {
        Some(At::new(value))
    }
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
    let RateParams { alpha, beta, gamma, initial_rtt, max_interval, initial_share } = control;
    KickAssTable {
        preset: None,
        pair: None,
        alpha: some(Number(alpha)),
        beta: some(Number(beta)),
        gamma: some(Number(gamma)),
        initial_rtt: some(initial_rtt),
        max_interval: some(max_interval),
        initial_share: some(Number(initial_share)),
        rounding: some(match rounding {
            Rounding::Floor => RoundingName::Floor,
            Rounding::Dither => RoundingName::Dither,
            Rounding::Shared => RoundingName::Shared,
        }),
        least_bytes: some(least_bytes),
        ipv6: some(match ipv6 {
            Ipv6::Pass => Ipv6Name::Pass,
            Ipv6::Header => Ipv6Name::Header,
            Ipv6::Insert => Ipv6Name::Insert,
        }),
        count_cuts: some(count_cuts),
        rtt_average: some(match rtt_average {
            RttAverage::Moving => RttAverageName::Moving,
            RttAverage::Median => RttAverageName::Median,
            RttAverage::Trimmed => RttAverageName::Trimmed,
        }),
        tagged: some(tagged),
        fallback: some(match fallback {
            Fallback::Paper => FallbackName::Paper,
            Fallback::Hardened => FallbackName::Hardened,
        }),
        explicit_tcp: some(explicit_tcp),
        cuts_per_rtt: some(cuts_per_rtt),
    }
}
