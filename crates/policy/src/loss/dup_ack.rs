//! Loss detection by three duplicate acknowledgments.

use crate::loss::{DUP_THRESH, Duplicate, LossDetector, Lost, Scoreboard};

/// RFC 5681 §3.2: the third duplicate acknowledgment indicates a loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DupAck {
    count: u32,
}

impl LossDetector for DupAck {
    fn on_duplicate(&mut self, duplicate: &Duplicate, _board: &Scoreboard) -> Lost {
        if !duplicate.exact {
            return Lost::Nothing;
        }
        self.count += 1;
        if self.count == DUP_THRESH { Lost::First } else { Lost::Nothing }
    }

    fn reset(&mut self) {
        self.count = 0;
    }

    fn duplicates(&self) -> u32 {
        self.count
    }
}
