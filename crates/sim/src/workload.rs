//! The starts, sizes and senders of a workload's flows.
//!
//! Each workload has three streams, each with a fixed number of draws per flow. The arrivals and
//! sizes are therefore the same for all senders, and the arrivals the same for all sizes.

use units::{Duration, Instant};

use crate::convert::whole;
use crate::plan::{Demand, PlannedWorkload};
use crate::sizes::SizeSampler;
use crate::streams::{Seed, Stream};

/// The start of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowStart {
    /// The time of the start.
    pub at: Instant,
    /// The flow's size in bytes; `None` for an endless flow.
    pub size: Option<u64>,
    /// The number of the flow's size, from 1, among the workload's classes or transfers.
    pub class: Option<u32>,
    /// Index in [`crate::Plan::senders`].
    pub sender: usize,
}

/// The starts of a workload's flows in order of time, up to an end.
#[derive(Debug, Clone)]
pub struct Starts {
    source: Source,
    senders: Senders,
    end: Instant,
}

#[derive(Debug, Clone)]
enum Source {
    /// Sorted starts of endless flows, latest first.
    Greedy(Vec<Instant>),
    Poisson {
        last: Instant,
        mean_nanos: f64,
        arrivals: Stream,
        sampler: SizeSampler,
        sizes: Stream,
    },
    Transfers {
        next: Instant,
        spacing: Duration,
        sizes: std::vec::IntoIter<u64>,
        class: u32,
    },
}

impl Starts {
    /// The flows of `workload` that start before `end`.
    pub fn new(workload: &PlannedWorkload, seed: Seed, end: Instant) -> Self {
        let mut arrivals = seed.stream(&workload.arrivals_stream());
        let source = match &workload.demand {
            Demand::Greedy { flows, start, spread } => {
                let mut at = |_| *start + Duration::from_nanos(arrivals.below(spread.as_nanos()));
                let mut starts: Vec<Instant> = (0..*flows).map(&mut at).collect();
                starts.sort_unstable_by(|a, b| b.cmp(a));
                Source::Greedy(starts)
            }
            Demand::Poisson { per_second, sizes } => Source::Poisson {
                last: Instant::ZERO,
                mean_nanos: 1e9 / per_second,
                arrivals,
                sampler: sizes.clone(),
                sizes: seed.stream(&workload.sizes_stream()),
            },
            Demand::Transfers { sizes, start, spacing, .. } => Source::Transfers {
                next: *start,
                spacing: *spacing,
                sizes: sizes.clone().into_iter(),
                class: 0,
            },
        };
        Self { source, senders: Senders::new(workload, seed), end }
    }
}

impl Iterator for Starts {
    type Item = FlowStart;

    fn next(&mut self) -> Option<FlowStart> {
        let (at, size, class) = match &mut self.source {
            Source::Greedy(starts) => (starts.pop()?, None, None),
            Source::Poisson { last, mean_nanos, arrivals, sampler, sizes } => {
                *last += Duration::from_nanos(whole(arrivals.exponential(*mean_nanos)));
                let (size, class) = sampler.sample(sizes.uniform());
                (*last, Some(size), class)
            }
            Source::Transfers { next, spacing, sizes, class } => {
                let at = *next;
                *next += *spacing;
                *class += 1;
                (at, Some(sizes.next()?), Some(*class))
            }
        };
        (at < self.end).then(|| FlowStart { at, size, class, sender: self.senders.next() })
    }
}

/// The choice of the next flow's sender.
#[derive(Debug, Clone)]
struct Senders {
    /// Senders and the running sum of their shares.
    cumulative: Vec<(usize, f64)>,
    order: Order,
}

#[derive(Debug, Clone)]
enum Order {
    /// Random, so that a flow's sender is independent of its neighbours' senders.
    Random(Stream),
    /// Deterministic, with the number of flows of each sender so far: a few flows should have the
    /// given shares exactly.
    InTurn(Vec<u32>),
}

impl Senders {
    fn new(workload: &PlannedWorkload, seed: Seed) -> Self {
        let mut sum = 0.0;
        let running = workload.choices.iter().map(|choice| {
            sum += choice.share;
            (choice.sender, sum)
        });
        let cumulative: Vec<_> = running.collect();
        let order = match workload.demand {
            Demand::Poisson { .. } => Order::Random(seed.stream(&workload.senders_stream())),
            Demand::Greedy { .. } | Demand::Transfers { .. } => {
                Order::InTurn(vec![0; cumulative.len()])
            }
        };
        Self { cumulative, order }
    }

    fn next(&mut self) -> usize {
        let total = self.cumulative[self.cumulative.len() - 1].1;
        let index = match &mut self.order {
            Order::Random(stream) => {
                let drawn = stream.uniform() * total;
                let index = self.cumulative.partition_point(|&(_, sum)| sum <= drawn);
                index.min(self.cumulative.partition_point(|&(_, sum)| sum < total))
            }
            Order::InTurn(served) => {
                // The sender furthest below its share. The sum of all is the number of flows so
                // far.
                let flows: u32 = served.iter().sum();
                let mut best = (0, f64::NEG_INFINITY);
                let mut before = 0.0;
                for (i, &(_, sum)) in self.cumulative.iter().enumerate() {
                    let due = (sum - before) / total * f64::from(flows + 1) - f64::from(served[i]);
                    // Differences below rounding are ties: the earlier sender is chosen.
                    if due > best.1 + 1e-9 {
                        best = (i, due);
                    }
                    before = sum;
                }
                served[best.0] += 1;
                best.0
            }
        };
        self.cumulative[index].0
    }
}

#[cfg(test)]
mod tests;
