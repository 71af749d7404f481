use std::collections::VecDeque;

use proptest::prelude::*;
use units::Rate;

use super::*;
use crate::{Buffer, Discipline, DropReason, Link, LinkConfig, Offered, Outcome, Tally, Verdict};

/// The transmission time of a byte.
const NANOS_PER_BYTE: u64 = 100;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: u64,
    bytes: u32,
    ecn_capable: bool,
}

/// The result of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Delivered { at: u64, marked: bool },
    Dropped(DropReason),
}

/// The listing of RFC 8289 §5, with a clock and a line. Times are in nanoseconds; 0 is "not set".
struct Specification {
    target: u64,
    interval: u64,
    ecn: bool,
    queue: VecDeque<(usize, Arrival)>,
    dropping: bool,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    maxpacket: u32,
    ends: Vec<Option<End>>,
}

struct DodequeueResult {
    p: Option<(usize, Arrival)>,
    ok_to_drop: bool,
}

impl Specification {
    fn bytes(&self) -> u32 {
        self.queue.iter().map(|(_, packet)| packet.bytes).sum()
    }

    /// `interval / sqrt(count)`, rounded down, by bisection.
    fn control_law(&self, t: u64, count: u32) -> u64 {
        let (mut low, mut high) = (0, self.interval + 1);
        while high - low > 1 {
            let middle = u64::midpoint(low, high);
            let fits = u128::from(middle) * u128::from(middle) * u128::from(count)
                <= u128::from(self.interval) * u128::from(self.interval);
            (low, high) = if fits { (middle, high) } else { (low, middle) };
        }
        t + low
    }

    fn dodequeue(&mut self, now: u64) -> DodequeueResult {
        let mut r = DodequeueResult { p: self.queue.pop_front(), ok_to_drop: false };
        let Some((_, packet)) = r.p else {
            self.first_above_time = 0;
            return r;
        };
        let sojourn_time = now - packet.at;
        if sojourn_time < self.target || self.bytes() <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            r.ok_to_drop = true;
        }
        r
    }

    fn drop(&mut self, p: Option<(usize, Arrival)>) {
        let (number, _) = p.expect("only a packet is dropped");
        self.ends[number] = Some(End::Dropped(DropReason::Early));
    }

    fn can_mark(&self, p: Option<(usize, Arrival)>) -> bool {
        self.ecn && p.is_some_and(|(_, packet)| packet.ecn_capable)
    }

    fn dequeue(&mut self, now: u64) -> (Option<(usize, Arrival)>, bool) {
        let mut r = self.dodequeue(now);
        if self.dropping {
            if !r.ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.count += 1;
                if self.can_mark(r.p) {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                    return (r.p, true);
                }
                self.drop(r.p);
                r = self.dodequeue(now);
                if r.ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if r.ok_to_drop {
            let marked = self.can_mark(r.p);
            if !marked {
                self.drop(r.p);
                r = self.dodequeue(now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now.saturating_sub(self.drop_next) < 16 * self.interval {
                self.count = delta;
            }
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
            return (r.p, marked);
        }
        (r.p, false)
    }

    fn run(mut self, arrivals: &[Arrival], room: usize) -> Vec<End> {
        self.ends = vec![None; arrivals.len()];
        let mut free: Option<u64> = None;
        let mut coming = arrivals.iter().copied().enumerate().peekable();
        loop {
            let next = coming.peek().map_or(u64::MAX, |(_, packet)| packet.at);
            // The line precedes arrivals.
            if let Some(now) = free.filter(|&free| free <= next) {
                free = self.send(now);
                continue;
            }
            let Some((number, packet)) = coming.next() else { break };
            if self.queue.len() + usize::from(free.is_some()) >= room {
                self.ends[number] = Some(End::Dropped(DropReason::Buffer));
                continue;
            }
            self.maxpacket = self.maxpacket.max(packet.bytes);
            self.queue.push_back((number, packet));
            if free.is_none() {
                free = self.send(packet.at);
            }
        }
        self.ends.into_iter().map(Option::unwrap).collect()
    }

    /// Sends the next packet. Returns the time at which the line is free again.
    fn send(&mut self, now: u64) -> Option<u64> {
        let (packet, marked) = self.dequeue(now);
        let (number, packet) = packet?;
        let free = now + u64::from(packet.bytes) * NANOS_PER_BYTE;
        self.ends[number] = Some(End::Delivered { at: free, marked });
        Some(free)
    }
}

fn config(target: u64, interval: u64, ecn: bool, room: u32) -> LinkConfig {
    let codel = CoDel::new(Duration::from_nanos(target), Duration::from_nanos(interval)).unwrap();
    LinkConfig {
        rate: Rate::from_bits_per_sec(8_000_000_000 / NANOS_PER_BYTE),
        buffer: Buffer::packets(room).unwrap(),
        discipline: Discipline::CoDel(codel.with_ecn(ecn)),
        ..LinkConfig::default()
    }
}

/// Runs the link on the arrivals, with the calls of a driver.
fn run(link: &mut Link<(usize, bool)>, arrivals: &[Arrival]) -> Vec<End> {
    let mut ends = vec![None; arrivals.len()];
    for (number, packet) in arrivals.iter().enumerate() {
        drive(link, packet.at, &mut ends);
        let offered =
            Offered { bytes: packet.bytes, ecn_capable: packet.ecn_capable, ..Offered::default() };
        match link.offer(at(packet.at), offered, (number, false), |_| {
            unreachable!("no random decision is expected")
        }) {
            Outcome::Pending => assert_eq!(link.newest_mut().map(|newest| newest.0), Some(number)),
            Outcome::Dropped(why) => ends[number] = Some(End::Dropped(why)),
            other => panic!("{other:?} at once"),
        }
        assert!(link.books().balance(), "{:?}", link.books());
    }
    drive(link, u64::MAX, &mut ends);
    assert_eq!(link.books().held, Tally::default());
    ends.into_iter().map(Option::unwrap).collect()
}

fn drive(link: &mut Link<(usize, bool)>, until: u64, ends: &mut [Option<End>]) {
    while let Some(now) = link.next_delivery().filter(|next| next.as_nanos() < until) {
        if let Some((number, marked)) = link.deliver(now) {
            assert_eq!(ends[number].replace(End::Delivered { at: now.as_nanos(), marked }), None);
            continue;
        }
        link.advance_to(now);
        while let Some(verdict) = link.poll_verdict() {
            match verdict {
                Verdict::Dropped((number, _), why) => {
                    assert_eq!(ends[number].replace(End::Dropped(why)), None);
                }
                Verdict::Marked(packet) => packet.1 = true,
            }
        }
        assert!(link.books().balance(), "{:?}", link.books());
    }
}

fn specification(target: u64, interval: u64, ecn: bool) -> Specification {
    Specification {
        target,
        interval,
        ecn,
        queue: VecDeque::new(),
        dropping: false,
        first_above_time: 0,
        drop_next: 0,
        count: 0,
        lastcount: 0,
        maxpacket: 0,
        ends: Vec::new(),
    }
}

/// A packet takes 150 µs at most. With a target of a few and an interval of some dozens of packets,
/// CoDel drops.
fn any_arrivals() -> BoxedStrategy<Vec<Arrival>> {
    let burst = (0..3_000_000u64, 0..120_000u64, 1..60usize, any::<bool>());
    let bursts = prop::collection::vec(burst, 1..25);
    (bursts, prop::collection::vec(prop_oneof![Just(1500u32), 40..1500u32], 1..20))
        .prop_map(|(bursts, sizes)| {
            let mut now = 1000;
            let mut arrivals = Vec::new();
            for (pause, apart, packets, ecn_capable) in bursts {
                now += pause;
                for _ in 0..packets {
                    let bytes = sizes[arrivals.len() % sizes.len()];
                    arrivals.push(Arrival { at: now, bytes, ecn_capable });
                    now += apart;
                }
            }
            arrivals
        })
        .boxed()
}

proptest! {
    #[test]
    fn codel_equals_the_algorithm_of_the_rfc(
        arrivals in any_arrivals(), target in 100_000..2_000_000u64, more in 1..4_000_000u64, ecn in any::<bool>(), room in 1..200u32
    ) {
        let interval = target + more;
        let mut link = Link::new(config(target, interval, ecn, room));
        let ends = run(&mut link, &arrivals);
        prop_assert_eq!(&ends, &specification(target, interval, ecn).run(&arrivals, room as usize));
        let marked = ends.iter().filter(|end| matches!(end, End::Delivered { marked: true, .. })).count();
        prop_assert_eq!(link.books().marked.packets, marked as u64);
        // The statistics, computed from the results of the packets.
        let end = 100_000_000_000;
        let read = link.queue_statistics(at(end));
        let sent = arrivals.iter().zip(&ends).filter(|(_, end)| matches!(end, End::Delivered { .. }));
        let busy: u64 = sent.map(|(packet, _)| u64::from(packet.bytes) * NANOS_PER_BYTE).sum();
        prop_assert_eq!(read.busy.as_nanos(), busy);
        prop_assert!(read.packet_nanos >= u128::from(busy));
        prop_assert!(read.max.packets <= u64::from(room));
    }
}

/// §3: a queue above the target for an interval loses a packet, the next after an interval, then
/// after 1/√2 of one, and so on.
#[test]
fn a_persistent_queue_is_dropped_at_the_intervals_of_the_rfc() {
    let (target, interval) = (1_000_000, 10_000_000);
    // Ten packets at once, then as many as the line can send: each waits for 1.35 ms or more.
    let arrivals: Vec<Arrival> = (0..600)
        .map(|n: u64| Arrival {
            at: 150_000 * n.saturating_sub(10),
            bytes: 1500,
            ecn_capable: false,
        })
        .collect();
    let mut link =
        Link::new(LinkConfig { buffer: Buffer::Unlimited, ..config(target, interval, false, 1) });
    let ends = run(&mut link, &arrivals);
    let dropped: Vec<usize> =
        (0..ends.len()).filter(|&n| ends[n] == End::Dropped(DropReason::Early)).collect();
    assert_eq!(ends, specification(target, interval, false).run(&arrivals, usize::MAX));
    assert!((3..8).contains(&dropped.len()), "{dropped:?}");
    // The first drop follows an interval after the first packet that waited for 1 ms. There are no
    // drops once the queue is short.
    assert!(dropped[0] as u64 * 150_000 > interval, "{dropped:?}");
    assert!(dropped.windows(2).all(|pair| pair[1] - pair[0] > 1), "{dropped:?}");
}

/// ECN-capable packets are marked at the times at which others are dropped.
#[test]
fn marks_replace_drops() {
    let arrivals = |ecn_capable| -> Vec<Arrival> {
        (0..600).map(|n| Arrival { at: 100_000 * n, bytes: 1500, ecn_capable }).collect()
    };
    let fates = |ecn_capable, ecn| {
        let mut link = Link::new(config(1_000_000, 10_000_000, ecn, 1000));
        run(&mut link, &arrivals(ecn_capable));
        let books = link.books();
        (books.marked.packets, books.dropped_early.packets)
    };
    let (marked, none) = fates(true, true);
    assert!(marked > 5 && none == 0, "{marked} marked, {none} dropped");
    assert_eq!(fates(true, false), fates(false, true));
    assert!(fates(false, true).1 > 5);
}

/// A packet lost on the line has been transmitted; one lost at the entry has not.
#[test]
fn losses_on_the_line_occupy_the_line() {
    let link = |loss_point| {
        let loss = crate::LossModel::Mask(vec![true]);
        let mut link: Link<usize> =
            Link::new(LinkConfig { loss, loss_point, ..config(1_000_000, 10_000_000, true, 10) });
        let packet = Offered { bytes: 1500, data: true, ..Offered::default() };
        let outcomes = [0, 1].map(|number| link.offer(at(0), packet, number, |_| 0));
        while link.next_delivery().is_some_and(|next| next < at(1_000_000)) {
            let now = link.next_delivery().unwrap();
            if let Some(number) = link.deliver(now) {
                return (outcomes[0], number, now.as_nanos(), link.books().dropped_loss.packets);
            }
            link.advance_to(now);
            while link.poll_verdict().is_some() {}
        }
        unreachable!("one of them arrives")
    };
    assert_eq!(link(crate::LossPoint::Line), (Outcome::Pending, 1, 300_000, 1));
    assert_eq!(link(crate::LossPoint::Entry), (Outcome::Dropped(DropReason::Loss), 1, 150_000, 1));
}

#[test]
fn invalid_target_and_interval_are_refused() {
    let ms = Duration::from_millis;
    for (target, interval) in [(0, 100), (100, 100), (200, 100)] {
        assert_eq!(
            CoDel::new(ms(target), ms(interval)),
            Err(ConfigError::CoDelTimes { target: ms(target), interval: ms(interval) })
        );
    }
    assert!(CoDel::new(ms(5), ms(100)).is_ok());
}

#[test]
fn times_saturate_at_the_end() {
    let mut link = Link::new(config(1_000_000, u64::MAX, false, 10));
    for number in 0..5 {
        let packet = Offered { bytes: u32::MAX, ..Offered::default() };
        link.offer(at(u64::MAX - 5 + number), packet, (0, false), |_| 0);
    }
    link.advance_to(Instant::NEVER);
    while link.poll_verdict().is_some() {}
    link.queue_statistics(Instant::NEVER);
    assert!(link.books().balance());
}
