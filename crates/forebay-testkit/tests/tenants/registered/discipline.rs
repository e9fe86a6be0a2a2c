//! A discipline with a parameter and a timer: a packet may leave each `every_ms`.

use super::run;
use forebay_base::{DropReason, Packet, Span, Time};
use forebay_lab::scenario::{Registration, Registry};
use forebay_queue::{Discipline, Fifo, Limit, Overflow, PortContext, PortInit};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    every_ms: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params { every_ms: 5 }
    }
}

struct Pace {
    fifo: Fifo,
    limit: Limit,
    every: Span,
    next: Time,
    wakes: Option<Time>,
}

impl Discipline for Pace {
    fn enqueue(&mut self, packet: Packet, _: &mut PortContext<'_>) -> Result<(), Overflow> {
        if !self.has_room(packet.wire_len()) {
            return Err(Overflow(packet));
        }
        self.fifo.push(packet);
        Ok(())
    }
    fn has_room(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, self.fifo.packets(), self.fifo.bytes())
    }
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        let early = cx.now < self.next && self.fifo.packets() > 0;
        self.wakes = early.then_some(self.next);
        let packet = if early { None } else { self.fifo.pop() };
        self.next = if packet.is_some() { cx.now + self.every } else { self.next };
        packet
    }
    fn backlog_bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    fn backlog_packets(&self) -> u64 {
        self.fifo.packets()
    }
    fn next_timeout(&self) -> Option<Time> {
        self.wakes
    }
    fn on_timeout(&mut self, cx: &mut PortContext<'_>) {
        self.wakes = self.wakes.filter(|&at| at > cx.now);
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        (self.wakes, self.next) = (None, cx.now);
        self.fifo.clear(reason, cx);
    }
}

/// 60 packets leave in at least 59 times 8 ms; the rest is 4 one-way delays of 12 ms.
#[test]
fn it_paces_by_its_parameter() {
    let build = |params: &Params, init: PortInit| {
        let every = Span::from_millis(params.every_ms);
        Pace { fifo: Fifo::default(), limit: init.limit, every, next: Time::ZERO, wakes: None }
    };
    let mut registry = Registry::default();
    registry.register(Registration::discipline("pace", build)).expect("registers");
    let pace = ["links.l-r.queue.discipline=pace", "links.l-r.queue.every_ms=8"];
    let result =
        run(&registry, "newreno", "flows = [{ src = \"s0\", dst = \"d0\", packets = 60 }]", &pace);
    let fct_ms = result.per_flow[0].fct_s.expect("completes") * 1e3;
    assert!((59.0 * 8.0..61.0 * 8.0 + 100.0).contains(&fct_ms), "{fct_ms} ms");
}
