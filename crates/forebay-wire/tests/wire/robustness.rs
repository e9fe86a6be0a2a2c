//! No input makes the parser panic, and what it accepts comes back byte for byte.

use crate::make::*;
use forebay_base::{Arena, Packet, Rng};
use forebay_wire::{AddressPlan, emit, join, parse, patch};

/// True if `bytes` were accepted; then the packet stands for exactly these bytes.
fn check(bytes: &[u8], arena: &mut Arena) -> Option<Packet> {
    let plan = AddressPlan::default();
    let packet = parse(bytes, &plan, arena).ok()?;
    let mut again = vec![];
    emit(&packet, arena, &plan, &mut again).unwrap();
    assert_eq!(again, bytes);
    assert_eq!(bytes.len(), usize::from(packet.wire_len()));
    Some(packet)
}

fn noise(rng: &mut Rng) -> Vec<u8> {
    let len = rng.below(120) as usize;
    let mut bytes: Vec<u8> = (0..len).map(|_| rng.next_u64() as u8).collect();
    if let (Some(first), true) = (bytes.first_mut(), rng.chance(0.9)) {
        *first = [0x45, 0x46, 0x4f, 0x60][rng.below(4) as usize];
    }
    bytes
}

#[test]
fn random_bytes_never_panic() {
    let (mut rng, mut arena) = (rng(4), Arena::default());
    for _ in 0..100_000 {
        let mut bytes = noise(&mut rng);
        if let Some(packet) = check(&bytes, &mut arena) {
            arena.free(packet);
        }
        // Errors only: whatever it does, it stays within the bytes.
        let _ = patch(&mut bytes, 1, forebay_base::Ecn::Ce);
    }
    assert_eq!(arena.live(), 0);
}

/// Random bytes with the addresses, length and checksums of a packet: these reach every branch.
fn plausible(rng: &mut Rng) -> Vec<u8> {
    let mut bytes = noise(rng);
    let len = bytes.len();
    if len >= 20 && bytes[0] >> 4 == 4 {
        bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        (bytes[12], bytes[16]) = (10, 10);
        bytes[6] &= if rng.chance(0.8) { 0x40 } else { 0xff };
        bytes[7] &= if rng.chance(0.8) { 0 } else { 0xff };
        bytes[9] = [6, bytes[9]][rng.below(2) as usize];
        if let Some(offset) = bytes.get_mut(32) {
            *offset = (*offset & 0x7f) | 0x50;
        }
    } else if len >= 40 {
        bytes[4..6].copy_from_slice(&(len as u16 - 40).to_be_bytes());
        for at in [8, 24] {
            bytes[at..at + 12].copy_from_slice(&[0xfd, 0, 0xf0, 0xbe, 0, 0, 0, 0, 0, 0, 0, 0]);
        }
        bytes[6] = [6, bytes[6]][rng.below(2) as usize];
        if let Some(offset) = bytes.get_mut(52) {
            *offset = (*offset & 0x7f) | 0x50;
        }
    }
    fix_checksums(&mut bytes);
    bytes
}

#[test]
fn plausible_bytes_come_back_byte_for_byte() {
    let (mut rng, mut arena) = (rng(5), Arena::default());
    let mut seen = [0u32; 3];
    for _ in 0..100_000 {
        if let Some(packet) = check(&plausible(&mut rng), &mut arena) {
            seen[packet.kind() as usize] += 1;
            arena.free(packet);
        }
    }
    assert_eq!(arena.live(), 0);
    assert!(seen.iter().all(|&n| n > 2000), "{seen:?}");
}

#[test]
fn mutated_packets_come_back_or_are_refused() {
    let (mut rng, mut arena) = (rng(6), Arena::default());
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..100_000 {
        let packet = random_packet(&mut rng, &mut arena);
        let mut bytes = bytes_of(&packet, &arena);
        arena.free(packet);
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(bytes.len().min(100) as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
        match rng.below(8) {
            0 => bytes.truncate(rng.below(bytes.len() as u64) as usize),
            1 => bytes.push(0),
            2..=5 => fix_checksums(&mut bytes),
            _ => {}
        }
        match check(&bytes, &mut arena) {
            Some(packet) => {
                accepted += 1;
                arena.free(packet);
            }
            None => refused += 1,
        }
    }
    assert_eq!(arena.live(), 0);
    assert!(accepted > 20_000 && refused > 20_000, "{accepted} {refused}");
}

#[test]
fn random_sets_of_pieces_never_panic() {
    let (mut rng, mut arena) = (rng(7), Arena::default());
    for _ in 0..20_000 {
        let mut packets: Vec<Packet> =
            (0..rng.below(4)).map(|_| random_packet(&mut rng, &mut arena)).collect();
        let before = packets.len();
        match join(&mut packets, &AddressPlan::default(), &mut arena) {
            Ok(whole) => {
                assert!(packets.is_empty());
                arena.free(whole);
            }
            Err(_) => assert_eq!(packets.len(), before),
        }
        packets.into_iter().for_each(|p| arena.free(p));
    }
    assert_eq!(arena.live(), 0);
}
