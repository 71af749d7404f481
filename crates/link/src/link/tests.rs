use proptest::prelude::*;
use units::Rate;

use super::*;
use crate::atm::Framing;
use crate::{
    Balanced, Buffer, Burst, Discipline, Linear, LossModel, Measure, Probability, QueueStatistics,
    Red,
};

/// The history of the n-th packet offered.
#[derive(Debug, Clone, Copy)]
struct Seen {
    arrival: u64,
    bytes: u32,
    outcome: Outcome,
    /// Computed with exact rational arithmetic; `None` for a packet that never reached the line.
    departure: Option<u64>,
    delivered: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
struct Step {
    gap: u64,
    bytes: u32,
    data: bool,
    ecn_capable: bool,
    draw: u64,
    /// A delivery due at the time of the offer precedes it.
    deliver_first: bool,
}

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

/// A line in units of 1/rate nanoseconds, in which every transmission time is a whole number.
struct ExactLine {
    rate: Option<u128>,
    free: u128,
}

impl ExactLine {
    fn new(config: &LinkConfig) -> Self {
        Self { rate: config.rate.map(|rate| u128::from(rate.bits_per_sec())), free: 0 }
    }

    fn send(&mut self, now: u64, bytes: u32) -> u64 {
        let Some(rate) = self.rate else { return now };
        self.free = self.free.max(u128::from(now) * rate) + u128::from(bytes) * 8_000_000_000;
        u64::try_from(self.free.div_ceil(rate)).unwrap()
    }
}

/// Drives a link and calls `look` after every offer and every delivery.
fn drive(
    config: &LinkConfig,
    steps: &[Step],
    mut look: impl FnMut(&mut Link<usize>, u64, &[Seen]),
) -> (Link<usize>, Vec<Seen>) {
    let mut link = Link::new(config.clone());
    let mut exact = ExactLine::new(config);
    let mut seen: Vec<Seen> = Vec::new();
    let mut now = 0;
    for step in steps {
        now += step.gap;
        let before = if step.deliver_first { now } else { now.saturating_sub(1) };
        deliver_up_to(&mut link, before, &mut seen, &mut look);
        let packet = Offered {
            bytes: step.bytes,
            data: step.data,
            ecn_capable: step.ecn_capable,
            flow: step.draw % 3,
            ..Offered::default()
        };
        let outcome = link.offer(at(now), packet, seen.len(), |chance| match chance {
            Chance::Loss => step.draw,
            Chance::Early => step.draw.rotate_left(32),
            Chance::Reorder => panic!("no packet is reordered here"),
        });
        let sent = match outcome {
            Outcome::Accepted | Outcome::Marked => true,
            Outcome::Dropped(DropReason::Loss) => config.loss_point == LossPoint::Line,
            Outcome::Dropped(DropReason::Buffer | DropReason::Early) => false,
            Outcome::Pending => panic!("no verdict is deferred here"),
        };
        let departure = sent.then(|| exact.send(now, config.framing.line_bytes(step.bytes)));
        seen.push(Seen { arrival: now, bytes: step.bytes, outcome, departure, delivered: None });
        look(&mut link, now, &seen);
        deliver_up_to(&mut link, now, &mut seen, &mut look);
    }
    deliver_up_to(&mut link, u64::MAX, &mut seen, &mut look);
    (link, seen)
}

fn deliver_up_to(
    link: &mut Link<usize>,
    limit: u64,
    seen: &mut [Seen],
    look: &mut impl FnMut(&mut Link<usize>, u64, &[Seen]),
) {
    while let Some(due) = link.next_delivery().filter(|due| due.as_nanos() <= limit) {
        if let Some(early) = due.as_nanos().checked_sub(1) {
            assert_eq!(link.head(at(early)), None, "shown before it was due");
            assert_eq!(link.deliver(at(early)), None, "delivered before it was due");
        }
        let shown = link.head(due).copied();
        let serial = link.deliver(due).expect("a delivery that is due");
        assert_eq!(shown, Some(serial), "another one delivered than shown");
        assert_eq!(seen[serial].delivered, None, "delivered twice");
        seen[serial].delivered = Some(due.as_nanos());
        look(link, due.as_nanos(), seen);
    }
}

/// The sizes of the packets in the queue at `now`, in order: arrived and not departed.
fn in_queue(seen: &[Seen], now: u64) -> impl Iterator<Item = u32> + '_ {
    seen.iter()
        .filter(move |p| p.arrival <= now && p.departure.is_some_and(|departure| departure > now))
        .map(|p| p.bytes)
}

fn tally(sizes: impl Iterator<Item = u32>) -> Tally {
    let mut tally = Tally::default();
    sizes.for_each(|bytes| tally.count(bytes));
    tally
}

fn any_buffer() -> impl Strategy<Value = Buffer> {
    prop_oneof![
        Just(Buffer::Unlimited),
        (1..20_000u64).prop_map(|bytes| Buffer::bytes(bytes).unwrap()),
        (1..12u32).prop_map(|packets| Buffer::packets(packets).unwrap()),
        (1..2000u32, 0..20_000u64).prop_map(|(chunk, more)| Buffer::chunks(
            u64::from(chunk) + more,
            chunk
        )
        .unwrap()),
    ]
}

fn any_loss() -> impl Strategy<Value = LossModel> {
    let p = |value: f64| Probability::new(value).unwrap();
    prop_oneof![
        Just(LossModel::None),
        (0.0..=1.0).prop_map(move |value| LossModel::PerPacket(p(value))),
        (0.0..0.01).prop_map(move |value| LossModel::PerByte(p(value))),
        (0.0..=1.0, 1..2000u32)
            .prop_map(move |(value, size)| LossModel::Linear(Linear::new(p(value), size).unwrap())),
        (0.0..0.5, 1.0..10.0)
            .prop_map(move |(loss, run)| LossModel::Burst(Burst::new(p(loss), run).unwrap())),
        prop::collection::vec(any::<bool>(), 0..30).prop_map(LossModel::Mask),
    ]
}

fn any_discipline() -> impl Strategy<Value = Discipline> {
    let p = |value: f64| Probability::new(value).unwrap();
    let red =
        (0..6u64, 1..8u64, any::<bool>(), 0.0..=1.0, 0.01..=1.0, 1..2000u32, any::<[bool; 2]>())
            .prop_map(move |(min, span, bytes, max_p, w_q, mean, [gentle, spare])| {
                let (measure, unit) =
                    if bytes { (Measure::Bytes, 700) } else { (Measure::Packets, 1) };
                let red =
                    Red::new(measure, min * unit, (min + span) * unit, p(max_p), p(w_q)).unwrap();
                Discipline::Red(
                    red.with_mean_packet(mean).unwrap().with_gentle(gentle).with_spare_short(spare),
                )
            });
    let balanced = (0.0..=1.0, 0.0..=1.0, 0..5u32).prop_map(move |(lower, more, gap)| {
        let upper = lower + (1.0 - lower) * more;
        Discipline::Balanced(Balanced::new(p(lower), p(upper), gap).unwrap())
    });
    prop_oneof![Just(Discipline::DropTail), red, balanced]
}

/// Links on which a packet takes from none to some thousand nanoseconds, so that a few dozen
/// packets build queues.
fn any_config() -> impl Strategy<Value = LinkConfig> {
    let rate = prop_oneof![
        1 => Just(None),
        4 => (1_000_000_000..200_000_000_000u64).prop_map(Rate::from_bits_per_sec),
    ];
    let loss_point = prop_oneof![Just(LossPoint::Line), Just(LossPoint::Entry)];
    let framing = prop_oneof![3 => Just(Framing::Packet), 1 => Just(Framing::Aal5)];
    (
        rate,
        0..3000u64,
        any_buffer(),
        any::<bool>(),
        any_discipline(),
        any_loss(),
        (loss_point, framing),
    )
        .prop_map(
            |(rate, delay, buffer, counts_in_service, discipline, loss, (loss_point, framing))| {
                LinkConfig {
                    rate,
                    delay: Duration::from_nanos(delay),
                    buffer,
                    counts_in_service,
                    discipline,
                    loss,
                    loss_point,
                    framing,
                    ..LinkConfig::default()
                }
            },
        )
}

fn any_steps(gaps: std::ops::Range<u64>, count: usize) -> impl Strategy<Value = Vec<Step>> {
    let gap = prop_oneof![Just(0), gaps];
    let bytes = prop_oneof![Just(40), Just(375), Just(1500), 0..3000u32];
    let step = (gap, bytes, any::<[bool; 3]>(), any::<u64>()).prop_map(
        |(gap, bytes, [data, ecn_capable, deliver_first], draw)| Step {
            gap,
            bytes,
            data,
            ecn_capable,
            draw,
            deliver_first,
        },
    );
    prop::collection::vec(step, 1..count)
}

proptest! {
    #[test]
    fn the_books_balance_at_every_instant(config in any_config(), steps in any_steps(0..2000, 60)) {
        let (mut link, seen) = drive(&config, &steps, |link, now, seen| {
            assert!(link.books().balance(), "{:?}", link.books());
            link.queue(at(now));
            let books = link.books();
            assert!(books.balance(), "{books:?}");
            let gone = |p: &&Seen| p.departure.is_none_or(|departure| departure <= now);
            let of = |outcome| seen.iter().filter(move |p| p.outcome == outcome);
            let lost = of(Outcome::Dropped(DropReason::Loss)).filter(gone).map(|p| p.bytes);
            let refused = of(Outcome::Dropped(DropReason::Buffer)).map(|p| p.bytes);
            let delivered = seen.iter().filter(|p| p.delivered.is_some()).map(|p| p.bytes);
            assert_eq!(books.offered, tally(seen.iter().map(|p| p.bytes)));
            assert_eq!(books.dropped_loss, tally(lost));
            assert_eq!(books.dropped_buffer, tally(refused));
            let early = of(Outcome::Dropped(DropReason::Early)).map(|p| p.bytes);
            assert_eq!(books.dropped_early, tally(early));
            if config.loss == LossModel::None {
                // Packets lost on the line may have been marked before.
                assert_eq!(books.marked, tally(of(Outcome::Marked).map(|p| p.bytes)));
            }
            assert_eq!(books.delivered, tally(delivered));
        });
        link.queue(Instant::NEVER);
        prop_assert_eq!(link.books().held, Tally::default());
        for p in &seen {
            prop_assert_eq!(p.delivered.is_some(), p.outcome.is_accepted());
        }
    }

    /// Two equal links: one delivers every packet, the driver of the other delivers some itself.
    #[test]
    fn commit_delivered_equals_commit(
        config in any_config(), steps in any_steps(0..2000, 60), reset_after in 0..60usize, kept in any::<u64>()
    ) {
        let config = LinkConfig {
            discipline: Discipline::DropTail, loss: LossModel::None, framing: Framing::Packet, ..config
        };
        prop_assert!(config.is_plain());
        let (mut whole, mut parted) = (Link::new(config.clone()), Link::new(config));
        let mut now = 0;
        for (serial, step) in steps.iter().enumerate() {
            now += step.gap;
            let offered = data(step.bytes);
            let before = whole.next_delivery();
            let outcome = whole.offer(at(now), offered, serial, no_chance);
            match parted.reserve(at(now), offered) {
                Ok(accepted) if kept >> (serial % 64) & 1 == 1 => {
                    prop_assert!(before.is_none_or(|before| before <= accepted.delivery()));
                    parted.commit_delivered(accepted);
                }
                Ok(accepted) => parted.commit(accepted, serial),
                Err(why) => prop_assert_eq!(outcome, Outcome::Dropped(why)),
            }
            for link in [&mut whole, &mut parted] {
                while link.deliver(at(now)).is_some() {}
                if serial == reset_after {
                    link.reset_statistics(at(now));
                }
            }
            prop_assert_eq!(whole.queue_statistics(at(now)), parted.queue_statistics(at(now)));
            prop_assert_eq!(whole.books(), parted.books());
        }
        while whole.deliver(Instant::NEVER).is_some() {}
        while parted.deliver(Instant::NEVER).is_some() {}
        prop_assert_eq!(whole.queue(Instant::NEVER), parted.queue(Instant::NEVER));
        prop_assert_eq!(whole.books(), parted.books());
    }

    #[test]
    fn packets_offered_ahead_are_delivered_in_order(
        offers in prop::collection::vec((0..50u64, any::<bool>()), 1..100)
    ) {
        let mut link = Link::new(LinkConfig { delay: Duration::from_nanos(7), ..LinkConfig::default() });
        let mut expected = Vec::new();
        let mut delivered = Vec::new();
        let mut due = 0;
        for (serial, (ahead, take)) in offers.into_iter().enumerate() {
            // Not before an earlier delivery.
            let when = due + ahead;
            let first = link.next_delivery().is_none_or(|next| at(when + 7) < next);
            prop_assert_eq!(link.offer_ahead(at(when), 40, serial), first);
            expected.push((when + 7, serial));
            prop_assert!(link.books().balance());
            if take && let Some(next) = link.next_delivery() {
                due = next.as_nanos();
                delivered.extend(link.deliver(next));
            }
        }
        delivered.extend(std::iter::from_fn(|| link.deliver(Instant::NEVER)));
        expected.sort_unstable();
        prop_assert_eq!(delivered, expected.into_iter().map(|(_, serial)| serial).collect::<Vec<_>>());
        prop_assert_eq!(link.books().offered, link.books().delivered);
    }

    #[test]
    fn packets_arrive_in_order_one_delay_after_they_left(
        config in any_config(), steps in any_steps(0..2000, 60)
    ) {
        let mut last = Instant::ZERO;
        let mut delivered = 0;
        let (_, seen) = drive(&config, &steps, |link, _, seen| {
            if let Some(next) = link.next_delivery() {
                assert!(next >= last, "the next delivery went back from {last} to {next}");
                last = next;
            }
            let so_far = seen.iter().take_while(|p| p.delivered.is_some() || !p.outcome.is_accepted());
            let in_order = so_far.filter(|p| p.delivered.is_some()).count();
            let all = seen.iter().filter(|p| p.delivered.is_some()).count();
            assert_eq!(in_order, all, "one packet overtook another");
            delivered = all;
        });
        for p in seen.iter().filter(|p| p.outcome.is_accepted()) {
            prop_assert_eq!(p.delivered, p.departure.map(|departure| departure + config.delay.as_nanos()));
        }
        prop_assert_eq!(delivered, seen.iter().filter(|p| p.outcome.is_accepted()).count());
    }

    #[test]
    fn the_buffer_refuses_exactly_what_does_not_fit(config in any_config(), steps in any_steps(0..2000, 60)) {
        let (_, seen) = drive(&config, &steps, |link, now, seen| {
            assert_eq!(link.queue(at(now)), tally(in_queue(seen, now)));
        });
        for (serial, p) in seen.iter().enumerate() {
            let mut there: Vec<u32> = in_queue(&seen[..serial], p.arrival).collect();
            let idle = there.is_empty();
            if !config.counts_in_service && !idle {
                there.remove(0);
            }
            let units = |&bytes: &u32| u64::from(config.buffer.units(bytes));
            let total: u64 = there.iter().chain([&p.bytes]).map(units).sum();
            let fits = total <= config.buffer.capacity() || (idle && !config.counts_in_service);
            match p.outcome {
                Outcome::Accepted | Outcome::Marked | Outcome::Dropped(DropReason::Early) => prop_assert!(fits),
                Outcome::Dropped(DropReason::Buffer) => prop_assert!(!fits),
                Outcome::Dropped(DropReason::Loss) => prop_assert!(fits || config.loss_point == LossPoint::Entry),
                Outcome::Pending => prop_assert!(false, "no verdict is deferred here"),
            }
        }
    }

    #[test]
    fn statistics_equal_sampling_every_nanosecond(
        config in any_config(), steps in any_steps(0..200, 30), reset_after in 0..30usize, rest in 0..3000u64
    ) {
        let mut reset_at = 0;
        let mut readings: Vec<(u64, u64, QueueStatistics)> = Vec::new();
        let mut offers = 0;
        let (mut link, seen) = drive(&config, &steps, |link, now, seen| {
            if seen.len() > offers {
                offers = seen.len();
                if offers == reset_after {
                    link.reset_statistics(at(now));
                    reset_at = now;
                }
            }
            readings.push((reset_at, now, link.queue_statistics(at(now))));
        });
        let end = readings.last().map_or(0, |reading| reading.1) + rest;
        readings.push((reset_at, end, link.queue_statistics(at(end))));

        let mut by_clock: Vec<QueueStatistics> = vec![QueueStatistics::default()];
        for now in 0..end {
            let mut sum = by_clock[by_clock.len() - 1];
            let queue: Vec<u32> = in_queue(&seen, now).collect();
            let depth = tally(queue.iter().copied());
            let waiting = tally(queue.iter().skip(1).copied());
            sum.packet_nanos += u128::from(depth.packets);
            sum.byte_nanos += u128::from(depth.bytes);
            sum.waiting_packet_nanos += u128::from(waiting.packets);
            sum.waiting_byte_nanos += u128::from(waiting.bytes);
            sum.busy = sum.busy + Duration::from_nanos(u64::from(depth.packets > 0));
            by_clock.push(sum);
        }
        let moment = |nanos: u64| by_clock[usize::try_from(nanos).unwrap()];
        for (from, to, read) in readings {
            let (a, b) = (moment(from), moment(to));
            prop_assert_eq!(read.elapsed.as_nanos(), to - from);
            prop_assert_eq!(read.packet_nanos, b.packet_nanos - a.packet_nanos);
            prop_assert_eq!(read.byte_nanos, b.byte_nanos - a.byte_nanos);
            prop_assert_eq!(read.waiting_packet_nanos, b.waiting_packet_nanos - a.waiting_packet_nanos);
            prop_assert_eq!(read.waiting_byte_nanos, b.waiting_byte_nanos - a.waiting_byte_nanos);
            prop_assert_eq!(read.busy, b.busy - a.busy);
        }
    }

    #[test]
    fn maxima_are_reached_at_an_arrival_or_the_reset(
        config in any_config(), steps in any_steps(0..300, 60), reset_after in 0..60usize
    ) {
        let (mut max, mut offers) = (Tally::default(), 0);
        drive(&config, &steps, |link, now, seen| {
            let depth = tally(in_queue(seen, now));
            max = Tally { packets: max.packets.max(depth.packets), bytes: max.bytes.max(depth.bytes) };
            if seen.len() > offers && seen.len() == reset_after {
                link.reset_statistics(at(now));
                max = depth;
            }
            offers = seen.len();
            assert_eq!(link.queue_statistics(at(now)).max, max);
        });
    }

    #[test]
    fn an_idle_link_stores_and_forwards_to_the_nanosecond(
        bits in 1_000..1_000_000_000_000u64, bytes in 1..65_536u32, start in 0..1u64 << 50, delay in 0..1u64 << 40
    ) {
        let rate = Rate::from_bits_per_sec(bits).unwrap();
        let delay = Duration::from_nanos(delay);
        let mut link = Link::new(LinkConfig { rate: Some(rate), delay, ..LinkConfig::default() });
        link.offer(at(start), data(bytes), (), no_chance);
        prop_assert_eq!(link.next_delivery(), Some(at(start) + rate.transmission_time(bytes) + delay));
    }

    #[test]
    fn a_busy_line_does_not_drift(
        bits in 1_000..100_000_000_000u64, sizes in prop::collection::vec(1..9000u32, 1..200)
    ) {
        let mut link = Link::new(LinkConfig { rate: Rate::from_bits_per_sec(bits), ..LinkConfig::default() });
        for &bytes in &sizes {
            link.offer(Instant::ZERO, data(bytes), (), no_chance);
        }
        let mut last = Instant::ZERO;
        while let Some(next) = link.next_delivery() {
            last = next;
            link.deliver(next);
        }
        let total: u128 = sizes.iter().map(|&bytes| u128::from(bytes)).sum();
        let exact = (total * 8_000_000_000).div_ceil(u128::from(bits));
        prop_assert_eq!(u128::from(last.as_nanos()), exact);
    }
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
