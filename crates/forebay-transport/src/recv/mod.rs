//! The receiving half of a path: reassembly, and when and what to acknowledge.

mod ack;
mod growth;
mod reassembly;

pub(crate) use ack::{AckSchedule, SackList};
pub(crate) use growth::InOrderData;
pub(crate) use reassembly::{Arrival, Reassembly};
