//! Protocol bundles: what a protocol needs in the network and of the transport beside its two ends.
//!
//! An algorithm that works over plain routers needs no line here: the one in the table of algorithms is enough.

use forebay_signal::inrpp::DETOUR_TAG_BYTES;

/// What a protocol needs beside its controller and its receiver half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The protocol, as the table of algorithms spells it.
    pub name: &'static str,
    /// What the ports of routers do.
    pub ports: PortKind,
    /// How routers forward.
    pub routers: RouterKind,
    /// What its results are compared with.
    pub reference: ReferenceMode,
    /// What links between its routers carry beyond their MTU, in bytes: room for what routers add to a full-sized packet.
    pub mtu_room_bytes: u16,
    /// True if its senders do not wait for windows: the buffers at both ends hold the largest flow of the scenario, unless the
    /// scenario gives them for this protocol.
    pub buffers_hold_a_flow: bool,
}

/// What the ports of routers do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortKind {
    /// They queue.
    Plain,
    /// They queue, and stamp the rate of RCP into what leaves.
    Rcp,
}

/// How routers forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouterKind {
    /// Plain IP.
    PlainIp,
    /// INRPP: caches, back-pressure, detours.
    Inrpp,
}

/// Which paths the reference gives a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceMode {
    /// The one that routes say.
    SinglePath,
    /// That one, and round each of its links every detour of one hop.
    Pooled,
}

impl ReferenceMode {
    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            ReferenceMode::SinglePath => "single-path",
            ReferenceMode::Pooled => "pooled",
        }
    }
}

/// What a protocol has that needs nothing.
const PLAIN: Bundle = Bundle {
    name: "",
    ports: PortKind::Plain,
    routers: RouterKind::PlainIp,
    reference: ReferenceMode::SinglePath,
    mtu_room_bytes: 0,
    buffers_hold_a_flow: false,
};

/// The protocols that need something.
const BUNDLES: &[Bundle] = &[
    Bundle { name: "rcp", ports: PortKind::Rcp, ..PLAIN },
    Bundle {
        name: "inrpp",
        routers: RouterKind::Inrpp,
        reference: ReferenceMode::Pooled,
        mtu_room_bytes: DETOUR_TAG_BYTES,
        buffers_hold_a_flow: true,
        ..PLAIN
    },
];

impl Bundle {
    /// The bundle of that protocol; plain if it has no line.
    pub fn of(protocol: &'static str) -> Bundle {
        let line = BUNDLES.iter().find(|bundle| bundle.name == protocol);
        line.copied().unwrap_or(Bundle { name: protocol, ..PLAIN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_without_a_line_needs_nothing() {
        assert_eq!(Bundle::of("cubic"), Bundle { name: "cubic", ..PLAIN });
        assert_eq!(Bundle::of("rcp").ports, PortKind::Rcp);
        let inrpp = Bundle::of("inrpp");
        assert_eq!((inrpp.ports, inrpp.routers), (PortKind::Plain, RouterKind::Inrpp));
        assert_eq!(inrpp.reference, ReferenceMode::Pooled);
    }

    #[test]
    fn every_line_is_of_a_protocol_and_says_something() {
        for (i, bundle) in BUNDLES.iter().enumerate() {
            assert!(BUNDLES[..i].iter().all(|other| other.name != bundle.name), "{}", bundle.name);
            assert_ne!(*bundle, Bundle { name: bundle.name, ..PLAIN });
        }
    }
}
