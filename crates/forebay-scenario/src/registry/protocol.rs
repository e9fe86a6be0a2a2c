//! Protocol bundles: what a protocol needs in the network and of the transport besides its two
//! endpoints.
//!
//! An algorithm that works over plain routers needs no line here: the one in the table of
//! algorithms is enough.

use crate::format::names::Name;
use crate::keys::inrpp;

/// Requirements of a protocol besides its controller and its receiver half. Of a registered one:
/// [`Registration::needs`].
///
/// [`Registration::needs`]: crate::Registration::needs
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NetworkRequirements {
    /// The scheme of the ports of routers, by name, unless the scenario gives them one; None: any
    /// will do.
    pub port: Option<Name>,
    /// The kind of all routers, by name, unless the scenario gives them one; None: any will do.
    pub router: Option<Name>,
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

impl NetworkRequirements {
    /// Values of a protocol that needs nothing.
    pub const NONE: NetworkRequirements = NetworkRequirements {
        port: None,
        router: None,
        reference: ReferenceMode::SinglePath,
        mtu_room_bytes: 0,
        buffers_hold_a_flow: false,
    };

    /// That of a protocol of the table; empty if it works over plain routers.
    pub(crate) fn of_table(protocol: &str) -> NetworkRequirements {
        match protocol {
            "rcp" | "kickass" => {
                NetworkRequirements { port: Some(protocol.into()), ..NetworkRequirements::NONE }
            }
            inrpp::NAME => NetworkRequirements {
                router: Some(protocol.into()),
                reference: ReferenceMode::Pooled,
                buffers_hold_a_flow: true,
                ..NetworkRequirements::NONE
            },
            _ => NetworkRequirements::NONE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{Registry, Routers, Schemes};

    #[test]
    fn a_protocol_without_needs_and_those_with_some() {
        assert_eq!(NetworkRequirements::of_table("cubic"), NetworkRequirements::default());
        assert_eq!(NetworkRequirements::of_table("rcp").port.as_deref(), Some("rcp"));
        let inrpp = NetworkRequirements::of_table("inrpp");
        assert_eq!((inrpp.port, inrpp.router.as_deref()), (None, Some("inrpp")));
        assert_eq!(inrpp.reference, ReferenceMode::Pooled);
    }

    #[test]
    fn what_a_protocol_of_the_table_needs_is_there() {
        let registry = Registry::default();
        let mut needy = 0;
        for algorithm in registry.algorithms() {
            let NetworkRequirements { port, router, .. } = algorithm.bundle();
            needy += usize::from(port.is_some() || router.is_some());
            let is_scheme = |name: &Name| registry.line::<Schemes>(name).is_some();
            let is_router = |name: &Name| registry.line::<Routers>(name).is_some();
            let name = algorithm.name();
            assert!(port.as_ref().is_none_or(is_scheme), "{name}");
            assert!(router.as_ref().is_none_or(is_router), "{name}");
        }
        assert_eq!(needy, 3);
    }
}
