//! Rate limit for replies that any peer can trigger.

use units::{Duration, Instant};

use crate::secret::Secret;

const SECOND: Duration = Duration::from_secs(1);

/// A maximum number of replies per second, starting with the first reply. The budget is shared
/// between peers. With a fixed limit an attacker could exhaust it and count its own replies, and so
/// learn how many others received; CVE-2016-5696 (challenge ACKs) and CVE-2020-25705 (ICMP) are
/// such attacks. The limit of each second is therefore drawn at random, between half of the maximum
/// and the maximum.
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

    /// Returns whether one more reply is allowed, and counts it.
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
