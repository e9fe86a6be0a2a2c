//! Deadlines and ends of sockets: when they are due, how they are armed, what follows an end.

use super::{Deadline, Driver, EndId, Fabric};
use crate::look_ahead::Guard;
use crate::node::Node;
use alloc::sync::Arc;
use alloc::vec;
use forebay_base::{NodeId, SocketId, Time};
use forebay_transport::Role;

impl<D: Driver> Fabric<D> {
    /// A client opens, or a connection's time may have come. False if it was put off since it was
    /// armed.
    pub fn on_socket(&mut self, now: Time, end: EndId) -> bool {
        let due = self.socket_due(now, end);
        self.process_early_arrivals();
        due
    }
    pub(super) fn socket_due(&mut self, now: Time, end: EndId) -> bool {
        self.now = now;
        let (node, socket) = (self.ends[end.index()].node, self.ends[end.index()].socket);
        let due = self.with_host(node, |host, cx| {
            let here = &host.sockets()[socket.index()];
            match (here.connection(), here.next_timeout()) {
                (None, _) => host.open(socket, cx),
                (Some(_), at) if at.is_none_or(|at| at > now) => return false,
                (Some(_), _) => host.on_timeout(socket, cx),
            }
            true
        });
        if due {
            self.pump(node, socket)
        } else {
            self.sync_socket(node, socket)
        }
        due
    }

    /// Arm the deadline of a socket, lazily: a later one costs nothing; note its end.
    #[inline]
    pub(super) fn sync_socket(&mut self, node: NodeId, socket: SocketId) {
        let Node::Host(host) = &self.nodes[node.index()] else { return };
        let socket = &host.sockets()[socket.index()];
        let Some(connection) = socket.connection() else { return };
        let id = socket.end();
        let ended = connection.is_ended();
        self.sync_end(id, socket.next_timeout(), ended);
    }
    #[inline(always)]
    pub(super) fn sync_end(&mut self, id: EndId, timeout: Option<Time>, ended: bool) {
        let end = &mut self.ends[id.index()];
        if let Some(at) = timeout {
            let at = at.max(self.now);
            // What is armed lies behind the clock of a host that is ahead of the others: it is
            // noticed now, not then.
            let overdue =
                at == self.now && end.armed < at && self.driver.guards().has(Guard::Overdue);
            if at < end.armed || overdue {
                end.armed = at;
                self.driver.arm(Deadline::Socket(id), at);
            }
        }
        if ended && !end.ended {
            end.ended = true;
            self.open_ends -= 1;
            self.last_ended = self.last_ended.max(self.now);
            self.start_followers(id);
        }
    }

    /// An end of a flow has ended: those that follow its client start a while later. Those that
    /// would start when they have to stop do not: both of their ends have ended, without ever
    /// being.
    #[cold]
    fn start_followers(&mut self, end: EndId) {
        if self.workload.followers(end.flow()).is_empty() {
            return;
        }
        let (mut ended, workload) = (vec![end], Arc::clone(&self.workload));
        while let Some(end) = ended.pop() {
            if end.role() == Role::Server {
                continue;
            }
            for &flow in workload.followers(end.flow()) {
                let start = self.now + workload.think(flow);
                let client = EndId::of(flow, Role::Client);
                if workload.flows()[flow.index()].stop().is_some_and(|stop| stop <= start) {
                    for end in [client, EndId::of(flow, Role::Server)] {
                        self.ends[end.index()].ended = true;
                    }
                    self.open_ends -= 2; // here both, wherever the server is
                    ended.push(client);
                } else {
                    self.ends[client.index()].armed = start;
                    self.driver.arm(Deadline::Socket(client), start);
                }
            }
        }
    }
}
