//! One connection against hand-made packets.

use super::{MSS, Seg, Window, connection, control::Log, endpoint, plain};
use forebay_base::{
    Arena, Ecn, IpVersion, OptionList, Packet, Span, TcpFields, TcpFlags, Time, kind,
};
use forebay_cc::{AnyController, AnyFeedback};
use forebay_signal::inrpp::BackPressure;
use forebay_transport::{Connection, TcpConfig};

/// What a bench is set up with: the connection, and what the peer offers in its SYN.
#[derive(Clone)]
pub struct Lab {
    pub config: TcpConfig,
    pub window: Window,
    /// Makes another controller than `window`.
    pub controller: Option<fn() -> AnyController>,
    pub send_bytes: Option<u64>,
    pub isn: u32,
    pub peer_isn: u32,
    pub peer_mss: Option<u16>,
    pub peer_sack: bool,
    pub peer_scale: Option<u8>,
    pub peer_timestamps: bool,
    pub peer_ecn: bool,
    /// Window field of every packet of the peer, SYN included, unless a scenario changes it.
    pub peer_window: u16,
    /// Makes the receiver half.
    pub feedback: fn() -> AnyFeedback,
}

impl Default for Lab {
    fn default() -> Lab {
        Lab {
            config: plain(),
            window: Window::fixed(10),
            controller: None,
            send_bytes: None,
            isn: u32::MAX - 4,
            peer_isn: 77_000,
            peer_mss: Some(MSS as u16 + 12),
            peer_sack: true,
            peer_scale: Some(7),
            peer_timestamps: true,
            peer_ecn: true,
            peer_window: 60_000,
            feedback: || AnyFeedback::None,
        }
    }
}

impl Lab {
    /// The connection as client, not opened.
    pub fn client(self) -> Bench {
        Bench::new(self, 0)
    }
    /// The connection as server, waiting.
    pub fn server(self) -> Bench {
        Bench::new(self, 1)
    }
    /// A client past a handshake with an RTT of `rtt`, and what it sent after it.
    pub fn connected(self, rtt: Span) -> (Bench, Vec<Seg>) {
        let mut bench = self.client();
        bench.open();
        bench.advance(rtt);
        bench.rtt = rtt;
        let sent = bench.syn_ack();
        (bench, sent)
    }
    /// A server past a handshake in which the client's ACK came at once.
    pub fn accepted(self) -> Bench {
        let mut bench = self.server();
        bench.open();
        let syn = bench.peer_syn();
        bench.inject(syn);
        bench.inject(Inject::default());
        bench
    }
}

/// A packet of the peer; offsets count from the first payload byte of their direction.
#[derive(Clone, Debug)]
pub struct Inject {
    /// Sequence offset; None: next to the peer's data so far.
    pub seq: Option<i64>,
    /// Acknowledged offset; None: no ACK flag.
    pub ack: Option<i64>,
    /// Flags besides ACK.
    pub flags: TcpFlags,
    /// Payload bytes.
    pub len: u16,
    /// Window field; None: the peer's usual.
    pub window: Option<u16>,
    /// SACK blocks as offsets.
    pub sack: Vec<(i64, i64)>,
    /// Timestamps.
    pub ts: Option<(u32, u32)>,
    /// ECN field.
    pub ecn: Ecn,
    /// Options before SACK: those of a SYN.
    pub options: OptionList,
}

impl Default for Inject {
    fn default() -> Inject {
        Inject {
            seq: None,
            ack: Some(0),
            flags: TcpFlags(0),
            len: 0,
            window: None,
            sack: Vec::new(),
            ts: None,
            ecn: Ecn::NotEct,
            options: OptionList::EMPTY,
        }
    }
}

/// A connection under test, its clock, and the peer's side of the conversation.
pub struct Bench {
    pub conn: Connection,
    pub arena: Arena,
    pub now: Time,
    pub log: Log,
    pub lab: Lab,
    side: usize,
    /// End of the data that the connection sent.
    pub sent_end: u64,
    /// End of the data that the peer sent.
    pub peer_end: i64,
    /// The latest TSval that the connection sent.
    pub tsval: u32,
    /// TS.Recent of the peer (RFC 7323 section 4.3).
    pub ts_recent: u32,
    /// What the connection sent: first offset and end, TSval, and when.
    copies: Vec<(i64, i64, u32, Time)>,
    /// What the peer acknowledged last.
    last_ack: i64,
    /// RTT of the handshake, once it is known.
    rtt: Span,
    /// A FIN of the connection was seen at this offset.
    pub fin_at: Option<i64>,
    /// Timestamps were agreed on: every packet of the peer carries them.
    pub stamps: bool,
    /// What routers wrote on the packets of the peer.
    pub signal: Option<BackPressure>,
}

impl Bench {
    fn new(lab: Lab, side: usize) -> Bench {
        let conn = connection(
            side,
            lab.config,
            lab.send_bytes,
            vec![lab.controller.map_or_else(|| lab.window.clone().any(), |make| make())],
            |_| lab.isn,
            lab.feedback,
        );
        Bench {
            conn,
            arena: Arena::default(),
            now: Time::from_secs(10),
            log: lab.window.log.clone(),
            lab,
            side,
            sent_end: 0,
            peer_end: 0,
            tsval: 0,
            ts_recent: 0,
            copies: Vec::new(),
            last_ack: -1,
            rtt: Span::ZERO,
            fin_at: None,
            stamps: false,
            signal: None,
        }
    }
    /// Opens it.
    pub fn open(&mut self) -> Vec<Seg> {
        self.conn.open(self.now);
        self.pump()
    }
    /// Takes all that it wants to send now.
    pub fn pump(&mut self) -> Vec<Seg> {
        let mut sent = Vec::new();
        while let Some(packet) = self.conn.poll_transmit(self.now, 0, &mut self.arena) {
            assert_eq!(
                (packet.src(), packet.dst()),
                (endpoint(self.side, 0).addr, endpoint(1 - self.side, 0).addr)
            );
            let isns = (self.lab.isn, self.lab.peer_isn);
            let near = (self.sent_end, self.peer_end.max(0) as u64);
            let mut seg = Seg::read(&packet, &self.arena, isns, near, self.now);
            self.arena.free(packet);
            seg.name(self.sent_end);
            self.sent_end = self.sent_end.max(seg.off.max(0) as u64 + seg.len);
            if let Some((value, _)) = seg.ts {
                self.tsval = value;
                self.copies.push((seg.off, seg.end().max(seg.off + 1), value, self.now));
                // A SYN offers; anything else shows that both sides agreed.
                self.stamps |= seg.label != "SYN";
            }
            if seg.has(TcpFlags::FIN) {
                self.fin_at = Some(seg.off + seg.len as i64);
            }
            sent.push(seg);
            assert!(sent.len() < 100_000, "poll_transmit does not end");
        }
        assert_eq!(self.arena.live(), 0, "a packet's cold part was lost");
        sent
    }
    /// Runs its timers up to `span` from now; what it sent meanwhile.
    pub fn advance(&mut self, span: Span) -> Vec<Seg> {
        self.advance_to(self.now + span)
    }
    /// Runs its timers up to `until`; what it sent meanwhile.
    pub fn advance_to(&mut self, until: Time) -> Vec<Seg> {
        let mut sent = self.pump();
        let mut spins = 0;
        while let Some(due) = self.conn.next_timeout().filter(|&t| t <= until) {
            spins = if due <= self.now { spins + 1 } else { 0 };
            assert!(spins < 1000, "a timeout at {due} does not go away");
            self.now = self.now.max(due);
            self.conn.on_timeout(self.now);
            sent.extend(self.pump());
        }
        self.now = until;
        sent
    }
    /// Gives it a packet now; what it sends at once.
    pub fn inject(&mut self, what: Inject) -> Vec<Seg> {
        let seq = what.seq.unwrap_or(self.peer_end);
        self.note_ack(what.ack);
        self.peer_end = self.peer_end.max(seq + what.len as i64);
        let wire = |isn: u32, offset: i64| isn.wrapping_add(1).wrapping_add(offset as u32);
        let flags = if what.ack.is_some() { what.flags.with(TcpFlags::ACK) } else { what.flags };
        let fields = TcpFields {
            seq: wire(self.lab.peer_isn, seq),
            ack: what.ack.map_or(0, |ack| wire(self.lab.isn, ack)),
            flags,
            window: what.window.unwrap_or(self.lab.peer_window),
            timestamps: what.ts.or(self.stamps.then(|| self.peer_stamp())),
        };
        let (from, to) = (endpoint(1 - self.side, 0), endpoint(self.side, 0));
        let mut packet = Packet::tcp(IpVersion::V4, from, to, fields, what.len);
        packet.set_ecn(what.ecn);
        let mut options = what.options;
        if let Some(signal) = self.signal {
            signal.push(&mut options).expect("the signal fits");
        }
        if !what.sack.is_empty() {
            let words = what.sack.iter().flat_map(|&(a, b)| [a, b]);
            let bytes: Vec<u8> =
                words.flat_map(|at| wire(self.lab.isn, at).to_be_bytes()).collect();
            options.push(kind::SACK, &bytes).expect("SACK blocks fit");
        }
        packet.set_tcp_options(options, &mut self.arena).expect("options fit");
        self.conn.on_packet(self.now, 0, &packet, &self.arena);
        self.arena.free(packet);
        self.pump()
    }
    /// The peer's clock counts milliseconds from 1000 at the start; it echoes TS.Recent.
    fn peer_stamp(&self) -> (u32, u32) {
        ((self.now.as_millis() as u32).wrapping_sub(9000), self.ts_recent)
    }
    /// The peer acknowledges `ack`. If that is news, its last ACK stood at a segment that has come
    /// since (RFC 7323 section 4.3): the newest copy that left half an RTT ago or earlier.
    fn note_ack(&mut self, ack: Option<i64>) {
        let Some(ack) = ack.filter(|&ack| ack > self.last_ack) else { return };
        let at = self.last_ack;
        let old = |sent: Time| self.now.since(sent) >= self.rtt / 2;
        let mut copies = self.copies.iter().filter(|c| c.0 <= at && at < c.1);
        let first = copies.next();
        let echo = copies.rfind(|c| old(c.3)).or(first);
        self.ts_recent = echo.map_or(self.ts_recent, |c| c.2);
        self.last_ack = ack;
    }
    fn syn_options(&self) -> OptionList {
        let mut options = OptionList::EMPTY;
        if let Some(mss) = self.lab.peer_mss {
            options.push(kind::MSS, &mss.to_be_bytes()).unwrap();
        }
        if self.lab.peer_sack {
            options.push(kind::SACK_PERMITTED, &[]).unwrap();
        }
        if let Some(shift) = self.lab.peer_scale {
            options.push(kind::WINDOW_SCALE, &[shift]).unwrap();
        }
        options
    }
    /// The peer's SYN.
    pub fn peer_syn(&self) -> Inject {
        let ecn = TcpFlags::ECE.with(TcpFlags::CWR);
        let ecn = if self.lab.peer_ecn && self.lab.config.ecn { ecn } else { TcpFlags(0) };
        Inject {
            seq: Some(-1),
            ack: None,
            flags: TcpFlags::SYN.with(ecn),
            ts: self.lab.peer_timestamps.then_some((self.peer_stamp().0, 0)),
            options: self.syn_options(),
            ..Inject::default()
        }
    }
    /// The peer answers the SYN now, agreeing to what it supports of what the configuration offers.
    pub fn syn_ack(&mut self) -> Vec<Seg> {
        let config = self.lab.config;
        let ecn = if self.lab.peer_ecn && config.ecn { TcpFlags::ECE } else { TcpFlags(0) };
        let mut offer = self.lab.clone();
        offer.peer_sack &= config.sack;
        offer.peer_scale = offer.peer_scale.filter(|_| config.window_scaling);
        let kept = std::mem::replace(&mut self.lab, offer);
        let options = self.syn_options();
        self.lab = kept;
        let stamps = self.lab.peer_timestamps && config.timestamps;
        self.inject(Inject {
            seq: Some(-1),
            flags: TcpFlags::SYN.with(ecn),
            ts: stamps.then_some(self.peer_stamp()),
            options,
            ..Inject::default()
        })
    }
    /// The end of segment `number`, FIN included if it rode on it.
    pub fn end_of(&self, number: u64) -> i64 {
        let end = (number * MSS) as i64;
        if self.fin_at == Some(end) { end + 1 } else { end }
    }
    /// An ACK of the first `number` segments.
    pub fn ack(&mut self, number: u64) -> Vec<Seg> {
        self.sack(number, &[])
    }
    /// An ACK of the first `number` segments with SACK blocks, each from segment to segment, both
    /// included.
    pub fn sack(&mut self, number: u64, blocks: &[(u64, u64)]) -> Vec<Seg> {
        let block = |&(from, to): &(u64, u64)| (((from - 1) * MSS) as i64, self.end_of(to));
        let sack = blocks.iter().map(block).collect();
        let ack = Some(self.end_of(number));
        self.inject(Inject { ack, sack, ..Inject::default() })
    }
    /// A segment of the peer's data.
    pub fn peer_data(&mut self, number: u64) -> Vec<Seg> {
        let seq = Some(((number - 1) * MSS) as i64);
        self.inject(Inject { seq, len: MSS as u16, ..Inject::default() })
    }
    /// The window in force, in segments.
    pub fn cwnd(&self) -> u64 {
        self.conn.view(0).cwnd_bytes / MSS
    }
    /// The slow start threshold in segments.
    pub fn ssthresh(&self) -> Option<u64> {
        self.conn.view(0).ssthresh_bytes.map(|bytes| bytes / MSS)
    }
    /// Bytes in flight, in segments.
    pub fn in_flight(&self) -> u64 {
        self.conn.view(0).in_flight_bytes / MSS
    }
}
