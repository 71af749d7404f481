//! Custom models see every packet with its facts, and behave like the built-in models that decide
//! in the same way.

use std::sync::Mutex;

use units::hash::{GOLDEN, mix};
use units::{Duration, Rate};

use super::*;
use crate::{
    Chance, CoDel, Discipline, DropReason, Link, LinkConfig, LossModel, LossPoint, Outcome,
    Probability,
};

/// Facts that a model has seen, shared with the test.
type Seen<F> = Arc<Mutex<Vec<F>>>;

#[derive(Debug)]
struct Bernoulli {
    probability: Probability,
    seen: Seen<LossFacts>,
}

impl CustomLoss for Bernoulli {
    fn loses(&mut self, facts: &LossFacts) -> bool {
        self.seen.lock().unwrap().push(*facts);
        self.probability.hits(facts.draw)
    }
}

/// Repeats a list of decisions.
#[derive(Debug)]
struct Listed {
    decisions: Vec<Admission>,
    seen: Seen<QueueFacts>,
}

impl CustomDiscipline for Listed {
    fn decide(&mut self, facts: &QueueFacts) -> Admission {
        let mut seen = self.seen.lock().unwrap();
        seen.push(*facts);
        self.decisions[(seen.len() - 1) % self.decisions.len()]
    }
}

fn listed(decisions: &[Admission]) -> (Discipline, Seen<QueueFacts>) {
    let (decisions, seen) = (decisions.to_vec(), Seen::default());
    let shared = Arc::clone(&seen);
    let make = move || -> Box<dyn CustomDiscipline> {
        Box::new(Listed { decisions: decisions.clone(), seen: Arc::clone(&shared) })
    };
    (Discipline::Custom(Factory::new(make)), seen)
}

fn bernoulli(probability: Probability) -> (LossModel, Seen<LossFacts>) {
    let seen = Seen::default();
    let shared = Arc::clone(&seen);
    let make = move || -> Box<dyn CustomLoss> {
        Box::new(Bernoulli { probability, seen: Arc::clone(&shared) })
    };
    (LossModel::Custom(Factory::new(make)), seen)
}

fn line(buffer: Buffer) -> LinkConfig {
    let rate = Rate::from_bits_per_sec(12_000_000);
    LinkConfig { rate, delay: Duration::from_millis(10), buffer, ..LinkConfig::default() }
}

fn packet(number: u32) -> Offered {
    let bytes = if number.is_multiple_of(3) { 500 } else { 1500 };
    Offered { bytes, data: true, flow: u64::from(number), ..Offered::default() }
}

/// The outcomes of packets that arrive every 0.4 ms, faster than the line sends them.
fn outcomes(config: LinkConfig) -> Vec<Outcome> {
    let mut link = Link::new(config);
    let offer = |number: u32| {
        let now = Instant::from_nanos(400_000 * u64::from(number));
        let draw = |_: Chance| mix(GOLDEN.wrapping_mul(u64::from(number)));
        link.offer(now, packet(number), (), draw)
    };
    let outcomes = (0..1000).map(offer).collect();
    assert!(link.books().balance());
    outcomes
}

#[test]
fn a_custom_bernoulli_model_loses_the_packets_of_the_built_in_one() {
    let third = Probability::new(0.3).unwrap();
    for loss_point in [LossPoint::Line, LossPoint::Entry] {
        let config = LinkConfig { loss_point, ..line(Buffer::packets(5).unwrap()) };
        let (custom, seen) = bernoulli(third);
        let built_in = LinkConfig { loss: LossModel::PerPacket(third), ..config.clone() };
        let outcome = outcomes(LinkConfig { loss: custom, ..config });
        assert_eq!(outcome, outcomes(built_in));
        assert!(outcome.contains(&Outcome::Dropped(DropReason::Loss)));
        assert!(outcome.contains(&Outcome::Dropped(DropReason::Buffer)));
        // On the line the model decides on packets that the buffer accepts, at the entry on all.
        let refused =
            outcome.iter().filter(|&&each| each == Outcome::Dropped(DropReason::Buffer)).count();
        let expected = if loss_point == LossPoint::Entry { 1000 } else { 1000 - refused };
        assert_eq!(seen.lock().unwrap().len(), expected);
    }
}

/// The queue decides later; the loss model decides on arrival.
#[test]
fn a_custom_bernoulli_model_works_with_codel() {
    let third = Probability::new(0.3).unwrap();
    let ms = Duration::from_millis;
    let discipline = Discipline::CoDel(CoDel::new(ms(5), ms(100)).unwrap());
    let config = LinkConfig { discipline, ..line(Buffer::packets(50).unwrap()) };
    let (custom, seen) = bernoulli(third);
    let built_in = LinkConfig { loss: LossModel::PerPacket(third), ..config.clone() };
    let outcome = outcomes(LinkConfig { loss: custom, ..config });
    assert_eq!(outcome, outcomes(built_in));
    assert!(outcome.contains(&Outcome::Pending) && seen.lock().unwrap().len() > 500);
}

#[test]
fn a_loss_model_sees_time_and_packet() {
    let (custom, seen) = bernoulli(Probability::ZERO);
    outcomes(LinkConfig { loss: custom, ..line(Buffer::Unlimited) });
    let facts = seen.lock().unwrap()[4];
    assert_eq!((facts.now.as_nanos(), facts.packet), (1_600_000, packet(4)));
    assert_eq!(facts.draw, mix(GOLDEN.wrapping_mul(4)));
}

#[test]
fn accepting_every_packet_is_drop_tail() {
    let config = line(Buffer::bytes(6000).unwrap());
    let (discipline, seen) = listed(&[Admission::Accept]);
    let built_in = outcomes(config.clone());
    assert_eq!(outcomes(LinkConfig { discipline, ..config }), built_in);
    let fits: Vec<bool> = seen.lock().unwrap().iter().map(|facts| facts.fits).collect();
    let accepted: Vec<bool> = built_in.iter().map(|each| each.is_accepted()).collect();
    assert_eq!(fits, accepted);
}

#[test]
fn a_discipline_sees_the_queue_before_the_packet() {
    let buffer = Buffer::packets(100).unwrap();
    let (discipline, seen) = listed(&[Admission::Accept]);
    let mut link = Link::new(LinkConfig { discipline, ..line(buffer) });
    // A packet of 1500 bytes takes 1 ms.
    for (at_us, number) in [(0, 1), (100, 2), (900, 4), (10_000, 5)] {
        link.offer(Instant::from_nanos(at_us * 1000), packet(number), (), |_| 0);
    }
    let seen = seen.lock().unwrap();
    let queues: Vec<_> =
        seen.iter().map(|facts| (facts.queue.packets, facts.queue.bytes)).collect();
    assert_eq!(queues, [(0, 0), (1, 1500), (2, 3000), (0, 0)]);
    let idle = [Some(Instant::ZERO), None, None, Some(Instant::from_nanos(3_000_000))];
    assert_eq!(seen.iter().map(|facts| facts.idle_since).collect::<Vec<_>>(), idle);
    assert!(seen.iter().all(|facts| facts.buffer == buffer));
}

/// RFC 3168 §5: only an ECN-capable packet can be marked.
#[test]
fn decisions_become_outcomes() {
    let early = Outcome::Dropped(DropReason::Early);
    let table = [
        (Admission::Accept, false, Outcome::Accepted),
        (Admission::Accept, true, Outcome::Accepted),
        (Admission::Mark, true, Outcome::Marked),
        (Admission::Mark, false, early),
        (Admission::Drop, true, early),
        (Admission::Drop, false, early),
    ];
    for (decision, ecn_capable, expected) in table {
        let (discipline, _) = listed(&[decision]);
        let mut link = Link::new(LinkConfig { discipline, ..line(Buffer::Unlimited) });
        let packet = Offered { ecn_capable, ..packet(1) };
        assert_eq!(link.offer(Instant::ZERO, packet, (), |_| 0), expected, "{decision:?}");
    }
}

#[test]
fn no_decision_makes_room_in_a_full_buffer() {
    for decision in [Admission::Accept, Admission::Mark, Admission::Drop] {
        let (discipline, _) = listed(&[Admission::Accept, decision]);
        let mut link = Link::new(LinkConfig { discipline, ..line(Buffer::packets(1).unwrap()) });
        let mut offer = |number| link.offer(Instant::ZERO, packet(number), (), |_| 0);
        assert_eq!(offer(1), Outcome::Accepted);
        assert_eq!(offer(2), Outcome::Dropped(DropReason::Buffer), "{decision:?}");
    }
}

#[test]
fn a_link_with_a_custom_model_is_not_plain() {
    assert!(line(Buffer::Unlimited).is_plain());
    let loss = bernoulli(Probability::ZERO).0;
    assert!(!LinkConfig { loss, ..line(Buffer::Unlimited) }.is_plain());
    let discipline = listed(&[Admission::Accept]).0;
    assert!(!LinkConfig { discipline, ..line(Buffer::Unlimited) }.is_plain());
}

#[test]
fn factories_are_equal_if_they_are_clones() {
    let (first, _) = bernoulli(Probability::ZERO);
    assert_eq!(first, first.clone());
    assert_ne!(first, bernoulli(Probability::ZERO).0);
}
