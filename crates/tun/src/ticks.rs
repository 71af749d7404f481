//! The kernel's timer interrupts (jiffies), which its TCP timers expire on.

use rustix::time::{ClockId, clock_getres};
use units::{Duration, Instant};

use crate::Clock;
use crate::sys;

/// Period of the kernel's timer interrupts, and their number at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelTicks {
    period: Duration,
    /// Number of interrupts in the kernel's count (`jiffies`) up to the time zero of the clock, as
    /// a time.
    phase: Duration,
}

impl KernelTicks {
    /// Number of interrupts that are observed. An interruption of this thread makes an observation
    /// late, so the earliest one counts.
    const OBSERVATIONS: u32 = 4;

    /// Unit of the kernel's count of interrupts as programs see it (`USER_HZ`).
    const UNIT: Duration = Duration::from_millis(10);

    /// Observes the kernel's count for some 50 ms. Returns `None` if the count does not advance as
    /// expected. It needs no privilege.
    pub fn observe(clock: &Clock) -> Option<Self> {
        let resolution = clock_getres(ClockId::MonotonicCoarse);
        let period = Duration::from_nanos(u64::try_from(resolution.tv_nsec).ok()?);
        if period.is_zero() || period > Self::UNIT || resolution.tv_sec != 0 {
            return None;
        }
        let phases = (0..Self::OBSERVATIONS).map(|_| Self::next_phase(clock, period));
        // A late observation has a small phase.
        let phase = phases.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(Self { period, phase })
    }

    /// Waits until the count that programs see advances. At that time the kernel's count has the
    /// smallest value that gives it.
    fn next_phase(clock: &Clock, period: Duration) -> Option<Duration> {
        let (first, end) = (sys::clock_ticks()?, clock.now() + Self::UNIT * 10);
        loop {
            let count = sys::clock_ticks()?;
            let now = clock.now();
            if count != first {
                let elapsed = Self::UNIT.as_nanos().checked_mul(count)?;
                let ticks = elapsed.div_ceil(period.as_nanos());
                let at = Instant::from_nanos(ticks.checked_mul(period.as_nanos())?);
                return Some(at.since(now));
            }
            if now > end {
                return None;
            }
        }
    }

    /// Time between two interrupts.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// Time between the interrupt number zero and time zero of the clock.
    pub fn phase(&self) -> Duration {
        self.phase
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/proc/timer_list` has the count; only root may read it.
    #[test]
    fn the_observed_count_is_that_of_the_kernel() {
        let clock = Clock::start();
        let ticks = KernelTicks::observe(&clock).expect("the count advances");
        let number = |text: &str, name: &str| -> Option<u64> {
            let line = text.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().trim_end_matches(" nsecs").parse().ok()
        };
        let before = (clock.now() + ticks.phase()).as_nanos() / ticks.period().as_nanos();
        let Ok(text) = std::fs::read_to_string("/proc/timer_list") else { return };
        let after = (clock.now() + ticks.phase()).as_nanos() / ticks.period().as_nanos();
        let jiffies = number(&text, "jiffies:").expect("a count");
        assert!((before..=after).contains(&jiffies), "{before}, {jiffies}, {after}");
    }
}
