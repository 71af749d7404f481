//! Loss detection of TCP Santa Cruz.

use crate::facts::ForwardSample;
use crate::loss::{Detection, Duplicate, LossDetector, Scoreboard};

/// Parsa and Garcia-Luna-Aceves 1999, sections 3.2.2 and 3.2.3. An unreported transmission is lost
/// once a later one has arrived and a round-trip time has passed since it was sent. This also holds
/// for retransmissions.
///
/// The detector uses every acknowledgment and counts none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckWindow;

impl LossDetector for AckWindow {
    fn on_duplicate(&mut self, _duplicate: &Duplicate, _board: &Scoreboard) -> bool {
        false
    }

    fn on_report(&mut self, report: &ForwardSample, board: &mut Scoreboard) -> Detection {
        // Section 3.2.3. Unlike there, a transmission that has waited for exactly the estimated
        // time is lost. On a path that never changes none waits longer.
        board.mark_lost_before((report.sent_at, report.seq), report.now, report.srtt)
    }

    fn survives_timeout(&self) -> bool {
        // Section 3.2.2: the reports of the ACK window are kept until the window advances.
        true
    }

    fn reset(&mut self) {}

    fn duplicates(&self) -> u32 {
        0
    }
}
