//! Copies and retransmissions of the latest data, one scenario each. The handshake takes 100 ms and
//! the capture is at the server.

use crate::Cause;
use crate::sender::tests::causes;
use crate::testing::Trace;

const FULL: u32 = 1448;

/// Copies in a capture of a server whose tail is lost, with its copy.
fn copies_of_a_lost_tail(mut trace: Trace, delay: f64) -> (u64, Vec<Cause>) {
    trace.data(101.0, 0, 1000);
    trace.copy(101.0 + delay);
    trace.data(402.0, 0, 1000);
    trace.copy(402.0 + delay);
    trace.ack(502.0, 1000, &[]);
    // The copy of the retransmission arrives as well, and the receiver reports it.
    trace.ack(502.0 + delay, 1000, &[(0, 1000)]);
    let (flows, episodes) = trace.analyse();
    (flows[0].halves[1].facts.duplicate_packets, causes(&episodes))
}

#[test]
fn a_copy_is_no_retransmission() {
    let timer = vec![Cause::Timeout];
    assert_eq!(copies_of_a_lost_tail(Trace::at_server(false), 0.01), (2, timer.clone()));
    // Two milliseconds later the sender's clock has ticked.
    let probe = vec![Cause::TailLossProbe];
    for delay in [0.01, 20.0] {
        assert_eq!(copies_of_a_lost_tail(Trace::at_server(true), delay), (2, probe.clone()));
    }
}

/// Copies of the server's last segment, and causes of its retransmissions. The segment is sent
/// again after a delay, with nothing in its header that tells a copy from a retransmission.
fn repeated_tail(delay: f64, change: impl FnOnce(&mut Trace)) -> (u64, Vec<Cause>) {
    let mut trace = Trace::at_server(false);
    trace.data(101.0, 0, 1460);
    trace.data(101.1, 1460, 500);
    change(&mut trace);
    trace.data(101.1 + delay, 1460, 500);
    trace.ack(500.0, 1960, &[]);
    let (flows, episodes) = trace.analyse();
    (flows[0].halves[1].facts.duplicate_packets, causes(&episodes))
}

#[test]
fn a_repeat_before_any_timer_is_a_copy() {
    // The handshake takes 100 ms, of which nine tenths count.
    for delay in [2.0, 10.0, 50.0, 88.0] {
        assert_eq!(repeated_tail(delay, |_| ()), (1, vec![]), "{delay} ms");
    }
    for delay in [95.0, 150.0] {
        assert_eq!(repeated_tail(delay, |_| ()), (0, vec![Cause::Unknown]), "{delay} ms");
    }
    // A retransmission in the time of a timer stays one.
    assert_eq!(repeated_tail(300.0, |_| ()), (0, vec![Cause::Timeout]));
    // The acknowledgment of other data is no reason to repeat this.
    let mut trace = Trace::at_server(false);
    trace.data(101.0, 0, 1460);
    trace.data(180.0, 1460, 500);
    trace.ack(209.9, 1460, &[]);
    trace.data(210.0, 1460, 500);
    trace.ack(280.0, 1960, &[]);
    let (flows, episodes) = trace.analyse();
    assert_eq!((flows[0].halves[1].facts.duplicate_packets, causes(&episodes)), (1, vec![]));
}

#[test]
fn a_repeat_with_a_reason_is_no_copy() {
    // A duplicate acknowledgment, with nothing else outstanding.
    let duplicate = |trace: &mut Trace| {
        trace.ack(120.0, 1460, &[]);
        trace.ack(141.0, 1460, &[]);
    };
    assert_eq!(repeated_tail(40.0, duplicate).0, 0);
    // The data before the last segment.
    let before = |trace: &mut Trace| trace.data(110.0, 0, 1460);
    assert_eq!(repeated_tail(40.0, before).0, 0);
    // The beginning of the segment, as after a report of a smaller path MTU.
    let shorter = |trace: &mut Trace| trace.data(110.0, 1460, 400);
    assert_eq!(repeated_tail(40.0, shorter).0, 0);
    // Data that a timer has repeated already: a second timer may be short.
    let mut trace = Trace::at_server(false);
    trace.data(101.0, 0, 1000);
    trace.data(402.0, 0, 1000);
    trace.data(422.0, 0, 1000);
    trace.ack(502.0, 1000, &[]);
    assert_eq!(trace.analyse().0[0].halves[1].facts.duplicate_packets, 0);
}

/// RFC 6675 §4: in a fast recovery the last data may be sent twice in a row.
#[test]
fn a_rescue_retransmission_is_no_copy() {
    let mut trace = Trace::of_other_system();
    for segment in 0..6 {
        trace.data(101.0, segment * FULL, FULL);
    }
    for end in 2..=4 {
        trace.ack(201.0 + 0.1 * f64::from(end), 0, &[(FULL, end * FULL)]);
    }
    trace.data(201.45, 0, FULL);
    trace.ack(201.5, 0, &[(FULL, 5 * FULL)]);
    trace.data(201.5, 6 * FULL, FULL);
    trace.data(201.5, 6 * FULL, FULL);
    trace.ack(301.5, 7 * FULL, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::Sack, Cause::Recovery]);
}

#[test]
fn the_segment_size_of_offload_does_not_hide_a_copy() {
    let mut trace = Trace::at_server(true);
    trace.data(101.0, 0, 2 * FULL + 200);
    trace.data(101.02, 2 * FULL, 200);
    trace.ack(201.0, 2 * FULL + 200, &[]);
    trace.ack(201.0, 2 * FULL + 200, &[(2 * FULL, 2 * FULL + 200)]);
    let (flows, episodes) = trace.analyse();
    assert_eq!((flows[0].halves[1].facts.duplicate_packets, episodes.len()), (1, 0));
}

/// A copy with a delay, after other data. A retransmission would have a later timestamp.
#[test]
fn an_old_timestamp_tells_a_copy_after_other_data() {
    for (repeated_at, copies) in [(101.0, 1), (106.0, 0), (111.0, 0)] {
        let mut trace = Trace::at_server(true);
        trace.data(101.0, 0, FULL);
        trace.data(106.0, FULL, FULL);
        trace.data(repeated_at, 0, FULL);
        trace.delay_last(111.0);
        trace.ack(206.5, 2 * FULL, &[]);
        let (flows, episodes) = trace.analyse();
        assert_eq!(flows[0].halves[1].facts.duplicate_packets, copies, "{repeated_at}");
        assert_eq!(episodes.len() as u64, 1 - copies);
    }
}

/// A probe is due not later than the timeout of the first outstanding data, so it may follow new
/// data at once. The packets follow a capture of Linux 6.18.
#[test]
fn a_probe_directly_after_new_data_is_no_copy() {
    let mut trace = Trace::at_server(true);
    trace.data(300.0, 0, 38);
    trace.data(735.0, 38, 188);
    trace.data(749.0, 38, 188);
    trace.ack(775.0, 0, &[(38, 226)]);
    trace.ack(789.0, 0, &[(38, 226), (38, 226)]);
    trace.data(789.1, 0, 38);
    trace.ack(889.0, 226, &[]);
    let (flows, episodes) = trace.analyse();
    assert_eq!(flows[0].halves[1].facts.duplicate_packets, 0);
    assert_eq!(causes(&episodes).len(), 2, "{episodes:?}");
}
