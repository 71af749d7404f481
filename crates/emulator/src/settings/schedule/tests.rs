use link::{LossModel, Probability};
use proptest::prelude::*;

use super::*;

fn read(json: &str) -> Schedule {
    Schedule::from_json(json, &Templates::default()).unwrap_or_else(|e| panic!("{json}: {e}"))
}

fn refused(json: &str) -> String {
    Schedule::from_json(json, &Templates::default()).expect_err(json).to_string()
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

fn loss(value: f64) -> LossModel {
    LossModel::PerPacket(Probability::new(value).unwrap())
}

fn texts(options: &[(&str, &str)]) -> Texts {
    options.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

/// The times of changes up to `until`, in milliseconds.
fn times(schedule: &Schedule, until: u64) -> Vec<u64> {
    let mut found = Vec::new();
    let mut now = Instant::ZERO;
    while let Some(next) = schedule.next_after(now).filter(|next| *next <= at(until)) {
        found.push(next.as_nanos() / 1_000_000);
        now = next;
    }
    found
}

#[test]
fn a_change_replaces_options_from_its_time_on() {
    let schedule = read(
        r#"{"both": {"delay": "20ms", "loss-burst": "0.01,3"},
            "changes": [{"at": "2s", "both": {"loss": "100%"}}, {"at": "3s", "up": {"loss": "none"}}]}"#,
    );
    assert_eq!(times(&schedule, 10_000), [2000, 3000]);
    let losses = |millis| schedule.lines_at(at(millis)).unwrap().map(|line| line.link.loss);
    assert!(losses(1999).iter().all(|loss| matches!(loss, LossModel::Burst(_))));
    assert_eq!(losses(2000), [loss(1.0), loss(1.0)]);
    assert_eq!(losses(3000), [LossModel::None, loss(1.0)]);
    let [up, down] = schedule.directions_at(at(3000));
    assert_eq!(up, texts(&[("delay", "20ms")]));
    assert_eq!(down, texts(&[("delay", "20ms"), ("loss", "100%")]));
}

#[test]
fn outages_are_periodic_and_end() {
    let schedule = read(
        r#"{"both": {"loss": "1%"},
            "changes": [{"every": "10s", "for": "2s", "down": {"loss": "100%"}}]}"#,
    );
    assert_eq!(times(&schedule, 33_000), [10_000, 12_000, 20_000, 22_000, 30_000, 32_000]);
    for (millis, share) in [(0, 0.01), (9999, 0.01), (10_000, 1.0), (11_999, 1.0), (12_000, 0.01)] {
        let [up, down] = schedule.lines_at(at(millis + 20_000 * u64::from(millis > 0))).unwrap();
        assert_eq!((up.link.loss, down.link.loss), (loss(0.01), loss(share)), "{millis}");
    }
}

#[test]
fn a_request_replaces_what_is_in_force_until_the_next_change() {
    let mut schedule =
        read(r#"{"changes": [{"every": "10s", "for": "2s", "both": {"loss": "100%"}}]}"#);
    let set = |share| Overlay { both: texts(&[("loss", share)]), ..Overlay::default() };
    schedule.add(at(11_000), set("5%")).unwrap();
    let down = |schedule: &Schedule, millis| {
        let [_, down] = schedule.lines_at(at(millis)).unwrap();
        down.link.loss
    };
    assert_eq!(down(&schedule, 11_000), loss(0.05));
    assert_eq!(down(&schedule, 15_000), loss(0.05));
    assert_eq!(down(&schedule, 20_000), loss(1.0));
    assert_eq!(down(&schedule, 22_000), loss(0.05));
    // Requests in a row are one change, so that a long series of them costs no memory.
    for _ in 0..100 {
        schedule.add(at(23_000), set("6%")).unwrap();
    }
    assert!(schedule.changes.len() <= 3, "{}", schedule.changes.len());
    assert_eq!(down(&schedule, 23_000), loss(0.06));
    assert_eq!(down(&schedule, 30_000), loss(1.0));
}

#[test]
fn an_invalid_request_changes_nothing() {
    let mut schedule = read(r#"{"both": {"rate": "1mbit"}}"#);
    let before = schedule.clone();
    for (name, text, problem) in [
        ("loss", "two", "`--loss two`: `two` is not a probability"),
        ("speed", "1mbit", "`--speed 1mbit`: a link has no such option"),
        (
            "queue",
            "10B",
            "`--queue 10B`: it cannot hold a packet of 1500 bytes, and would drop each of them",
        ),
        (
            "codel",
            "5ms,100ms",
            "`--codel 5ms,100ms`: the use of CoDel cannot change while the link carries packets",
        ),
        (
            "rate-trace",
            "/missing",
            "`--rate-trace /missing`: cannot read `/missing`: no such file or directory",
        ),
        (
            "shape",
            "1mbit,15kB",
            "`--shape 1mbit,15kB`: a rate trace or a shaper, or the rate beside them, cannot change while the link carries packets",
        ),
    ] {
        let options = Overlay { both: texts(&[(name, text)]), ..Overlay::default() };
        let error = schedule.add(at(1), options).expect_err(name);
        assert_eq!(error.to_string(), problem);
        assert_eq!(schedule, before);
    }
}

#[test]
fn one_law_of_jitter_replaces_the_other() {
    let mut schedule = read(r#"{"up": {"jitter": "uniform:1ms"}}"#);
    let other = Overlay { both: texts(&[("jitter-reorder", "normal:2ms")]), ..Overlay::default() };
    schedule.add(at(1), other).unwrap();
    let [up, down] = schedule.lines_at(at(2)).unwrap();
    assert_eq!(up.link.jitter, down.link.jitter);
    assert!(up.link.jitter.is_some());
}

#[test]
fn a_rate_may_end_while_there_is_a_queue() {
    let schedule = read(
        r#"{"both": {"rate": "1mbit", "queue": "90kB"}, "changes": [{"at": "1s", "both": {"rate": "none"}}]}"#,
    );
    let [up, _] = schedule.lines_at(at(1000)).unwrap();
    assert_eq!(up.link.rate, None);
}

#[test]
fn invalid_schedules_are_refused() {
    for (change, problem) in [
        (r#"{"both": {"loss": "1%"}}"#, "`--loss 1%`: it needs `at` or `every`"),
        (r#"{"at": "soon"}"#, "`at soon`: `soon` is not a duration such as `20ms` or `1.5s`"),
        (r#"{"every": "0s"}"#, "`every 0s`: it must be at least 1ms"),
        (
            r#"{"every": "2s", "for": "2s", "up": {"loss": "1%"}}"#,
            "`--up-loss 1%`: the change lasts as long as its period",
        ),
        (
            r#"{"at": "1s", "both": {"loss": "2"}}"#,
            "`--loss 2`: 2 is not a probability: it must lie between 0 and 1",
        ),
        (
            r#"{"at": "1s", "both": {"queue": "9kB"}}"#,
            "`--queue 9kB`: packets never wait where there is no rate",
        ),
    ] {
        assert_eq!(refused(&format!(r#"{{"changes": [{change}]}}"#)), problem);
    }
}

proptest! {
    /// Between two changes, the settings stay as they are.
    #[test]
    fn settings_change_only_at_changes(
        changes in prop::collection::vec((0..100u64, prop::option::of(1..20u64), prop::option::of(1..30u64), 0..100u32), 0..5),
        until in 1..300u64,
    ) {
        let changes: Vec<Change> = changes
            .into_iter()
            .map(|(begin, lasts, every, share)| Change {
                at: at(begin),
                lasts: lasts.map(Duration::from_millis),
                every: every.map(|every| Duration::from_millis(every + lasts.unwrap_or(0))),
                options: Overlay { both: texts(&[("loss", &format!("{share}%"))]), ..Overlay::default() },
            })
            .collect();
        let schedule = Schedule { changes, ..Schedule::default() };
        let mut next = schedule.next_after(Instant::ZERO);
        for millis in 1..until {
            if next.is_some_and(|next| next <= at(millis)) {
                next = schedule.next_after(at(millis));
            } else {
                prop_assert_eq!(schedule.directions_at(at(millis)), schedule.directions_at(at(millis - 1)));
            }
        }
    }
}
