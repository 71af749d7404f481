//! Causes of retransmissions, one scenario each. The handshake takes 100 ms and the capture is at
//! the server, which sends segments of 1448 bytes (with timestamps) or 1460.

use crate::testing::Trace;
use crate::{Cause, Confidence, EpisodeOf, Spurious, Vantage};

const FULL: u32 = 1448;

/// A flight of full-sized segments at a time in milliseconds.
fn flight(trace: &mut Trace, at: f64, from: u32, count: u32) {
    for segment in from..from + count {
        trace.data(at, segment * FULL, FULL);
    }
}

/// A server with tail loss probes and RACK, which has sent `count` segments.
fn current(count: u32) -> Trace {
    let mut trace = Trace::at_server(true);
    flight(&mut trace, 101.0, 0, count);
    trace
}

pub(super) fn causes(episodes: &[EpisodeOf]) -> Vec<Cause> {
    let each = episodes.iter().flat_map(|found| &found.episode.retransmissions);
    each.map(|retransmission| retransmission.cause).collect()
}

#[test]
fn rack_detects_a_loss_with_three_segments_above_it_at_once() {
    let mut trace = current(5);
    trace.ack(201.0, 0, &[(FULL, 2 * FULL)]);
    trace.ack(201.2, 0, &[(FULL, 3 * FULL)]);
    trace.ack(201.4, 0, &[(FULL, 4 * FULL)]);
    trace.data(201.45, 0, FULL);
    trace.ack(301.5, 5 * FULL, &[]);
    let (flows, episodes) = trace.analyse();
    let [found] = episodes.as_slice() else { panic!("one episode, not {episodes:?}") };
    let episode = &found.episode;
    assert_eq!(
        (found.direction, episode.cause, episode.confidence),
        (1, Cause::Rack, Confidence::High)
    );
    assert_eq!((episode.following, episode.timeouts, episode.count), (4, 0, 1));
    // From the first transmission at 101 ms to the one that arrived.
    assert_eq!(episode.delay.as_nanos() / 1000, 100_450);
    assert!(episode.ended_at.is_some() && !episode.is_spurious());
    assert_eq!(flows[0].halves[1].vantage(), Vantage::Sender);
    assert_eq!(flows[0].halves[0].vantage(), Vantage::Receiver);
}

#[test]
fn small_segments_of_framing_count_as_segments() {
    let mut trace = Trace::at_server(true);
    for segment in 0..4 {
        trace.data(101.0, 362 * segment, 362);
    }
    trace.ack(201.0, 0, &[(362, 1448)]);
    trace.data(201.05, 0, 362);
    trace.ack(301.5, 1448, &[]);
    let (_, episodes) = trace.analyse();
    let episode = &episodes[0].episode;
    assert_eq!((episode.cause, episode.following), (Cause::Rack, 3));
    assert_eq!(episode.retransmissions[0].sacked_above, 3);
}

#[test]
fn a_kernel_without_rack_waits_for_the_third_duplicate() {
    let mut trace = Trace::at_server(false);
    for segment in 0..5 {
        trace.data(101.0, segment * 1460, 1460);
    }
    trace.ack(201.0, 0, &[(1460, 2920)]);
    trace.ack(202.0, 0, &[(1460, 4380)]);
    trace.ack(203.0, 0, &[(1460, 5840)]);
    trace.data(203.05, 0, 1460);
    trace.ack(303.0, 7300, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::Sack]);
}

#[test]
fn fack_needs_no_third_duplicate() {
    let mut trace = Trace::at_server(false);
    for segment in 0..6 {
        trace.data(101.0, segment * 1460, 1460);
    }
    // One acknowledgment reports the fifth segment: four segments above the first.
    trace.ack(201.0, 0, &[(5840, 7300)]);
    trace.data(201.05, 0, 1460);
    trace.data(201.06, 1460, 1460);
    trace.ack(301.0, 8760, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::Fack, Cause::Recovery]);
}

#[test]
fn three_duplicates_without_sack_blocks() {
    let mut trace = Trace::at_server(false);
    for segment in 0..5 {
        trace.data(101.0, segment * 1460, 1460);
    }
    for at in [201.0, 202.0, 203.0] {
        trace.ack(at, 0, &[]);
    }
    trace.data(203.05, 0, 1460);
    trace.ack(303.0, 7300, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::ThreeDuplicates]);
}

#[test]
fn the_timer_of_the_reordering_window() {
    let mut trace = current(3);
    trace.ack(201.0, 0, &[(FULL, 2 * FULL)]);
    trace.ack(201.1, 0, &[(FULL, 3 * FULL)]);
    // A quarter of the minimum round-trip time later.
    trace.data(228.0, 0, FULL);
    trace.ack(328.0, 3 * FULL, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::RackTimer]);
}

#[test]
fn a_tail_loss_probe_and_the_timeout_after_it() {
    let mut trace = current(3);
    trace.ack(201.0, 2 * FULL, &[]);
    // One segment is outstanding: the probe waits for 2 · SRTT + 200 ms, at most until the timeout.
    trace.data(501.5, 2 * FULL, FULL);
    trace.data(801.5, 2 * FULL, FULL);
    trace.ack(901.5, 3 * FULL, &[]);
    let (_, episodes) = trace.analyse();
    assert_eq!(causes(&episodes), [Cause::TailLossProbe, Cause::Timeout]);
    let episode = &episodes[0].episode;
    assert_eq!((episode.following, episode.probes, episode.timeouts), (0, 1, 1));
    assert_eq!(episode.delay.as_nanos() / 100_000, 7005);
}

#[test]
fn a_kernel_without_probes_has_a_timeout_and_backs_off() {
    let mut trace = Trace::at_server(false);
    trace.data(101.0, 0, 1000);
    trace.data(402.0, 0, 1000);
    trace.data(1002.0, 0, 1000);
    trace.ack(1102.0, 1000, &[]);
    let (_, episodes) = trace.analyse();
    assert_eq!(causes(&episodes), [Cause::Timeout, Cause::Timeout]);
    let backoff: Vec<_> =
        episodes[0].episode.retransmissions.iter().map(|each| each.backoff).collect();
    assert_eq!(backoff, [0, 1]);
}

#[test]
fn repairs_after_a_timeout_are_slow_start() {
    let mut trace = Trace::at_server(false);
    for segment in 0..4 {
        trace.data(101.0, segment * 1460, 1460);
    }
    trace.data(402.0, 0, 1460);
    trace.ack(502.0, 1460, &[]);
    trace.data(502.05, 1460, 1460);
    trace.data(502.06, 2920, 1460);
    trace.ack(602.0, 5840, &[]);
    let (_, episodes) = trace.analyse();
    assert_eq!(causes(&episodes), [Cause::Timeout, Cause::SlowStart, Cause::SlowStart]);
    assert_eq!(episodes.len(), 1);
}

#[test]
fn a_lost_repair_is_detected_by_data_sent_after_it() {
    let mut trace = current(5);
    trace.ack(201.0, 0, &[(FULL, 4 * FULL)]);
    trace.data(201.05, 0, FULL);
    trace.data(201.06, 5 * FULL, FULL);
    trace.ack(202.0, 0, &[(FULL, 5 * FULL)]);
    trace.ack(301.0, 0, &[(FULL, 6 * FULL)]);
    trace.data(301.05, 0, FULL);
    trace.ack(401.0, 6 * FULL, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::Rack, Cause::LostRetransmission]);
}

#[test]
fn a_duplicate_report_refutes_the_probe() {
    let mut trace = current(2);
    trace.ack(201.0, FULL, &[]);
    trace.data(501.5, FULL, FULL);
    trace.ack(560.0, 2 * FULL, &[]);
    trace.ack(601.5, 2 * FULL, &[(FULL, 2 * FULL)]);
    let (_, episodes) = trace.analyse();
    let retransmission = episodes[0].episode.retransmissions[0];
    assert_eq!(retransmission.cause, Cause::TailLossProbe);
    assert_eq!(retransmission.spurious, Spurious::Dsack);
}

#[test]
fn an_echo_of_the_original_refutes_the_retransmission() {
    // The test's acknowledgments echo their own time, so only the early one is before the repair.
    let mut trace = current(1);
    trace.data(402.0, 0, FULL);
    trace.ack(403.0, FULL, &[]);
    let (_, episodes) = trace.analyse();
    assert_ne!(episodes[0].episode.retransmissions[0].spurious, Spurious::No);
}

#[test]
fn reordered_data_is_no_retransmission() {
    let mut trace = Trace::at_server(false);
    trace.data(101.0, 0, 1460);
    trace.data(101.1, 2920, 1460);
    trace.data(101.2, 1460, 1460);
    trace.ack(201.0, 4380, &[]);
    let (flows, episodes) = trace.analyse();
    assert_eq!(episodes, []);
    let facts = &flows[0].halves[1].facts;
    assert_eq!((facts.reordered_packets, facts.retransmitted_packets), (1, 0));
    assert_eq!(facts.unique_bytes, 4380);
}

#[test]
fn keep_alives_are_no_retransmissions() {
    let mut trace = Trace::at_server(false);
    trace.data(101.0, 0, 1000);
    trace.ack(201.0, 1000, &[]);
    trace.data(60_000.0, 999, 1);
    trace.ack(60_100.0, 1000, &[]);
    let (flows, episodes) = trace.analyse();
    assert_eq!(episodes, []);
    assert_eq!(flows[0].halves[1].facts.keep_alives, 1);
}

/// A recovery of a current Linux that ends with an acknowledgment of five segments, and a sixth
/// that is lost. `repairs` says how often the first is sent again.
fn sixth_after_a_recovery(repairs: u32) -> Vec<Cause> {
    let mut trace = current(5);
    trace.ack(201.0, 0, &[(FULL, 4 * FULL)]);
    for repair in 0..repairs {
        trace.data(201.05 + 0.1 * f64::from(repair), repair * 4 * FULL, FULL);
    }
    trace.data(201.5, 5 * FULL, FULL);
    trace.ack(301.5, 4 * FULL, &[]);
    trace.ack(301.6, 5 * FULL, &[]);
    trace.data(620.0, 5 * FULL, FULL);
    trace.ack(720.0, 6 * FULL, &[]);
    causes(&trace.analyse().1)
}

#[test]
fn the_state_after_an_acknowledgment_decides_on_its_timer() {
    // Both timers expire at the same time. Linux starts that of a probe in its open state only.
    assert_eq!(sixth_after_a_recovery(1), [Cause::Rack, Cause::TailLossProbe]);
}

#[test]
fn the_reordering_timer_of_a_segment_that_only_a_repair_overtook() {
    let mut trace = current(5);
    trace.ack(201.0, 0, &[(FULL, 4 * FULL)]);
    trace.data(201.05, 0, FULL);
    trace.ack(301.0, 4 * FULL, &[]);
    // The repair was sent after the fifth segment. A quarter of the round-trip time later:
    trace.data(328.0, 4 * FULL, FULL);
    trace.ack(428.0, 5 * FULL, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::Rack, Cause::RackTimer]);
}

#[test]
fn the_loss_of_a_repair_after_a_timeout_begins_a_fast_recovery() {
    let mut trace = current(5);
    // The segments are lost, and so is the second repair after the timeout.
    trace.data(305.0, 4 * FULL, FULL);
    trace.data(607.0, 0, FULL);
    trace.ack(707.0, FULL, &[]);
    trace.data(707.05, FULL, FULL);
    trace.data(707.06, 2 * FULL, FULL);
    trace.ack(807.1, FULL, &[(2 * FULL, 3 * FULL)]);
    trace.data(807.15, FULL, FULL);
    trace.data(807.16, 3 * FULL, FULL);
    trace.ack(907.2, 5 * FULL, &[]);
    let expected = [
        Cause::TailLossProbe,
        Cause::Timeout,
        Cause::SlowStart,
        Cause::SlowStart,
        Cause::LostRetransmission,
        Cause::Recovery,
    ];
    assert_eq!(causes(&trace.analyse().1), expected);
}

#[test]
fn without_sack_linux_waits_for_the_third_duplicate_and_has_no_probes() {
    let mut trace = Trace::without_sack();
    flight(&mut trace, 101.0, 0, 5);
    for at in [201.0, 201.1, 201.2] {
        trace.ack(at, 0, &[]);
    }
    trace.data(201.25, 0, FULL);
    trace.ack(301.3, 5 * FULL, &[]);
    flight(&mut trace, 301.35, 5, 1);
    trace.data(610.0, 5 * FULL, FULL);
    trace.ack(710.0, 6 * FULL, &[]);
    assert_eq!(causes(&trace.analyse().1), [Cause::ThreeDuplicates, Cause::Timeout]);
}

#[test]
fn only_linux_undoes_a_recovery() {
    let undone = |mut trace: Trace| {
        for segment in 0..6 {
            trace.data(101.0, segment * FULL, FULL);
        }
        for last in 2..5 {
            trace.ack(201.0 + 0.1 * f64::from(last), 0, &[(FULL, last * FULL)]);
        }
        trace.data(201.45, 0, FULL);
        // The first segment was only late, and the receiver reports its repair.
        trace.ack(301.5, 5 * FULL, &[(0, FULL)]);
        trace.ack(302.9, 5 * FULL, &[]);
        trace.data(302.95, 5 * FULL, FULL);
        causes(&trace.analyse().1)
    };
    assert_eq!(undone(Trace::of_other_system()), [Cause::Sack, Cause::Recovery]);
    // Linux is in no recovery then, and begins another one.
    assert_eq!(undone(Trace::at_server(true)), [Cause::Rack, Cause::Rack]);
}

/// The kernel counts the retransmissions that DSACKs must report from the last timeout on, if data
/// was acknowledged before it (`tcp_enter_loss`). The packets follow a capture of Linux 6.18.
#[test]
fn the_report_of_the_last_timeouts_repair_undoes_the_recovery() {
    let mut trace = current(5);
    let from = |segment: u32| segment * FULL;
    trace.ack(201.0, 0, &[(from(3), from(5))]);
    trace.data(201.05, 0, FULL);
    trace.data(201.06, FULL, FULL);
    trace.data(201.07, from(2), FULL);
    // All of these are lost, and the repairs of the first two after the timeout arrive.
    trace.data(505.0, 0, FULL);
    trace.ack(606.0, from(1), &[(from(3), from(5))]);
    trace.data(606.1, FULL, FULL);
    trace.data(606.2, from(2), FULL);
    trace.data(908.0, FULL, FULL);
    // The acknowledgment of the repair at 606.1 was lost. Linux is in the state Open now, and RACK
    // begins another recovery.
    trace.ack(1008.1, from(2), &[(FULL, from(2)), (from(3), from(5))]);
    trace.data(1008.2, from(2), FULL);
    trace.ack(1108.3, from(5), &[]);
    let (_, episodes) = trace.analyse();
    let found = causes(&episodes);
    assert_eq!(found.last(), Some(&Cause::Rack), "{found:?}");
    assert_eq!(found[4..6], [Cause::SlowStart; 2], "{found:?}");
}

/// New data after a timeout is no evidence about the next timeout (RFC 5682 §2.1). The packets
/// follow a capture of Linux 6.18.
#[test]
fn each_timeout_needs_its_own_new_data() {
    let mut trace = current(3);
    let from = |segment: u32| segment * FULL;
    // The kernel's probe and two timeouts; the acknowledgment reports the first segment twice.
    trace.data(403.0, from(2), FULL);
    trace.data(705.0, 0, FULL);
    trace.data(1306.0, 0, FULL);
    trace.ack(1406.1, from(1), &[(0, FULL)]);
    flight(&mut trace, 1406.2, 3, 2);
    trace.data(2607.0, FULL, FULL);
    trace.ack(2707.1, from(2), &[(from(3), from(4))]);
    trace.data(2707.2, from(2), FULL);
    trace.ack(2807.3, from(5), &[]);
    let (_, episodes) = trace.analyse();
    assert_eq!(causes(&episodes).last(), Some(&Cause::SlowStart), "{:?}", causes(&episodes));
}

/// Causes in a capture at the receiver, 100 ms from the sender. A packet echoes the third of four
/// duplicates, and arrives this long after it.
fn echo_of_the_third_duplicate(delay: f64) -> Vec<Cause> {
    let mut trace = Trace::at_server(true);
    for segment in 1..6 {
        trace.upload(201.0, segment * FULL, FULL, 101.0);
    }
    for segment in 2..6 {
        trace.server_ack(200.0 + 10.0 * f64::from(segment), 0, (FULL, segment * FULL));
    }
    trace.upload(240.0 + delay, 0, FULL, 240.0);
    trace.server_ack(240.1 + delay, 6 * FULL, (0, 0));
    causes(&trace.analyse().1)
}

/// RFC 7323 §4.3: the sender had received the third duplicate and not the fourth.
#[test]
fn an_echo_tells_the_acknowledgment_that_made_the_sender_transmit() {
    for delay in [100.0, 140.0, 190.0] {
        assert_eq!(echo_of_the_third_duplicate(delay), [Cause::Rack], "{delay} ms");
    }
    // After a further round trip, a timer explains the packet if the fourth one was lost.
    assert_ne!(echo_of_the_third_duplicate(400.0), [Cause::Rack]);
}
