//! The sender of Linux, which counts packets: what it transmits for acknowledgments on a real wire.

use std::sync::Arc;

use tcp::{Config, Connection, Negotiated, Profile};
use units::{Duration, Instant};
use wire::{
    Control, Flags, Options, Segment, SeqNum, SeqRange, Timestamps, UnscaledWindow, WindowScale,
};

const ISS: SeqNum = SeqNum::new(0);
const IRS: SeqNum = SeqNum::new(1000);
const SMSS: u32 = 1448;

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(1_000_000 + millis)
}

/// Sequence number after `count` segments.
fn after(count: u32) -> SeqNum {
    ISS + 1 + count * SMSS
}

fn answer(ack: SeqNum, reports: &[(u32, u32)], ecr: u32) -> Segment {
    let range = |&(from, to): &(u32, u32)| SeqRange::new(after(from), after(to));
    Segment {
        seq: IRS + 1,
        ack: Some(ack),
        control: Control::None,
        flags: Flags::NONE,
        window: UnscaledWindow::from_bytes(64_000, WindowScale::NONE),
        payload_len: 0,
        options: Options {
            timestamps: Some(Timestamps { val: 7, ecr }),
            reports: reports.iter().filter_map(range).collect(),
            ..Options::default()
        },
    }
}

/// A connection that has written `segments` full-sized segments.
fn writing(segments: u32, offset: u32) -> Connection {
    let config = Arc::new(Config { timestamps: true, ..Profile::Linux618.config() });
    let negotiated =
        Negotiated { send_scale: WindowScale::NONE, ..Negotiated::between_equals(&config) };
    let mut connection = Connection::established(config, ISS, IRS, negotiated, 64_000);
    connection.offset_timestamps(offset, at(0));
    assert_eq!(connection.write(segments * SMSS), Ok(segments * SMSS));
    connection
}

/// Sends seven segments, of which the second to the fourth are lost. Returns the time, the sequence
/// number and the timestamp of each segment, relative to the offset.
fn transcript(offset: u32) -> Vec<(u64, u32, u32)> {
    let mut connection = writing(7, offset);
    let mut sent = Vec::new();
    let mut drain = |connection: &mut Connection, millis: u64| {
        while let Some(segment) = connection.poll_transmit(at(millis)) {
            let val = segment.options.timestamps.map_or(0, |stamp| stamp.val);
            sent.push((millis, segment.seq.value(), val.wrapping_sub(offset)));
        }
    };
    drain(&mut connection, 0);
    let first = 1_000_001_u32.wrapping_add(offset);
    connection.on_segment(&answer(after(1), &[], first), at(100));
    for reports in [[(4, 5)], [(4, 6)], [(4, 7)]] {
        connection.on_segment(&answer(after(1), &reports, first), at(100));
        drain(&mut connection, 100);
    }
    let second = 1_000_101_u32.wrapping_add(offset);
    connection.on_segment(&answer(after(2), &[(4, 7)], second), at(200));
    drain(&mut connection, 200);
    sent
}

/// RFC 3522 compares the echo with the timestamp of the retransmission.
#[test]
fn an_offset_does_not_make_retransmissions_spurious() {
    let plain = transcript(0);
    assert!(plain.iter().filter(|&&(millis, ..)| millis == 200).count() >= 2, "{plain:?}");
    for offset in [1, 1 << 30, 1 << 31, u32::MAX - 500] {
        assert_eq!(transcript(offset), plain, "{offset}");
    }
}

/// RFC 8985 §6.2, step 4: an acknowledgment that reports two segments for the first time has the
/// newer one in its first block (RFC 2018 §4). That is no reordering, so the third report starts
/// the recovery at once.
#[test]
fn the_order_of_blocks_is_no_reordering() {
    let mut connection = writing(6, 0);
    while connection.poll_transmit(at(0)).is_some() {}
    connection.on_segment(&answer(after(1), &[], 1_000_001), at(100));
    for reports in [[(4, 5), (2, 3)], [(4, 6), (2, 3)]] {
        connection.on_segment(&answer(after(1), &reports, 1_000_001), at(100));
    }
    let again = connection.poll_transmit(at(100)).map(|segment| segment.seq);
    assert_eq!(again, Some(after(1)));
}
