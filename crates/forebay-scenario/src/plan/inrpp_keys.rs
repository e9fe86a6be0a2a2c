//! Keys of links between INRPP routers, with which they authenticate notices.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::Faults;
use crate::keys::file::{File, LinkEntry};
use crate::resolve::topology::Topology;
use crate::{AlgorithmSpec, Link, Scenario};
use forebay_base::NodeId;
use forebay_cc::Spec;
use forebay_cc::inrpp::Params;
use forebay_net::ForwardingSpec;
use forebay_router::inrpp::LinkSecrets;
use forebay_signal::inrpp::guard::LinkSecret;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl AlgorithmSpec {
    /// Its parameters, if it is INRPP: some of them follow from the network.
    pub(super) fn inrpp_mut(&mut self) -> Option<&mut Params> {
        match self {
            AlgorithmSpec::Table(Spec::Inrpp(params)) => Some(params),
            _ => None,
        }
    }
    /// The same with room for the codes of INRPP routers, if it is INRPP.
    #[must_use]
    pub(crate) fn guarded(mut self) -> AlgorithmSpec {
        if let Some(params) = self.inrpp_mut() {
            params.guarded = true;
        }
        self
    }
}

impl Scenario {
    /// True if the routers of INRPP authenticate notices.
    pub(crate) fn has_link_keys(&self) -> bool {
        self.inrpp.key.is_some() || self.links.iter().any(|link| link.inrpp_key.is_some())
    }
    fn secret(&self, link: &Link) -> Option<LinkSecret> {
        let key = link.inrpp_key.as_ref().or(self.inrpp.key.as_ref())?;
        Some(LinkSecret::new(key.as_bytes()).expect("it was checked"))
    }
    /// The secrets of each node's links, in the order of its ports.
    fn secrets(&self) -> BTreeMap<NodeId, Vec<Option<LinkSecret>>> {
        let mut secrets: BTreeMap<NodeId, Vec<Option<LinkSecret>>> = BTreeMap::new();
        for link in &self.links {
            let secret = self.secret(link);
            for end in [link.a, link.b] {
                secrets.entry(end).or_default().push(secret.clone());
            }
        }
        secrets
    }
}

/// Give the routers of INRPP the secrets of their links, if there are any.
pub(crate) fn fit(scenario: &Scenario, routers: &mut [(NodeId, &mut ForwardingSpec)]) {
    if !scenario.has_link_keys() {
        return;
    }
    let mut secrets = scenario.secrets();
    for (id, spec) in routers {
        if let ForwardingSpec::Inrpp(settings) = spec {
            let own: LinkSecrets = secrets.remove(id).unwrap_or_default().into();
            Arc::make_mut(settings).secrets = Some(own);
        }
    }
}

/// A link with a key of its own joins two routers of INRPP, or, where the protocols that are
/// compared need none, two others.
pub(crate) fn check(scenario: &Scenario, file: &File, topology: &Topology, faults: &mut Faults) {
    let routers = scenario.ever_inrpp();
    for entry in file.links.iter().flat_map(|at| &at.value) {
        if let Some(key) = &entry.value.inrpp_key
            && let Some(text) = one_sided(&entry.value, topology, &routers)
        {
            faults.add(key.fault(Problem::Conflict(text)));
        }
    }
}

/// What is wrong, if a router of INRPP has no neighbour there who would know the key.
fn one_sided(link: &LinkEntry, topology: &Topology, routers: &BTreeSet<NodeId>) -> Option<String> {
    let [a, b] = [&link.a, &link.b].map(|end| &end.value);
    let find = |name: &String| topology.named(name, Fault::nowhere).expect("the link was made");
    let other = |name: &String| {
        let word = if topology.is_host(find(name)) { "is a host" } else { "does not run INRPP" };
        format!("the link `{a}-{b}` has a key on one side only: `{name}` {word}")
    };
    let bad = |name: &&String| !routers.contains(&find(name));
    let plain = [a, b].iter().all(|name| bad(name) && !topology.is_host(find(name)));
    if plain { None } else { [a, b].into_iter().find(bad).map(other) }
}
