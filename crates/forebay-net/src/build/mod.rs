//! From a spec to machines: addresses, static shortest-path routes, hosts, links. One file for each
//! step; [`Network::build`] has their order.

mod addresses;
mod check;
mod flows;
mod host;
mod links;
mod nodes;
mod routes;
mod walk;

pub(crate) use addresses::V4_ADDRESSES;
pub use check::unfit_prefix;
pub use host::HostBuilder;

use crate::early_transit::{EarlyTransitPlan, Guards, Ways, link_changes};
use crate::link::{AnyLink, FifoLink};
use crate::node::Node;
use crate::ports::PortTable;
use crate::spec::{NetSpec, SpecError};
use crate::workload::Workload;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Addr, IpVersion, LinkId, NodeId, SocketId};
use forebay_router::Routes;
use forebay_wire::AddressPlan;

/// The part of a network that one driver runs, where others run the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The nodes here.
    pub nodes: Vec<NodeId>,
    /// Links to nodes here from hosts that are not Forebay's. Such a link is here as a whole: what
    /// its host sends is offered to its queue. What comes over another link from elsewhere has
    /// crossed that link already.
    pub offered: Vec<LinkId>,
}

/// Everything that a driver needs to run a spec.
pub struct Network {
    /// By [`NodeId`].
    pub nodes: Vec<Node>,
    /// By [`LinkId`].
    pub links: Vec<AnyLink>,
    /// Ports of nodes.
    pub ports: PortTable,
    /// Next hops.
    pub routes: Routes,
    /// Addresses on the wire.
    pub plan: AddressPlan,
    /// Flows.
    pub workload: Arc<Workload>,
    /// Per flow: the (host, socket) of its client and of its server.
    pub ends: Vec<[(NodeId, SocketId); 2]>,
    /// Per node the first address of each interface.
    pub addresses: Arc<Vec<Vec<Addr>>>,
    /// Which links may look ahead.
    pub early_transit: Arc<EarlyTransitPlan>,
}

impl Place {
    /// Links that begin here and end elsewhere.
    pub(crate) fn exits(&self, spec: &NetSpec) -> Vec<LinkId> {
        let is_here = |node| self.nodes.contains(&node);
        let links = (0..).map(LinkId).zip(&spec.links);
        let exits = links.filter(|(_, link)| is_here(link.from) && !is_here(link.to));
        exits.map(|(id, _)| id).collect()
    }
}

impl Network {
    /// Build everything for one run. `all_queued` builds every link the general way, for
    /// comparison.
    ///
    /// Routes are shortest paths by the weights of links, as [`NetSpec::routes`] says.
    pub fn build(spec: &NetSpec, seed: u64, all_queued: bool) -> Result<Network, SpecError> {
        Network::build_guarded(spec, seed, all_queued, Guards::ALL)
    }
    /// The same with the conditions of early transit that a test has left on.
    #[doc(hidden)]
    pub fn build_guarded(
        spec: &NetSpec,
        seed: u64,
        all_queued: bool,
        guards: Guards,
    ) -> Result<Network, SpecError> {
        Network::build_over_wires(spec, seed, all_queued, guards, &[])
    }
    /// The same where `exits` leave over real wires, which may be lost at any time.
    pub(crate) fn build_over_wires(
        spec: &NetSpec,
        seed: u64,
        all_queued: bool,
        guards: Guards,
        exits: &[LinkId],
    ) -> Result<Network, SpecError> {
        check::check_names(spec)?;
        let ports = PortTable::new(spec);
        check::check_flows(spec, &ports)?;
        check::check_ports(spec, &ports)?;
        check::check_events(spec)?;
        check::check_prefixes(spec)?;
        let sockets = addresses::count_sockets(spec, &ports);
        let (mut routes, addresses) = addresses::assign_addresses(spec, &ports, &sockets);
        let prefixes = addresses::assign_prefixes(spec, &ports, &mut routes);
        routes::shortest_paths(spec, &ports, &mut routes);
        let mut nodes = nodes::build_nodes(spec, seed, &ports, &addresses);
        let (workload, ends) = flows::build_flows(spec, seed, &addresses, &mut nodes);
        let mut upstreams = walk::walk_routes(spec, &ports, &routes, &workload)?;
        if spec.version == IpVersion::V4 && routes.addresses() > V4_ADDRESSES {
            return Err(SpecError::TooManyAddresses(routes.addresses()));
        }
        let plan = AddressPlan::default().with_prefixes(prefixes);
        let changes = link_changes(spec, exits);
        let mut early_transit = EarlyTransitPlan::new(spec, &nodes, &changes, all_queued, guards);
        let links = links::build_links(spec, seed, &changes, all_queued, &mut early_transit);
        let ways = Ways {
            spec,
            ports: &ports,
            routes: &routes,
            nodes: &nodes,
            workload: &workload,
            guards,
        };
        upstreams.add_other_ways(&ways);
        early_transit.find_upstreams(spec, &nodes, &upstreams);
        let early_transit = Arc::new(early_transit);
        let (workload, addresses) = (Arc::new(workload), Arc::new(addresses));
        Ok(Network { nodes, links, ports, routes, plan, workload, ends, addresses, early_transit })
    }

    /// The network of each of `parts` partitions, with the numbers of the whole: of what is
    /// elsewhere there is an empty place. `owner` says for each node in which it is. A link is
    /// where it begins; where it ends elsewhere there is its far end, a wire.
    pub fn split(self, spec: &NetSpec, owner: &[u16], parts: u16) -> Vec<Network> {
        assert_eq!(owner.len(), spec.nodes.len(), "each node is in one partition");
        let links: Vec<u16> = spec.links.iter().map(|link| owner[link.from.index()]).collect();
        self.split_links(owner, &links, parts)
    }

    /// The part of this network at `place`, with the numbers of the whole; see [`Network::split`].
    /// [`Fabric::take_exit`](crate::Fabric::take_exit), [`Fabric::enter`](crate::Fabric::enter) and
    /// [`Fabric::offer_bytes`](crate::Fabric::offer_bytes) join it to what is elsewhere.
    pub fn of_place(self, spec: &NetSpec, place: &Place) -> Network {
        let mut owner = vec![1; spec.nodes.len()];
        place.nodes.iter().for_each(|node| owner[node.index()] = 0);
        let mut links: Vec<u16> = spec.links.iter().map(|link| owner[link.from.index()]).collect();
        place.offered.iter().for_each(|link| links[link.index()] = 0);
        self.split_links(&owner, &links, 2).swap_remove(0)
    }

    /// See [`Network::split`]; `links` says in which partition each link is.
    fn split_links(self, owner: &[u16], links: &[u16], parts: u16) -> Vec<Network> {
        let empty = |part: u16| Network {
            nodes: Vec::with_capacity(self.nodes.len()),
            links: Vec::with_capacity(self.links.len()),
            ports: self.ports.clone(),
            routes: self.routes.of_nodes(|node| owner[node.index()] == part),
            plan: self.plan.clone(),
            workload: Arc::clone(&self.workload),
            ends: self.ends.clone(),
            addresses: Arc::clone(&self.addresses),
            early_transit: Arc::clone(&self.early_transit),
        };
        let mut networks: Vec<Network> = (0..parts).map(empty).collect();
        for (node, &here) in self.nodes.into_iter().zip(owner) {
            networks.iter_mut().for_each(|network| network.nodes.push(Node::Elsewhere));
            if let Some(place) = networks[here as usize].nodes.last_mut() {
                *place = node;
            }
        }
        for (link, &here) in self.links.into_iter().zip(links) {
            let far_end = || AnyLink::Fifo(FifoLink::far_end());
            networks.iter_mut().for_each(|network| network.links.push(far_end()));
            if let Some(place) = networks[here as usize].links.last_mut() {
                *place = link;
            }
        }
        networks
    }
}
