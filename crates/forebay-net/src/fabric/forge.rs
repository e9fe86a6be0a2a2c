//! Spoofed packets: first fragments of segments that the flow never sent.

use super::{Driver, DriverError, Fabric, PacketEvent};
use crate::node::Node;
use crate::spec::{Knowledge, SpoofedFragment};
use alloc::vec;
use forebay_base::{
    Addr, Cold, Endpoint, FragmentRange, IpVersion, Packet, PortId, TcpFlags, mix64,
};
use forebay_transport::Role;

const TCP_PROTOCOL: u8 = 6;
/// Bytes of a TCP header without options.
const TCP_HEADER_BYTES: usize = 20;

impl<D: Driver> Fabric<D> {
    /// Send a forged packet from its node: from a host over its first interface; to a router it
    /// comes from outside.
    pub(super) fn forge(&mut self, forgery: &SpoofedFragment) -> Result<(), DriverError> {
        // What the receiver expects must be known.
        self.not_before_horizon(self.now)?;
        if !self.is_here(forgery.node) {
            return Err(DriverError::NoNode(forgery.node));
        }
        let mut packet = self.forged(forgery);
        packet.set_hop_time(self.now);
        self.count.sent += 1;
        let node = forgery.node;
        self.observe(PacketEvent::Sent(node), &packet);
        match &self.nodes[node.index()] {
            Node::Host(_) => self.send(node, self.ports.link(node, PortId(0)), packet),
            Node::Router(_) | Node::Elsewhere => self.deliver(node, PortId(0), packet),
        }
        Ok(())
    }

    /// A first fragment that claims to be of the data of a flow. What its maker does not know is
    /// random. Its payload after the TCP header is zero; no tail will come.
    fn forged(&mut self, forgery: &SpoofedFragment) -> Packet {
        let &SpoofedFragment { flow, lead_bytes, knows, draw, .. } = forgery;
        let plan = self.workload.paths(flow)[0];
        let (mut src, mut dst) = (plan.src.0, plan.dst.0);
        let random = |n: u64| mix64(draw.wrapping_add(n));
        if knows < Knowledge::Addresses {
            src.addr = Addr((random(1) % crate::build::V4_ADDRESSES as u64) as u32);
        }
        if knows < Knowledge::Ports {
            (src.port, dst.port) = (random(2) as u16, random(3) as u16);
        }
        let seq = match knows {
            Knowledge::Sequence => self.expected_seq(flow),
            _ => random(4) as u32,
        };
        let mut body = vec![0; usize::from(lead_bytes)];
        body[..TCP_HEADER_BYTES].copy_from_slice(&tcp_header(src, dst, seq));
        let piece = FragmentRange::from_outside(0, true, TCP_PROTOCOL);
        let cold = Cold {
            ip_id: (random(5) as u16).into(),
            piece: Some(piece),
            body: Some(body.into()),
            ..Cold::default()
        };
        let len = forebay_base::IPV4_HEADER_BYTES + lead_bytes;
        let (ends, ports) = ((src.addr, dst.addr), Some((src.port, dst.port)));
        Packet::piece(IpVersion::V4, ends, len, ports, cold, &mut self.arena)
    }

    /// The sequence number that the receiver of a flow expects next, on its first path.
    fn expected_seq(&self, flow: forebay_base::FlowId) -> u32 {
        let server = self.connection(flow, Role::Server);
        let received = server.map_or(0, |server| server.progress().received_bytes);
        let syn = 1;
        self.workload.first_isn(flow, Role::Client).wrapping_add(syn + received as u32)
    }
}

/// A segment with ACK and no checksum (RFC 9293 section 3.1).
fn tcp_header(src: Endpoint, dst: Endpoint, seq: u32) -> [u8; TCP_HEADER_BYTES] {
    let mut header = [0; TCP_HEADER_BYTES];
    header[..2].copy_from_slice(&src.port.to_be_bytes());
    header[2..4].copy_from_slice(&dst.port.to_be_bytes());
    header[4..8].copy_from_slice(&seq.to_be_bytes());
    header[12] = (TCP_HEADER_BYTES as u8 / 4) << 4;
    header[13] = TcpFlags::ACK.0;
    header[14..16].copy_from_slice(&u16::MAX.to_be_bytes());
    header
}
