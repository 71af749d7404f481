//! Writes that memory limits as in Linux.

use std::sync::Arc;

use proptest::prelude::*;
use tcp::{Config, Connection, Negotiated, Profile, SendMemory};
use units::{Duration, Instant};
use wire::{Control, Flags, Options, Segment, SeqNum, UnscaledWindow, WindowScale};

const ISS: SeqNum = SeqNum::new(0);
const IRS: SeqNum = SeqNum::new(1000);
const SMSS: u32 = 1448;
/// A first window of Linux in bytes.
const WINDOW: u32 = 64_240;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(1_000_000 + millis)
}

fn connection(profile: Profile, send_memory: SendMemory) -> Connection {
    let config = Config {
        timestamps: true,
        sender: profile.sender(),
        send_memory,
        send_buffer: 1 << 30,
        ..profile.config()
    };
    let negotiated =
        Negotiated { send_scale: WindowScale::NONE, ..Negotiated::between_equals(&config) };
    Connection::established(Arc::new(config), ISS, IRS, negotiated, WINDOW)
}

fn acknowledgment(ack: SeqNum) -> Segment {
    Segment {
        seq: IRS + 1,
        ack: Some(ack),
        control: Control::None,
        flags: Flags::NONE,
        window: UnscaledWindow::from_bytes(WINDOW, WindowScale::NONE),
        payload_len: 0,
        options: Options::default(),
    }
}

/// Sends everything that the windows admit. Returns the number of segments.
fn drain(connection: &mut Connection, millis: u64) -> u32 {
    let mut sent = 0;
    while connection.poll_transmit(at(millis)).is_some() {
        sent += 1;
    }
    sent
}

/// Writes as much as there is memory for. Returns the bytes of each write, and the segments sent.
fn fill(connection: &mut Connection, bytes: u32, millis: u64) -> (Vec<u32>, u32) {
    let (mut taken, mut sent) = (Vec::new(), 0);
    while let Ok(some @ 1..) = connection.write(bytes - taken.iter().sum::<u32>()) {
        taken.push(some);
        sent += drain(connection, millis);
    }
    (taken, sent)
}

/// Linux 6.18 with `SO_MEMINFO`: of a reply of 60 segments it takes 22, which is half of the peer's
/// window, and 10 more after it has sent the initial window.
#[test]
fn a_first_write_is_of_32_segments() {
    let mut connection = connection(Profile::Linux618, SendMemory::Linux);
    let (taken, sent) = fill(&mut connection, 60 * SMSS, 0);
    assert_eq!((taken, sent), (vec![22 * SMSS, 10 * SMSS], 10));
    assert!(connection.waits_for_memory());
}

/// The limit of 46 080 bytes does not grow while the congestion window is full. When the window
/// leaves room, the application is woken.
#[test]
fn the_application_is_woken_when_the_window_has_room() {
    let mut connection = connection(Profile::Linux618, SendMemory::Linux);
    let reply = 200 * SMSS;
    let written: u32 = fill(&mut connection, reply, 0).0.iter().sum();
    assert_eq!(written, 32 * SMSS);
    for acked in 1..=10 {
        connection.on_segment(&acknowledgment(ISS + 1 + acked * SMSS), at(20));
        assert_eq!(drain(&mut connection, 20), 2);
        assert!(!connection.wakes_writer(at(20)), "{acked}: the window is full");
    }
    connection.on_segment(&acknowledgment(ISS + 1 + 12 * SMSS), at(40));
    assert_eq!(drain(&mut connection, 40), 2, "what was left");
    assert!(connection.wakes_writer(at(40)));
    let (taken, _) = fill(&mut connection, reply - written, 40);
    assert!(taken.iter().sum::<u32>() > 32 * SMSS, "{taken:?}: twice the larger window");
}

/// Without a segment of the peer nothing changes.
#[test]
fn the_application_is_woken_once_for_a_segment() {
    let mut connection = connection(Profile::Linux618, SendMemory::Linux);
    fill(&mut connection, 60 * SMSS, 0);
    assert!(!connection.wakes_writer(at(0)));
    connection.on_segment(&acknowledgment(ISS + 1 + 10 * SMSS), at(20));
    drain(&mut connection, 20);
    connection.wakes_writer(at(20));
    assert!(!connection.wakes_writer(at(20)));
}

#[test]
fn nothing_is_taken_before_the_handshake() {
    let config = Config {
        sender: Profile::Linux618.sender(),
        send_memory: SendMemory::Linux,
        ..Profile::Linux618.config()
    };
    let mut connection = Connection::new(Arc::new(config), ISS);
    connection.connect().unwrap();
    assert!(connection.limits_writes());
    assert_eq!(connection.write(1000), Ok(0));
    assert!(!connection.waits_for_memory());
}

#[test]
fn a_sender_that_counts_bytes_has_no_such_limit() {
    let mut connection = connection(Profile::Rfc, SendMemory::Linux);
    assert!(!connection.limits_writes());
    assert_eq!(connection.write(1 << 29), Ok(1 << 29));
}

proptest! {
    /// Whatever the sizes of the acknowledgments, a reply is written and sent completely. The data
    /// in memory never exceeds the largest limit by more than a buffer of 64 kB.
    #[test]
    fn every_reply_is_written(
        segments in 1_u32..600,
        short in 0_u32..SMSS,
        steps in prop::collection::vec(1_u32..40, 1..60),
    ) {
        let mut connection = connection(Profile::Linux618, SendMemory::Linux);
        let reply = segments * SMSS - short.min(SMSS - 1);
        let mut left = reply - fill(&mut connection, reply, 0).0.iter().sum::<u32>();
        let (mut una, mut millis) = (ISS + 1, 0);
        for step in steps.iter().cycle().take(4000) {
            if una == ISS + 1 + reply {
                break;
            }
            millis += 20;
            let nxt = una + connection.flight();
            prop_assert!(nxt != una, "nothing is in flight, {left} bytes are left");
            una += (step * SMSS).min(nxt.distance_from(una));
            connection.on_segment(&acknowledgment(una), at(millis));
            drain(&mut connection, millis);
            if !connection.waits_for_memory() || connection.wakes_writer(at(millis)) {
                left -= fill(&mut connection, left, millis).0.iter().sum::<u32>();
            }
            prop_assert!(connection.unacknowledged() <= (4 << 20) + (1 << 16));
        }
        prop_assert_eq!((una, left), (ISS + 1 + reply, 0));
    }
}
