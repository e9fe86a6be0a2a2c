//! INRPP's interface machine in every state that three routers and two or three flows can bring it
//! into, by `stateright` 0.31.
//!
//! Two ways of time. In [`AnyOrder`] packets and ACKs come in any order that the links allow, and
//! time passes only where nothing else can happen, or a bounded number of times before that. In
//! [`Slots`] links and delays have rates, so that what a cache has to hold can be worked out.

mod any_order;
mod net;
mod port;
mod rules;
mod slots;
