use policy::segment::{Cut as Policy, Tail, TailView};
use proptest::prelude::*;
use wire::SeqNum;

use super::*;

/// Segments of a write by the sender with the same name, which counts packets.
fn expected(cut: Policy, length: u32, mss: u32, room: u32) -> Vec<usize> {
    let mut framing = Tail::new(cut);
    let (mut nxt, mut left, mut room) = (SeqNum::new(7), length, room);
    let mut segments = Vec::new();
    while left > 0 && room > 0 {
        let segment = framing.next(&TailView { nxt, left, smss: mss, room });
        segments.push(segment.payload as usize);
        nxt += segment.payload;
        left -= segment.payload;
        room -= 1;
    }
    segments
}

/// Segments of the pieces: each is divided into full-sized ones.
fn segments(pieces: Option<Pieces>, length: usize, mss: usize) -> Vec<usize> {
    let ends: Vec<usize> = match pieces {
        Some(pieces) => (0..pieces.count()).map(|index| pieces.end(index)).collect(),
        None => vec![length],
    };
    let mut begin = 0;
    let mut found = Vec::new();
    for end in ends {
        assert!(begin < end, "a piece is empty");
        while begin < end {
            let payload = mss.min(end - begin);
            found.push(payload);
            begin += payload;
        }
    }
    assert_eq!(begin, length);
    found
}

proptest! {
    #[test]
    fn segments_are_those_of_the_policy(
        any_length in 0_u32..40_000,
        mss in 1_u32..3000,
        room in 1_u32..80,
        in_flight in 0_u32..20,
        pieces in 2_u8..64,
    ) {
        let facts = WindowFacts { mss, window: room + in_flight, in_flight };
        let length = any_length % (room * mss) + 1; // longer writes are not cut
        for (cut, policy) in
            [(Cut::Tail(pieces), Policy::Pieces(pieces)), (Cut::LastByte, Policy::LastByte)]
        {
            let pieces = cut.pieces(length as usize, &facts);
            let found = segments(pieces, length as usize, mss as usize);
            let expected = expected(policy, length, mss, room);
            if pieces.is_some() {
                prop_assert_eq!(found, expected);
            } else {
                // The policy still has a boundary before the tail.
                prop_assert_eq!(found.len(), expected.len());
            }
        }
    }

    #[test]
    fn pieces_are_a_partition(
        length in any::<usize>().prop_map(|length| length % (1 << 20)),
        mss in any::<u32>(),
        window in any::<u32>(),
        in_flight in any::<u32>(),
        numbers in any::<[u8; 3]>(),
    ) {
        let facts = WindowFacts { mss, window, in_flight };
        let [segments, initial, below] = numbers;
        let fixed = Cut::FixedSize { segments, window: initial, below };
        for cut in [Cut::Tail(segments), Cut::LastByte, fixed] {
            let Some(pieces) = cut.pieces(length, &facts) else { continue };
            prop_assert!((2..=MOST_PIECES).contains(&pieces.count()));
            prop_assert!(pieces.count() <= (window - in_flight) as usize);
            let mut begin = 0;
            for index in 0..pieces.count() {
                prop_assert!(begin < pieces.end(index));
                begin = pieces.end(index);
            }
            prop_assert_eq!(begin, length);
        }
    }
}

#[test]
fn fixed_size_segments_below_a_window() {
    let cut = Cut::FixedSize { segments: 40, window: 10, below: 11 };
    let facts = WindowFacts { mss: 1448, window: 10, in_flight: 0 };
    assert_eq!(segments(cut.pieces(1100, &facts), 1100, 1448), [362, 362, 362, 14]);
    assert_eq!(cut.pieces(362, &facts), None);
    assert_eq!(cut.pieces(1100, &WindowFacts { window: 11, ..facts }), None);
}
