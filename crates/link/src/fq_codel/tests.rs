use proptest::prelude::*;
use units::{Duration, Rate};

use super::*;
use crate::{Buffer, Discipline, DropReason, Link, LinkConfig, Offered, Outcome, Verdict};

/// The transmission time of a byte.
const NANOS_PER_BYTE: u64 = 100;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

fn link(discipline: Discipline, buffer: Buffer) -> Link<(usize, bool)> {
    let rate = Rate::from_bits_per_sec(8_000_000_000 / NANOS_PER_BYTE);
    Link::new(LinkConfig { rate, buffer, discipline, ..LinkConfig::default() })
}

#[derive(Debug, Clone, Copy)]
struct Arrival {
    at: u64,
    bytes: u32,
    flow: u64,
    ecn_capable: bool,
}

/// The end of a packet: its number, the time, and whether it was marked; `None` for dropped ones.
type End = Option<(u64, bool)>;

fn collect(link: &mut Link<(usize, bool)>, until: u64, ends: &mut [End], order: &mut Vec<usize>) {
    while let Some(now) = link.next_delivery().filter(|next| next.as_nanos() <= until) {
        if let Some((number, marked)) = link.deliver(now) {
            assert_eq!(ends[number].replace((now.as_nanos(), marked)), None);
            order.push(number);
            continue;
        }
        link.advance_to(now);
        while let Some(verdict) = link.poll_verdict() {
            if let Verdict::Marked(packet) = verdict {
                packet.1 = true;
            }
        }
        assert!(link.books().balance(), "{:?}", link.books());
    }
}

/// The ends of all packets, and the order of the deliveries.
fn run(discipline: Discipline, room: Buffer, arrivals: &[Arrival]) -> (Vec<End>, Vec<usize>) {
    let mut link = link(discipline, room);
    let (mut ends, mut order) = (vec![None; arrivals.len()], Vec::new());
    for (number, &Arrival { at: now, bytes, flow, ecn_capable }) in arrivals.iter().enumerate() {
        collect(&mut link, now, &mut ends, &mut order);
        let packet = Offered { bytes, ecn_capable, flow, ..Offered::default() };
        let outcome = link.offer(at(now), packet, (number, false), |_| 0);
        assert!(matches!(outcome, Outcome::Pending | Outcome::Dropped(DropReason::Buffer)));
    }
    collect(&mut link, u64::MAX - 1, &mut ends, &mut order);
    let books = link.books();
    assert!(books.balance() && books.held.packets == 0, "{books:?}");
    let most = link.queue_statistics(at(u64::MAX - 1)).max.packets;
    assert!(most <= room.capacity(), "{most} packets in a buffer of {room:?}");
    (ends, order)
}

fn codel(target: u64, interval: u64) -> CoDel {
    CoDel::new(ns(target), ns(interval)).unwrap()
}

/// CoDel that never drops.
fn patient() -> CoDel {
    codel(1 << 50, 1 << 51)
}

fn any_arrivals(flows: u64) -> BoxedStrategy<Vec<Arrival>> {
    let gap = prop_oneof![Just(0), 0..200_000u64];
    let bytes = prop_oneof![Just(1500u32), Just(40), 1..1500u32];
    let step = (gap, bytes, 0..flows, any::<bool>());
    prop::collection::vec(step, 1..200)
        .prop_map(|steps| {
            let mut now = 0;
            let arrive = |(gap, bytes, flow, ecn_capable)| {
                now += gap;
                Arrival { at: now, bytes, flow, ecn_capable }
            };
            steps.into_iter().map(arrive).collect()
        })
        .boxed()
}

/// §4.2 without CoDel, over lists of packet numbers with a queue for each flow: the order in which
/// packets are sent. Departures precede arrivals.
fn round_robin(arrivals: &[Arrival], quantum: i64) -> Vec<usize> {
    #[derive(Default)]
    struct State {
        queues: std::collections::BTreeMap<u64, (VecDeque<usize>, i64)>,
        new: Vec<u64>,
        old: Vec<u64>,
    }
    let (mut state, mut sent, mut next, mut free) = (State::default(), Vec::new(), 0, 0);
    loop {
        let idle = state.queues.values().all(|(queue, _)| queue.is_empty());
        if idle {
            let Some(arrival) = arrivals.get(next) else { return sent };
            free = free.max(arrival.at);
        }
        // A packet that arrives when the line becomes free comes too late, unless the line is idle.
        let mut first = idle;
        while let Some(arrival) =
            arrivals.get(next).filter(|a| a.at < free || (first && a.at == free))
        {
            first = false;
            let listed = state.new.contains(&arrival.flow) || state.old.contains(&arrival.flow);
            let entry = state.queues.entry(arrival.flow).or_default();
            entry.0.push_back(next);
            if !listed {
                entry.1 = quantum;
                state.new.push(arrival.flow);
            }
            next += 1;
        }
        let packet = loop {
            let from_new = !state.new.is_empty();
            let list = if from_new { &mut state.new } else { &mut state.old };
            let flow = list[0];
            let (queue, credits) = state.queues.get_mut(&flow).unwrap();
            if *credits <= 0 {
                *credits += quantum;
                list.remove(0);
                state.old.push(flow);
                continue;
            }
            if let Some(packet) = queue.pop_front() {
                *credits -= i64::from(arrivals[packet].bytes);
                break packet;
            }
            list.remove(0);
            if from_new {
                state.old.push(flow);
            }
        };
        sent.push(packet);
        free += NANOS_PER_BYTE * u64::from(arrivals[packet].bytes);
        // The scheduler looks for a next packet at once; empty queues leave the lists.
        let waits = state.queues.values().any(|(queue, _)| !queue.is_empty());
        let more = arrivals.get(next).is_some_and(|arrival| arrival.at < free);
        if !waits && !more {
            let (new, old) = (std::mem::take(&mut state.new), std::mem::take(&mut state.old));
            drop((new, old));
        }
    }
}

proptest! {
    /// One flow has one queue: the rule of CoDel alone.
    #[test]
    fn one_flow_is_codel(
        arrivals in any_arrivals(1), target in 100_000..2_000_000u64, more in 1..4_000_000u64
    ) {
        let rule = codel(target, target + more);
        let fair = FqCoDel::new(rule, 1024).unwrap();
        let single = run(Discipline::CoDel(rule), Buffer::Unlimited, &arrivals);
        prop_assert_eq!(run(Discipline::FqCoDel(fair), Buffer::Unlimited, &arrivals), single);
    }

    /// Thirty flows in 65 536 queues; two of them share none.
    #[test]
    fn flows_take_turns_as_in_the_rfc(arrivals in any_arrivals(30), quantum in 100..3000u32) {
        let fair = FqCoDel::new(patient(), FqCoDel::MAX_FLOWS).unwrap();
        let fair = fair.with_quantum(quantum).unwrap();
        let (ends, order) = run(Discipline::FqCoDel(fair), Buffer::Unlimited, &arrivals);
        prop_assert!(ends.iter().all(Option::is_some));
        prop_assert_eq!(order, round_robin(&arrivals, i64::from(quantum)));
    }

    /// Whatever is dropped, the packets of a flow stay in order, and the books balance.
    #[test]
    fn packets_of_a_flow_stay_in_order(
        arrivals in any_arrivals(5), room in 1..20u32, target in 100_000..2_000_000u64, flows in 1..8u32
    ) {
        let fair = FqCoDel::new(codel(target, 3 * target), flows).unwrap();
        let buffer = Buffer::packets(room).unwrap();
        let (_, order) = run(Discipline::FqCoDel(fair), buffer, &arrivals);
        for flow in 0..5 {
            prop_assert!(order.iter().filter(|&&number| arrivals[number].flow == flow).is_sorted());
        }
    }
}

fn burst(flows: &[u64], bytes: u32) -> Vec<Arrival> {
    let arrive = |&flow: &u64| Arrival { at: 0, bytes, flow, ecn_capable: false };
    flows.iter().map(arrive).collect()
}

#[test]
fn a_full_buffer_drops_the_first_packet_of_the_longest_queue() {
    let fair = FqCoDel::new(patient(), FqCoDel::MAX_FLOWS).unwrap();
    // Packet 0 is in transmission, and packet 1 is the first of the longest queue.
    let (ends, order) = run(
        Discipline::FqCoDel(fair),
        Buffer::packets(5).unwrap(),
        &burst(&[1, 1, 1, 1, 1, 2, 2], 1500),
    );
    let dropped: Vec<usize> = (0..7).filter(|&number| ends[number].is_none()).collect();
    assert_eq!(dropped, [1, 2]);
    // Packet 3 uses up the rest of the first quantum. Both packets of the new queue follow.
    assert_eq!(order, [0, 3, 5, 6, 4]);
}

/// A million packets of two flows with sizes of 1500 and 300 bytes: each gets half of the line, and
/// a third flow with single packets does not wait for their queues.
#[test]
fn flows_get_equal_shares_and_sparse_flows_do_not_wait() {
    let rule = codel(5_000_000, 100_000_000);
    let fair = FqCoDel::new(rule, FqCoDel::FLOWS).unwrap();
    let mut link = link(Discipline::FqCoDel(fair), Buffer::packets(200).unwrap());
    let (mut bytes, mut worst, mut number) = ([0u64; 2], 0, 0u64);
    let mut offer = |link: &mut Link<(usize, bool)>, now: u64, flow: usize, size: u32| {
        let packet = Offered { bytes: size, flow: flow as u64, ..Offered::default() };
        link.offer(at(now), packet, (flow, false), |_| 0);
        number += 1;
    };
    let mut sent_at = 0;
    for step in 0..500_000u64 {
        // Each flow offers 1.5 times the rate of the line.
        let now = step * 100_000;
        while let Some(next) = link.next_delivery().filter(|next| next.as_nanos() <= now) {
            link.advance_to(next);
            while link.poll_verdict().is_some() {}
            if let Some((flow, _)) = link.deliver(next) {
                match flow {
                    0 => bytes[0] += 1500,
                    1 => bytes[1] += 300,
                    _ => worst = worst.max(next.as_nanos() - sent_at),
                }
            }
        }
        offer(&mut link, now, 0, 1500);
        for _ in 0..5 {
            offer(&mut link, now, 1, 300);
        }
        if step % 1000 == 999 {
            sent_at = now;
            offer(&mut link, now, 2, 100);
        }
    }
    assert!(number > 1_000_000);
    let difference = bytes[0].abs_diff(bytes[1]);
    assert!(difference < 10_000, "{bytes:?}");
    assert!(bytes[0] + bytes[1] > 490_000_000, "{bytes:?}");
    // It waits for the packet in transmission, and at most for a turn of each new queue.
    assert!(worst <= 500_000, "{worst}");
}

#[test]
fn impossible_parameters_are_refused() {
    for flows in [0, 65_537] {
        assert_eq!(FqCoDel::new(patient(), flows), Err(ConfigError::FqFlows(flows)));
    }
    assert_eq!(FqCoDel::new(patient(), 1).unwrap().with_quantum(0), Err(ConfigError::FqQuantum));
}
