//! Spoofed packets: first fragments of segments that the flow never sent, and signals that no
//! router gave.

use super::{Driver, DriverError, Fabric, PacketEvent};
use crate::node::Node;
use crate::spec::{Knowledge, Look, SpoofedPacket};
use alloc::vec;
use forebay_base::{
    Addr, Cold, Endpoint, FragmentRange, IpVersion, OptionList, Packet, PortId, TcpFields,
    TcpFlags, mix64,
};
use forebay_signal::inrpp::guard::Carrier;
use forebay_signal::inrpp::{BackPressure, Nonce, Notice};
use forebay_transport::Role;

const TCP_PROTOCOL: u8 = 6;
/// Bytes of a TCP header without options.
const TCP_HEADER_BYTES: usize = 20;

impl<D: Driver> Fabric<D> {
    /// Send a forged packet from its node: from a host over its first interface; to a router it
    /// comes from outside.
    pub(super) fn forge(&mut self, forgery: &SpoofedPacket) -> Result<(), DriverError> {
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

    /// A packet that claims to be of a flow. What its maker does not know is random.
    fn forged(&mut self, forgery: &SpoofedPacket) -> Packet {
        let &SpoofedPacket { flow, look, knows, draw, .. } = forgery;
        let plan = self.workload.paths(flow)[0];
        let (mut src, mut dst) = match look {
            Look::Notice { carrier: Carrier::Ack, .. } => (plan.dst.0, plan.src.0),
            Look::Fragment { .. } | Look::Notice { .. } => (plan.src.0, plan.dst.0),
        };
        let random = |n: u64| mix64(draw.wrapping_add(n));
        if knows < Knowledge::Addresses {
            src.addr = Addr((random(1) % crate::build::V4_ADDRESSES as u64) as u32);
        }
        if knows < Knowledge::Ports {
            (src.port, dst.port) = (random(2) as u16, random(3) as u16);
        }
        // Of what the client sends, and of what the server does.
        let numbers = match knows {
            Knowledge::Sequence => [Role::Client, Role::Server].map(|role| self.next(flow, role)),
            _ => [4, 7].map(|n| random(n) as u32),
        };
        let lead_bytes = match look {
            Look::Fragment { lead_bytes } => lead_bytes,
            Look::Notice { carrier, signal, guarded } => {
                let [seq, ack] = match carrier {
                    Carrier::Ack => [numbers[1], numbers[0]],
                    Carrier::Data => numbers,
                };
                let nonce = Nonce::new(random(8) as u32);
                let mut options = OptionList::EMPTY;
                push(carrier, BackPressure { nonce, ..signal }, guarded, &mut options);
                if let Some(code) = options.as_bytes_mut().get_mut(11..17) {
                    code.copy_from_slice(&random(9).to_be_bytes()[2..]);
                }
                let fields = TcpFields {
                    seq,
                    ack,
                    flags: TcpFlags::ACK,
                    window: u16::MAX,
                    ..TcpFields::default()
                };
                let mut packet = Packet::tcp(self.workload.version(), src, dst, fields, 0);
                packet.set_tcp_options(options, &mut self.arena).expect("one option fits");
                return packet;
            }
        };
        self.fragment([src, dst], numbers[0], lead_bytes, random(5) as u16)
    }

    /// Its payload after the TCP header is zero; no tail will come.
    fn fragment(&mut self, ends: [Endpoint; 2], seq: u32, lead_bytes: u16, ip_id: u16) -> Packet {
        let [src, dst] = ends;
        let mut body = vec![0; usize::from(lead_bytes)];
        body[..TCP_HEADER_BYTES].copy_from_slice(&tcp_header(src, dst, seq));
        let piece = FragmentRange::from_outside(0, true, TCP_PROTOCOL);
        let cold = Cold {
            ip_id: ip_id.into(),
            piece: Some(piece),
            body: Some(body.into()),
            ..Cold::default()
        };
        let len = forebay_base::IPV4_HEADER_BYTES + lead_bytes;
        let (ends, ports) = ((src.addr, dst.addr), Some((src.port, dst.port)));
        Packet::piece(IpVersion::V4, ends, len, ports, cold, &mut self.arena)
    }

    /// The sequence number that the peer of one end of a flow expects next, on its first path.
    fn next(&self, flow: forebay_base::FlowId, sender: Role) -> u32 {
        let peer = match sender {
            Role::Client => Role::Server,
            Role::Server => Role::Client,
        };
        let peer = self.connection(flow, peer);
        let received = peer.map_or(0, |peer| peer.progress().received_bytes);
        let syn = 1;
        self.workload.first_isn(flow, sender).wrapping_add(syn + received as u32)
    }
}

/// Append the option of a signal.
fn push(carrier: Carrier, signal: BackPressure, guarded: bool, options: &mut OptionList) {
    let pushed = match (carrier, guarded) {
        (Carrier::Ack, false) => signal.push(options),
        (Carrier::Ack, true) => signal.push_guarded(options),
        (Carrier::Data, false) => Notice(signal).push(options),
        (Carrier::Data, true) => Notice(signal).push_guarded(options),
    };
    pushed.expect("one option fits");
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
