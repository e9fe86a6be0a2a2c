//! The table of algorithms. One line here and one `pub mod` in `lib.rs` add one; everything else
//! follows from the line: the enum variants, the parameters that a scenario may set, the names on
//! the command line, the legend of a figure, the conformance suite. The report derives colour and
//! marker from the line's place, so new lines go to the end.
//!
//! A module that is named here has the type of the variant's name with `new(&Params, Init)`, which
//! implements [`Controller`]; and `Params`: serde with `default` and `deny_unknown_fields`, every
//! field with unit and source, and `check(&self)`. If the algorithm has a receiver half,
//! `with Type` names it: `new(&Params)`, [`Feedback`].

use crate::controller::{
    Ack, AckPolicy, Congestion, Controller, Delivered, HeaderEdits, Init, Limits, Loss, LossPolicy,
    NextPacket, Recovered, RecoveryOwner, RttView, Sent, SeriesSample, Sibling, Tag, Timeout,
    Traits,
};
use crate::feedback::{AckDemand, DatagramView, Feedback, PieceView};
use alloc::boxed::Box;
use alloc::sync::Arc;
use forebay_base::{OptionList, ParamError, Span, Time, head_comment};
use serde::{Deserialize, Serialize};

/// One line of the table: what to show of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name in scenario files, on the command line and in results.
    pub name: &'static str,
    /// Name in figures and text.
    pub title: &'static str,
    /// RFC, draft or DOI.
    pub reference: &'static str,
    /// Its summary, in one line.
    pub summary: &'static str,
    /// The algorithm with its default parameters.
    pub spec: fn() -> Spec,
    source: &'static str,
}

impl Entry {
    /// The head comment of the algorithm's file, line by line: what it implements, its equations,
    /// and what it differs in.
    pub fn about(&self) -> impl Iterator<Item = &'static str> {
        head_comment(self.source)
    }
}

/// The first argument is a dollar sign, for the macros that this one defines.
macro_rules! algorithms {
    ($d:tt $($Variant:ident $module:ident $(with $Receiver:ident)? : $name:literal, $title:literal,
        $reference:literal, $summary:literal;)*) => {
        /// The controllers.
        pub enum AnyController {
            $(#[doc = $summary] $Variant(crate::$module::$Variant),)*
            /// Brought from outside.
            Custom(Box<dyn Controller>),
        }
        /// The receiver halves.
        #[derive(Default)]
        pub enum AnyFeedback {
            /// Feeds back nothing beyond what TCP does.
            #[default]
            None,
            $($(#[doc = $summary] $Receiver(crate::$module::$Receiver),)?)*
            /// Brought from outside.
            Custom(Box<dyn Feedback>),
        }
        /// An algorithm and its parameters, as a scenario states them:
        /// `{ cubic = { beta = 0.7 } }`.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Spec {
            $(#[doc = $summary] #[serde(rename = $name)] $Variant(crate::$module::Params),)*
        }
        /// All algorithms, in the order of the table.
        pub const TABLE: &[Entry] = &[$(Entry {
            name: $name, title: $title, reference: $reference, summary: $summary,
            spec: || Spec::$Variant(crate::$module::Params::default()),
            source: include_str!(concat!(stringify!($module), ".rs")),
        },)*];
        impl Spec {
            /// Name in the table.
            pub const fn name(&self) -> &'static str {
                match self { $(Spec::$Variant(_) => $name,)* }
            }
            /// Errors if a parameter is outside its range.
            pub fn check(&self) -> Result<(), ParamError> {
                match self { $(Spec::$Variant(params) => params.check(),)* }
            }
            /// The controller of one path. The parameters must have passed [`Spec::check`].
            pub fn build(&self, init: Init) -> AnyController {
                match self {
                    $(Spec::$Variant(params) =>
                        AnyController::$Variant(crate::$module::$Variant::new(params, init)),)*
                }
            }
            /// The receiver half of one path.
            pub fn build_feedback(&self) -> AnyFeedback {
                $($(if let Spec::$Variant(params) = self {
                    return AnyFeedback::$Receiver(crate::$module::$Receiver::new(params));
                })?)*
                AnyFeedback::None
            }
            /// Makes the receiver halves of many paths. They share what depends on the parameters
            /// alone and costs much to make.
            pub fn feedback_maker(&self) -> Arc<dyn Fn() -> AnyFeedback + Send + Sync> {
                $($(if let Spec::$Variant(params) = self {
                    let first = crate::$module::$Receiver::new(params);
                    return Arc::new(move || AnyFeedback::$Receiver(first.clone()));
                })?)*
                Arc::new(|| AnyFeedback::None)
            }
        }
        impl AnyController {
            /// The machine itself as a trait object, without the enum around it.
            pub fn into_boxed(self) -> Box<dyn Controller> {
                match self {
                    $(AnyController::$Variant(c) => Box::new(c),)*
                    AnyController::Custom(c) => c,
                }
            }
        }
        macro_rules! each_controller {
            ($d any:expr, $d c:ident => $d call:expr) => {
                match $d any {
                    $(AnyController::$Variant($d c) => $d call,)*
                    AnyController::Custom($d c) => $d call,
                }
            };
        }
        macro_rules! each_feedback {
            ($d any:expr, $d f:ident => $d call:expr, none => $d nothing:expr) => {
                match $d any {
                    AnyFeedback::None => $d nothing,
                    $($(AnyFeedback::$Receiver($d f) => $d call,)?)*
                    AnyFeedback::Custom($d f) => $d call,
                }
            };
        }
    };
}

algorithms! { $
    NewReno newreno: "newreno", "NewReno", "RFC 5681, RFC 6582",
        "Additive increase of one segment per round trip, halving on loss.";
    Cubic cubic: "cubic", "CUBIC", "RFC 9438",
        "Grows the window as a cubic function of time since the last congestion event; HyStart++ \
         slow start.";
    Inrpp inrpp with InrppReceiver: "inrpp", "INRPP", "doi:10.1109/TNET.2021.3128384",
        "Sends at line rate into the caches of routers, or one packet per ACK under back-pressure.";
    Rcp rcp with RcpEcho: "rcp", "RCP", "doi:10.1007/11499169_22",
        "Sends at the rate that routers write into its packets: processor sharing.";
    Bbr bbr: "bbr", "BBR v3", "draft-ietf-ccwg-bbr, doi:10.1145/3012426.3022184",
        "Sends at the rate at which the path delivers, with little more than a BDP in flight.";
    Bbr1 bbr1: "bbr1", "BBR v1", "Linux 4.9 tcp_bbr.c, doi:10.1145/3012426.3022184",
        "The BBR of 2016: gains 1.25 and 0.75 in turn, two BDP in flight, loss-agnostic.";
    Vegas vegas: "vegas", "Vegas", "doi:10.1109/49.464716",
        "Keeps a few segments of its own in queues, which it counts from the RTT.";
    Copa copa: "copa", "Copa", "doi:10.5555/3307441.3307470",
        "Steers its rate towards the inverse of the queueing delay; competitive mode against \
         buffer-filling flows.";
    Pcc pcc: "pcc", "PCC Allegro", "doi:10.48550/arXiv.1409.7092",
        "Tests rates and moves toward higher utility: throughput with little loss.";
    Ledbat ledbat: "ledbat", "LEDBAT++", "draft-irtf-iccrg-ledbat-plus-plus",
        "Background traffic: keeps the queue below 60 ms and gives way to all who fill it further.";
    KickAss kickass with KickAssReceiver: "kickass", "Kick-Ass", "doi:10.1109/ICNP.2016.7784442",
        "Sends at the rate that routers signal by fragment length; TCP where none does.";
    Verus verus: "verus", "Verus", "doi:10.1145/2785956.2787498",
        "Learns a profile of delay vs. window, and steers the delay every 5 ms.";
    Sprout sprout with SproutReceiver: "sprout", "Sprout", "doi:10.5555/2482626.2482670",
        "Sends what the receiver forecasts with 95 % certainty to leave the queue within 100 ms.";
    Dctcp dctcp: "dctcp", "DCTCP", "RFC 8257",
        "Reduces its window by half the share of bytes that were marked; for data centres.";
    Lia lia: "mptcp", "MPTCP", "RFC 6356, RFC 8684",
        "Several subflows, coupled by LIA: as much as one NewReno on a link that they share.";
    Olia olia: "mptcp-olia", "MPTCP OLIA", "doi:10.1109/TNET.2013.2274462, RFC 8684",
        "Several subflows, coupled by OLIA, which moves window to the better paths.";
}

impl Spec {
    /// The algorithm of that name in the table, with default parameters.
    pub fn by_name(name: &str) -> Option<Spec> {
        TABLE.iter().find(|entry| entry.name == name).map(|entry| (entry.spec)())
    }
    /// It with the parameters of its paper, RFC or draft. Those that the paper leaves open are not
    /// set.
    pub fn of_paper(&self) -> Spec {
        match self {
            Spec::Verus(_) => Spec::Verus(crate::verus::Params::paper()),
            Spec::KickAss(_) => Spec::KickAss(crate::kickass::Params::paper()),
            _ => (self.entry().spec)(),
        }
    }
    /// Its line in the table.
    pub fn entry(&self) -> &'static Entry {
        let line = TABLE.iter().find(|entry| entry.name == self.name());
        line.expect("the variants and the table are made from the same lines")
    }
}

impl Default for Spec {
    /// What most hosts run: CUBIC.
    fn default() -> Spec {
        Spec::Cubic(crate::cubic::Params::default())
    }
}

// Enum inside, trait object at the door: the calls go straight to the variants. A default method
// that is not forwarded here compiles and silently does nothing, so every method of both traits is
// written out, and `tests/conformance.rs` compares each variant with the same machine behind
// `Custom`.

impl Controller for AnyController {
    #[inline]
    fn limits(&self) -> Limits {
        each_controller!(self, c => c.limits())
    }
    fn traits(&self) -> Traits {
        each_controller!(self, c => c.traits())
    }
    fn on_established(&mut self, now: Time, rtt: &RttView, options: Option<&OptionList>) {
        each_controller!(self, c => c.on_established(now, rtt, options))
    }
    #[inline]
    fn on_sent(&mut self, now: Time, sent: &Sent) -> Tag {
        each_controller!(self, c => c.on_sent(now, sent))
    }
    #[inline]
    fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        each_controller!(self, c => c.on_ack(now, ack))
    }
    #[inline]
    fn on_delivered(&mut self, now: Time, packet: &Delivered) {
        each_controller!(self, c => c.on_delivered(now, packet))
    }
    fn on_loss(&mut self, now: Time, loss: &Loss) {
        each_controller!(self, c => c.on_loss(now, loss))
    }
    fn on_congestion(&mut self, now: Time, event: &Congestion) {
        each_controller!(self, c => c.on_congestion(now, event))
    }
    fn on_recovered(&mut self, now: Time, end: &Recovered) {
        each_controller!(self, c => c.on_recovered(now, end))
    }
    fn on_rto(&mut self, now: Time, timeout: &Timeout) {
        each_controller!(self, c => c.on_rto(now, timeout))
    }
    fn on_spurious(&mut self, now: Time) {
        each_controller!(self, c => c.on_spurious(now))
    }
    fn loss_policy(&self) -> Option<LossPolicy> {
        each_controller!(self, c => c.loss_policy())
    }
    fn rto_floor(&self) -> Span {
        each_controller!(self, c => c.rto_floor())
    }
    fn path_keeps_order(&self) -> bool {
        each_controller!(self, c => c.path_keeps_order())
    }
    fn longest_hold(&self) -> Span {
        each_controller!(self, c => c.longest_hold())
    }
    fn ack_policy(&self) -> Option<AckPolicy> {
        each_controller!(self, c => c.ack_policy())
    }
    #[inline]
    fn recovery_owner(&self) -> RecoveryOwner {
        each_controller!(self, c => c.recovery_owner())
    }
    #[inline]
    fn edit_header(&mut self, now: Time, next: &NextPacket) -> HeaderEdits {
        each_controller!(self, c => c.edit_header(now, next))
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each_controller!(self, c => c.next_timeout())
    }
    fn on_timer(&mut self, now: Time) {
        each_controller!(self, c => c.on_timer(now))
    }
    fn couple(&mut self, siblings: &[Sibling], me: usize) {
        each_controller!(self, c => c.couple(siblings, me))
    }
    #[inline]
    fn ssthresh_bytes(&self) -> Option<u64> {
        each_controller!(self, c => c.ssthresh_bytes())
    }
    fn phase(&self) -> &'static str {
        each_controller!(self, c => c.phase())
    }
    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        each_controller!(self, c => c.observe(visit))
    }
}

impl Feedback for AnyFeedback {
    #[inline]
    fn wants_pieces(&self) -> bool {
        each_feedback!(self, f => f.wants_pieces(), none => false)
    }
    #[inline]
    fn on_piece(&mut self, now: Time, piece: &PieceView) {
        each_feedback!(self, f => f.on_piece(now, piece), none => ())
    }
    #[inline]
    fn on_datagram(&mut self, now: Time, datagram: &DatagramView<'_>) -> AckDemand {
        each_feedback!(self, f => f.on_datagram(now, datagram), none => AckDemand::Policy)
    }
    #[inline]
    fn clocks_acks(&self) -> bool {
        each_feedback!(self, f => f.clocks_acks(), none => false)
    }
    fn demands_acks(&self) -> bool {
        each_feedback!(self, f => f.demands_acks(), none => false)
    }
    fn ack_parts(&self) -> u8 {
        each_feedback!(self, f => f.ack_parts(), none => 1)
    }
    fn widens_window(&self) -> bool {
        each_feedback!(self, f => f.widens_window(), none => false)
    }
    fn wants_paws(&self) -> bool {
        each_feedback!(self, f => f.wants_paws(), none => true)
    }
    #[inline]
    fn fill(&mut self, now: Time, options: &mut OptionList) {
        each_feedback!(self, f => f.fill(now, options), none => ())
    }
    #[inline]
    fn next_timeout(&self) -> Option<Time> {
        each_feedback!(self, f => f.next_timeout(), none => None)
    }
    fn on_timer(&mut self, now: Time) -> AckDemand {
        each_feedback!(self, f => f.on_timer(now), none => AckDemand::Policy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_well_formed() {
        let mut names = BTreeSet::new();
        for entry in TABLE {
            assert!(names.insert(entry.name), "{} twice", entry.name);
            assert!(
                entry
                    .name
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            );
            assert!(!entry.summary.contains('\n') && entry.summary.ends_with('.'));
            assert!(!entry.reference.is_empty() && !entry.title.is_empty());
        }
    }

    #[test]
    fn a_name_leads_to_its_own_line_and_back() {
        for entry in TABLE {
            let spec = Spec::by_name(entry.name).expect("in the table");
            assert_eq!(spec.name(), entry.name);
            assert_eq!(spec.entry().title, entry.title);
            assert_eq!(spec.check(), Ok(()), "the defaults of {} are out of range", entry.name);
        }
        assert_eq!(Spec::by_name("no-such-thing"), None);
    }

    #[test]
    fn every_algorithm_tells_what_it_is_about_and_what_it_differs_in() {
        for entry in TABLE {
            // The source stands in the head comment's first paragraphs, wherever lines break.
            let cited = entry.about().any(|line| line.contains("RFC") || line.contains("doi"));
            assert!(cited, "the head comment of {} cites no RFC and no doi", entry.name);
            assert!(entry.about().any(|line| line.starts_with("Differs from")), "{}", entry.name);
        }
    }

    #[test]
    fn json_round_trips_and_unknown_parameters_are_refused() {
        for entry in TABLE {
            let spec = (entry.spec)();
            let text = serde_json::to_string(&spec).expect("serialises");
            assert_eq!(serde_json::from_str::<Spec>(&text).expect("reads back"), spec);
            let empty = alloc::format!("{{\"{}\":{{}}}}", entry.name);
            assert_eq!(serde_json::from_str::<Spec>(&empty).expect("all have defaults"), spec);
            let odd = alloc::format!("{{\"{}\":{{\"no_such_parameter\":1}}}}", entry.name);
            let error = serde_json::from_str::<Spec>(&odd).expect_err("must be refused");
            assert!(alloc::format!("{error}").contains("no_such_parameter"));
        }
    }
}
