//! How often something that anybody can provoke may be done.

use units::{Duration, Instant};

use crate::secret::Secret;

const SECOND: Duration = Duration::from_secs(1);

/// A number of times in any second that begins with the first of them. Strangers share it, so
/// whoever uses it up and counts what he gets of it would learn what others drew (CVE-2016-5696 did
/// so with challenges, and CVE-2020-25705 with ICMP): the number is drawn anew every second, from
/// half of what is allowed up to that.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Throttle {
    max: u32,
    remaining: u32,
    since: Option<Instant>,
}

impl Throttle {
    pub(crate) fn new(per_second: u32) -> Self {
        Self { max: per_second, remaining: 0, since: None }
    }

    /// Whether once more is allowed; then it counts.
    pub(crate) fn allows(&mut self, secret: &Secret, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.since(since) >= SECOND) {
            self.since = Some(now);
            self.remaining = self.max - secret.share(now) % (self.max / 2 + 1);
        }
        let allowed = self.remaining > 0;
        self.remaining -= u32::from(allowed);
        allowed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn allowance_is_unpredictable_and_bounded() {
        let secret = Secret::new([5; 16]);
        for max in [0, 1, 2, 7, 1000] {
            let mut throttle = Throttle::new(max);
            let mut seen = BTreeSet::new();
            for second in 0..50 {
                let now = Instant::ZERO + SECOND * second;
                let count = (0..2000).filter(|_| throttle.allows(&secret, now)).count();
                assert!(
                    (max.div_ceil(2)..=max).contains(&u32::try_from(count).unwrap()),
                    "{count} of {max}"
                );
                seen.insert(count);
            }
            assert_eq!(seen.len() > 1, max > 1, "{seen:?}");
        }
    }
}
