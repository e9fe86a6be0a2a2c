//! The table of disciplines. One line here and one `pub mod` in `lib.rs` add one; everything else
//! follows from the line: the enum variants, the parameters that a scenario may set, the names in
//! scenario files, `list`, `explain`, the schema, the conformance suite.
//!
//! A module that is named here has the type of the variant's name with `new(&Params, PortInit)`,
//! which implements [`Discipline`](crate::Discipline); and `Params`: serde with `default` and
//! `deny_unknown_fields`, every field with unit and source, none called `discipline`, `limit` or
//! `rtt`, and `check(&self)`.

use crate::discipline::Discipline;
use crate::port::PortInit;
use alloc::boxed::Box;
use forebay_base::{ParamError, head_comment};
use serde::{Deserialize, Serialize};

/// One line of the table: what to show of a discipline.
#[derive(Clone, Copy, Debug)]
pub struct DisciplineEntry {
    /// Name in scenario files and in results.
    pub name: &'static str,
    /// Name in figures and text.
    pub title: &'static str,
    /// RFC, draft or DOI.
    pub reference: &'static str,
    /// Its summary, in one line.
    pub summary: &'static str,
    /// The discipline with its default parameters.
    pub spec: fn() -> DisciplineSpec,
    source: &'static str,
}

impl DisciplineEntry {
    /// The head comment of the discipline's file, line by line: what it implements, its equations,
    /// and what it differs in.
    pub fn about(&self) -> impl Iterator<Item = &'static str> {
        head_comment(self.source)
    }
}

/// The first argument is a dollar sign, for the macro that this one defines.
macro_rules! disciplines {
    ($d:tt $($Variant:ident $module:ident: $name:literal, $title:literal, $reference:literal,
        $summary:literal;)*) => {
        /// The disciplines.
        pub enum AnyDiscipline {
            $(#[doc = $summary] $Variant(crate::$module::$Variant),)*
            /// Brought from outside.
            Custom(Box<dyn Discipline>),
        }
        /// A discipline and its parameters: `{ droptail = {} }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum DisciplineSpec {
            $(#[doc = $summary] #[serde(rename = $name)] $Variant(crate::$module::Params),)*
        }
        /// All disciplines, in the order of the table; the first is that of queues of which nothing
        /// is said.
        pub const DISCIPLINES: &[DisciplineEntry] = &[$(DisciplineEntry {
            name: $name, title: $title, reference: $reference, summary: $summary,
            spec: || DisciplineSpec::$Variant(crate::$module::Params::default()),
            source: include_str!(concat!(stringify!($module), ".rs")),
        },)*];
        impl DisciplineSpec {
            /// Name in the table.
            pub const fn name(&self) -> &'static str {
                match self { $(DisciplineSpec::$Variant(_) => $name,)* }
            }
            /// Errors if a parameter is outside its range.
            pub fn check(&self) -> Result<(), ParamError> {
                match self { $(DisciplineSpec::$Variant(params) => params.check(),)* }
            }
            /// The discipline of one port. The parameters must have passed
            /// [`DisciplineSpec::check`].
            pub fn build(&self, init: PortInit) -> AnyDiscipline {
                match self {
                    $(DisciplineSpec::$Variant(params) =>
                        AnyDiscipline::$Variant(crate::$module::$Variant::new(params, init)),)*
                }
            }
        }
        $(impl From<crate::$module::$Variant> for AnyDiscipline {
            fn from(discipline: crate::$module::$Variant) -> AnyDiscipline {
                AnyDiscipline::$Variant(discipline)
            }
        })*
        impl AnyDiscipline {
            /// The machine itself as a trait object, without the enum around it.
            pub fn into_boxed(self) -> Box<dyn Discipline> {
                match self {
                    $(AnyDiscipline::$Variant(d) => Box::new(d),)*
                    AnyDiscipline::Custom(d) => d,
                }
            }
        }
        macro_rules! each_discipline {
            ($d any:expr, $d x:ident => $d call:expr) => {
                match $d any {
                    $(AnyDiscipline::$Variant($d x) => $d call,)*
                    AnyDiscipline::Custom($d x) => $d call,
                }
            };
        }
    };
}

disciplines! { $
    DropTail droptail: "droptail", "Drop-tail", "RFC 7567",
        "First in, first out; a packet that does not fit is dropped.";
    Red red: "red", "RED", "doi:10.1109/90.251892",
        "Marks or drops arrivals with a probability that grows with the average queue.";
    Codel codel: "codel", "CoDel", "RFC 8289",
        "Marks or drops at the head while packets have waited above a target for an interval.";
    FqCodel fq_codel: "fq-codel", "FQ-CoDel", "RFC 8290",
        "A queue for each flow, served in turn, each under CoDel; new flows go first.";
    Pie pie: "pie", "PIE", "RFC 8033",
        "Marks or drops arrivals with a probability set by a queueing-delay controller.";
    Cell cell: "cell", "Cell", "doi:10.1109/VETECS.2000.851593",
        "A queue for each user, served by proportional fairness or in turn.";
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn every_line_is_well_formed_and_tells_what_it_is_about() {
        let mut names = BTreeSet::new();
        for entry in DISCIPLINES {
            assert!(names.insert(entry.name), "{} twice", entry.name);
            let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
            assert!(entry.name.bytes().all(plain) && !entry.title.is_empty());
            assert!(!entry.summary.contains('\n') && entry.summary.ends_with('.'));
            let cites = |line: &str| line.contains("RFC") || line.contains("doi");
            assert!(cites(entry.reference) && entry.about().any(cites), "{}", entry.name);
            assert!(entry.about().any(|line| line.starts_with("Differs from")), "{}", entry.name);
        }
    }

    #[test]
    fn defaults_pass_their_check_and_unknown_parameters_are_refused() {
        for entry in DISCIPLINES {
            let spec = (entry.spec)();
            assert_eq!((spec.name(), spec.check()), (entry.name, Ok(())));
            let text = serde_json::to_string(&spec).expect("serialises");
            let read = |text: &str| serde_json::from_str::<DisciplineSpec>(text);
            assert_eq!(read(&text).expect("reads back"), spec);
            for key in ["no_such_parameter", "discipline", "limit", "rtt"] {
                let odd = alloc::format!("{{\"{}\":{{\"{key}\":1}}}}", entry.name);
                assert!(alloc::format!("{}", read(&odd).expect_err("unknown")).contains(key));
            }
        }
    }
}
