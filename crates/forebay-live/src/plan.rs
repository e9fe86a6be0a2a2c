//! What a live run is to be, and what follows from that before it starts.

use forebay_base::{Addr, IpVersion, LinkId, NodeId, Time};
use forebay_net::{NetSpec, Network, Place};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;

/// What is run.
pub struct LivePlan<'a> {
    /// The network.
    pub spec: &'a NetSpec,
    /// Its seed.
    pub seed: u64,
    /// When the run ends at the latest.
    pub end: Time,
    /// True if it ends when all flows have.
    pub ends_with_flows: bool,
    /// Nodes that are hosts of the kernel, with the address of
    /// [`address_of`](crate::address_of). Each has one link.
    pub kernel_hosts: BTreeMap<NodeId, KernelHost>,
    /// Packets that each receive ring holds: a power of two, 32 or more.
    pub ring_frames: usize,
    /// True if the calling thread needs no rights afterwards: it gives them up. Threads of nodes
    /// always do.
    pub seals: bool,
}

/// What a host of the kernel does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KernelHost {
    /// What the caller starts there.
    Programs,
    /// The scenario's flows, under this congestion control of the kernel: `cubic`.
    Flows(String),
}

/// What runs at a node of Forebay: itself, and the links of kernel hosts that lead to it.
pub fn place_of(plan: &LivePlan<'_>, node: NodeId) -> Place {
    let links = (0..).map(LinkId).zip(&plan.spec.links);
    let offered = links
        .filter(|(_, link)| link.to == node && plan.kernel_hosts.contains_key(&link.from))
        .map(|(id, _)| id)
        .collect();
    Place { nodes: vec![node], offered }
}

/// Random numbers of the operating system, for
/// [`RealWires`](forebay_sim::RealWires): nobody else can foresee what follows from them.
pub fn os_secret() -> io::Result<[u64; 2]> {
    let (mut source, mut bytes) = (File::open("/dev/urandom")?, [0; 16]);
    source.read_exact(&mut bytes)?;
    let (halves, _) = bytes.as_chunks::<8>();
    Ok([halves[0], halves[1]].map(u64::from_ne_bytes))
}

/// An address on the wire.
pub(crate) fn ip_address(network: &Network, version: IpVersion, address: Addr) -> IpAddr {
    match version {
        IpVersion::V4 => IpAddr::from(network.plan.to_v4(address).expect("the plan has room")),
        IpVersion::V6 => IpAddr::from(network.plan.to_v6(address)),
    }
}
