//! A sender behind an interface of finite rate, one slow link with a cache of any size, and a wire
//! back on which a router overwrites what receivers leave room for.

use super::connection;
use forebay_base::{Arena, Packet, Rate, Rng, Serializer, Span, TcpFlags, Time};
use forebay_cc::{AnyController, AnyFeedback};
use forebay_signal::inrpp::BackPressure;
use forebay_transport::{Connection, EndCause, TcpConfig};
use std::collections::BTreeMap;

/// Two connections with a bottleneck between them: the client (0) sends, the server (1)
/// acknowledges.
pub struct Road {
    pub ends: [Connection; 2],
    pub now: Time,
    /// Chance that a packet with payload is lost on the link.
    pub loss: f64,
    /// What the router writes on an ACK, given the bytes in its cache.
    pub router: Box<dyn FnMut(u64) -> Option<BackPressure>>,
    /// Of packets with payload, this many in a row leave out of order: the first of them comes
    /// last.
    pub shuffle: u64,
    /// Packets with payload that were sent, and lost.
    pub sent: u64,
    pub lost: u64,
    /// The longest round trip of data that the network gave.
    pub longest: Span,
    arena: Arena,
    rng: Rng,
    interface: Serializer,
    interface_free: Time,
    link: Serializer,
    link_bps: u64,
    link_free: Time,
    delay: Span,
    on_wire: BTreeMap<(Time, u64), (usize, Packet)>,
    counter: u64,
}

/// Make the sender half and the receiver half.
pub type Makers = (fn() -> AnyController, fn() -> AnyFeedback);

impl Road {
    /// `delay` each way; the client's interface sends at `access`, the link after it at
    /// `bottleneck`.
    pub fn new(
        config: TcpConfig,
        bytes: u64,
        (access, bottleneck): (Rate, Rate),
        delay: Span,
        make: Makers,
    ) -> Road {
        let end = |side: usize| {
            let bytes = if side == 0 { bytes } else { 0 };
            let isn = u32::MAX - 4 - side as u32;
            connection(side, config, Some(bytes), vec![make.0()], |_| isn, make.1)
        };
        Road {
            ends: [end(0), end(1)],
            now: Time::ZERO,
            loss: 0.0,
            router: Box::new(|_| None),
            shuffle: 1,
            sent: 0,
            lost: 0,
            longest: Span::ZERO,
            arena: Arena::default(),
            rng: Rng::new(7, forebay_base::Stream::Test, 77),
            interface: Serializer::new(access),
            interface_free: Time::ZERO,
            link: Serializer::new(bottleneck),
            link_bps: bottleneck.bps(),
            link_free: Time::ZERO,
            delay,
            on_wire: BTreeMap::new(),
            counter: 0,
        }
    }

    /// Until both ends are through. Panics if they are not at `limit`, or if both wait for nothing.
    pub fn finish(&mut self, limit: Time) {
        self.ends[1].open(self.now);
        self.ends[0].open(self.now);
        self.pump();
        while self.ends.iter().any(|end| end.progress().ended.is_none()) {
            let arrival = self.on_wire.first_key_value().map(|(key, _)| key.0);
            let timers = self.ends.iter().filter_map(Connection::next_timeout);
            let room = (self.interface_free > self.now).then_some(self.interface_free);
            let next = timers.chain(arrival).chain(room).min().expect("both wait for nothing");
            assert!(next <= limit, "not finished at {limit}: {:?}", self.ends[0].progress());
            self.now = self.now.max(next);
            self.step();
        }
        for end in &self.ends {
            assert_eq!(end.progress().ended.map(|(cause, _)| cause), Some(EndCause::Finished));
        }
    }

    fn step(&mut self) {
        while let Some(first) = self.on_wire.first_entry().filter(|e| e.key().0 <= self.now) {
            let (to, packet) = first.remove();
            self.ends[to].on_packet(self.now, 0, &packet, &self.arena);
            self.arena.free(packet);
        }
        for end in &mut self.ends {
            end.on_timeout(self.now);
        }
        self.pump();
    }

    fn pump(&mut self) {
        while let Some(mut ack) = self.ends[1].poll_transmit(self.now, 0, &mut self.arena) {
            let cached = self.link_free.as_nanos().saturating_sub(self.now.as_nanos());
            let cached_bytes = (cached as u128 * self.link_bps as u128 / 8_000_000_000) as u64;
            if let Some(signal) = (self.router)(cached_bytes) {
                let there = signal.overwrite(&mut ack.cold_mut(&mut self.arena).tcp_options);
                let fin = ack.tcp_fields().is_some_and(|tcp| tcp.flags.has(TcpFlags::FIN));
                assert!(there || fin, "a receiver leaves room on every ACK");
            }
            self.put(self.now + self.delay, 0, ack);
        }
        while self.interface_free <= self.now {
            let Some(packet) = self.ends[0].poll_transmit(self.now, 0, &mut self.arena) else {
                break;
            };
            self.forward(packet);
        }
    }

    /// Over the interface, through the cache, over the link.
    fn forward(&mut self, packet: Packet) {
        let wire_len = u32::from(packet.wire_len());
        self.interface_free = self.now + self.interface.serialize(wire_len);
        let is_data = packet.payload_len() > 0;
        self.sent += u64::from(is_data);
        self.link_free = self.link_free.max(self.interface_free) + self.link.serialize(wire_len);
        if is_data && self.rng.chance(self.loss) {
            self.lost += 1;
            return self.arena.free(packet);
        }
        let mut at = self.link_free + self.delay;
        if is_data && self.sent.is_multiple_of(4 * self.shuffle) && self.shuffle > 1 {
            // Overtaken by what takes the link for the next `shuffle - 1` packets.
            at += self.link.rate().span_of(u64::from(wire_len) * (self.shuffle - 1))
                + Span::from_nanos(1);
        }
        self.longest = self.longest.max(at.since(self.now) + self.delay);
        self.put(at, 1, packet);
    }

    fn put(&mut self, at: Time, to: usize, packet: Packet) {
        self.counter += 1;
        self.on_wire.insert((at, self.counter), (to, packet));
    }
}
