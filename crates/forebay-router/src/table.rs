//! The table of routers. One line here and one `pub mod` in `lib.rs` add one; from the line follow
//! the enum variants, the parameters that a scenario may set, the name in scenario files, `list`,
//! `explain` and the schema.
//!
//! A line names a module with the type of the variant's name, and the type of its parameters: serde
//! with `default` and `deny_unknown_fields`, each field with its description, none called `kind`.
//! They implement [`RouterSettings`]. Plain IP, which needs nothing and is the way of nearly every
//! packet, stands outside the list.

use crate::forwarding::{Forwarding, NodeContext, RouterInit, RouterSettings, Sends, Verdict};
use crate::inrpp;
use crate::plain::PlainIp;
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::mem::discriminant;
use forebay_base::{Packet, PacketRing, ParamError, Params, PortId, Rate, Time, head_comment};
use serde::{Deserialize, Serialize};

/// One line of the table: what to show of a kind of router.
#[derive(Clone, Copy, Debug)]
pub struct RouterEntry {
    /// Name in scenario files and in results.
    pub name: &'static str,
    /// Name in figures and text.
    pub title: &'static str,
    /// RFC, draft or DOI.
    pub reference: &'static str,
    /// Its summary, in one line.
    pub summary: &'static str,
    /// The router with its default settings.
    pub spec: fn() -> ForwardingSpec,
    source: &'static str,
}

impl RouterEntry {
    /// The head comment of the router's module, line by line.
    pub fn about(&self) -> impl Iterator<Item = &'static str> {
        head_comment(self.source)
    }
}

/// Makes a router from outside.
pub type MakeRouter = Arc<dyn Fn(RouterInit<'_>) -> Box<dyn Forwarding> + Send + Sync>;

macro_rules! each {
    ($self:expr, [$($Variant:ident)*], $f:ident => $call:expr) => {
        match $self {
            AnyForwarding::PlainIp($f) => $call,
            $(AnyForwarding::$Variant($f) => $call,)*
            AnyForwarding::Custom($f) => $call,
        }
    };
}

macro_rules! routers {
    ($($Variant:ident $module:ident($Params:ident, $source:literal): $name:literal, $title:literal,
        $reference:literal, $summary:literal;)*) => {
        /// The machine inside a router. A node has one; there are hundreds, not millions.
        pub enum AnyForwarding {
            /// Plain IP.
            PlainIp(PlainIp),
            $(#[doc = $summary] $Variant(Box<$module::$Variant>),)*
            /// Brought from outside.
            Custom(Box<dyn Forwarding>),
        }
        /// How a router forwards, with its parameters: `{ inrpp = {} }`.
        #[derive(Clone, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum ForwardingSpec {
            /// Plain IP.
            #[serde(skip)]
            PlainIp,
            $(#[doc = $summary] #[serde(rename = $name)] $Variant(Arc<$module::$Params>),)*
            /// What this function makes: a kind under this name.
            #[serde(skip)]
            Custom(Arc<str>, MakeRouter),
        }
        /// All kinds of routers, in the order of the table; the first is that of nodes of which
        /// nothing is said.
        pub const ROUTERS: &[RouterEntry] = &[
            RouterEntry {
                name: "ip", title: "Plain IP", reference: "RFC 1812",
                summary: "Decrements the TTL, looks up the destination, queues.",
                spec: || ForwardingSpec::PlainIp,
                source: include_str!("plain.rs"),
            },
            $(RouterEntry {
                name: $name, title: $title, reference: $reference, summary: $summary,
                spec: || ForwardingSpec::$Variant(Arc::default()),
                source: include_str!($source),
            },)*
        ];
        impl ForwardingSpec {
            /// See [`Params::check`].
            pub fn check(&self) -> Result<(), ParamError> {
                match self {
                    ForwardingSpec::PlainIp | ForwardingSpec::Custom(..) => Ok(()),
                    $(ForwardingSpec::$Variant(settings) => settings.check(),)*
                }
            }
            /// See [`Params::implied`]. Panics if `table` is of another kind.
            pub fn implied(
                &self,
                given: &dyn Fn(&str) -> bool,
                table: &ForwardingSpec,
            ) -> ForwardingSpec {
                match (self, table) {
                    $((ForwardingSpec::$Variant(settings), ForwardingSpec::$Variant(table)) =>
                        ForwardingSpec::$Variant(Arc::new(settings.implied(given, table))),)*
                    _ => panic!("parameters of one kind"),
                }
            }
            /// The machine of one node.
            pub fn build(&self, init: RouterInit<'_>) -> AnyForwarding {
                match self {
                    ForwardingSpec::PlainIp => AnyForwarding::PlainIp(PlainIp),
                    $(ForwardingSpec::$Variant(settings) =>
                        AnyForwarding::$Variant(Box::new(settings.build(init))),)*
                    ForwardingSpec::Custom(_, make) => AnyForwarding::Custom(make(init)),
                }
            }
            /// Maximum bytes that it holds in addition to the queue of a port of that rate; 0 if
            /// it is from outside.
            pub fn cache_bytes(&self, port: PortId, rate: Rate) -> u64 {
                match self {
                    ForwardingSpec::PlainIp | ForwardingSpec::Custom(..) => 0,
                    $(ForwardingSpec::$Variant(settings) => settings.cache_bytes(port, rate),)*
                }
            }
            /// See [`RouterSettings::detours`]. One from outside may have them: the algorithm that
            /// runs over it says so.
            pub fn detours(&self) -> bool {
                match self {
                    ForwardingSpec::PlainIp => false,
                    ForwardingSpec::Custom(..) => true,
                    $(ForwardingSpec::$Variant(settings) => settings.detours(),)*
                }
            }
            /// See [`RouterSettings::count_per_flow`].
            pub fn count_per_flow(&mut self) {
                match self {
                    ForwardingSpec::PlainIp | ForwardingSpec::Custom(..) => {}
                    $(
                        ForwardingSpec::$Variant(settings) => {
                            Arc::make_mut(settings).count_per_flow();
                        }
                    )*
                }
            }
        }
        impl AnyForwarding {
            /// The machine itself, if it is a `T`.
            pub fn get<T: Forwarding>(&self) -> Option<&T> {
                let machine: &dyn Any = match self {
                    AnyForwarding::PlainIp(f) => f,
                    $(AnyForwarding::$Variant(f) => &**f,)*
                    AnyForwarding::Custom(f) => &**f,
                };
                machine.downcast_ref()
            }
        }
        impl Forwarding for AnyForwarding {
            fn holds_packets(&self) -> bool {
                each!(self, [$($Variant)*], f => f.holds_packets())
            }
            fn sends(&self, port: PortId) -> Sends {
                each!(self, [$($Variant)*], f => f.sends(port))
            }
            #[inline]
            fn on_packet(
                &mut self,
                in_port: PortId,
                packet: Packet,
                cx: &mut NodeContext<'_>,
            ) -> Verdict {
                each!(self, [$($Variant)*], f => f.on_packet(in_port, packet, cx))
            }
            #[inline]
            fn forward_in_place(
                &mut self,
                in_port: PortId,
                packet: &Packet,
                cx: &mut NodeContext<'_>,
            ) -> Option<PortId> {
                each!(self, [$($Variant)*], f => f.forward_in_place(in_port, packet, cx))
            }
            #[inline]
            fn keep_first(&mut self, ring: &mut PacketRing, cx: &mut NodeContext<'_>) -> bool {
                each!(self, [$($Variant)*], f => f.keep_first(ring, cx))
            }
            fn on_overflow(
                &mut self,
                port: PortId,
                packet: Packet,
                cx: &mut NodeContext<'_>,
            ) -> Verdict {
                each!(self, [$($Variant)*], f => f.on_overflow(port, packet, cx))
            }
            fn pull(&mut self, port: PortId, cx: &mut NodeContext<'_>) -> Option<Packet> {
                each!(self, [$($Variant)*], f => f.pull(port, cx))
            }
            fn has_eligible(&self, port: PortId, now: Time) -> bool {
                each!(self, [$($Variant)*], f => f.has_eligible(port, now))
            }
            fn held_packets(&self) -> u64 {
                each!(self, [$($Variant)*], f => f.held_packets())
            }
            fn held_bytes(&self, port: PortId) -> u64 {
                each!(self, [$($Variant)*], f => f.held_bytes(port))
            }
            #[inline]
            fn next_timeout(&self) -> Option<Time> {
                each!(self, [$($Variant)*], f => f.next_timeout())
            }
            fn on_timeout(&mut self, cx: &mut NodeContext<'_>) {
                each!(self, [$($Variant)*], f => f.on_timeout(cx))
            }
            fn on_link(&mut self, port: PortId, up: bool, cx: &mut NodeContext<'_>) {
                each!(self, [$($Variant)*], f => f.on_link(port, up, cx))
            }
            fn restart(&mut self, cx: &mut NodeContext<'_>) {
                each!(self, [$($Variant)*], f => f.restart(cx))
            }
        }
    };
}

routers! {
    Inrpp inrpp(Settings, "inrpp/mod.rs"): "inrpp", "INRPP", "doi:10.1109/TNET.2021.3128384",
        "Caches excess packets, detours them, and back-pressures upstream.";
}

impl ForwardingSpec {
    /// True if both are of one kind, whatever their settings: they may be neighbours that speak
    /// with each other.
    pub fn is_same_kind(&self, other: &ForwardingSpec) -> bool {
        match (self, other) {
            (ForwardingSpec::Custom(one, _), ForwardingSpec::Custom(other, _)) => one == other,
            _ => discriminant(self) == discriminant(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_well_formed_and_tells_what_it_is_about() {
        for (i, entry) in ROUTERS.iter().enumerate() {
            let before = &ROUTERS[..i];
            assert!(before.iter().all(|other| other.name != entry.name), "{} twice", entry.name);
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(entry.name.bytes().all(plain) && !entry.title.is_empty());
            assert!(!entry.summary.contains('\n') && entry.summary.ends_with('.'));
            let cites = |line: &str| line.contains("RFC") || line.contains("doi");
            assert!(cites(entry.reference) && entry.about().next().is_some(), "{}", entry.name);
        }
    }

    #[test]
    fn defaults_pass_their_check_and_unknown_parameters_are_refused() {
        // Plain IP has no parameters.
        for entry in &ROUTERS[1..] {
            let spec = (entry.spec)();
            assert_eq!(spec.check(), Ok(()));
            let text = |spec: &ForwardingSpec| serde_json::to_string(spec).expect("serialises");
            let read = |text: &str| serde_json::from_str::<ForwardingSpec>(text);
            assert_eq!(text(&read(&text(&spec)).expect("reads back")), text(&spec));
            assert_eq!(text(&spec.implied(&|_| false, &spec)), text(&spec));
            for key in ["no_such_parameter", "kind"] {
                let odd = alloc::format!("{{\"{}\":{{\"{key}\":1}}}}", entry.name);
                let error = read(&odd).err().expect("unknown");
                assert!(alloc::format!("{error}").contains(key));
            }
        }
    }

    #[test]
    fn kinds_are_told_apart_and_machines_found_by_their_type() {
        let [plain, inrpp] = [0, 1].map(|line: usize| (ROUTERS[line].spec)());
        assert!(inrpp.is_same_kind(&inrpp.clone()) && !inrpp.is_same_kind(&plain));
        let outside =
            |name: &str| ForwardingSpec::Custom(name.into(), Arc::new(|_| Box::new(PlainIp)));
        let one = outside("one");
        assert!(one.is_same_kind(&outside("one")) && !one.is_same_kind(&outside("other")));
        let init = RouterInit {
            node: forebay_base::NodeId(0),
            ports: &[],
            version: forebay_base::IpVersion::V4,
            rng: forebay_base::Rng::new(1, forebay_base::Stream::Forwarding, 0),
        };
        let built = one.build(init);
        assert!(built.get::<PlainIp>().is_some() && built.get::<inrpp::Inrpp>().is_none());
    }
}
