//! The scenarios of the points that are under way: those of one point share one.

use forebay_reference::ReferenceCache;
use forebay_scenario::{Scenario, SweptScenario};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A point whose scenario has been made.
pub(super) struct LoadedPoint {
    /// The scenario, or why there is none.
    pub scenario: Result<Scenario, String>,
    /// References of its runs.
    pub known: ReferenceCache,
}

/// A point that is made once, by the first thread that needs it.
type Slot = Arc<OnceLock<Arc<LoadedPoint>>>;

/// See the module.
pub(super) struct Points<'a> {
    swept: &'a SweptScenario,
    recent: Mutex<VecDeque<(u64, Slot)>>,
    most: usize,
}

impl<'a> Points<'a> {
    /// For this many threads.
    pub fn new(swept: &'a SweptScenario, jobs: usize) -> Points<'a> {
        Points { swept, recent: Mutex::new(VecDeque::new()), most: jobs + 1 }
    }

    pub fn get(&self, number: u64) -> Arc<LoadedPoint> {
        let slot = self.slot(number);
        Arc::clone(slot.get_or_init(|| {
            let scenario = self.swept.scenario(&self.swept.grid().point(number));
            let scenario = scenario.map_err(|error| error.to_string());
            Arc::new(LoadedPoint { scenario, known: ReferenceCache::default() })
        }))
    }

    fn slot(&self, number: u64) -> Slot {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, slot)) = recent.iter().find(|(known, _)| *known == number) {
            return Arc::clone(slot);
        }
        let slot = Slot::default();
        recent.push_back((number, Arc::clone(&slot)));
        if recent.len() > self.most {
            recent.pop_front();
        }
        slot
    }
}
