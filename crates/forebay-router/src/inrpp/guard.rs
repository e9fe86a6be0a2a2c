//! Whose notices a router believes, where links have keys (paper, section V-C). What it does not
//! believe travels on without effect.
//!
//! * Over a link with a key comes what the neighbour has signed; all else is void from there on.
//! * Over a link to hosts, or to routers that are not of INRPP, come empty options alone, for no
//!   host originates a notice: others are emptied, nonce and count of routers too. They come from
//!   hosts behind that link alone (RFC 3704 section 2.2); else they are void, so that no router
//!   takes a forged ACK for the end of a request, or for data that have arrived.
//! * Over another link to an INRPP router comes anything.
//!
//! The last link to a host has no key: whoever is on it could as well drop what the host sends.

use super::settings::LinkSecrets;
use super::signals::Signals;
use crate::forwarding::{NodeContext, RouterPort};
use alloc::boxed::Box;
use alloc::vec::Vec;
use forebay_base::{Arena, Endpoint, Handle, NodeId, Packet, PortId, Time};
use forebay_signal::inrpp::guard::{LinkKeys, LinkSecret, guarded, guarded_mut, make_void};
use forebay_signal::inrpp::{BackPressure, Echo, Notice, RouterId};

enum Trust {
    /// A link to an INRPP router, without a key.
    Any,
    /// A link to hosts or other routers.
    Empty,
    /// A link with a key. On the heap: few ports of many.
    Signed(Box<LinkKeys>),
}

/// Per port what is believed; no ports: everything is.
#[derive(Default)]
pub(super) struct Guard(Vec<Trust>);

impl Guard {
    /// That of `me` with these ports.
    pub fn new(me: NodeId, ports: &[RouterPort], secrets: &LinkSecrets) -> Guard {
        let id = |node: NodeId| RouterId(node.0);
        let trust = |(port, secret): (&RouterPort, &Option<LinkSecret>)| match (
            port.neighbour,
            secret.clone(),
        ) {
            (None, _) => Trust::Empty,
            (Some(_), None) => Trust::Any,
            (Some(neighbour), Some(secret)) => {
                Trust::Signed(Box::new(LinkKeys::new(secret, id(me), id(neighbour))))
            }
        };
        Guard(ports.iter().zip(secrets.iter()).map(trust).collect())
    }
    #[inline]
    pub fn is_on(&self) -> bool {
        !self.0.is_empty()
    }
    /// Whether what `packet`, which came in over `port`, says on an ACK or in a notice counts.
    #[inline]
    pub fn believes(
        &mut self,
        port: PortId,
        packet: &Packet,
        said: BackPressure,
        cx: &NodeContext<'_>,
    ) -> bool {
        match &mut self.0[port.index()] {
            Trust::Any => true,
            Trust::Signed(keys) => guarded(&cx.arena.cold(packet.cold()).tcp_options)
                .is_some_and(|option| keys.confirms(cx.now, &option, packet)),
            Trust::Empty => said == BackPressure::default() && comes_from(port, packet, cx),
        }
    }
    /// What counts of the signals of such a packet where [`Guard::believes`] is false. The packet
    /// says no more than that from here on.
    #[cold]
    pub fn correct(&self, port: PortId, packet: &Packet, cx: &mut NodeContext<'_>) -> Signals {
        let signals = Signals::of(packet, cx.arena);
        let is_empty = matches!(self.0[port.index()], Trust::Empty);
        let answers = is_empty && comes_from(port, packet, cx);
        let options = &mut cx.arena.cold_mut(packet.cold()).tcp_options;
        if !answers {
            make_void(options);
            let echo = signals.echo.or(Some(Echo(None)));
            return Signals { back_pressure: None, notice: None, echo, ..signals };
        }
        let empty = BackPressure::default();
        let mut emptied = signals;
        if signals.back_pressure.is_some() {
            emptied.back_pressure = Some(empty);
            empty.overwrite(options);
        }
        if signals.notice.is_some() {
            emptied.notice = Some(Notice(empty));
            Notice(empty).overwrite(options);
        }
        emptied
    }
    /// Sign what leaves through `port`.
    #[inline(always)]
    pub fn sign(&mut self, now: Time, port: PortId, packet: &Packet, arena: &mut Arena) {
        if self.is_on() {
            self.sign_for(now, port, packet, arena);
        }
    }
    #[inline(never)]
    fn sign_for(&mut self, now: Time, port: PortId, packet: &Packet, arena: &mut Arena) {
        let Some(Trust::Signed(keys)) = self.0.get_mut(port.index()) else { return };
        if packet.cold() != Handle::NONE
            && let Some(option) = guarded_mut(&mut arena.cold_mut(packet.cold()).tcp_options)
        {
            keys.sign(now, option, packet);
        }
    }
}

/// True if what is for the source of `packet` would leave through `port`.
fn comes_from(port: PortId, packet: &Packet, cx: &NodeContext<'_>) -> bool {
    let (src, dst) = packet.ports().unwrap_or_default();
    let end = |addr, port| Endpoint { addr, port };
    let back = [end(packet.dst(), dst), end(packet.src(), src)];
    cx.routes.port(cx.node, back) == Some(port)
}
