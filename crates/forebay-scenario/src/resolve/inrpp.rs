//! `[inrpp]`: the routers that it lists, and what all routers of INRPP are configured with.

use crate::format::error::Problem;
use crate::format::faults::Faults;
use crate::format::fields::Spanned;
use crate::keys::file::File;
use crate::keys::inrpp::{InrppKeys, InrppTable, NAME, cache, link_key};
use crate::model::inrpp::InrppNetwork;
use crate::registry::inrpp::{params, settings};
use crate::registry::named::given;
use crate::registry::{Chosen, Routers};
use crate::resolve::topology::Topology;
use forebay_base::NodeId;
use forebay_router::inrpp::Settings;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What `[inrpp]` stands for. Its list of routers says of all routers that say nothing themselves
/// what they are: INRPP if they are on it, else as `router` at the top says, or plain.
pub(crate) fn resolve(
    file: &File,
    params: Option<&toml::Table>,
    topology: &mut Topology,
    faults: &mut Faults,
) -> InrppNetwork {
    let Some(Spanned { value: InrppTable { table, .. }, .. }) = &file.inrpp else {
        return InrppNetwork::default();
    };
    if let Some(names) = &table.routers {
        let named = named(&names.value, topology, faults);
        let of = |line| Arc::new(Chosen::plain(line));
        let registry = Arc::clone(&topology.registry);
        let inrpp = registry.line::<Routers>(NAME).map(of).expect("it is in the table");
        let plain = file.router.is_none().then(|| of(&registry.lines::<Routers>()[0]));
        for (id, node) in (0..).map(NodeId).zip(&mut topology.nodes) {
            if !node.is_host && node.router.is_none() {
                let listed = named.contains(&id);
                node.router = if listed { Some(Arc::clone(&inrpp)) } else { plain.clone() };
            }
        }
    }
    let given = table.cache.as_ref().map(|at| &at.value);
    let margin_rule = given.is_none_or(|cache| cache.is_margin());
    let mut settings = params.map_or_else(Settings::default, settings);
    if let Some(at) = &table.cache {
        settings.cache = faults.or(cache(at), settings.cache);
    }
    let key = table.key.as_ref().map(|at| link_key(at, || "inrpp.key".to_string()));
    let key = faults.keep(key.transpose()).flatten();
    InrppNetwork { settings, margin_rule, key }
}

/// The routers of a list, each once, in order of id.
fn named(names: &[Spanned<String>], topology: &Topology, faults: &mut Faults) -> BTreeSet<NodeId> {
    let mut routers = BTreeSet::new();
    for name in names {
        let node = topology.router(&name.value, |problem| name.fault(problem));
        let Some(node) = faults.keep(node) else { continue };
        if topology.is_host(node) {
            let text = format!("`{}` is a host, not a router", name.value);
            faults.add(name.fault(Problem::Conflict(text)));
        } else if topology.nodes[node.index()].router.as_ref().is_some_and(|r| r.name() != NAME) {
            let text = format!("`{}` is declared as another kind of router", name.value);
            faults.add(name.fault(Problem::Conflict(text)));
        } else if !routers.insert(node) {
            let name_again = name.value.clone();
            faults.add(name.fault(Problem::Duplicate { kind: "router", name: name_again }));
        }
    }
    routers
}

/// The table that says every setting.
pub(crate) fn describe(network: &InrppNetwork) -> InrppTable {
    let table = InrppKeys {
        routers: None,
        cache: Spanned::some(network.cache()),
        key: network.key.as_ref().map(|key| Spanned::new(key.to_string())),
    };
    InrppTable { table, params: given(&params(&network.settings)) }
}
