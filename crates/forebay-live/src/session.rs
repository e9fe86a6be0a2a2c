//! A live run: a laboratory, a thread for each node, from the start to the end.

use crate::clock::Clock;
use crate::isolate::seal;
use crate::kernel::{self, KernelError};
use crate::lab::{Cable, CableEnd, Lab, LabError, Occupant};
use crate::netlink::LinkChanges;
use crate::node::{End, Node, NodeReport};
use crate::plan::{LivePlan, ip_address, place_of};
use crate::turn::{Port, Record};
use crate::wire::{PacketWire, PacketWireError};
use forebay_base::{LinkId, NodeId, Span};
use forebay_net::{NetSpec, Network, Place, SpecError};
use forebay_sim::{ForeignEnd, Site, SiteOptions};
use std::io;
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc;
use std::thread;

/// Why there is no live run.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// No laboratory.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// No flows at a host of the kernel.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// No wire.
    #[error(transparent)]
    Wire(#[from] PacketWireError),
    /// The network cannot be built.
    #[error("this network cannot be built: {0:?}")]
    Spec(SpecError),
    /// Only hosts have addresses.
    #[error("node {} is not a host: a host of the kernel is one of the scenario's hosts", .0.0)]
    NoAddress(NodeId),
    /// No news about interfaces.
    #[error("a netlink socket for changes of interfaces: {0}")]
    Changes(io::Error),
    /// A thread cannot be started.
    #[error("a thread for node {}: {source}: see `ulimit -u`", node.0)]
    Thread {
        /// The node.
        node: NodeId,
        /// Why.
        source: io::Error,
    },
}

/// Between the moment when all threads are ready and the start.
const COUNTDOWN: Span = Span::from_millis(20);

/// A laboratory for a network. Its cables are its links, in pairs, with interfaces named after the
/// link that leaves there. `network` is there if some hosts are the kernel's.
fn lab_of(plan: &LivePlan<'_>, network: Option<&Network>) -> Result<Lab, LiveError> {
    let mut nodes = vec![Occupant::Forebay; plan.spec.nodes.len()];
    for (&node, network) in plan.kernel_hosts.keys().zip(network.into_iter().cycle()) {
        let prefixes = plan.spec.prefixes.iter().filter(|(host, _)| *host == node);
        let behind = prefixes.map(|(_, prefix)| prefix.host_address());
        let addresses = [first_address(network, plan.spec, node)?].into_iter().chain(behind);
        nodes[node.index()] = Occupant::Kernel(addresses.collect());
    }
    let pairs = plan.spec.links.chunks_exact(2).enumerate();
    let cables = pairs.map(|(pair, links)| {
        let end = |way: usize| {
            let interface = interface(LinkId((2 * pair + way) as u32));
            CableEnd { node: links[way].from.index(), interface }
        };
        let mtu_bytes = links.iter().map(|link| u32::from(link.wire.mtu_bytes)).max();
        Cable { mtu_bytes: mtu_bytes.expect("two links"), ends: [end(0), end(1)] }
    });
    Ok(Lab::build(nodes, cables.collect())?)
}

/// The address of a host on the wire: the first one of its first interface.
pub fn address_of(spec: &NetSpec, seed: u64, host: NodeId) -> Result<IpAddr, LiveError> {
    let network = Network::build(spec, seed, false).map_err(LiveError::Spec)?;
    first_address(&network, spec, host)
}

fn first_address(network: &Network, spec: &NetSpec, host: NodeId) -> Result<IpAddr, LiveError> {
    let address = network.addresses[host.index()].first();
    let address = address.copied().ok_or(LiveError::NoAddress(host))?;
    Ok(ip_address(network, spec.version, address))
}

/// The name of the interface over which a link leaves its node.
pub fn interface(link: LinkId) -> String {
    format!("link{}", link.0)
}

/// What a run did.
pub struct LiveReport<R> {
    /// Its nodes, in order, without hosts of the kernel.
    pub nodes: Vec<NodeReport<R>>,
    /// What the kernel told of ends of flows at its hosts.
    pub kernel_ends: Vec<ForeignEnd>,
}

/// Run all nodes of a network, each in its namespace and thread. `equip` gives each node what its
/// site has besides its network, and its record. `start` is called with the laboratory when the
/// countdown runs, for programs at kernel hosts. A run ends early when `stop` is set; what was
/// done until then is reported. To be called inside [`isolate`](crate::isolate()).
pub fn run_live<R: Record + Send>(
    plan: &LivePlan<'_>,
    stop: &AtomicBool,
    mut equip: impl FnMut(NodeId, &Place) -> (SiteOptions, R),
    start: impl FnOnce(&Lab, Clock),
) -> Result<LiveReport<R>, LiveError> {
    let network = || Network::build(plan.spec, plan.seed, false).map_err(LiveError::Spec);
    let network = (!plan.kernel_hosts.is_empty()).then(network).transpose()?;
    let lab = lab_of(plan, network.as_ref())?;
    let end = End::new(plan.end, plan.ends_with_flows, stop);
    let nodes = (0..plan.spec.nodes.len() as u32).map(NodeId);
    let forebays = nodes.filter(|node| !plan.kernel_hosts.contains_key(node));
    let nodes = forebays.map(|id| -> Result<Node<R>, LiveError> {
        let place = place_of(plan, id);
        let (options, record) = equip(id, &place);
        let site = Site::new(plan.spec, plan.seed, &place, options).map_err(LiveError::Spec)?;
        end.add_open(site.ends().1);
        let changes = lab.inside(id.index(), LinkChanges::open)?.map_err(LiveError::Changes)?;
        Ok(Node { id, site, ports: open_ports(plan, &lab, id)?, changes, record })
    });
    let nodes = nodes.collect::<Result<Vec<_>, _>>()?;
    let kernel_ends = network.as_ref().map(|network| kernel::open_ends(plan, &lab, network));
    let kernel_ends = kernel_ends.transpose()?.unwrap_or_default();
    end.add_open(kernel_ends.len() as isize);
    drop(network);
    thread::scope(|scope| {
        let (ready, all_ready) = mpsc::channel();
        let threads = nodes.into_iter().map(|node| {
            let (id, end, ready) = (node.id, &end, ready.clone());
            let (start, started) = mpsc::channel();
            let wait = move || {
                ready.send(()).ok()?;
                // An error: another thread could not be started, and there is no run.
                started.recv().ok()
            };
            let name = thread::Builder::new().name(format!("node{}", id.0));
            let spawn = || name.spawn_scoped(scope, move || node.run(end, wait));
            let thread = lab.inside(id.index(), spawn)?;
            Ok((thread.map_err(|source| LiveError::Thread { node: id, source })?, start))
        });
        let threads = threads.collect::<Result<Vec<_>, LiveError>>()?;
        // Before the start as well: without one of its threads there is no run.
        let kernel_ends = kernel_ends.into_iter().map(|of| {
            let (end, node) = (&end, of.node);
            let (start, started) = mpsc::channel();
            let run = move || Some(of.run(started.recv().ok()?, end));
            let spawned = thread::Builder::new().spawn_scoped(scope, run);
            Ok((spawned.map_err(|source| LiveError::Thread { node, source })?, start))
        });
        let kernel_ends = kernel_ends.collect::<Result<Vec<_>, LiveError>>()?;
        all_ready.iter().take(threads.len()).for_each(drop);
        let clock = Clock::starting_in(COUNTDOWN);
        let starts = threads.iter().map(|(_, start)| start);
        for start in starts.chain(kernel_ends.iter().map(|(_, start)| start)) {
            // A thread that has panicked is found below.
            let _ = start.send(clock);
        }
        start(&lab, clock);
        if plan.seals {
            let _ = seal();
        }
        let reports = threads.into_iter().map(|(thread, _)| thread.join());
        let nodes = reports.map(|of| of.expect("a node panicked").expect("it was started"));
        let kernel_ends = kernel_ends.into_iter().map(|(thread, _)| thread.join());
        let kernel_ends =
            kernel_ends.map(|of| of.expect("a host panicked").expect("it was started"));
        Ok(LiveReport { nodes: nodes.collect(), kernel_ends: kernel_ends.collect() })
    })
}

/// The wires of all links of a node.
fn open_ports(
    plan: &LivePlan<'_>,
    lab: &Lab,
    node: NodeId,
) -> Result<Vec<Port<PacketWire>>, LiveError> {
    let links = (0..).map(LinkId).zip(&plan.spec.links);
    let leaving = links.filter(|(_, link)| link.from == node).map(|(id, _)| id);
    let port = |outgoing: LinkId| -> Result<Port<PacketWire>, LiveError> {
        let incoming = outgoing.opposite();
        let mtu = |link: LinkId| usize::from(plan.spec.links[link.index()].wire.mtu_bytes);
        let mtu_bytes = mtu(outgoing).max(mtu(incoming));
        let far = lab.far_mac(outgoing.index() / 2, outgoing.index() % 2);
        let name = interface(outgoing);
        let open = || PacketWire::open(&name, far, mtu_bytes, plan.ring_frames);
        Ok(Port::new(lab.inside(node.index(), open)??, incoming, outgoing))
    };
    leaving.map(port).collect()
}
