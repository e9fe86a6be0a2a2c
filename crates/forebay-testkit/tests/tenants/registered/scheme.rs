//! Meter and egress: the meter counts packets that are ECN-capable, the egress marks each tenth.
//! And a controller whose flows need it.

use super::run;
use forebay_base::{Ecn, Packet, Time};
use forebay_cc::{Ack, Congestion, Controller, Init, Limits, Timeout};
use forebay_lab::scenario::{NetworkRequirements, NoParams, Registration, Registry};
use forebay_queue::{Backlog, PortContext, PortInit, PortScheme, TrailingPackets};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Params {
    each: u64,
}
impl Default for Params {
    fn default() -> Params {
        Params { each: 10 }
    }
}

struct Tenth {
    each: u64,
    arrived: u64,
    marked: u64,
}
impl PortScheme for Tenth {
    fn on_arrival(&mut self, packet: &mut Packet, _: Backlog, _: &mut PortContext<'_>) {
        self.arrived += u64::from(packet.ecn() != Ecn::NotEct);
    }
    fn leave(
        &mut self,
        mut packet: Packet,
        _: &mut TrailingPackets<'_>,
        _: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet {
        if self.arrived / self.each > self.marked && cx.mark(&mut packet) {
            self.marked += 1;
        }
        packet
    }
    fn publish(&self, _: Time, see: &mut dyn FnMut(&'static str, f64)) {
        see("marked_packets", self.marked as f64);
    }
}

/// A window of ten packets, whatever happens.
pub(super) struct Ten(pub u64);
impl Controller for Ten {
    fn limits(&self) -> Limits {
        Limits::window(self.0)
    }
    fn on_ack(&mut self, _: Time, _: &Ack<'_>) {}
    fn on_congestion(&mut self, _: Time, _: &Congestion) {}
    fn on_rto(&mut self, _: Time, _: &Timeout) {}
}

/// 100 packets, and no queue, so that the tenth to arrive is the one that is marked. The second
/// router sees a mark on its tenth, too, and none is counted twice.
#[test]
fn a_controller_gets_the_scheme_that_its_flows_need() {
    let tenth = |params: &Params, _: PortInit| Tenth { each: params.each, arrived: 0, marked: 0 };
    let mut registry = Registry::default();
    registry.register(Registration::port_scheme("tenth", tenth)).expect("registers");
    let ten = |_: &NoParams, init: Init| Ten(10 * u64::from(init.mss_bytes));
    let needs = NetworkRequirements { port: Some("tenth".into()), ..NetworkRequirements::NONE };
    registry.register(Registration::new("ten", ten).needs(needs)).expect("registers");
    let flow = "flows = [{ src = \"s0\", dst = \"d0\", packets = 100 }]\ntcp.ecn = true";
    let marks = |protocol: &str, port: &str| {
        let set = ["links.l-r.rate=100Mbit/s", port];
        run(&registry, protocol, flow, &set[..1 + usize::from(!port.is_empty())]).metrics.ce_marks
    };
    assert_eq!((marks("ten", ""), marks("newreno", "")), (10, 0));
    assert_eq!(marks("ten", "link_defaults.port={ scheme = \"tenth\", each = 50 }"), 2);
    assert_eq!(marks("ten", "link_defaults.port=none"), 0);
}
