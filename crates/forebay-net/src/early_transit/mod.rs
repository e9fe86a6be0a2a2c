//! When early transit is allowed: all its conditions.
//!
//! Early transit queues a packet on the next link, or hands it to a host, as soon as it is queued
//! on the link before. The work itself is in `fabric/early_transit.rs`. Here is what must hold for
//! it:
//!
//! * [`EarlyTransitPlan`]: which links may do it, decided per link when a network is built. Each
//!   [`Ineligible`] says why a link may not.
//! * [`Horizon`](crate::Horizon): until when, decided while the network runs.
//!
//! A [`Guard`] is one of these conditions by its name. Tests switch them off one by one and look
//! whether anything notices.

mod conditions;
mod guards;
mod upstream;

pub(crate) use conditions::{ArrivalPath, LinkChange, Setting, link_changes};
pub use conditions::{EarlyTransitPlan, Ineligible, LinkEarlyTransit};
pub use guards::{Guard, Guards};
pub(crate) use upstream::{Upstreams, Ways};
