//! TCP Santa Cruz's way of noticing a loss.

use crate::facts::ForwardSample;
use crate::loss::{Detection, Duplicate, LossDetector, Scoreboard};

/// Parsa and Garcia-Luna-Aceves 1999, sections 3.2.2 and 3.2.3: a transmission that has not been
/// reported is lost as soon as a later one has arrived and a round-trip time has passed since it
/// left. That holds for copies too.
///
/// Every acknowledgment is looked at; none is counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckWindow;

impl LossDetector for AckWindow {
    fn on_duplicate(&mut self, _duplicate: &Duplicate, _board: &Scoreboard) -> bool {
        false
    }

    fn on_report(&mut self, report: &ForwardSample, board: &mut Scoreboard) -> Detection {
        // Section 3.2.3. Unlike there, what has waited for exactly the estimated time has waited
        // long enough: on a path that never changes nothing waits for longer.
        board.mark_lost_before((report.sent_at, report.seq), report.now, report.srtt)
    }

    fn survives_timeout(&self) -> bool {
        // Section 3.2.2: what the ACK window said is kept until the window advances.
        true
    }

    fn reset(&mut self) {}

    fn duplicates(&self) -> u32 {
        0
    }
}
