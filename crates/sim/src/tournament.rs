//! Which of a few things is due first, where each is put off again and again.

use units::Instant;

/// A tree of matches between neighbours, in which the earlier wins. What is due first has won them
/// all, and a new time for one of them costs a match on each level: for two links that is a single
/// comparison, where a heap would move entries and take out and put in again those of links that
/// are idle for a moment.
#[derive(Debug)]
pub(crate) struct Tournament {
    /// Who plays whom: pair 1 is the final, the winner of pair `n` goes to pair `n / 2`, and the
    /// things themselves, two by two, are the second half.
    pairs: Vec<[Entry; 2]>,
    first: Entry,
}

/// When a thing is due, and its number.
type Entry = (Instant, u32);

impl Tournament {
    /// So many things, numbered from 0, of which none is ever due.
    pub(crate) fn new(entries: usize) -> Self {
        let mut pairs = vec![[(Instant::NEVER, 0); 2]; entries.next_power_of_two().max(2)];
        let half = pairs.len() / 2;
        for (number, leaf) in (0..).zip(pairs[half..].iter_mut().flatten()) {
            leaf.1 = number;
        }
        Self { pairs, first: (Instant::NEVER, 0) }
    }

    /// When the first is due and which it is: of several at one instant, the one with the lowest
    /// number.
    #[inline]
    pub(crate) fn first(&self) -> (Instant, u32) {
        self.first
    }

    /// From now on, `number` is due `at`.
    #[inline]
    pub(crate) fn set(&mut self, number: u32, at: Instant) {
        let mut index = self.pairs.len() + number as usize;
        let mut entry = (at, number);
        while index > 1 {
            let pair = &mut self.pairs[index / 2];
            pair[index % 2] = entry;
            let [left, right] = *pair;
            // The left one has the lower number.
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
    fn of_nothing_nothing_is_due() {
        assert_eq!(Tournament::new(0).first().0, Instant::NEVER);
    }
}
