//! INRPP's interface machine in every state that three routers and two or three flows can bring it
//! into, by `stateright`.
//!
//! Two ways of time. In [`any_order`] packets and ACKs come in any order that the links allow, and
//! time passes only where nothing else can happen. In [`slots`] links have rates and runs are
//! longer; a bounded number of pauses and faults comes at any time. Senders have few packets each,
//! so that every run ends, and what must hold at the end holds in all of them.
//!
//! States are distinguished by 64 bits of a hash, as `stateright` does. `cargo test -p
//! forebay-testkit
//! --test inrpp model -- --nocapture` prints how many there were.
#![allow(clippy::print_stdout)] // numbers of states

mod any_order;
mod net;
mod port;
mod rules;
mod slots;

use any_order::AnyOrder;
use net::{Shape, limits};
use port::{MUTANTS, Mutant};
use rules::{Faults, check};
use slots::Slots;
use stateright::HasDiscoveries;

const NONE: Faults =
    Faults { lost_acks: 0, swapped_acks: 0, restarts: 0, delays: 0, replays: 0, forgeries: 0 };

fn shape(paths: &[&[usize]], packets: &[u8], (low, high, total): (u64, u64, u64)) -> Shape {
    Shape {
        paths: paths.iter().map(|path| path.to_vec()).collect(),
        packets: packets.to_vec(),
        limits: vec![limits(low, high, total); 3],
        room: 1,
    }
}
const ALL: HasDiscoveries = HasDiscoveries::All;
const FIRST: HasDiscoveries = HasDiscoveries::Any;

/// Both flows over all three ports.
const LINE: [&[usize]; 2] = [&[0, 1, 2], &[0, 1, 2]];
/// A long flow over two ports, and one over each of them.
const PARKING: [&[usize]; 3] = [&[0, 1], &[0], &[1]];
/// Each port waits for the next, and the last for the first.
const RING: [&[usize]; 3] = [&[0, 1], &[1, 2], &[2, 0]];
/// Room for everything: nothing is lost whatever is sent.
const ROOMY: (u64, u64, u64) = (1, 1, 60);
/// S_high of 8 packets: a quarter of it has room for one of each of two flows, so there are
/// allowances.
const ALLOWING: (u64, u64, u64) = (4, 8, 60);

/// All packets over the slowest link, and the way of the last; pauses; and a round trip over three
/// hops for which the slowest link may be idle: S_low is one packet, so its cache is empty before
/// those upstream hear that it asks for more.
fn deadline(packets: u8, periods: &[u8], pauses: u8) -> u8 {
    let slowest = *periods.iter().max().expect("three");
    let (way, cycle) = (periods.iter().sum::<u8>(), periods.iter().product::<u8>());
    packets * slowest + way + cycle + pauses * slowest + 6
}

fn slots(shape: Shape, periods: [u8; 3], access: u8, pauses: u8) -> Slots {
    // In each shape the slowest link carries two flows at most.
    let packets = 2 * shape.packets.iter().max().expect("flows");
    let deadline = deadline(packets, &periods, pauses);
    let periods = periods.to_vec();
    Slots { shape, mutant: None, faults: NONE, keys: false, periods, access, pauses, deadline }
}
fn parking() -> Slots {
    slots(shape(&PARKING, &[8, 8, 8], ROOMY), [1, 1, 1], 1, 1)
}
fn ring() -> Slots {
    slots(shape(&RING, &[6, 6, 6], ROOMY), [1, 1, 1], 2, 1)
}

#[test]
fn in_any_order_nothing_waits_for_a_timer_and_every_hold_ends() {
    for (name, paths, packets) in [
        ("line", &LINE[..], &[2, 2][..]),
        ("parking", &PARKING, &[3, 1, 2]),
        ("ring", &RING, &[2, 2, 1]),
    ] {
        let model = AnyOrder { shape: shape(paths, packets, ROOMY), mutant: None, faults: NONE };
        let name = format!("any order, {name} {packets:?}");
        assert_eq!(check(&name, model, ALL), [""; 0], "{name}");
    }
}

#[test]
fn in_longer_runs_neither() {
    for (name, model) in [
        ("parking", parking()),
        ("parking, slow first link", slots(parking().shape, [2, 1, 1], 1, 1)),
        ("ring", ring()),
        ("line", slots(shape(&LINE, &[8, 8], ROOMY), [1, 1, 2], 2, 1)),
        ("line with allowances", slots(shape(&LINE, &[12, 12], ALLOWING), [1, 2, 2], 2, 1)),
        ("parking with allowances", slots(shape(&PARKING, &[9; 3], ALLOWING), [1, 1, 1], 2, 1)),
    ] {
        assert_eq!(check(name, model, ALL), [""; 0], "{name}");
    }
}

#[test]
fn lost_and_swapped_acks_restarts_and_delays_end_as_well() {
    for (name, faults) in [
        ("3 ACKs lost", Faults { lost_acks: 3, ..NONE }),
        ("2 pairs of ACKs swapped", Faults { swapped_acks: 2, ..NONE }),
        ("a restart", Faults { restarts: 1, ..NONE }),
        ("a delay", Faults { delays: 1, ..NONE }),
    ] {
        let model = Slots { faults, pauses: 0, ..parking() };
        assert_eq!(check(&format!("parking, {name}"), model, ALL), [""; 0], "{name}");
    }
    for (name, faults) in [
        ("an ACK lost", Faults { lost_acks: 1, ..NONE }),
        ("a restart", Faults { restarts: 1, ..NONE }),
    ] {
        let ring = slots(shape(&RING, &[4, 4, 4], ROOMY), [1, 1, 1], 2, 0);
        let model = Slots { faults, ..ring };
        assert_eq!(check(&format!("ring, {name}"), model, ALL), [""; 0], "{name}");
    }
}

/// Somebody on a link drops, repeats, changes and adds ACKs. With keys every rule holds: no packet
/// waits longer than a watchdog, and none that a router keeps is lost. Without them a router holds
/// for nobody: it costs no more than a watchdog for each ACK that is changed or added, for one that
/// is released brings a true ACK of its flow, which frees it.
#[test]
fn whoever_is_on_a_link_delays_no_packet_for_longer_than_a_watchdog() {
    for (name, keys, faults, broken) in [
        ("a drop and 2 replays", true, Faults { lost_acks: 1, replays: 2, ..NONE }, &[][..]),
        ("2 forgeries", true, Faults { forgeries: 2, ..NONE }, &[]),
        ("a replay and a forgery", true, Faults { replays: 1, forgeries: 1, ..NONE }, &[]),
        ("a forgery", false, Faults { forgeries: 1, ..NONE }, &[rules::STEP]),
        ("a replay", false, Faults { replays: 1, ..NONE }, &[]),
    ] {
        let model =
            Slots { faults, keys, ..slots(shape(&PARKING, &[6; 3], ROOMY), [1, 1, 1], 1, 0) };
        let name = format!("parking, {}, {name}", if keys { "keys" } else { "no keys" });
        assert_eq!(check(&name, model, ALL), broken, "{name}");
    }
}

/// Packets that come into the first port of a line between its request and its effect (section
/// IV-E of the paper): what two senders send in the longest time that an ACK needs, and one packet
/// each. A packet waits after another on each link, and for its turn of two in the cache of the
/// slowest; its ACK comes over two links.
fn margin(periods: [u8; 3], access: u8, pauses: u8) -> u64 {
    let slowest = *periods.iter().max().expect("three") as u64;
    let way = 2 * periods.iter().map(|&p| p as u64).sum::<u64>() + 2 * slowest + 2;
    2 * access as u64 * (way + pauses as u64 * slowest) + 2
}

#[test]
fn with_the_margin_no_packet_is_lost_and_with_a_fifth_of_it_some_are() {
    for (periods, access, pauses, high) in [([1, 1, 2], 1, 1, 2), ([1, 2, 2], 1, 1, 8)] {
        let margin = margin(periods, access, pauses);
        let total = high + margin;
        // Both together could fill the cache.
        let packets = total as u8 / 2 + 1;
        let line = |room| shape(&LINE, &[packets; 2], (high / 2, high, high + room));
        let model = |room| slots(line(room), periods, access, pauses);
        let name = format!("line {periods:?}, {packets} packets each");
        assert_eq!(check(&format!("{name}, margin {margin}"), model(margin), ALL), [""; 0]);
        let below = margin / 5;
        let found = check(&format!("{name}, margin {below}"), model(below), FIRST);
        assert!(found.contains(&rules::LOSS), "the property can fail");
    }
}

/// Not found, and no property here can find it. A nonce says who asks. Of which episode it is
/// counts only where an echo decides: where a router knows no ACK of the flow, as it has restarted
/// or held nothing when the last one passed. What echoes the first episode is held in the second
/// one then, though no one asks its flow. It is held as any other under that nonce is: the ACKs of
/// those that are asked let it go in its turn, or the watchdog does, and the next ACK of its own
/// frees it; that is all that the properties ask. A cancellation frees its flow whatever nonce it
/// carries, late or not. What an episode has left of credits is what it could have left within one.
const SURVIVORS: [Mutant; 1] = [Mutant::SameNonce];

#[test]
fn every_mutant_breaks_a_property() {
    // The least sizes with which the machine loses nothing.
    let tight = |high, total| shape(&LINE, &[16; 2], (high / 2, high, total));
    let lost = Faults { lost_acks: 3, ..NONE };
    let others = [Faults { swapped_acks: 2, ..NONE }, Faults { restarts: 1, ..NONE }];
    let mut survivors = Vec::new();
    for mutant in MUTANTS {
        let models = [
            parking(),
            slots(tight(2, 10), [1, 1, 2], 1, 1),
            slots(tight(8, 14), [1, 1, 2], 1, 1),
            slots(shape(&LINE, &[8; 2], ROOMY), [1, 1, 2], 1, 1),
            Slots { faults: lost, pauses: 0, ..parking() },
        ];
        let faulty = others.map(|faults| Slots { faults, pauses: 0, ..parking() });
        let found = models.into_iter().chain(faulty).find_map(|model| {
            let model = Slots { mutant: Some(mutant), ..model };
            let found = check(&format!("{mutant:?}"), model, FIRST);
            found.first().copied()
        });
        println!("{mutant:?}: {found:?}");
        if found.is_none() {
            survivors.push(mutant);
        }
    }
    assert_eq!(survivors, SURVIVORS);
}
