use std::sync::Arc;

use proptest::prelude::*;
use wire::{Control, Flags, Options, SeqNum, UnscaledWindow};

use super::*;
use crate::config::{Config, Negotiated};

const ISS: SeqNum = SeqNum::new(u32::MAX - 100);
const WINDOW: u32 = 500;
/// Maximum index of the beginning of a piece, and maximum length of a piece.
const MAX_INDEX: u32 = 1500;
const LONGEST: u32 = 150;

fn stream(irs: SeqNum) -> ByteStream {
    let config = Config {
        receive_buffer: WINDOW,
        timestamps: false,
        window_scaling: false,
        ..Config::default()
    };
    let config = Arc::new(config);
    let negotiated = Negotiated::between_equals(&config);
    ByteStream::new(Connection::established(config, ISS, irs, negotiated, 30_000))
}

fn segment(seq: SeqNum, ack: SeqNum, payload_len: u32) -> Segment {
    Segment {
        seq,
        ack: Some(ack),
        control: Control::None,
        flags: Flags::NONE,
        window: UnscaledWindow::new(30_000),
        payload_len,
        options: Options::default(),
    }
}

fn drain(stream: &mut ByteStream) -> Vec<u8> {
    let mut sent = Vec::new();
    while let Some((segment, [first, second])) = stream.poll_transmit_slices(Instant::ZERO) {
        assert_eq!(first.len() + second.len(), segment.payload_len as usize);
        sent.extend_from_slice(first);
        sent.extend_from_slice(second);
    }
    sent
}

#[test]
fn release_frees_all_memory_of_an_idle_stream() {
    let irs = SeqNum::new(7);
    let mut stream = stream(irs);
    for _ in 0..3 {
        stream.write(&[5; 1000]).unwrap();
        let sent = drain(&mut stream);
        stream.on_segment(
            &segment(stream.rcv.nxt, stream.send_state().max, 300),
            &[9; 300],
            Instant::ZERO,
        );
        assert_eq!((sent.len(), stream.consume(300)), (1000, 300));
        assert!(drain(&mut stream).is_empty());
        assert_eq!(stream.spare() > 0, stream.memory() > 0);
        stream.release();
        assert_eq!(stream.memory(), 0);
    }
    let size = size_of::<ByteStream>();
    println!("an idle stream takes {size} bytes");
    assert!(size <= 1500, "{size} bytes");
}

/// Memory is proportional to the bytes that arrived, even at the end of the window.
#[test]
fn byte_at_window_edge_needs_little_memory() {
    let irs = SeqNum::new(7);
    let mut stream = stream(irs);
    stream.on_segment(&segment(irs + WINDOW, ISS + 1, 1), b"x", Instant::ZERO);
    assert_eq!(stream.rcv.has_out_of_order(), stream.out_of_order() > 0);
    assert!((1..300).contains(&stream.out_of_order()), "{} bytes", stream.out_of_order());
}

/// RFC 2018 §8: discarded data is no longer reported, and is accepted when it is sent again.
#[test]
fn discarded_data_is_accepted_again() {
    let irs = SeqNum::new(7);
    let mut stream = stream(irs);
    let arrives = |stream: &mut ByteStream, at: u32, bytes: &[u8]| {
        stream.on_segment(&segment(irs + 1 + at, ISS + 1, 3), bytes, Instant::ZERO);
    };
    arrives(&mut stream, 3, b"def");
    assert!(stream.rcv.has_out_of_order());
    stream.renege();
    assert_eq!((stream.out_of_order(), stream.rcv.has_out_of_order()), (0, false));
    arrives(&mut stream, 0, b"abc");
    assert_eq!(stream.readable(), 3);
    arrives(&mut stream, 3, b"DEF");
    assert_eq!(stream.peek_whole(), b"abcDEF");
}

proptest! {
    /// The bytes read are those that arrived first, for any order, for conflicting data, and across
    /// the wrap of sequence numbers.
    #[test]
    fn first_of_overlapping_bytes_wins(
        irs in prop_oneof![Just(7u32), Just(u32::MAX - 250)],
        pieces in prop::collection::vec((0..600u32, 1..=LONGEST, any::<u8>(), 0..100u32), 1..60),
    ) {
        let irs = SeqNum::new(irs);
        let mut stream = stream(irs);
        let mut expected: Vec<Option<u8>> = vec![None; (MAX_INDEX + LONGEST + WINDOW) as usize];
        let mut next = 0;
        let mut read: Vec<u8> = Vec::new();
        for (index, len, fill, taken) in pieces {
            // A range near the next expected byte, sometimes before it.
            let first = (next + index).saturating_sub(50).min(MAX_INDEX);
            let bytes: Vec<u8> = (0..len).map(|at| fill.wrapping_add(u8::try_from(at % 7).unwrap())).collect();
            // RFC 9293 §3.10.7.4, first step: the first or the last byte of a segment lies in the
            // window.
            let edge = next + stream.rcv.window();
            let takes = |index: u32| (next..edge).contains(&index);
            stream.on_segment(&segment(irs + 1 + first, ISS + 1, len), &bytes, Instant::ZERO);
            if takes(first) || takes(first + len - 1) {
                for (slot, byte) in expected[first as usize..edge as usize].iter_mut().zip(bytes) {
                    slot.get_or_insert(byte);
                }
            }
            drain(&mut stream);
            next = stream.rcv.nxt.distance_from(irs + 1);
            let [head, tail] = stream.peek();
            let seen = [head, tail].concat();
            let mut into = vec![0; taken as usize];
            let got = stream.read(&mut into);
            prop_assert_eq!(&into[..got], &seen[..got]);
            read.extend_from_slice(&into[..got]);
            drain(&mut stream);
        }
        let [head, tail] = stream.peek();
        read.extend_from_slice(head);
        read.extend_from_slice(tail);
        let first: Vec<u8> = expected.into_iter().map_while(|byte| byte).collect();
        prop_assert_eq!(read, first);
    }

    /// Reads and writes through a ring buffer that wraps, in parts of any size.
    #[test]
    fn bytes_are_transferred_unchanged(steps in prop::collection::vec((1..400usize, 1..400u32), 1..50)) {
        let irs = SeqNum::new(7);
        let mut stream = stream(irs);
        let (mut written, mut sent) = (Vec::new(), Vec::new());
        for (count, acknowledged) in steps {
            let bytes: Vec<u8> = (0..count).map(|at| u8::try_from((written.len() + at) % 251).unwrap()).collect();
            let taken = stream.write(&bytes).unwrap();
            written.extend_from_slice(&bytes[..taken]);
            sent.extend(drain(&mut stream));
            let snd = stream.send_state();
            let ack = (snd.una + acknowledged).earliest(snd.max);
            stream.on_segment(&segment(irs + 1, ack, 0), &[], Instant::ZERO);
            sent.extend(drain(&mut stream));
        }
        prop_assert!(sent.len() <= written.len());
        prop_assert_eq!(&sent[..], &written[..sent.len()]);
        prop_assert!(!sent.is_empty());
    }
}
