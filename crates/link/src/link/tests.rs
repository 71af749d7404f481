use units::Rate;

use super::*;
use crate::{Buffer, Discipline, LossModel, Measure, Probability, Red};

mod properties;
mod random;
mod reconfigure;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn megabit(rate: u64) -> Option<Rate> {
    Rate::from_bits_per_sec(rate * 1_000_000)
}

fn data(bytes: u32) -> Offered {
    Offered { bytes, data: true, ..Offered::default() }
}

fn no_chance(_: Chance) -> u64 {
    panic!("no random decision is expected")
}

#[test]
fn the_buffer_of_the_paper_holds_a_hundred_full_packets() {
    let fill = |buffer, counts_in_service, bytes| {
        let rate = megabit(10);
        let mut link =
            Link::new(LinkConfig { rate, buffer, counts_in_service, ..LinkConfig::default() });
        let accepts = |link: &mut Link<()>| {
            link.offer(Instant::ZERO, data(bytes), (), no_chance) == Outcome::Accepted
        };
        (0..1000).take_while(|_| accepts(&mut link)).count()
    };
    let bytes = Buffer::bytes(150_000).unwrap();
    assert_eq!((fill(bytes, true, 1500), fill(bytes, true, 375)), (100, 400));
    let packets = Buffer::packets(100).unwrap();
    assert_eq!((fill(packets, true, 1500), fill(packets, true, 375)), (100, 100));
    let chunks = Buffer::chunks(150_000, 256).unwrap();
    assert_eq!((fill(chunks, true, 1500), fill(chunks, true, 375)), (97, 292));
    assert_eq!(fill(bytes, false, 1500), 101);
    assert_eq!(fill(Buffer::Unlimited, true, 1500), 1000);
}

#[test]
fn a_packet_that_leaves_makes_room_for_one_at_the_same_instant() {
    let buffer = Buffer::packets(1).unwrap();
    let mut link = Link::new(LinkConfig { rate: megabit(10), buffer, ..LinkConfig::default() });
    let leaves = at(1_200_000);
    assert_eq!(link.offer(Instant::ZERO, data(1500), 1, no_chance), Outcome::Accepted);
    let early = at(leaves.as_nanos() - 1);
    assert_eq!(link.offer(early, data(1500), 2, no_chance), Outcome::Dropped(DropReason::Buffer));
    assert_eq!(link.offer(leaves, data(1500), 3, no_chance), Outcome::Accepted);
    assert_eq!(link.deliver(leaves), Some(1));
    assert_eq!(link.next_delivery(), Some(at(2_400_000)));
}

#[test]
fn only_losses_on_the_line_occupy_it() {
    for (loss_point, arrives, held) in
        [(LossPoint::Line, 2_400_000, 2), (LossPoint::Entry, 1_200_000, 1)]
    {
        let loss = LossModel::Mask(vec![true]);
        let mut link =
            Link::new(LinkConfig { rate: megabit(10), loss, loss_point, ..LinkConfig::default() });
        assert_eq!(
            link.offer(Instant::ZERO, data(1500), 1, no_chance),
            Outcome::Dropped(DropReason::Loss)
        );
        assert_eq!(link.offer(Instant::ZERO, data(1500), 2, no_chance), Outcome::Accepted);
        assert_eq!(link.queue(Instant::ZERO).packets, held);
        assert_eq!(link.books().held.packets, held);
        assert_eq!(link.next_delivery(), Some(at(arrives)));
        assert_eq!(link.deliver(at(arrives)), Some(2));
        link.queue(at(arrives));
        assert_eq!(link.books().dropped_loss, Tally { packets: 1, bytes: 1500 });
    }
}

#[test]
fn a_reset_keeps_the_held_packets() {
    let mut link = Link::new(LinkConfig {
        rate: megabit(10),
        delay: Duration::from_millis(50),
        loss: LossModel::Mask(vec![false, true]),
        ..LinkConfig::default()
    });
    for serial in 0..3 {
        link.offer(Instant::ZERO, data(1500), serial, no_chance);
    }
    let reset = at(600_000);
    link.reset_statistics(reset);
    let held = Tally { packets: 3, bytes: 4500 };
    assert_eq!(link.books(), Books { offered: held, held, ..Books::default() });
    let read = link.queue_statistics(at(10_600_000));
    assert_eq!(read.elapsed, Duration::from_millis(10));
    assert_eq!(read.busy, Duration::from_micros(3000));
    assert_eq!(read.packet_nanos, 600_000 + 1_800_000 + 3_000_000);
    assert_eq!(read.max, held);
    assert_eq!(link.books().dropped_loss.packets, 1);
    assert!(link.books().balance());
}

#[test]
fn an_empty_packet_does_not_overtake_a_bit_still_on_the_line() {
    // A byte takes a third of a nanosecond: the second arrives when the first has left.
    let mut link = Link::new(LinkConfig { rate: megabit(24_000), ..LinkConfig::default() });
    for (serial, bytes) in [1, 0, 1].into_iter().enumerate() {
        link.offer(Instant::ZERO, data(bytes), serial, no_chance);
    }
    for serial in 0..3 {
        assert_eq!(link.next_delivery(), Some(at(1)));
        assert_eq!(link.deliver(at(1)), Some(serial));
    }
}

#[test]
fn time_does_not_run_backwards() {
    let mut link = Link::new(LinkConfig { rate: megabit(10), ..LinkConfig::default() });
    link.reset_statistics(at(1_000_000));
    link.offer(Instant::ZERO, data(1500), (), no_chance);
    assert_eq!(link.next_delivery(), Some(at(2_200_000)));
    assert_eq!(link.queue_statistics(at(5)).elapsed, Duration::ZERO);
}

#[test]
fn times_saturate_at_the_end() {
    let rate = Rate::from_bits_per_sec(1);
    let delay = Duration::from_nanos(u64::MAX);
    let mut link = Link::new(LinkConfig { rate, delay, ..LinkConfig::default() });
    for serial in 0..10 {
        link.offer(at(serial), data(u32::MAX), serial, no_chance);
    }
    assert_eq!(link.next_delivery(), Some(Instant::NEVER));
    assert_eq!(link.deliver(Instant::NEVER), Some(0));
    assert!(link.books().balance());
    link.queue_statistics(Instant::NEVER);
}

/// RFC 3168 §7: chosen packets are marked if they are ECN-capable, else dropped. With an average
/// above the upper threshold every packet is dropped.
#[test]
fn early_detection_marks_what_is_ecn_capable_and_drops_the_rest() {
    let red = |min, max| {
        let red = Red::new(Measure::Packets, min, max, Probability::ONE, Probability::ONE).unwrap();
        LinkConfig { rate: megabit(10), discipline: Discipline::Red(red), ..LinkConfig::default() }
    };
    let fill = |config: LinkConfig, ecn_capable| {
        let mut link = Link::new(config);
        let packet = Offered { ecn_capable, ..data(1500) };
        let outcomes: Vec<Outcome> = (0..6)
            .map(|serial| link.offer(Instant::ZERO, packet, serial, |_| u64::MAX / 2))
            .collect();
        (outcomes, link.books())
    };
    let (chosen, refused) =
        (Outcome::Dropped(DropReason::Early), Outcome::Dropped(DropReason::Buffer));
    // The average is the queue that the packet finds. From 1 on a packet may be chosen, from 3 on
    // it always is. The first has probability 1 in 2, which is above the draw; the next has 1 in 1.
    let (outcomes, books) = fill(red(0, 2), true);
    assert_eq!(outcomes[..4], [Outcome::Accepted, Outcome::Marked, chosen, chosen]);
    assert_eq!((books.marked.packets, books.dropped_early.packets, books.held.packets), (1, 4, 2));
    let (outcomes, books) = fill(red(0, 2), false);
    assert_eq!(outcomes[..4], [Outcome::Accepted, chosen, chosen, chosen]);
    assert_eq!((books.marked.packets, books.dropped_early.packets, books.held.packets), (0, 5, 1));
    // A full buffer takes precedence.
    let buffer = Buffer::packets(1).unwrap();
    let (outcomes, books) = fill(LinkConfig { buffer, ..red(0, 2) }, true);
    assert_eq!(outcomes[..3], [Outcome::Accepted, refused, refused]);
    assert_eq!(books.dropped_buffer.packets, 5);
    assert!(books.balance());
}

#[test]
fn newest_mut_returns_the_chosen_packet() {
    let red = Red::new(Measure::Packets, 0, 9, Probability::ONE, Probability::ONE).unwrap();
    let discipline = Discipline::Red(red);
    let mut link = Link::new(LinkConfig { rate: megabit(10), discipline, ..LinkConfig::default() });
    let packet = Offered { ecn_capable: true, ..data(1500) };
    assert_eq!(link.offer(Instant::ZERO, packet, "first", |_| 0), Outcome::Accepted);
    assert_eq!(link.offer(Instant::ZERO, packet, "second", |_| 0), Outcome::Marked);
    *link.newest_mut().unwrap() = "second, marked";
    assert_eq!(link.deliver(at(1_200_000)), Some("first"));
    assert_eq!(link.deliver(at(2_400_000)), Some("second, marked"));
    assert_eq!(link.newest_mut(), None);
}
