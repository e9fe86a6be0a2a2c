//! The paths of flows between hosts with several links.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::all;
use crate::format::fields::Spanned;
use crate::keys::file::numbered;
use crate::keys::paths::PathsOf;
use crate::resolve::buffers;
use crate::resolve::topology::Topology;
use crate::{Flow, Scenario};
use forebay_base::{NodeId, PortId};
use std::sync::Arc;

/// Most paths of a flow.
const MAX_PATHS: usize = 8;
/// In words.
const PATH_RANGE: &str = "1 to 8";

/// Paths as (port of the sender, port of the receiver).
pub(crate) type Paths = Option<Arc<[(PortId, PortId)]>>;

/// What a group says of them; "{}" in the name of a link stands for `number`.
pub(crate) fn of_group(
    given: Option<&Spanned<PathsOf>>,
    [src, dst]: [NodeId; 2],
    number: Option<u32>,
    topology: &Topology,
) -> Result<Paths, Fault> {
    let Some(at) = given else { return Ok(default(src, dst, topology)) };
    match &at.value {
        PathsOf::Number(count) if !(1..=MAX_PATHS as u32).contains(count) => {
            Err(at.out_of_range(PATH_RANGE))
        }
        PathsOf::Number(count) => Ok(Some(in_turn(src, dst, topology, *count as usize))),
        PathsOf::Links(pairs) if !(1..=MAX_PATHS).contains(&pairs.len()) => {
            let found = format!("{} paths", pairs.len());
            Err(at.fault(Problem::OutOfRange { found, expected: PATH_RANGE.into() }))
        }
        PathsOf::Links(pairs) => {
            let pairs = pairs.iter().map(|pair| match &pair.value[..] {
                [a, b] => {
                    let port = |host, link| port(host, link, number, topology);
                    Ok((port(src, a)?, port(dst, b)?))
                }
                other => {
                    let found = format!("{} links", other.len());
                    let expected = "a link of the sender and one of the receiver".to_string();
                    Err(pair.fault(Problem::OutOfRange { found, expected }))
                }
            });
            let pairs: Vec<_> = all(pairs)?;
            Ok(Some(pairs.into()))
        }
    }
}

/// As many as the host with more links has; None where each has one.
pub(crate) fn default(src: NodeId, dst: NodeId, topology: &Topology) -> Paths {
    let links = |node| topology.ports(node).len();
    let most = links(src).max(links(dst)).min(MAX_PATHS);
    (most > 1).then(|| in_turn(src, dst, topology, most))
}

/// The links of each host in turn.
fn in_turn(src: NodeId, dst: NodeId, topology: &Topology, count: usize) -> Arc<[(PortId, PortId)]> {
    let port = |node, path: usize| PortId((path % topology.ports(node).len().max(1)) as u16);
    (0..count).map(|path| (port(src, path), port(dst, path))).collect()
}

/// The port by which a host sends into a link.
fn port(
    host: NodeId,
    link: &Spanned<String>,
    number: Option<u32>,
    topology: &Topology,
) -> Result<PortId, Fault> {
    let named = Spanned { value: numbered(link, number)?, ..link.clone() };
    let index = topology.link(&named)?;
    let ports = topology.ports(host);
    let port = ports.iter().position(|id| id.index() / 2 == index);
    port.map(|port| PortId(port as u16)).ok_or_else(|| {
        let (link, host) = (&named.value, &topology.nodes[host.index()].name);
        let names = ports.iter().map(|id| format!("`{}`", topology.links[id.index() / 2].name));
        let names: Vec<_> = names.collect();
        let text = format!("`{link}` is not a link of `{host}`, which has {}", names.join(", "));
        named.fault(Problem::Conflict(text))
    })
}

/// The pairs of links that stand for the paths of a flow. `links_of`: those of a node, in order.
pub(crate) fn describe(
    flow: &Flow,
    links_of: impl Fn(NodeId, PortId) -> String,
) -> Option<PathsOf> {
    let paths = flow.paths.as_deref()?;
    let pair = |&(a, b): &(PortId, PortId)| {
        let names = [links_of(flow.src, a), links_of(flow.dst, b)];
        Spanned::new(names.map(Spanned::new).to_vec())
    };
    Some(PathsOf::Links(paths.iter().map(pair).collect()))
}

impl Scenario {
    /// For each node the links that it has, in the order of its ports.
    pub(crate) fn links_of_nodes(&self) -> Vec<Vec<usize>> {
        let mut links = vec![Vec::new(); self.nodes.len()];
        for (index, link) in self.links.iter().enumerate() {
            links[link.a.index()].push(index);
            links[link.b.index()].push(index);
        }
        links
    }

    /// Flows of protocols that use several paths, between hosts with one link each; and flows with
    /// paths that no protocol uses, or that are the same.
    pub(crate) fn single_path_notes(&self) -> Vec<String> {
        let single = self.flows.iter().filter(|flow| flow.paths.is_none());
        let mut multipath = self.sending_protocols();
        multipath.retain(|name| self.is_multipath(name));
        let mut notes = Vec::new();
        for protocol in &self.protocols {
            let uses = |flow: &&Flow| multipath.contains(&flow.protocol_under(protocol));
            let (alone, all) = (single.clone().filter(uses).count(), self.flows.len());
            if alone > 0 {
                notes.push(format!(
                    "{protocol}: {alone} of {all} flows have one subflow, because both hosts have \
                     one link; give one of them a second link, or the flows `paths`"
                ));
            }
        }
        let several = |flow: &&Flow| flow.paths.as_ref().is_some_and(|paths| paths.len() > 1);
        let several: Vec<&Flow> = self.flows.iter().filter(several).collect();
        let (count, all) = (several.len(), self.flows.len());
        if count > 0 && multipath.is_empty() {
            notes.push(format!(
                "{count} of {all} flows have several `paths` and use the first alone: of what is \
                 compared, no protocol uses more"
            ));
        }
        let same = several.iter().filter(|flow| {
            let paths = flow.paths.as_deref().unwrap_or_default();
            paths.iter().all(|path| *path == paths[0])
        });
        let same = same.count();
        if same > 0 && self.routes.trees == 1 {
            notes.push(format!(
                "all paths of {same} of {all} flows take the same links, because both hosts have \
                 one link: they add no capacity; give one a second link, or use `routes.trees`"
            ));
        }
        notes
    }

    /// Protocols over several paths with buffers that these paths fill.
    pub(crate) fn path_buffer_notes(&self) -> Vec<String> {
        let names = self.sending_protocols().into_iter().filter(|name| self.is_multipath(name));
        let mut needed = None;
        let note = |name: &str| {
            let config = self.tcp_for(name);
            let held = config.receive_buffer_bytes.min(config.send_buffer_bytes);
            let needed = *needed.get_or_insert_with(|| buffers::of_paths(self));
            (held < needed).then(|| {
                format!(
                    "{name}: buffers of {held} bytes; to fill all paths while the slowest one \
                     repairs a loss, a flow needs {needed} (the sum of their rates times twice \
                     the longest RTT): tcp.receive_buffer_bytes, tcp.send_buffer_bytes"
                )
            })
        };
        names.filter_map(note).collect()
    }
}
