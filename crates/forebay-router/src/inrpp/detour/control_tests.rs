//! Message messages against the drawing in `control`, against `forebay-wire`, and against hostile
//! bytes.

use super::control::{
    ALL_ROUTERS, Feedback, LIST_CHUNK, MAX_CAP, Message, MessageError, Neighbours, PROBE_BYTES,
    Probe,
};
use alloc::vec::Vec;
use forebay_base::{Arena, Kind, PortId, Rng, Span, Stream, Time};
use forebay_signal::inrpp::RouterId;
use forebay_wire::{AddressPlan, emit, parse};

fn probe() -> Probe {
    Probe {
        from: RouterId(0x0102_0304),
        target: RouterId(0x0506_0708),
        primary: PortId(0x090A),
        wants: true,
        limited: false,
        sent: Time::from_nanos(0x1112_1314_1516_1718),
        interval: Span::from_nanos(0x2122_2324_2526_2728),
    }
}

fn any_message(rng: &mut Rng) -> Message {
    let ids = (RouterId(rng.next_u64() as u32), RouterId(rng.next_u64() as u32));
    let (primary, flag) = (PortId(rng.next_u64() as u16), rng.next_u64() & 1 == 1);
    let (from, target) = ids;
    let mut rate = || if flag { rng.next_u64() } else { 0 };
    match (rate(), rate()) {
        (increase, cap) if flag => Message::Feedback(Feedback {
            decrease: (increase ^ cap) as u32,
            sent: Time::from_nanos(cap),
            ..Feedback {
                from,
                target,
                primary,
                sent: Time::ZERO,
                open: true,
                increase,
                decrease: 0,
                cap: cap.min(MAX_CAP),
                longer_ms: cap as i16,
            }
        }),
        _ if rng.below(2) == 0 => {
            let (sent, interval) = (rng.next_u64(), rng.next_u64());
            let (sent, interval) = (Time::from_nanos(sent), Span::from_nanos(interval));
            let limited = rng.below(2) == 0;
            Message::Probe(Probe {
                limited,
                from,
                target,
                primary,
                wants: rng.below(2) == 0,
                sent,
                interval,
            })
        }
        _ => {
            let count = rng.below(LIST_CHUNK as u64 + 1);
            let routers = (0..count).map(|_| RouterId(rng.next_u64() as u32)).collect();
            let (version, seen) = (rng.next_u64().max(1), rng.next_u64());
            let (chunk, last) = (primary.0, rng.below(2) == 0);
            Message::Neighbours(Neighbours { from, version, seen, chunk, last, routers })
        }
    }
}

#[test]
fn the_bytes_are_those_of_the_drawing() {
    let mut arena = Arena::default();
    let packet = Message::Probe(probe()).to_packet(&mut arena);
    assert_eq!((packet.wire_len(), packet.kind(), packet.ttl()), (PROBE_BYTES, Kind::Opaque, 1));
    let body = packet.cold_part(&arena).unwrap().body.clone().unwrap();
    // Header sum by hand: 45c0 + 0040 + 4000 + 01fd + 2 (0aff + ffff) = 29df9; 9df9 + 2 = 9dfb; ~
    // = 6204.
    let header = [
        0x45, 0xC0, 0, 64, 0, 0, 0x40, 0, 1, 253, 0x62, 0x04, 10, 255, 255, 255, 10, 255, 255, 255,
    ];
    assert_eq!(body[..20], header);
    assert_eq!(body[20..24], [0xF0, 0xBE, 1, 1]);
    assert_eq!(body[26..36], [9, 10, 1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(body[36..44], [0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18]);
    assert_eq!(body[44..52], [0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28]);
    assert_eq!(body[52..], [0; 12]);
}

#[test]
fn what_a_machine_says_a_wire_carries() {
    let (plan, mut rng) = (AddressPlan::default(), Rng::new(1, Stream::Test, 0));
    for _ in 0..2_000 {
        let (message, mut arena) = (any_message(&mut rng), Arena::default());
        let packet = message.to_packet(&mut arena);
        let mut bytes = Vec::new();
        emit(&packet, &arena, &plan, &mut bytes).unwrap();
        assert!(bytes.len() <= 1500);
        assert_eq!(bytes[..], packet.cold_part(&arena).unwrap().body.as_ref().unwrap()[..]);
        let back = parse(&bytes, &plan, &mut arena).expect("a right IP header and known addresses");
        assert_eq!(back.digest(&arena), packet.digest(&arena));
        assert_eq!(back.dst(), ALL_ROUTERS);
        assert_eq!(Message::of_packet(&back, &arena), Some(Ok(message)));
    }
}

#[test]
fn accepted_bytes_are_given_back_and_damage_is_seen() {
    let mut rng = Rng::new(2, Stream::Test, 0);
    let mut accepted = 0;
    for _ in 0..50_000 {
        let mut bytes = any_message(&mut rng).to_bytes();
        match rng.below(4) {
            0 => bytes.truncate(rng.below(bytes.len() as u64) as usize),
            1 => bytes.extend((0..1 + rng.below(5)).map(|i| i as u8)),
            2 => bytes = (0..rng.below(80)).map(|_| rng.next_u64() as u8).collect(),
            // Two bytes changed such that the sum may hold again.
            _ => {
                let at = |rng: &mut Rng| rng.below(bytes.len() as u64) as usize;
                let (a, b, by) = (at(&mut rng), at(&mut rng), rng.below(4) as u8);
                bytes[a] = bytes[a].wrapping_add(by);
                bytes[b] = bytes[b].wrapping_sub(by);
            }
        }
        if let Ok(message) = Message::parse(&bytes) {
            assert_eq!(message.to_bytes(), bytes);
            accepted += 1;
        }
    }
    assert!(accepted > 1_000, "the mutations must reach beyond the checksum: {accepted}");
    let clean = Message::Probe(probe()).to_bytes();
    for bit in 0..clean.len() * 8 {
        let mut bytes = clean.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        assert!(Message::parse(&bytes).is_err(), "bit {bit}");
    }
}

#[test]
fn each_refusal_has_its_reason() {
    let sealed = |mut bytes: Vec<u8>| {
        bytes[4..6].fill(0);
        let (words, _) = bytes.as_chunks::<2>();
        let sum = words.iter().fold(0u64, |sum, &w| sum + u64::from(u16::from_be_bytes(w)));
        let sum = sum % 0xffff;
        let field = if sum == 0 { 0 } else { !(sum as u16) };
        bytes[4..6].copy_from_slice(&field.to_be_bytes());
        Message::parse(&bytes)
    };
    let clean = Message::Probe(probe()).to_bytes();
    let with = |at: usize, value: u8| {
        let mut bytes = clean.clone();
        bytes[at] = value;
        sealed(bytes)
    };
    assert_eq!(sealed(clean.clone()), Ok(Message::Probe(probe())));
    assert_eq!(with(0, 0), Err(MessageError::Kind));
    assert_eq!(with(2, 4), Err(MessageError::Kind));
    assert_eq!(with(2, 0), Err(MessageError::Kind));
    assert_eq!(with(3, 3), Ok(Message::Probe(Probe { limited: true, ..probe() })));
    assert_eq!(with(3, 4), Err(MessageError::Field));
    assert_eq!(with(43, 1), Err(MessageError::Field), "what is drawn as zero is zero");
    assert_eq!(sealed(clean[..42].to_vec()), Err(MessageError::Length));
    assert_eq!(Message::parse(&clean[..3]), Err(MessageError::Length));
    let mut closed = clean.clone();
    closed[2..4].copy_from_slice(&[2, 0]);
    assert_eq!(sealed(closed), Err(MessageError::Field), "closed, and yet with rates");
}
