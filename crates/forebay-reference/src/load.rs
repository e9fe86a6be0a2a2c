//! How demands load links, what a link carries, and the detours that help it.

/// How a flow loads a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Use {
    /// The link.
    pub link: u32,
    /// Wire bytes on it for each byte that the flow delivers; positive.
    pub weight: f64,
    /// Those of them that may take a detour instead, headers of the link not counted; 0 for none.
    pub detourable: f64,
    /// True if these are ACKs only: they limit their flow only on a link without data.
    pub acks: bool,
}

/// Two links that may carry what belongs on one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Detour {
    /// The link that it helps.
    pub link: u32,
    /// Its links.
    pub legs: [u32; 2],
    /// Wire bytes that `link` is rid of for each byte on the detour.
    pub relief: f64,
    /// Wire bytes that each leg carries for it.
    pub cost: [f64; 2],
}

/// Flows that share one route: how each loads the links, and how many there are.
#[derive(Clone, Copy, Debug)]
pub struct Demand<'a> {
    /// The links, each once, at least one.
    pub uses: &'a [Use],
    /// How many flows, at least one.
    pub flows: f64,
}

/// What one link carries.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// Capacity, bytes per second.
    pub capacity: f64,
    /// Wire bytes for each byte of level, of the demands that still rise.
    pub growth: f64,
    /// Wire bytes per second of those that do not.
    pub fixed: f64,
    /// The same two of what may take a detour.
    pub detourable_growth: f64,
    pub detourable_fixed: f64,
    /// Demands on it, and how many of them still rise.
    pub users: Vec<u32>,
    pub rising: u32,
    /// The cluster that it belongs to.
    pub cluster: Option<u32>,
    /// The call in which all this was last set up.
    pub call: u64,
}

impl Row {
    /// The level at which the link is full, if nothing takes a detour.
    pub fn level(&self) -> f64 {
        ((self.capacity - self.fixed) / self.growth).max(0.0)
    }
}
