//! Sequence numbers, which wrap (RFC 9293 §3.4).

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// A 32-bit TCP sequence number.
///
/// Arbitrary sequence numbers have no order, so there is no `<`. [`before`](Self::before) and
/// [`after`](Self::after) are correct for numbers less than 2³¹ apart.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SeqNum(u32);

impl SeqNum {
    /// Creates a sequence number.
    pub const fn new(value: u32) -> Self {
        Self(value)
    }

    /// Value in the header.
    pub const fn value(self) -> u32 {
        self.0
    }

    /// Returns whether `self` is before `other`.
    pub const fn before(self, other: Self) -> bool {
        self.0.wrapping_sub(other.0) > u32::MAX / 2
    }

    /// Returns whether `self` is after `other`.
    pub const fn after(self, other: Self) -> bool {
        other.before(self)
    }

    /// Returns whether `self` equals `other` or is before it.
    pub const fn at_or_before(self, other: Self) -> bool {
        !other.before(self)
    }

    /// Returns whether `self` equals `other` or is after it.
    pub const fn at_or_after(self, other: Self) -> bool {
        !self.before(other)
    }

    /// The earlier of the two.
    pub const fn earliest(self, other: Self) -> Self {
        if other.before(self) { other } else { self }
    }

    /// The later of the two.
    pub const fn latest(self, other: Self) -> Self {
        if other.after(self) { other } else { self }
    }

    /// Distance from `earlier` to `self`; zero if `earlier` is after `self`.
    pub const fn distance_from(self, earlier: Self) -> u32 {
        if self.before(earlier) { 0 } else { self.0.wrapping_sub(earlier.0) }
    }
}

impl Add<u32> for SeqNum {
    type Output = Self;
    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl Sub<u32> for SeqNum {
    type Output = Self;
    fn sub(self, bytes: u32) -> Self {
        Self(self.0.wrapping_sub(bytes))
    }
}

impl AddAssign<u32> for SeqNum {
    fn add_assign(&mut self, bytes: u32) {
        *self = *self + bytes;
    }
}

impl fmt::Display for SeqNum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use static_assertions::assert_not_impl_any;

    use super::*;

    // Sequence numbers wrap, so a total order would be wrong.
    assert_not_impl_any!(SeqNum: PartialOrd, Ord);

    fn any_seq() -> BoxedStrategy<SeqNum> {
        // Half of the cases are near the wrap, where errors are likely.
        prop_oneof![any::<u32>(), (0..2000u32).prop_map(|n| n.wrapping_sub(1000))]
            .prop_map(SeqNum::new)
            .boxed()
    }

    proptest! {
        #[test]
        fn addition_wraps(a in any_seq(), n in 1..1u32 << 31) {
            prop_assert!(a.before(a + n) && (a + n).after(a));
            prop_assert_eq!((a + n).distance_from(a), n);
            prop_assert_eq!(a + n - n, a);
        }

        #[test]
        fn the_order_is_total_within_a_window(a in any_seq(), x in 0..1u32 << 30, y in 0..1u32 << 30) {
            let (p, q) = (a + x, a + y);
            prop_assert_eq!(p.before(q), x < y);
            prop_assert_eq!(p.at_or_before(q), x <= y);
            prop_assert_eq!(p.at_or_after(q), x >= y);
            prop_assert_eq!(p.earliest(q), a + x.min(y));
            prop_assert_eq!(p.latest(q), a + x.max(y));
        }

        #[test]
        fn before_is_irreflexive(a in any_seq()) {
            prop_assert!(!a.before(a) && !a.after(a) && a.at_or_before(a) && a.at_or_after(a));
            prop_assert_eq!(a.distance_from(a + 1), 0);
        }
    }
}
