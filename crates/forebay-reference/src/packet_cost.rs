//! What a flow costs on the wire, and what it delivers.

use forebay_base::{Addr, Ecn, IpVersion, OptionList, Rng, Stream, Time};
use forebay_cc::{
    AckPolicy, AnyController, AnyFeedback, Controller, DatagramView, Feedback, Init, NextPacket,
};
use forebay_net::TransportSpec;
use forebay_signal::inrpp::DETOUR_TAG_BYTES;
use forebay_transport::{Pacing, SIGNAL_BYTES};

/// Packets of one kind of transport: full-sized data, and the ACKs that it causes. All in bytes
/// from the IP header on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketCost {
    /// Payload of a full-sized packet.
    pub payload_bytes: f64,
    /// Length of a full-sized packet.
    pub data_bytes: f64,
    /// Length of an ACK without SACK blocks.
    pub ack_bytes: f64,
    /// ACKs for each full-sized packet.
    pub acks_per_packet: f64,
    /// Length of a SYN.
    pub syn_bytes: f64,
    /// Length of its answer.
    pub syn_ack_bytes: f64,
    /// Extra length of a packet on a detour.
    pub detour_bytes: f64,
}

/// Options of MPTCP (RFC 8684): DATA_ACK on an ACK; MP_CAPABLE on a SYN, and on its answer.
const SIGNAL_ACK_BYTES: u16 = 8;
const CAPABLE_BYTES: u16 = 4;
const CAPABLE_KEY_BYTES: u16 = 12;

/// IP and TCP header without options.
fn header_bytes(version: IpVersion) -> usize {
    match version {
        IpVersion::V4 => 40,
        IpVersion::V6 => 60,
    }
}

/// RFC 7323, without padding.
const TIMESTAMP_BYTES: usize = 10;
/// MSS 4, SACK permitted 2, window scale 3 (RFC 9293, 2018, 7323).
const SYN_MSS_BYTES: usize = 4;
const SYN_SACK_BYTES: usize = 2;
const SYN_SCALE_BYTES: usize = 3;

/// Options that a controller puts on a packet without loss before it.
fn stamp_of(
    controller: &mut AnyController,
    payload_bytes: u32,
    syn: bool,
    reply: bool,
) -> Option<OptionList> {
    let next = NextPacket {
        number: 0,
        syn,
        reply,
        retransmission: false,
        payload_bytes,
        version: IpVersion::V4,
        src: Addr(0),
        dst: Addr(1),
    };
    controller.edit_header(Time::ZERO, &next).options
}

/// Bytes of options that a receiver puts on its answer to a packet with these options: it may say
/// nothing before it has seen who sends.
fn told_bytes(feedback: &mut AnyFeedback, stamp: Option<&OptionList>, payload_bytes: u32) -> usize {
    let datagram = DatagramView {
        payload_bytes,
        wire_len: 0,
        pieces: 1,
        dont_fragment: true,
        ip_id: 0,
        ecn: Ecn::NotEct,
        options: stamp,
        in_order: payload_bytes > 0,
    };
    feedback.on_datagram(Time::ZERO, &datagram);
    let mut told = OptionList::EMPTY;
    feedback.fill(Time::ZERO, &mut told);
    told.len()
}

impl PacketCost {
    /// The packets of a transport: its configuration says which options it writes, its controller
    /// and its receiver half what they add.
    pub fn of(transport: &TransportSpec, version: IpVersion) -> PacketCost {
        let config = &transport.config;
        let init = Init {
            mss_bytes: config.mss_bytes as u32,
            initial_window_bytes: config.initial_window_segments as u64 * config.mss_bytes as u64,
            initial_ssthresh_bytes: config.initial_ssthresh_bytes.unwrap_or(u64::MAX),
            paced: config.pacing != Pacing::Off,
            rng: Rng::new(0, Stream::Controller, 0),
        };
        let payload_bytes = config.mss_bytes as u32;
        let (mut controller, mut server) =
            ((transport.controller)(init.clone()), (transport.controller)(init));
        let mut feedback = (transport.feedback)();
        let length = |stamp: &Option<OptionList>| stamp.as_ref().map_or(0, OptionList::len);
        let syn_stamp = stamp_of(&mut controller, 0, true, false);
        let syn_told = told_bytes(&mut feedback, syn_stamp.as_ref(), 0);
        let syn_ack_stamp = stamp_of(&mut server, 0, true, true);
        let data_stamp = stamp_of(&mut controller, payload_bytes, false, false);
        let data_told = told_bytes(&mut feedback, data_stamp.as_ref(), payload_bytes);
        assert!(
            length(&data_stamp) <= controller.traits().option_bytes as usize,
            "a stamp keeps its promise"
        );
        let stamps = if config.timestamps { TIMESTAMP_BYTES } else { 0 };
        let padded = |options: usize| (options + stamps).next_multiple_of(4);
        let header = header_bytes(version);
        let of_paths = |bytes: u16| if controller.traits().multipath { bytes as usize } else { 0 };
        let data_options = controller.traits().option_bytes as usize + of_paths(SIGNAL_BYTES);
        let data_header = header + padded(data_options);
        let syn = SYN_MSS_BYTES
            + if config.sack { SYN_SACK_BYTES } else { 0 }
            + if config.window_scaling { SYN_SCALE_BYTES } else { 0 };
        let policy = controller.ack_policy().unwrap_or(config.ack_policy);
        let acks_per_packet = match policy {
            AckPolicy::Delayed { packets, .. }
                if !feedback.clocks_acks() && !feedback.demands_acks() =>
            {
                1.0 / packets as f64
            }
            AckPolicy::Delayed { .. } | AckPolicy::EveryPacket => 1.0,
        };
        PacketCost {
            payload_bytes: config.mss_bytes as f64,
            data_bytes: (data_header + config.mss_bytes as usize) as f64,
            ack_bytes: (header + padded(data_told + of_paths(SIGNAL_ACK_BYTES))) as f64,
            acks_per_packet,
            syn_bytes: (header + padded(syn + length(&syn_stamp) + of_paths(CAPABLE_BYTES))) as f64,
            syn_ack_bytes: (header
                + padded(syn + length(&syn_ack_stamp) + syn_told + of_paths(CAPABLE_KEY_BYTES)))
                as f64,
            detour_bytes: DETOUR_TAG_BYTES as f64,
        }
    }

    /// Wire bytes on a link that adds `overhead_bytes` to each packet, for each byte delivered over
    /// it.
    pub fn data_weight(&self, overhead_bytes: f64) -> f64 {
        (self.data_bytes + overhead_bytes) / self.payload_bytes
    }
    /// Wire bytes of ACKs on such a link, for each byte delivered the other way.
    pub fn ack_weight(&self, overhead_bytes: f64) -> f64 {
        self.acks_per_packet * (self.ack_bytes + overhead_bytes) / self.payload_bytes
    }
    /// Full-sized packets that take as long as `bytes` of payload do, times their payload: more
    /// than `bytes` where the last packet is shorter, since its header is not.
    pub fn full_sized(&self, bytes: u64) -> f64 {
        let packets = (bytes as f64 / self.payload_bytes).ceil();
        let header = self.data_bytes - self.payload_bytes;
        (packets * header + bytes as f64) / self.data_bytes * self.payload_bytes
    }
    /// Length of the first and of the last packet of `bytes`.
    pub fn first_and_last(&self, bytes: u64) -> [f64; 2] {
        let header = self.data_bytes - self.payload_bytes;
        let last = (bytes as f64 - 1.0).max(0.0) % self.payload_bytes + 1.0;
        [header + self.payload_bytes.min(bytes as f64), header + last.min(bytes as f64)]
    }
}
