use super::*;

/// Payloads of a write of `bytes` that begins at sequence number 1, with `room` segments in the
/// congestion window at the beginning.
fn segments(cut: Cut, bytes: u32, smss: u32, room: u32) -> Vec<u32> {
    let mut tail = Tail::new(cut);
    let (mut payloads, mut left) = (Vec::new(), bytes);
    while left > 0 {
        let sent = u32::try_from(payloads.len()).unwrap();
        let view = TailView {
            nxt: SeqNum::new(1 + bytes - left),
            left,
            smss,
            room: room.saturating_sub(sent),
        };
        let next = tail.next(&view);
        assert_eq!(tail.next(&view), next, "a second question has the same answer");
        payloads.push(next.payload);
        left -= next.payload;
    }
    payloads
}

/// The last SMSS bytes, or all of a shorter write, in `n` pieces.
#[test]
fn pieces_of_a_tail() {
    let table: [(u8, u32, &[u32]); 9] = [
        (4, 1200, &[300, 300, 300, 300]),
        (4, 1448, &[362, 362, 362, 362]),
        (4, 2896, &[1448, 362, 362, 362, 362]),
        (4, 4200, &[1448, 1304, 362, 362, 362, 362]),
        (2, 1200, &[600, 600]),
        (2, 1449, &[1, 724, 724]),
        (3, 1000, &[334, 334, 332]),
        // No piece is empty.
        (4, 3, &[1, 1, 1]),
        (4, 1, &[1]),
    ];
    for (n, bytes, expected) in table {
        assert_eq!(segments(Cut::Pieces(n), bytes, 1448, 100), expected, "n={n}, {bytes}");
    }
}

/// A tail, wherever it begins, needs `⌈L / SMSS⌉ - 1 + n` segments.
#[test]
fn number_of_segments() {
    for bytes in 64..6000u32 {
        let expected = bytes.div_ceil(1448) - 1 + 4;
        let sent = segments(Cut::Pieces(4), bytes, 1448, 100);
        assert_eq!(u32::try_from(sent.len()), Ok(expected), "{bytes}: {sent:?}");
        assert_eq!(sent.iter().sum::<u32>(), bytes);
    }
}

/// The measurement that `tiny-tail` comes from sent 4200 bytes as 1448, 1448, 1303 and 1.
#[test]
fn last_byte_alone() {
    let table: [(u32, &[u32]); 6] = [
        (1200, &[1199, 1]),
        (4200, &[1448, 1448, 1303, 1]),
        (2896, &[1448, 1447, 1]),
        (2897, &[1448, 1448, 1]),
        (2, &[1, 1]),
        (1, &[1]),
    ];
    for (bytes, expected) in table {
        assert_eq!(segments(Cut::LastByte, bytes, 1448, 100), expected, "{bytes}");
    }
}

/// The window admits fewer segments than the cut makes: there are fewer pieces, and none waits.
#[test]
fn a_small_window_makes_fewer_pieces() {
    let table: [(Cut, u32, u32, &[u32]); 6] = [
        (Cut::Pieces(4), 1200, 2, &[600, 600]),
        (Cut::Pieces(4), 1200, 1, &[1200]),
        (Cut::Pieces(4), 14_480, 10, &[1448; 10]),
        (Cut::Pieces(4), 13_032, 10, &[1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448, 724, 724]),
        (Cut::LastByte, 1200, 1, &[1200]),
        (Cut::LastByte, 1200, 2, &[1199, 1]),
    ];
    for (cut, bytes, room, expected) in table {
        assert_eq!(segments(cut, bytes, 1448, room), expected, "{cut:?}, {bytes}, {room}");
    }
}

/// A closed window decides nothing: only a probe is sent, and the tail is cut when there is room.
#[test]
fn a_closed_window_decides_nothing() {
    let mut tail = Tail::new(Cut::Pieces(4));
    let view = TailView { nxt: SeqNum::new(1), left: 1200, smss: 1448, room: 0 };
    assert_eq!(tail.next(&view).payload, 1200);
    assert_eq!(tail.next(&TailView { room: 4, ..view }).payload, 300);
}

/// Nagle's rule treats a tail as one segment: it may hold the first piece of a short one.
#[test]
fn nagles_rule_sees_one_segment() {
    let mut tail = Tail::new(Cut::Pieces(2));
    let view = TailView { nxt: SeqNum::new(1), left: 1000, smss: 1448, room: 10 };
    let first = TailSegment { payload: 500, small: true, continues: false };
    assert_eq!(tail.next(&view), first);
    let second = TailView { nxt: SeqNum::new(501), left: 500, ..view };
    assert_eq!(tail.next(&second), TailSegment { continues: true, ..first });
    // A full-sized tail is never held, nor is a segment that SMSS bytes follow.
    let whole = TailView { nxt: SeqNum::new(1001), left: 1448, ..view };
    assert_eq!(tail.next(&whole), TailSegment { payload: 724, small: false, continues: false });
    let before = TailView { nxt: SeqNum::new(3001), left: 1500, ..view };
    assert_eq!(tail.next(&before), TailSegment { payload: 52, small: false, continues: true });
}

/// A write that another one follows before its end is sent has no tail of its own.
#[test]
fn data_that_follows_moves_the_tail() {
    let mut tail = Tail::new(Cut::Pieces(4));
    let view = TailView { nxt: SeqNum::new(1), left: 1200, smss: 1448, room: 10 };
    assert_eq!(tail.next(&view).payload, 300);
    // Another 800 bytes are queued after the first piece.
    let longer = TailView { nxt: SeqNum::new(301), left: 1700, ..view };
    assert_eq!(tail.next(&longer).payload, 252);
    let rest = TailView { nxt: SeqNum::new(553), left: 1448, ..view };
    assert_eq!(tail.next(&rest).payload, 362);
    // After a timeout everything is segmented again: the tail begins where it began before.
    let again = TailView { nxt: SeqNum::new(1), left: 2000, ..view };
    assert_eq!(tail.next(&again).payload, 552);
    assert_eq!(tail.next(&rest).payload, 362);
}
