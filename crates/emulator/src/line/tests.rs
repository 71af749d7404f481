use link::{
    Balanced, Burst, CoDel, DropReason, FqCoDel, GilbertElliott, Jitter, LossModel, LossTrace,
    RateTrace, TokenBucket,
};
use proptest::prelude::*;
use units::Rate;

use super::*;

const MS: Duration = Duration::from_millis(1);

fn line(config: &LineConfig) -> Line {
    Line::new(config, 1, "up")
}

fn only(link: LinkConfig) -> Line {
    line(&LineConfig { link, ..LineConfig::default() })
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + MS * millis
}

fn p(value: f64) -> Probability {
    Probability::new(value).unwrap()
}

/// A UDP packet, as far as a link parses it, with a number in its last bytes.
fn packet(number: u32, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len.max(28)];
    bytes[0] = 0x45;
    let total = u16::try_from(bytes.len()).unwrap();
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes[9] = 17;
    let end = bytes.len();
    bytes[end - 4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[bytes.len() - 4..].try_into().unwrap())
}

/// All deliveries until `now`, with their times.
fn drain(line: &mut Line, now: Instant) -> Vec<(u32, Instant)> {
    std::iter::from_fn(|| line.deliver(now))
        .map(|arrived| (number(&arrived.bytes), arrived.due))
        .collect()
}

#[test]
fn a_default_line_takes_no_time() {
    let mut line = Line::new(&LineConfig::default(), 1, "up");
    let outcomes = line.offer(at(3), &packet(7, 100));
    assert_eq!(
        outcomes,
        PacketOutcome {
            outcome: Outcome::Accepted,
            duplicate: None,
            corrupted: false,
            reordered: false
        }
    );
    assert_eq!(drain(&mut line, at(3)), [(7, at(3))]);
    assert!(line.is_empty());
}

#[test]
fn rate_and_delay_add_up() {
    let parts = LinkConfig {
        rate: Rate::from_bits_per_sec(8_000_000),
        delay: MS * 20,
        ..LinkConfig::default()
    };
    let mut line = only(parts);
    for number in 0..3 {
        line.offer(at(0), &packet(number, 1000));
    }
    assert_eq!(line.next_delivery(), Some(at(21)));
    assert_eq!(drain(&mut line, at(22)), [(0, at(21)), (1, at(22))]);
    assert_eq!(drain(&mut line, at(99)), [(2, at(23))]);
}

/// Parts of one segment wait for the parts that follow them. All other packets are written when
/// they are due.
#[test]
fn parts_wait_for_each_other() {
    // One leaves each millisecond, from the 21st on.
    for (max_wait, expected) in [
        (0, [21, 22, 23, 24, 25, 26, 27, 28]),
        (1, [22, 23, 24, 24, 25, 26, 27, 28]),
        (2, [23, 24, 24, 24, 25, 26, 27, 28]),
        (9, [24, 24, 24, 24, 25, 26, 27, 28]),
    ] {
        let (rate, delay) = (Rate::from_bits_per_sec(8_000_000), MS * 20);
        let mut line = only(LinkConfig { rate, delay, ..LinkConfig::default() });
        assert_eq!(line.next_write(MS), None);
        for (number, is_part) in (0..).zip([true, true, true, true, false, true, false, true]) {
            line.offer_part(at(0), &packet(number, 1000), is_part);
        }
        for (number, expected) in (0..).zip(expected) {
            assert_eq!(line.next_delivery(), Some(at(21 + number)));
            assert_eq!(
                line.next_write(MS * max_wait),
                Some(at(expected)),
                "packet {number}, {max_wait} ms"
            );
            line.deliver(at(21 + number)).unwrap();
        }
    }
}

#[test]
fn a_duplicate_occupies_the_line() {
    let parts = LinkConfig { rate: Rate::from_bits_per_sec(8_000_000), ..LinkConfig::default() };
    let mut line = Line::new(
        &LineConfig { link: parts, duplicate: Probability::ONE, ..LineConfig::default() },
        1,
        "up",
    );
    let outcomes = line.offer(at(0), &packet(7, 1000));
    assert_eq!(outcomes.duplicate, Some(Outcome::Accepted));
    assert_eq!(drain(&mut line, at(9)), [(7, at(1)), (7, at(2))]);
    assert_eq!((line.books(at(9)).offered.packets, line.extras().duplicated.packets), (2, 1));
}

#[test]
fn one_bit_is_inverted() {
    let mut line =
        Line::new(&LineConfig { corrupt: Probability::ONE, ..LineConfig::default() }, 1, "up");
    let mut places = Vec::new();
    for number in 0..50 {
        let sent = packet(number, 100);
        assert!(line.offer(at(0), &sent).corrupted);
        let arrived = line.deliver(at(0)).unwrap().bytes;
        let turned: Vec<usize> = (0..800)
            .filter(|bit| (sent[bit / 8] ^ arrived[bit / 8]) >> (bit % 8) & 1 == 1)
            .collect();
        assert_eq!(turned.len(), 1);
        places.extend(turned);
    }
    places.sort_unstable();
    places.dedup();
    assert!(places.len() > 30, "always the same bits: {places:?}");
}

#[test]
fn reordered_packets_are_overtaken() {
    let reorder = Some(Reorder { probability: p(0.5), by: MS * 5 });
    let mut line = only(LinkConfig { reorder, ..LinkConfig::default() });
    let reordered: Vec<bool> = (0..20)
        .map(|number| line.offer(at(u64::from(number)), &packet(number, 100)).reordered)
        .collect();
    assert!(reordered.contains(&true) && reordered.contains(&false));
    let arrived = drain(&mut line, at(99));
    assert_eq!(arrived.len(), 20);
    assert!(arrived.is_sorted_by_key(|&(_, due)| due));
    for (number, due) in arrived {
        let extra = if reordered[number as usize] { 5 } else { 0 };
        assert_eq!(due, at(u64::from(number) + extra), "packet {number}");
    }
}

#[test]
fn the_next_delivery_reports_a_gap() {
    let parts = LinkConfig {
        buffer: link::Buffer::packets(1).unwrap(),
        rate: Rate::from_bits_per_sec(8_000_000),
        ..LinkConfig::default()
    };
    let mut line = only(parts);
    for number in 0..3 {
        let outcome = line.offer(at(0), &packet(number, 1000)).outcome;
        assert_eq!(outcome == Outcome::Dropped(DropReason::Buffer), number > 0);
    }
    line.offer(at(5), &packet(3, 1000));
    assert_eq!(line.deliver(at(9)).unwrap().gap, 0);
    assert_eq!(line.deliver(at(9)).unwrap().gap, 2);
}

/// A persistent queue: every millisecond a packet arrives and one leaves. The next delivered packet
/// reports the packets that CoDel has dropped.
#[test]
fn the_next_delivery_reports_codel_drops() {
    let codel = CoDel::new(MS * 5, MS * 100).unwrap();
    let mut line = Line::new(
        &LineConfig {
            link: LinkConfig {
                rate: Rate::from_bits_per_sec(8_000_000),
                discipline: Discipline::CoDel(codel),
                ..LinkConfig::default()
            },
            corrupt: Probability::ONE,
            ..LineConfig::default()
        },
        1,
        "up",
    );
    let (mut arrived, mut reported) = (0, 0);
    let mut take = |line: &mut Line, now| {
        while let Some(delivery) = line.deliver(now) {
            arrived += 1;
            reported += delivery.gap;
            line.recycle(delivery.bytes);
        }
    };
    for number in 0..600u32 {
        let now = at(u64::from(number.saturating_sub(20)));
        take(&mut line, now);
        assert_eq!(line.offer(now, &packet(number, 1000)).outcome, Outcome::Pending);
        assert!(line.books(now).balance());
    }
    take(&mut line, at(2000));
    let books = line.books(at(2000));
    assert!(books.balance() && line.is_empty());
    assert!(books.dropped_early.packets > 5, "{books:?}");
    assert_eq!(
        (arrived, u64::from(reported)),
        (books.delivered.packets, books.dropped_early.packets)
    );
    assert_eq!(
        line.extras().corrupted,
        books.delivered,
        "what was dropped does not arrive corrupted"
    );
}

/// A packet that is marked as it leaves the queue arrives marked.
#[test]
fn codel_marks_ecn_capable_packets() {
    let codel = CoDel::new(MS * 5, MS * 100).unwrap();
    let parts = LinkConfig {
        rate: Rate::from_bits_per_sec(8_000_000),
        discipline: Discipline::CoDel(codel),
        ..LinkConfig::default()
    };
    let mut line = only(parts);
    let mut capable = packet(7, 1000);
    capable[1] = 2;
    for number in 0..600u64 {
        line.offer(at(number.saturating_sub(20)), &capable);
    }
    let (mut marked, mut bits) = (0, 0);
    while let Some(now) = line.next_delivery() {
        while let Some(delivery) = line.deliver(now) {
            marked += u64::from(delivery.marked);
            bits += u64::from(delivery.bytes[1] & 3 == 3);
        }
    }
    let books = line.books(at(2000));
    assert!(marked > 5 && books.dropped_early.packets == 0, "{books:?}");
    assert_eq!((marked, bits), (books.marked.packets, books.marked.packets));
}

/// §4 of Cohen and Hamo: of two connections, the one that has just lost a packet is protected.
#[test]
fn balanced_discard_distinguishes_connections() {
    let parts = LinkConfig {
        rate: Rate::from_bits_per_sec(8_000_000),
        buffer: link::Buffer::packets(10).unwrap(),
        discipline: Discipline::Balanced(Balanced::new(p(0.2), p(0.8), 3).unwrap()),
        ..LinkConfig::default()
    };
    let mut line = only(parts);
    let mut offer = |port: u8, number| {
        let mut bytes = packet(number, 1000);
        bytes[23] = port;
        line.offer(at(0), &bytes).outcome.is_accepted()
    };
    // Three packets are accepted before more than a fifth of the queue is occupied.
    assert_eq!([1, 2, 3].map(|port| offer(port, 0)), [true; 3]);
    let first: Vec<bool> = (0..5).map(|number| offer(1, number)).collect();
    assert_eq!(first, [false, true, true, true, false]);
    assert!(!offer(2, 9));
}

fn anything() -> BoxedStrategy<LineConfig> {
    let loss = prop_oneof![
        Just(LossModel::None),
        (0.0..1.0).prop_map(|x| LossModel::PerPacket(p(x))),
        (0.0..0.01).prop_map(|x| LossModel::PerByte(p(x))),
        Just(LossModel::Burst(Burst::new(p(0.2), 3.0).unwrap())),
        Just(LossModel::Trace(LossTrace::new(vec![true, false, false], false))),
        Just(LossModel::GilbertElliott(GilbertElliott {
            good_to_bad: p(0.2),
            bad_to_good: p(0.3),
            bad_loss: p(0.7),
            good_loss: p(0.1),
        })),
    ];
    let chances = (0.0..0.6, 0.0..0.6, 0.0..0.6);
    let codel = CoDel::new(Duration::from_micros(200), Duration::from_micros(900)).unwrap();
    let fair = Discipline::FqCoDel(FqCoDel::new(codel, 4).unwrap());
    let disciplines =
        prop_oneof![Just(Discipline::DropTail), Just(Discipline::CoDel(codel)), Just(fair)];
    let numbers = (1..50_000_000u64, 0..30u64, 1..20u32);
    let jitter = prop::option::of(any::<bool>());
    let bucket = |rate| TokenBucket::new(Rate::from_bits_per_sec(rate).unwrap(), 3000).unwrap();
    let bucket = prop::option::of((1_000_000..20_000_000u64).prop_map(bucket));
    let traces = prop_oneof![
        Just(None),
        Just(Some(RateTrace::parse("1\n1\n3\n").unwrap())),
        Just(Some(RateTrace::parse("0s 9mbit\n2ms 0\n5ms repeat").unwrap())),
    ];
    let rates = (prop::array::uniform2(bucket), traces);
    (loss, chances, numbers, disciplines, jitter, rates)
        .prop_map(|(loss, (a, b, c), (rate, delay, room), discipline, jitter, rates)| {
            let ([police, shape], rate_trace) = rates;
            let link = LinkConfig {
                discipline,
                rate_trace,
                police,
                shape,
                rate: Rate::from_bits_per_sec(rate),
                delay: MS * delay,
                buffer: link::Buffer::packets(room).unwrap(),
                loss,
                jitter: jitter.map(|reorders| Jitter::normal(MS * 4).with_reordering(reorders)),
                reorder: Some(Reorder { probability: p(c), by: MS * 7 }),
                ..LinkConfig::default()
            };
            LineConfig { link, duplicate: p(a), corrupt: p(b), path_mtu: None }
        })
        .boxed()
}

proptest! {
    #[test]
    fn books_balance_and_outcomes_are_repeatable(
        config in anything(),
        seed: u64,
        packets in prop::collection::vec((0..3u64, 28..1500usize, any::<bool>()), 1..60),
        max_wait in 0..4u64,
    ) {
        let mut lines = [Line::new(&config, seed, "up"), Line::new(&config, seed, "up")];
        let mut now = at(0);
        let mut seen = [Vec::new(), Vec::new()];
        let mut readings: Vec<(Reading, Tally)> = Vec::new();
        for (number, (wait, len, is_part)) in packets.iter().enumerate() {
            now += MS * *wait;
            let packet = packet(u32::try_from(number).unwrap(), *len);
            for (line, seen) in lines.iter_mut().zip(&mut seen) {
                seen.push((line.offer_part(now, &packet, *is_part), drain(line, now)));
                let [next, together] = [line.next_delivery(), line.next_write(MS * max_wait)];
                let latest = next.map(|next| next + MS * max_wait);
                prop_assert!((next..=latest).contains(&together), "{:?} for {:?}", together, next);
                let books = line.books(now);
                prop_assert!(books.balance(), "{:?}", books);
            }
            // Only one of the lines is read.
            if wait % 2 == 1 {
                readings.push(lines[0].read(now));
            }
        }
        prop_assert_eq!(&seen[0], &seen[1]);
        let line = &mut lines[0];
        readings.push(line.read(now));
        let statistics = line.queue_statistics(now);
        prop_assert_eq!(readings.last().unwrap().0.busy, statistics.busy);
        prop_assert_eq!(readings.iter().map(|(_, max)| max.bytes).max(), Some(statistics.max.bytes));
        let packets_max = readings.iter().map(|(_, max)| max.packets).max();
        prop_assert_eq!(packets_max, Some(statistics.max.packets));
        let mut last = now;
        while let Some(next) = line.next_delivery() {
            prop_assert!(next >= last || next <= now);
            last = next;
            drain(line, next);
        }
        let books = line.books(Instant::NEVER);
        prop_assert!(books.balance() && books.held.packets == 0, "{:?}", books);
        prop_assert_eq!(books.offered.packets, packets.len() as u64 + line.extras().duplicated.packets);
    }
}
