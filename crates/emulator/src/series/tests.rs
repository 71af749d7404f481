use proptest::prelude::*;

use super::*;

fn at(micros: u64) -> Instant {
    Instant::ZERO + Duration::from_micros(micros)
}

/// A sample whose counters are `total`, and whose queue had a maximum of `peak` bytes.
fn lines(total: u64, peak: u64) -> [LineSample; 2] {
    let offered = Tally { packets: total, bytes: 100 * total };
    let up = LineSample {
        reading: Reading { offered, ..Reading::default() },
        max_queue: Tally { packets: peak / 100, bytes: peak },
        ..LineSample::default()
    };
    [up, LineSample::default()]
}

#[test]
fn a_short_run_has_a_sample_at_its_end() {
    let series = Sampler::new().finish(at(300), &lines(7, 0));
    assert_eq!((series.interval_s, &series.time_s[..]), (0.001, &[0.0003][..]));
    assert_eq!(series.up.offered_packets, [7]);
}

#[test]
fn a_late_sample_does_not_delay_the_next() {
    let mut sampler = Sampler::new();
    assert_eq!(sampler.next(), at(1000));
    sampler.add(at(3400), &lines(1, 0));
    assert_eq!(sampler.next(), at(4000));
    sampler.add(at(4000), &lines(2, 0));
    assert_eq!(sampler.next(), at(5000));
}

#[test]
fn the_end_replaces_a_sample_directly_before_it() {
    for (end, times) in [(1400, &[0.0014][..]), (1500, &[0.001, 0.0015][..])] {
        let mut sampler = Sampler::new();
        sampler.add(at(1000), &lines(3, 500));
        let series = sampler.finish(at(end), &lines(4, 200));
        assert_eq!(series.time_s, times);
        // The maximum of the removed sample is kept.
        let peaks: &[u64] = if times.len() == 1 { &[500] } else { &[500, 200] };
        assert_eq!(series.up.max_queue_bytes, peaks);
        assert_eq!(series.up.offered_packets.last(), Some(&4));
    }
}

#[test]
fn memory_does_not_grow_with_the_time() {
    let mut sampler = Sampler::new();
    let capacity = sampler.samples.capacity();
    let day = at(24 * 3600 * 1_000_000);
    let (mut now, mut taken) = (Instant::ZERO, 0_u64);
    while sampler.next() < day {
        now = sampler.next();
        taken += 1;
        sampler.add(now, &lines(now.as_nanos() / 1_000_000, 0));
    }
    assert!(taken < 10_000, "{taken} samples");
    assert_eq!(sampler.samples.capacity(), capacity);
    now += sampler.interval;
    let series = sampler.finish(now, &lines(now.as_nanos() / 1_000_000, 0));
    assert!((LIMIT / 2..LIMIT).contains(&series.time_s.len()));
    // The samples that remain are one interval apart, and each counter is that of its time.
    for (time_s, count) in series.time_s.iter().zip(&series.up.offered_packets) {
        let expected = (time_s * 1000.0).round();
        assert!((f64::from(u32::try_from(*count).unwrap()) - expected).abs() < 0.5);
    }
    for pair in series.time_s.windows(2) {
        assert!((pair[1] - pair[0] - series.interval_s).abs() < 1e-6, "{pair:?}");
    }
}

proptest! {
    /// Thinning keeps the order, the totals at each time, and the maximum of the queue in each
    /// interval.
    #[test]
    fn no_maximum_is_lost(steps in prop::collection::vec((1..5000_u64, 0..10_000_u64), 1..4000)) {
        let (mut sampler, mut now, mut all) = (Sampler::new(), 0, Vec::new());
        let mut latest = 0;
        for (total, (wait, peak)) in (1..).zip(&steps) {
            now += wait;
            latest = latest.max(*peak);
            if at(now) >= sampler.next() {
                sampler.add(at(now), &lines(total, latest));
                all.push((now, total, std::mem::take(&mut latest)));
            }
        }
        let total = steps.len() as u64;
        all.push((now, total, latest));
        let series = sampler.finish(at(now), &lines(total, latest));
        prop_assert!(series.time_s.len() <= LIMIT);
        prop_assert!(series.time_s.is_sorted());
        let mut rest = all.iter().peekable();
        for (number, time_s) in series.time_s.iter().enumerate() {
            let (mut count, mut peak) = (0, 0);
            while let Some((_, total, highest)) =
                rest.next_if(|(micros, ..)| seconds(Duration::from_micros(*micros)) <= *time_s)
            {
                count = *total;
                peak = peak.max(*highest);
            }
            prop_assert_eq!(series.up.offered_packets[number], count);
            prop_assert_eq!(series.up.max_queue_bytes[number], peak);
        }
        prop_assert!(rest.next().is_none());
    }
}
