use proptest::prelude::*;
use units::Rate;

use super::*;
use crate::{
    Buffer, Chance, CoDel, Discipline, Link, LinkConfig, LossModel, Offered, Outcome, Verdict,
};

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn ns(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// A line that sends a byte in `byte_ns` nanoseconds.
fn line(byte_ns: u64) -> Option<Rate> {
    Rate::from_bits_per_sec(8_000_000_000 / byte_ns)
}

fn changes(changes: &[(u64, u64)]) -> DelayChanges {
    let change = |&(when, delay): &(u64, u64)| DelayChange { at: at(when), delay: ns(delay) };
    DelayChanges::new(changes.iter().map(change).collect()).unwrap()
}

fn offered(bytes: u32) -> Offered {
    Offered { bytes, data: true, ecn_capable: true, ..Offered::default() }
}

#[derive(Debug, Clone, Copy)]
struct Step {
    gap: u64,
    bytes: u32,
    lost: bool,
    late: bool,
}

impl Step {
    /// Draws with the results that the step prescribes, for probabilities of one half.
    fn draw(self, chance: Chance) -> u64 {
        let hit = match chance {
            Chance::Loss => self.lost,
            Chance::Reorder => self.late,
            Chance::Early | Chance::Jitter => false,
        };
        if hit { 0 } else { u64::MAX }
    }
}

fn any_steps() -> BoxedStrategy<Vec<Step>> {
    let step = (0..400u64, 1..300u32, any::<bool>(), any::<bool>());
    proptest::collection::vec(
        step.prop_map(|(gap, bytes, lost, late)| Step { gap, bytes, lost, late }),
        1..60,
    )
    .boxed()
}

fn any_changes() -> BoxedStrategy<DelayChanges> {
    proptest::collection::btree_map(0..15_000u64, 0..3000u64, 0..4)
        .prop_map(|made| changes(&made.into_iter().collect::<Vec<_>>()))
        .boxed()
}

fn half(by: u64) -> Reorder {
    Reorder { probability: Probability::new(0.5).unwrap(), by: ns(by) }
}

/// The delivery time of a packet, its number, and whether it was marked.
type Taken = (u64, usize, bool);

/// Takes all packets due up to `limit`.
fn take(link: &mut Link<(usize, bool)>, limit: u64, taken: &mut Vec<Taken>) {
    while let Some(due) = link.next_delivery().filter(|due| due.as_nanos() <= limit) {
        link.advance_to(due);
        while let Some(verdict) = link.poll_verdict() {
            if let Verdict::Marked(content) = verdict {
                content.1 = true;
            }
        }
        while let Some((number, marked)) = link.deliver(due) {
            taken.push((due.as_nanos(), number, marked));
        }
    }
}

fn run(config: &LinkConfig, steps: &[Step]) -> (Link<(usize, bool)>, Vec<Taken>, Vec<Outcome>) {
    let (mut link, mut taken, mut now) = (Link::new(config.clone()), Vec::new(), 0);
    let mut outcomes = Vec::new();
    for (number, &step) in steps.iter().enumerate() {
        now += step.gap;
        take(&mut link, now, &mut taken);
        outcomes.push(
            link.offer(at(now), offered(step.bytes), (number, false), |chance| step.draw(chance)),
        );
        assert!(link.books().balance());
    }
    take(&mut link, u64::MAX - 1, &mut taken);
    link.advance_to(Instant::NEVER);
    (link, taken, outcomes)
}

proptest! {
    #[test]
    fn a_packet_takes_the_delay_of_its_departure_and_comes_out_in_order_of_time(
        steps in any_steps(), made in any_changes(), byte_ns in proptest::sample::select(vec![1u64, 2, 4]), delay in 0..3000u64, by in 1..2000u64,
        reorders: bool,
    ) {
        let config = LinkConfig {
            rate: line(byte_ns),
            delay: ns(delay),
            delay_changes: made.clone(),
            reorder: reorders.then(|| half(by)),
            loss: LossModel::PerPacket(Probability::new(0.5).unwrap()),
            buffer: Buffer::packets(5).unwrap(),
            ..LinkConfig::default()
        };
        let (link, taken, outcomes) = run(&config, &steps);
        let (mut now, mut free, mut expected) = (0, 0, Vec::new());
        for (number, (step, outcome)) in steps.iter().zip(&outcomes).enumerate() {
            now += step.gap;
            if matches!(outcome, Outcome::Dropped(crate::DropReason::Buffer)) {
                continue;
            }
            free = now.max(free) + byte_ns * u64::from(step.bytes);
            if outcome.is_accepted() {
                let path = made.0.iter().rev().find(|change| change.at <= at(free));
                let late = if step.late && reorders { by } else { 0 };
                expected.push((free + path.map_or(delay, |path| path.delay.as_nanos()) + late, number, false));
            }
        }
        expected.sort_by_key(|&(due, ..)| due);
        prop_assert_eq!(taken, expected);
        prop_assert!(link.books().balance() && link.books().held.packets == 0);
    }

    #[test]
    fn codel_chooses_the_same_packets_on_any_path(
        steps in any_steps(), made in any_changes(), delay in 0..3000u64, by in 1..2000u64,
    ) {
        let plain = LinkConfig {
            rate: line(4),
            delay: ns(delay),
            discipline: Discipline::CoDel(CoDel::new(ns(300), ns(900)).unwrap()),
            ..LinkConfig::default()
        };
        let strange = LinkConfig { delay_changes: made, reorder: Some(half(by)), ..plain.clone() };
        let by_number = |config| {
            let (link, mut taken, _) = run(config, &steps);
            taken.sort_by_key(|&(_, number, _)| number);
            let verdicts = taken.iter().map(|&(_, number, marked)| (number, marked)).collect::<Vec<_>>();
            (verdicts, link.books().marked)
        };
        let (verdicts, marked) = by_number(&plain);
        prop_assert_eq!(verdicts.iter().filter(|(_, marked)| *marked).count() as u64, marked.packets);
        prop_assert_eq!((verdicts, marked), by_number(&strange));
    }
}

#[test]
fn packets_on_a_shorter_path_overtake() {
    let config = LinkConfig {
        rate: line(1),
        delay: ns(1000),
        delay_changes: changes(&[(200, 100)]),
        ..LinkConfig::default()
    };
    let mut link = Link::new(config);
    for number in 0..3 {
        let outcome = link
            .offer(at(0), offered(100), number, |_| unreachable!("no random decision is expected"));
        assert_eq!(outcome, Outcome::Pending);
    }
    // They leave at 100, 200 and 300.
    assert_eq!(link.next_delivery(), Some(at(300)));
    assert_eq!(link.newest_mut(), Some(&mut 2));
    let order: Vec<_> = [300, 400, 1100].map(|due| link.deliver(at(due))).into();
    assert_eq!(order, [Some(1), Some(2), Some(0)]);
}

#[test]
fn simultaneous_deliveries_keep_the_order_of_acceptance() {
    let config = LinkConfig { reorder: Some(half(10)), ..LinkConfig::default() };
    let mut link = Link::new(config);
    link.offer(at(0), offered(1), "late", |_| 0);
    link.offer(at(10), offered(1), "on time", |_| u64::MAX);
    assert_eq!(link.next_delivery(), Some(at(10)));
    assert_eq!((link.deliver(at(10)), link.deliver(at(10))), (Some("late"), Some("on time")));
}

#[test]
fn changes_must_be_in_order_of_time() {
    let change = |when| DelayChange { at: at(when), delay: ns(1) };
    let error = DelayChanges::new(vec![change(5), change(5)]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a change at 0.000000005s after one at 0.000000005s is impossible: each must be later than the one before it"
    );
    assert!(DelayChanges::new(vec![change(5), change(6)]).is_ok());
}
