//! A queue discipline from outside, by registration alone: parameters from a scenario, a timer,
//! marks.

use forebay_base::{DropReason, Packet, Span, Time};
use forebay_lab::scenario::{LoadOptions, RegisterError, Registration, Registry, Scenario};
use forebay_lab::{RunOptions, RunResult, run_one};
use forebay_queue::{
    Discipline, Fifo, Limit, Overflow, ParamError, PortContext, PortInit, require,
};
use serde::{Deserialize, Serialize};

/// Each `every_ms`, while more than `above_packets` wait, the next packet that leaves is marked, or
/// dropped.
#[derive(Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Toy {
    /// Time between two looks at the queue, in ms, above 0.
    every_ms: u64,
    /// Packets that may wait.
    above_packets: u64,
}

impl Default for Toy {
    fn default() -> Toy {
        Toy { every_ms: 10, above_packets: 20 }
    }
}

fn check(params: &Toy) -> Result<(), ParamError> {
    require(params.every_ms > 0, "every_ms", "above 0")
}

fn build(params: &Toy, init: PortInit) -> Queue {
    let (fifo, limit) = (Fifo::default(), init.limit);
    Queue { fifo, limit, params: params.clone(), looks_at: None, tells: false }
}

struct Queue {
    fifo: Fifo,
    limit: Limit,
    params: Toy,
    looks_at: Option<Time>,
    tells: bool,
}

impl Discipline for Queue {
    fn enqueue(&mut self, packet: Packet, cx: &mut PortContext<'_>) -> Result<(), Overflow> {
        if !self.has_room(packet.wire_len()) {
            return Err(Overflow(packet));
        }
        self.looks_at.get_or_insert(cx.now + Span::from_millis(self.params.every_ms));
        self.fifo.push(packet);
        Ok(())
    }
    fn has_room(&self, wire_len: u16) -> bool {
        self.limit.admits(wire_len, self.fifo.packets(), self.fifo.bytes())
    }
    fn dequeue(&mut self, cx: &mut PortContext<'_>) -> Option<Packet> {
        let mut packet = self.fifo.pop()?;
        if core::mem::take(&mut self.tells) && !cx.mark(&mut packet) {
            cx.drop_packet(packet, DropReason::Early);
            return self.fifo.pop();
        }
        Some(packet)
    }
    fn backlog_bytes(&self) -> u64 {
        self.fifo.bytes()
    }
    fn backlog_packets(&self) -> u64 {
        self.fifo.packets()
    }
    fn next_timeout(&self) -> Option<Time> {
        self.looks_at
    }
    fn on_timeout(&mut self, cx: &mut PortContext<'_>) {
        if self.looks_at.is_some_and(|at| at <= cx.now) {
            self.tells = self.fifo.packets() > self.params.above_packets;
            let next = cx.now + Span::from_millis(self.params.every_ms);
            self.looks_at = (self.fifo.packets() > 0).then_some(next);
        }
    }
    fn clear(&mut self, reason: DropReason, cx: &mut PortContext<'_>) {
        self.fifo.clear(reason, cx);
    }
}

fn load(set: &[&str]) -> Result<Scenario, String> {
    let toy = Registration::discipline("toy", build).check(check).title("Toy");
    let mut registry = Registry::default();
    registry.register(toy).expect("registers");
    let set = set.iter().map(ToString::to_string).collect();
    let options = LoadOptions { set, registry: registry.into(), ..LoadOptions::default() };
    Scenario::load("dumbbell", &options).map_err(|error| error.to_string())
}

fn run(set: &[&str]) -> RunResult {
    let scenario = load(set).expect("loads");
    // The text that a result keeps says the same.
    let registry = scenario.registry.clone();
    let options = LoadOptions { registry, ..LoadOptions::default() };
    let again = Scenario::parse(&scenario.to_toml(), "again", &options);
    assert_eq!(again.expect("reads back"), scenario);
    run_one(&scenario, "newreno", 1, &RunOptions::default()).expect("runs")
}

const TOY: &str = "link_defaults.queue.discipline=toy";
const MIDDLE: &str = "links.0-2.queue.discipline=toy";

/// The dumbbell's queue is a limit alone: --set makes a table of it. ECN-capable flows are marked,
/// others lose packets.
#[test]
fn a_registered_discipline_marks_or_drops_by_its_parameters() {
    let plain = run(&[]);
    assert_eq!(plain.metrics.ce_marks, 0);
    let marked = run(&[MIDDLE, "tcp.ecn=true"]);
    assert!(marked.metrics.ce_marks > 0 && !marked.drops.contains_key("early"), "{marked:?}");
    let dropped = run(&[MIDDLE]);
    assert!(dropped.metrics.ce_marks == 0 && dropped.drops["early"] > 0, "{:?}", dropped.drops);
    let delay = |result: &RunResult| result.metrics.queue_delay_mean_ms.expect("a queue");
    assert!(delay(&marked) < 0.8 * delay(&plain), "{} {}", delay(&marked), delay(&plain));
    let never = run(&[MIDDLE, "tcp.ecn=true", "links.0-2.queue.above_packets=100000"]);
    assert_eq!((never.metrics.ce_marks, never.completed), (0, plain.completed));
    // Timers alone change nothing that is seen on links.
    assert_eq!(never.trace_hash, run(&["tcp.ecn=true"]).trace_hash);
}

#[test]
fn what_is_wrong_is_said_with_key_and_range() {
    let error = |set: &[&str]| load(set).expect_err("must be refused");
    for (set, words) in [
        (["link_defaults.queue.discipline=tox", TOY].as_slice(), "toy"),
        (&[MIDDLE, "links.0-2.queue.every_ms=0"], "above 0"),
        (&[MIDDLE, "links.0-2.queue.every_ms=soon"], "every_ms"),
        (&[MIDDLE, "links.0-2.queue.evry_ms=3"], "every_ms"),
        (&["links.0-2.queue.every_ms=3"], "every_ms"),
        (&["links.0-2.queue.discipline=droptail", "links.0-2.queue.every_ms=3"], "every_ms"),
    ] {
        let set = if words == "toy" { &set[..1] } else { set };
        let text = error(set);
        assert!(text.contains(words) && text.contains("--set"), "{set:?}: {text}");
    }
    let stands = RegisterError::Stands { kind: "discipline", name: "droptail".into() };
    let again = Registry::default().register(Registration::discipline("droptail", build));
    assert_eq!(again, Err(stands));
}
