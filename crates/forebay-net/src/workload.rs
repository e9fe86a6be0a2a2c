//! The flow table with addresses: who talks to whom, from which port, with which algorithm.

use crate::app::App;
use crate::followers::DependentFlows;
use crate::spec::{FlowSpec, NetSpec, TransportSpec};
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{
    Addr, Endpoint, FlowId, IpVersion, Packet, PortId, Rng, Span, Stream, TcpFlags, Time,
};
use forebay_cc::{AnyFeedback, Init};
use forebay_transport::{Connection, PathSetup, Role, Setup, keyed_seed};

/// The first transport port that hosts give out.
pub const FIRST_PORT: u16 = 1024;
/// Sockets per address. A host with more sockets has more addresses.
pub const PORTS_PER_ADDRESS: u32 = (u16::MAX - FIRST_PORT) as u32 + 1;

/// The peer of a socket that listens: the first to connect.
pub(crate) const ANY_PEER: Endpoint = Endpoint { addr: Addr(u32::MAX), port: 0 };

/// Both ends of one path of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PathPlan {
    /// The end that opens, and the port of its host.
    pub src: (Endpoint, PortId),
    /// The end that waits, and the port of its host.
    pub dst: (Endpoint, PortId),
}

/// Flows, their transports and their addresses.
pub struct Workload {
    version: IpVersion,
    seed: u64,
    /// See [`Fabric::of_place`](crate::Fabric::of_place).
    secret: Option<[u64; 2]>,
    transports: Vec<TransportSpec>,
    flows: Vec<FlowSpec>,
    /// Paths of all flows, one flow after the other.
    paths: Vec<PathPlan>,
    /// For each flow where its paths begin in `paths`; one entry more at the end.
    first_path: Vec<u32>,
    followers: DependentFlows,
}

impl Workload {
    /// The workload of a spec whose addresses were given out.
    pub(crate) fn new(
        spec: &NetSpec,
        seed: u64,
        paths: Vec<PathPlan>,
        first_path: Vec<u32>,
    ) -> Self {
        assert_eq!(first_path.len(), spec.flows.len() + 1);
        Workload {
            version: spec.version,
            seed,
            secret: None,
            transports: spec.transports.clone(),
            flows: spec.flows.clone(),
            followers: DependentFlows::of(&spec.flows),
            paths,
            first_path,
        }
    }
    /// What strangers must not foresee follows from a secret.
    pub(crate) fn set_secret(&mut self, secret: [u64; 2]) {
        self.secret = Some(secret);
    }
    /// The seed of what `end` chooses that strangers must not foresee.
    fn seed_of(&self, end: u64) -> u64 {
        self.secret.map_or(self.seed, |secret| keyed_seed(secret, end))
    }
    /// The flows.
    pub fn flows(&self) -> &[FlowSpec] {
        &self.flows
    }
    /// The transports.
    pub fn transports(&self) -> &[TransportSpec] {
        &self.transports
    }
    /// The paths of a flow.
    pub fn paths(&self, flow: FlowId) -> &[PathPlan] {
        let range = self.first_path[flow.index()]..self.first_path[flow.index() + 1];
        &self.paths[range.start as usize..range.end as usize]
    }
    /// The flows that start when `flow` has ended.
    pub fn followers(&self, flow: FlowId) -> &[FlowId] {
        self.followers.of_flow(flow)
    }
    /// Time from the end of the flow that `flow` follows to its own start.
    pub fn think(&self, flow: FlowId) -> Span {
        let after = self.flows[flow.index()].after();
        after.map_or(Span::ZERO, |after| after.think.draw(&mut self.fate(flow, false)))
    }
    /// The application of a flow that starts now; None if it writes all it has at once.
    pub(crate) fn app(&self, flow: FlowId, now: Time) -> Option<App> {
        App::of(&self.flows[flow.index()], self.fate(flow, true), now)
    }
    /// The random stream of the application of a flow: `runs`, for what it draws during the run.
    fn fate(&self, flow: FlowId, runs: bool) -> Rng {
        Rng::new(self.seed, Stream::Application, u64::from(flow.0) << 1 | u64::from(runs))
    }
    /// The first IP identification that the host at `host` uses towards `dst`: random, and the
    /// same whatever else the host sends. The high half is that of IPv4.
    pub(crate) fn first_ip_id(&self, host: Addr, dst: Addr) -> u32 {
        let pair = u64::from(host.0) << 32 | u64::from(dst.0);
        (Rng::new(self.seed_of(pair), Stream::IpId, pair).next_u64() >> 32) as u32
    }
    /// IP version of all packets.
    pub(crate) fn version(&self) -> IpVersion {
        self.version
    }
    /// The initial sequence number of one end of a flow on its first path.
    pub(crate) fn first_isn(&self, flow: FlowId, role: Role) -> u32 {
        let side = side_of(flow, role);
        Rng::new(self.seed_of(side), Stream::Isn, side).next_u64() as u32
    }
    /// Make the server of a flow for its first packet. None if that cannot be its first.
    #[cold]
    pub(crate) fn accept(&self, flow: FlowId, packet: &Packet) -> Option<Connection> {
        let peer = Endpoint { addr: packet.src(), port: packet.ports()?.0 };
        let (paths, listens) = (self.paths(flow), self.flows[flow.index()].listen());
        let (_, port) = packet.ports()?;
        let local = listens.map(|_| Endpoint { addr: packet.dst(), port });
        if listens != local.map(|local| local.port) {
            return None; // for the port that its place in the plan has
        }
        if paths[0].src.0 != ANY_PEER && listens.is_none() {
            let is_known = paths.iter().any(|path| path.src.0 == peer);
            return is_known.then(|| self.connection(flow, Role::Server));
        }
        let flags = packet.tcp_fields()?.flags;
        let opens =
            flags.has(TcpFlags::SYN) && !flags.has(TcpFlags(TcpFlags::ACK.0 | TcpFlags::RST.0));
        opens.then(|| self.connection_with(flow, Role::Server, Some(peer), local))
    }
    /// Make one end of a flow.
    pub fn connection(&self, flow: FlowId, role: Role) -> Connection {
        self.connection_with(flow, role, None, None)
    }
    /// The same with another peer, and at another port, than the plan says.
    fn connection_with(
        &self,
        flow: FlowId,
        role: Role,
        peer: Option<Endpoint>,
        local: Option<Endpoint>,
    ) -> Connection {
        let spec = &self.flows[flow.index()];
        let transport = &self.transports[spec.transport];
        let config = &transport.config;
        let side = side_of(flow, role);
        let seed = self.seed_of(side);
        let mut isn = Rng::new(seed, Stream::Isn, side);
        let mut secret = Rng::new(seed, Stream::MultipathKey, side);
        let key = secret.next_u64();
        let paths = self.paths(flow).iter().enumerate().map(|(i, plan)| {
            let (here, there) = match role {
                Role::Client => (plan.src, plan.dst),
                Role::Server => (plan.dst, plan.src),
            };
            let init = Init {
                mss_bytes: config.mss_bytes as u32,
                initial_window_bytes: config.initial_window_segments as u64
                    * config.mss_bytes as u64,
                initial_ssthresh_bytes: config.initial_ssthresh_bytes.unwrap_or(u64::MAX),
                paced: config.pacing != forebay_transport::Pacing::Off,
                rng: Rng::new(self.seed, Stream::Controller, side << 8 | i as u64),
            };
            PathSetup {
                local: local.unwrap_or(here.0),
                remote: peer.unwrap_or(there.0),
                port: here.1,
                isn: isn.next_u64() as u32,
                nonce: secret.next_u64() as u32,
                controller: (transport.controller)(init),
                // Only the server receives: a client with a receiver half would answer ACKs.
                feedback: match role {
                    Role::Client => AnyFeedback::None,
                    Role::Server => (transport.feedback)(),
                },
            }
        });
        Connection::new(Setup {
            config: Arc::clone(config),
            role,
            version: self.version,
            key,
            send_bytes: match role {
                Role::Client => spec.bytes,
                Role::Server => Some(spec.answer_bytes()),
            },
            paths: paths.collect(),
        })
    }
}

/// One end of a flow, as random streams number them.
fn side_of(flow: FlowId, role: Role) -> u64 {
    u64::from(flow.0) << 1 | u64::from(role == Role::Server)
}

/// Gives out ports, and further addresses when an address has no more.
#[derive(Debug, Default)]
pub(crate) struct PortAllocator {
    given: u32,
}

impl PortAllocator {
    /// The next socket of an interface whose addresses start at `first`: its index there, and its
    /// endpoint.
    pub(crate) fn next(&mut self, first: Addr) -> (u32, Endpoint) {
        let index = self.given;
        self.given += 1;
        (index, endpoint_of(first, index))
    }
    pub(crate) fn addresses(sockets: u32) -> u32 {
        sockets.div_ceil(PORTS_PER_ADDRESS).max(1)
    }
}

fn endpoint_of(first: Addr, index: u32) -> Endpoint {
    Endpoint {
        addr: Addr(first.0 + index / PORTS_PER_ADDRESS),
        port: FIRST_PORT + (index % PORTS_PER_ADDRESS) as u16,
    }
}

/// The inverse: the index of the socket of an endpoint. None if the port is below the range, or the
/// address is too far from the first.
pub(crate) fn index_of(first: Addr, end: Endpoint) -> Option<u32> {
    let port = end.port.checked_sub(FIRST_PORT)? as u32;
    // A packet may come for any address.
    end.addr.0.checked_sub(first.0)?.checked_mul(PORTS_PER_ADDRESS)?.checked_add(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endpoints_and_socket_indices_are_inverse() {
        for index in [0, 1, PORTS_PER_ADDRESS - 1, PORTS_PER_ADDRESS, 3 * PORTS_PER_ADDRESS + 7] {
            assert_eq!(index_of(Addr(5), endpoint_of(Addr(5), index)), Some(index));
        }
        assert_eq!(endpoint_of(Addr(5), PORTS_PER_ADDRESS - 1).port, u16::MAX);
        let far = Endpoint { addr: Addr(u32::MAX), port: FIRST_PORT };
        assert_eq!(index_of(Addr(5), far), None);
        assert_eq!(PortAllocator::addresses(0), 1);
        assert_eq!(PortAllocator::addresses(PORTS_PER_ADDRESS + 1), 2);
    }
}
