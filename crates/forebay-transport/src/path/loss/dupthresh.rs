//! Three duplicate ACKs (RFC 5681 section 3.2), or IsLost with SACK (RFC 6675 section 4).

use super::{DUP_THRESH, Evidence, Losses};
use crate::path::scoreboard::{REPEATED, Scoreboard};

/// Declare lost what the duplicate threshold implies. Retransmissions are left to the
/// retransmission timer.
pub(super) fn detect(evidence: &Evidence, board: &mut Scoreboard, losses: &mut Losses<'_>) {
    if let Some(edge) = lost_below(board, evidence.mss).filter(|_| evidence.sack) {
        while let Some(at) = board.first_original().filter(|&i| board.get(i).start < edge) {
            losses.declare(board, at);
        }
    }
    let first_is_original = !board.is_empty() && {
        let first = board.get(0);
        first.outstanding() && !first.is(REPEATED)
    };
    if evidence.dupacks >= DUP_THRESH && evidence.may_enter && first_is_original {
        losses.declare(board, 0);
    }
}

/// IsLost holds for every octet below the result that the peer does not have: three ranges above it
/// are reported, or more than two SMSS in them. The SMSS test needs no more than the three highest
/// ranges either.
fn lost_below(board: &Scoreboard, mss: u64) -> Option<u64> {
    let (mut ranges, mut bytes) = (0, 0);
    for range in board.sacked().iter_down() {
        ranges += 1;
        bytes += range.len();
        if ranges >= DUP_THRESH || bytes > (DUP_THRESH as u64 - 1) * mss {
            return Some(range.start);
        }
    }
    None
}
