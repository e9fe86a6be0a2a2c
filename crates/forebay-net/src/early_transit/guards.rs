//! The conditions of early transit by name, so that a test can switch one off.

/// One condition of early transit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Guard {
    /// A link that an event changes or fails is queued.
    Unchanged,
    /// Nothing goes ahead over a link with jitter.
    NoJitter,
    /// A link whose port has a scheme is queued.
    NoScheme,
    /// A link downstream of a router that holds packets is queued.
    HoldsNothing,
    /// A link downstream of a node that restarts is queued.
    NoRestart,
    /// The packets of a link come from one other link.
    SingleUpstream,
    /// That link begins in the same partition.
    UpstreamHere,
    /// The routes of the node between the two do not change.
    FixedRoutes,
    /// The ways that changed routes open count as well.
    ChangedRoutes,
    /// The ways that packets take besides their routes count as well.
    OffRoute,
    /// A host that answers ahead of time has one socket and one interface.
    SingleHost,
    /// Its first link is not queued.
    FirstLinkFifo,
    /// The link that leads to it begins in the same partition.
    LastLinkHere,
    /// There is no observer.
    Unobserved,
    /// A packet waits for those before it that come to the same link.
    Gate,
    /// A packet waits for those before it that come to the same host.
    EmptyRing,
    /// A packet that was left for a new horizon stays after those before it.
    InOrder,
    /// Events after the horizon are left for later.
    Horizon,
    /// A packet that is longer than the MTU waits until it can be cut.
    Fits,
    /// A packet for which the next queue has no room waits until it is dropped.
    HasRoom,
    /// A host does first what it does by itself before a packet arrives.
    HostFirst,
    /// That includes a timer only when it is armed for it.
    Armed,
    /// A deadline that has passed is noticed now.
    Overdue,
    /// The horizon is not after the next look at the run.
    NextLook,
    /// It is not after the end of a run all of whose flows have started.
    EndOfRun,
    /// Unsent data of a flow predicts its end only where its first link has a constant rate.
    ConstantRate,
    /// And only where it has one path.
    OnePath,
    /// A flow may have a `stop`.
    Stop,
    /// A connection may give up.
    GivesUp,
    /// A flow that follows another with a time to stop may never start.
    Skipped,
    /// The horizon is at most a second ahead.
    OneSecond,
}

impl Guard {
    /// All of them.
    pub const ALL: [Guard; 31] = [
        Guard::Unchanged,
        Guard::NoJitter,
        Guard::NoScheme,
        Guard::HoldsNothing,
        Guard::NoRestart,
        Guard::SingleUpstream,
        Guard::UpstreamHere,
        Guard::FixedRoutes,
        Guard::ChangedRoutes,
        Guard::OffRoute,
        Guard::SingleHost,
        Guard::FirstLinkFifo,
        Guard::LastLinkHere,
        Guard::Unobserved,
        Guard::Gate,
        Guard::EmptyRing,
        Guard::InOrder,
        Guard::Horizon,
        Guard::Fits,
        Guard::HasRoom,
        Guard::HostFirst,
        Guard::Armed,
        Guard::Overdue,
        Guard::NextLook,
        Guard::EndOfRun,
        Guard::ConstantRate,
        Guard::OnePath,
        Guard::Stop,
        Guard::GivesUp,
        Guard::Skipped,
        Guard::OneSecond,
    ];
}

/// The conditions that hold. Products have all of them; a test may switch one off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guards(u32);

impl Guards {
    /// All of them.
    pub const ALL: Guards = Guards(u32::MAX);

    /// All but one.
    pub const fn without(guard: Guard) -> Guards {
        Guards(!(1 << guard as u32))
    }
    /// True unless `guard` is switched off.
    #[inline(always)]
    pub const fn has(self, guard: Guard) -> bool {
        self.0 >> guard as u32 & 1 == 1
    }
}

impl Default for Guards {
    fn default() -> Guards {
        Guards::ALL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_guard_is_listed_at_its_number_and_can_be_off_alone() {
        for (i, off) in Guard::ALL.into_iter().enumerate() {
            assert_eq!(off as usize, i);
            let on = Guard::ALL.iter().filter(|&&guard| Guards::without(off).has(guard));
            assert_eq!(on.count(), Guard::ALL.len() - 1);
            assert!(Guards::ALL.has(off));
        }
    }
}
