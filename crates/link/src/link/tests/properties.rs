//! Properties of all links, with random packets.

use proptest::prelude::*;
use units::{Duration, Instant, Rate};

use super::super::reserved::ReservedDelivery;
use super::super::{DropReason, Link, LinkConfig, LossPoint, Outcome, Tally};
use super::random::{Seen, any_config, any_steps, drive, in_queue, tally};
use super::{at, data, no_chance};
use crate::atm::Framing;
use crate::{Discipline, LossModel, QueueStatistics, Reading};

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
    fn a_reading_agrees_with_books_and_statistics(
        config in any_config(), steps in any_steps(0..2000, 60), reset_after in 0..60usize
    ) {
        let mut offers = 0;
        drive(&config, &steps, |link, now, seen| {
            if seen.len() > offers {
                offers = seen.len();
                if offers == reset_after {
                    link.reset_statistics(at(now));
                }
            }
            let reading = link.reading(at(now));
            let expected = Reading {
                offered: link.books().offered,
                delivered: link.books().delivered,
                dropped_buffer: link.books().dropped_buffer,
                dropped_early: link.books().dropped_early,
                dropped_loss: link.books().dropped_loss,
                marked: link.books().marked,
                queue: link.queue(at(now)),
                busy: link.queue_statistics(at(now)).busy,
            };
            assert_eq!(reading, expected);
        });
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
