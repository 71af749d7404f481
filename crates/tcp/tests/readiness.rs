//! Deferrable segments: a connection for which [`Connection::may_defer`] is true sends the same
//! segments, whether or not it is drained between segments that arrived together.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tcp::{Config, Connection, DelayedAck, Negotiated};
use units::{Duration, Instant};
use wire::{Control, Flags, Mss, Options, Segment, SeqNum, UnscaledWindow, WindowScale};

const IRS: SeqNum = SeqNum::new(0);
const ISS: SeqNum = SeqNum::new(5);

/// Sequence number and length.
type Sent = (u32, u32);

fn sender(name: &str) -> Connection {
    let config = Config {
        sender: name.parse().expect("a sender"),
        mss: Mss::new(1000).expect("a segment size"),
        timestamps: false,
        ..Config::default()
    };
    let config = Arc::new(config);
    let negotiated =
        Negotiated { send_scale: WindowScale::clamped(10), ..Negotiated::between_equals(&config) };
    let mut connection = Connection::established(config, ISS, IRS, negotiated, 1 << 20);
    assert_eq!(connection.write(1 << 20), Ok(1 << 20));
    connection
}

fn acknowledgment(bytes: u32) -> Segment {
    Segment {
        seq: IRS + 1,
        ack: Some(ISS + 1 + bytes),
        control: Control::None,
        flags: Flags::NONE,
        window: UnscaledWindow::new(1 << 10),
        payload_len: 0,
        options: Options::default(),
    }
}

/// Acknowledges the given numbers of segments, in groups that arrive together. With `at_once` the
/// connection is drained after each acknowledgment. Otherwise it is drained only if its segments
/// are not deferrable, and at the end of a group. Returns the segments sent and the number of
/// deferrals.
fn run(name: &str, groups: &[Vec<u32>], at_once: bool) -> (Vec<Vec<Sent>>, usize) {
    let mut connection = sender(name);
    let mut now = Instant::ZERO;
    let (mut bytes, mut deferred) = (0, 0);
    let mut all = Vec::new();
    let mut sent = Vec::new();
    let drain = |connection: &mut Connection, sent: &mut Vec<Sent>, now| {
        while let Some(segment) = connection.poll_transmit(now) {
            sent.push((segment.seq.value(), segment.payload_len));
        }
    };
    drain(&mut connection, &mut sent, now);
    for group in groups {
        now += Duration::from_millis(20);
        // Number of the peer's bytes that were sent before the group.
        let arrived = connection.send_state().max.distance_from(ISS + 1);
        for segments in group {
            bytes = (bytes + segments * 1000).min(arrived);
            connection.on_segment(&acknowledgment(bytes), now);
            let deferrable = connection.may_defer();
            deferred += usize::from(deferrable);
            if at_once || !deferrable {
                drain(&mut connection, &mut sent, now);
            }
        }
        drain(&mut connection, &mut sent, now);
        all.push(std::mem::take(&mut sent));
    }
    (all, deferred)
}

/// Delivers segments of 1000 bytes to a receiver without SACK, in groups that arrive together and
/// are then read. With `at_once` the receiver is drained after each segment. Otherwise it is
/// drained only if its segments are not deferrable, and at the end of a group. Returns the number
/// of duplicates of each acknowledgment (RFC 5681 §2) and the number of deferrals. One segment of
/// `every` is acknowledged.
fn duplicates(groups: &[Vec<u32>], every: u8, at_once: bool) -> (BTreeMap<u32, u32>, usize) {
    let config = Config {
        mss: Mss::new(1000).expect("a segment size"),
        sack: false,
        timestamps: false,
        delayed_ack: DelayedAck { every, ..DelayedAck::RFC },
        ..Config::default()
    };
    let config = Arc::new(config);
    let negotiated = Negotiated::between_equals(&config);
    let mut connection = Connection::established(config, ISS, IRS, negotiated, 1 << 16);
    let mut found = BTreeMap::new();
    let (mut now, mut deferred, mut last) = (Instant::ZERO, 0, None);
    let mut drain = |connection: &mut Connection, now| {
        while let Some(segment) = connection.poll_transmit(now) {
            let said = segment.ack.map(|ack| (ack, segment.window));
            if said == last {
                *found
                    .entry(segment.ack.expect("an acknowledgment").distance_from(IRS))
                    .or_default() += 1;
            }
            last = said;
        }
    };
    for group in groups {
        now += Duration::from_millis(20);
        for number in group {
            let segment =
                Segment { seq: IRS + 1 + number * 1000, payload_len: 1000, ..acknowledgment(0) };
            connection.on_segment(&segment, now);
            let deferrable = connection.may_defer();
            deferred += usize::from(deferrable);
            if at_once || !deferrable {
                drain(&mut connection, now);
            }
        }
        connection.read(u32::MAX);
        drain(&mut connection, now);
    }
    (found, deferred)
}

const SENDERS: [&str; 3] =
    ["reno+sack / full / iw=1", "reno+sack / fs(n=4) / iw=1", "reno+sack / vs / iw=1"];

proptest! {
    #[test]
    fn deferral_does_not_change_the_segments(
        name in proptest::sample::select(&SENDERS),
        groups in proptest::collection::vec(proptest::collection::vec(1..4u32, 1..20), 1..60),
    ) {
        let (at_once, _) = run(name, &groups, true);
        let (later, _) = run(name, &groups, false);
        prop_assert_eq!(at_once, later);
    }

    /// Some segments are lost and arrive again after others.
    #[test]
    fn deferral_does_not_merge_duplicates(
        lost in proptest::collection::vec((0..40u32, 1..8u32), 0..4),
        sizes in proptest::collection::vec(1..12usize, 50),
    ) {
        let mut order: Vec<u32> = (0..40).collect();
        for (number, later) in lost {
            let at = order.iter().position(|&other| other == number).expect("all are there");
            let moved = order.remove(at);
            order.insert((at + later as usize).min(order.len()), moved);
        }
        let mut groups = Vec::new();
        for size in sizes {
            groups.push(order.drain(..size.min(order.len())).collect());
        }
        let [at_once, later] = [true, false].map(|at_once| duplicates(&groups, 1, at_once).0);
        prop_assert_eq!(at_once, later);
        // With delayed acknowledgments the first out-of-order segment may trigger the pending one,
        // which is not a duplicate. That depends on the end of the groups.
        let [at_once, later] = [true, false].map(|at_once| duplicates(&groups, 2, at_once).0);
        let of = |all: &BTreeMap<u32, u32>, ack| all.get(ack).copied().unwrap_or(0);
        for ack in at_once.keys().chain(later.keys()) {
            prop_assert!(of(&at_once, ack).abs_diff(of(&later, ack)) <= 1, "{:?} and {:?}", at_once, later);
        }
    }
}

/// The third of six segments is lost, and the sender counts three duplicates.
#[test]
fn pending_ack_does_not_replace_a_duplicate() {
    for at_once in [true, false] {
        let (found, deferred) = duplicates(&[vec![0, 1, 3, 4, 5]], 2, at_once);
        assert!(deferred > 0);
        assert_eq!(found, BTreeMap::from([(2001, 3)]));
    }
}

/// Data read between the acknowledgments does not make them differ.
#[test]
fn reads_do_not_change_duplicates() {
    let (found, _) = duplicates(&[vec![0, 1, 2, 3, 5], vec![6], vec![7, 8]], 2, false);
    assert_eq!(found, BTreeMap::from([(4001, 4)]));
}

#[test]
fn bulk_transfer_is_deferrable() {
    let groups = vec![vec![2; 16]; 40];
    for name in SENDERS {
        let (later, deferred) = run(name, &groups, false);
        assert!(deferred > 100, "{name}");
        assert_eq!(later, run(name, &groups, true).0, "{name}");
    }
}

/// An application that writes little at a time leaves part of the window unused. Both calls record
/// that the sender is application-limited.
#[test]
fn note_if_drained_equals_a_final_poll() {
    let run = |polls_again: bool| {
        let config = Config { mss: Mss::new(1000).expect("a segment size"), ..Config::default() };
        let config = Arc::new(config);
        let negotiated = Negotiated { timestamps: false, ..Negotiated::between_equals(&config) };
        let mut connection = Connection::established(config, ISS, IRS, negotiated, 1 << 20);
        let (mut now, mut bytes, mut drained) = (Instant::ZERO, 0, 0);
        let mut windows = Vec::new();
        for len in [300, 5000, 1000, 40, 2500, 1, 300, 300, 9000] {
            now += Duration::from_millis(20);
            assert_eq!(connection.write(len), Ok(len));
            while let Some(segment) = connection.poll_transmit(now) {
                bytes += segment.payload_len;
                if !polls_again && connection.note_if_drained(now) {
                    drained += 1;
                    break;
                }
            }
            connection.on_segment(&acknowledgment(bytes), now + Duration::from_millis(10));
            windows.push((connection.cwnd(), connection.send_state()));
        }
        (windows, drained)
    };
    let (polled, _) = run(true);
    let (drained, times) = run(false);
    assert!(times > 4, "{times} times");
    assert_eq!(drained, polled);
    // None of three small writes in sequence widened the window.
    assert_eq!(polled[5].0, polled[7].0);
}

/// A sender that counts packets ends its burst when the congestion window is full. A driver that
/// then asks no further has the same segments, windows and timers.
#[test]
fn an_ended_burst_equals_a_final_poll() {
    let run = |polls_again: bool| {
        let mut connection = sender("linux");
        let (mut now, mut bytes, mut ended) = (Instant::ZERO, 0, 0);
        let mut states = Vec::new();
        for acknowledged in [0, 1, 2, 2, 3, 1, 4, 2, 8, 16, 1, 30] {
            now += Duration::from_millis(20);
            if acknowledged > 0 {
                bytes += acknowledged * 1000;
                connection.on_segment(&acknowledgment(bytes), now);
            }
            while connection.poll_transmit(now).is_some() {
                if !polls_again && connection.has_ended_burst() {
                    ended += 1;
                    break;
                }
            }
            states.push((connection.send_state(), connection.next_timeout(), connection.cwnd()));
        }
        (states, ended)
    };
    let (polled, _) = run(true);
    let (stopped, times) = run(false);
    assert!(times > 8, "{times} times");
    assert_eq!(stopped, polled);
}
