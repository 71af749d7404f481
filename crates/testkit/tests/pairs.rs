//! Two endpoints under random loss, reordering and duplication, with random senders, options, buffers and
//! users, deliver exactly the bytes that were written and close; and at every step what must always hold holds
//! (`testkit::pair`'s watch).

use proptest::prelude::*;
use testkit::generate::{cases, pair};
use testkit::pair::{Goal, Pair};

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn every_byte_arrives_and_both_ends_close(config in pair()) {
        if let Err(failure) = Pair::new(&config).drive(Goal::Closed) {
            return Err(TestCaseError::fail(failure.to_string()));
        }
    }
}
