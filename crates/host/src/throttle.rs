//! How often something that anybody can provoke may be done.

use units::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// So many times in any second that begins with the first of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Throttle {
    most: u32,
    used: u32,
    since: Instant,
}

impl Throttle {
    pub(crate) fn new(per_second: u32) -> Self {
        Self { most: per_second, used: 0, since: Instant::ZERO }
    }

    /// Whether once more is allowed; then it counts.
    pub(crate) fn allows(&mut self, now: Instant) -> bool {
        if now.since(self.since) >= SECOND {
            self.since = now;
            self.used = 0;
        }
        let allowed = self.used < self.most;
        self.used += u32::from(allowed);
        allowed
    }
}
