//! Data sequence signals as no honest peer writes them: the wire can bring anything.

use crate::testing::{Plan, config};
use crate::{Connection, Role};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use forebay_base::{Arena, DropReason, OptionList, Packet, Rng, Span, Stream, Time, kind};

const BYTES: u64 = 200_000;

/// `packet` with `data` as its multipath option.
fn forged(packet: &Packet, data: &[u8], arena: &mut Arena) -> Packet {
    let mut options = OptionList::EMPTY;
    options.push(kind::MPTCP, data).expect("28 bytes fit");
    let mut copy = arena.duplicate(packet);
    copy.set_tcp_options(options, arena).expect("28 bytes fit beside timestamps");
    copy
}

/// The option of a packet, after kind and length, if it is a DSS.
fn dss(packet: &Packet, arena: &Arena) -> Option<Vec<u8>> {
    let options = packet.cold_part(arena)?.tcp_options;
    let data = options.find(kind::MPTCP)?;
    (data[0] & 0xf0 == 0x20).then(|| data.into())
}

/// Where a DSS option has the length of its mapping (RFC 8684 section 3.3, figure 9).
fn length_at(flags: u8) -> usize {
    let ack = [0, 4, 0, 8][usize::from(flags & 3)];
    2 + ack + if flags & 8 == 0 { 4 } else { 8 } + 4
}

/// Length of the mapping and DATA_FIN of an option, after kind and length; None if it has no
/// mapping. MP_CAPABLE has one after two keys (section 3.1, figure 4).
fn mapped(data: &[u8]) -> Option<(u64, bool)> {
    let [subtype, flags, ..] = data else { return None };
    let (at, fin) = match subtype {
        1 => (18, false),
        0x20..0x30 if flags & 4 != 0 => (length_at(*flags), flags & 0x10 != 0),
        _ => return None,
    };
    let length = data.get(at..at + 2)?;
    Some((u64::from(length[0]) << 8 | u64::from(length[1]), fin))
}

/// Two ends and two paths without delay: each packet of the client is handed to the server by
/// `meet`. The server, and what it has received.
fn transfer(mut meet: impl FnMut(&mut Connection, usize, Time, &Packet, &mut Arena)) -> Connection {
    let delays = Vec::from([Span::ZERO; 2]);
    let plan = Plan { delays, ..Plan::new(config(), BYTES) };
    let (mut client, mut server) = (plan.end(Role::Client), plan.end(Role::Server));
    let (mut arena, mut now) = (Arena::default(), Time::ZERO);
    client.open(now);
    for _ in 0..300 {
        now += Span::from_millis(1);
        let mut wire = VecDeque::new();
        for path in 0..2 {
            while let Some(packet) = client.poll_transmit(now, path, &mut arena) {
                wire.push_back((path, packet));
            }
        }
        for (path, packet) in wire.drain(..) {
            meet(&mut server, path, now, &packet, &mut arena);
            arena.free(packet);
        }
        for path in 0..2 {
            while let Some(packet) = server.poll_transmit(now, path, &mut arena) {
                let _ = client.on_packet(now, path, &packet, &arena);
                arena.free(packet);
            }
        }
        client.on_timeout(now);
        server.on_timeout(now);
    }
    server
}

/// In front of each packet with data comes its double, whose mapping has another length: it is
/// refused, and nothing else changes.
#[test]
fn a_mapping_that_is_not_as_long_as_its_payload_is_refused() {
    let mut rng = Rng::new(1, Stream::Test, 0);
    let mut refused = 0;
    let server = transfer(|server, path, now, packet, arena| {
        if let Some(data) = dss(packet, arena)
            && let Some((length, _)) = mapped(&data)
        {
            let mut other = data.clone();
            let wrong = (length as u16).wrapping_add(1 + rng.below(65_535) as u16);
            other[14..16].copy_from_slice(&wrong.to_be_bytes());
            let double = forged(packet, &other, arena);
            let answer = server.on_packet(now, path, &double, arena);
            assert_eq!(answer, Some(DropReason::BadMapping), "{length} {wrong}");
            arena.free(double);
            refused += 1;
        }
        assert_eq!(server.on_packet(now, path, packet, arena), None);
    });
    let progress = server.progress();
    assert_eq!((progress.received_bytes, progress.stream_complete), (BYTES, true));
    assert!(refused as u64 >= BYTES / 1448, "{refused}");
}

/// Any bytes in the place of the option: nothing panics, and what is refused is what has a mapping
/// of another length than the payload.
#[test]
fn any_bytes_may_stand_in_a_signal() {
    let (mut refused, mut taken) = (0, 0);
    for seed in 0..40 {
        let mut rng = Rng::new(seed, Stream::Test, 1);
        transfer(|server, path, now, packet, arena| {
            let forgeries = if dss(packet, arena).is_some() { 4 } else { 0 };
            for _ in 0..forgeries {
                let mut data: Vec<u8> = (0..rng.below(27)).map(|_| rng.next_u64() as u8).collect();
                if rng.chance(0.9) && data.len() >= 16 {
                    data[0] = 0x20;
                    // Close to what is expected, or far away.
                    if rng.chance(0.8) {
                        data[6..10].copy_from_slice(&(rng.below(9) as u32).to_be_bytes());
                    }
                    let fin = u64::from(data[1] >> 4 & 1);
                    let right = (u64::from(packet.payload_len()) + fin) as u16;
                    let at = length_at(data[1]);
                    if rng.chance(0.7) && data.len() >= at + 2 {
                        data[at..at + 2].copy_from_slice(&right.to_be_bytes());
                    }
                }
                let double = forged(packet, &data, arena);
                let wrong = mapped(&data).is_some_and(|(length, fin)| {
                    length != u64::from(packet.payload_len()) + u64::from(fin)
                });
                let answer = server.on_packet(now, path, &double, arena);
                assert!(answer.is_none_or(|_| wrong), "seed {seed}: {data:?}");
                *(if answer.is_some() { &mut refused } else { &mut taken }) += 1;
                arena.free(double);
            }
            let _ = server.on_packet(now, path, packet, arena);
        });
    }
    assert!(refused > 100 && taken > 100, "{refused} {taken}");
}
