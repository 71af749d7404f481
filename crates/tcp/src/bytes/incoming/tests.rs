use proptest::prelude::*;

use super::*;

/// A stream that stores every byte at its index in a list.
struct Plain {
    bytes: Vec<Option<u8>>,
    read: usize,
}

impl Plain {
    fn next(&self) -> usize {
        self.bytes.iter().take_while(|byte| byte.is_some()).count()
    }

    fn front(&self, base: SeqNum) -> Front {
        let next = self.next();
        Front { unread: next - self.read, next: base + count(next) }
    }

    fn insert(&mut self, at: usize, bytes: &[u8]) {
        for (slot, &byte) in self.bytes[at..].iter_mut().zip(bytes) {
            slot.get_or_insert(byte);
        }
    }

    fn out_of_order(&self) -> usize {
        self.bytes[self.next()..].iter().flatten().count()
    }
}

/// Returns the number of out-of-order bytes in the ring and in separate pieces. Checks all sums.
fn checked(incoming: &Incoming, front: Front) -> (usize, usize) {
    let mut end = front.next;
    for range in &incoming.in_ring {
        assert!(range.start().after(end), "{range:?} touches what is before it");
        end = range.end();
    }
    assert_eq!(front.index_of(end), incoming.ring.len());
    assert!(incoming.pieces.first().is_none_or(|piece| piece.start().at_or_after(end)));
    let in_ring: usize = incoming.in_ring.iter().map(|range| range.len() as usize).sum();
    assert_eq!(in_ring, incoming.in_ring_bytes);
    (in_ring, incoming.pieces.held())
}

#[derive(Debug, Clone)]
enum Step {
    InOrder(usize),
    OutOfOrder { ahead: usize, len: usize },
    Read(usize),
    Release,
    Forget,
}

fn step() -> BoxedStrategy<Step> {
    let ahead = prop_oneof![4 => 1..60usize, 1 => 1..1500usize];
    prop_oneof![
        6 => (1..80usize).prop_map(Step::InOrder),
        12 => (ahead, 1..80usize).prop_map(|(ahead, len)| Step::OutOfOrder { ahead, len }),
        4 => (1..300usize).prop_map(Step::Read),
        2 => Just(Step::Release),
        1 => Just(Step::Forget),
    ]
    .boxed()
}

proptest! {
    #[test]
    fn contents_match_a_plain_list(
        base in prop_oneof![Just(7u32), Just(u32::MAX - 300)],
        steps in prop::collection::vec((step(), any::<u8>()), 1..120),
    ) {
        let base = SeqNum::new(base);
        let mut incoming = Incoming::default();
        let mut plain = Plain { bytes: vec![None; 4_000], read: 0 };
        for (step, fill) in steps {
            let front = plain.front(base);
            let next = plain.next();
            let payload = |len: usize| -> Vec<u8> {
                (0..len).map(|at| fill.wrapping_add(u8::try_from(at).unwrap())).collect()
            };
            match step {
                Step::InOrder(len) if next + len <= plain.bytes.len() => {
                    incoming.extend(front, &payload(len));
                    plain.insert(next, &payload(len));
                }
                Step::OutOfOrder { ahead, len } if next + ahead + len <= plain.bytes.len() => {
                    incoming.insert(front, front.next + count(ahead), &payload(len));
                    plain.insert(next + ahead, &payload(len));
                }
                Step::InOrder(_) | Step::OutOfOrder { .. } => {}
                Step::Read(most) => {
                    let taken = most.min(front.unread);
                    incoming.consume(taken);
                    plain.read += taken;
                }
                Step::Release => {
                    incoming.release(front);
                    prop_assert_eq!(incoming.spare(front.unread), 0);
                    // Besides the smallest buffers: twice the stored bytes, and a quarter of that
                    // for gaps.
                    let most = (front.unread + plain.out_of_order() * 5 / 4) * 2 + 32;
                    prop_assert!(incoming.ring.capacity() <= most);
                }
                Step::Forget => {
                    incoming.forget_out_of_order(front.unread);
                    plain.bytes[next..].fill(None);
                }
            }
            let front = plain.front(base);
            let (in_ring, pieces) = checked(&incoming, front);
            prop_assert_eq!(in_ring + pieces, plain.out_of_order());
            prop_assert!(incoming.out_of_order(front.unread) >= in_ring + pieces);
            prop_assert_eq!(incoming.has_out_of_order(), in_ring + pieces > 0);
            prop_assert!(incoming.memory() >= front.unread + in_ring + pieces);
            let unread: Vec<u8> = plain.bytes[plain.read..plain.next()].iter().copied().flatten().collect();
            prop_assert_eq!(incoming.peek(front.unread).concat(), &unread[..]);
            prop_assert_eq!(incoming.peek_whole(front.unread), &unread[..]);
        }
        // Adds the missing bytes, so that all out-of-order data can be read.
        let front = plain.front(base);
        let missing = vec![0; plain.bytes.len() - plain.next()];
        plain.insert(plain.next(), &missing);
        incoming.extend(front, &missing);
        let all: Vec<u8> = plain.bytes[plain.read..].iter().copied().flatten().collect();
        prop_assert_eq!(incoming.peek(all.len()).concat(), all);
    }
}

const START: Front = Front { unread: 0, next: SeqNum::new(1000) };

/// Returns a stream that has held `bytes` bytes, all of which have been read.
fn drained(bytes: usize) -> Incoming {
    let mut incoming = Incoming::default();
    incoming.extend(START, &vec![1; bytes]);
    incoming.consume(bytes);
    incoming
}

#[test]
fn existing_capacity_is_used_first() {
    let mut incoming = drained(4096);
    let before = incoming.ring.capacity();
    incoming.insert(START, START.next + 4000, b"x");
    assert_eq!((checked(&incoming, START), incoming.ring.capacity()), ((1, 0), before));
    assert!(incoming.out_of_order(0) > 0);
    incoming.insert(START, START.next + 4096, b"yz");
    assert_eq!((checked(&incoming, START), incoming.ring.capacity()), ((1, 2), before));
}

/// One byte must not prevent the memory of a window from being freed.
#[test]
fn release_frees_memory_of_gaps() {
    let mut incoming = drained(4096);
    incoming.insert(START, START.next + 4000, b"x");
    assert_eq!(incoming.spare(0), 4096);
    incoming.release(START);
    assert_eq!((checked(&incoming, START), incoming.ring.capacity()), ((0, 1), 0));
    assert!(incoming.memory() < 256, "{} bytes", incoming.memory());
}

/// RFC 2018 §8: discarded data frees its memory, even where it was shared with in-order bytes.
#[test]
fn discarded_data_needs_no_memory() {
    let mut incoming = drained(4096);
    incoming.extend(START, b"abc");
    let front = Front { unread: 3, next: START.next + 3 };
    incoming.insert(front, front.next + 1000, &[7; 500]);
    incoming.forget_out_of_order(3);
    assert_eq!((incoming.out_of_order(3), incoming.memory()), (0, 32));
    assert_eq!(incoming.peek(3).concat(), b"abc");
}

/// Otherwise all data that arrives during steady losses would be copied twice.
#[test]
fn pieces_move_to_the_ring() {
    let mut incoming = Incoming::default();
    for start in [50u32, 160, 270] {
        incoming.insert(START, START.next + start, &[7; 100]);
    }
    assert_eq!(checked(&incoming, START), (0, 300));
    incoming.extend(START, &[7; 50]);
    assert_eq!(checked(&incoming, Front { unread: 150, next: START.next + 150 }), (200, 0));
}
