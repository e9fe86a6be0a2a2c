//! Packet events as lines of text.

mod filter;
mod lines;

pub use filter::{EventFilter, EventFilterError};
pub use lines::{EventLines, link_arrows};
