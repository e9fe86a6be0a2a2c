use super::*;
use crate::inrpp::{
    BackPressure, BackPressureSignal, Echo, Found, Nonce, Notice, PathDigest, Returned, find_all,
};
use alloc::vec;
use forebay_base::{Addr, Endpoint, IpVersion, TcpFields, TcpFlags};

/// SipHash-2-4 as its paper has it (Aumasson and Bernstein 2012, section 2).
fn siphash(key: [u64; 2], message: &[u8]) -> u64 {
    let mut v = [
        key[0] ^ 0x736f_6d65_7073_6575,
        key[1] ^ 0x646f_7261_6e64_6f6d,
        key[0] ^ 0x6c79_6765_6e65_7261,
        key[1] ^ 0x7465_6462_7974_6573,
    ];
    fn round(v: &mut [u64; 4]) {
        for (a, b, turn, half) in [(0, 1, 13, true), (2, 3, 16, false)] {
            v[a] = v[a].wrapping_add(v[b]);
            v[b] = v[b].rotate_left(turn) ^ v[a];
            if half {
                v[a] = v[a].rotate_left(32);
            }
        }
        for (a, b, turn, half) in [(2, 1, 17, true), (0, 3, 21, false)] {
            v[a] = v[a].wrapping_add(v[b]);
            v[b] = v[b].rotate_left(turn) ^ v[a];
            if half {
                v[a] = v[a].rotate_left(32);
            }
        }
    }
    let mut padded = message.to_vec();
    padded.resize(message.len() / 8 * 8 + 7, 0);
    padded.push(message.len() as u8);
    for word in padded.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())) {
        v[3] ^= word;
        (0..2).for_each(|_| round(&mut v));
        v[0] ^= word;
    }
    v[2] ^= 0xff;
    (0..4).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

fn packet(flags: TcpFlags, seq: u32, ack: u32) -> Packet {
    let end = |id, port| Endpoint { addr: Addr(id), port };
    let fields = TcpFields { seq, ack, flags, ..TcpFields::default() };
    Packet::tcp(IpVersion::V4, end(0x0102_0304, 80), end(0x0a0b_0c0d, 5001), fields, 0)
}

fn secret() -> LinkSecret {
    LinkSecret::new(b"sixteen bytes or more").unwrap()
}

/// Keys of two neighbours for the link between them.
fn neighbours() -> [LinkKeys; 2] {
    let (one, other) = (RouterId(1), RouterId(2));
    [LinkKeys::new(secret(), one, other), LinkKeys::new(secret(), other, one)]
}

fn asks() -> BackPressure {
    let nonce = Nonce::new(0x0506_0708);
    BackPressure { ask: BackPressureSignal::SlowDown, routers: 3, nonce, ..BackPressure::default() }
}

fn with_room() -> OptionList {
    let mut options = OptionList::EMPTY;
    asks().push_guarded(&mut options).unwrap();
    options
}

#[test]
fn the_code_is_siphash_of_the_bytes_of_the_page() {
    // The vector of the paper's appendix A.
    let key = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
    let message: Vec<u8> = (0..15).collect();
    assert_eq!(siphash(key, &message), 0xa129_ca61_49be_45e5);
    let packet = packet(TcpFlags::ACK, 0x1112_1314, 0x2122_2324);
    let mut options = OptionList::EMPTY;
    asks().push_guarded_on_syn(PathDigest(0x3132_3334), &mut options).unwrap();
    let on_syn = guarded(&options).unwrap();
    let message = [[1, 2, 3, 4, 10, 11, 12, 13], [0, 80, 0x13, 0x89, 0x21, 0x22, 0x23, 0x24]];
    let mut message = message.concat();
    message.extend([1, 3, 5, 6, 7, 8, 0]);
    let of_key = SipHasher24::new_with_keys(key[0], key[1]);
    let expected = |message: &[u8]| siphash(key, message).to_be_bytes()[..6].to_vec();
    let ack = with_room();
    let on_ack = guarded(&ack).unwrap();
    assert_eq!(code(&of_key, on_ack.carrier, on_ack.data, &packet).to_vec(), expected(&message));
    message.extend([0x31, 0x32, 0x33, 0x34]);
    assert_eq!(code(&of_key, on_syn.carrier, on_syn.data, &packet).to_vec(), expected(&message));
    // A notice: the sequence number, and another carrier.
    message[12..16].copy_from_slice(&[0x11, 0x12, 0x13, 0x14]);
    message[22] = 1;
    let of_notice = code(&of_key, Carrier::Data, on_syn.data, &packet);
    assert_eq!(of_notice.to_vec(), expected(&message));
}

#[test]
fn what_a_neighbour_signs_is_confirmed_and_nothing_else() {
    let [mut one, mut other] = neighbours();
    let (now, ack) = (Time::from_secs(1), packet(TcpFlags::ACK, 1, 1000));
    let mut options = with_room();
    one.sign(now, guarded_mut(&mut options).unwrap(), &ack);
    let ok = |keys: &mut LinkKeys, options: &OptionList, packet: &Packet| {
        guarded(options).is_some_and(|option| keys.confirms(now, &option, packet))
    };
    assert!(ok(&mut other, &options, &ack));
    assert_eq!(BackPressure::find(&options), Some(asks()), "it is read as without a code");
    // Any bit of the option after its ExID.
    for at in 4..options.len() {
        for bit in 0..8 {
            let mut changed = options;
            changed.as_bytes_mut()[at] ^= 1 << bit;
            assert!(!ok(&mut other, &changed, &ack), "byte {at}, bit {bit}");
        }
    }
    // Another packet; back to who has signed it; under another secret; from another router.
    assert!(!ok(&mut other, &options, &packet(TcpFlags::ACK, 1, 1001)));
    assert!(ok(&mut other, &options, &packet(TcpFlags::ACK, 2, 1000)), "retransmitted data");
    assert!(!ok(&mut one, &options, &ack), "reflected");
    let secret = LinkSecret::new(b"sixteen bytes or less").unwrap();
    assert!(!ok(&mut LinkKeys::new(secret, RouterId(2), RouterId(1)), &options, &ack));
    assert!(!ok(&mut LinkKeys::new(self::secret(), RouterId(2), RouterId(3)), &options, &ack));
    // The same bytes as a notice.
    let mut moved = options;
    moved.as_bytes_mut()[3] = 0xB3;
    assert!(guarded(&moved).is_some() && !ok(&mut other, &moved, &ack));
    assert_eq!(LinkSecret::new(&[0; 15]), Err(ShortSecret(15)));
}

#[test]
fn a_code_holds_for_its_epoch_and_the_next() {
    let [mut one, _] = neighbours();
    let ack = packet(TcpFlags::ACK, 1, 1000);
    let at = Time::from_secs(10 * 256 + 19);
    let mut options = with_room();
    one.sign(at, guarded_mut(&mut options).unwrap(), &ack);
    let option = guarded(&options).unwrap();
    for (later_s, expected) in [(0, true), (1, true), (10, true), (11, false), (10 * 256, false)] {
        let [_, mut other] = neighbours();
        let now = at + Span::from_secs(later_s);
        assert_eq!(other.confirms(now, &option, &ack), expected, "after {later_s} s");
    }
}

#[test]
fn the_digest_of_a_syn_ack_is_in_the_option_and_under_its_code() {
    let [mut one, mut other] = neighbours();
    let (now, packet) = (Time::ZERO, packet(TcpFlags::SYN.with(TcpFlags::ACK), 0, 1));
    let mut options = OptionList::EMPTY;
    asks().push_guarded_on_syn(PathDigest(7), &mut options).unwrap();
    assert_eq!(options.len(), usize::from(GUARDED_SYN_BYTES));
    assert_eq!(PathDigest::find(&options), Some(PathDigest(7)));
    assert!(PathDigest(9).overwrite(&mut options));
    one.sign(now, guarded_mut(&mut options).unwrap(), &packet);
    assert!(other.confirms(now, &guarded(&options).unwrap(), &packet));
    assert!(PathDigest(10).overwrite(&mut options));
    assert!(!other.confirms(now, &guarded(&options).unwrap(), &packet));
    assert_eq!(BackPressure::find(&options), Some(asks()));
    assert!(!PathDigest(1).overwrite(&mut with_room()), "an ACK has none");
}

#[test]
fn options_are_found_wherever_they_are_and_not_where_they_are_not() {
    let lists = |first: &dyn Fn(&mut OptionList)| {
        let mut after = OptionList::EMPTY;
        after.push(kind::SACK, &[0; 8]).unwrap();
        let mut alone = OptionList::EMPTY;
        [&mut alone, &mut after].into_iter().for_each(first);
        let mut before = alone;
        before.push(kind::SACK, &[0; 8]).unwrap();
        vec![alone, before, after]
    };
    for options in lists(&|options| asks().push_guarded(options).unwrap()) {
        assert_eq!(guarded(&options).unwrap().carrier, Carrier::Ack);
        assert_eq!(find_all(&options).back_pressure, Some(asks()));
        let mut void = options;
        assert!(make_void(&mut void) && !make_void(&mut void));
        assert_eq!((void.len(), guarded(&void)), (options.len(), None));
        let speaks = Found { echo: Some(Echo(None)), ..Found::default() };
        assert_eq!((find_all(&void), BackPressure::find(&void)), (speaks, None));
    }
    for options in lists(&|options| Notice(asks()).push_guarded(options).unwrap()) {
        assert_eq!(guarded(&options).unwrap().carrier, Carrier::Data);
        assert_eq!(find_all(&options).notice, Some(Notice(asks())));
        let other = BackPressure { routers: 4, ..asks() };
        let mut written = options;
        assert!(Notice(other).overwrite(&mut written));
        assert_eq!(Notice::find(&written), Some(Notice(other)));
    }
    for options in lists(&|options| asks().push(options).unwrap())
        .into_iter()
        .chain(lists(&|options| Returned(asks()).push(options).unwrap()))
        .chain(lists(&|options| Echo(None).push(options).unwrap()))
    {
        assert_eq!(guarded(&options), None);
    }
}

/// Option bytes beside those of a SYN-ACK, ACK or data: timestamps and a data sequence signal (RFC
/// 8684 section 3.3) of MPTCP.
fn beside(stamped: bool, dss: usize) -> OptionList {
    let mut options = OptionList::EMPTY;
    if stamped {
        options.push(8, &[0; 8]).unwrap();
    }
    if dss > 0 {
        options.push(30, &[0; 26][..dss - 2]).unwrap();
    }
    options
}

/// The table of the page: SACK blocks beside an ACK's signal, and what data and SYN-ACKs have room
/// for.
#[test]
fn what_fits_into_forty_bytes() {
    // SACK blocks that fit: without a code, with one; None: the signal itself does not.
    let blocks = |stamped, dss, guarded: bool| {
        let mut options = beside(stamped, dss);
        let empty = BackPressure::default();
        let pushed =
            if guarded { empty.push_guarded(&mut options) } else { empty.push(&mut options) };
        pushed.ok()?;
        (0..=4).rev().find(|&n| n == 0 || { options }.push(kind::SACK, &[0; 32][..8 * n]).is_ok())
    };
    for (stamped, dss, expected) in [
        (false, 0, [Some(3), Some(2)]),
        (true, 0, [Some(2), Some(1)]),
        (true, 8, [Some(1), Some(0)]),
        (true, 12, [Some(0), Some(0)]),
        (true, 20, [Some(0), None]),
        (false, 28, [Some(0), None]),
        (true, 28, [None, None]),
    ] {
        let found = [false, true].map(|guarded| blocks(stamped, dss, guarded));
        assert_eq!(found, expected, "timestamps {stamped}, DSS {dss}");
    }
    // Data: the echo, a notice, a notice with a code.
    for (stamped, dss, expected) in [
        (true, 0, [true, true, true]),
        (false, 20, [true, true, true]),
        (true, 20, [true, true, false]),
        (false, 28, [true, true, false]),
        (true, 28, [false, false, false]),
    ] {
        let found = [
            Echo(None).push(&mut beside(stamped, dss)).is_ok(),
            Notice::default().push(&mut beside(stamped, dss)).is_ok(),
            Notice::default().push_guarded(&mut beside(stamped, dss)).is_ok(),
        ];
        assert_eq!(found, expected, "timestamps {stamped}, DSS {dss}");
    }
    // A SYN-ACK: MSS, SACK permitted, window scale, and timestamps take 19; MP_CAPABLE 12.
    let digest = PathDigest::default();
    for (more, expected) in [(0, true), (12, false)] {
        let mut options = OptionList::from_bytes(&[1; 40][..19 + more]).unwrap();
        let pushed = BackPressure::default().push_guarded_on_syn(digest, &mut options);
        assert_eq!(pushed.is_ok(), expected);
    }
}
