//! The port as the paper describes it, and the properties that compare ports with it and with each
//! other.

use proptest::prelude::*;

use super::super::{CELL_BYTES, Discard};
use super::{Frame, MICRO, at, bpd, drive, p, port, run};
use crate::Probability;

/// The port as the paper describes it, one cell at a time and without optimization.
struct Specification {
    capacity: u32,
    policy: Discard,
    /// Departure times of the cells in the buffer, in nanoseconds.
    buffer: Vec<u64>,
    free: u64,
    circuits: std::collections::HashMap<u64, Gap>,
}

#[derive(Default)]
struct Gap {
    left: u32,
    dropping: bool,
    /// Cells at the receiver whose frame has no last cell yet, as frame and cell numbers.
    open: Vec<(usize, u32)>,
}

impl Specification {
    /// The delivery time of each packet; `None` if it is lost.
    fn run(&mut self, frames: &[Frame]) -> Vec<Option<u64>> {
        let mut cells: Vec<(u64, usize, u32)> = Vec::new();
        for (number, frame) in frames.iter().enumerate() {
            let times = (0..frame.cells).map(|cell| frame.first + u64::from(cell) * frame.apart);
            cells.extend(times.zip(0..).map(|(time, cell)| (time, number, cell)));
        }
        cells.sort_unstable();
        let mut arrived = vec![None; frames.len()];
        for (now, number, cell) in cells {
            self.buffer.retain(|&leaves| leaves > now);
            let frame = frames[number];
            let (is_first, is_last) = (cell == 0, cell + 1 == frame.cells);
            let stored = self.stores(frame.circuit, is_first, is_last);
            let circuit = self.circuits.entry(frame.circuit).or_default();
            if !stored {
                continue;
            }
            self.free = self.free.max(now) + MICRO;
            self.buffer.push(self.free);
            // The receiver joins cells until a last cell arrives.
            circuit.open.push((number, cell));
            if is_last {
                let whole: Vec<(usize, u32)> =
                    (0..frame.cells).map(|cell| (number, cell)).collect();
                if std::mem::take(&mut circuit.open) == whole {
                    arrived[number] = Some(self.free);
                }
            }
        }
        arrived
    }

    fn stores(&mut self, circuit: u64, is_first: bool, is_last: bool) -> bool {
        let taken = u32::try_from(self.buffer.len()).unwrap();
        let full = taken == self.capacity;
        let state = self.circuits.entry(circuit).or_default();
        let share = |share: Probability| share.as_f64() * f64::from(self.capacity);
        let exceeded = match self.policy {
            Discard::Plain => return !full,
            Discard::Ppd => false,
            Discard::Epd(threshold) => f64::from(taken) > share(threshold).round(),
            Discard::Bpd(_) if state.left > 0 => f64::from(taken) > share(self.upper()).round(),
            Discard::Bpd(_) => f64::from(taken) > share(self.lower()).round(),
        };
        let state = self.circuits.entry(circuit).or_default();
        let stored = if state.dropping {
            is_last && !full
        } else {
            let drop = full || (is_first && exceeded);
            state.dropping = drop;
            !drop
        };
        if is_last {
            // The end of the packet: it begins the period if it was damaged, else it counts.
            state.left = match (state.dropping, self.policy) {
                (true, Discard::Bpd(balanced)) => balanced.parts().2,
                _ => state.left.saturating_sub(1),
            };
            state.dropping = false;
        }
        stored
    }

    fn lower(&self) -> Probability {
        let Discard::Bpd(balanced) = self.policy else { unreachable!() };
        balanced.parts().0
    }

    fn upper(&self) -> Probability {
        let Discard::Bpd(balanced) = self.policy else { unreachable!() };
        balanced.parts().1
    }
}

fn any_discard() -> BoxedStrategy<Discard> {
    prop_oneof![
        Just(Discard::Plain),
        Just(Discard::Ppd),
        (0.0..=1.0).prop_map(|threshold| Discard::Epd(p(threshold))),
        (0.0..=1.0, 0.0..=1.0, 0..5u32).prop_map(|(a, b, gap)| bpd(
            f64::min(a, b),
            f64::max(a, b),
            gap
        )),
    ]
    .boxed()
}

/// Frames on a few lines, with one or two circuits each, and one frame after another on each line.
fn any_frames() -> BoxedStrategy<Vec<Frame>> {
    let line = (1..4u64, prop::collection::vec((1..9u32, 0..9000u64, any::<bool>()), 1..30));
    prop::collection::vec(line, 1..5)
        .prop_map(|lines| {
            let mut frames = Vec::new();
            for (number, (speed, line)) in (0..).zip(lines) {
                let (apart, mut free) = (speed * 700, 0);
                for (cells, gap, other) in line {
                    let first = free + gap;
                    frames.push(Frame {
                        first,
                        apart,
                        cells,
                        circuit: 2 * number + u64::from(other),
                    });
                    free = first + u64::from(cells) * apart;
                }
            }
            frames.sort_by_key(|frame| frame.first);
            frames
        })
        .boxed()
}

proptest! {
    #[test]
    fn a_port_equals_the_specification(cells in 1..30u32, policy in any_discard(), frames in any_frames()) {
        let mut specification = Specification {
            capacity: cells,
            policy,
            buffer: Vec::new(),
            free: 0,
            circuits: std::collections::HashMap::new(),
        };
        let mut link = port(cells, policy);
        let fates: Vec<Option<u64>> = run(&mut link, &frames).into_iter().map(Result::ok).collect();
        prop_assert_eq!(&fates, &specification.run(&frames));
        let books = link.cell_books().unwrap();
        let total: u64 = frames.iter().map(|frame| u64::from(frame.cells)).sum();
        let useful: u64 =
            frames.iter().zip(&fates).filter(|(_, fate)| fate.is_some()).map(|(frame, _)| u64::from(frame.cells)).sum();
        prop_assert_eq!((books.offered, books.delivered), (total, useful + books.wasted));
    }

    #[test]
    fn policies_with_extreme_thresholds_coincide(
        cells in 1..30u32, share in 0.0..=1.0, more in 0.0..=1.0, gap in 0..9u32, frames in any_frames()
    ) {
        let fates = |discard| run(&mut port(cells, discard), &frames);
        let upper = share + (1.0 - share) * more;
        prop_assert_eq!(fates(bpd(1.0, 1.0, gap)), fates(Discard::Ppd));
        prop_assert_eq!(fates(Discard::Epd(Probability::ONE)), fates(Discard::Ppd));
        prop_assert_eq!(fates(bpd(share, upper, 0)), fates(Discard::Epd(p(share))));
        prop_assert_eq!(fates(bpd(share, share, gap)), fates(Discard::Epd(p(share))));
    }

    /// Queries do not change the result, and the statistics equal those of a clocked measurement.
    #[test]
    fn queries_do_not_change_the_result(
        cells in 1..20u32, policy in any_discard(), frames in any_frames(), looks in prop::collection::vec(0..200_000u64, 0..20)
    ) {
        let quiet = run(&mut port(cells, policy), &frames);
        let mut link = port(cells, policy);
        let mut fates = vec![None; frames.len()];
        let mut looks = looks;
        looks.sort_unstable();
        let mut looks = looks.into_iter().peekable();
        for (number, frame) in frames.iter().enumerate() {
            while let Some(look) = looks.next_if(|&look| look < frame.first) {
                drive(&mut link, look, &mut fates);
                link.queue_statistics(at(look));
            }
            drive(&mut link, frame.first, &mut fates);
            link.offer(at(frame.first), frame.offered(), number, |_| 0);
        }
        drive(&mut link, u64::MAX - 1, &mut fates);
        prop_assert_eq!(fates.into_iter().map(Option::unwrap).collect::<Vec<_>>(), quiet);
        let end = link.queue_statistics(at(10_000_000));
        prop_assert_eq!(end.busy.as_nanos(), link.cell_books().unwrap().delivered * MICRO);
        prop_assert!(end.byte_nanos >= u128::from(end.busy.as_nanos()) * u128::from(CELL_BYTES));
    }
}
