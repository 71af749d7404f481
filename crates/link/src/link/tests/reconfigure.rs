//! Changes of the configuration, compared with a line that is computed packet by packet.

use std::collections::VecDeque;

use proptest::prelude::*;
use units::{Duration, Instant, Rate};

use super::super::{Chance, DropReason, Link, LinkConfig, Outcome, Tally};
use super::random::{any_config, any_steps, tally};
use super::{at, data, megabit, no_chance};
use crate::atm::Framing;
use crate::{
    Buffer, Burst, CoDel, ConfigError, Discipline, Jitter, LinkChanges, LossModel, Measure,
    Probability, Red, Reorder, TokenBucket, Verdict,
};

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

fn deliveries(link: &mut Link<u32>) -> Vec<(u64, u32)> {
    let mut found = Vec::new();
    while let Some(due) = link.next_delivery() {
        match link.deliver(due) {
            Some(content) => found.push((due.as_nanos(), content)),
            None => link.advance_to(due),
        }
        while let Some(verdict) = link.poll_verdict() {
            assert!(matches!(verdict, Verdict::Dropped(..)), "nothing is marked here");
        }
    }
    found
}

/// Four packets of 1500 bytes at 12 Mb/s take 1 ms each. The change comes at 1.5 ms.
fn changed(discipline: Discipline, rate: Option<Rate>) -> Vec<(u64, u32)> {
    let config = LinkConfig {
        rate: megabit(12),
        delay: Duration::from_millis(3),
        discipline,
        ..LinkConfig::default()
    };
    let mut link = Link::new(config.clone());
    for number in 0..4_u32 {
        assert!(link.offer(at(0), data(1500), number, no_chance).is_accepted());
    }
    link.advance_to(at(1_500_000));
    let config = LinkConfig { rate, delay: Duration::from_millis(5), ..config };
    link.reconfigure(at(1_500_000), config).unwrap();
    assert!(link.books().balance());
    deliveries(&mut link)
}

#[test]
fn waiting_packets_leave_at_the_new_rate() {
    // The first has left and keeps the old delay. The second ends at the old rate.
    let slow = [(4_000_000, 0), (7_000_000, 1), (9_000_000, 2), (11_000_000, 3)];
    assert_eq!(changed(Discipline::DropTail, megabit(6)), slow);
    let fast = [(4_000_000, 0), (7_000_000, 1), (7_500_000, 2), (8_000_000, 3)];
    assert_eq!(changed(Discipline::DropTail, megabit(24)), fast);
    let at_once = [(4_000_000, 0), (6_500_000, 1), (6_500_000, 2), (6_500_000, 3)];
    assert_eq!(changed(Discipline::DropTail, None), at_once);
}

#[test]
fn codel_continues_at_the_new_rate() {
    let codel = CoDel::new(Duration::from_millis(50), Duration::from_millis(500)).unwrap();
    // The packet in transmission keeps its delay.
    let slow = [(4_000_000, 0), (5_000_000, 1), (9_000_000, 2), (11_000_000, 3)];
    assert_eq!(changed(Discipline::CoDel(codel), megabit(6)), slow);
}

#[test]
fn waiting_packets_keep_their_jitter_and_order() {
    let jitter = Jitter::uniform(Duration::from_millis(2));
    for keeps_order in [true, false] {
        let jitter = jitter.clone().with_reordering(!keeps_order);
        let config = LinkConfig {
            rate: megabit(12),
            delay: Duration::from_millis(10),
            jitter: Some(jitter),
            ..LinkConfig::default()
        };
        let mut link = Link::new(config.clone());
        for number in 0..40_u32 {
            let draw = u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            assert!(link.offer(at(0), data(1500), number, |_| draw).is_accepted());
        }
        link.advance_to(at(15_500_000));
        let faster = LinkConfig { rate: megabit(24), ..config };
        link.reconfigure(at(15_500_000), faster).unwrap();
        let found = deliveries(&mut link);
        assert_eq!(found.len(), 40);
        assert_eq!(found.is_sorted_by_key(|(_, number)| *number), keeps_order);
        // 16 packets at the old rate, and 24 in half a millisecond each.
        let last = found.iter().map(|(due, _)| *due).max().unwrap();
        assert!((36_000_000..=40_000_000).contains(&last), "{last}");
        assert!(link.books().balance());
    }
}

#[test]
fn a_shaper_is_fixed() {
    let bucket = TokenBucket::new(Rate::from_bits_per_sec(1_000_000).unwrap(), 3000).unwrap();
    let config = LinkConfig { rate: megabit(12), shape: Some(bucket), ..LinkConfig::default() };
    let mut link: Link<u32> = Link::new(config.clone());
    let delayed = LinkConfig { delay: Duration::from_millis(5), ..config.clone() };
    link.reconfigure(at(0), delayed).unwrap();
    for other in
        [LinkConfig { rate: megabit(6), ..config.clone() }, LinkConfig { shape: None, ..config }]
    {
        assert!(matches!(link.reconfigure(at(1), other), Err(ConfigError::Fixed { .. })));
    }
}

#[test]
fn a_smaller_limit_drops_no_accepted_packet() {
    for discipline in [
        Discipline::DropTail,
        Discipline::CoDel(CoDel::new(Duration::from_secs(1), Duration::from_secs(2)).unwrap()),
    ] {
        let config = LinkConfig { rate: megabit(12), discipline, ..LinkConfig::default() };
        let mut link = Link::new(config.clone());
        for number in 0..10 {
            assert!(link.offer(at(0), data(1500), number, no_chance).is_accepted());
        }
        link.advance_to(at(0));
        let buffer = Buffer::packets(3).unwrap();
        link.reconfigure(at(0), LinkConfig { buffer, ..config }).unwrap();
        assert_eq!(link.queue(at(0)).packets, 10);
        let full = Outcome::Dropped(DropReason::Buffer);
        assert_eq!(link.offer(at(0), data(40), 10, no_chance), full);
        assert_eq!(link.offer(at(7_500_000), data(40), 11, no_chance), full);
        assert!(link.offer(at(8_000_000), data(40), 12, no_chance).is_accepted());
        assert_eq!(deliveries(&mut link).len(), 11);
    }
}

#[test]
fn a_part_without_a_change_keeps_its_state() {
    let mask = LossModel::PacketMask(vec![false, true, true, false]);
    let config = LinkConfig { loss: mask, ..LinkConfig::default() };
    let mut link = Link::new(config.clone());
    let mut outcomes = Vec::new();
    for number in 0..4_u32 {
        outcomes.push(link.offer(at(0), data(100), number, no_chance).is_accepted());
        let delay = Duration::from_nanos(u64::from(number) + 1);
        link.reconfigure(at(0), LinkConfig { delay, ..config.clone() }).unwrap();
    }
    assert_eq!(outcomes, [true, false, false, true]);
}

#[test]
fn a_burst_continues_under_new_parameters() {
    let burst = |loss, run| LossModel::Burst(Burst::new(p(loss), run).unwrap());
    let config = LinkConfig { loss: burst(0.5, 4.0), ..LinkConfig::default() };
    let mut link = Link::new(config.clone());
    assert_eq!(link.offer(at(0), data(1), 0, |_| 0), Outcome::Dropped(DropReason::Loss));
    link.reconfigure(at(0), LinkConfig { loss: burst(0.01, 1e6), ..config }).unwrap();
    // The next loss has a probability of almost 1, although the mean is 0.01.
    let high = u64::MAX / 10 * 9;
    assert_eq!(link.offer(at(0), data(1), 1, |_| high), Outcome::Dropped(DropReason::Loss));
}

#[test]
fn the_average_of_red_remains() {
    let red = |max| Red::new(Measure::Packets, 1, max, p(1.0), p(1.0)).unwrap();
    let config = LinkConfig {
        rate: megabit(12),
        discipline: Discipline::Red(red(100)),
        ..LinkConfig::default()
    };
    let mut link = Link::new(config.clone());
    for number in 0..5 {
        link.offer(at(0), data(1500), number, |_| u64::MAX);
    }
    link.reconfigure(at(0), LinkConfig { discipline: Discipline::Red(red(3)), ..config }).unwrap();
    let forced = Outcome::Dropped(DropReason::Early);
    assert_eq!(link.offer(at(0), data(1500), 5, |_| u64::MAX), forced);
}

#[test]
fn the_kind_of_queue_is_fixed() {
    let plain = LinkConfig { rate: megabit(12), ..LinkConfig::default() };
    let codel = CoDel::new(Duration::from_millis(5), Duration::from_millis(100)).unwrap();
    let codel = LinkConfig { discipline: Discipline::CoDel(codel), ..plain.clone() };
    let cells = LinkConfig { framing: Framing::Aal5, ..plain.clone() };
    for (from, to) in [(&plain, &codel), (&codel, &plain), (&plain, &cells)] {
        let mut link: Link<()> = Link::new(from.clone());
        let refused = link.reconfigure(at(0), to.clone());
        assert!(matches!(refused, Err(ConfigError::Fixed { .. })), "{refused:?}");
        assert_eq!(link.config(), from);
    }
}

/// A packet that arrives, or a change of the configuration.
#[derive(Debug, Clone)]
enum Event {
    Packet { bytes: u32, draw: u64 },
    Change(Law),
}

/// Parameters whose transmission times are whole nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Law {
    nanos_per_byte: Option<u64>,
    delay: u64,
    packets: Option<u32>,
    loss: f64,
    /// The share of packets with this additional delay.
    reorder: Option<(f64, u64)>,
}

impl Law {
    fn config(self) -> LinkConfig {
        let rate = |nanos| Rate::from_bits_per_sec(8_000_000_000 / nanos).unwrap();
        LinkConfig {
            rate: self.nanos_per_byte.map(rate),
            delay: Duration::from_nanos(self.delay),
            buffer: self.packets.map_or(Buffer::Unlimited, |n| Buffer::packets(n).unwrap()),
            loss: LossModel::PerPacket(p(self.loss)),
            reorder: self
                .reorder
                .map(|(share, by)| Reorder { probability: p(share), by: Duration::from_nanos(by) }),
            ..LinkConfig::default()
        }
    }
}

fn any_law() -> BoxedStrategy<Law> {
    let nanos = prop::option::weighted(0.9, prop::sample::select(vec![1, 2, 4, 5, 8, 10, 16, 20]));
    let packets = prop::option::of(1..10u32);
    let loss = prop_oneof![Just(0.0), Just(1.0), 0.0..0.5];
    (nanos, 0..30_000u64, packets, loss, prop::option::of((0.0..1.0, 0..20_000u64)))
        .prop_map(|(nanos_per_byte, delay, packets, loss, reorder)| Law {
            nanos_per_byte,
            delay,
            packets,
            loss,
            reorder,
        })
        .boxed()
}

fn any_events() -> BoxedStrategy<Vec<(u64, Event)>> {
    let packet =
        (40..1500u32, any::<u64>()).prop_map(|(bytes, draw)| Event::Packet { bytes, draw });
    let event = prop_oneof![3 => packet, 1 => any_law().prop_map(Event::Change)];
    prop::collection::vec((prop_oneof![Just(0), 0..10_000u64], event), 1..80).boxed()
}

/// A line that is computed transmission by transmission.
struct Reference {
    law: Law,
    /// Number, size, additional delay, and whether the packet is lost.
    waiting: VecDeque<(u32, u32, u64, bool)>,
    /// The end of the transmission of the first packet.
    until: u64,
    /// Delivery time and number.
    delivered: Vec<(u64, u32)>,
}

impl Reference {
    fn time_of_first(&self) -> u64 {
        let bytes = self.waiting.front().map_or(0, |packet| u64::from(packet.1));
        self.law.nanos_per_byte.map_or(0, |nanos| nanos * bytes)
    }

    fn run_until(&mut self, now: u64) {
        while !self.waiting.is_empty() && self.until <= now {
            let (number, _, extra, lost) = self.waiting.pop_front().unwrap();
            if !lost {
                self.delivered.push((self.until + self.law.delay + extra, number));
            }
            self.until += self.time_of_first();
        }
    }

    fn change(&mut self, now: u64, law: Law) {
        self.run_until(now);
        self.law = law;
        if law.nanos_per_byte.is_none() {
            self.until = now;
            self.run_until(now);
        }
    }

    /// Returns true if there is room.
    fn offer(&mut self, now: u64, number: u32, bytes: u32, draw: u64) -> bool {
        self.run_until(now);
        if self.law.packets.is_some_and(|limit| self.waiting.len() >= limit as usize) {
            return false;
        }
        let lost = p(self.law.loss).hits(draw);
        let delayed = |(share, _): &(f64, u64)| p(*share).hits(draw.rotate_left(32));
        let extra = self.law.reorder.filter(delayed).map_or(0, |(_, by)| by);
        self.waiting.push_back((number, bytes, extra, lost));
        if self.waiting.len() == 1 {
            self.until = now + self.time_of_first();
            self.run_until(now);
        }
        true
    }
}

/// Delivers what is due until `now`.
fn due_until(link: &mut Link<u32>, now: u64) -> Vec<(Instant, u32)> {
    let mut found = Vec::new();
    while let Some(due) = link.next_delivery().filter(|due| due.as_nanos() <= now) {
        match link.deliver(due) {
            Some(content) => found.push((due, content)),
            None => link.advance_to(due),
        }
    }
    found
}

proptest! {
    /// Every packet that has room and is not lost arrives, at the time that the law says.
    #[test]
    fn packets_keep_to_the_law_of_their_time(first in any_law(), events in any_events()) {
        let mut link = Link::new(first.config());
        let mut reference = Reference {
            law: first, waiting: VecDeque::new(), until: 0, delivered: Vec::new(),
        };
        let (mut now, mut number, mut offered, mut delivered) = (0, 0, Vec::new(), Vec::new());
        for (gap, event) in events {
            now += gap;
            while let Some(due) = link.next_delivery().filter(|due| due.as_nanos() <= now) {
                delivered.push((due.as_nanos(), link.deliver(due).unwrap()));
            }
            match event {
                Event::Packet { bytes, draw } => {
                    let chance = |chance| match chance {
                        Chance::Reorder => draw.rotate_left(32),
                        _ => draw,
                    };
                    let outcome = link.offer(at(now), data(bytes), number, chance);
                    let room = reference.offer(now, number, bytes, draw);
                    prop_assert_eq!(outcome == Outcome::Dropped(DropReason::Buffer), !room);
                    offered.push(bytes);
                    number += 1;
                }
                Event::Change(law) => {
                    link.reconfigure(at(now), law.config()).unwrap();
                    reference.change(now, law);
                }
            }
            let depth = link.queue(at(now)).packets;
            prop_assert_eq!(depth, reference.waiting.len() as u64);
            let books = link.books();
            prop_assert!(books.balance(), "{books:?}");
            prop_assert_eq!(books.offered, tally(offered.iter().copied()));
        }
        delivered.extend(deliveries(&mut link));
        reference.run_until(u64::MAX / 2);
        reference.delivered.sort_unstable();
        delivered.sort_unstable();
        prop_assert_eq!(delivered, reference.delivered);
        link.queue(Instant::NEVER);
        prop_assert_eq!(link.books().held, Tally::default());
    }

    /// Changes that are known at the start have the effect of later ones at their times.
    #[test]
    fn known_changes_equal_later_ones(first in any_law(), events in any_events()) {
        let (mut now, mut times, mut changes) = (0, Vec::new(), Vec::new());
        for (gap, event) in &events {
            // Two changes have different times.
            now += gap + 1;
            times.push(now);
            if let Event::Change(law) = event {
                changes.push((at(now), law.config()));
            }
        }
        let config = first.config();
        let changes = LinkChanges::new(&config, changes).unwrap();
        let mut known = Link::new(LinkConfig { changes, ..config.clone() });
        let mut later = Link::new(config);
        let (mut delivered, mut expected) = (Vec::new(), Vec::new());
        for (number, ((_, event), &now)) in (0..).zip(events.iter().zip(&times)) {
            delivered.extend(due_until(&mut known, now));
            expected.extend(due_until(&mut later, now));
            match *event {
                Event::Packet { bytes, draw } => {
                    let outcomes = [&mut known, &mut later]
                        .map(|link| link.offer(at(now), data(bytes), number, |_| draw));
                    prop_assert_eq!(outcomes[0].is_accepted(), outcomes[1].is_accepted());
                }
                Event::Change(law) => later.reconfigure(at(now), law.config()).unwrap(),
            }
            // A change may end a transmission at once, and it is known to one of the links before.
            delivered.extend(due_until(&mut known, now));
            expected.extend(due_until(&mut later, now));
            prop_assert_eq!(known.queue(at(now)), later.queue(at(now)));
            prop_assert_eq!(known.books(), later.books());
        }
        let left = |link: &mut Link<u32>| {
            deliveries(link).into_iter().map(|(due, number)| (at(due), number)).collect::<Vec<_>>()
        };
        delivered.extend(left(&mut known));
        expected.extend(left(&mut later));
        prop_assert_eq!(delivered, expected);
    }

    /// A change to the same configuration has no effect on any link.
    #[test]
    fn no_change_has_no_effect(config in any_config(), steps in any_steps(0..2000, 60), every in 1..5usize) {
        let (mut plain, mut changed) = (Link::new(config.clone()), Link::new(config.clone()));
        let mut now = 0;
        for (serial, step) in steps.iter().enumerate() {
            now += step.gap;
            let packet = step.offered();
            let [one, other] = [&mut plain, &mut changed]
                .map(|link| link.offer(at(now), packet, serial, |chance| step.draw_for(chance)));
            prop_assert_eq!(one.is_accepted(), other.is_accepted());
            if serial % every == 0 {
                changed.reconfigure(at(now), config.clone()).unwrap();
            }
            prop_assert_eq!(plain.next_delivery(), changed.next_delivery());
            prop_assert_eq!(plain.queue_statistics(at(now)), changed.queue_statistics(at(now)));
            prop_assert_eq!(plain.books(), changed.books());
        }
        while let Some(due) = plain.next_delivery() {
            prop_assert_eq!(changed.next_delivery(), Some(due));
            prop_assert_eq!(plain.deliver(due), changed.deliver(due));
        }
        prop_assert!(changed.is_idle());
    }
}
