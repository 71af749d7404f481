use proptest::prelude::*;

use super::*;

/// An operation with positions from 0 to 400.
#[derive(Debug, Clone)]
enum Operation {
    Push(u64),
    Sack(u64, u64),
    Retransmit(u64, u64),
    Acknowledge(u64),
}

fn operation() -> BoxedStrategy<Operation> {
    prop_oneof![
        (1..40_u64).prop_map(Operation::Push),
        (0..400_u64, 1..60_u64).prop_map(|(start, len)| Operation::Sack(start, start + len)),
        (0..400_u64, 1..60_u64).prop_map(|(start, len)| Operation::Retransmit(start, start + len)),
        (0..400_u64).prop_map(Operation::Acknowledge),
    ]
    .boxed()
}

fn sent(start: u64, end: u64) -> Sent {
    Sent {
        start,
        end,
        first_at: Instant::from_nanos(start),
        last_at: Instant::from_nanos(start),
        first_frame: 1,
        last_frame: 1,
        first_tsval: None,
        retransmission_tsval: None,
        retransmitted_at: Instant::ZERO,
        last_tsval: None,
        copies: 1,
        sacked: false,
    }
}

proptest! {
    /// Compares with a model that has a state for each byte.
    #[test]
    fn ranges_are_those_of_single_bytes(operations in proptest::collection::vec(operation(), 0..40)) {
        let mut queue = Outstanding::default();
        // sacked, and the number of transmissions.
        let mut bytes: Vec<(bool, u16)> = Vec::new();
        let mut una = 0;
        for operation in operations {
            let nxt = bytes.len() as u64;
            match operation {
                Operation::Push(len) => {
                    queue.push(sent(nxt, nxt + len));
                    bytes.resize(bytes.len() + usize::try_from(len).expect("short"), (false, 1));
                }
                Operation::Sack(start, end) if start >= una && end <= nxt => {
                    let mut delivered = Delivered::default();
                    queue.sack(start, end, &mut delivered);
                    let mut new = 0;
                    for byte in &mut bytes[index(start)..index(end)] {
                        new += u64::from(!byte.0);
                        byte.0 = true;
                    }
                    prop_assert_eq!(delivered.bytes, new);
                }
                Operation::Retransmit(start, end) if start >= una && end <= nxt => {
                    for sent in queue.range_mut(start, end) {
                        sent.copies += 1;
                    }
                    for byte in &mut bytes[index(start)..index(end)] {
                        byte.1 += 1;
                    }
                }
                Operation::Acknowledge(to) if to <= nxt && to > una => {
                    let mut delivered = Delivered::default();
                    queue.acknowledge(to, &mut delivered);
                    let new = bytes[index(una)..index(to)].iter().filter(|byte| !byte.0).count();
                    prop_assert_eq!(delivered.bytes, new as u64);
                    una = to;
                }
                _ => {}
            }
            compare(&queue, &bytes, una)?;
        }
    }
}

fn index(position: u64) -> usize {
    usize::try_from(position).expect("short")
}

fn compare(queue: &Outstanding, bytes: &[(bool, u16)], una: u64) -> Result<(), TestCaseError> {
    let mut position = una;
    for sent in &queue.queue {
        prop_assert_eq!(sent.start, position);
        prop_assert!(sent.end > sent.start);
        for byte in &bytes[index(sent.start)..index(sent.end)] {
            prop_assert_eq!(*byte, (sent.sacked, sent.copies));
        }
        position = sent.end;
    }
    prop_assert_eq!(position, bytes.len() as u64);
    let sacked = bytes[index(una)..].iter().filter(|byte| byte.0).count() as u64;
    prop_assert_eq!(queue.sacked(), sacked);
    if sacked > 0 {
        let highest = bytes.iter().rposition(|byte| byte.0).expect("one is sacked");
        prop_assert_eq!(queue.highest_sacked(), highest as u64 + 1);
    }
    let counted = queue.counted(0..queue.len());
    prop_assert_eq!(queue.segments(), counted);
    prop_assert_eq!(queue.segments_from(una), counted);
    Ok(())
}
