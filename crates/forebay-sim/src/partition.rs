//! One partition of a run in several threads: a [`Site`], and how much is expected of it.

use crate::driver::SimDriver;
use crate::injection::Entrant;
use crate::site::Site;
use forebay_base::Time;
use forebay_net::{EventSpec, Fabric, Horizon};
use std::collections::VecDeque;

/// See the module.
pub(crate) struct Partition {
    pub site: Site,
    /// Expected events of a window: an average in which recent windows count most.
    expected_events: u64,
}

impl Partition {
    /// A part at the start of a run: see [`Site::at_start`].
    pub fn new(
        fabric: Fabric<SimDriver>,
        events: VecDeque<EventSpec>,
        entrants: VecDeque<Entrant>,
        bytes: bool,
        horizon: Horizon,
    ) -> Partition {
        Partition::of(Site::at_start(fabric, events, entrants, bytes, horizon))
    }
    /// A partition of which nothing is expected so far.
    pub fn of(site: Site) -> Partition {
        Partition { site, expected_events: 0 }
    }
    /// Run all events of a window that ends with `end`. Gives their number.
    pub fn run_window(&mut self, end: Time) -> u64 {
        let before = self.site.events();
        self.site.run(end, false);
        let events = self.site.events() - before;
        self.expected_events = (self.expected_events + events).div_ceil(2);
        events
    }
    /// Expected events of the next window.
    pub fn expected_events(&self) -> u64 {
        self.expected_events
    }
}
