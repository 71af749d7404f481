//! Random early detection: packets are dropped, or marked, before the buffer is full.
//!
//! Floyd and Jacobson, *Random Early Detection Gateways for Congestion Avoidance*, IEEE/ACM ToN
//! 1(4), 1993: a moving average of the queue decides how likely a packet is to be chosen (§IV), and
//! counting since the last one spreads the chosen evenly (§VII, method 2). RFC 3168 §7: one that is
//! ECN-capable is marked instead of dropped, unless the average is so long that every packet is
//! chosen.
//!
//! All of it is in integers. The average has 24 bits of fraction; what it loses by rounding down is
//! below 2⁻²⁴ / `w_q` of a byte or packet. A probability before counting has 32 bits; whether a
//! draw is below it is then decided exactly, without a division.

use std::num::NonZeroU32;

use units::{Instant, Rate};

use crate::books::Tally;
use crate::error::ConfigError;
use crate::probability::Probability;

/// The parameters of RED, in the paper's names. `min_th` is below `max_th`.
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

/// What RED averages and counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Bytes: a packet's chance of being chosen grows with its size, and is as computed for one of
    /// mean size.
    Bytes,
    /// Packets, each with the same chance.
    Packets,
}

impl Red {
    /// No threshold is above this: some 270 GB.
    pub const MOST: u64 = 1 << 38;

    /// RED between an average of `min_th` and one of `max_th` bytes or packets, where a packet is
    /// chosen with probability `max_p`; above, every packet is. Each arrival moves the average
    /// by `w_q` of the way to the queue as it is.
    ///
    /// # Errors
    /// Unless `min_th` < `max_th` ≤ [`Red::MOST`].
    pub const fn new(
        measure: Measure,
        min_th: u64,
        max_th: u64,
        max_p: Probability,
        w_q: Probability,
    ) -> Result<Self, ConfigError> {
        if min_th >= max_th || max_th > Self::MOST {
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

    /// With packets of `bytes` on average instead of 1500: as many of them the average is taken to
    /// have missed while the line was idle, and with [`Measure::Bytes`] one of them has the
    /// computed chance.
    ///
    /// # Errors
    /// When that is zero.
    pub const fn with_mean_packet(self, bytes: u32) -> Result<Self, ConfigError> {
        match NonZeroU32::new(bytes) {
            Some(mean_packet) => Ok(Self { mean_packet, ..self }),
            None => Err(ConfigError::MeanPacket),
        }
    }

    /// Whether the probability goes on from `max_p` to 1 between `max_th` and twice that, instead
    /// of jumping (Floyd, *Recommendations on using the "gentle" variant of RED*, 2000).
    #[must_use]
    pub const fn with_gentle(self, gentle: bool) -> Self {
        Self { gentle, ..self }
    }

    /// Whether a packet that finds at most one packet passes, however long the queue was on
    /// average. The paper doesn't say so; ns-2 does.
    #[must_use]
    pub const fn with_spare_short(self, spare_short: bool) -> Self {
        Self { spare_short, ..self }
    }

    const FULL: NonZeroU32 = NonZeroU32::new(1500).unwrap();

    /// What a packet of `bytes` adds to the count.
    const fn units(&self, bytes: u32) -> u32 {
        match self.measure {
            Measure::Bytes => bytes,
            Measure::Packets => 1,
        }
    }

    /// What a packet with the computed chance adds to the count.
    const fn mean_units(&self) -> u32 {
        self.units(self.mean_packet.get())
    }
}

/// What becomes of a packet for which there is room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EarlyDecision {
    /// It passes.
    Pass,
    /// Chance has chosen it.
    Chosen,
    /// The average is so long that every packet is dropped.
    Forced,
}

/// RED at work.
#[derive(Debug)]
pub(crate) struct RedState {
    red: Red,
    rate: Option<Rate>,
    /// In 2⁻²⁴ bytes or packets.
    average: u64,
    /// Bytes or packets that passed since the last one chosen.
    passed: u64,
    /// The packet that was observed last found at most one packet.
    short: bool,
}

/// 2⁶⁴ draws.
const ALL: u128 = 1 << 64;

impl RedState {
    const FRACTION_BITS: u32 = 24;

    pub(crate) const fn new(red: Red, rate: Option<Rate>) -> Self {
        Self { red, rate, average: 0, passed: 0, short: true }
    }

    /// A packet arrives and finds `queue`, or an idle line since some moment.
    pub(crate) fn observe(&mut self, now: Instant, queue: Tally, idle_since: Option<Instant>) {
        self.short = queue.packets <= 1;
        if let Some(since) = idle_since {
            // §IV: as if so many packets had come and found nothing.
            let missed = self.missed(now, since);
            self.average = self.red.w_q.complement().power(missed).of(self.average);
            return;
        }
        let length = match self.red.measure {
            Measure::Bytes => queue.bytes,
            Measure::Packets => queue.packets,
        };
        let target = length.min(2 * Red::MOST) << Self::FRACTION_BITS;
        if target >= self.average {
            self.average += self.red.w_q.of(target - self.average);
        } else {
            self.average -= self.red.w_q.of(self.average - target);
        }
    }

    /// There was no room for the packet: like one chosen, it tells its sender of congestion.
    pub(crate) fn overflowed(&mut self) {
        self.passed = 0;
    }

    /// Decides on a packet of `bytes` that has been observed. `draw` is called only if it is left
    /// to chance.
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
            // §IV: the count begins where the average crosses min_th.
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

    /// §IV, `p_b`: the chance of a packet of mean size, before counting, in 2⁻³²; `None` where
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

    /// §VII, `p_a = p_b / (1 − count · p_b)`, so that the distance from one chosen to the next is
    /// uniform. Unlike the paper's listing, which counts the packet itself except for the
    /// first, this is the formula of its text: what passed before. And unlike both, bytes are
    /// counted in bytes: small packets that pass don't make the chance of a large one certain.
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

    /// How many packets of mean size the line could have sent.
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
