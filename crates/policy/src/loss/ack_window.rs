//! Loss detection of TCP Santa Cruz.

use units::Instant;

use crate::facts::{ForwardSample, Transmission};
use crate::loss::{Detection, Duplicate, LossDetector, Lost, Scoreboard};

/// Parsa and Garcia-Luna-Aceves 1999, sections 3.2.2 and 3.2.3. An unreported transmission is lost
/// once a later one has arrived and a round-trip time has passed since it was sent. This also holds
/// for retransmissions.
///
/// The detector uses every acknowledgment and counts none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AckWindow;

impl LossDetector for AckWindow {
    fn on_duplicate(&mut self, _duplicate: &Duplicate, _board: &Scoreboard) -> Lost {
        Lost::Nothing
    }

    fn on_report(&mut self, report: &ForwardSample, board: &Scoreboard) -> Detection {
        let mut last_lost: Option<Transmission> = None;
        let mut next_deadline = Instant::NEVER;
        for transmission in board.sent_before(report.transmission()) {
            // Section 3.2.3. Unlike there, a transmission that has waited for exactly the estimated
            // time is lost. On a path that never changes none waits longer.
            let due = transmission.sent_at + report.srtt;
            if due > report.now {
                next_deadline = next_deadline.min(due);
            } else if last_lost.is_none_or(|last| transmission.is_after(&last)) {
                last_lost = Some(transmission);
            }
        }
        Detection { lost: last_lost.map_or(Lost::Nothing, Lost::SentUpTo), next_deadline }
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
