//! A middlebox on a link: what it changes in packets, and which it does not pass.
//!
//! It stands after the transmitter and before the wire, so that it sees packets in the order in
//! which they leave, and losses of the link come after it. It needs no timer: fragments that wait
//! for others longer than a host would wait end when the next fragment comes.

use super::recording::Recording;
use crate::reassembly::{Reassembly, join};
use alloc::vec::Vec;
use forebay_base::{Arena, DropLog, DropReason, IpVersion, Kind, OptionList, Packet, Time, kind};
use forebay_wire::AddressPlan;

/// Functions of a middlebox. The default passes every packet as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MiddleboxSpec {
    /// TCP options that it overwrites with NOP, in segments that come whole.
    pub strip: StripOptions,
    /// It sets DF in TCP segments that come whole.
    pub set_df: bool,
    /// What becomes of IPv4 fragments.
    pub fragments: Fragments,
    /// It records packets with signals of INRPP routers, for [`crate::NetEvent::Replay`].
    pub records: bool,
}

/// TCP options that a middlebox overwrites with NOP, as netfilter's TCPOPTSTRIP does: no header
/// changes its length. Timestamps are never among them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StripOptions {
    /// None.
    #[default]
    None,
    /// All but those of RFC 9293 section 3.2, RFC 7323 and RFC 2018: kinds 0 to 5 and 8.
    Unknown,
    /// These kinds.
    Kinds(Vec<u8>),
}

impl StripOptions {
    fn takes(&self, option: u8) -> bool {
        match self {
            StripOptions::None => false,
            StripOptions::Unknown => option > kind::SACK && option != kind::TIMESTAMPS,
            StripOptions::Kinds(kinds) => kinds.contains(&option),
        }
    }
}

/// Treatment of IPv4 fragments by a middlebox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fragments {
    /// It passes them.
    #[default]
    Pass,
    /// It drops them: [`DropReason::Middlebox`].
    Drop,
    /// It reassembles datagrams and sends them on whole, as far as the MTU of the link allows;
    /// else as they came.
    Whole,
    /// It holds fragments until all of a datagram are there, and sends them on as they came, in
    /// order of offset. Linux does so where it tracks connections.
    Pieces,
}

/// Counters of a middlebox.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MiddleboxCounts {
    /// TCP options overwritten.
    pub options_stripped: u64,
    /// Packets in which it set DF.
    pub df_set: u64,
    /// Fragments that ended in a datagram that went on whole, one less than it had.
    pub fragments_merged: u64,
}

/// See the module.
pub(crate) struct Middlebox {
    spec: MiddleboxSpec,
    mtu_bytes: u16,
    plan: AddressPlan,
    reassembly: Reassembly,
    counts: MiddleboxCounts,
    recording: Recording,
}

/// What a middlebox sends on for a packet that came.
pub(crate) enum Passed {
    /// Nothing: it dropped or holds the packet.
    Nothing,
    /// One packet.
    One(Packet),
    /// The fragments of a datagram.
    Pieces(Vec<Packet>),
}

impl Middlebox {
    /// One on a link of this MTU.
    pub fn new(spec: MiddleboxSpec, mtu_bytes: u16, plan: AddressPlan) -> Middlebox {
        let (reassembly, counts) = (Reassembly::default(), MiddleboxCounts::default());
        let recording = Recording::default();
        Middlebox { spec, mtu_bytes, plan, reassembly, counts, recording }
    }
    /// What it has recorded.
    pub fn recording(&self) -> &Recording {
        &self.recording
    }
    /// Its counters.
    pub fn counts(&self) -> MiddleboxCounts {
        self.counts
    }
    /// Fragments that it holds.
    pub fn held_packets(&self) -> u64 {
        self.reassembly.held_packets()
    }

    /// A packet has left the transmitter at `now`.
    pub fn on_packet(
        &mut self,
        now: Time,
        mut packet: Packet,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Passed {
        match packet.kind() {
            // Who drops what has a Fragment header does not look whether it is one of several.
            Kind::Tcp
                if self.spec.fragments == Fragments::Drop
                    && packet.version() == IpVersion::V6
                    && !packet.dont_fragment() =>
            {
                drops.record(packet, DropReason::Middlebox, arena);
                Passed::Nothing
            }
            Kind::Tcp => {
                self.change(&mut packet, arena);
                if self.spec.records {
                    self.recording.look(now, &packet, arena);
                }
                Passed::One(packet)
            }
            Kind::Opaque => Passed::One(packet),
            Kind::Fragment => self.on_piece(now, packet, arena, drops),
        }
    }

    fn change(&mut self, packet: &mut Packet, arena: &mut Arena) {
        if self.spec.set_df && packet.version() == IpVersion::V4 && !packet.dont_fragment() {
            packet.set_dont_fragment(true);
            self.counts.df_set += 1;
        }
        let Some(cold) = packet.cold_part(arena) else { return };
        if !cold.tcp_options.iter().any(|option| self.spec.strip.takes(option.kind)) {
            return;
        }
        let mut options = cold.tcp_options;
        self.counts.options_stripped += strip(&mut options, &self.spec.strip);
        let fits = packet.set_tcp_options(options, arena);
        fits.expect("options of the same length, without timestamps more");
    }

    fn on_piece(
        &mut self,
        now: Time,
        packet: Packet,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Passed {
        match self.spec.fragments {
            Fragments::Pass => Passed::One(packet),
            Fragments::Drop => {
                drops.record(packet, DropReason::Middlebox, arena);
                Passed::Nothing
            }
            Fragments::Whole | Fragments::Pieces => {
                let pieces = self.reassembly.take_pieces(now, packet, arena, drops);
                pieces.map_or(Passed::Nothing, |pieces| self.on_datagram(pieces, arena, drops))
            }
        }
    }

    /// All fragments of a datagram are there.
    fn on_datagram(
        &mut self,
        pieces: Vec<Packet>,
        arena: &mut Arena,
        drops: &mut DropLog,
    ) -> Passed {
        let body: u64 = pieces.iter().map(|piece| u64::from(piece.payload_len())).sum();
        let header = u64::from(pieces[0].header_len());
        let fits = header + body <= u64::from(self.mtu_bytes);
        if self.spec.fragments == Fragments::Pieces || !fits {
            return Passed::Pieces(pieces);
        }
        let left_host_at = pieces[0].left_host_at();
        let Some((mut whole, count)) = join(pieces, &self.plan, arena, drops) else {
            return Passed::Nothing;
        };
        whole.set_left_host_at(left_host_at);
        self.counts.fragments_merged += count - 1;
        self.change(&mut whole, arena);
        Passed::One(whole)
    }
}

/// Overwrite options with NOP; how many.
fn strip(options: &mut OptionList, which: &StripOptions) -> u64 {
    let (bytes, mut at, mut count) = (options.as_bytes_mut(), 0, 0);
    while let Some(&[option, ref rest @ ..]) = bytes.get(at..) {
        at += match (option, rest.first().map(|&len| usize::from(len))) {
            (kind::END, _) => return count,
            (kind::NOP, _) => 1,
            (_, Some(len)) if len >= 2 && at + len <= bytes.len() => {
                if which.takes(option) {
                    bytes[at..at + len].fill(kind::NOP);
                    count += 1;
                }
                len
            }
            _ => return count, // malformed
        };
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Addr, Endpoint, TcpFields};

    fn options(bytes: &[u8]) -> OptionList {
        OptionList::from_bytes(bytes).unwrap()
    }

    /// RFC 9293 section 3.1: NOP is one byte of 1. The bytes of an offer of "KA" and of a window
    /// scale, by hand.
    #[test]
    fn what_is_stripped_becomes_nops_and_nothing_moves() {
        let offer = [3, 3, 7, 253, 6, 0x4B, 0x41, 0x10, 0, 4, 2];
        let mut list = options(&offer);
        assert_eq!(strip(&mut list, &StripOptions::Unknown), 1);
        assert_eq!(list.as_bytes(), [3, 3, 7, 1, 1, 1, 1, 1, 1, 4, 2]);
        let mut list = options(&offer);
        assert_eq!(strip(&mut list, &StripOptions::Kinds(alloc::vec![3, 4])), 2);
        assert_eq!(list.as_bytes(), [1, 1, 1, 253, 6, 0x4B, 0x41, 0x10, 0, 1, 1]);
        // A length that points outside ends the walk (RFC 9293 MUST-7).
        for odd in [&[253, 9, 0][..], &[253], &[253, 1, 0], &[0, 253, 3, 0]] {
            let mut list = options(odd);
            assert_eq!(strip(&mut list, &StripOptions::Unknown), 0);
            assert_eq!(list.as_bytes(), odd);
        }
    }

    #[test]
    fn a_packet_keeps_its_length_and_its_df_is_set_once() {
        let (mut arena, mut drops) = (Arena::default(), DropLog::default());
        let end = |addr| Endpoint { addr: Addr(addr), port: 9 };
        let fields = TcpFields { timestamps: Some((1, 2)), ..TcpFields::default() };
        let mut packet = Packet::tcp(IpVersion::V4, end(1), end(2), fields, 100);
        packet.set_dont_fragment(false);
        let mut list = OptionList::EMPTY;
        list.push_experiment(0x4B41, &[0x10, 0]).unwrap();
        packet.set_tcp_options(list, &mut arena).unwrap();
        let before = packet.wire_len();
        let spec = MiddleboxSpec {
            strip: StripOptions::Unknown,
            set_df: true,
            ..MiddleboxSpec::default()
        };
        let mut middlebox = Middlebox::new(spec, 1500, AddressPlan::default());
        let Passed::One(packet) = middlebox.on_packet(Time::ZERO, packet, &mut arena, &mut drops)
        else {
            panic!("it passes whole packets")
        };
        let Passed::One(packet) = middlebox.on_packet(Time::ZERO, packet, &mut arena, &mut drops)
        else {
            panic!("it passes whole packets")
        };
        let counts = MiddleboxCounts { options_stripped: 1, df_set: 1, fragments_merged: 0 };
        assert_eq!(middlebox.counts(), counts);
        assert!(packet.dont_fragment());
        assert_eq!(packet.wire_len(), before);
        assert_eq!(packet.tcp_fields().unwrap().timestamps, Some((1, 2)));
        let list = packet.cold_part(&arena).unwrap().tcp_options;
        assert_eq!((list.find_experiment(0x4B41), list.iter().count()), (None, 0));
        arena.free(packet);
        assert_eq!(arena.live(), 0);
    }
}
