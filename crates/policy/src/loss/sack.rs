//! Loss detection of RFC 6675, of its predecessor SACK1, and of FACK.

use crate::loss::{DUP_THRESH, Duplicate, LossDetector, Lost, Scoreboard};

/// RFC 6675 §5: three acknowledgments with new SACK information, or enough reported segments above
/// the hole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sack {
    count: u32,
    evidence: Evidence,
}

/// Evidence of a loss besides three acknowledgments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// Number of segments reported above the hole.
    Reports,
    /// Distance to the highest reported segment.
    Distance,
    /// None.
    None,
}

impl Sack {
    /// RFC 6675: acknowledgments or the scoreboard, the earlier of both.
    pub const RFC: Self = Self { count: 0, evidence: Evidence::Reports };
    /// SACK1 (Fall and Floyd 1996): acknowledgments only.
    pub const COUNTING: Self = Self { count: 0, evidence: Evidence::None };
    /// FACK (Mathis and Mahdavi 1996): acknowledgments, or `snd.fack - snd.una > 3 · SMSS`. Every
    /// hole below `snd.fack` is lost.
    ///
    /// Unlike the paper, the distance is counted in segments, not in bytes. Four reduced segments
    /// of Smart Framing are fewer bytes than that.
    pub const FORWARD: Self = Self { count: 0, evidence: Evidence::Distance };
}

impl LossDetector for Sack {
    fn on_duplicate(&mut self, duplicate: &Duplicate, board: &Scoreboard) -> Lost {
        // RFC 6675 §2: a duplicate is an ACK with new SACK information, with any window. An ACK
        // that only reports a duplicate arrival (DSACK, RFC 2883) has none and is not counted.
        if duplicate.newly_sacked == 0 {
            return Lost::Nothing;
        }
        self.count += 1;
        let lost = self.count >= DUP_THRESH
            || match self.evidence {
                Evidence::Reports => board.first_is_lost(DUP_THRESH),
                Evidence::Distance => board.forward_segments() > DUP_THRESH,
                Evidence::None => false,
            };
        if lost { Lost::First } else { Lost::Nothing }
    }

    fn lost_by_reports(&self, board: &Scoreboard) -> Lost {
        let reports_above = match self.evidence {
            Evidence::Distance => 1,
            Evidence::Reports | Evidence::None => DUP_THRESH,
        };
        board.reported_above(reports_above).map_or(Lost::Nothing, Lost::Before)
    }

    fn survives_timeout(&self) -> bool {
        // RFC 6675 §5.1. SACK1 discards all reports.
        self.evidence != Evidence::None
    }

    fn reset(&mut self) {
        self.count = 0;
    }

    fn duplicates(&self) -> u32 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use units::Instant;
    use wire::{SeqNum, SeqRange};

    use super::*;

    /// Returns whether each of these duplicates reveals a loss. A duplicate reports one segment of
    /// eight, by its number.
    fn detected(mut detector: Sack, reports: &[u32]) -> Vec<bool> {
        let mut board = Scoreboard::default();
        for segment in 0..8 {
            board.push(SeqNum::new(1000 * segment), 1000, Instant::ZERO, false);
        }
        let mut on_report = |&segment: &u32| {
            let from = SeqNum::new(1000 * segment);
            let newly_sacked = board.sack(SeqRange::new(from, from + 1000).unwrap());
            let duplicate = Duplicate { exact: true, newly_sacked, now: Instant::ZERO };
            detector.on_duplicate(&duplicate, &board) == Lost::First
        };
        reports.iter().map(&mut on_report).collect()
    }

    /// RFC 6675 §5, Fall and Floyd 1996, Mathis and Mahdavi 1996.
    #[test]
    fn reports_that_reveal_a_loss() {
        // Segments reported, one by each duplicate, and the first that is enough.
        let table: [(&[u32], _); 5] = [
            (&[1, 2, 3], [Some(3), Some(3), Some(3)]),
            (&[1, 3, 4], [Some(3), Some(3), Some(2)]),
            (&[3, 4, 5], [Some(3), Some(3), Some(1)]),
            (&[2, 2, 2], [None, None, None]),
            (&[2, 1, 7], [Some(3), Some(3), Some(3)]),
        ];
        for (reports, expected) in table {
            let enough = [Sack::RFC, Sack::COUNTING, Sack::FORWARD].map(|detector| {
                detected(detector, reports).iter().position(|&lost| lost).map(|index| index + 1)
            });
            assert_eq!(enough, expected, "{reports:?}");
        }
    }

    /// Only FACK marks a hole with one report above it.
    #[test]
    fn holes_that_count_as_lost() {
        for (detector, lost) in [(Sack::RFC, 1), (Sack::COUNTING, 1), (Sack::FORWARD, 3)] {
            let mut board = Scoreboard::default();
            for segment in 0..8 {
                board.push(SeqNum::new(1000 * segment), 1000, Instant::ZERO, false);
            }
            for segment in [1, 3, 5] {
                let from = SeqNum::new(1000 * segment);
                board.sack(SeqRange::new(from, from + 1000).unwrap());
            }
            board.mark(Lost::First);
            board.mark(detector.lost_by_reports(&board));
            // Three of eight segments have arrived.
            assert_eq!(board.pipe_segments(), 5 - lost, "{detector:?}");
        }
    }
}
