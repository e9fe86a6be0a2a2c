//! Protocol bundles: what a protocol needs in the network and of the transport besides its two
//! endpoints.
//!
//! An algorithm that works over plain routers needs no line here: the one in the table of
//! algorithms is enough.

use crate::keys::inrpp;

/// Requirements of a protocol besides its controller and its receiver half. Of a registered one:
/// [`Registration::needs`].
///
/// [`Registration::needs`]: crate::Registration::needs
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NetworkRequirements {
    /// The scheme of the ports of routers, by name, unless the scenario gives them one; None: any
    /// will do.
    pub port: Option<&'static str>,
    /// The kind of all routers, by name, unless the scenario gives them one; None: any will do.
    pub router: Option<&'static str>,
    /// The reference for its results.
    pub reference: ReferenceMode,
    /// What links between routers carry beyond their MTU, in bytes: room for what ports or routers
    /// add to a full-sized packet.
    pub mtu_room_bytes: u16,
    /// True if its senders do not wait for windows: the buffers at both ends hold the largest flow
    /// of the scenario, unless the scenario gives them for this protocol.
    pub buffers_hold_a_flow: bool,
}

/// Which paths the reference gives a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReferenceMode {
    /// The one that routes say.
    #[default]
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

/// The protocols of the table that need something.
const BUNDLES: &[(&str, NetworkRequirements)] = &[
    ("rcp", NetworkRequirements { port: Some("rcp"), ..NetworkRequirements::NONE }),
    (
        inrpp::NAME,
        NetworkRequirements {
            router: Some(inrpp::NAME),
            reference: ReferenceMode::Pooled,
            buffers_hold_a_flow: true,
            ..NetworkRequirements::NONE
        },
    ),
    ("kickass", NetworkRequirements { port: Some("kickass"), ..NetworkRequirements::NONE }),
];

impl NetworkRequirements {
    /// Values of a protocol that needs nothing.
    pub const NONE: NetworkRequirements = NetworkRequirements {
        port: None,
        router: None,
        reference: ReferenceMode::SinglePath,
        mtu_room_bytes: 0,
        buffers_hold_a_flow: false,
    };

    /// That of a protocol of the table; empty if it has no line.
    pub(crate) fn of_table(protocol: &str) -> NetworkRequirements {
        let line = BUNDLES.iter().find(|(name, _)| *name == protocol);
        line.map_or_else(NetworkRequirements::default, |(_, bundle)| *bundle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Registry, Routers, Schemes};

    #[test]
    fn a_protocol_without_a_line_needs_nothing() {
        assert_eq!(NetworkRequirements::of_table("cubic"), NetworkRequirements::default());
        assert_eq!(NetworkRequirements::of_table("rcp").port, Some("rcp"));
        let inrpp = NetworkRequirements::of_table("inrpp");
        assert_eq!((inrpp.port, inrpp.router), (None, Some("inrpp")));
        assert_eq!(inrpp.reference, ReferenceMode::Pooled);
    }

    #[test]
    fn every_line_is_of_a_protocol_and_names_what_there_is() {
        let registry = Registry::default();
        for (i, (name, bundle)) in BUNDLES.iter().copied().enumerate() {
            assert!(BUNDLES[..i].iter().all(|(other, _)| *other != name), "{name}");
            assert!(registry.algorithm(name).is_some(), "{name}");
            assert_ne!(bundle, NetworkRequirements::default());
            assert!(
                bundle.port.is_none_or(|port| registry.line::<Schemes>(port).is_some()),
                "{name}"
            );
            assert!(
                bundle.router.is_none_or(|kind| registry.line::<Routers>(kind).is_some()),
                "{name}"
            );
        }
    }
}
