//! Recovery with forward acknowledgments.

use crate::facts::LossSample;
use crate::loss::{Scoreboard, SentSegment};
use crate::recovery::{Completion, Progress, Recovery, RecoveryAck};

/// FACK (Mathis and Mahdavi, *Forward Acknowledgment: Refining TCP Congestion Control*, SIGCOMM
/// 1996). The pipe is `awnd = snd.nxt - snd.fack + retran_data`. Here `snd.fack` ends the highest
/// reported segment, and `retran_data` is what was retransmitted and has not arrived yet.
///
/// The detector marks every hole below `snd.fack` as lost, so `awnd` is the pipe of the scoreboard.
/// Unlike RFC 6675, no hole below `snd.fack` counts as in the network, and none waits until new
/// data is sent. Overdamping and Rampdown, the paper's refinements of the reduction, are not
/// implemented.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fack {
    /// Whether a timeout began this recovery.
    after_timeout: bool,
}

impl Recovery for Fack {
    fn enter(&mut self, loss: &LossSample) {
        self.after_timeout = loss.timer_expired;
    }

    fn on_ack(&mut self, ack: &RecoveryAck) -> Progress {
        if ack.full {
            return Progress::Done(Completion::with_window(ack.cwnd));
        }
        Progress::Partial { resend: false, restart_timer: true }
    }

    /// A retransmission is lost if `snd.fack` passes the `snd.nxt` of its transmission. Nothing is
    /// then sent until it arrives after all or the retransmission timer expires, as in ns-2's
    /// `TCP/Fack`.
    fn pipe(&self, board: &Scoreboard) -> Option<u32> {
        let waits_for_timer = !self.after_timeout && board.first_is_lost_again();
        Some(if waits_for_timer { u32::MAX } else { board.pipe() })
    }

    fn next_repair(&mut self, board: &Scoreboard) -> Option<SentSegment> {
        board.next_lost()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use units::Instant;
    use wire::{SeqNum, SeqRange};

    use super::*;
    use crate::loss::{LossDetector, Lost, Sack};

    const LEN: u32 = 100;

    fn board(segments: u32) -> Scoreboard {
        let mut board = Scoreboard::default();
        for segment in 0..segments {
            board.push(SeqNum::new(LEN * segment), LEN, Instant::ZERO, false);
        }
        board
    }

    fn sack(board: &mut Scoreboard, segment: u32) {
        let from = SeqNum::new(LEN * segment);
        board.sack(SeqRange::new(from, from + LEN).unwrap());
    }

    fn ack(full: bool) -> RecoveryAck {
        let (smss, segment, ssthresh, cwnd) = (LEN, LEN, 5 * LEN, 5 * LEN);
        RecoveryAck { acked: LEN, full, flight: 3 * LEN, smss, segment, ssthresh, cwnd }
    }

    /// The paper: recovery ends when `snd.una` reaches the `snd.nxt` of the detection, and `cwnd`
    /// stays as reduced.
    #[test]
    fn recovery_ends_with_the_full_acknowledgment() {
        let mut fack = Fack::default();
        assert_eq!(
            fack.on_ack(&ack(false)),
            Progress::Partial { resend: false, restart_timer: true }
        );
        assert_eq!(fack.on_ack(&ack(true)), Progress::Done(Completion::with_window(5 * LEN)));
        assert_eq!(fack.window(5 * LEN), 5 * LEN, "no inflation");
    }

    /// Nothing is sent after the loss of a retransmission. After a timeout reports of older copies
    /// are no evidence.
    #[test]
    fn a_lost_retransmission_waits_for_the_timer() {
        let mut board = board(5);
        sack(&mut board, 4);
        board.mark(Lost::First);
        board.mark(Sack::FORWARD.lost_by_reports(&board));
        board.resend(SeqNum::new(0), LEN, Instant::from_nanos(1));
        board.push(SeqNum::new(5 * LEN), LEN, Instant::from_nanos(2), false);
        let mut fack = Fack::default();
        assert_eq!(fack.pipe(&board), Some(2 * LEN));
        sack(&mut board, 5);
        assert_eq!(fack.pipe(&board), Some(u32::MAX));
        fack.enter(&LossSample {
            smss: LEN,
            flight: 6 * LEN,
            segment: LEN,
            duplicates: 0,
            loss_window: LEN,
            now: Instant::from_nanos(3),
            sent_at: None,
            resent: true,
            timer_expired: true,
            already_reduced: false,
        });
        assert_eq!(fack.pipe(&board), Some(LEN));
    }

    proptest! {
        /// The pipe of the scoreboard is `awnd = snd.nxt - snd.fack + retran_data`, computed here
        /// from sets of segments.
        #[test]
        fn pipe_is_awnd(
            segments in 4..40u32,
            steps in prop::collection::vec((0..40u32, 0..4u8), 0..60),
        ) {
            let (mut board, mut fack) = (board(segments), Fack::default());
            let mut una = 0;
            // Recovery begins with a report.
            let (mut arrived, mut resent) = (BTreeSet::from([3]), BTreeSet::new());
            sack(&mut board, 3);
            for (segment, resend) in steps {
                let segment = segment % segments;
                arrived.insert(segment);
                while arrived.contains(&una) {
                    una += 1;
                }
                board.ack(SeqNum::new(LEN * una));
                if segment >= una {
                    sack(&mut board, segment);
                }
                board.mark(Sack::FORWARD.lost_by_reports(&board));
                let highest = arrived.last().copied().unwrap_or(0);
                for _ in 0..resend {
                    let mut below = una..highest;
                    let hole = below.find(|at| !arrived.contains(at) && !resent.contains(at));
                    let seq = hole.map(|hole| SeqNum::new(LEN * hole));
                    prop_assert_eq!(fack.next_repair(&board).map(|next| next.range().0), seq);
                    if let (Some(hole), Some(seq)) = (hole, seq) {
                        resent.insert(hole);
                        board.resend(seq, LEN, Instant::ZERO);
                    }
                }
                let retran_data: u32 = resent.difference(&arrived).map(|_| 1).sum();
                let awnd = segments - (highest + 1) + retran_data;
                prop_assert_eq!(fack.pipe(&board), Some(LEN * awnd));
            }
        }
    }
}
