//! A host: sockets behind interfaces.
//!
//! * A packet comes: [`Host::receive`], and [`Host::receive_other`] if that does not take it
//!   (`receive`). Pieces of datagrams wait in [`Reassembly`].
//! * An interface has room: [`Host::pull`] asks the sockets in turn (`round_robin`). If all that
//!   the next socket would do is note that its window is full, the question is put off (`defer`).
//! * Time passes: [`Host::open`] and [`Host::on_timeout`].
//!
//! A [`NetSpec`](crate::NetSpec) makes hosts with a network around them, and
//! [`HostBuilder`](crate::HostBuilder) a host that its caller drives by itself.
//!
//! A host with one socket and one interface has a fast path beside these (`single`).

mod defer;
mod inline_one;
mod ip_ids;
mod receive;
mod round_robin;
mod single;
mod socket;

pub use receive::Received;
pub(crate) use single::Outlet;
pub use socket::Socket;

use crate::reassembly::{Reassembly, ReassemblyLimits};
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use defer::Deferred;
use forebay_base::{Addr, Arena, DropLog, FlowId, Histogram, Packet, PortId, SocketId, Time};
use forebay_transport::Role;
use forebay_wire::AddressPlan;
use inline_one::InlineOne;
use ip_ids::IpIds;
use round_robin::Interface;

/// What a host works with during one call.
pub struct HostContext<'a> {
    /// Now.
    pub now: Time,
    /// Where the cold parts of packets are.
    pub arena: &'a mut Arena,
    /// Where drops are counted.
    pub drops: &'a mut DropLog,
    /// The flows.
    pub workload: &'a Arc<Workload>,
    /// Addresses on the wire.
    pub plan: &'a AddressPlan,
    /// Packets that reached a host, pieces one by one.
    pub delivered: &'a mut u64,
    /// One-way delays of data packets that sockets here took, by transport of their flow.
    pub one_way: &'a mut Vec<Histogram>,
}

impl HostContext<'_> {
    /// A socket whose flow is of `transport` took `packet`.
    #[inline(always)]
    fn note_one_way(&mut self, transport: u16, packet: &Packet) {
        let left = packet.left_host_at();
        if left > Time::ZERO {
            self.one_way[transport as usize].record(self.now.since(left));
        }
    }
}

/// See the module. The interface of index i is port i of the node.
#[derive(Default)]
pub struct Host {
    interfaces: InlineOne<Interface>,
    sockets: InlineOne<Socket>,
    /// See [`Host::defer_until_window`].
    deferred: Option<Deferred>,
    /// When the interface has room for the entry that a deferral has given back; see
    /// [`Host::take_room_at`]. None between two events.
    room_at: Option<Time>,
    reassembly: Reassembly,
    /// Made at the first packet that routers may cut.
    ip_ids: Option<Box<IpIds>>,
}

impl Host {
    /// A host whose reassembly has these bounds.
    pub(crate) fn with_limits(limits: ReassemblyLimits) -> Host {
        Host { reassembly: Reassembly::new(limits), ..Host::default() }
    }
    /// Add the next interface, whose addresses start at `addr`.
    pub(crate) fn add_interface(&mut self, addr: Addr) {
        self.interfaces.push(Interface::new(addr));
    }
    /// Add one end of a flow.
    pub(crate) fn add_socket(&mut self, flow: FlowId, role: Role, transport: u16) -> SocketId {
        self.sockets.push(Socket::new(flow, role, transport));
        SocketId(self.sockets.len() as u32 - 1)
    }
    /// Add the next local port of an interface, for one path of a socket.
    pub(crate) fn add_port(&mut self, interface: PortId, socket: SocketId, path: u8) {
        let entry = self.interfaces[interface.index()].add_entry(socket, path);
        self.sockets[socket.index()].add_place(interface.0, entry);
    }
    /// The sockets.
    pub fn sockets(&self) -> &[Socket] {
        &self.sockets
    }
    /// Number of interfaces.
    pub fn interfaces(&self) -> usize {
        self.interfaces.len()
    }
    /// Pieces that wait for the rest of their datagram.
    pub fn held_packets(&self) -> u64 {
        self.reassembly.held_packets()
    }

    /// The client of `socket` opens its connection, if it has not. Of a server nothing happens.
    pub fn open(&mut self, socket: SocketId, cx: &mut HostContext<'_>) {
        self.pass_time(cx.now);
        if self.sockets[socket.index()].open(cx.now, cx.workload) {
            self.mark_all_ready(socket);
        }
    }
    /// The time of [`Socket::next_timeout`] has come.
    pub fn on_timeout(&mut self, socket: SocketId, cx: &mut HostContext<'_>) {
        self.pass_time(cx.now);
        if self.sockets[socket.index()].on_timeout(cx.now) {
            self.mark_all_ready(socket);
        }
    }
}
