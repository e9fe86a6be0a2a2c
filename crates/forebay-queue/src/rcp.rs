//! The RCP router port: Dukkipati et al., "Processor Sharing Flows in the Internet" (IWQoS 2005,
//! doi:10.1007/11499169_22), and the authors' code for ns-2.
//!
//! One rate R for all flows of the port, in bit/s as the link counts them; C the rate of the link;
//! y what arrived in the last interval T, before any drop; q what waits at its end; d the mean
//! round-trip time:
//!
//! 1. `R <- R (1 + (T / d) (alpha (gamma C - y) - beta q / d) / (gamma C))`;
//! 2. `80 bit / d <= R <= gamma C` (a hundredth of a packet of 1000 bytes per round trip), the
//!    upper bound being the stronger;
//! 3. `d <- d + g (s - d)`, s the mean of the round-trip times that packets carried in the
//!    interval, weighted by their bytes; `g = T / d` if `s >= d`, else `g = (R / C) (s / d) (T /
//!    d)`. Without a sample d stays;
//! 4. `T = min(d, 10 ms)`, the first one `N(T, 0.2 T)` so that ports do not move in step; R starts
//!    at `0.05 C`.
//!
//! The rate is written into departing packets: their request is lowered to R. A packet that arrives
//! near the end of an interval counts there as far as the link could have carried it by then, the
//! rest of it in the next interval.
//!
//! In equilibrium `y = gamma C` and q = 0, so N flows get `R = gamma C / N`; with gamma > 1 the
//! queue stands at `q = alpha (gamma - 1) C d / beta`.
//!
//! Differs from the authors' code in: y is divided by the length that the interval had, also the
//! first; an interval without a sample leaves d alone instead of averaging an old one; T is no
//! shorter than a packet of 1500 bytes takes, and `T / d` in 1 and 3 no more than 1; link overhead
//! (PPP, Ethernet) counts in y, not in q; a port where nothing arrives and nothing waits requests
//! no timer: 1 with y = q = 0 is caught up, interval by interval, on the next access. The options
//! of a fragmented packet cannot be read: it counts in y, and no rate is written on it.

use crate::port::{Backlog, PortContext, PortInit};
use crate::rate_control::{RateControl, RateParams};
use crate::scheme::{PortScheme, SchemeParams, TrailingPackets};
use forebay_base::{Arena, Kind, Packet, Rate, Rng, Time};
use forebay_signal::rcp::Request;

/// What a port publishes: R, in bit/s.
pub const RATE_METRIC: &str = "rcp_rate_bps";

/// Parameters of an RCP port: those of its loop.
pub type RcpPortParams = RateParams;

impl SchemeParams for RcpPortParams {
    type Port = RcpPort;

    fn build(&self, init: PortInit) -> RcpPort {
        let PortInit { rate, overhead_bytes, rng, .. } = init;
        RcpPort::new(rate, overhead_bytes, *self, rng)
    }
}

/// Lower the request of `packet` to `rate`, if it carries one.
fn write_rate(packet: &mut Packet, rate: Rate, arena: &mut Arena) {
    if packet.kind() == Kind::Tcp && packet.cold_part(arena).is_some() {
        Request::lower(&mut packet.cold_mut(arena).tcp_options, rate);
    }
}

/// A port that writes its rate into departing packets.
#[derive(Clone, Debug)]
pub struct RcpPort {
    control: RateControl,
}

impl RcpPort {
    /// A port at the start of time, of a link of this rate and framing overhead per packet.
    /// Panics if the parameters do not pass [`forebay_base::Params::check`].
    pub fn new(rate: Rate, overhead_bytes: u16, params: RcpPortParams, mut rng: Rng) -> RcpPort {
        RcpPort { control: RateControl::new(rate, overhead_bytes, params, &mut rng) }
    }
}

impl PortScheme for RcpPort {
    fn on_arrival(&mut self, packet: &mut Packet, queue: Backlog, cx: &mut PortContext<'_>) {
        let bytes = packet.wire_len() as u64 + self.control.overhead_bytes as u64;
        self.control.arrive(cx.now, bytes, queue.bytes);
        if packet.kind() == Kind::Tcp
            && let Some(cold) = packet.cold_part(cx.arena)
            && let Some(rtt) = Request::find(&cold.tcp_options).and_then(|request| request.rtt)
        {
            self.control.carried(rtt, bytes);
        }
    }
    fn leave(
        &mut self,
        mut packet: Packet,
        _: &mut TrailingPackets<'_>,
        _: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet {
        write_rate(&mut packet, self.control.rate_at(cx.now), cx.arena);
        packet
    }
    fn next_timeout(&self) -> Option<Time> {
        self.control.next_timeout()
    }
    fn on_timeout(&mut self, now: Time, queue: Backlog) {
        self.control.catch_up(now, queue.bytes);
    }
    fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
        see(RATE_METRIC, self.control.rate_at(now).bps() as f64);
    }
    fn set_rate(&mut self, _now: Time, rate: Rate) {
        self.control.set_capacity(rate);
    }
}

#[cfg(test)]
mod tests;
