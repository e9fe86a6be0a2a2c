//! Harm to packets on their way between places: damaged, cut, forged, with right checksums or with
//! wrong ones.

use crate::places::{Run, again, live_over, places};
use crate::random_pool::NetworkConditions;
use crate::{lives, random, random_pool};
use forebay_base::{Rng, Span, Stream, Time};
use forebay_net::NetSpec;
use forebay_sim::RealWires;
use forebay_wire::checksum::{Sum, checksum};

/// Bytes at the front of a packet that are hit most: headers and options of IP and TCP.
const HEADERS: usize = 120;
/// The longest packet that is made.
const LONGEST: usize = 9_100;

/// A network of one of several kinds: RCP and TCP, with lives of their own, and INRPP.
fn network(seed: u64) -> NetSpec {
    if seed.is_multiple_of(3) {
        return random_pool::scenario(seed, NetworkConditions::Foul);
    }
    let mut spec = random::scenario(seed);
    if seed % 3 == 2 {
        lives::give(&mut spec, seed);
    }
    spec
}

/// Half of the networks, of each kind, are on real wires.
pub fn real(seed: u64) -> Option<RealWires> {
    (seed / 3 % 2 == 1).then_some(RealWires { secret: [seed, 7] })
}

/// Where the blows at packets come from.
pub trait Dice {
    /// A number below `n`, which is not 0.
    fn below(&mut self, n: u64) -> u64;
    /// Any byte.
    fn byte(&mut self) -> u8;
    /// True in so many of all cases.
    fn chance(&mut self, share: f64) -> bool;
}

impl Dice for Rng {
    fn below(&mut self, n: u64) -> u64 {
        Rng::below(self, n)
    }
    fn byte(&mut self) -> u8 {
        self.next_u64() as u8
    }
    fn chance(&mut self, share: f64) -> bool {
        Rng::chance(self, share)
    }
}

/// Blows as a fuzzer writes them; none where it has ended.
struct Script<'a>(&'a [u8]);

impl Dice for Script<'_> {
    fn below(&mut self, n: u64) -> u64 {
        let wide = n > 1 << 8;
        (u64::from(self.byte()) | if wide { u64::from(self.byte()) << 8 } else { 0 }) % n
    }
    fn byte(&mut self) -> u8 {
        self.0.split_off_first().copied().unwrap_or(0)
    }
    fn chance(&mut self, share: f64) -> bool {
        f64::from(256 - u32::from(self.byte())) <= share * 256.0
    }
}

/// Harm a packet, or do not. `before` are packets that came earlier.
pub fn harm(dice: &mut impl Dice, packet: &mut Vec<u8>, before: &[Vec<u8>]) -> bool {
    if !dice.chance(0.2) {
        return false;
    }
    for _ in 0..1 + dice.below(3) {
        strike(dice, packet, before);
    }
    if dice.chance(0.7) {
        seal(packet);
    }
    true
}

/// Packets that are kept, for later blows.
const MOST_KEPT: usize = 1_000;

/// Cut the wire that a packet has left over, or do not: for how long.
pub fn cut(dice: &mut impl Dice) -> Option<Span> {
    dice.chance(1.0 / 32.0).then(|| Span::from_micros(10 * dice.below(1 << 16)))
}

/// Run network number `seed` up to `end`, with `strike` at each packet that leaves a place; it is
/// given packets that came earlier as well, and whether the wire is a real one, which it may
/// [`cut`].
///
/// # Panics
///
/// If a packet is lost from the books, or a replay is not the same.
pub fn endure(
    seed: u64,
    end: Time,
    mut strike: impl FnMut(&mut Rng, &mut Vec<u8>, &[Vec<u8>], bool) -> Option<Span>,
) {
    let (spec, real) = (network(seed), real(seed));
    let run = Run { spec: &spec, seed, end, real };
    let places = places(&spec, &mut Rng::new(seed, Stream::Test, 94));
    let mut before: Vec<Vec<u8>> = Vec::new();
    let (inputs, outcomes) = live_over(run, &places, |rng, packet| {
        if before.len() < MOST_KEPT {
            before.push(packet.clone());
        }
        strike(rng, packet, &before, real.is_some())
    });
    for ((place, inputs), outcome) in places.iter().zip(&inputs).zip(&outcomes) {
        assert!(outcome.conservation.holds(), "seed {seed}: {outcome:?}");
        let again = again(run, place, inputs, 1);
        assert_eq!(&again, outcome, "seed {seed}, {place:?}");
    }
}

/// Run a network, and do to its packets what `input` says: its first byte is the network.
///
/// # Panics
///
/// As [`endure`].
pub fn survives(input: &[u8]) {
    let Some((&seed, script)) = input.split_first() else { return };
    let mut script = Script(script);
    endure(u64::from(seed), Time::from_millis(500), |_, packet, before, real| {
        harm(&mut script, packet, before);
        if real { cut(&mut script) } else { None }
    });
}

/// One blow at a packet.
fn strike(dice: &mut impl Dice, packet: &mut Vec<u8>, before: &[Vec<u8>]) {
    let len = packet.len() as u64;
    let front = packet.len().min(HEADERS) as u64;
    match dice.below(8) {
        0 => {
            for _ in 0..1 + dice.below(8) {
                let at = dice.below(front) as usize;
                packet[at] ^= 1 << dice.below(8);
            }
        }
        1 => packet.truncate(1 + dice.below(len) as usize),
        2 => {
            let more = dice.below(64) as usize;
            packet.resize((packet.len() + more).min(LONGEST), dice.byte());
        }
        // A length, an offset, a port or an option at the end of its range.
        3 => {
            let at = dice.below(front) as usize;
            packet[at] = [0, 1, 0x7f, 0x80, 0xff][dice.below(5) as usize];
        }
        4 => {
            let at = dice.below(len) as usize;
            packet[at..].fill_with(|| dice.byte());
        }
        // The head of this packet, the rest of another.
        5 => {
            let other = &before[dice.below(before.len() as u64) as usize];
            let at = (dice.below(front) as usize).min(other.len());
            packet.truncate(at);
            packet.extend(&other[at..]);
        }
        // Another packet again, late.
        6 => packet.clone_from(&before[dice.below(before.len() as u64) as usize]),
        // The same flow with other flags.
        _ => {
            if let Some(flags) = packet.get_mut(33) {
                *flags = dice.byte();
            }
        }
    }
    if packet.is_empty() {
        packet.push(0x45);
    }
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
    let sum = checksum(&packet[..head]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    if packet[9] == 6 && packet.len() >= head + 20 {
        packet[head + 16..head + 18].fill(0);
        let mut sum = Sum::default();
        sum.bytes(&packet[12..20]);
        sum.word(6 + (packet.len() - head) as u32);
        sum.bytes(&packet[head..]);
        packet[head + 16..head + 18].copy_from_slice(&sum.checksum().to_be_bytes());
    }
}
