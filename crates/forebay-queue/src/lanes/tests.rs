use super::*;
use crate::DropTail;
use crate::testbed::{number, packet};
use alloc::vec::Vec;
use forebay_base::{Arena, DropLog, DropReason, Ecn, Rng, Stream, Time};

/// Two queues that always have room, with N_l and N_o.
struct Port {
    queues: Queues,
    division: Division,
    arena: Arena,
    drops: DropLog,
    made: u32,
    /// Bytes that left: of listeners, of others.
    left: [u64; 2],
}

const LISTENERS: u32 = 1;
const OTHERS: u32 = 2;

impl Port {
    fn new(listeners: u32, others: u32) -> Port {
        let limit = Limit::Packets(1_000_000);
        let most = limit.full_bytes();
        let division = Division {
            lane: Lane::Others,
            listeners,
            others,
            listeners_bytes: most,
            others_bytes: most,
            joined: false,
            others_ahead_bytes: 0,
            limit,
            overhead_bytes: 0,
            carried: Carried::default(),
        };
        let queues = Queues::new(DropTail::with_limit(limit).into(), true);
        let (arena, drops) = (Arena::default(), DropLog::default());
        Port { queues, division, arena, drops, made: 0, left: [0; 2] }
    }
    fn call<R>(
        &mut self,
        act: impl FnOnce(&mut Queues, &mut Division, &mut PortContext<'_>) -> R,
    ) -> R {
        let Port { queues, division, arena, drops, .. } = self;
        let mut split = 0;
        act(queues, division, &mut PortContext { now: Time::ZERO, arena, drops, split: &mut split })
    }
    /// Offer a packet of this flow: true if it was taken.
    fn offer(&mut self, flow: u32, wire_len: u16) -> bool {
        self.made += 1;
        let packet = packet(flow, self.made, wire_len, Ecn::NotEct);
        self.division.lane = if flow == LISTENERS { Lane::Listeners } else { Lane::Others };
        let queued = self.call(|queues, division, cx| queues.enqueue(packet, division, cx));
        queued.map_err(|Overflow(packet)| self.arena.free(packet)).is_ok()
    }
    /// The next packet: its flow, length and number.
    fn take(&mut self) -> Option<(u32, u16, u32)> {
        let packet = self.call(|queues, division, cx| queues.dequeue(division, cx))?;
        let (flow, wire_len) = (packet.src().0, packet.wire_len());
        self.left[flow as usize - 1] += u64::from(wire_len);
        let number = number(&packet);
        self.arena.free(packet);
        Some((flow, wire_len, number))
    }
    /// Bytes by which listeners are ahead of their share of what left since `before`.
    fn ahead_bytes(&self, before: [u64; 2]) -> f64 {
        let [own, other] = [0, 1].map(|i| (self.left[i] - before[i]) as f64);
        let (listeners, others) = (self.division.listeners as f64, self.division.others as f64);
        own - (own + other) * listeners / (listeners + others)
    }
}

/// Shares of a fluid: whatever the lengths, at no time is a queue more than a packet from it.
#[test]
fn queues_that_wait_have_their_shares_to_a_packet() {
    let mut rng = Rng::new(1, Stream::Test, 0);
    for (listeners, others) in [(1, 1), (8, 1), (1, 8), (64, 64), (5, 500), (34_070, 1)] {
        let mut port = Port::new(listeners, others);
        for _ in 0..3000 {
            for flow in [LISTENERS, OTHERS] {
                assert!(port.offer(flow, 200 + rng.below(1301) as u16));
            }
        }
        for _ in 0..2900 {
            assert!(port.take().is_some());
            let ahead = port.ahead_bytes([0; 2]);
            assert!(ahead.abs() <= PACKET_BYTES as f64, "{listeners}:{others}: {ahead}");
        }
    }
}

/// Random arrivals: something leaves whenever anything waits, in the order of arrival of its queue,
/// and nothing is forgotten.
#[test]
fn it_conserves_work_packets_and_order() {
    let mut rng = Rng::new(2, Stream::Test, 0);
    let mut port = Port::new(3, 2);
    let (mut waits, mut last) = (0_u64, [0; 2]);
    for _ in 0..20_000 {
        if rng.chance(0.5) {
            let flow = if rng.chance(0.5) { LISTENERS } else { OTHERS };
            port.offer(flow, 40 + rng.below(1461) as u16);
            waits += 1;
        } else if let Some((flow, _, number)) = port.take() {
            waits -= 1;
            assert!(number > last[flow as usize - 1], "the order of flow {flow}");
            last[flow as usize - 1] = number;
        } else {
            assert_eq!(waits, 0, "it gives nothing although something waits");
        }
        assert_eq!(port.queues.backlog_packets(), waits);
    }
    let cx = &mut PortContext {
        now: Time::ZERO,
        arena: &mut port.arena,
        drops: &mut port.drops,
        split: &mut 0,
    };
    port.queues.clear(DropReason::NodeRestart, cx);
    assert_eq!((port.queues.backlog_packets(), port.queues.backlog_bytes()), (0, 0));
    assert_eq!(port.drops.count(DropReason::NodeRestart), waits);
}

/// A queue that was empty gains nothing by that but a packet, and others what the scheme gives.
#[test]
fn who_returns_is_at_most_a_packet_ahead_or_what_others_are_given() {
    for given_bytes in [0_u64, 40_000] {
        for away in [LISTENERS, OTHERS] {
            let mut port = Port::new(1, 3);
            port.division.others_ahead_bytes = given_bytes;
            for _ in 0..1000 {
                assert!(port.offer(LISTENERS + OTHERS - away, 1500));
                assert!(port.take().is_some());
            }
            let before = port.left;
            (0..400).for_each(|_| assert!(port.offer(LISTENERS, 1500) && port.offer(OTHERS, 1500)));
            let mut most_bytes = 0_f64;
            for _ in 0..300 {
                assert!(port.take().is_some());
                let ahead = port.ahead_bytes(before);
                most_bytes = most_bytes.max(if away == LISTENERS { ahead } else { -ahead });
            }
            // The others, ahead by A while nobody else is served, are above their share of it by
            // A w_l.
            let given = if away == OTHERS { given_bytes as f64 / 4.0 } else { 0.0 };
            let most = given + 1.0 + 2.0 * PACKET_BYTES as f64;
            assert!((given..=most).contains(&most_bytes), "{away} {given_bytes}: {most_bytes}");
        }
    }
}

/// Acknowledgments of flows that are not counted: one for two packets of 64 listeners is more than
/// the share of one flow, and none waits longer than the packet that is being served. A flood of
/// them takes what it is not charged for and its share.
#[test]
fn acknowledgments_do_not_wait_for_a_share_and_a_flood_of_them_has_a_bound() {
    let mut port = Port::new(64, 1);
    (0..3000).for_each(|_| assert!(port.offer(LISTENERS, 1500)));
    for _ in 0..1000 {
        assert!(port.offer(OTHERS, 52));
        assert!(port.offer(OTHERS, 52));
        let served: Vec<u32> = (0..4).filter_map(|_| Some(port.take()?.0)).collect();
        assert_eq!(served.iter().filter(|&&flow| flow == OTHERS).count(), 2, "{served:?}");
    }
    let mut port = Port::new(64, 1);
    (0..3000).for_each(|_| assert!(port.offer(LISTENERS, 1500)));
    (0..12_000).for_each(|_| assert!(port.offer(OTHERS, 52)));
    let [mut own, mut other] = [0_u64; 2];
    for _ in 0..10_000 {
        match port.take() {
            Some((LISTENERS, bytes, _)) => own += u64::from(bytes),
            Some((_, bytes, _)) => other += u64::from(bytes),
            None => panic!("both wait"),
        }
    }
    let share = other as f64 / own as f64;
    assert!(share < 1.05 * (1.0 / 8.0 + 1.0 / 64.0), "{share}");
}

#[test]
fn limits_hold_for_each_queue_and_room_is_room_for_both() {
    let mut port = Port::new(1, 1);
    (port.division.listeners_bytes, port.division.others_bytes) = (3000, 6000);
    let room = |port: &Port| port.queues.has_room(1500, Some(&port.division));
    assert!(room(&port));
    let taken = |port: &mut Port, flow| (0..9).filter(|_| port.offer(flow, 1500)).count();
    assert_eq!(taken(&mut port, LISTENERS), 2);
    assert!(!room(&port));
    assert_eq!(taken(&mut port, OTHERS), 4, "whatever listeners have filled");
    assert_eq!(port.queues.of_scheme(), Backlog { bytes: 3000, packets: 2 });
    assert_eq!((port.queues.backlog_bytes(), port.queues.backlog_packets()), (9000, 6));
    let carried = port.division.carried;
    while port.take().is_some() {}
    assert_eq!(carried, Carried::default(), "nothing had left");
    let carried = port.division.carried;
    assert_eq!((carried.listeners_bytes, carried.others_bytes), (3000, 6000));
}

/// Takes what comes, and gives nothing: as one that drops at its head, or waits for its turn.
#[derive(Default)]
struct Keeper(Fifo);

impl Discipline for Keeper {
    fn enqueue(&mut self, packet: Packet, _: &mut PortContext<'_>) -> Result<(), Overflow> {
        self.0.push(packet);
        Ok(())
    }
    fn has_room(&self, _: u16) -> bool {
        true
    }
    fn dequeue(&mut self, _: &mut PortContext<'_>) -> Option<Packet> {
        None
    }
    fn backlog_bytes(&self) -> u64 {
        self.0.bytes()
    }
    fn backlog_packets(&self) -> u64 {
        self.0.packets()
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.0.clear(reason, cx);
    }
}

#[test]
fn listeners_are_served_where_the_discipline_has_packets_and_gives_none() {
    let mut port = Port::new(1, 1);
    port.queues = Queues::new(AnyDiscipline::Custom(Box::<Keeper>::default()), true);
    (0..4).for_each(|_| assert!(port.offer(OTHERS, 1500) && port.offer(LISTENERS, 1500)));
    let served: Vec<u32> = core::iter::from_fn(|| Some(port.take()?.0)).collect();
    assert_eq!(served, [LISTENERS; 4]);
}

/// Listeners leave in the order in which they came, whichever queue they waited in, and while all
/// wait in the discipline what a scheme sees is that.
#[test]
fn nobody_overtakes_itself_when_listeners_join_the_others_and_when_they_part() {
    let mut port = Port::new(3, 1);
    let offer = |port: &mut Port, joined: bool, bytes: u64| {
        port.division.joined = joined;
        (0..4).for_each(|_| assert!(port.offer(LISTENERS, 1500)));
        assert_eq!(port.queues.of_scheme().bytes, bytes);
    };
    offer(&mut port, false, 6000);
    offer(&mut port, true, 12_000);
    let mut left: Vec<u32> = (0..6).map(|_| port.take().unwrap().2).collect();
    offer(&mut port, false, 9000);
    assert!(port.offer(OTHERS, 1500), "it is no listener's");
    assert_eq!(port.queues.of_scheme(), Backlog { bytes: 9000, packets: 7 });
    left.extend(core::iter::from_fn(|| port.take()).filter(|p| p.0 == LISTENERS).map(|p| p.2));
    assert_eq!(left, (1..=12).collect::<Vec<u32>>());
    assert_eq!(port.queues.of_scheme().bytes, 0);
}
