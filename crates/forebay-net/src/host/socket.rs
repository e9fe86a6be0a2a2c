//! One end of a flow at a host: a connection, and the application that writes to it.

use crate::app::App;
use crate::ids::EndId;
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{FlowId, Packet, Time};
use forebay_transport::{Connection, Role};

/// A local port: (interface, index among its entries).
type Place = (u16, u32);

/// The place of a socket that has no local port yet.
const NOWHERE: Place = (u16::MAX, u32::MAX);

/// One end of a flow.
pub struct Socket {
    flow: FlowId,
    role: Role,
    /// Number of the transport of its flow.
    pub(super) transport: u16,
    pub(super) connection: Option<Box<Connection>>,
    /// Its local ports, path by path. Almost all sockets have one.
    first_place: Place,
    more_places: Vec<Place>,
    /// What it sends, where not all was written at once.
    app: Option<Box<App>>,
}

impl Socket {
    pub(super) fn new(flow: FlowId, role: Role, transport: u16) -> Socket {
        let (first_place, more_places) = (NOWHERE, Vec::new());
        Socket { flow, role, transport, connection: None, first_place, more_places, app: None }
    }
    /// Its next path has this local port.
    pub(super) fn add_place(&mut self, interface: u16, entry: u32) {
        if self.first_place == NOWHERE {
            self.first_place = (interface, entry);
        } else {
            self.more_places.push((interface, entry));
        }
    }
    /// Its local ports, path by path.
    pub(super) fn places(&self) -> impl Iterator<Item = &Place> {
        [&self.first_place].into_iter().chain(&self.more_places)
    }

    /// The flow.
    pub fn flow(&self) -> FlowId {
        self.flow
    }
    /// Which end it is.
    pub fn role(&self) -> Role {
        self.role
    }
    /// The end of its flow that it is.
    #[inline]
    pub fn end(&self) -> EndId {
        EndId::of(self.flow, self.role)
    }
    /// The connection, once it was opened or a packet came for it.
    pub fn connection(&self) -> Option<&Connection> {
        self.connection.as_deref()
    }
    /// When [`Host::on_timeout`](crate::Host::on_timeout) is due, if it ever is.
    #[inline(always)]
    pub fn next_timeout(&self) -> Option<Time> {
        let connection = self.connection()?;
        match &self.app {
            None => connection.next_timeout(),
            Some(app) => next_with_app(app, connection),
        }
    }

    /// The connection that takes `packet`. A server begins to exist with its first packet. None: a
    /// client that has not been opened, of which nobody can know.
    #[inline(always)]
    pub(super) fn connection_for_packet(
        &mut self,
        workload: &Workload,
        packet: &Packet,
    ) -> Option<&mut Box<Connection>> {
        if self.connection.is_none() && self.role == Role::Server {
            self.connection = workload.accept(self.flow, packet).map(Box::new);
        }
        self.connection.as_mut()
    }
    /// The client opens its connection. False, and nothing has happened, if it is a server, or has
    /// opened it before.
    pub(super) fn open(&mut self, now: Time, workload: &Workload) -> bool {
        if self.role == Role::Server || self.connection.is_some() {
            return false;
        }
        let mut connection = workload.connection(self.flow, Role::Client);
        self.app = workload.app(self.flow, now).map(Box::new);
        if let Some(app) = &mut self.app {
            app.begin(now, &mut connection);
        }
        connection.open(now);
        self.connection = Some(Box::new(connection));
        true
    }
    /// The time of [`Socket::next_timeout`] has come. False if nothing is new to send: see
    /// [`Connection::on_timeout`].
    pub(super) fn on_timeout(&mut self, now: Time) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        let expired = connection.on_timeout(now);
        let app = self.app.as_mut().filter(|_| !connection.is_ended());
        let acted = app.is_some_and(|app| app.act(now, connection));
        expired || acted
    }
}

/// When a connection times out or its application does something. The application of a connection
/// that has ended does nothing.
#[inline(never)]
fn next_with_app(app: &App, connection: &Connection) -> Option<Time> {
    let timeout = connection.next_timeout();
    let acts_at = if connection.is_ended() { Time::MAX } else { app.next() };
    let next = timeout.map_or(acts_at, |at| at.min(acts_at));
    (next != Time::MAX).then_some(next)
}
