//! Two stacks with random loss, and a stack that receives arbitrary packets.

mod common;

use std::collections::BTreeMap;

use common::download::{Download, run, world};
use common::{Fate, config};
use host::{EventKind, Stack};
use proptest::prelude::*;
use units::{Duration, Instant};

proptest! {
    /// With any loss pattern all data arrives or the connection reports a failure, and no state is
    /// left.
    #[test]
    fn data_arrives_despite_random_loss(seed: u64, percent in 0..20u64, size in 0..30_000usize, clients in 1..5u16) {
        let mut world = world();
        let mut download = Download::new(size);
        for port in 0..clients {
            world.connect(1000 + port);
        }
        let mut state = seed;
        run(&mut world, &mut download, 20_000, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            if (state >> 33) % 100 < percent { Fate::Lost } else { Fate::Arrives }
        });
        let endings: BTreeMap<_, _> = download.endings[1].iter().collect();
        for (id, ending) in endings {
            let got = download.got.get(id).copied().unwrap_or(0);
            prop_assert!(!ending.is_finished() || got == size, "{} of {}", got, size);
        }
        prop_assert_eq!(download.endings[1].len(), usize::from(clients));
        for host in &world.hosts {
            prop_assert_eq!((host.connections(), host.buffered_bytes()), (0, 0));
        }
    }

    /// No packet harms the stack: a genuine client is served before and after.
    #[test]
    fn arbitrary_packets_leave_the_stack_usable(packets in proptest::collection::vec(mangled(), 1..60)) {
        let mut world = world();
        let id = world.connect(1000);
        let mut download = Download::new(20_000);
        let mut rest = packets.into_iter();
        let end = world.now + Duration::from_secs(200);
        let mut seen: Vec<Vec<u8>> = Vec::new();
        let mut junk = Stack::new(config(1), host::Secret::new([1; 16]));
        junk.listen(80);
        world.run(end, |to, packet| {
            if to == 0 {
                seen.push(packet.to_vec());
            }
            Fate::Arrives
        }, |stack, host, event, now| {
            download.on_event(stack, host, event, now);
        });
        prop_assert_eq!(download.got[&id], 20_000);
        // A second server receives mutated copies of the packets sent to the first.
        let mut now = Instant::ZERO + Duration::from_secs(1000);
        let mut out = host::Outgoing::default();
        for (packet, mangle) in seen.iter().cycle().zip(&mut rest) {
            let mut packet = packet.clone();
            mangle.apply(&mut packet);
            junk.receive(&packet, host::Checksums::Offloaded, now);
            while junk.poll_transmit(now, &mut out) {}
            while let Some(event) = junk.poll_event() {
                if let EventKind::Accepted(_) = event.kind {
                    let _ = junk.write(event.id, &[7; 3000], now);
                }
            }
            now += Duration::from_millis(mangle.wait);
            junk.on_timeout(now);
        }
        prop_assert!(junk.buffered_bytes() <= 1 << 20);
    }
}

#[derive(Debug, Clone)]
struct Mangle {
    changes: Vec<(usize, u8)>,
    cut: usize,
    wait: u64,
}

impl Mangle {
    fn apply(&self, packet: &mut Vec<u8>) {
        for &(at, value) in &self.changes {
            let len = packet.len();
            packet[at % len] ^= value;
        }
        packet.truncate(self.cut);
        // The IP header checksum is corrected, so that the content behind it is parsed.
        if packet.len() >= 20 {
            packet[10..12].fill(0);
            let field = wire::Checksum::of(&packet[..20]).field();
            packet[10..12].copy_from_slice(&field.to_be_bytes());
        }
    }
}

fn mangled() -> BoxedStrategy<Mangle> {
    let change = (20..60usize, any::<u8>());
    (
        proptest::collection::vec(change, 0..4),
        prop_oneof![9 => Just(usize::MAX), 1 => 0..60usize],
        0..2000u64,
    )
        .prop_map(|(changes, cut, wait)| Mangle { changes, cut, wait })
        .boxed()
}
