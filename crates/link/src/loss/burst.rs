//! Loss in runs: a two-state Markov chain that loses every packet in one state and none in the
//! other. It is known as the simple Gilbert model after E. N. Gilbert, "Capacity of a Burst-Noise
//! Channel", BSTJ 39 (1960).

use crate::error::ConfigError;
use crate::probability::Probability;

/// A burst model given by two measurable quantities: the mean fraction p of packets lost, and the
/// mean number r of packets lost in a row.
///
/// After a loss the next packet is lost with probability 1 − 1/r, so a run is geometric with mean
/// r. After a packet that passed, the next is lost with probability p / (r (1 − p)), which makes
/// the long-term fraction p. The chain advances by one step per packet, not with time. It starts in
/// equilibrium: the first packet is lost with probability p.
///
/// With r = 1/(1 − p) losses are independent; a shorter run spreads them out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    mean: Probability,
    after_pass: Probability,
    after_loss: Probability,
}

impl Burst {
    /// A fraction `loss` of packets lost, in runs of `run` packets on average.
    ///
    /// # Errors
    /// If `run` is below 1, or `loss` is 1, or the runs are too short for the loss. At least one
    /// packet arrives between two runs, so p / (r (1 − p)) must not exceed 1.
    pub fn new(loss: Probability, run: f64) -> Result<Self, ConfigError> {
        if !(run.is_finite() && run >= 1.0) {
            return Err(ConfigError::Run(run));
        }
        if loss == Probability::ONE {
            return Err(ConfigError::EndlessBurst);
        }
        let mean = loss.as_f64();
        let shortest = mean / (1.0 - mean);
        // Without this tolerance, rounding refuses some pairs on the limit, such as 0.9 in runs of
        // 9.
        if shortest > run * (1.0 + 1e-12) {
            return Err(ConfigError::Burst { loss: mean, run, shortest });
        }
        Ok(Self {
            mean: loss,
            after_pass: Probability::saturating(shortest / run),
            after_loss: Probability::saturating(1.0 - 1.0 / run),
        })
    }
}

/// The state of the chain, as the probability that the next packet is lost.
#[derive(Debug)]
pub(crate) struct BurstState {
    burst: Burst,
    next: Probability,
}

impl BurstState {
    pub(crate) fn new(burst: Burst) -> Self {
        Self { burst, next: burst.mean }
    }

    /// Changes the parameters. The chain stays in its state.
    pub(crate) fn change(&mut self, burst: Burst) {
        self.next = match self.next {
            next if next == self.burst.after_loss => burst.after_loss,
            next if next == self.burst.after_pass => burst.after_pass,
            _ => burst.mean,
        };
        self.burst = burst;
    }

    /// Advances the chain by one packet. Returns true if the packet is lost.
    pub(crate) fn advance(&mut self, draw: u64) -> bool {
        let lost = self.next.hits(draw);
        self.next = if lost { self.burst.after_loss } else { self.burst.after_pass };
        lost
    }
}
