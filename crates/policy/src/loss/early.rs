//! Early Retransmit (RFC 5827): fewer duplicates are enough if no more can arrive.

use super::{DUP_THRESH, Scoreboard};
use crate::facts::SendView;

/// Unit in which a sender measures whether too little is outstanding for three duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyRetransmit {
    /// RFC 5827 §3.1: bytes, for a sender that does not know its segments. With segments shorter
    /// than SMSS the threshold is too low: with four segments of SMSS/4 outstanding, one duplicate
    /// is enough.
    Bytes,
    /// RFC 5827 §3.2: segments.
    Segments,
}

impl EarlyRetransmit {
    /// Returns whether the first outstanding segment is to be retransmitted: RFC 5827 §3.1 and
    /// §3.2, conditions (2.a) and (3.a), and the lowered thresholds. The caller has checked (2.b)
    /// and (3.b): no new data can be sent. `duplicates` is the number since `snd.una` last
    /// advanced, or `None` if SACK is in use.
    pub fn is_due(self, view: &SendView, duplicates: Option<u32>, board: &Scoreboard) -> bool {
        let max = DUP_THRESH + 1;
        match self {
            Self::Bytes if view.flight >= max * view.smss => false,
            Self::Segments if view.flight_segments >= max => false,
            Self::Bytes => match duplicates {
                Some(duplicates) => duplicates >= at_least_one(view.flight.div_ceil(view.smss)),
                None => board.sacked_bytes() >= view.flight.saturating_sub(view.smss),
            },
            Self::Segments => match duplicates {
                Some(duplicates) => duplicates >= at_least_one(view.flight_segments),
                None => board.sacked_segments() >= at_least_one(view.flight_segments),
            },
        }
    }
}

/// Returns the number of outstanding segments minus one. Unlike the formulas of the RFC, at least
/// one: a threshold of zero would need no evidence at all.
fn at_least_one(outstanding: u32) -> u32 {
    outstanding.saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use units::Instant;
    use wire::{SeqNum, SeqRange};

    use super::*;

    const SMSS: u32 = 1000;

    /// Returns a scoreboard with segments of these lengths; those marked `true` have been reported.
    fn board(segments: &[(u32, bool)]) -> (SendView, Scoreboard) {
        let mut board = Scoreboard::default();
        let mut seq = SeqNum::default();
        for &(len, _) in segments {
            board.push(seq, len, Instant::ZERO, false);
            seq += len;
        }
        let flight = seq.distance_from(SeqNum::default());
        seq = SeqNum::default();
        for &(len, sacked) in segments {
            if sacked {
                board.sack(SeqRange::new(seq, seq + len).unwrap());
            }
            seq += len;
        }
        let flight_segments = board.segments();
        (SendView { smss: SMSS, cwnd: flight, flight, flight_segments }, board)
    }

    /// RFC 5827 §3.1, without SACK: `ER_thresh` = ⌈ownd/SMSS⌉ − 1 while ownd < 4·SMSS.
    #[test]
    fn the_threshold_by_bytes() {
        // Number of segments, their length, and the number of duplicates that are enough.
        let table = [
            (2, 1000, Some(1)),
            (3, 1000, Some(2)),
            (4, 999, Some(3)),
            (4, 1000, None),
            (4, 250, Some(1)),
            (7, 250, Some(1)),
            (9, 250, Some(2)),
        ];
        for (count, len, enough) in table {
            let (view, board) = board(&vec![(len, false); count]);
            for duplicates in 1..=4 {
                let due = EarlyRetransmit::Bytes.is_due(&view, Some(duplicates), &board);
                assert_eq!(
                    due,
                    enough.is_some_and(|n| duplicates >= n),
                    "{count} of {len}, {duplicates}"
                );
            }
        }
    }

    /// RFC 5827 §3.2, without SACK: `ER_thresh` = oseg − 1 while oseg < 4.
    #[test]
    fn the_threshold_by_segments() {
        for (count, enough) in [(2, Some(1)), (3, Some(2)), (4, None), (5, None)] {
            let (view, board) = board(&vec![(250, false); count]);
            for duplicates in 1..=4 {
                let due = EarlyRetransmit::Segments.is_due(&view, Some(duplicates), &board);
                assert_eq!(due, enough.is_some_and(|n| duplicates >= n), "{count}, {duplicates}");
            }
        }
    }

    /// RFC 5827 §3.1, with SACK: ownd − SMSS bytes must have been reported; §3.2: oseg − 1
    /// segments.
    #[test]
    fn with_sack_all_but_one_are_reported() {
        let due = |segments: &[(u32, bool)]| {
            let (view, board) = board(segments);
            [EarlyRetransmit::Bytes, EarlyRetransmit::Segments]
                .map(|early| early.is_due(&view, None, &board))
        };
        assert_eq!(due(&[(1000, false), (1000, true)]), [true, true]);
        assert_eq!(due(&[(1000, false), (1000, true), (1000, false)]), [false, false]);
        assert_eq!(due(&[(1000, false), (1000, true), (1000, true)]), [true, true]);
        assert_eq!(due(&[(1000, false), (1000, true), (1000, true), (1000, true)]), [false, false]);
        // With a short last segment 1200 of 2200 bytes are needed.
        assert_eq!(due(&[(1000, false), (1000, true), (200, true)]), [true, true]);
        assert_eq!(due(&[(1000, false), (1000, true), (200, false)]), [false, false]);
        // With small segments §3.1 needs no reported bytes at all.
        assert_eq!(due(&[(250, false), (250, true), (250, false), (250, false)]), [true, false]);
        assert_eq!(due(&[(250, false), (250, true), (250, true)]), [true, true]);
    }
}
