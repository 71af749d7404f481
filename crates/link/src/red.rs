//! Random early detection: packets are dropped, or marked, before the buffer is full.
//!
//! Floyd and Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, IEEE/ACM ToN
//! 1(4), 1993. A moving average of the queue determines the probability of choosing a packet (§IV).
//! Counting since the last chosen packet spreads the choices evenly (§VII, method 2). RFC 3168 §7:
//! an ECN-capable packet is marked instead of dropped, unless the average is so long that every
//! packet is chosen.
//!
//! All arithmetic is in integers. The average has 24 bits of fraction; its rounding error is below
//! 2⁻²⁴ / `w_q` of a byte or packet. A probability before counting has 32 bits. The comparison with
//! a draw is then exact and needs no division.

use std::num::NonZeroU32;

use units::{Instant, Rate};

use crate::books::Tally;
use crate::error::ConfigError;
use crate::probability::Probability;

/// The parameters of RED, with the paper's names. `min_th` is below `max_th`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Red {
    measure: Measure,
    min_th: u64,
    max_th: u64,
    max_p: Probability,
    w_q: Probability,
    mean_packet: NonZeroU32,
    gentle: bool,
    spare_short: bool,
}

/// The unit in which RED measures the queue and counts packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes: the probability grows with a packet's size. A packet of mean size has the computed
    /// probability.
    Bytes,
    /// Packets: every packet has the same probability.
    Packets,
}

impl Red {
    /// The upper limit of thresholds, in bytes or packets: some 270 GB.
    pub const MAX_THRESHOLD: u64 = 1 << 38;

    /// RED with thresholds `min_th` and `max_th` of the average, in bytes or packets.
    ///
    /// The probability reaches `max_p` at `max_th`; above, every packet is chosen. Each arrival
    /// moves the average by `w_q` of the distance to the current queue.
    ///
    /// # Errors
    /// Unless `min_th` < `max_th` ≤ [`Red::MAX_THRESHOLD`].
    pub const fn new(
        measure: Measure,
        min_th: u64,
        max_th: u64,
        max_p: Probability,
        w_q: Probability,
    ) -> Result<Self, ConfigError> {
        if min_th >= max_th || max_th > Self::MAX_THRESHOLD {
            return Err(ConfigError::RedThresholds { min: min_th, max: max_th });
        }
        Ok(Self {
            measure,
            min_th,
            max_th,
            max_p,
            w_q,
            mean_packet: Self::FULL,
            gentle: false,
            spare_short: false,
        })
    }

    /// Sets the mean packet size, in bytes; the default is 1500.
    ///
    /// The average decays during an idle period as if packets of this size had found an empty
    /// queue. With [`Measure::Bytes`] a packet of this size has the computed probability.
    ///
    /// # Errors
    /// If `bytes` is zero.
    pub const fn with_mean_packet(self, bytes: u32) -> Result<Self, ConfigError> {
        match NonZeroU32::new(bytes) {
            Some(mean_packet) => Ok(Self { mean_packet, ..self }),
            None => Err(ConfigError::MeanPacket),
        }
    }

    /// Sets whether the probability rises from `max_p` to 1 between `max_th` and twice `max_th`,
    /// instead of jumping (Floyd, *Recommendations on using the "gentle" variant of RED*, 2000).
    #[must_use]
    pub const fn with_gentle(self, gentle: bool) -> Self {
        Self { gentle, ..self }
    }

    /// Sets whether a packet is accepted if it finds at most one packet, whatever the average. The
    /// paper does not have this rule; ns-2 does.
    #[must_use]
    pub const fn with_spare_short(self, spare_short: bool) -> Self {
        Self { spare_short, ..self }
    }

    const FULL: NonZeroU32 = NonZeroU32::new(1500).unwrap();

    /// A packet's contribution to the count.
    const fn units(&self, bytes: u32) -> u32 {
        match self.measure {
            Measure::Bytes => bytes,
            Measure::Packets => 1,
        }
    }

    /// The contribution of a packet of mean size to the count.
    const fn mean_units(&self) -> u32 {
        self.units(self.mean_packet.get())
    }
}

/// RED's decision on a packet for which there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlyDecision {
    /// The packet is accepted.
    Pass,
    /// The packet was chosen at random.
    Chosen,
    /// The average is so long that every packet is dropped.
    Forced,
}

/// The state of RED.
#[derive(Debug)]
pub(crate) struct RedState {
    red: Red,
    rate: Option<Rate>,
    /// The average queue, in 2⁻²⁴ bytes or packets.
    average: u64,
    /// Bytes or packets accepted since the last chosen one.
    passed: u64,
    /// The packet observed last found at most one packet in the queue.
    short: bool,
}

/// 2⁶⁴ draws.
const ALL: u128 = 1 << 64;

impl RedState {
    const FRACTION_BITS: u32 = 24;

    pub(crate) const fn new(red: Red, rate: Option<Rate>) -> Self {
        Self { red, rate, average: 0, passed: 0, short: true }
    }

    /// Changes the parameters and the rate of the line. The average remains.
    pub(crate) fn change(&mut self, red: Red, rate: Option<Rate>) {
        if self.red.measure == red.measure {
            (self.red, self.rate) = (red, rate);
        } else {
            *self = Self::new(red, rate);
        }
    }

    /// Updates the average for an arriving packet that finds `queue`, or a line idle since
    /// `idle_since`.
    pub(crate) fn observe(&mut self, now: Instant, queue: Tally, idle_since: Option<Instant>) {
        self.short = queue.packets <= 1;
        if let Some(since) = idle_since {
            // §IV: decay as if packets had arrived at an empty queue during the idle period.
            let missed = self.missed(now, since);
            self.average = self.red.w_q.complement().power(missed).of(self.average);
            return;
        }
        let length = match self.red.measure {
            Measure::Bytes => queue.bytes,
            Measure::Packets => queue.packets,
        };
        let target = length.min(2 * Red::MAX_THRESHOLD) << Self::FRACTION_BITS;
        if target >= self.average {
            self.average += self.red.w_q.of(target - self.average);
        } else {
            self.average -= self.red.w_q.of(self.average - target);
        }
    }

    /// Resets the count after an overflow, which signals congestion to a sender like a chosen
    /// packet.
    pub(crate) fn overflowed(&mut self) {
        self.passed = 0;
    }

    /// Decides on a packet of `bytes` that has been observed. `draw` is called only for a random
    /// decision.
    pub(crate) fn decide(&mut self, bytes: u32, draw: impl FnOnce() -> u64) -> EarlyDecision {
        if self.short && self.red.spare_short {
            self.passed = 0;
            return EarlyDecision::Pass;
        }
        let Some(probability) = self.probability() else {
            self.passed = 0;
            return EarlyDecision::Forced;
        };
        if probability == 0 {
            // §IV: the count begins where the average crosses `min_th`.
            self.passed = 0;
            return EarlyDecision::Pass;
        }
        if self.chooses(probability, bytes, draw) {
            self.passed = 0;
            return EarlyDecision::Chosen;
        }
        self.passed += u64::from(self.red.units(bytes));
        EarlyDecision::Pass
    }

    /// §IV, `p_b`: the probability for a packet of mean size before counting, in 2⁻³²; `None` if
    /// every packet is dropped.
    fn probability(&self) -> Option<u64> {
        let Red { min_th, max_th, max_p, gentle, .. } = self.red;
        let [min, max] = [min_th, max_th].map(|threshold| threshold << Self::FRACTION_BITS);
        let share = |of: u128, above: u64, span: u64| of * u128::from(above) / u128::from(span);
        let draws = if self.average < min {
            0
        } else if self.average < max {
            share(max_p.draws(), self.average - min, max - min)
        } else if gentle && self.average - max < max {
            max_p.draws() + share(ALL - max_p.draws(), self.average - max, max)
        } else {
            return None;
        };
        u64::try_from(draws >> 32).ok()
    }

    /// §VII: `p_a = p_b / (1 − count · p_b)`, so that the distance between two chosen packets is
    /// uniform.
    ///
    /// Unlike the paper's listing, which counts the packet itself except for the first, this
    /// follows the formula in its text, which counts the packets accepted before. Unlike both,
    /// bytes are counted in bytes: small packets that pass do not make the choice of a large one
    /// certain.
    fn chooses(&self, probability: u64, bytes: u32, draw: impl FnOnce() -> u64) -> bool {
        let probability = u128::from(probability);
        let one = u128::from(self.red.mean_units()) << 32;
        let Some(rest) =
            one.checked_sub(probability * u128::from(self.passed)).filter(|&rest| rest > 0)
        else {
            return true;
        };
        let wanted = probability * u128::from(self.red.units(bytes));
        u128::from(draw()) * rest < wanted << 64
    }

    /// The number of packets of mean size that the line could have sent while idle.
    fn missed(&self, now: Instant, since: Instant) -> u32 {
        let Some(rate) = self.rate else { return 0 };
        let bits = u128::from(now.since(since).as_nanos()) * u128::from(rate.bits_per_sec())
            / 1_000_000_000;
        let missed = bits / (8 * u128::from(self.red.mean_packet.get()));
        u32::try_from(missed).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
