//! What neighbouring routers exchange: lists of neighbours, probes, and rate feedback.
//!
//! The paper says that a link-state protocol and probe packets exist, and leaves both open. Here
//! they are IPv4 packets of protocol 253 (for experiments, RFC 3692), one hop long: TTL 1, DSCP CS6
//! (network control, RFC 4594), DF, from and to [`ALL_ROUTERS`]. Big-endian; fields that are drawn
//! as 0 must be 0; the checksum (RFC 1071) covers the message.
//!
//! ```text
//!        0      2   3      4        6         8      12
//!       +------+---+------+--------+---------+------+
//! probe | F0BE | 1 | bits |checksum| primary | from |  target(4) sent(8) interval(8) 0(12)
//! answer| F0BE | 2 | open |checksum| primary | from |  target(4) sent(8) increase(8) longer(2)
//!       |      |   |      |        |         |      |    cap(6) decrease(4)
//! list  | F0BE | 3 | last |checksum|  chunk  | from |  0(4) version(8) seen(8) router(4)...
//!       +------+---+------+--------+---------+------+
//! ```
//!
//! Probe and answer are 64 bytes with the IP header; a list takes as many packets of at most 1500
//! bytes as it needs. The bits are 1, wants, and 2, limited; the other flags are 0 or 1. An IPv6
//! run has none of them, and no detours: the tag of a packet on a detour is an IPv4 option.

use alloc::vec::Vec;
use core::fmt;
use forebay_base::{Addr, Arena, Cold, IpVersion, Kind, Packet, PortId, Span, Time};
use forebay_signal::inrpp::RouterId;

/// Source and destination of every control message: "the node at the other end of this link".
/// It is 10.255.255.255 under the default address plan, the last of its addresses.
pub const ALL_ROUTERS: Addr = Addr(0x00FF_FFFF);
/// First octet of [`ALL_ROUTERS`] on the wire: that of the default address plan.
const NETWORK: u8 = 10;
/// The IP protocol number for experiments (RFC 3692 section 2.1).
pub const PROTOCOL: u8 = 253;
/// Length on the wire of a probe and of its answer, in bytes, IP header included.
pub const PROBE_BYTES: u16 = 64;
/// Routers that one packet of a list names at most: 20 + 32 + 4 * 362 = 1500 bytes.
pub const LIST_CHUNK: usize = 362;

const IP_HEADER: usize = 20;
const PROBE_MESSAGE: usize = PROBE_BYTES as usize - IP_HEADER;
const LIST_HEADER: usize = 32;
const MAGIC: u16 = 0xF0BE;
/// The largest bound that an answer has room for, in bytes per second.
pub(super) const MAX_CAP: u64 = (1 << 48) - 1;
const CHECKSUM: usize = 4;
const CS6: u8 = 48;
const DONT_FRAGMENT: u16 = 0x4000;

/// How much of a detour to `target` is to be had: sent each T_p while the primary interface wants
/// one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Probe {
    /// The requesting router.
    pub from: RouterId,
    /// The router for which traffic would be detoured.
    pub target: RouterId,
    /// The asking router's own interface that is congested: two links to one target are two
    /// contenders.
    pub primary: PortId,
    /// False in the last probe: the asker no longer contends.
    pub wants: bool,
    /// When it was sent, on the asker's clock; the answer echoes it.
    pub sent: Time,
    /// True if something else limits it: it would not use a larger share of this interface.
    pub limited: bool,
    /// Time between probes as the asker does it now: T_p, or its round trip if that is longer.
    pub interval: Span,
}

/// Delta+ and Delta- of one interface for one asker (paper, equation 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Feedback {
    /// The answering router.
    pub from: RouterId,
    /// As in the probe.
    pub target: RouterId,
    /// As in the probe.
    pub primary: PortId,
    /// As in the last probe.
    pub sent: Time,
    /// True if the interface to the target is in the push state. If false, the rates are zero.
    pub open: bool,
    /// Delta+ in bytes per second.
    pub increase: u64,
    /// Delta- in units of 2^-32; `u32::MAX` stands for 1.
    pub decrease: u32,
    /// The capacity that others leave: no more than this, in bytes per second.
    pub cap: u64,
    /// By how much the link to the target takes longer than the one to the asker, in milliseconds;
    /// less than zero: it takes less.
    pub longer_ms: i16,
}

/// One packet of the list of a router's neighbours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Neighbours {
    /// Whose.
    pub from: RouterId,
    /// Rises with every change of the list, and over restarts.
    pub version: u64,
    /// The version of the last complete list that came from the other end; 0: none came.
    pub seen: u64,
    /// Which packet of the list this is, from 0.
    pub chunk: u16,
    /// True in the last packet of the list.
    pub last: bool,
    /// Routers at the other ends of links that are up; at most [`LIST_CHUNK`].
    pub routers: Vec<RouterId>,
}

/// A message between neighbouring routers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// A question.
    Probe(Probe),
    /// An answer, or news that comes unasked.
    Feedback(Feedback),
    /// Part of a list.
    Neighbours(Neighbours),
}

/// Why bytes of protocol 253 are no control message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum MessageError {
    /// Longer or shorter than its kind is.
    Length,
    /// It was damaged.
    Checksum,
    /// Not of this protocol, or a kind that it does not have.
    Kind,
    /// A field has an invalid value.
    Field,
}

impl fmt::Display for MessageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MessageError::Length => "control message of a wrong length",
            MessageError::Checksum => "control message with a wrong checksum",
            MessageError::Kind => "control message of an unknown kind",
            MessageError::Field => "control message with a field out of range",
        })
    }
}

impl core::error::Error for MessageError {}

impl Message {
    /// The router that sent it.
    pub fn from(&self) -> RouterId {
        match self {
            Message::Probe(probe) => probe.from,
            Message::Feedback(feedback) => feedback.from,
            Message::Neighbours(list) => list.from,
        }
    }

    /// The packet that carries it over one link.
    pub fn to_packet(&self, arena: &mut Arena) -> Packet {
        let message = self.to_bytes();
        let mut bytes = Vec::with_capacity(IP_HEADER + message.len());
        bytes.extend_from_slice(&ip_header(message.len()));
        bytes.extend_from_slice(&message);
        let cold = Cold { body: Some(bytes.into()), ..Cold::default() };
        let ends = (ALL_ROUTERS, ALL_ROUTERS);
        let mut packet = Packet::opaque(IpVersion::V4, ends, None, cold, arena);
        packet.set_ttl(1);
        packet.set_dont_fragment(true);
        packet
    }

    /// The message in `packet`; None if it is not a control packet, which is then forwarded
    /// like any other.
    pub fn of_packet(packet: &Packet, arena: &Arena) -> Option<Result<Message, MessageError>> {
        if packet.kind() != Kind::Opaque || packet.dst() != ALL_ROUTERS {
            return None;
        }
        let bytes = packet.cold_part(arena)?.body.as_ref()?;
        // An IPv4 header with options, or a fragment, is nothing that a router sends.
        let (header, message) = bytes.split_first_chunk::<IP_HEADER>()?;
        let whole = u16::from_be_bytes([header[6], header[7]]) & !DONT_FRAGMENT == 0;
        (header[0] == 0x45 && header[9] == PROTOCOL && whole).then(|| Message::parse(message))
    }

    /// The message after the IP header.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (kind, bits, third) = match self {
            Message::Probe(probe) => {
                (1, u8::from(probe.wants) | u8::from(probe.limited) << 1, probe.primary.0)
            }
            Message::Feedback(feedback) => (2, u8::from(feedback.open), feedback.primary.0),
            Message::Neighbours(list) => (3, u8::from(list.last), list.chunk),
        };
        let mut out = Writer(Vec::with_capacity(PROBE_MESSAGE));
        out.u16(MAGIC).u8(kind).u8(bits).u16(0).u16(third).u32(self.from().0);
        match self {
            Message::Probe(probe) => {
                out.u32(probe.target.0).u64(probe.sent.as_nanos());
                out.u64(probe.interval.as_nanos()).u64(0).u32(0);
            }
            Message::Feedback(feedback) => {
                out.u32(feedback.target.0).u64(feedback.sent.as_nanos());
                out.u64(feedback.increase).i16(feedback.longer_ms).u48(feedback.cap);
                out.u32(feedback.decrease);
            }
            Message::Neighbours(list) => {
                assert!(list.routers.len() <= LIST_CHUNK, "a list is cut into packets");
                out.u32(0).u64(list.version).u64(list.seen);
                list.routers.iter().for_each(|router| {
                    out.u32(router.0);
                });
            }
        }
        let mut bytes = out.0;
        let sum = checksum(&bytes);
        bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    /// The inverse of [`Message::to_bytes`], for any bytes: it accepts nothing that `to_bytes`
    /// would not give back.
    pub fn parse(bytes: &[u8]) -> Result<Message, MessageError> {
        let mut from = Reader(bytes);
        if from.u16()? != MAGIC {
            return Err(MessageError::Kind);
        }
        let (kind, bits, stated, third) = (from.u8()?, from.u8()?, from.u16()?, from.u16()?);
        let length_fits = match kind {
            1 | 2 => bytes.len() == PROBE_MESSAGE,
            3 => {
                let listed = bytes.len().checked_sub(LIST_HEADER).ok_or(MessageError::Length)?;
                listed.is_multiple_of(4) && listed / 4 <= LIST_CHUNK
            }
            _ => return Err(MessageError::Kind),
        };
        if !length_fits {
            return Err(MessageError::Length);
        }
        // One's complement has two zeros; a sum over bytes that are not all zero gives only one of
        // them.
        if checksum(bytes) != 0 || stated == 0xffff {
            return Err(MessageError::Checksum);
        }
        if bits > if kind == 1 { 3 } else { 1 } {
            return Err(MessageError::Field);
        }
        let head = Head { bits, third, from: RouterId(from.u32()?) };
        match kind {
            1 => head.probe(from),
            2 => head.feedback(from),
            _ => head.neighbours(from),
        }
    }
}

/// The first 12 bytes of a message.
struct Head {
    bits: u8,
    third: u16,
    from: RouterId,
}

impl Head {
    fn probe(self, mut rest: Reader<'_>) -> Result<Message, MessageError> {
        let probe = Probe {
            from: self.from,
            target: RouterId(rest.u32()?),
            primary: PortId(self.third),
            wants: self.bits & 1 == 1,
            limited: self.bits & 2 == 2,
            sent: Time::from_nanos(rest.u64()?),
            interval: Span::from_nanos(rest.u64()?),
        };
        let zero = rest.u64()? == 0 && rest.u32()? == 0;
        zero.then_some(Message::Probe(probe)).ok_or(MessageError::Field)
    }

    fn feedback(self, mut rest: Reader<'_>) -> Result<Message, MessageError> {
        let feedback = Feedback {
            from: self.from,
            target: RouterId(rest.u32()?),
            primary: PortId(self.third),
            open: self.bits == 1,
            sent: Time::from_nanos(rest.u64()?),
            increase: rest.u64()?,
            longer_ms: rest.i16()?,
            cap: rest.u48()?,
            decrease: rest.u32()?,
        };
        let silent = feedback.increase == 0 && feedback.cap == 0 && feedback.decrease == 0;
        (feedback.open || silent).then_some(Message::Feedback(feedback)).ok_or(MessageError::Field)
    }

    fn neighbours(self, mut rest: Reader<'_>) -> Result<Message, MessageError> {
        let zero = rest.u32()? == 0;
        let (version, seen) = (rest.u64()?, rest.u64()?);
        let (ids, _) = rest.0.as_chunks::<4>();
        let routers = ids.iter().map(|id| RouterId(u32::from_be_bytes(*id))).collect();
        if !zero || version == 0 {
            return Err(MessageError::Field);
        }
        let (from, chunk, last) = (self.from, self.third, self.bits == 1);
        Ok(Message::Neighbours(Neighbours { from, version, seen, chunk, last, routers }))
    }
}

/// The IPv4 header (RFC 791 section 3.1) before a message of `len` bytes.
fn ip_header(len: usize) -> [u8; IP_HEADER] {
    let [_, b, c, d] = ALL_ROUTERS.0.to_be_bytes();
    let total_len = u16::try_from(IP_HEADER + len).expect("messages fit 1500 bytes").to_be_bytes();
    let mut header = [0; IP_HEADER];
    header[..2].copy_from_slice(&[0x45, CS6 << 2]);
    header[2..4].copy_from_slice(&total_len);
    header[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
    header[8..10].copy_from_slice(&[1, PROTOCOL]);
    header[12..16].copy_from_slice(&[NETWORK, b, c, d]);
    header[16..20].copy_from_slice(&[NETWORK, b, c, d]);
    let sum = checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header
}

/// The complement of the one's complement sum of 16-bit words (RFC 1071); `bytes` are even in
/// number.
fn checksum(bytes: &[u8]) -> u16 {
    let (words, _) = bytes.as_chunks::<2>();
    let sum: u32 = words.iter().map(|&word| u32::from(u16::from_be_bytes(word))).sum();
    // 1500 bytes have fewer than 2^16 words: two folds do.
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

struct Writer(Vec<u8>);

impl Writer {
    fn u8(&mut self, value: u8) -> &mut Writer {
        self.0.push(value);
        self
    }
    fn u16(&mut self, value: u16) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }
    fn i16(&mut self, value: i16) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }
    /// The largest number that fits, if it does not.
    fn u48(&mut self, value: u64) -> &mut Writer {
        self.0.extend_from_slice(&value.min(MAX_CAP).to_be_bytes()[2..]);
        self
    }
    fn u32(&mut self, value: u32) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }
    fn u64(&mut self, value: u64) -> &mut Writer {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], MessageError> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(MessageError::Length)?;
        self.0 = rest;
        Ok(*taken)
    }
    fn u8(&mut self) -> Result<u8, MessageError> {
        self.take::<1>().map(|[byte]| byte)
    }
    fn u16(&mut self) -> Result<u16, MessageError> {
        self.take().map(u16::from_be_bytes)
    }
    fn i16(&mut self) -> Result<i16, MessageError> {
        self.take().map(i16::from_be_bytes)
    }
    fn u48(&mut self) -> Result<u64, MessageError> {
        let [a, b, c, d, e, f] = self.take()?;
        Ok(u64::from_be_bytes([0, 0, a, b, c, d, e, f]))
    }
    fn u32(&mut self) -> Result<u32, MessageError> {
        self.take().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Result<u64, MessageError> {
        self.take().map(u64::from_be_bytes)
    }
}
