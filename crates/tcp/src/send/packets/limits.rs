//! Time that a sender spent with data, and of that the time that the peer's window limited it
//! (Linux's `tcp_chrono`).

use units::{Duration, Instant};

/// Sums of time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Limits {
    busy: Stopwatch,
    by_window: Stopwatch,
}

#[derive(Debug, Clone, Copy, Default)]
struct Stopwatch {
    total: Duration,
    since: Option<Instant>,
}

impl Stopwatch {
    fn set(&mut self, running: bool, now: Instant) {
        match (running, self.since) {
            (true, None) => self.since = Some(now),
            (false, Some(since)) => {
                self.total = self.total + now.since(since);
                self.since = None;
            }
            _ => {}
        }
    }

    fn read(&self, now: Instant) -> Duration {
        self.total + self.since.map_or(Duration::ZERO, |since| now.since(since))
    }
}

impl Limits {
    /// Notes whether data is queued or in flight, and whether the next segment waits for the peer's
    /// window.
    pub(super) fn note(&mut self, busy: bool, by_window: bool, now: Instant) {
        self.busy.set(busy, now);
        self.by_window.set(by_window, now);
    }

    /// Time with data queued or in flight.
    pub(super) fn busy(&self, now: Instant) -> Duration {
        self.busy.read(now)
    }

    /// Time that the peer's window limited the sender.
    pub(super) fn by_window(&self, now: Instant) -> Duration {
        self.by_window.read(now)
    }
}
