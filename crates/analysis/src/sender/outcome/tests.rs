//! Blocks and classes of outcomes.

use proptest::prelude::*;

use super::*;

/// Outcome of the segment with this number, of 1500 bytes.
fn outcome(number: u64, is_lost: bool) -> Outcome {
    Outcome {
        start: number * 1448,
        end: (number + 1) * 1448,
        at: Instant::from_nanos(number * 1_000_000),
        frame: number + 1,
        sent_before: number * 1500,
        size: 1500,
        is_lost,
        is_followed: true,
        round_trip: None,
    }
}

#[test]
fn blocks_have_256_segments_and_positions_are_octaves() {
    let mut outcomes = Outcomes::default();
    for number in 0..600 {
        outcomes.add(&outcome(number, false));
    }
    outcomes.finish();
    let (blocks, losses) = outcomes.take();
    let packets = |block: &Block| block.cells.iter().map(|cell| cell.followed.packets).sum();
    assert_eq!(blocks.iter().map(packets).collect::<Vec<u64>>(), [256, 256, 88]);
    let positions = |block: &Block| block.cells.iter().map(Cell::first_position).collect();
    let first: Vec<u64> = positions(&blocks[0]);
    assert_eq!(first, [1, 2, 4, 8, 16, 32, 64, 128, 256]);
    assert!(losses.is_empty() && !outcomes.is_ready());
}

#[test]
fn bytes_that_passed_exclude_losses() {
    let mut outcomes = Outcomes::default();
    for number in 0..10 {
        outcomes.add(&outcome(number, number % 3 == 0));
    }
    let (_, losses) = outcomes.take();
    let passed: Vec<u64> = losses.iter().map(|loss| loss.passed_bytes).collect();
    assert_eq!(passed, [0, 3000, 6000, 9000]);
    let (first, observations) = outcomes.observations();
    assert_eq!(first, Some(Progress { at: Instant::from_nanos(1_000_000), bytes: 0 }));
    assert!(
        observations[0].passed.is_none()
            && observations[1..].iter().all(|each| each.passed.is_some())
    );
}

#[test]
fn a_segment_of_unknown_size_ends_a_run_and_belongs_to_no_class() {
    let mut outcomes = Outcomes::default();
    outcomes.add(&outcome(0, true));
    outcomes.add(&Outcome { size: 0, ..outcome(1, true) });
    outcomes.add(&outcome(2, true));
    outcomes.finish();
    let (blocks, losses) = outcomes.take();
    assert_eq!(losses.iter().map(|loss| loss.run).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(blocks[0].unknown, 1);
}

proptest! {
    #[test]
    fn a_class_contains_its_sizes(size in 8_u32..) {
        let class = |size| Cell { size: size_class(size), ..Cell::default() }.least_size();
        let least = class(size);
        prop_assert!(least <= size && u64::from(size) < u64::from(least) * 9 / 8 + 1);
        prop_assert_eq!(class(least), least);
    }
}
