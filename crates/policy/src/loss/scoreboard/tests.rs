use proptest::prelude::*;
use wire::SeqRange;

use super::*;
use crate::loss::Lost;

mod plain;

use plain::{Plain, PlainSegment};

const NOW: Instant = Instant::ZERO;

fn range(start: u32, end: u32) -> SeqRange {
    SeqRange::new(SeqNum::new(start), SeqNum::new(end)).unwrap()
}

fn board(sizes: &[u32]) -> Scoreboard {
    let mut board = Scoreboard::default();
    let mut seq = SeqNum::new(0);
    for &len in sizes {
        board.push(seq, len, NOW, false);
        seq += len;
    }
    board
}

/// Marks the holes with at least `threshold` reported segments above them.
fn mark_lost(board: &mut Scoreboard, threshold: u32) {
    board.mark(board.reported_above(threshold).map_or(Lost::Nothing, Lost::Before));
    assert_eq!(board.reported_above(threshold), None, "all are marked");
}

#[test]
fn three_reported_segments_above_make_a_hole_lost() {
    let mut board = board(&[100; 5]);
    board.sack(range(200, 400));
    mark_lost(&mut board, 3);
    assert_eq!(board.next_lost(), None, "two are not enough");
    board.sack(range(400, 500));
    mark_lost(&mut board, 3);
    assert_eq!(board.next_lost().unwrap().range(), (SeqNum::new(0), 100));
    assert_eq!(board.pipe(), 0);
}

/// FACK (Mathis and Mahdavi 1996): the distance `snd.fack - snd.una`, in segments.
#[test]
fn distance_to_the_highest_report() {
    let mut board = board(&[100; 5]);
    assert_eq!(board.forward_segments(), 0);
    board.sack(range(300, 400));
    assert_eq!(board.forward_segments(), 4);
    board.sack(range(100, 200));
    assert_eq!(board.forward_segments(), 4, "an older segment");
    board.ack(SeqNum::new(200));
    assert_eq!(board.forward_segments(), 2);
}

/// FACK: `snd.fack` exceeds the `snd.nxt` of the retransmission.
#[test]
fn reports_of_later_data_show_that_the_retransmission_is_lost() {
    let at = Instant::from_nanos;
    let mut board = board(&[100; 4]);
    board.sack(range(100, 400));
    board.mark(Lost::First);
    mark_lost(&mut board, 1);
    assert!(!board.first_is_lost_again(), "not retransmitted yet");
    board.resend(SeqNum::new(0), 100, at(5));
    board.push(SeqNum::new(400), 100, at(5), false);
    board.push(SeqNum::new(500), 100, at(6), false);
    board.sack(range(100, 500));
    assert!(!board.first_is_lost_again(), "sent at the same time");
    board.sack(range(100, 600));
    assert!(board.first_is_lost_again());
    board.ack(SeqNum::new(100));
    assert!(!board.first_is_lost_again(), "it has arrived");
}

#[test]
fn a_resent_segment_is_in_the_pipe_again() {
    let mut board = board(&[100; 4]);
    board.sack(range(100, 400));
    board.mark(Lost::First);
    mark_lost(&mut board, 3);
    assert_eq!(board.pipe(), 0);
    board.resend(SeqNum::new(0), 100, NOW);
    assert_eq!((board.pipe(), board.next_lost()), (100, None));
}

#[test]
fn a_long_segment_can_be_resent_in_parts() {
    let mut board = board(&[1460, 1460, 1460, 1460]);
    board.sack(range(1460, 4 * 1460));
    board.mark(Lost::First);
    mark_lost(&mut board, 3);
    board.resend(SeqNum::new(0), 365, NOW);
    assert_eq!(board.next_lost().unwrap().range(), (SeqNum::new(365), 1095));
    assert_eq!((board.pipe(), board.segments()), (365, 5));
}

#[test]
fn repeated_report_returns_zero() {
    let mut board = board(&[100; 3]);
    assert_eq!(board.sack(range(100, 200)), 100);
    assert_eq!(board.sack(range(100, 200)), 0);
    board.ack(SeqNum::new(200));
    // A DSACK reports data that is already acknowledged (RFC 2883 §4).
    assert_eq!(board.sack(range(0, 100)), 0);
    assert_eq!(board.pipe(), 100);
}

#[test]
fn resent_segments_are_not_timed() {
    let mut board = Scoreboard::default();
    board.push(SeqNum::new(0), 10, Instant::from_nanos(7), true);
    board.push(SeqNum::new(10), 10, Instant::from_nanos(8), false);
    assert_eq!(board.ack(SeqNum::new(10)), Acked { bytes: 10, timed: None });
    assert_eq!(
        board.ack(SeqNum::new(20)),
        Acked { bytes: 10, timed: Some(Instant::from_nanos(8)) }
    );
}

/// Returns the indexes that a walk over sacked segments visits, beginning with `from`.
fn steps(board: &Scoreboard, from: usize) -> Vec<usize> {
    let sacked = |at: &usize| board.segments.get(*at).filter(|segment| segment.is(Mark::Sacked));
    std::iter::successors(Some(from), |at| sacked(at).map(|segment| at + segment.run_len()))
        .take_while(|at| sacked(at).is_some())
        .collect()
}

/// Each acknowledgment in recovery repeats all reports.
#[test]
fn repeated_reports_take_few_steps() {
    let mut board = board(&[10; 50]);
    for end in 2..=40 {
        assert_eq!(board.sack(range(10, 10 * end)), 10);
    }
    // Runs of 32 + 4 + 2 + 1 segments.
    assert_eq!(steps(&board, 1), [1, 33, 37, 39]);
    assert_eq!(board.sack(range(10, 200)), 0, "an older acknowledgment");
    assert_eq!(steps(&board, 1), [1, 33, 37, 39]);
    assert_eq!(board.sack(range(0, 450)), 60);
    assert_eq!(steps(&board, 0).len(), 4, "32 + 8 + 4 + 1 segments");
}

/// A report without new information costs few steps, however the peer repeats reports.
#[test]
fn reports_from_varying_positions_take_few_steps() {
    let mut board = board(&[10; 1000]);
    for segment in 1..1000 {
        assert_eq!(board.sack(range(10 * segment, 10 * segment + 10)), 10);
    }
    assert_eq!(board.sack(range(10, 10_000)), 0);
    assert!((1..1000).all(|segment| steps(&board, segment).len() <= 10));
}

#[test]
fn marked_segments_are_counted() {
    let mut board = board(&[10; 6]);
    assert!(!board.marks.any());
    board.sack(range(30, 60));
    board.mark(Lost::First);
    mark_lost(&mut board, 3);
    board.resend(SeqNum::new(0), 10, NOW);
    assert_eq!(board.marks.marked, 6);
    board.end_recovery(true);
    assert_eq!(board.marks.marked, 3);
    board.ack(SeqNum::new(60));
    assert!(!board.marks.any());
}

#[derive(Debug, Clone)]
enum Op {
    Push { count: u32, len: u32, again: bool },
    Ack { segments: usize, bytes: u32 },
    SackSegments { first: usize, count: usize },
    SackBytes { start: u32, len: u32 },
    MarkLost { threshold: u32 },
    MarkBefore { segments: usize },
    MarkSentUpTo { segment: usize },
    Resend { which: Which, len: u32 },
    MarkAllLost,
    MarkFirstLost,
    ResendRun { limit: u32 },
    EndRecovery(bool),
    Unsend { longest: u32 },
    Clear,
}

#[derive(Debug, Clone)]
enum Which {
    Lost,
    Hole,
    LastHole,
    First,
    Any(usize),
}

fn op() -> BoxedStrategy<Op> {
    let which = prop_oneof![
        4 => Just(Which::Lost),
        3 => Just(Which::Hole),
        1 => Just(Which::LastHole),
        1 => Just(Which::First),
        1 => (0..60usize).prop_map(Which::Any),
    ];
    let threshold = prop_oneof![4 => Just(3u32), 1 => 1..6u32];
    prop_oneof![
        6 => (1..6u32, 1..200u32, any::<bool>()).prop_map(|(count, len, again)| Op::Push { count, len, again }),
        4 => (0..4usize, prop_oneof![Just(0u32), 0..200u32]).prop_map(|(segments, bytes)| Op::Ack { segments, bytes }),
        8 => (0..40usize, 1..12usize).prop_map(|(first, count)| Op::SackSegments { first, count }),
        2 => (0..4000u32, 1..2000u32).prop_map(|(start, len)| Op::SackBytes { start, len }),
        6 => threshold.prop_map(|threshold| Op::MarkLost { threshold }),
        1 => (0..8usize).prop_map(|segments| Op::MarkBefore { segments }),
        4 => (0..30usize).prop_map(|segment| Op::MarkSentUpTo { segment }),
        8 => (which, prop_oneof![Just(u32::MAX), 1..200u32]).prop_map(|(which, len)| Op::Resend { which, len }),
        1 => Just(Op::MarkAllLost),
        4 => Just(Op::MarkFirstLost),
        6 => (1..600u32).prop_map(|limit| Op::ResendRun { limit }),
        1 => any::<bool>().prop_map(Op::EndRecovery),
        1 => (1..250u32).prop_map(|longest| Op::Unsend { longest }),
        1 => prop_oneof![3 => Just(None), 1 => Just(Some(Op::Clear))]
            .prop_map(|op| op.unwrap_or(Op::Push { count: 20, len: 10, again: false })),
    ].boxed()
}

/// Checks the sums and positions against the marks of all segments.
fn assert_marks(board: &Scoreboard) {
    let count = |holds: &dyn Fn(&SentSegment) -> bool| {
        board.segments.iter().filter(|segment| holds(segment)).count()
    };
    let marks = &board.marks;
    assert_eq!(marks.marked as usize, count(&SentSegment::is_marked));
    if !marks.any() {
        return;
    }
    assert_eq!(marks.sacked as usize, count(&|segment| segment.is(Mark::Sacked)));
    assert_eq!(marks.awaiting_repair as usize, count(&SentSegment::awaits_repair));
    let above = board
        .segments
        .iter()
        .skip(marks.frontier as usize)
        .filter(|segment| segment.is(Mark::Sacked))
        .count();
    assert_eq!(marks.sacked_above as usize, above);
    assert!(
        board
            .segments
            .iter()
            .take(marks.frontier as usize)
            .all(|segment| segment.is(Mark::Sacked) || segment.is(Mark::Lost))
    );
    for (index, segment) in
        board.segments.iter().enumerate().filter(|(_, segment)| segment.is(Mark::Sacked))
    {
        assert!(
            board
                .segments
                .range(index..index + segment.run_len())
                .all(|segment| segment.is(Mark::Sacked))
        );
    }
}

/// A scoreboard and its specification, with the sequence numbers of their connection.
struct Compared {
    board: Scoreboard,
    plain: Plain,
    una: SeqNum,
    nxt: SeqNum,
}

impl Compared {
    fn new(base: u32) -> Self {
        let una = SeqNum::new(base);
        Self { board: Scoreboard::default(), plain: Plain::default(), una, nxt: una }
    }

    /// Applies an operation to both, and compares its answers.
    fn apply(&mut self, op: Op, now: Instant) -> Result<(), TestCaseError> {
        let Self { board, plain, una, nxt } = self;
        match op {
            Op::Push { count, len, again } => {
                for _ in 0..count {
                    board.push(*nxt, len, now, again);
                    plain.push(*nxt, len, now, again);
                    *nxt += len;
                }
            }
            Op::Ack { segments, bytes } => self.acknowledge(segments, bytes)?,
            Op::SackSegments { first, count } => self.report(first, count)?,
            Op::SackBytes { start, len } => {
                let block = SeqRange::new(*una + start, *una + start + len).unwrap();
                prop_assert_eq!(board.sack(block), plain.sack(block));
            }
            Op::MarkLost { threshold } => {
                mark_lost(board, threshold);
                plain.mark_lost(threshold);
            }
            Op::MarkBefore { segments } => {
                let bound = plain.segments.get(segments).map_or(*nxt, |segment| segment.seq);
                board.mark(Lost::Before(bound));
                plain.mark_before(bound);
            }
            Op::MarkSentUpTo { segment } => self.mark_sent_up_to(segment)?,
            Op::Resend { which, len } => self.resend(&which, len, now),
            Op::MarkAllLost => {
                prop_assert_eq!(board.has_reneged(), plain.has_reneged());
                board.mark_all_lost();
                plain.mark_all_lost();
            }
            Op::MarkFirstLost => {
                board.mark(Lost::First);
                plain.mark_first_lost();
            }
            Op::ResendRun { limit } => self.resend_run(limit, now)?,
            Op::EndRecovery(keep) => {
                board.end_recovery(keep);
                plain.end_recovery(keep);
            }
            Op::Unsend { longest } => {
                let from = board.unsend_longer_than(longest);
                prop_assert_eq!(from, plain.unsend_longer_than(longest));
                *nxt = from.unwrap_or(*nxt);
            }
            Op::Clear => {
                board.clear();
                plain.segments.clear();
                *nxt = *una;
            }
        }
        Ok(())
    }

    /// Acknowledges whole segments, and bytes of the next ones.
    fn acknowledge(&mut self, segments: usize, bytes: u32) -> Result<(), TestCaseError> {
        let Self { board, plain, una, nxt } = self;
        let whole: u32 = plain.segments.iter().take(segments).map(|segment| segment.len).sum();
        let ack = *una + (whole + bytes).min(nxt.distance_from(*una));
        prop_assert_eq!(board.unreported_before(ack), plain.unreported_before(ack));
        let acked = board.ack(ack);
        prop_assert_eq!(acked, plain.ack(ack));
        prop_assert_eq!(acked.bytes, ack.distance_from(*una));
        *una = ack;
        Ok(())
    }

    /// Reports a number of segments from the one with the index `first`.
    fn report(&mut self, first: usize, count: usize) -> Result<(), TestCaseError> {
        let Self { board, plain, .. } = self;
        let reported: Vec<_> = plain.segments.iter().skip(first).take(count).copied().collect();
        if let (Some(from), Some(to)) = (reported.first(), reported.last()) {
            let block = SeqRange::new(from.seq, to.end()).unwrap();
            prop_assert_eq!(board.sack(block), plain.sack(block));
        }
        Ok(())
    }

    /// Marks every segment whose last transmission was that of a segment or an earlier one.
    fn mark_sent_up_to(&mut self, segment: usize) -> Result<(), TestCaseError> {
        let Self { board, plain, .. } = self;
        let Some(segment) = plain.segments.get(segment) else { return Ok(()) };
        let bound = segment.last_transmission();
        let before: Vec<_> = board.sent_before(bound).collect();
        prop_assert_eq!(before, plain.sent_before(&bound));
        board.mark(Lost::SentUpTo(bound));
        plain.mark_sent_up_to(&bound);
        Ok(())
    }

    /// Retransmits one segment, up to a length.
    fn resend(&mut self, which: &Which, len: u32, now: Instant) {
        let Self { board, plain, .. } = self;
        let segment = match which {
            Which::Lost => plain.next_lost(),
            Which::Hole => plain.next_hole(),
            Which::LastHole => plain.last_hole(),
            Which::First => plain.segments.first().copied(),
            Which::Any(index) => plain.segments.get(*index).copied(),
        };
        if let Some(segment) = segment {
            let len = len.min(segment.len);
            board.resend(segment.seq, len, now);
            plain.resend(segment.seq, len, now);
        }
    }

    /// Retransmits the consecutive lost segments from the first, up to a length.
    fn resend_run(&mut self, limit: u32, now: Instant) -> Result<(), TestCaseError> {
        let Self { board, plain, .. } = self;
        let run = board.lost_run(limit);
        prop_assert_eq!(run, plain.lost_run(limit));
        if let Some(segment) = plain.next_lost() {
            board.resend(segment.seq, run, now);
            plain.resend(segment.seq, run, now);
        }
        Ok(())
    }

    /// Compares the segments and every answer about them.
    fn compare(&self) -> Result<(), TestCaseError> {
        let Self { board, plain, .. } = self;
        let segments: Vec<_> =
            board.segments.iter().map(|&segment| PlainSegment::from(segment)).collect();
        prop_assert_eq!(&segments, &plain.segments);
        let first = plain.segments.first();
        let answers = [board.next_lost(), board.next_hole(), board.last_hole(), board.first()];
        let expected = [plain.next_lost(), plain.next_hole(), plain.last_hole(), first.copied()];
        prop_assert_eq!(answers.map(|segment| segment.map(PlainSegment::from)), expected);
        prop_assert_eq!(board.first_is_resent(), first.is_some_and(PlainSegment::is_resent));
        prop_assert_eq!((board.pipe(), board.pipe_segments()), plain.pipe());
        prop_assert_eq!(board.forward_segments() as usize, plain.forward_segments());
        prop_assert_eq!(board.first_is_lost_again(), plain.first_is_lost_again());
        prop_assert_eq!(board.segments() as usize, plain.segments.len());
        prop_assert_eq!(board.is_empty(), plain.segments.is_empty());
        for threshold in 0..6 {
            prop_assert_eq!(board.first_is_lost(threshold), plain.first_is_lost(threshold));
        }
        Ok(())
    }
}

proptest! {
    /// Compares every answer with that of a queue that is searched from the beginning each time.
    #[test]
    fn scoreboard_matches_specification(
        base in prop_oneof![Just(0u32), Just(u32::MAX - 1500)],
        ops in prop::collection::vec(op(), 1..200),
    ) {
        let mut compared = Compared::new(base);
        for (step, op) in ops.into_iter().enumerate() {
            compared.apply(op, Instant::from_nanos(step as u64))?;
            assert_marks(&compared.board);
            compared.compare()?;
        }
    }
}
