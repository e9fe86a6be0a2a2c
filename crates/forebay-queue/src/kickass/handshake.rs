//! Round-trip times from handshakes: the time from a SYN that offers Kick-Ass to the next packet of
//! its flow at this port is a round trip of its path. They say d before any indicator does, which
//! are of flows that heard a code already, and where flows are too short to send one.
//!
//! SYNs that wait are in a table of fixed size; of two in one place the later one is timed. What is
//! sent again is not timed: the answer may be to either (Karn and Partridge, SIGCOMM 1987). A
//! forged SYN costs a place. Forged pairs are samples, as forged indicators are; one in [`GAP`]
//! counts, the interval at which a flow sends indicators.

use super::flows;
use alloc::boxed::Box;
use forebay_base::{Arena, Packet, Span, TcpFlags, Time};
use forebay_signal::kickass::Offer;

const PLACES: usize = 256;
/// Time between two samples.
const GAP: Span = Span::from_millis(100);

/// A SYN came; None: more than once.
type Waiting = (u64, Option<Time>);

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Handshakes {
    waiting: Box<[Option<Waiting>; PLACES]>,
    /// Places that are taken.
    taken: usize,
    last_at: Option<Time>,
}

impl Handshakes {
    pub(super) fn new() -> Handshakes {
        Handshakes { waiting: Box::new([None; PLACES]), taken: 0, last_at: None }
    }
    /// A packet came. The round-trip time of its flow if it is the first one after a SYN.
    #[inline]
    pub(super) fn time(&mut self, packet: &Packet, now: Time, arena: &Arena) -> Option<Span> {
        if self.taken == 0 && packet.payload_len() > 0 {
            return None;
        }
        self.look(packet, now, arena)
    }
    #[inline(never)] // few packets are of handshakes
    fn look(&mut self, packet: &Packet, now: Time, arena: &Arena) -> Option<Span> {
        let is_syn = packet.tcp_fields()?.flags.has(TcpFlags::SYN);
        if self.taken == 0 && !is_syn {
            return None;
        }
        let key = flows::key_of_ends(packet, arena);
        let place = &mut self.waiting[(key % PLACES as u64) as usize];
        let waits = place.filter(|&(of, _)| of == key);
        if is_syn {
            let cold = packet.cold_part(arena)?;
            if waits.is_some() {
                *place = Some((key, None));
            } else if Offer::find(&cold.tcp_options).is_some() {
                self.taken += usize::from(place.is_none());
                *place = Some((key, Some(now)));
            }
            return None;
        }
        let (_, came_at) = waits?;
        *place = None;
        self.taken -= 1;
        let soon = self.last_at.is_some_and(|last| now.since(last) < GAP);
        let rtt = now.since(came_at.filter(|_| !soon)?);
        self.last_at = Some(now);
        Some(rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::{Addr, Endpoint, IpVersion, OptionList, TcpFields};

    fn packet(flow: u32, syn: bool, offers: bool, arena: &mut Arena) -> Packet {
        let end = |addr, port| Endpoint { addr: Addr(addr), port };
        let flags = if syn { TcpFlags::SYN } else { TcpFlags::ACK };
        let fields = TcpFields { flags, ..TcpFields::default() };
        let mut packet = Packet::tcp(IpVersion::V4, end(flow, 9), end(900, 80), fields, 0);
        if offers {
            let mut options = OptionList::EMPTY;
            Offer::default().push(&mut options).unwrap();
            packet.set_tcp_options(options, arena).unwrap();
        }
        packet
    }

    /// The round-trip times of these packets: flow, is it a SYN, does it offer, when in ms.
    fn times(packets: &[(u32, bool, bool, u64)]) -> Vec<Option<u64>> {
        let (mut handshakes, arena) = (Handshakes::new(), &mut Arena::default());
        let mut time = |&(flow, syn, offers, ms): &(u32, bool, bool, u64)| {
            let packet = packet(flow, syn, offers, arena);
            let rtt = handshakes.time(&packet, Time::from_millis(ms), arena);
            rtt.map(|rtt| rtt.as_nanos() / 1_000_000)
        };
        packets.iter().map(&mut time).collect()
    }

    #[test]
    fn a_syn_that_offers_is_timed_to_the_next_packet() {
        let one = [(1, true, true, 5), (2, false, false, 9), (1, false, false, 245)];
        assert_eq!(times(&one), [None, None, Some(240)]);
        assert_eq!(times(&[(1, true, false, 5), (1, false, false, 245)]), [None, None], "no offer");
        let again = [(1, true, true, 0), (1, true, true, 1000), (1, false, false, 1100)];
        assert_eq!(times(&again), [None; 3], "sent twice");
        let thrice = [(1, true, true, 0), (1, true, true, 9), (1, true, true, 27)];
        assert_eq!(times(&[&thrice[..], &[(1, false, false, 30)]].concat()), [None; 4]);
    }

    #[test]
    fn one_sample_counts_in_a_hundred_milliseconds() {
        let pairs =
            |k: u64| [(k as u32, true, true, 20 * k), (k as u32, false, false, 20 * k + 10)];
        let found = times(&(0..20).flat_map(pairs).collect::<Vec<_>>());
        assert_eq!(found.into_iter().flatten().collect::<Vec<_>>(), [10; 4]);
    }

    /// A million forged SYNs take no memory and make no sample; who is not overwritten is timed.
    #[test]
    fn a_flood_of_forged_syns_is_bounded() {
        let (mut handshakes, arena) = (Handshakes::new(), &mut Arena::default());
        for flow in 0..1_000_000 {
            let syn = packet(flow + 1000, true, true, arena);
            assert_eq!(handshakes.time(&syn, Time::from_millis(1), arena), None);
            arena.free(syn);
        }
        assert_eq!(handshakes.taken, PLACES);
        let syn = packet(1, true, true, arena);
        assert_eq!(handshakes.time(&syn, Time::from_millis(2), arena), None);
        let ack = packet(1, false, false, arena);
        let rtt = handshakes.time(&ack, Time::from_millis(9), arena);
        assert_eq!(rtt, Some(Span::from_millis(7)));
    }
}
