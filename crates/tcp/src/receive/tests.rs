use proptest::prelude::*;

use super::*;

fn receiver() -> Receiver {
    let mut receiver = Receiver::new(&Config::default());
    receiver.synchronize(SeqNum::new(0));
    receiver
}

fn blocks(receiver: &mut Receiver) -> Vec<(u32, u32)> {
    receiver.sack_blocks(4).iter().map(|b| (b.start().value(), b.end().value())).collect()
}

/// RFC 2018 §4, with the segments of its §7 example 3.
#[test]
fn most_recent_block_is_reported_first() {
    let mut rcv = receiver();
    let delays = DelayedAck::OFF;
    let mut timer = Instant::NEVER;
    let mut arrive = |rcv: &mut Receiver, seq: u32| {
        rcv.text(SeqNum::new(seq), 500, 1, Instant::ZERO, &delays, &mut timer);
    };
    arrive(&mut rcv, 501);
    arrive(&mut rcv, 1501);
    arrive(&mut rcv, 2501);
    assert_eq!(blocks(&mut rcv), [(2501, 3001), (1501, 2001), (501, 1001)]);
    arrive(&mut rcv, 1001);
    assert_eq!(blocks(&mut rcv), [(501, 2001), (2501, 3001)]);
    arrive(&mut rcv, 1);
    assert_eq!((rcv.nxt.value(), blocks(&mut rcv)), (2001, vec![(2501, 3001)]));
}

/// RFC 2883 §4.1.1: a duplicate is reported in one acknowledgment.
#[test]
fn duplicate_segment_is_reported_once() {
    let mut rcv = receiver();
    let delays = DelayedAck::RFC;
    let mut timer = Instant::NEVER;
    rcv.text(SeqNum::new(1), 500, 1, Instant::ZERO, &delays, &mut timer);
    assert!(!rcv.ack_is_due());
    rcv.text(SeqNum::new(1), 500, 1, Instant::ZERO, &delays, &mut timer);
    assert!(rcv.ack_is_due());
    assert_eq!(blocks(&mut rcv), [(1, 501)]);
    assert_eq!(blocks(&mut rcv), []);
}

/// RFC 2883 §4: an empty segment is not a duplicate and replaces none.
#[test]
fn empty_segment_keeps_a_pending_dsack() {
    let mut rcv = receiver();
    let delays = DelayedAck::RFC;
    let mut timer = Instant::NEVER;
    rcv.text(SeqNum::new(1), 500, 1, Instant::ZERO, &delays, &mut timer);
    rcv.note_duplicate(SeqNum::new(1), 500);
    rcv.note_duplicate(SeqNum::new(500), 0);
    assert_eq!(blocks(&mut rcv), [(1, 501)]);
}

/// RFC 5681 §4.2: the second segment is acknowledged at once, the first after the delay.
#[test]
fn every_second_segment_is_acknowledged_at_once() {
    let mut rcv = receiver();
    let delays = DelayedAck::RFC;
    let mut timer = Instant::NEVER;
    rcv.text(SeqNum::new(1), 100, 1, Instant::ZERO, &delays, &mut timer);
    assert_eq!((rcv.ack_is_due(), timer), (false, Instant::ZERO + DelayedAck::RFC.timeout));
    rcv.text(SeqNum::new(101), 100, 1, Instant::ZERO, &delays, &mut timer);
    assert!(rcv.ack_is_due());
}

#[test]
fn number_of_out_of_order_ranges_is_limited() {
    let mut rcv = receiver();
    let delays = DelayedAck::RFC;
    let mut timer = Instant::NEVER;
    let mut taken = 0;
    for hole in 1..=1000 {
        let accepted =
            rcv.text(SeqNum::new(1 + 2 * hole), 1, 1, Instant::ZERO, &delays, &mut timer);
        taken += usize::from(accepted.is_some());
    }
    assert_eq!(
        (taken, rcv.out_of_order.len()),
        (Receiver::MAX_OUT_OF_ORDER_RANGES, Receiver::MAX_OUT_OF_ORDER_RANGES)
    );
}

proptest! {
    #[test]
    fn each_byte_is_accepted_once_in_any_order(
        start in prop_oneof![Just(0u32), Just(u32::MAX - 700)],
        order in prop::collection::vec((0..20u32, 1..5u32), 1..200),
    ) {
        let mut rcv = receiver();
    let delays = DelayedAck::RFC;
        rcv.synchronize(SeqNum::new(start));
        let base = rcv.nxt;
        let mut timer = Instant::NEVER;
        let mut have = [false; 100];
        for (block, count) in order.into_iter().chain((0..20).map(|block| (block, 5))) {
            let (first, len) = (block * 5, count);
            let offset_before = rcv.nxt.distance_from(base);
            if let Some(taken) = rcv.text(base + first, len, 1, Instant::ZERO, &delays, &mut timer) {
                // The offset counts from the first unread byte. Nothing is read here, so that
                // is the base.
                prop_assert_eq!(taken.offset, (first + taken.skip).max(offset_before));
            }
            for byte in first..first + len {
                have[byte as usize] = true;
            }
            let in_order = have.iter().position(|&h| !h).unwrap_or(have.len());
            prop_assert_eq!(rcv.nxt.distance_from(base) as usize, in_order);
            prop_assert_eq!(rcv.unread() as usize, in_order);
            let above: u32 = rcv.out_of_order.iter().map(|held| held.len()).sum();
            prop_assert_eq!(above as usize, have.iter().filter(|&&h| h).count() - in_order);
        }
        prop_assert!(rcv.out_of_order.is_empty());
    }
}
