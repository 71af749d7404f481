//! A tournament tree: the earliest of a few times that change often.

use units::Instant;

/// A tree of matches between neighbours, in which the earlier time wins. The earliest entry has won
/// all its matches. A new time for an entry costs one match per level: for two links a single
/// comparison. A heap would move entries, and would remove and insert those of links that are idle
/// for a moment.
#[derive(Debug)]
pub(crate) struct Tournament {
    /// The matches: pair 1 is the final, the winner of pair `n` goes to pair `n / 2`, and the
    /// second half holds the entries themselves.
    pairs: Vec<[Entry; 2]>,
    first: Entry,
}

/// The time of an entry, and its number.
type Entry = (Instant, u32);

impl Tournament {
    /// A tree of `entries` entries, numbered from 0, without times.
    pub(crate) fn new(entries: usize) -> Self {
        let mut pairs = vec![[(Instant::NEVER, 0); 2]; entries.next_power_of_two().max(2)];
        let half = pairs.len() / 2;
        for (number, leaf) in (0..).zip(pairs[half..].iter_mut().flatten()) {
            leaf.1 = number;
        }
        Self { pairs, first: (Instant::NEVER, 0) }
    }

    /// The earliest time and its entry's number. Ties go to the lowest number.
    #[inline]
    pub(crate) fn first(&self) -> (Instant, u32) {
        self.first
    }

    /// Sets the time of an entry.
    #[inline]
    pub(crate) fn set(&mut self, number: u32, at: Instant) {
        let mut index = self.pairs.len() + number as usize;
        let mut entry = (at, number);
        while index > 1 {
            let pair = &mut self.pairs[index / 2];
            pair[index % 2] = entry;
            let [left, right] = *pair;
            // The left entry has the lower number.
            entry = if right.0 < left.0 { right } else { left };
            index /= 2;
        }
        self.first = entry;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_earliest_wins_and_then_the_lowest(
            entries in 1..20usize,
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![0..5u64, Just(u64::MAX)]), 1..100),
        ) {
            let mut tournament = Tournament::new(entries);
            let mut times = vec![Instant::NEVER; entries];
            prop_assert_eq!(tournament.first().0, Instant::NEVER);
            for (which, at) in changes {
                let number = which.index(entries);
                times[number] = Instant::from_nanos(at);
                tournament.set(u32::try_from(number).unwrap(), times[number]);
                let (at, first) = tournament.first();
                let expected = (0u32..).zip(&times).min_by_key(|(number, at)| (**at, *number)).unwrap();
                prop_assert_eq!(at, *expected.1);
                prop_assert!(first == expected.0 || at == Instant::NEVER);
            }
        }
    }

    #[test]
    fn an_empty_tournament_is_never_due() {
        assert_eq!(Tournament::new(0).first().0, Instant::NEVER);
    }
}
