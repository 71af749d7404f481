//! Real time (`CLOCK_MONOTONIC`), timer slack and scheduling priority.

use std::num::NonZeroU64;

use rustix::event::{PollFd, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{getpriority_process, setpriority_process};
use rustix::thread::{current_timer_slack, set_current_timer_slack};
use rustix::time::{ClockId, clock_gettime};
use units::{Duration, Instant};

use crate::Error;
use crate::sys::Scheduling;

/// A monotonic clock that starts at zero when it is created.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    start: u64,
}

impl Clock {
    /// Starts a clock at the current time.
    pub fn start() -> Self {
        Self { start: monotonic() }
    }

    /// Converts a time of this clock to nanoseconds since 1970, by the current system time. If the
    /// system time is set between two calls, the results differ.
    pub fn since_1970(&self, at: Instant) -> u64 {
        let now = nanos(ClockId::Realtime);
        now.saturating_sub(self.now().as_nanos()).saturating_add(at.as_nanos())
    }

    /// The time since the start of the clock.
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic().saturating_sub(self.start))
    }

    /// Waits until one of `fds` is ready or the clock reaches `until`, and returns the number of
    /// ready descriptors. During the last `spin` before `until` it polls without sleeping, because
    /// a sleeping thread wakes some tens of microseconds late.
    ///
    /// A handled signal ends the wait with zero.
    ///
    /// # Errors
    /// If the system refuses the descriptors.
    pub fn wait(
        &self,
        fds: &mut [PollFd<'_>],
        until: Instant,
        spin: Duration,
    ) -> Result<usize, Error> {
        let sleep = if until == Instant::NEVER {
            None
        } else {
            Some((until.since(self.now()) - spin).as_nanos())
        };
        if sleep != Some(0) {
            let ready = poll_for(fds, sleep)?;
            let cut_short = sleep.is_none() || self.now() + spin < until;
            if ready > 0 || spin.is_zero() || cut_short {
                return Ok(ready);
            }
        }
        loop {
            let ready = poll_for(fds, Some(0))?;
            if ready > 0 || self.now() >= until || spin.is_zero() {
                return Ok(ready);
            }
        }
    }
}

/// Sets the timer slack of the calling thread to the minimum while the value lives. By default the
/// kernel may delay timers by 50 µs to save wake-ups.
#[derive(Debug)]
pub struct TimerSlack {
    before: Option<NonZeroU64>,
}

impl TimerSlack {
    /// Sets a slack of one nanosecond.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn minimal() -> Result<Self, Error> {
        let fail = |errno: Errno| Error::new("set the timer slack of this thread to 1 ns", errno);
        let before = NonZeroU64::new(current_timer_slack().map_err(fail)?);
        set_current_timer_slack(NonZeroU64::new(1)).map_err(fail)?;
        Ok(Self { before })
    }
}

impl Drop for TimerSlack {
    fn drop(&mut self) {
        // An error is ignored: the system accepted this value before.
        let _ = set_current_timer_slack(self.before);
    }
}

/// Raises the priority of the calling thread above ordinary programs while the value lives, if the
/// system allows it. The thread is then woken in time on a busy machine.
#[derive(Debug)]
pub struct Priority {
    niceness: Option<i32>,
    scheduling: Option<Scheduling>,
}

impl Priority {
    /// Uses real-time scheduling (`SCHED_RR`), for a thread that does little work without delay.
    /// Niceness would not suffice: with scheduling groups, by session or container, it counts
    /// within a group only. If the system refuses, this falls back to the lowest niceness. Programs
    /// started meanwhile are scheduled normally.
    pub fn real_time() -> Self {
        match Scheduling::current() {
            Ok(before) if Scheduling::HIGHEST.set().is_ok() => {
                Self { niceness: None, scheduling: Some(before) }
            }
            _ => Self::highest(),
        }
    }

    /// Uses the lowest niceness, for a thread that does much work. Programs started meanwhile
    /// inherit it.
    pub fn highest() -> Self {
        const NICENESS: i32 = -20;
        // Linux applies the call to a thread; `None` is the calling one.
        let before = getpriority_process(None).ok();
        // Without CAP_SYS_NICE the niceness is unchanged.
        let niceness = before.filter(|_| setpriority_process(None, NICENESS).is_ok());
        Self { niceness, scheduling: None }
    }
}

impl Drop for Priority {
    fn drop(&mut self) {
        // Restoring the priority needs no privilege.
        if let Some(before) = self.niceness {
            let _ = setpriority_process(None, before);
        }
        if let Some(before) = self.scheduling {
            let _ = before.set();
        }
    }
}

fn monotonic() -> u64 {
    nanos(ClockId::Monotonic)
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    let [secs, nanos] = [now.tv_sec, now.tv_nsec].map(|part| u64::try_from(part).unwrap_or(0));
    secs * 1_000_000_000 + nanos
}

fn poll_for(fds: &mut [PollFd<'_>], nanos: Option<u64>) -> Result<usize, Error> {
    let timeout = nanos.map(|nanos| Timespec {
        tv_sec: i64::try_from(nanos / 1_000_000_000).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(nanos % 1_000_000_000).unwrap_or(0),
    });
    match poll(fds, timeout.as_ref()) {
        Ok(ready) => Ok(ready),
        Err(Errno::INTR) => Ok(0),
        Err(errno) => Err(Error::new(format!("wait for {} descriptors", fds.len()), errno)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_never_returns_early() {
        let clock = Clock::start();
        for spin in [Duration::ZERO, Duration::from_micros(200), Duration::from_secs(1)] {
            let until = clock.now() + Duration::from_millis(2);
            assert_eq!(clock.wait(&mut [], until, spin).unwrap(), 0);
            assert!(clock.now() >= until, "woken at {} instead of {until}", clock.now());
        }
    }

    #[test]
    fn past_deadline_returns_at_once() {
        let clock = Clock::start();
        assert_eq!(clock.wait(&mut [], Instant::ZERO, Duration::ZERO).unwrap(), 0);
    }

    #[test]
    fn priority_is_restored() {
        let before = getpriority_process(None).unwrap();
        let highest = Priority::highest();
        assert!(getpriority_process(None).unwrap() <= before);
        drop(highest);
        assert_eq!(getpriority_process(None).unwrap(), before);
    }

    #[test]
    fn scheduling_is_restored() {
        let before = Scheduling::current().unwrap();
        let first = Priority::real_time();
        assert_eq!(
            Scheduling::current().unwrap() == Scheduling::HIGHEST,
            first.scheduling.is_some()
        );
        drop(first);
        assert_eq!(Scheduling::current().unwrap(), before);
    }

    #[test]
    fn timer_slack_is_restored() {
        let before = current_timer_slack().unwrap();
        let least = TimerSlack::minimal().unwrap();
        assert_eq!(current_timer_slack().unwrap(), 1);
        drop(least);
        assert_eq!(current_timer_slack().unwrap(), before);
    }
}
