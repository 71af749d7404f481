use proptest::prelude::*;

use super::*;
use crate::{CoDel, Discipline, Link, LinkConfig, Offered};

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

/// A text with a number a line.
fn column(numbers: impl Iterator<Item = u32>) -> String {
    numbers.map(|number| number.to_string()).collect::<Vec<_>>().join("\n")
}

/// The departures in nanoseconds of packets that are offered at these times.
fn departures(text: &str, discipline: Discipline, packets: &[(u64, u32)]) -> Vec<u64> {
    let rate_trace = Some(RateTrace::parse(text).unwrap());
    let mut link = Link::new(LinkConfig { rate_trace, discipline, ..LinkConfig::default() });
    let mut found = Vec::new();
    let mut take = |link: &mut Link<usize>, until: Instant| {
        while let Some(due) = link.next_delivery().filter(|due| *due <= until) {
            link.advance_to(due);
            assert_eq!(link.poll_verdict(), None);
            if let Some(number) = link.deliver(due) {
                assert_eq!(number, found.len());
                found.push(due.as_nanos());
            }
        }
    };
    for (number, &(when, bytes)) in packets.iter().enumerate() {
        take(&mut link, at(when));
        link.offer(at(when), Offered { bytes, ..Offered::default() }, number, |_| 0);
    }
    take(&mut link, at(u64::MAX - 1));
    assert!(link.books().balance() && link.books().held.packets == 0);
    found
}

/// CoDel with a target above every delay drops nothing.
fn idle_codel() -> Discipline {
    let secs = Duration::from_secs;
    Discipline::CoDel(CoDel::new(secs(1_000_000), secs(2_000_000)).unwrap())
}

/// mahimahi's loop, byte by byte over a list of opportunities: a packet in transit continues, a
/// queue with no packet wastes the rest.
fn replayed(times: &[u32], packets: &[(u64, u32)]) -> Vec<u64> {
    let period = u64::from(*times.last().unwrap());
    let (mut found, mut next, mut in_transit) = (Vec::new(), 0, 0);
    let opportunities =
        (0..).flat_map(|cycle| times.iter().map(move |time| cycle * period + u64::from(*time)));
    for time in opportunities {
        let mut left = 1504;
        while left > 0 {
            if in_transit == 0 {
                if next == packets.len() {
                    return found;
                }
                if packets[next].0 >= time * NANOS_PER_MS {
                    break;
                }
                in_transit = packets[next].1 + 4;
                next += 1;
            }
            let part = in_transit.min(left);
            in_transit -= part;
            left -= part;
            if in_transit == 0 {
                found.push(time * NANOS_PER_MS);
            }
        }
    }
    unreachable!("the opportunities do not end")
}

fn any_packets(gaps: std::ops::Range<u64>) -> BoxedStrategy<Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0), gaps];
    let sizes = prop_oneof![Just(1500u32), Just(40), Just(748), 1..5000u32];
    prop::collection::vec((gap, sizes), 1..60)
        .prop_map(|steps| {
            let mut now = 0;
            let arrive = |(gap, bytes)| {
                now += gap;
                (now, bytes)
            };
            steps.into_iter().map(arrive).collect()
        })
        .boxed()
}

fn any_times() -> BoxedStrategy<Vec<u32>> {
    prop::collection::vec(prop_oneof![Just(0), 0..20u32], 1..30)
        .prop_map(|gaps| {
            let mut time = 0;
            let mut times: Vec<u32> = gaps
                .into_iter()
                .map(|gap| {
                    time += gap;
                    time
                })
                .collect();
            *times.last_mut().unwrap() += 1;
            times
        })
        .boxed()
}

/// The times from `from` to `to` between which the rate is constant.
fn edges(rates: &[(u64, u64)], repeats: bool, from: u64, to: u64) -> Vec<u64> {
    let (mut times, mut edge) = (vec![from, to], 0);
    let cycles = if repeats { usize::MAX } else { 1 };
    for (length, _) in rates.iter().cycle().take(rates.len().saturating_mul(cycles)) {
        if edge > to {
            break;
        }
        times.push(edge.clamp(from, to));
        edge += length;
    }
    times.sort_unstable();
    times.dedup();
    times
}

proptest! {
    #[test]
    fn opportunities_are_those_of_mahimahi(
        times in any_times(), mut packets in any_packets(0..30_000_000), whole: bool
    ) {
        if whole {
            // Arrivals at the times of opportunities.
            for (when, _) in &mut packets {
                *when -= *when % NANOS_PER_MS;
            }
        }
        let text = column(times.iter().copied());
        let expected = replayed(&times, &packets);
        for discipline in [Discipline::DropTail, idle_codel()] {
            prop_assert_eq!(&departures(&text, discipline, &packets), &expected);
        }
    }

    /// The bytes sent up to a departure are the integral of the rate over the busy time.
    #[test]
    fn steps_send_the_integral_of_the_rate(
        rates in prop::collection::vec((1..40_000_000u64, 0..20_000_000u64), 1..8),
        packets in any_packets(0..30_000_000),
        repeats: bool,
    ) {
        let mut begin = 0;
        let mut lines = Vec::new();
        for (index, (length, rate)) in rates.iter().enumerate() {
            let is_last = index + 1 == rates.len();
            let rate = if is_last { rate + 1000 } else { *rate };
            let rate = if rate < 1000 { "0".to_owned() } else { format!("{rate}b/s") };
            lines.push(format!("{begin}ns {rate}"));
            begin += length;
        }
        if repeats {
            lines.push(format!("{begin}ns repeat"));
        }
        let text = lines.join("\n");
        let rate_at = |nanos: u64| {
            let mut within = if repeats { nanos % begin } else { nanos };
            for (index, (length, rate)) in rates.iter().enumerate() {
                let is_last = index + 1 == rates.len();
                if within < *length || is_last {
                    let rate = if is_last { rate + 1000 } else { *rate };
                    return u128::from(if rate < 1000 { 0 } else { rate });
                }
                within -= length;
            }
            unreachable!("the last step is found")
        };
        let found = departures(&text, Discipline::DropTail, &packets);
        let sent = |from: u64, to: u64| -> u128 {
            let edges = edges(&rates, repeats, from, to);
            edges.windows(2).map(|pair| u128::from(pair[1] - pair[0]) * rate_at(pair[0])).sum()
        };
        // The begin of the busy time, and the bits that were offered since then.
        let (mut begin, mut owed, mut last) = (0, 0u128, 0);
        for (&(when, bytes), &departure) in packets.iter().zip(&found) {
            if when > last {
                (begin, owed) = (when, 0);
            }
            owed += u128::from(bytes) * SCALE;
            last = departure;
            prop_assert!(sent(begin, departure) >= owed, "{} at {}", bytes, departure);
            prop_assert!(sent(begin, departure - 1) < owed, "{} at {}", bytes, departure);
        }
        prop_assert_eq!(found.len(), packets.len());
        prop_assert!(found.is_sorted());
    }

    #[test]
    fn any_text_is_a_trace_or_refused_at_a_line(
        text in prop_oneof![
            "[0-9 \n#]{0,40}",
            "([0-9]{1,3}(ms|s) (0|[0-9]{1,2}[kM]b/s|repeat)\n){0,8}",
            "\\PC{0,40}",
        ]
    ) {
        match RateTrace::parse(&text) {
            Err(error) => prop_assert!((1..=text.lines().count().max(1)).contains(&error.line)),
            Ok(trace) => {
                let mut line = TraceLine::new(&trace);
                let mut last = Instant::ZERO;
                for bytes in [1, 1500, 65_535] {
                    let departure = line.send(last, last, bytes);
                    prop_assert!(departure >= last);
                    last = departure;
                }
            }
        }
    }
}

/// Twelve bits a microsecond, then half, then nothing: 1500 bytes take one and two milliseconds.
#[test]
fn a_packet_is_sent_at_the_rates_of_its_time() {
    let table = "0s 12mbit # fast\n2ms 6mbit\n5ms 0\n10ms repeat\n";
    let packets = [(0, 1500), (0, 1500), (0, 1500), (0, 1500), (25 * NANOS_PER_MS, 1500)];
    let expected = [1_000_000, 2_000_000, 4_000_000, 10_500_000, 31_000_000];
    for discipline in [Discipline::DropTail, idle_codel()] {
        assert_eq!(departures(table, discipline, &packets), expected);
    }
    // Without `repeat` the last rate remains.
    let steps = "0s 12mbit\n2ms 6mbit\n";
    assert_eq!(departures(steps, Discipline::DropTail, &[(9_000_000, 1500)]), [11_000_000]);
}

#[test]
fn a_busy_line_with_steps_does_not_drift() {
    // A third of a nanosecond a byte.
    let packets: Vec<(u64, u32)> = vec![(0, 1); 3000];
    let found = departures("0s 24Gb/s\n1s repeat\n", Discipline::DropTail, &packets);
    assert_eq!(found.last(), Some(&1000));
}

#[test]
fn mean_rates_are_those_of_a_period() {
    let mean = |text: &str| RateTrace::parse(text).unwrap().mean_rate().bits_per_sec();
    assert_eq!(mean("1\n1\n2\n4\n"), 4 * 1504 * 8 * 250);
    assert_eq!(mean("0s 12mbit\n2ms 6mbit\n4ms 0\n9ms repeat"), 4_000_000);
    assert_eq!(mean("0s 12mbit\n2ms 6mbit"), 6_000_000);
}

#[test]
fn long_traces_and_late_packets_take_little_time() {
    let text = column(1..=100_000);
    let late = 1_000_000_000_000_000;
    assert_eq!(departures(&text, Discipline::DropTail, &[(late, 1500)]), [late + NANOS_PER_MS]);
    // A bit takes a thousand million hours: the time saturates, and nothing is computed bit by bit.
    let mut slow = TraceLine::new(&RateTrace::parse("0s 1b/s\n1ns 0\n1h repeat\n").unwrap());
    assert_eq!(slow.send(at(5), at(5), 1500), Instant::NEVER);
    assert_eq!(slow.send(at(5), at(5), 1500), Instant::NEVER);
}

#[test]
fn damaged_traces_are_refused_at_their_line() {
    for (text, wanted) in [
        ("", "line 1: there is no entry"),
        ("1\n2\nx\n", "line 3: `x` is not a whole number of milliseconds"),
        ("1\n2 3\n", "line 2: `2 3` is not a whole number of milliseconds"),
        ("5\n\n4\n", "line 3: 4 is before 5, and times must not decrease"),
        ("0\n0\n", "line 2: the last time is 0, and a trace must last for some time"),
        ("99999999999\n", "line 1: `99999999999` is not a whole number of milliseconds"),
        ("0s 1mbit\n5\n", "line 2: `5` is not a time and a rate, such as `2.5s 10mbit`"),
        ("1s 1mbit\n", "line 1: 1s is not 0s, the first time"),
        ("0s 1mbit\n0s 2mbit\n", "line 2: 0s is not after the time before it"),
        (
            "0s 1mbit\n1s 2MB/s\n",
            "line 2: `2MB/s` is in bytes per second, and a rate is in bits: did you mean `16Mb/s` or `2Mb/s`?",
        ),
        ("0s 0\n1s repeat\n", "line 2: the rate is always 0"),
        (
            "0s 1mbit\n1s 0\n",
            "line 2: the last rate is 0 and would remain; add a line with `repeat`",
        ),
        ("0s 1mbit\n1s repeat\n2s 1mbit\n", "line 3: `repeat` must be on the last line"),
        ("0s repeat\n", "line 1: there is nothing to repeat"),
    ] {
        assert_eq!(RateTrace::parse(text).unwrap_err().to_string(), wanted);
    }
}
