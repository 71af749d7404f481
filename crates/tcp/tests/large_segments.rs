//! The largest segments that a peer may request.

use std::sync::Arc;

use tcp::{Config, Connection, Negotiated};
use units::Instant;
use wire::{Control, Mss, Segment, SeqNum};

/// A FIN after the longest payload adds a sequence number. The retransmission queue holds both as
/// one segment.
#[test]
fn longest_segment_with_fin_can_be_retransmitted() {
    let longest = u32::from(u16::MAX) - 1;
    let config = Arc::new(Config {
        sender: "reno / full / iw=10".parse().unwrap(),
        mss: Mss::new(u16::MAX).unwrap(),
        timestamps: false,
        send_buffer: 4 * longest,
        receive_buffer: 4 * longest,
        ..Config::default()
    });
    let negotiated = Negotiated::between_equals(&config);
    let iss = SeqNum::new(5);
    let mut sender = Connection::established(config, iss, SeqNum::new(0), negotiated, 4 * longest);
    assert_eq!(sender.smss(), longest);
    assert_eq!(sender.write(2 * longest), Ok(2 * longest));
    sender.close().unwrap();
    let drain = |sender: &mut Connection, now: Instant| -> Vec<Segment> {
        std::iter::from_fn(|| sender.poll_transmit(now)).collect()
    };
    let first = drain(&mut sender, Instant::ZERO);
    let lengths: Vec<u32> = first.iter().map(|segment| segment.payload_len).collect();
    assert_eq!(lengths, [longest, longest]);
    assert_eq!(first.last().map(|segment| segment.control), Some(Control::Fin));
    assert_eq!((sender.flight(), sender.send_state().segments), (2 * longest + 1, 2));
    let now = sender.next_timeout();
    sender.on_timeout(now);
    assert_eq!(drain(&mut sender, now)[0].payload_len, longest);
}
