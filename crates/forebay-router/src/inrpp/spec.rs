//! INRPP as a line of the table of routers.

use super::guard::Guard;
use super::router::{Inrpp, PortInfo};
use super::settings::Settings;
use crate::forwarding::{RouterInit, RouterPort, RouterSettings};
use alloc::vec::Vec;
use forebay_base::{IpVersion, NodeId, PortId, Rate};
use forebay_signal::inrpp::RouterId;

impl RouterSettings for Settings {
    type Router = Inrpp;

    /// Detour tags are an IPv4 option: with IPv6 no router has neighbours for detours.
    fn build(&self, init: RouterInit<'_>) -> Inrpp {
        let id = |node: NodeId| RouterId(node.0);
        let info = |port: &RouterPort| {
            let neighbour = port.neighbour.filter(|_| init.version == IpVersion::V4);
            PortInfo {
                rate: port.rate,
                mtu_bytes: port.mtu_bytes,
                queue_bytes: port.queue_bytes,
                drop_tail: port.drop_tail,
                neighbour: neighbour.map(id),
                foreign: port.foreign,
            }
        };
        let ports: Vec<PortInfo> = init.ports.iter().map(info).collect();
        let secrets = self.secrets.as_ref();
        let guard = secrets.map(|secrets| Guard::new(init.node, init.ports, secrets));
        Inrpp::new(id(init.node), &ports, self, init.rng).guarded_by(guard.unwrap_or_default())
    }
    fn cache_bytes(&self, port: PortId, rate: Rate) -> u64 {
        self.cache.at(port, rate).total_bytes
    }
    fn detours(&self) -> bool {
        self.detours
    }
    fn count_per_flow(&mut self) {
        self.flow_totals = true;
    }
}
