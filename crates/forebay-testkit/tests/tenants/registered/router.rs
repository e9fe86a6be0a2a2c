//! A router that holds each packet for `hold_ms` before it sends it on.

use super::run;
use forebay_base::{DropReason, Packet, PortId, Span, Time};
use forebay_lab::scenario::{Registration, Registry};
use forebay_router::{Forwarding, NodeContext, PlainIp, RouterInit, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    hold_ms: u64,
}

struct Wait {
    hold: Span,
    /// When each may leave, and where.
    held: VecDeque<(Time, PortId, Packet)>,
}

impl Forwarding for Wait {
    fn on_packet(&mut self, _: PortId, mut packet: Packet, cx: &mut NodeContext<'_>) -> Verdict {
        match PlainIp.route(cx.node, &mut packet, cx.routes) {
            Ok(port) => self.held.push_back((cx.now + self.hold, port, packet)),
            Err(reason) => return Verdict::Drop(packet, reason),
        }
        Verdict::Held
    }
    fn pull(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
        let due = |(at, to, _): &(Time, PortId, Packet)| *to == port && *at <= cx.now;
        let place = self.held.iter().position(due)?;
        self.held.remove(place).map(|(_, _, packet)| packet)
    }
    fn has_eligible(&self, port: PortId, now: Time) -> bool {
        self.held.iter().any(|(at, to, _)| *to == port && *at <= now)
    }
    fn held_packets(&self) -> u64 {
        self.held.len() as u64
    }
    fn next_timeout(&self) -> Option<Time> {
        self.held.front().map(|(at, _, _)| *at)
    }
    fn on_timeout(&mut self, cx: &mut NodeContext<'_>) {
        let due = self.held.iter().take_while(|(at, _, _)| *at <= cx.now);
        cx.work.ready.extend(due.map(|(_, port, _)| *port));
    }
    fn restart(&mut self, cx: &mut NodeContext<'_>) {
        let lost = self.held.drain(..);
        lost.for_each(|(_, _, p)| cx.drops.record(p, DropReason::NodeRestart, cx.arena));
    }
}

/// A flow of one packet is over when that has arrived: SYN, SYN-ACK and packet pass the router once
/// each.
#[test]
fn three_packets_wait_at_each_router_of_the_kind() {
    let build = |params: &Params, _: RouterInit<'_>| Wait {
        hold: Span::from_millis(params.hold_ms),
        held: VecDeque::new(),
    };
    let mut registry = Registry::default();
    registry.register(Registration::router("wait", build)).expect("registers");
    let fct_ms = |set: &[&str]| {
        let result =
            run(&registry, "newreno", "flows = [{ src = \"s0\", dst = \"d0\", packets = 1 }]", set);
        result.per_flow[0].fct_s.expect("completes") * 1e3
    };
    let plain_ms = fct_ms(&[]);
    let more_ms = |set: &[&str]| fct_ms(set) - plain_ms;
    let one = more_ms(&["routers.l.router=wait", "routers.l.router.hold_ms=20"]);
    let both = more_ms(&["router={ kind = \"wait\", hold_ms = 20 }"]);
    assert!((one - 60.0).abs() < 1e-3 && (both - 120.0).abs() < 1e-3, "{one} {both}");
}
