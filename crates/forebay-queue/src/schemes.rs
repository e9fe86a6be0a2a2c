//! The table of port schemes. One line here and one `pub mod` in `lib.rs` add one; from the line
//! follow the enum variants, the parameters that a scenario may set, the name in scenario files,
//! `list`, `explain` and the schema.
//!
//! A line names a module and its parameters: serde with `default` and `deny_unknown_fields`, each
//! field with its description, none called `scheme`. They implement [`SchemeParams`].

use crate::kickass;
use crate::lanes::Division;
use crate::port::{Backlog, PortContext, PortInit};
use crate::rcp;
use crate::scheme::{Carries, PortScheme, SchemeParams, TrailingPackets};
use alloc::boxed::Box;
use alloc::sync::Arc;
use forebay_base::{IpVersion, Packet, ParamError, Params, Rate, Time, head_comment};
use serde::{Deserialize, Serialize};

/// One line of the table: what to show of a scheme.
#[derive(Clone, Copy, Debug)]
pub struct SchemeEntry {
    /// Name in scenario files and in results.
    pub name: &'static str,
    /// Name in figures and text.
    pub title: &'static str,
    /// RFC, draft or DOI.
    pub reference: &'static str,
    /// Its summary, in one line.
    pub summary: &'static str,
    /// The scheme with its default parameters.
    pub spec: fn() -> SchemeSpec,
    source: &'static str,
}

impl SchemeEntry {
    /// The head comment of the scheme's file, line by line.
    pub fn about(&self) -> impl Iterator<Item = &'static str> {
        head_comment(self.source)
    }
}

/// Makes the scheme of a port.
pub type MakeScheme = Arc<dyn Fn(PortInit) -> Box<dyn PortScheme> + Send + Sync>;

macro_rules! each {
    ($self:expr, [$($Variant:ident)*], $s:ident => $call:expr, none => $nothing:expr) => {
        match $self {
            AnyScheme::None => $nothing,
            $(AnyScheme::$Variant($s) => $call,)*
            AnyScheme::Custom($s) => $call,
        }
    };
}

macro_rules! schemes {
    ($($Variant:ident $module:ident($Params:ident): $name:literal, $title:literal,
        $reference:literal, $summary:literal;)*) => {
        /// The machine of a port.
        #[derive(Default)]
        pub enum AnyScheme {
            /// Measures nothing, changes nothing.
            #[default]
            None,
            $(#[doc = $summary] $Variant(<$module::$Params as SchemeParams>::Port),)*
            /// Brought from outside.
            Custom(Box<dyn PortScheme>),
        }
        /// What a port does in addition to queueing, with its parameters: `{ rcp = {} }`.
        #[derive(Clone, Default, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum SchemeSpec {
            /// Nothing.
            #[default]
            #[serde(skip)]
            None,
            $(#[doc = $summary] #[serde(rename = $name)] $Variant($module::$Params),)*
            /// What this function makes.
            #[serde(skip)]
            Custom(MakeScheme),
        }
        /// All schemes, in the order of the table.
        pub const SCHEMES: &[SchemeEntry] = &[$(SchemeEntry {
            name: $name, title: $title, reference: $reference, summary: $summary,
            spec: || SchemeSpec::$Variant($module::$Params::default()),
            source: include_str!(concat!(stringify!($module), ".rs")),
        },)*];
        impl SchemeSpec {
            /// See [`Params::check`].
            pub fn check(&self) -> Result<(), ParamError> {
                match self {
                    SchemeSpec::None | SchemeSpec::Custom(_) => Ok(()),
                    $(SchemeSpec::$Variant(params) => params.check(),)*
                }
            }
            /// See [`Params::implied`]. Panics if `table` is of another scheme.
            pub fn implied(&self, given: &dyn Fn(&str) -> bool, table: &SchemeSpec) -> SchemeSpec {
                match (self, table) {
                    $((SchemeSpec::$Variant(params), SchemeSpec::$Variant(table)) =>
                        SchemeSpec::$Variant(params.implied(given, table)),)*
                    _ => panic!("parameters of one scheme"),
                }
            }
            /// See [`SchemeParams::carries`].
            pub fn carries(&self, version: IpVersion) -> Option<Carries> {
                match self {
                    SchemeSpec::None | SchemeSpec::Custom(_) => None,
                    $(SchemeSpec::$Variant(params) => params.carries(version),)*
                }
            }
            /// The machine of one port.
            pub fn build(&self, init: PortInit) -> AnyScheme {
                match self {
                    SchemeSpec::None => AnyScheme::None,
                    $(SchemeSpec::$Variant(params) => AnyScheme::$Variant(params.build(init)),)*
                    SchemeSpec::Custom(make) => AnyScheme::Custom(make(init)),
                }
            }
        }
        impl PortScheme for AnyScheme {
            #[inline]
            fn on_arrival(
                &mut self,
                packet: &mut Packet,
                queue: Backlog,
                cx: &mut PortContext<'_>,
            ) {
                each!(self, [$($Variant)*], s => s.on_arrival(packet, queue, cx), none => ())
            }
            #[inline]
            fn division(&self) -> Option<&Division> {
                each!(self, [$($Variant)*], s => s.division(), none => None)
            }
            #[inline]
            fn division_mut(&mut self) -> Option<&mut Division> {
                each!(self, [$($Variant)*], s => s.division_mut(), none => None)
            }
            #[inline]
            fn touches(&self, packet: &Packet, now: Time) -> bool {
                each!(self, [$($Variant)*], s => s.touches(packet, now), none => false)
            }
            #[inline]
            fn leave(
                &mut self,
                packet: Packet,
                behind: &mut TrailingPackets<'_>,
                queue: Backlog,
                cx: &mut PortContext<'_>,
            ) -> Packet {
                each!(self, [$($Variant)*], s => s.leave(packet, behind, queue, cx), none => packet)
            }
            #[inline]
            fn next_timeout(&self) -> Option<Time> {
                each!(self, [$($Variant)*], s => s.next_timeout(), none => None)
            }
            fn on_timeout(&mut self, now: Time, queue: Backlog) {
                each!(self, [$($Variant)*], s => s.on_timeout(now, queue), none => ())
            }
            fn set_rate(&mut self, now: Time, rate: Rate) {
                each!(self, [$($Variant)*], s => s.set_rate(now, rate), none => ())
            }
            fn publish(&self, now: Time, see: &mut dyn FnMut(&'static str, f64)) {
                each!(self, [$($Variant)*], s => s.publish(now, see), none => ())
            }
        }
    };
}

schemes! {
    Rcp rcp(RcpPortParams): "rcp", "RCP", "doi:10.1007/11499169_22",
        "Computes one rate for all flows, and writes it into departing packets.";
    KickAss kickass(KickAssPortParams): "kickass", "Kick-Ass", "doi:10.1109/ICNP.2016.7784442",
        "Computes one rate for all flows, and says it by the length at which it cuts packets.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_well_formed_and_tells_what_it_is_about() {
        for (i, entry) in SCHEMES.iter().enumerate() {
            let before = &SCHEMES[..i];
            assert!(before.iter().all(|other| other.name != entry.name), "{} twice", entry.name);
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(entry.name.bytes().all(plain) && entry.name != "none");
            assert!(!entry.title.is_empty() && entry.summary.ends_with('.'), "{}", entry.name);
            let cites = |line: &str| line.contains("RFC") || line.contains("doi");
            assert!(cites(entry.reference) && entry.about().any(cites), "{}", entry.name);
            assert!(entry.about().any(|line| line.starts_with("Differs from")), "{}", entry.name);
            assert!(!matches!((entry.spec)(), SchemeSpec::None), "{}", entry.name);
        }
    }

    #[test]
    fn defaults_pass_their_check_and_unknown_parameters_are_refused() {
        for entry in SCHEMES {
            let spec = (entry.spec)();
            assert_eq!(spec.check(), Ok(()));
            let text = |spec: &SchemeSpec| serde_json::to_string(spec).expect("serialises");
            let read = |text: &str| serde_json::from_str::<SchemeSpec>(text);
            assert_eq!(text(&read(&text(&spec)).expect("reads back")), text(&spec));
            assert_eq!(text(&spec.implied(&|_| false, &spec)), text(&spec));
            for key in ["no_such_parameter", "scheme"] {
                let odd = alloc::format!("{{\"{}\":{{\"{key}\":1}}}}", entry.name);
                let error = read(&odd).err().expect("unknown");
                assert!(alloc::format!("{error}").contains(key));
            }
        }
    }
}
