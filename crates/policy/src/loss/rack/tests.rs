use proptest::prelude::*;
use units::{Duration, Instant};
use wire::{SeqNum, SeqRange};

use super::*;

const fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A queue with one segment of 1000 bytes for each transmission time, in milliseconds.
fn queue(sent: &[u64]) -> Scoreboard {
    let mut board = Scoreboard::default();
    for (index, &time) in (0..).zip(sent) {
        board.push(SeqNum::new(1000 * index), 1000, at(time), false);
    }
    board
}

fn facts(now: u64, sacked: u32, reordering: &Reordering) -> RackFacts<'_> {
    RackFacts {
        now: at(now),
        in_recovery: false,
        sacked,
        reordering,
        min_rtt: Some(ms(100)),
        srtt: Some(ms(100)),
    }
}

/// Reports the segment with this number.
fn deliver(rack: &mut Rack, board: &mut Scoreboard, number: u32, now: u64) {
    let from = SeqNum::new(1000 * number);
    let segment = board.segment_at(from).unwrap();
    rack.on_delivered(segment.last_transmission(), segment.was_resent(), at(now), Some(ms(100)));
    board.sack(SeqRange::new(from, from + 1000).unwrap());
}

/// RFC 8985 §6.2, step 4: without observed reordering the window is zero from three reports on;
/// before, a quarter of the minimum RTT.
#[test]
fn three_reports_close_the_reordering_window() {
    let reordering = Reordering::default();
    for (sacked, in_recovery, window) in
        [(1, false, ms(25)), (2, false, ms(25)), (3, false, ms(0)), (1, true, ms(0))]
    {
        let facts = RackFacts { in_recovery, ..facts(0, sacked, &reordering) };
        assert_eq!(Rack::default().reordering_window(&facts), window, "{sacked} {in_recovery}");
    }
}

/// RFC 8985 §6.2, step 4: once reordering was observed, the window remains, in recovery too.
#[test]
fn observed_reordering_keeps_the_window_open() {
    let mut reordering = Reordering::default();
    reordering.observe(SeqNum::new(0), SeqNum::new(2000), 1000);
    let facts = RackFacts { in_recovery: true, ..facts(0, 5, &reordering) };
    assert_eq!(Rack::default().reordering_window(&facts), ms(25));
}

/// RFC 8985 §6.2, step 5: segments sent before a delivered one are lost after the window, and all
/// of them are lost at the latest of their deadlines.
#[test]
fn segments_are_lost_after_the_reordering_window() {
    let reordering = Reordering::default();
    let mut rack = Rack::default();
    let mut board = queue(&[0, 1, 2, 3]);
    deliver(&mut rack, &mut board, 2, 102);
    let detection = rack.detect_on_ack(&facts(102, 1, &reordering), &board).unwrap();
    assert_eq!(detection, Detection { lost: Lost::Nothing, next_deadline: at(126) });
    assert_eq!(rack.detect_on_ack(&facts(103, 1, &reordering), &board), None, "nothing arrived");
    let detection = rack.detect(&facts(126, 1, &reordering), &board);
    assert_eq!(detection.next_deadline, Instant::NEVER);
    board.mark(detection.lost);
    let lost: Vec<SeqNum> = board.next_lost().iter().map(|segment| segment.range().0).collect();
    assert_eq!(lost, [SeqNum::new(0)]);
    assert_eq!(board.pipe_segments(), 1, "the segment sent after the delivered one is in flight");
}

/// RFC 8985 §6.2, step 2: an acknowledgment sooner than the minimum RTT after a retransmission is
/// not a delivery of that retransmission.
#[test]
fn an_early_acknowledgment_of_a_retransmission_is_no_sample() {
    let mut rack = Rack::default();
    let sent = Transmission { sent_at: at(100), seq: SeqNum::new(1000) };
    rack.on_delivered(sent, true, at(150), Some(ms(100)));
    assert_eq!(rack, Rack::default());
    rack.on_delivered(sent, true, at(200), Some(ms(100)));
    assert!(rack.advanced);
}

/// RFC 8985 §6.2, step 4: the window widens once in a round trip with DSACKs, and narrows after 16
/// recoveries without.
#[test]
fn dsacks_widen_the_window() {
    let mut rack = Rack::default();
    rack.on_dsack();
    rack.adapt_window(SeqNum::new(0), SeqNum::new(5000));
    assert_eq!(rack.steps, 2);
    rack.on_dsack();
    rack.adapt_window(SeqNum::new(4999), SeqNum::new(9000));
    assert_eq!(rack.steps, 2, "the same round trip");
    rack.on_dsack();
    rack.adapt_window(SeqNum::new(5000), SeqNum::new(9000));
    assert_eq!(rack.steps, 3);
    for _ in 0..16 {
        assert_eq!(rack.steps, 3);
        rack.on_recovery_end();
        rack.adapt_window(SeqNum::new(9000), SeqNum::new(9000));
    }
    assert_eq!(rack.steps, 1);
}

proptest! {
    /// A detection never finds a segment lost that was sent after the newest delivered one, and
    /// every segment sent before it is either lost or has a deadline.
    #[test]
    fn detection_respects_the_order_of_transmission(
        gaps in prop::collection::vec(0..20u64, 2..20),
        arrivals in prop::collection::vec((0..20u32, 0..50u64), 1..10),
    ) {
        let sent: Vec<u64> =
            gaps.iter().scan(0, |time, gap| { *time += gap; Some(*time) }).collect();
        let reordering = Reordering::default();
        let mut rack = Rack::default();
        let mut board = queue(&sent);
        let mut now = sent.last().unwrap() + 100;
        for (number, wait) in arrivals {
            now += wait;
            let number = number % u32::try_from(sent.len()).unwrap();
            deliver(&mut rack, &mut board, number, now);
            let Some(detection) =
                rack.detect_on_ack(&facts(now, board.sacked_segments(), &reordering), &board)
            else { continue };
            if let Lost::SentUpTo(last) = detection.lost {
                prop_assert!(rack.newest.is_after(&last));
            }
            prop_assert!(detection.next_deadline > at(now));
            board.mark(detection.lost);
            prop_assert!(
                detection.next_deadline != Instant::NEVER
                    || board.sent_before(rack.newest).next().is_none()
            );
        }
    }
}
