//! Any bytes may come over a wire: damaged, cut, forged, with right checksums or with wrong ones.
//! Whatever comes, nothing panics, no packet is lost from the books, and the run can be replayed.
//!
//! The corpus is what the machines send: each network starts from its own packets.

use crate::sites::{again, live_over, places};
use forebay_base::{Rng, Stream, Time};
use forebay_net::NetSpec;
use forebay_testkit::random_pool::{self, NetworkConditions};
use forebay_testkit::{lives, random};

/// Bytes at the front of a packet that are hit most: headers and options of IP and TCP.
const HEADERS: usize = 120;
/// The longest packet that is made.
const LONGEST: usize = 9_100;

/// Of several kinds: RCP and TCP, with lives of their own, and INRPP.
fn spec(seed: u64) -> NetSpec {
    if seed.is_multiple_of(3) {
        return random_pool::scenario(seed, NetworkConditions::Foul);
    }
    let mut spec = random::scenario(seed);
    if seed % 3 == 2 {
        lives::give(&mut spec, seed);
    }
    spec
}

/// One blow at a packet.
fn strike(rng: &mut Rng, packet: &mut Vec<u8>, before: &[Vec<u8>]) {
    let len = packet.len() as u64;
    let front = packet.len().min(HEADERS) as u64;
    match rng.below(8) {
        0 => {
            for _ in 0..1 + rng.below(8) {
                let at = rng.below(front) as usize;
                packet[at] ^= 1 << rng.below(8);
            }
        }
        1 => packet.truncate(1 + rng.below(len) as usize),
        2 => {
            let more = rng.below(64) as usize;
            packet.resize((packet.len() + more).min(LONGEST), rng.next_u64() as u8);
        }
        // A length, an offset, a port or an option at the end of its range.
        3 => {
            let at = rng.below(front) as usize;
            packet[at] = [0, 1, 0x7f, 0x80, 0xff][rng.below(5) as usize];
        }
        4 => {
            let at = rng.below(len) as usize;
            packet[at..].fill_with(|| rng.next_u64() as u8);
        }
        // The head of this packet, the rest of another.
        5 => {
            let other = &before[rng.below(before.len() as u64) as usize];
            let at = (rng.below(front) as usize).min(other.len());
            packet.truncate(at);
            packet.extend(&other[at..]);
        }
        // Another packet again, late.
        6 => packet.clone_from(&before[rng.below(before.len() as u64) as usize]),
        // The same flow with other flags.
        _ => {
            if let Some(flags) = packet.get_mut(33) {
                *flags = rng.next_u64() as u8;
            }
        }
    }
    if packet.is_empty() {
        packet.push(0x45);
    }
}

/// The complement of the sum of all words (RFC 1071).
fn checksum(bytes: &[u8], more: u32) -> [u8; 2] {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum = bytes.chunks(2).map(word).sum::<u32>() + more;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

/// Make length and checksums of an IPv4 packet right, so that what was harmed is looked at.
fn seal(packet: &mut [u8]) {
    let head = usize::from(packet[0] & 0x0f) * 4;
    if packet[0] >> 4 != 4 || head < 20 || packet.len() < head {
        return;
    }
    let len = (packet.len() as u16).to_be_bytes();
    packet[2..4].copy_from_slice(&len);
    packet[10..12].fill(0);
    let sum = checksum(&packet[..head], 0);
    packet[10..12].copy_from_slice(&sum);
    if packet[9] == 6 && packet.len() >= head + 20 {
        packet[head + 16..head + 18].fill(0);
        let ends = checksum(&packet[12..20], 6 + (packet.len() - head) as u32);
        let sum = checksum(&packet[head..], u32::from(!u16::from_be_bytes(ends)));
        packet[head + 16..head + 18].copy_from_slice(&sum);
    }
}

#[test]
fn nothing_that_comes_over_a_wire_does_harm() {
    // In the last a connection that has finished was reset while an ACK was due.
    does_no_harm((0..300).chain([13_707]));
}

#[test]
#[ignore = "the long form: ten minutes"]
fn nothing_does_harm_in_many_networks() {
    does_no_harm(0..100_000);
}

fn does_no_harm(networks: impl Iterator<Item = u64>) {
    let end = Time::from_secs(2);
    let (mut runs, mut struck) = (0, 0);
    for seed in networks {
        runs += 1;
        let spec = spec(seed);
        #[expect(clippy::print_stdout, reason = "shown where the test fails")]
        {
            println!("network {seed}");
        }
        let places = places(&spec, &mut Rng::new(seed, Stream::Test, 94));
        let mut before: Vec<Vec<u8>> = Vec::new();
        let harm = |rng: &mut Rng, packet: &mut Vec<u8>| {
            if before.len() < 1_000 {
                before.push(packet.clone());
            }
            if !rng.chance(0.2) {
                return;
            }
            struck += 1;
            for _ in 0..1 + rng.below(3) {
                strike(rng, packet, &before);
            }
            if rng.chance(0.7) {
                seal(packet);
            }
        };
        let (inputs, outcomes) = live_over(&spec, seed, &places, end, harm);
        for ((place, inputs), outcome) in places.iter().zip(&inputs).zip(&outcomes) {
            assert!(outcome.conservation.holds(), "seed {seed}: {outcome:?}");
            let again = again(&spec, seed, place, inputs, end, 1);
            assert_eq!(&again, outcome, "seed {seed}, {place:?}");
        }
    }
    assert!(struck > 10 * runs, "only {struck} packets were harmed");
}
