//! A timer for each packet: it is lost if no ACK covers it within srtt x num / den.

use super::{Evidence, Losses};
use crate::path::scoreboard::Scoreboard;
use forebay_base::Time;

/// Declare what is overdue. Returns when the next one will be. Before the first RTT sample there is
/// only the RTO.
pub(super) fn detect(
    num: u32,
    den: u32,
    evidence: &Evidence,
    board: &mut Scoreboard,
    losses: &mut Losses<'_>,
) -> Option<Time> {
    let loss_delay = evidence.srtt?.mul_div(num as u64, den as u64);
    let mut next: Option<Time> = None;
    let mut overdue = |board: &mut Scoreboard, at: usize| {
        let due = board.get(at).sent_at + loss_delay;
        if due > evidence.now {
            next = Some(next.map_or(due, |n| n.min(due)));
            return false;
        }
        losses.declare(board, at);
        true
    };
    while let Some(at) = board.first_original() {
        if !overdue(board, at) {
            break;
        }
    }
    while let Some(at) = board.first_repeat() {
        if !overdue(board, at) {
            break;
        }
    }
    next
}
