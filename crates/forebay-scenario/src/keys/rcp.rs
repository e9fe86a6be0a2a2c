//! `[rcp]`: parameters of the ports of routers under RCP.

use crate::Scenario;
use crate::format::fault::Fault;
use crate::format::fields::{
    At, Field, Fields, Section, choices, property, read_section, section_schema, sections, value_or,
};
use crate::format::item::{Item, Value};
use crate::keys::port_tables::{PAIR, PortTable, RateKeys, Replaces, scheme};
use crate::registry::protocol::Bundle;
use crate::registry::{Params, SchemeTraits, Schemes};
use forebay_base::Span;
use forebay_queue::{RcpPortParams, SchemeSpec};

choices! {
    /// A pair of gains with a name.
    pub(crate) enum Pair {
        /// That of the published experiments.
        Published = "published",
        /// That of the authors' ns-2 code.
        Ns2 = "ns2",
        /// One that holds a standing queue still.
        Stable = "stable",
    }
}

sections! {
    /// Ports of routers under RCP.
    pub struct RcpTable {
        required {}
        optional {
            /// Gains by name: "published" (alpha 0.1, beta 1, as in the papers), "ns2" (0.4, 0.4)
            /// or "stable" (0.4, 0.08). Default: "published".
            pair: Pair,
            /// Mean round-trip time before the first sample. Range: 1us or more. Default: "200ms".
            initial_rtt: Span,
        }
        flatten rate: RateKeys,
    }
}

/// What flows of RCP need: ports of routers that stamp rates.
pub(crate) const BUNDLE: (&str, Bundle) = ("rcp", Bundle { port: Some("rcp"), ..Bundle::NONE });

/// The scheme in scenarios.
pub(crate) const PARAMS: Params<Schemes> = scheme::<RcpTable>(SchemeTraits::NONE);

impl PortTable for RcpTable {
    const NAME: &'static str = "rcp";
    /// The gains that papers compare themselves with.
    const DEFAULT: RcpPortParams = RcpPortParams::published();
    const REPLACE: &'static [Replaces] = &[PAIR];
    type Params = RcpPortParams;

    fn params(&self) -> RcpPortParams {
        let pair = match value_or(&self.pair, Pair::Published) {
            Pair::Published => RcpPortParams::published(),
            Pair::Ns2 => RcpPortParams::default_ns2(),
            Pair::Stable => RcpPortParams::stable(),
        };
        let initial_rtt = value_or(&self.initial_rtt, Self::DEFAULT.initial_rtt);
        self.rate.params(pair, RcpPortParams { initial_rtt, ..Self::DEFAULT })
    }
    fn check(params: &RcpPortParams) -> Result<(), (&'static str, &'static str)> {
        params.check()
    }
    fn all_keys(params: &RcpPortParams) -> RcpTable {
        let (rate, initial_rtt) = RateKeys::all(params);
        RcpTable { pair: None, initial_rtt, rate }
    }
    fn of(scenario: &Scenario) -> &RcpPortParams {
        &scenario.rcp
    }
    fn machine(params: RcpPortParams) -> SchemeSpec {
        SchemeSpec::Rcp(params)
    }
}
