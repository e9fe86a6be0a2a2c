//! The sender half of a congestion control: one [`Controller`] per path.
//!
//! The transport calls it and it answers with [`Limits`]. It never learns of sockets, sequence
//! numbers on the wire, or which bytes a packet carried. All windows are in bytes; an algorithm
//! that its paper states in packets divides by [`Init::mss_bytes`].

use forebay_base::{Addr, IpVersion, OptionList, Rate, Rng, Span, Time};
use serde::{Deserialize, Serialize};

/// What a controller allows its path to send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Congestion window: bytes that may be in flight. `u64::MAX` for purely rate-based schemes.
    pub cwnd_bytes: u64,
    /// Rate at which packets may leave; None: as fast as the window allows. It counts IP packets,
    /// headers included, unless there is a send quantum.
    pub pacing_rate: Option<Rate>,
    /// Payload bytes that may leave at once whenever the pacer lets anything leave
    /// (`C.send_quantum` of draft-ietf-ccwg-bbr): as many whole packets, at least one. The next
    /// ones wait until these are due at `pacing_rate`, which counts payload then, as a rate of
    /// delivery does. 0: one packet at a time, two after a pause.
    pub send_quantum_bytes: u32,
    /// Packets that may still be sent, whatever the window says; None: no such limit (INRPP closed
    /// loop). The retransmission of a timeout needs none.
    pub credits: Option<u64>,
}

impl Limits {
    /// No window grows past this: a flow keeps at most 2^30 bytes unacknowledged, so that 32-bit
    /// sequence numbers do.
    pub const MAX_CWND_BYTES: u64 = 1 << 30;

    /// A window and nothing else.
    pub const fn window(cwnd_bytes: u64) -> Limits {
        Limits { cwnd_bytes, pacing_rate: None, send_quantum_bytes: 0, credits: None }
    }
}

/// Inputs to make a controller.
#[derive(Clone, Debug)]
pub struct Init {
    /// Largest payload of a packet, in bytes: the segment of window arithmetic.
    pub mss_bytes: u32,
    /// Initial window in bytes (RFC 6928: 10 segments).
    pub initial_window_bytes: u64,
    /// Initial slow start threshold in bytes; `u64::MAX` if there is none.
    pub initial_ssthresh_bytes: u64,
    /// True if the transport paces window controllers at a multiple of cwnd / srtt.
    pub paced: bool,
    /// The controller's own random stream.
    pub rng: Rng,
}

/// The path's round-trip estimate, in nanoseconds of the sender's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttView {
    /// Smoothed RTT (RFC 6298). None before the first sample.
    pub srtt: Option<Span>,
    /// RTT variation (RFC 6298).
    pub rttvar: Span,
    /// Smallest sample of the connection. `Span::MAX` before the first.
    pub min: Span,
    /// Latest sample.
    pub latest: Option<Span>,
}

/// A label that a controller gives a packet when it is sent, and gets back when its fate is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tag(pub u64);

/// A packet with payload (or SYN, FIN) was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Transmission number: counts every transmission of the path, never reused.
    pub number: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// Bytes in flight, this packet included.
    pub in_flight_bytes: u64,
    /// True if these bytes were sent before.
    pub retransmission: bool,
    /// True if nothing else was in flight: the path was idle.
    pub after_idle: bool,
    /// True if the sender had run out of data, and what was in flight then is not delivered yet
    /// (draft-ietf-ccwg-bbr, `C.app_limited`). Only for controllers that ask
    /// ([`Traits::wants_rate`]).
    pub app_limited: bool,
}

/// Delivery rate over the flight of the newest packet that this ACK delivered (draft-ietf-ccwg-bbr,
/// rate sample).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in `interval`.
    pub delivered_bytes: u64,
    /// The longer of the send and the acknowledgment interval.
    pub interval: Span,
    /// Total bytes delivered on the path when that packet was sent.
    pub prior_delivered_bytes: u64,
    /// Bytes in flight when that packet was sent, it included.
    pub tx_in_flight_bytes: u64,
    /// True if the sender had nothing to send at some time in that flight.
    pub app_limited: bool,
    /// Bytes declared lost while that packet was in flight.
    pub lost_bytes: u64,
}

/// An ACK packet came: each one, duplicates too.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Bytes newly acknowledged by the cumulative ACK.
    pub acked_bytes: u64,
    /// Bytes newly known to have arrived, by cumulative ACK or SACK.
    pub delivered_bytes: u64,
    /// Total bytes delivered on the path so far.
    pub total_delivered_bytes: u64,
    /// A duplicate ACK: new SACK information with SACK (RFC 6675), RFC 5681's definition without.
    /// Nothing else.
    pub duplicate: bool,
    /// RTT sample of this ACK, free of retransmission ambiguity.
    pub rtt_sample: Option<Span>,
    /// Tag and transmission number of the newest packet that this ACK delivered.
    pub newest: Option<(Tag, u64)>,
    /// The estimate, this sample included.
    pub rtt: RttView,
    /// Bytes in flight before this ACK was processed.
    pub prior_in_flight_bytes: u64,
    /// Bytes in flight after it was processed, lost ones not counted.
    pub in_flight_bytes: u64,
    /// Everything below this stream offset is acknowledged (SND.UNA).
    pub snd_una: u64,
    /// Next stream offset to be sent for the first time (SND.NXT): with `snd_una` it delimits
    /// rounds.
    pub snd_nxt: u64,
    /// The window limited sending in the flight that this ACK ends: growth is due (RFC 9438 section
    /// 5.8).
    pub cwnd_limited: bool,
    /// The path is in loss recovery (between entry and the ACK of the recovery point).
    pub in_recovery: bool,
    /// The ACK echoes congestion experienced (ECE).
    pub ecn_echo: bool,
    /// Delivery rate, if this ACK delivered anything; only for controllers that ask
    /// ([`Traits::wants_rate`]).
    pub rate: Option<RateSample>,
    /// Options on the ACK, for schemes that carry feedback in them.
    pub options: Option<&'a OptionList>,
}

/// One packet is known to have arrived; only for controllers that ask
/// ([`Traits::wants_packets`]).
#[derive(Clone, Copy, Debug)]
pub struct Delivered {
    /// The tag it was given.
    pub tag: Tag,
    /// Its transmission number.
    pub number: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// When it was sent.
    pub sent_at: Time,
    /// Time from sending it to this ACK; None where a retransmission makes it ambiguous.
    pub rtt: Option<Span>,
}

/// One packet is declared lost.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// The tag it was given.
    pub tag: Tag,
    /// Its transmission number.
    pub number: u64,
    /// Payload bytes.
    pub bytes: u32,
    /// When it was sent.
    pub sent_at: Time,
    /// Bytes in flight after it was taken out.
    pub in_flight_bytes: u64,
}

/// The evidence for a congestion event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionCause {
    /// Loss detected by duplicate ACKs, SACK or RACK; or repaired by a tail loss probe.
    Loss,
    /// Loss of a retransmission in the same recovery (RFC 8985 section 7.5.2 and RFC 9937 ask for
    /// one more response).
    LostRetransmission,
    /// ECN echo.
    Ecn,
}

/// Congestion: at most once per window of data. The controller lowers ssthresh and cwnd here.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// Where the signal came from.
    pub cause: CongestionCause,
    /// FlightSize: bytes sent and not cumulatively acknowledged, limited transmit excluded (RFC
    /// 5681 eq. 4).
    pub flight_size_bytes: u64,
    /// The window limited sending in the last flight.
    pub cwnd_limited: bool,
}

/// Loss recovery ended: everything below the recovery point is acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Recovered {
    /// The transport asks for no more than this window, to avoid a burst (RFC 6582 step 3, full
    /// ACK); None: ssthresh.
    pub cwnd_cap_bytes: Option<u64>,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug)]
pub struct Timeout {
    /// FlightSize when it expired, in bytes, without what is known to have arrived out of order.
    pub flight_size_bytes: u64,
    /// ssthresh is to be reduced: the first timeout for this data (RFC 5681 section 3.1), and,
    /// where the transport owns recovery and the peer speaks SACK, none in a window that a loss or
    /// a mark has reduced already (Linux, tcp_enter_loss).
    pub first: bool,
}

/// What limits sending between the detection of a loss and its repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryOwner {
    /// The transport: PRR, RFC 6675 pipe or RFC 6582 inflation, as its configuration says; the
    /// target is the cwnd that the controller set on [`Controller::on_congestion`].
    Transport,
    /// The controller's own limits hold all the time (BBR, Copa, PCC, Verus).
    Controller,
}

/// How losses are found. A controller that declares none gets the one that the transport is
/// configured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "$comment" = "a table such as { num = 2, den = 1 }"
)))]
#[serde(rename_all = "kebab-case")]
pub enum LossPolicy {
    /// Three duplicate ACKs (RFC 5681), or RFC 6675's IsLost with SACK.
    DupThresh,
    /// RACK with tail loss probe (RFC 8985).
    RackTlp,
    /// The retransmission timer alone.
    TimeoutOnly,
    /// RACK (RFC 8985 section 6) for paths that hold packets for seconds and bring them out of
    /// order (INRPP, doi:10.1109/TNET.2021.3128384, which disables fast retransmit for the
    /// reordering of its detours). No number of duplicate ACKs and no tail loss probe.
    ///
    /// - Sent once: lost if something further on that was sent once has arrived, and
    ///   `max(RTO, RTT of that one + 3 W)` has passed since it was sent. W is a quarter of the
    ///   smoothed RTT (more after each DSACK, as in RFC 8985), or how late a packet came after a
    ///   later one, if that is more, and at most the smoothed RTT.
    /// - A hole of at most 3 segments is lost `max(1 s, min RTT / 4, 2 x the longest lateness)`
    ///   after something further on has arrived, if at most an eighth of what has arrived out of
    ///   order is missing; once a packet of the path was lost, whatever is missing, and with 200 ms
    ///   instead of 1 s; after a quarter of the smallest RTT on a
    ///   [path that keeps order](Controller::path_keeps_order). More after each DSACK. Without SACK
    ///   the third duplicate ACK shows the hole.
    /// - Retransmissions, which caches serve first: declared lost after max(200 ms, 6 x the longest
    ///   time that others took), less 1/64 for each that arrives, if something sent later has
    ///   arrived, or if no other has arrived for as long and something has; before one has arrived,
    ///   after the time of what was sent once.
    /// - RTO: 1 s or more (RFC 6298 eq. 2.4), at least 5/4 of the smoothed RTT, twice the longest
    ///   time without an arrival, and [`Controller::rto_floor`]. It starts anew with every ACK that
    ///   brings news and every retransmission, and is backed off until an ACK advances (and not
    ///   until a sample, which may not come for long). The first one takes only the first packet
    ///   for lost, without calling the controller; another before recovery is over takes all that
    ///   are as old as the first rule asks, if anything has arrived since the last: a path that
    ///   does not answer may be down, and still hold them.
    /// - Silence: after max(1 s, 4 x the longest time without an arrival,
    ///   [`Controller::rto_floor`]), or the wait of a repair if nothing else is outstanding, the
    ///   timer expires before the RTO. If the packet that the last one caused to be retransmitted
    ///   has arrived, and nothing since that was sent once, all that left before it is lost. Where
    ///   routers [hold packets](Controller::longest_hold) for less than 250 ms: after 4 x that or
    ///   4 RTT instead of 1 s (on detours, of a flow that no router has asked, 200 ms or 4 RTT),
    ///   and what left before is lost as soon as a short hole is.
    #[serde(rename = "patient")]
    HoldTolerant,
    /// [`LossPolicy::GapTimer`] with a fixed time, which files cannot ask for.
    #[serde(skip)]
    FixedGapTimer(Span),
    /// A timer for each gap, of srtt x num / den.
    // A packet is missing once one that was sent later has arrived, and lost if it is still missing
    // when the timer, which runs from then, expires (Verus section 5.2). A late ACK without a gap
    // declares nothing. Where ACKs end, a tail loss probe leaves (RFC 8985 section 7); the RTO
    // sends the first packet again. A time below srtt grows with DSACKs, to srtt.
    #[serde(untagged)]
    GapTimer {
        /// Numerator. Range: 1 or more.
        num: u32,
        /// Denominator. Range: 1 or more.
        den: u32,
    },
}

/// When a receiver sends ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(extend(
    "$comment" = "a table such as { packets = 2, timeout = \"40ms\" }"
)))]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// At once for each packet.
    EveryPacket,
    /// Delayed ACKs.
    // After `packets` or `timeout`, whichever is first; at once for what is out of order (RFC 5681
    // section 4.2).
    #[serde(untagged)]
    Delayed {
        /// Full-sized packets per ACK. Range: 1 to 255. Example: 2.
        packets: u8,
        /// Maximum delay of an ACK. Example: "40ms".
        timeout: Span,
        /// Packets at the start of a connection that are acknowledged one by one. Default: 0.
        // Linux quick start.
        #[serde(default)]
        quick: u16,
    },
}

/// How congestion marks are used once both ends have agreed on ECN, which they do as RFC 3168
/// section 6.1.1 says. A controller that declares none gets what the transport is configured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnPolicy {
    /// RFC 3168: the receiver echoes a mark on all ACKs until the sender says that its window is
    /// reduced (CWR). Only new data are ECN-capable.
    Rfc3168,
    /// RFC 8257: the echo on an ACK says whether the data that it acknowledges were marked; an ACK
    /// never covers both kinds (section 3.2). All packets are ECN-capable, SYN and SYN-ACK too
    /// (section 3.6), pure ACKs and retransmissions as in Linux. Both ends must use it: nothing on
    /// the wire distinguishes it from RFC 3168.
    Rfc8257,
}

/// The packet that is about to be sent.
#[derive(Clone, Copy, Debug)]
pub struct NextPacket {
    /// Transmission number that it will have.
    pub number: u64,
    /// True if it carries SYN.
    pub syn: bool,
    /// True if it answers the peer's SYN: a SYN-ACK.
    pub reply: bool,
    /// True if it is a retransmission.
    pub retransmission: bool,
    /// Payload that it would carry, in bytes.
    pub payload_bytes: u32,
    /// IP version that it is of.
    pub version: IpVersion,
    /// Address that it comes from.
    pub src: Addr,
    /// Address that it goes to.
    pub dst: Addr,
}

/// What a controller writes on the next packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeaderEdits {
    /// Options to add; those that do not fit are left out, all of them.
    pub options: Option<OptionList>,
    /// Overrides the connection's don't-fragment setting. With IPv6, whose sources alone may say
    /// that a packet is one of fragments: false puts a Fragment header in (RFC 8200 section 4.5).
    /// The payload is 8 bytes shorter then.
    pub dont_fragment: Option<bool>,
    /// Longest IP packet, header included, in bytes.
    pub max_wire_len: Option<u16>,
    /// Identification of a packet that routers must not cut (RFC 6864 section 4.1 leaves it free);
    /// without effect on others; 16 bits. With IPv6 it puts in a Fragment header that says it:
    /// there are no fragments for which RFC 6946 would need it.
    pub ip_id: Option<u32>,
}

/// What a [`HeaderEdits`] wants of the IP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StampedIp {
    /// [`HeaderEdits::dont_fragment`].
    pub dont_fragment: Option<bool>,
    /// [`HeaderEdits::ip_id`].
    pub ip_id: Option<u32>,
}

impl HeaderEdits {
    /// What it wants of the IP header.
    #[inline]
    pub fn ip(&self) -> StampedIp {
        StampedIp { dont_fragment: self.dont_fragment, ip_id: self.ip_id }
    }
    /// It puts a Fragment header into a packet of this IP version.
    #[inline]
    pub fn has_fragment_header(&self, version: IpVersion) -> bool {
        self.ip().has_fragment_header(version)
    }
}

impl StampedIp {
    /// See [`HeaderEdits::has_fragment_header`].
    #[inline]
    pub fn has_fragment_header(self, version: IpVersion) -> bool {
        version == IpVersion::V6 && (self.dont_fragment == Some(false) || self.ip_id.is_some())
    }
}

/// What one path of a connection shows to the controllers of the others (MPTCP coupling).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sibling {
    /// Its window.
    pub cwnd_bytes: u64,
    /// Its smoothed RTT.
    pub srtt: Option<Span>,
    /// Bytes delivered since its last loss, and between the last two (OLIA).
    pub since_loss_bytes: (u64, u64),
    /// True once it is established and not failed.
    pub usable: bool,
}

/// One value of a series that a controller publishes; for series and reports, never fed back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SeriesSample {
    /// Name of the series: lower-case letters, digits and `_`, the same in each sample.
    pub name: &'static str,
    /// Unit of its values, such as "B", "bit/s" or "s"; empty for a plain number. Of a mode, what
    /// its numbers stand for: "0 startup, 1 drain".
    pub unit: &'static str,
    /// The value now. A value that is not finite is not a sample.
    pub value: f64,
}

/// What a controller asks for and what it promises, for its whole life. The defaults are right for
/// any controller; what is not needed and can be said here saves time with each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// [`Controller::on_delivered`] is to be called. False by default.
    pub wants_packets: bool,
    /// [`Ack::rate`] is looked at. True by default.
    pub wants_rate: bool,
    /// [`Controller::edit_header`] may write something. True by default; false: it is not called.
    pub edits_headers: bool,
    /// True by default. False: [`Controller::on_sent`] leaves the limits as they are, unless the
    /// packet ended an idle time ([`Sent::after_idle`]), and they never have a pacing rate. Then
    /// they are not asked for after each packet.
    pub limits_change_on_send: bool,
    /// Bytes of TCP options, not padded, that [`Controller::edit_header`] puts on every packet with
    /// payload; 0 by default. The path makes room for them: a full-sized packet carries
    /// [`Init::mss_bytes`] of payload next to them.
    ///
    /// [`Init::mss_bytes`]: crate::Init::mss_bytes
    pub option_bytes: u16,
    /// How marks are used; None, the default: as the transport is configured, which may be not at
    /// all.
    pub ecn_policy: Option<EcnPolicy>,
    /// Its connections are those of MPTCP (RFC 8684), over several paths or one. False by default.
    pub multipath: bool,
}

impl Default for Traits {
    fn default() -> Traits {
        Traits {
            wants_packets: false,
            wants_rate: true,
            edits_headers: true,
            limits_change_on_send: true,
            option_bytes: 0,
            ecn_policy: None,
            multipath: false,
        }
    }
}

/// The sender half of a congestion control, for one path.
///
/// Order of calls for one ACK packet: `couple` (if there are siblings), `on_delivered` for each
/// packet (if wanted), `on_loss` for each loss, `on_congestion` at most once, `on_ack` once,
/// `on_recovered` if recovery ended with it.
pub trait Controller: Send {
    /// What may be sent now. Changes only in the `&mut self` methods.
    fn limits(&self) -> Limits;
    /// What it asks for and what it promises. Constant for the life of the controller.
    fn traits(&self) -> Traits {
        Traits::default()
    }
    /// The handshake is over: `rtt` has its sample, `options` are those of the peer's SYN.
    fn on_established(&mut self, _now: Time, _rtt: &RttView, _options: Option<&OptionList>) {}
    /// A packet was sent. The tag comes back with its delivery or loss.
    fn on_sent(&mut self, _now: Time, _sent: &Sent) -> Tag {
        Tag(0)
    }
    /// An ACK packet came.
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>);
    /// One packet arrived.
    fn on_delivered(&mut self, _now: Time, _packet: &Delivered) {}
    /// One packet is lost.
    fn on_loss(&mut self, _now: Time, _loss: &Loss) {}
    /// Congestion, at most once per window.
    fn on_congestion(&mut self, now: Time, event: &Congestion);
    /// Recovery is over.
    fn on_recovered(&mut self, _now: Time, _end: &Recovered) {}
    /// The retransmission timer expired.
    fn on_rto(&mut self, now: Time, timeout: &Timeout);
    /// The last congestion event or timeout was spurious: give back what it took (RFC 4015), if
    /// that is possible.
    fn on_spurious(&mut self, _now: Time) {}
    /// How losses are to be found; None: as the transport is configured. Asked when the handshake
    /// is over; where it [edits headers](Traits::edits_headers), again after each ACK with options:
    /// what the path says of itself may have changed.
    fn loss_policy(&self) -> Option<LossPolicy> {
        None
    }
    /// With [`LossPolicy::HoldTolerant`] the retransmission timer runs for no less than this,
    /// before back-off (RFC 6298 section 2.4 allows a larger lower bound): the path may say that it
    /// holds packets for longer than samples show so far. Asked when [`Controller::loss_policy`]
    /// is.
    fn rto_floor(&self) -> Span {
        Span::ZERO
    }
    /// With [`LossPolicy::HoldTolerant`]: no packet of the path comes late on another way, as far
    /// as is known. Asked when [`Controller::loss_policy`] is.
    fn path_keeps_order(&self) -> bool {
        false
    }
    /// With [`LossPolicy::HoldTolerant`]: no router holds a packet for longer that goes the way of
    /// the path; [`Span::MAX`] if that is not known. Asked when [`Controller::loss_policy`] is.
    fn longest_hold(&self) -> Span {
        Span::MAX
    }
    /// When the receiver is to send ACKs; None: as the transport is configured.
    fn ack_policy(&self) -> Option<AckPolicy> {
        None
    }
    /// What limits sending in recovery. Queried when [`Controller::loss_policy`] is.
    fn recovery_owner(&self) -> RecoveryOwner {
        RecoveryOwner::Transport
    }
    /// What to write on the next packet. Called once for each packet that is sent, just before it
    /// is made.
    fn edit_header(&mut self, _now: Time, _next: &NextPacket) -> HeaderEdits {
        HeaderEdits::default()
    }
    /// When `on_timer` is due. May change in every `&mut self` method.
    fn next_timeout(&self) -> Option<Time> {
        None
    }
    /// The time asked for has come. Early calls do nothing, late ones are legal.
    fn on_timer(&mut self, _now: Time) {}
    /// The other paths of the connection, this one at index `me`. Only where there is more than
    /// one.
    fn couple(&mut self, _siblings: &[Sibling], _me: usize) {}
    /// Slow start threshold in bytes, if the scheme has one and it is set. Windowed pacing and
    /// series read it.
    fn ssthresh_bytes(&self) -> Option<u64> {
        None
    }
    /// Name of the phase it is in; empty for a scheme without phases.
    fn phase(&self) -> &'static str {
        ""
    }
    /// Show `visit` the series of this scheme, each at most once. Called when series are sampled,
    /// never for a packet.
    fn observe(&self, _visit: &mut dyn FnMut(SeriesSample)) {}
}
