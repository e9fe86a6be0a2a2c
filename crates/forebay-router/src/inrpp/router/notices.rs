//! Notices on data: routers write on them what they write on ACKs elsewhere.

use super::{FlowKey, Inrpp, Port};
use crate::forwarding::NodeContext;
use crate::inrpp::key::Class;
use crate::inrpp::state::State;
use forebay_base::{Arena, Packet, PortId};
use forebay_signal::inrpp::{BackPressure, Notice};

impl Inrpp {
    /// A packet with a notice has come.
    pub(super) fn count_in(
        &mut self,
        in_port: PortId,
        Notice(notice): Notice,
        packet: &mut Packet,
        arena: &mut Arena,
    ) {
        self.noticed = true;
        // By which port it will leave is not known yet.
        let detours = notice.detours || self.detours.rates().next().is_some();
        let routers = notice.routers.saturating_add(1);
        let foreign = notice.foreign || self.ports[in_port.index()].foreign;
        let counted = BackPressure { routers, detours, foreign, ..notice };
        let there = Notice(counted).overwrite(&mut packet.cold_mut(arena).tcp_options);
        debug_assert!(there, "it was read from there");
    }
    /// A packet of `flow` leaves through `port`, or on a detour from there: its notice, if any,
    /// takes the port's signal.
    #[inline]
    pub(super) fn notify(
        &mut self,
        port: PortId,
        flow: FlowKey,
        packet: &mut Packet,
        cx: &mut NodeContext<'_>,
    ) {
        if self.noticed && flow.class() == Class::Pooled {
            self.write_notice(port, flow, packet, cx);
        }
    }
    fn write_notice(
        &mut self,
        port: PortId,
        flow: FlowKey,
        packet: &mut Packet,
        cx: &mut NodeContext<'_>,
    ) {
        let Port { interface, foreign, .. } = &mut self.ports[port.index()];
        if interface.state() == State::Push && !*foreign {
            return;
        }
        let Some(Notice(mut notice)) = notice_of(packet, cx.arena) else { return };
        notice.foreign |= *foreign;
        let written = Notice(interface.on_notice(cx.now, flow, notice));
        written.overwrite(&mut packet.cold_mut(cx.arena).tcp_options);
    }
}

pub(super) fn notice_of(packet: &Packet, arena: &Arena) -> Option<Notice> {
    packet.cold_part(arena).and_then(|cold| Notice::find(&cold.tcp_options))
}
