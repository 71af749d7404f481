//! Random links and packets, driven beside a line in exact arithmetic.

use proptest::prelude::*;
use units::{Duration, Rate};

use super::super::{Chance, DropReason, Link, LinkConfig, LossPoint, Offered, Outcome, Tally};
use super::at;
use crate::atm::Framing;
use crate::{
    Balanced, Buffer, Burst, Discipline, GilbertElliott, Linear, LossModel, LossTrace, Measure,
    Probability, Red,
};

/// The history of the n-th packet offered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) arrival: u64,
    pub(super) bytes: u32,
    pub(super) outcome: Outcome,
    /// Computed with exact rational arithmetic; `None` for a packet that never reached the line.
    pub(super) departure: Option<u64>,
    pub(super) delivered: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) gap: u64,
    pub(super) bytes: u32,
    data: bool,
    ecn_capable: bool,
    draw: u64,
    /// A delivery due at the time of the offer precedes it.
    deliver_first: bool,
}

impl Step {
    pub(super) fn offered(&self) -> Offered {
        Offered {
            bytes: self.bytes,
            data: self.data,
            ecn_capable: self.ecn_capable,
            flow: self.draw % 3,
            ..Offered::default()
        }
    }

    pub(super) fn draw_for(&self, chance: Chance) -> u64 {
        match chance {
            Chance::Loss => self.draw,
            Chance::Early => self.draw.rotate_left(32),
            Chance::Reorder | Chance::Jitter => panic!("no packet is reordered here"),
        }
    }
}

/// A line in units of 1/rate nanoseconds, in which every transmission time is a whole number.
struct ExactLine {
    rate: Option<u128>,
    free: u128,
}

impl ExactLine {
    fn new(config: &LinkConfig) -> Self {
        Self { rate: config.rate.map(|rate| u128::from(rate.bits_per_sec())), free: 0 }
    }

    fn send(&mut self, now: u64, bytes: u32) -> u64 {
        let Some(rate) = self.rate else { return now };
        self.free = self.free.max(u128::from(now) * rate) + u128::from(bytes) * 8_000_000_000;
        u64::try_from(self.free.div_ceil(rate)).unwrap()
    }
}

/// Drives a link and calls `look` after every offer and every delivery.
pub(super) fn drive(
    config: &LinkConfig,
    steps: &[Step],
    mut look: impl FnMut(&mut Link<usize>, u64, &[Seen]),
) -> (Link<usize>, Vec<Seen>) {
    let mut link = Link::new(config.clone());
    let mut exact = ExactLine::new(config);
    let mut seen: Vec<Seen> = Vec::new();
    let mut now = 0;
    for step in steps {
        now += step.gap;
        let before = if step.deliver_first { now } else { now.saturating_sub(1) };
        deliver_up_to(&mut link, before, &mut seen, &mut look);
        let outcome =
            link.offer(at(now), step.offered(), seen.len(), |chance| step.draw_for(chance));
        let sent = match outcome {
            Outcome::Accepted | Outcome::Marked => true,
            Outcome::Dropped(DropReason::Loss) => config.loss_point == LossPoint::Line,
            Outcome::Dropped(DropReason::Buffer | DropReason::Early) => false,
            Outcome::Pending => panic!("no verdict is deferred here"),
        };
        let departure = sent.then(|| exact.send(now, config.framing.line_bytes(step.bytes)));
        seen.push(Seen { arrival: now, bytes: step.bytes, outcome, departure, delivered: None });
        look(&mut link, now, &seen);
        deliver_up_to(&mut link, now, &mut seen, &mut look);
    }
    deliver_up_to(&mut link, u64::MAX, &mut seen, &mut look);
    (link, seen)
}

fn deliver_up_to(
    link: &mut Link<usize>,
    limit: u64,
    seen: &mut [Seen],
    look: &mut impl FnMut(&mut Link<usize>, u64, &[Seen]),
) {
    while let Some(due) = link.next_delivery().filter(|due| due.as_nanos() <= limit) {
        if let Some(early) = due.as_nanos().checked_sub(1) {
            assert_eq!(link.head(at(early)), None, "shown before it was due");
            assert_eq!(link.deliver(at(early)), None, "delivered before it was due");
        }
        let shown = link.head(due).copied();
        let serial = link.deliver(due).expect("a delivery that is due");
        assert_eq!(shown, Some(serial), "another one delivered than shown");
        assert_eq!(seen[serial].delivered, None, "delivered twice");
        seen[serial].delivered = Some(due.as_nanos());
        look(link, due.as_nanos(), seen);
    }
}

/// The sizes of the packets in the queue at `now`, in order: arrived and not departed.
pub(super) fn in_queue(seen: &[Seen], now: u64) -> impl Iterator<Item = u32> + '_ {
    seen.iter()
        .filter(move |p| p.arrival <= now && p.departure.is_some_and(|departure| departure > now))
        .map(|p| p.bytes)
}

pub(super) fn tally(sizes: impl Iterator<Item = u32>) -> Tally {
    let mut tally = Tally::default();
    sizes.for_each(|bytes| tally.count(bytes));
    tally
}

fn any_buffer() -> BoxedStrategy<Buffer> {
    prop_oneof![
        Just(Buffer::Unlimited),
        (1..20_000u64).prop_map(|bytes| Buffer::bytes(bytes).unwrap()),
        (1..12u32).prop_map(|packets| Buffer::packets(packets).unwrap()),
        (1..2000u32, 0..20_000u64).prop_map(|(chunk, more)| Buffer::chunks(
            u64::from(chunk) + more,
            chunk
        )
        .unwrap()),
    ]
    .boxed()
}

fn any_loss() -> BoxedStrategy<LossModel> {
    let p = |value: f64| Probability::new(value).unwrap();
    prop_oneof![
        Just(LossModel::None),
        (0.0..=1.0).prop_map(move |value| LossModel::PerPacket(p(value))),
        (0.0..0.01).prop_map(move |value| LossModel::PerByte(p(value))),
        (0.0..=1.0, 1..2000u32)
            .prop_map(move |(value, size)| LossModel::Linear(Linear::new(p(value), size).unwrap())),
        (0.0..0.5, 1.0..10.0)
            .prop_map(move |(loss, run)| LossModel::Burst(Burst::new(p(loss), run).unwrap())),
        any::<[bool; 2]>().prop_map(move |[stays, good]| {
            let good_loss = p(if good { 0.1 } else { 0.0 });
            let bad_to_good = p(if stays { 0.1 } else { 0.6 });
            LossModel::GilbertElliott(GilbertElliott {
                good_to_bad: p(0.3),
                bad_to_good,
                bad_loss: p(0.8),
                good_loss,
            })
        }),
        prop::collection::vec(any::<bool>(), 0..30).prop_map(LossModel::Mask),
        (prop::collection::vec(any::<bool>(), 0..30), any::<bool>())
            .prop_map(|(drops, data_only)| LossModel::Trace(LossTrace::new(drops, data_only))),
    ]
    .boxed()
}

fn any_discipline() -> BoxedStrategy<Discipline> {
    let p = |value: f64| Probability::new(value).unwrap();
    let red =
        (0..6u64, 1..8u64, any::<bool>(), 0.0..=1.0, 0.01..=1.0, 1..2000u32, any::<[bool; 2]>())
            .prop_map(move |(min, span, bytes, max_p, w_q, mean, [gentle, spare])| {
                let (measure, unit) =
                    if bytes { (Measure::Bytes, 700) } else { (Measure::Packets, 1) };
                let red =
                    Red::new(measure, min * unit, (min + span) * unit, p(max_p), p(w_q)).unwrap();
                Discipline::Red(
                    red.with_mean_packet(mean).unwrap().with_gentle(gentle).with_spare_short(spare),
                )
            });
    let balanced = (0.0..=1.0, 0.0..=1.0, 0..5u32).prop_map(move |(lower, more, gap)| {
        let upper = lower + (1.0 - lower) * more;
        Discipline::Balanced(Balanced::new(p(lower), p(upper), gap).unwrap())
    });
    prop_oneof![Just(Discipline::DropTail), red, balanced].boxed()
}

/// Links on which a packet takes from none to some thousand nanoseconds, so that a few dozen
/// packets build queues.
pub(super) fn any_config() -> BoxedStrategy<LinkConfig> {
    let rate = prop_oneof![
        1 => Just(None),
        4 => (1_000_000_000..200_000_000_000u64).prop_map(Rate::from_bits_per_sec),
    ];
    let loss_point = prop_oneof![Just(LossPoint::Line), Just(LossPoint::Entry)];
    let framing = prop_oneof![3 => Just(Framing::Packet), 1 => Just(Framing::Aal5)];
    (
        rate,
        0..3000u64,
        any_buffer(),
        any::<bool>(),
        any_discipline(),
        any_loss(),
        (loss_point, framing),
    )
        .prop_map(
            |(rate, delay, buffer, counts_in_service, discipline, loss, (loss_point, framing))| {
                LinkConfig {
                    rate,
                    delay: Duration::from_nanos(delay),
                    buffer,
                    counts_in_service,
                    discipline,
                    loss,
                    loss_point,
                    framing,
                    ..LinkConfig::default()
                }
            },
        )
        .boxed()
}

pub(super) fn any_steps(gaps: std::ops::Range<u64>, count: usize) -> BoxedStrategy<Vec<Step>> {
    let gap = prop_oneof![Just(0), gaps];
    let bytes = prop_oneof![Just(40), Just(375), Just(1500), 0..3000u32];
    let step = (gap, bytes, any::<[bool; 3]>(), any::<u64>()).prop_map(
        |(gap, bytes, [data, ecn_capable, deliver_first], draw)| Step {
            gap,
            bytes,
            data,
            ecn_capable,
            draw,
            deliver_first,
        },
    );
    prop::collection::vec(step, 1..count).boxed()
}
