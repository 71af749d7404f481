//! RFC 6675's two ways of noticing a loss, and its ancestor's one.

use crate::loss::{DUP_THRESH, Duplicate, LossDetector, Scoreboard};

/// RFC 6675 §5: three acknowledgments that each brought new SACK information, or enough segments
/// reported above the hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack {
    count: u32,
    asks_board: bool,
}

impl Sack {
    /// RFC 6675: by acknowledgments or by the scoreboard, whichever is first.
    pub const RFC: Self = Self { count: 0, asks_board: true };
    /// SACK1 (Fall and Floyd 1996): by acknowledgments alone.
    pub const COUNTING: Self = Self { count: 0, asks_board: false };
}

impl LossDetector for Sack {
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> bool {
        // RFC 6675 §2: a duplicate is an ACK that SACKs something new, whatever its window says. An
        // ACK that only reports a duplicate arrival (DSACK, RFC 2883) brings nothing new
        // and isn't counted.
        if duplicate.newly_sacked == 0 {
            return false;
        }
        self.count += 1;
        self.count >= DUP_THRESH || self.asks_board && board.first_is_lost(DUP_THRESH)
    }

    fn mark(&self, board: &mut Scoreboard, first: bool) {
        board.mark_lost(DUP_THRESH, first);
    }

    fn survives_timeout(&self) -> bool {
        // RFC 6675 §5.1. SACK1 forgets all reports.
        self.asks_board
    }

    fn reset(&mut self) {
        self.count = 0;
    }

    fn duplicates(&self) -> u32 {
        self.count
    }
}
