//! Early Retransmit (RFC 5827): fewer duplicates are enough where no more can come.

use super::{DUP_THRESH, Scoreboard};
use crate::facts::SendView;

/// By which unit a sender knows that too little is outstanding for three duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EarlyRetransmit {
    /// RFC 5827 §3.1: by bytes, for a sender that does not know its segments. With segments shorter
    /// than SMSS the threshold is too low: four of SMSS/4 are outstanding, and one duplicate is
    /// enough.
    Bytes,
    /// RFC 5827 §3.2: by segments.
    Segments,
}

impl EarlyRetransmit {
    /// RFC 5827 §3.1 and §3.2, conditions (2.a) and (3.a), and the lowered thresholds: whether the
    /// first outstanding segment is to be sent again. The caller has checked (2.b) and (3.b):
    /// nothing new can be sent. `duplicates` have come since `snd.una` last advanced; `None`
    /// where SACK blocks say what has arrived.
    pub fn is_due(self, view: &SendView, duplicates: Option<u32>, board: &Scoreboard) -> bool {
        let most = DUP_THRESH + 1;
        match self {
            Self::Bytes if view.flight >= most * view.smss => false,
            Self::Segments if view.flight_segments >= most => false,
            Self::Bytes => match duplicates {
                Some(duplicates) => duplicates >= least_one(view.flight.div_ceil(view.smss)),
                None => board.sacked_bytes() >= view.flight.saturating_sub(view.smss),
            },
            Self::Segments => match duplicates {
                Some(duplicates) => duplicates >= least_one(view.flight_segments),
                None => board.sacked_segments() >= least_one(view.flight_segments),
            },
        }
    }
}

/// All outstanding segments but one. Unlike the RFC's formulas, at least one: a threshold of zero
/// would take no evidence at all.
fn least_one(outstanding: u32) -> u32 {
    outstanding.saturating_sub(1).max(1)
}

#[cfg(test)]
mod tests {
    use units::Instant;
    use wire::{SeqNum, SeqRange};

    use super::*;

    const SMSS: u32 = 1000;

    /// A queue of segments with these lengths, of which the marked ones have been reported.
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
        // Segments, their length, and the duplicates that are enough.
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
        // The short last segment: 1200 of 2200 bytes are asked for.
        assert_eq!(due(&[(1000, false), (1000, true), (200, true)]), [true, true]);
        assert_eq!(due(&[(1000, false), (1000, true), (200, false)]), [false, false]);
        // Small segments: by bytes nothing need be reported.
        assert_eq!(due(&[(250, false), (250, true), (250, false), (250, false)]), [true, false]);
        assert_eq!(due(&[(250, false), (250, true), (250, true)]), [true, true]);
    }
}
