//! What a driver may put off: a connection that says it is patient sends the same whether or not it
//! is drained between segments that have arrived together.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use tcp::{Config, Connection, DelayedAck, Negotiated, Pending};
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

/// Acknowledges so many segments at a time, in groups that arrive together, and drains after each
/// acknowledgment, or else where the connection is not patient and at the end of a group. Returns
/// what was sent by then, and how often it was patient.
fn run(name: &str, groups: &[Vec<u32>], at_once: bool) -> (Vec<Vec<Sent>>, usize) {
    let mut connection = sender(name);
    let mut now = Instant::ZERO;
    let (mut bytes, mut patient) = (0, 0);
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
        // What the peer has of what left before the group.
        let arrived = connection.send_state().max.distance_from(ISS + 1);
        for segments in group {
            bytes = (bytes + segments * 1000).min(arrived);
            connection.on_segment(&acknowledgment(bytes), now);
            let may_wait = connection.pending() == Pending::Deferrable;
            patient += usize::from(may_wait);
            if at_once || !may_wait {
                drain(&mut connection, &mut sent, now);
            }
        }
        drain(&mut connection, &mut sent, now);
        all.push(std::mem::take(&mut sent));
    }
    (all, patient)
}

/// Hands so many segments of 1000 bytes to a receiver without SACK, in groups that arrive together
/// and are read then, and drains after each segment, or else where the connection is not patient
/// and at the end of a group. Returns how many duplicates were sent of each acknowledgment, as RFC
/// 5681 §2 counts them, and how often it was patient. One segment of `every` is acknowledged.
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
    let (mut now, mut patient, mut last) = (Instant::ZERO, 0, None);
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
            let may_wait = connection.pending() == Pending::Deferrable;
            patient += usize::from(may_wait);
            if at_once || !may_wait {
                drain(&mut connection, now);
            }
        }
        connection.read(u32::MAX);
        drain(&mut connection, now);
    }
    (found, patient)
}

const SENDERS: [&str; 3] =
    ["reno+sack / full / iw=1", "reno+sack / fs(n=4) / iw=1", "reno+sack / vs / iw=1"];

proptest! {
    #[test]
    fn who_is_patient_sends_the_same(
        name in proptest::sample::select(&SENDERS),
        groups in proptest::collection::vec(proptest::collection::vec(1..4u32, 1..20), 1..60),
    ) {
        let (at_once, _) = run(name, &groups, true);
        let (later, _) = run(name, &groups, false);
        prop_assert_eq!(at_once, later);
    }

    /// Some are lost and come again behind others.
    #[test]
    fn who_counts_duplicates_gets_all_of_them(
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
        // Where an acknowledgment may be delayed, the first for what is out of order may bring it, and is no duplicate then;
        // whether it does depends on where the groups end.
        let [at_once, later] = [true, false].map(|at_once| duplicates(&groups, 2, at_once).0);
        let of = |all: &BTreeMap<u32, u32>, ack| all.get(ack).copied().unwrap_or(0);
        for ack in at_once.keys().chain(later.keys()) {
            prop_assert!(of(&at_once, ack).abs_diff(of(&later, ack)) <= 1, "{:?} and {:?}", at_once, later);
        }
    }
}

/// The third of six is lost, and its sender counts to three.
#[test]
fn an_acknowledgment_that_is_due_is_no_duplicate() {
    for at_once in [true, false] {
        let (found, patient) = duplicates(&[vec![0, 1, 3, 4, 5]], 2, at_once);
        assert!(patient > 0);
        assert_eq!(found, BTreeMap::from([(2001, 3)]));
    }
}

/// What was read between them does not make them different.
#[test]
fn duplicates_are_equal_whatever_is_read() {
    let (found, _) = duplicates(&[vec![0, 1, 2, 3, 5], vec![6], vec![7, 8]], 2, false);
    assert_eq!(found, BTreeMap::from([(4001, 4)]));
}

#[test]
fn a_bulk_transfer_is_patient() {
    let groups = vec![vec![2; 16]; 40];
    for name in SENDERS {
        let (later, patient) = run(name, &groups, false);
        assert!(patient > 100, "{name}");
        assert_eq!(later, run(name, &groups, true).0, "{name}");
    }
}

/// A user who writes little at a time leaves part of the window unused, and it is noted, whichever
/// call finds out.
#[test]
fn running_dry_is_as_good_as_being_asked_for_more() {
    let run = |asks: bool| {
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
                if !asks && connection.note_if_drained() {
                    drained += 1;
                    break;
                }
            }
            connection.on_segment(&acknowledgment(bytes), now + Duration::from_millis(10));
            windows.push((connection.cwnd(), connection.send_state()));
        }
        (windows, drained)
    };
    let (asked, _) = run(true);
    let (drained, times) = run(false);
    assert!(times > 4, "{times} times");
    assert_eq!(drained, asked);
    // Of three small writes in a row none widened the window.
    assert_eq!(asked[5].0, asked[7].0);
}
