//! What must hold in every state.

use super::net::{Net, Sender};
use super::port::Port;
use forebay_base::Span;
use forebay_router::inrpp::State;
use stateright::{Checker, HasDiscoveries, Model};
use std::fmt::Debug;
use std::hash::Hash;

pub const WAY: &str = "without faults what is parked has a way to credits";
pub const REST: &str = "at rest nothing is held, asked or left to send";
pub const ENDS: &str = "every hold ends";
pub const SOON: &str = "no packet waits long for a timer";
pub const STEP: &str = "each step keeps its rule";
pub const SPEED: &str = "the slowest link is busy: all is done in time";
pub const LOSS: &str = "no packet is lost";
pub const CUSTODY: &str = "no packet that a router keeps is lost, whoever attacks";
pub const BOUND: &str = "each forged ACK costs no more than a watchdog";

/// Timers that run out one after the other while nothing moves.
const MAX_IDLE: u8 = 8;
/// The last of them: a nonce is forgotten after 1 s, or four times what it learned from delays.
const MAX_REST: Span = Span::from_secs(5);
/// Nothing stands still for longer than a watchdog, or twice what it learned from a delay of 1 s.
const MAX_WAIT: Span = Span::from_millis(250);

/// How often each may happen in one run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Faults {
    /// An ACK is lost.
    pub lost_acks: u8,
    /// Two ACKs on a link change places.
    pub swapped_acks: u8,
    /// A router restarts.
    pub restarts: u8,
    /// Time passes until the next timer though something is on a link.
    pub delays: u8,
    /// Somebody on a link sends once more an ACK with a request.
    pub replays: u8,
    /// Somebody on a link changes what an ACK says, or adds an ACK of his own.
    pub forgeries: u8,
}

/// Where nothing is on a link that could bring credits, nothing waits for some.
pub fn has_a_way(net: &Net) -> bool {
    !net.stands_still() || (net.cached() == 0 && !net.senders.iter().any(Sender::is_stuck))
}
pub fn nothing_is_left(net: &Net) -> bool {
    let ports = || net.ports.iter();
    net.cached() == 0
        && ports().all(|port: &Port| port.nonces() == 0 && port.state() == State::Push)
        && net.senders.iter().all(|sender| sender.left == 0)
}
pub fn ends(net: &Net) -> bool {
    net.idle <= MAX_IDLE && net.now.since(net.moved_at) <= MAX_REST
}
/// All waits together, after so many forged ACKs.
pub fn is_bounded(net: &Net, forged: u8) -> bool {
    net.total_wait <= MAX_WAIT * u64::from(forged)
}
pub fn soon(net: &Net) -> bool {
    net.longest_wait <= MAX_WAIT
}

/// The properties that do not hold, after all states; or after the first that breaks one.
pub fn check<M>(name: &str, model: M, until: HasDiscoveries) -> Vec<&'static str>
where
    M: Model + Send + Sync + 'static,
    M::State: Hash + Send + Sync + Debug + PartialEq + Clone,
    M::Action: Debug + PartialEq + Clone,
{
    let checker = model.checker().finish_when(until).spawn_bfs().join();
    let mut found: Vec<(&str, String)> = Vec::new();
    for (property, path) in checker.discoveries() {
        found.push((property, format!("{:?}", path.into_actions())));
    }
    found.sort();
    let (states, depth) = (checker.unique_state_count(), checker.max_depth());
    println!("{name}: {states} states, {depth} steps deep");
    for (property, path) in &found {
        println!("    not always: {property}: {path}");
    }
    found.into_iter().map(|(property, _)| property).collect()
}
