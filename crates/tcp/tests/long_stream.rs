//! Streams longer than the range of comparable sequence numbers (RFC 9293 §3.4). Old sequence
//! numbers stored by a connection must not compare as ahead after 2³¹ bytes.

use std::sync::Arc;

use tcp::{Config, Connection, Negotiated};
use units::{Duration, Instant};
use wire::{Control, Flags, Mss, Options, Segment, SeqNum, UnscaledWindow, WindowScale};

const IRS: SeqNum = SeqNum::new(0);

struct Sender {
    connection: Connection,
    now: Instant,
}

impl Sender {
    fn new(sender: &str) -> Self {
        let config = Config {
            sender: sender.parse().expect("a sender"),
            mss: Mss::new(60_000).expect("a segment size"),
            timestamps: false,
            sack: false,
            ..Config::default()
        };
        let config = Arc::new(config);
        let negotiated = Negotiated {
            send_scale: WindowScale::clamped(10),
            ..Negotiated::between_equals(&config)
        };
        let connection =
            Connection::established(config, SeqNum::new(5), IRS, negotiated, 60_000 << 10);
        Self { connection, now: Instant::ZERO }
    }

    /// Returns the number of segments sent.
    fn drain(&mut self) -> usize {
        std::iter::from_fn(|| self.connection.poll_transmit(self.now)).count()
    }

    fn acknowledge(&mut self, ack: SeqNum) {
        self.now += Duration::from_millis(10);
        let segment = Segment {
            seq: IRS + 1,
            ack: Some(ack),
            control: Control::None,
            flags: Flags::NONE,
            window: UnscaledWindow::new(60_000),
            payload_len: 0,
            options: Options::default(),
        };
        self.connection.on_segment(&segment, self.now);
    }

    /// Sends `count` full-sized segments, all of which arrive.
    fn send_full_sized(&mut self, count: u32) {
        for _ in 0..count {
            assert_eq!(self.connection.write(60_000), Ok(60_000));
            self.drain();
            self.acknowledge(self.connection.send_state().max);
            assert_eq!(self.connection.flight(), 0);
        }
    }
}

/// Number of segments with more than 2³¹ bytes together.
const MANY: u32 = (1 << 31) / 60_000 + 1_000;

/// RFC 9293 §3.7.4: a small segment that was acknowledged long ago delays no other one.
#[test]
fn nagle_ignores_old_small_segments() {
    let mut sender = Sender::new("reno / full / iw=10");
    sender.connection.write(100).unwrap();
    assert_eq!(sender.drain(), 1);
    sender.acknowledge(sender.connection.send_state().max);
    sender.send_full_sized(MANY);
    sender.connection.write(100).unwrap();
    assert_eq!(sender.drain(), 1);
}

/// RFC 6582 §3.2: `recover` excludes duplicates of an earlier loss, but not a loss two gigabytes
/// later.
#[test]
fn recover_does_not_exclude_later_losses() {
    for name in ["tahoe / full / iw=10", "reno / full / iw=10", "reno+newreno / full / iw=10"] {
        let mut sender = Sender::new(name);
        for loss in 1..=2 {
            sender.connection.write(300_000).unwrap();
            sender.drain();
            let una = sender.connection.send_state().una;
            for _ in 0..3 {
                sender.acknowledge(una);
            }
            assert_eq!(sender.connection.statistics().fast_retransmits, loss, "{name}");
            sender.drain();
            sender.acknowledge(sender.connection.send_state().max);
            sender.send_full_sized(MANY);
        }
        assert_eq!(sender.connection.statistics().timeouts, 0);
    }
}

/// The queue is measured from the first unacknowledged byte, at any distance from the initial
/// sequence number.
#[test]
fn send_buffer_is_relative_to_snd_una() {
    let mut sender = Sender::new("reno / full / iw=10");
    // Past 2³¹ bytes, and past the initial sequence number again.
    for _ in 0..3 {
        sender.send_full_sized(MANY);
        sender.connection.write(60_000).unwrap();
        let (queued, free) = (sender.connection.unacknowledged(), sender.connection.writable());
        assert_eq!((queued, free), (60_000, (1 << 20) - 60_000));
        sender.drain();
        sender.acknowledge(sender.connection.send_state().max);
    }
}
