//! Loss detection of RFC 6675 and of its predecessor SACK1.

use crate::loss::{DUP_THRESH, Duplicate, LossDetector, Scoreboard};

/// RFC 6675 §5: three acknowledgments with new SACK information, or enough reported segments above
/// the hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack {
    count: u32,
    uses_scoreboard: bool,
}

impl Sack {
    /// RFC 6675: acknowledgments or the scoreboard, the earlier of both.
    pub const RFC: Self = Self { count: 0, uses_scoreboard: true };
    /// SACK1 (Fall and Floyd 1996): acknowledgments only.
    pub const COUNTING: Self = Self { count: 0, uses_scoreboard: false };
}

impl LossDetector for Sack {
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> bool {
        // RFC 6675 §2: a duplicate is an ACK with new SACK information, with any window. An ACK
        // that only reports a duplicate arrival (DSACK, RFC 2883) has none and is not counted.
        if duplicate.newly_sacked == 0 {
            return false;
        }
        self.count += 1;
        self.count >= DUP_THRESH || self.uses_scoreboard && board.first_is_lost(DUP_THRESH)
    }

    fn mark(&self, board: &mut Scoreboard, first: bool) {
        board.mark_lost(DUP_THRESH, first);
    }

    fn survives_timeout(&self) -> bool {
        // RFC 6675 §5.1. SACK1 discards all reports.
        self.uses_scoreboard
    }

    fn reset(&mut self) {
        self.count = 0;
    }

    fn duplicates(&self) -> u32 {
        self.count
    }
}
