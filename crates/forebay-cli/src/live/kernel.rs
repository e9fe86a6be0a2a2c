//! The hosts of a scenario that `--kernel` gives to the kernel.

use crate::failure::Failure;
use crate::kernel_choice::KernelChoice;
use forebay_base::NodeId;
use forebay_lab::scenario::Scenario;
use forebay_live::KernelHost;
use forebay_net::{NetSpec, NodeKind};
use std::collections::BTreeMap;

/// The hosts that are chosen, by node. Errors name what is wrong with one.
pub fn hosts(
    choices: &[KernelChoice],
    scenario: &Scenario,
    spec: &NetSpec,
) -> Result<BTreeMap<NodeId, KernelHost>, Failure> {
    let mut hosts = BTreeMap::new();
    for KernelChoice { host, congestion } in choices {
        let refused = |why: String| Failure::input(format!("--kernel {host}={congestion}: {why}"));
        let named = scenario.nodes.iter().position(|node| *node.name == **host);
        let Some(node) = named.map(|place| NodeId(place as u32)) else {
            return Err(refused(format!(
                "no node of the scenario is `{host}`\nhint: its hosts are {}",
                names_of_hosts(scenario, spec)
            )));
        };
        if !matches!(spec.nodes[node.index()].kind, NodeKind::Host) {
            let names = names_of_hosts(scenario, spec);
            return Err(refused(format!("a router\nhint: the hosts are {names}")));
        }
        let links = spec.links.iter().filter(|link| link.from == node).count();
        if links != 1 {
            return Err(refused(format!("it has {links} links; a host of the kernel has one")));
        }
        if hosts.insert(node, KernelHost::Flows(congestion.clone())).is_some() {
            return Err(refused("it is chosen twice".to_string()));
        }
    }
    for link in &spec.links {
        if hosts.contains_key(&link.from) && hosts.contains_key(&link.to) {
            let [a, b] = [link.from, link.to].map(|node| &scenario.nodes[node.index()].name);
            return Err(Failure::input(format!(
                "--kernel: `{a}` and `{b}` are joined directly, and no node of Forebay is between \
                 them to be the link"
            )));
        }
    }
    Ok(hosts)
}

/// The first ten, separated by commas.
fn names_of_hosts(scenario: &Scenario, spec: &NetSpec) -> String {
    let is_host = |node: &usize| matches!(spec.nodes[*node].kind, NodeKind::Host);
    let hosts: Vec<usize> = (0..spec.nodes.len()).filter(is_host).collect();
    let names = hosts.iter().take(10).map(|&node| &*scenario.nodes[node].name);
    let names = names.collect::<Vec<_>>().join(", ");
    if hosts.len() > 10 { format!("{names}, …") } else { names }
}
