//! Two harnesses over virtual time: [`Bench`] puts one connection against hand-made packets,
//! [`Pair`] two connections over a scripted wire. Both speak in segment numbers, counted from 1, of
//! `MSS` bytes each.
#![allow(dead_code, unused_imports)] // each test binary uses its own part of this module

pub mod bench;
pub mod control;
pub mod pair;
pub mod road;

pub use bench::{Bench, Inject, Lab};
pub use control::{Log, Reaction, Told, Window};
pub use pair::{Event, Fate, Hop, Pair, Wiring};
pub use road::Road;

use forebay_base::{
    Addr, Arena, Ecn, Endpoint, IpVersion, OptionList, Packet, PortId, Span, TcpFlags, Time, kind,
    widen,
};
use forebay_cc::{AckPolicy, AnyController, AnyFeedback, LossPolicy};
use forebay_transport::{Connection, Pacing, PathSetup, Recovery, Role, RtoRule, Setup, TcpConfig};
use std::sync::Arc;

/// Payload of a full-sized segment in all scenarios, in bytes.
pub const MSS: u64 = 1000;

/// Timestamps are on in [`plain`]: in the binary `timestamps`, which runs the scripts of others
/// once more.
pub fn timestamps() -> bool {
    module_path!().starts_with("timestamps::")
}

/// [`plain`] with what MPTCP is run with: RACK-TLP, PRR and timestamps.
pub fn modern() -> TcpConfig {
    TcpConfig {
        loss_policy: LossPolicy::RackTlp,
        recovery: Recovery::Prr,
        timestamps: true,
        ..plain()
    }
}

/// The plain configuration that scenarios start from: SACK, DupThresh and the pipe of RFC 6675,
/// every packet acknowledged, timestamps as [`timestamps`] says, no limited transmit.
pub fn plain() -> TcpConfig {
    TcpConfig {
        mss_bytes: MSS as u16,
        initial_window_segments: 10,
        initial_ssthresh_bytes: None,
        initial_rto: Span::from_secs(1),
        rto_rule: RtoRule::Rfc6298,
        min_rto: Span::from_secs(1),
        max_rto: Span::from_secs(60),
        max_retries: 15,
        ack_policy: AckPolicy::EveryPacket,
        quick_while_growing: false,
        loss_policy: LossPolicy::DupThresh,
        recovery: Recovery::Pipe,
        sack: true,
        timestamps: timestamps(),
        window_scaling: true,
        scaled_syn_ack: false,
        receive_buffer_bytes: 4 << 20,
        send_buffer_bytes: 4 << 20,
        limited_transmit: false,
        opportunistic_retransmission: true,
        ecn: false,
        pacing: Pacing::Off,
        dont_fragment: true,
        fast_path: true,
    }
}

/// Milliseconds as a span.
pub const fn ms(ms: u64) -> Span {
    Span::from_millis(ms)
}

/// Microseconds as a span.
pub const fn us(us: u64) -> Span {
    Span::from_micros(us)
}

/// What a packet shows, sequence numbers counted from the first payload byte of its direction.
#[derive(Clone, Debug)]
pub struct Seg {
    /// When it was sent.
    pub at: Time,
    /// Offset of the first payload byte; -1 for a SYN.
    pub off: i64,
    /// Payload bytes.
    pub len: u64,
    /// Flags.
    pub flags: TcpFlags,
    /// Offset acknowledged in the other direction, if ACK is set.
    pub ack: Option<i64>,
    /// Window field, unscaled.
    pub window: u16,
    /// Timestamp value and echo.
    pub ts: Option<(u32, u32)>,
    /// SACK blocks as offsets, first block first.
    pub sack: Vec<(i64, i64)>,
    /// Options other than timestamps.
    pub options: OptionList,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// IP length.
    pub wire_len: u16,
    /// DF bit.
    pub dont_fragment: bool,
    /// `7` for new data, `R7` for data sent before, `SYN`, `FIN`, `ACK`, ...; `7~500` where it is
    /// not full-sized.
    pub label: String,
}

impl Seg {
    /// Reads `packet`, sent in a direction with `isn`, whose other direction has `peer_isn`.
    /// `near` is a recent offset of each direction.
    pub fn read(
        packet: &Packet,
        arena: &Arena,
        (isn, peer_isn): (u32, u32),
        (near, near_ack): (u64, u64),
        at: Time,
    ) -> Seg {
        let tcp = packet.tcp_fields().expect("a connection sends TCP");
        // Offsets are counted from the SYN here, so that it has offset 0 and widening never goes
        // below zero.
        let place = |seq: u32, isn: u32, near: u64| {
            widen(seq, isn, near).expect("sequence number below the ISN") as i64 - 1
        };
        let options = packet.cold_part(arena).map_or(OptionList::EMPTY, |cold| cold.tcp_options);
        Seg {
            at,
            off: place(tcp.seq, isn, near),
            len: packet.payload_len() as u64,
            flags: tcp.flags,
            ack: tcp.flags.has(TcpFlags::ACK).then(|| place(tcp.ack, peer_isn, near_ack)),
            window: tcp.window,
            ts: tcp.timestamps,
            sack: options
                .sack_blocks()
                .map(|b| (place(b.start, peer_isn, near_ack), place(b.end, peer_isn, near_ack)))
                .collect(),
            options,
            ecn: packet.ecn(),
            wire_len: packet.wire_len(),
            dont_fragment: packet.dont_fragment(),
            label: String::new(),
        }
    }
    /// Sequence space that it takes after `off`: payload and FIN, not SYN.
    pub fn end(&self) -> i64 {
        self.off + self.len as i64 + self.has(TcpFlags::FIN) as i64
    }
    /// True if `flag` is set.
    pub fn has(&self, flag: TcpFlags) -> bool {
        self.flags.has(flag)
    }
    /// Data of an option.
    pub fn option(&self, kind: u8) -> Option<&[u8]> {
        self.options.find(kind)
    }
    /// True for a packet that carries an acknowledgment and nothing else.
    pub fn is_pure_ack(&self) -> bool {
        self.len == 0 && !self.has(TcpFlags::SYN.with(TcpFlags::FIN).with(TcpFlags::RST))
    }
    /// The window scale option, if it is there.
    pub fn scale(&self) -> Option<u8> {
        self.option(kind::WINDOW_SCALE).map(|data| data[0])
    }
    /// Names it, given the end of the data sent before in its direction.
    pub fn name(&mut self, sent_before: u64) {
        let number = self.off / MSS as i64 + 1;
        self.label = match () {
            () if self.has(TcpFlags::RST) => "RST".into(),
            () if self.has(TcpFlags::SYN) && self.has(TcpFlags::ACK) => "SYNACK".into(),
            () if self.has(TcpFlags::SYN) => "SYN".into(),
            () if self.len == 0 && self.has(TcpFlags::FIN) => "FIN".into(),
            () if self.len == 0 => "ACK".into(),
            () => {
                let again = if (self.off as u64) < sent_before { "R" } else { "" };
                let size = if self.len == MSS { String::new() } else { format!("~{}", self.len) };
                format!("{again}{number}{size}")
            }
        };
    }
}

/// The labels of the segments with payload, in order, separated by spaces.
pub fn data(segs: &[Seg]) -> String {
    let labels: Vec<&str> = segs.iter().filter(|s| s.len > 0).map(|s| s.label.as_str()).collect();
    labels.join(" ")
}

/// The segments with payload.
pub fn data_segs(segs: &[Seg]) -> Vec<&Seg> {
    segs.iter().filter(|s| s.len > 0).collect()
}

/// The endpoint of side `side` (0 or 1) on path `path`.
pub fn endpoint(side: usize, path: usize) -> Endpoint {
    let addr = Addr(1 + 2 * path as u32 + side as u32);
    Endpoint { addr, port: if side == 0 { 40_000 } else { 80 } }
}

/// A connection of side `side` over one path for each of `controllers`.
pub fn connection(
    side: usize,
    config: TcpConfig,
    send_bytes: Option<u64>,
    controllers: Vec<AnyController>,
    isn: impl Fn(usize) -> u32,
    feedback: impl Fn() -> AnyFeedback,
) -> Connection {
    let paths = controllers
        .into_iter()
        .enumerate()
        .map(|(path, controller)| PathSetup {
            local: endpoint(side, path),
            remote: endpoint(1 - side, path),
            port: PortId(path as u16),
            isn: isn(path),
            nonce: 0x0101_0101 * (1 + path as u32 + 16 * side as u32),
            controller,
            feedback: feedback(),
        })
        .collect();
    Connection::new(Setup {
        config: Arc::new(config),
        role: if side == 0 { Role::Client } else { Role::Server },
        version: IpVersion::V4,
        send_bytes,
        key: 0x0123_4567_89ab_cdef + side as u64,
        paths,
    })
}
