//! A host by itself, for a caller that drives it with the four verbs.

use crate::host::Host;
use crate::reassembly::ReassemblyLimits;
use crate::spec::{FlowSpec, NetSpec, TransportSpec};
use crate::workload::{ANY_PEER, PathPlan, PortAllocator, Workload};
use alloc::sync::Arc;
use alloc::vec::Vec;
use forebay_base::{Addr, Endpoint, FlowId, IpVersion, NodeId, PortId, SocketId, Time};
use forebay_transport::Role;

/// Makes a [`Host`] without a [`NetSpec`]: interfaces, transports, and sockets that connect or
/// listen. The caller hands packets to [`Host::receive`], takes packets from [`Host::pull`], and
/// calls [`Host::on_timeout`] when [`Socket::next_timeout`](crate::Socket::next_timeout) says.
pub struct HostBuilder {
    seed: u64,
    spec: NetSpec,
    host: Host,
    interfaces: Vec<(Addr, PortAllocator)>,
    paths: Vec<PathPlan>,
}

impl HostBuilder {
    /// A host without interfaces. Its random numbers, as those of its first sequence numbers, are
    /// drawn from `seed`.
    pub fn new(version: IpVersion, seed: u64, reassembly: ReassemblyLimits) -> HostBuilder {
        HostBuilder {
            seed,
            spec: NetSpec { version, ..NetSpec::default() },
            host: Host::with_limits(reassembly),
            interfaces: Vec::new(),
            paths: Vec::new(),
        }
    }
    /// Add an interface with this address. Later interfaces must have higher addresses: higher by
    /// one for each [`PORTS_PER_ADDRESS`](crate::PORTS_PER_ADDRESS) sockets at this one.
    pub fn interface(&mut self, addr: Addr) -> PortId {
        self.host.add_interface(addr);
        self.interfaces.push((addr, PortAllocator::default()));
        PortId(self.interfaces.len() as u16 - 1)
    }
    /// Add a transport for sockets to use: its index.
    pub fn transport(&mut self, transport: TransportSpec) -> u16 {
        self.spec.transports.push(transport);
        self.spec.transports.len() as u16 - 1
    }
    /// Add a socket that connects to `peer` when [`Host::open`] is called, and sends `bytes`; None:
    /// without end. Its own endpoint is that of the next port.
    ///
    /// Panics if the interface or the transport has not been added, as the next does.
    pub fn connect(
        &mut self,
        interface: PortId,
        peer: Endpoint,
        transport: u16,
        bytes: Option<u64>,
    ) -> (SocketId, Endpoint) {
        self.socket(Role::Client, interface, peer, transport, bytes)
    }
    /// Add a socket that takes the first connection that comes to its port, from whatever peer.
    pub fn listen(&mut self, interface: PortId, transport: u16) -> (SocketId, Endpoint) {
        self.socket(Role::Server, interface, ANY_PEER, transport, None)
    }

    fn socket(
        &mut self,
        role: Role,
        interface: PortId,
        peer: Endpoint,
        transport: u16,
        bytes: Option<u64>,
    ) -> (SocketId, Endpoint) {
        assert!(usize::from(transport) < self.spec.transports.len(), "a transport that was added");
        let flow = FlowId(self.spec.flows.len() as u32);
        let (first, ports) = &mut self.interfaces[interface.index()];
        let (_, local) = ports.next(*first);
        let socket = self.host.add_socket(flow, role, transport);
        self.host.add_port(interface, socket, 0);
        let [here, there] = [(local, interface), (peer, PortId(0))];
        let [src, dst] = if role == Role::Client { [here, there] } else { [there, here] };
        self.paths.push(PathPlan { src, dst });
        self.spec.flows.push(FlowSpec {
            src: NodeId(0),
            dst: NodeId(0),
            start: Time::ZERO,
            bytes,
            life: None,
            transport: transport.into(),
            paths: Vec::new(),
        });
        (socket, local)
    }

    /// The host, and the flows of its sockets, in the order in which they were added.
    pub fn build(self) -> (Host, Arc<Workload>) {
        let HostBuilder { seed, spec, host, paths, .. } = self;
        let first_path = (0..=paths.len() as u32).collect();
        (host, Arc::new(Workload::new(&spec, seed, paths, first_path)))
    }
}
