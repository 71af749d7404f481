use proptest::prelude::*;

use super::*;

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

#[test]
fn three_reported_segments_above_make_a_hole_lost() {
    let mut board = board(&[100; 5]);
    board.sack(range(200, 400));
    board.mark_lost(3, false);
    assert_eq!(board.next_lost(), None, "two are not enough");
    board.sack(range(400, 500));
    board.mark_lost(3, false);
    assert_eq!(board.next_lost().unwrap().range(), (SeqNum::new(0), 100));
    assert_eq!(board.pipe(), 0);
}

#[test]
fn a_resent_segment_is_in_the_pipe_again() {
    let mut board = board(&[100; 4]);
    board.sack(range(100, 400));
    board.mark_lost(3, true);
    assert_eq!(board.pipe(), 0);
    board.resend(SeqNum::new(0), 100, NOW);
    assert_eq!((board.pipe(), board.next_lost()), (100, None));
}

#[test]
fn a_long_cut_can_be_resent_in_pieces() {
    let mut board = board(&[1460, 1460, 1460, 1460]);
    board.sack(range(1460, 4 * 1460));
    board.mark_lost(3, true);
    board.resend(SeqNum::new(0), 365, NOW);
    assert_eq!(board.next_lost().unwrap().range(), (SeqNum::new(365), 1095));
    assert_eq!((board.pipe(), board.segments()), (365, 5));
}

#[test]
fn a_duplicate_report_brings_no_news() {
    let mut board = board(&[100; 3]);
    assert_eq!(board.sack(range(100, 200)), 100);
    assert_eq!(board.sack(range(100, 200)), 0);
    board.ack(SeqNum::new(200));
    // A DSACK reports what has been acknowledged already (RFC 2883 §4).
    assert_eq!(board.sack(range(0, 100)), 0);
    assert_eq!(board.pipe(), 100);
}

#[test]
fn karn_forbids_to_time_what_was_resent() {
    let mut board = Scoreboard::default();
    board.push(SeqNum::new(0), 10, Instant::from_nanos(7), true);
    board.push(SeqNum::new(10), 10, Instant::from_nanos(8), false);
    assert_eq!(board.ack(SeqNum::new(10)), Acked { bytes: 10, timed: None });
    assert_eq!(board.ack(SeqNum::new(20)), Acked { bytes: 10, timed: Some(Instant::from_nanos(8)) });
}

#[derive(Debug, Clone)]
enum Op {
    Push(u32),
    Ack(u32),
    Sack(u32, u32),
    MarkLost(bool),
    Resend(u32),
    EndRecovery(bool),
    Clear,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        4 => (1..200u32).prop_map(Op::Push),
        2 => (0..2000u32).prop_map(Op::Ack),
        4 => (0..2000u32, 1..1000u32).prop_map(|(start, len)| Op::Sack(start, len)),
        2 => any::<bool>().prop_map(Op::MarkLost),
        2 => (1..200u32).prop_map(Op::Resend),
        1 => any::<bool>().prop_map(Op::EndRecovery),
        1 => Just(Op::Clear),
    ]
}

/// Bytes that the receiver has reported above `snd.una`.
fn sacked_bytes(board: &Scoreboard) -> u32 {
    board.cuts.iter().filter(|cut| cut.sacked).map(|cut| cut.len).sum()
}

/// Every sum recomputed from the cuts.
fn assert_sums(board: &Scoreboard) {
    let sum = |f: &dyn Fn(&Cut) -> u32| board.cuts.iter().map(f).sum::<u32>();
    assert_eq!(board.pipe, sum(&|c| c.copies_in_pipe() * c.len));
    assert_eq!(board.pipe_segments, sum(&Cut::copies_in_pipe));
    assert_eq!(board.sacked_segments, sum(&|c| u32::from(c.sacked)));
    assert_eq!(board.awaiting_repair, sum(&|c| u32::from(c.awaits_repair())));
    for (a, b) in board.cuts.iter().zip(board.cuts.iter().skip(1)) {
        assert_eq!(a.end(), b.seq, "a gap");
        assert!(a.len > 0);
    }
}

proptest! {
    #[test]
    fn sums_follow_the_marks(base in prop_oneof![Just(0u32), Just(u32::MAX - 1500)], ops in prop::collection::vec(op(), 1..80)) {
        let mut board = Scoreboard::default();
        let mut una = SeqNum::new(base);
        let mut nxt = una;
        for op in ops {
            match op {
                Op::Push(len) => { board.push(nxt, len, NOW, false); nxt += len; }
                Op::Ack(offset) => {
                    let ack = una + offset.min(nxt.distance_from(una));
                    let acked = board.ack(ack).bytes;
                    prop_assert_eq!(acked, ack.distance_from(una));
                    una = ack;
                }
                Op::Sack(start, len) => {
                    let before = sacked_bytes(&board);
                    let news = board.sack(range(una.value().wrapping_add(start), una.value().wrapping_add(start).wrapping_add(len)));
                    prop_assert_eq!(sacked_bytes(&board), before + news);
                }
                Op::MarkLost(first) => board.mark_lost(3, first),
                Op::Resend(len) => if let Some(cut) = board.next_lost() {
                    let (seq, whole) = cut.range();
                    board.resend(seq, len.min(whole), NOW);
                    prop_assert_ne!(board.next_lost().map(|c| c.seq), Some(seq));
                },
                Op::EndRecovery(keep) => board.end_recovery(keep),
                Op::Clear => { board.clear(); nxt = una; }
            }
            assert_sums(&board);
            prop_assert!(sacked_bytes(&board) <= nxt.distance_from(una));
        }
    }
}
