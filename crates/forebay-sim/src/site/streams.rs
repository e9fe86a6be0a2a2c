//! Real bytes next to the lengths of a run: what one end of each flow sends, and what has come to
//! servers.

use forebay_base::{Endpoint, FlowId, Packet};
use forebay_net::{Driver, Fabric, Workload};
use forebay_transport::Role;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) struct Streams {
    /// By the endpoints of client and server: flow and path.
    paths: BTreeMap<(Endpoint, Endpoint), (FlowId, usize)>,
    /// By flow.
    sent: Arc<Vec<Vec<u8>>>,
    /// By flow; in order up to what the server has received.
    received: Vec<Vec<u8>>,
}

impl Streams {
    pub fn new(workload: &Workload, sent: Arc<Vec<Vec<u8>>>) -> Streams {
        let flows = (0..workload.flows().len() as u32).map(FlowId);
        let paths = flows.flat_map(|flow| {
            let numbered = workload.paths(flow).iter().enumerate();
            numbered.map(move |(path, plan)| ((plan.src.0, plan.dst.0), (flow, path)))
        });
        Streams { paths: paths.collect(), received: vec![Vec::new(); workload.flows().len()], sent }
    }
    /// The flow and path on which a client sent a segment from the first of `ends` to the second.
    fn path_of<D: Driver>(
        &self,
        [src, dst]: [Endpoint; 2],
        fabric: &Fabric<D>,
    ) -> Option<(FlowId, usize)> {
        let planned = self.paths.get(&(src, dst)).copied();
        planned.or_else(|| Some((fabric.accepted(src, dst)?, 0)))
    }
    /// The payload of a segment that leaves this side, if a client here made it, or the server of a
    /// flow whose client is elsewhere.
    pub fn outgoing<D: Driver>(&self, packet: &Packet, fabric: &Fabric<D>) -> Option<&[u8]> {
        let [src, dst] = ends_of(packet)?;
        let (sender, (flow, path)) = match self.paths.get(&(src, dst)) {
            Some(&of) => (Role::Client, of),
            None => (Role::Server, self.path_of([dst, src], fabric)?),
        };
        if sender == Role::Server && fabric.connection(flow, Role::Client).is_some() {
            return None;
        }
        let bytes = fabric.connection(flow, sender)?.outgoing_bytes(path, packet, &fabric.arena);
        self.sent.get(flow.index())?.get(bytes.start as usize..bytes.end as usize)
    }
    /// A segment with this payload has come to this side: keep what is for a server here.
    pub fn incoming<D: Driver>(&mut self, packet: &Packet, payload: &[u8], fabric: &Fabric<D>) {
        let Some(ends) = ends_of(packet) else { return };
        let Some((flow, path)) = self.path_of(ends, fabric) else { return };
        let Some(server) = fabric.connection(flow, Role::Server) else { return };
        let Some((bytes, place)) = server.incoming_bytes(path, packet, &fabric.arena) else {
            return;
        };
        let (received, end) = (&mut self.received[flow.index()], bytes.end as usize);
        received.resize(received.len().max(end), 0);
        received[bytes.start as usize..end].copy_from_slice(&payload[place]);
    }
    /// What the server of a flow has received in order.
    pub fn received<D: Driver>(&self, flow: FlowId, fabric: &Fabric<D>) -> Option<&[u8]> {
        let received = fabric.connection(flow, Role::Server)?.progress().received_bytes;
        self.received[flow.index()].get(..received as usize)
    }
}

/// Where a TCP segment is from and where it goes.
fn ends_of(packet: &Packet) -> Option<[Endpoint; 2]> {
    let (src, dst) = packet.tcp_fields().and_then(|_| packet.ports())?;
    let end = |addr, port| Endpoint { addr, port };
    Some([end(packet.src(), src), end(packet.dst(), dst)])
}
