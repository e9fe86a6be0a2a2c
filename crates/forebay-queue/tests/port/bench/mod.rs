//! What the machines of a port work with.

use forebay_base::{Arena, DropLog, Time};
use forebay_queue::PortContext;

/// See the module.
#[derive(Default)]
pub struct Bench {
    pub arena: Arena,
    pub drops: DropLog,
    pub split: u64,
}

impl Bench {
    pub fn at(&mut self, now: Time) -> PortContext<'_> {
        let Bench { arena, drops, split } = self;
        PortContext { now, arena, drops, split }
    }
}
