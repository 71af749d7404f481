//! Losses of first transmissions, one scenario each. The capture is at the server, whose segments
//! have 1448 bytes of payload and headers of 52 bytes.

use proptest::prelude::*;
use units::{Duration, Instant};

use super::{ROUND_TRIPS, RoundTrips};
use crate::sender::{Block, Count};
use crate::testing::Trace;

const FULL: u32 = 1448;
const HEADERS: u32 = 52;

/// A server that has sent `count` segments at 101 ms.
fn server(count: u32) -> Trace {
    let mut trace = Trace::at_server(true);
    for segment in 0..count {
        trace.data(101.0, segment * FULL, FULL);
    }
    trace
}

/// Packets and losses of all cells.
fn totals(blocks: &[Block]) -> (u64, u64) {
    let counts = || {
        let cells = blocks.iter().flat_map(|block| &block.cells);
        cells.flat_map(|cell| [cell.followed, cell.last])
    };
    (counts().map(|count| count.packets).sum(), counts().map(|count| count.lost).sum())
}

#[test]
fn a_segment_that_was_sent_again_was_lost() {
    let mut trace = server(5);
    trace.ack(201.0, FULL, &[]);
    for segment in 3..=5 {
        trace.ack(201.2, FULL, &[(2 * FULL, segment * FULL)]);
    }
    trace.data(201.3, FULL, FULL);
    trace.ack(301.5, 5 * FULL, &[]);
    let (blocks, losses) = trace.outcomes();
    assert_eq!(totals(&blocks), (5, 1));
    let [loss] = losses.as_slice() else { panic!("one loss, not {losses:?}") };
    assert_eq!((loss.number, loss.size, loss.run), (1, FULL + HEADERS, 1));
    assert_eq!(loss.passed_bytes, u64::from(FULL + HEADERS));
    // All segments were sent at 101 ms; the last report before the repair came at 201.2 ms.
    assert_eq!(loss.round_trip.map(Duration::as_nanos), Some(100_200_000));
}

#[test]
fn a_duplicate_report_refutes_a_loss() {
    let mut trace = server(5);
    trace.ack(201.0, FULL, &[]);
    for segment in 3..=5 {
        trace.ack(201.2, FULL, &[(2 * FULL, segment * FULL)]);
    }
    trace.data(201.3, FULL, FULL);
    // The original was late; the repair is reported as a duplicate a round trip later.
    trace.ack(203.0, 5 * FULL, &[]);
    trace.data(203.1, 5 * FULL, FULL);
    trace.ack(301.5, 5 * FULL, &[(FULL, 2 * FULL)]);
    trace.ack(303.5, 6 * FULL, &[]);
    let (blocks, losses) = trace.outcomes();
    assert_eq!((totals(&blocks), losses.len()), ((6, 0), 0));
}

#[test]
fn consecutive_losses_form_a_run() {
    let mut trace = server(10);
    trace.ack(201.0, 2 * FULL, &[(4 * FULL, 5 * FULL)]);
    trace.ack(201.1, 2 * FULL, &[(6 * FULL, 7 * FULL), (4 * FULL, 5 * FULL)]);
    trace.ack(201.2, 2 * FULL, &[(6 * FULL, 10 * FULL), (4 * FULL, 5 * FULL)]);
    for segment in [2, 3, 5] {
        trace.data(201.3, segment * FULL, FULL);
    }
    trace.ack(301.5, 10 * FULL, &[]);
    let (blocks, losses) = trace.outcomes();
    assert_eq!(totals(&blocks), (10, 3));
    let found: Vec<_> = losses.iter().map(|loss| (loss.number, loss.run)).collect();
    assert_eq!(found, [(2, 1), (3, 2), (5, 1)]);
}

#[test]
fn a_packet_of_joined_segments_is_divided() {
    let mut trace = Trace::at_server(true);
    trace.data(101.0, 0, 4 * FULL + 100);
    trace.ack(201.0, FULL, &[(2 * FULL, 4 * FULL + 100)]);
    trace.data(203.0, FULL, FULL);
    trace.ack(301.5, 4 * FULL + 100, &[]);
    let (blocks, losses) = trace.outcomes();
    assert_eq!(totals(&blocks), (5, 1));
    assert_eq!(losses.first().map(|loss| (loss.number, loss.size)), Some((1, FULL + HEADERS)));
    let smallest = blocks.iter().flat_map(|block| &block.cells).find(|cell| cell.last.packets == 1);
    let last = Count { packets: 1, bytes: u64::from(100 + HEADERS), lost: 0 };
    assert_eq!(smallest.map(|cell| cell.last), Some(last));
}

#[test]
fn data_that_is_sacked_was_not_lost_if_it_is_sent_again() {
    let mut trace = server(3);
    trace.ack(201.0, 0, &[(FULL, 3 * FULL)]);
    // A timeout repeats everything.
    for segment in 0..3 {
        trace.data(501.0, segment * FULL, FULL);
    }
    trace.ack(601.5, 3 * FULL, &[]);
    let (blocks, losses) = trace.outcomes();
    assert_eq!(totals(&blocks), (3, 1));
    assert_eq!(losses.first().map(|loss| loss.number), Some(0));
}

#[test]
fn a_segment_that_is_never_acknowledged_does_not_count() {
    let mut trace = server(3);
    trace.ack(201.0, 2 * FULL, &[]);
    trace.data(401.0, 2 * FULL, FULL);
    let (blocks, losses) = trace.outcomes();
    assert_eq!((totals(&blocks), losses.len()), ((2, 0), 0));
}

#[test]
fn a_gap_that_a_retransmission_fills_was_lost_before_the_capture() {
    let mut trace = Trace::at_server(true);
    trace.data(101.0, 0, FULL);
    // The capture does not have two segments of 1448 bytes and 500 bytes.
    trace.data(101.2, 2 * FULL + 500, FULL);
    trace.ack(150.0, FULL, &[(2 * FULL + 500, 3 * FULL + 500)]);
    trace.data(251.0, FULL, FULL);
    trace.data(251.1, 2 * FULL, 500);
    trace.ack(301.5, 3 * FULL + 500, &[]);
    let (blocks, losses) = trace.outcomes();
    assert_eq!(totals(&blocks), (4, 2));
    let found: Vec<_> = losses.iter().map(|loss| (loss.frame, loss.size, loss.run)).collect();
    assert_eq!(found, [(0, FULL + HEADERS, 1), (0, 500 + HEADERS, 2)]);
    assert!(losses.iter().all(|loss| loss.is_followed));
}

#[test]
fn only_segments_that_others_follow_in_time_would_be_missed() {
    let mut trace = server(2);
    trace.ack(201.0, 2 * FULL, &[]);
    trace.data(900.0, 2 * FULL, 100);
    trace.ack(1000.0, 2 * FULL + 100, &[]);
    let (blocks, _) = trace.outcomes();
    let cells = || blocks.iter().flat_map(|block| &block.cells);
    assert_eq!(cells().map(|cell| cell.followed.packets).sum::<u64>(), 1);
    assert_eq!(cells().map(|cell| cell.last.packets).sum::<u64>(), 2);
}

#[test]
fn a_segment_with_a_copy_does_not_count() {
    let mut trace = server(5);
    trace.copy(101.1);
    trace.ack(201.0, 4 * FULL, &[]);
    trace.data(401.3, 4 * FULL, FULL);
    trace.ack(501.5, 5 * FULL, &[]);
    let (blocks, losses) = trace.outcomes();
    assert_eq!((totals(&blocks), losses.len()), ((4, 0), 0));
}

proptest! {
    #[test]
    fn a_loss_has_the_round_trip_of_the_nearest_packet(
        sent in prop::collection::vec((0_u64..50, 0_u64..9), 0..30),
        at in 0_u64..50,
    ) {
        let mut kept = RoundTrips::default();
        for &(sent_at, rtt) in &sent {
            kept.add(Instant::from_nanos(sent_at), Duration::from_nanos(rtt));
        }
        // Of the last ones, from the latest on, the first of those with the smallest distance.
        let latest = sent.iter().rev().take(ROUND_TRIPS);
        let expected = latest.min_by_key(|(sent_at, _)| sent_at.abs_diff(at));
        let expected = expected.map(|&(_, rtt)| Duration::from_nanos(rtt));
        prop_assert_eq!(kept.nearest(Instant::from_nanos(at)), expected);
    }
}
