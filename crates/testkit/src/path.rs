//! A path between endpoints with random delay, loss and reordering, determined by a seed.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::{Ecn, Mss, Segment};

use crate::random::Random;

/// Parameters of a path. Rates are per mille and independent of each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathConfig {
    /// Delay of a segment.
    pub delay: Duration,
    /// Loss rate, per mille.
    pub loss: u16,
    /// Corruption rate, per mille. The receiver's checksum turns corruption into loss.
    pub corruption: u16,
    /// Duplication rate, per mille.
    pub duplication: u16,
    /// Reordering rate, per mille: segments that are delayed further.
    pub reordering: u16,
    /// Maximum additional delay of reordered segments.
    pub hold: Duration,
    /// Marking rate of ECN-capable segments, per mille.
    pub marking: u16,
    /// Path MTU in bytes. Longer packets are dropped and reported to their sender (RFC 1191).
    pub mtu: Option<u16>,
}

/// Fate of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It arrives.
    Arrives,
    /// It is lost.
    Lost,
    /// It is corrupted, and so discarded by the receiver.
    Damaged,
    /// It arrives twice.
    Doubled,
    /// It is longer than the MTU.
    TooBig,
}

/// A segment in flight, with its bytes.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Segment.
    pub segment: Segment,
    /// Payload.
    pub payload: Vec<u8>,
}

/// One direction between two endpoints.
#[derive(Debug)]
pub struct Path {
    config: PathConfig,
    random: Random,
    /// Packets in flight by arrival time. Packets of equal time arrive in the order of
    /// transmission.
    under_way: BTreeMap<(Instant, u64), Packet>,
    serial: u64,
}

impl Path {
    /// Creates an empty path.
    pub const fn new(config: PathConfig, seed: u64) -> Self {
        Self { config, random: Random::new(seed), under_way: BTreeMap::new(), serial: 0 }
    }

    /// Sends a packet and returns its fate.
    pub fn send(&mut self, mut packet: Packet, now: Instant) -> Fate {
        let PathConfig { loss, corruption, duplication, .. } = self.config;
        if self.config.mtu.is_some_and(|mtu| packet.segment.ipv4_len() > mtu.into()) {
            return Fate::TooBig;
        }
        if self.random.chance(loss) {
            return Fate::Lost;
        }
        if self.random.chance(corruption) {
            return Fate::Damaged;
        }
        let flags = packet.segment.flags;
        if flags.ecn().is_capable() && self.random.chance(self.config.marking) {
            packet.segment.flags = flags.with_ecn(Ecn::Ce);
        }
        let fate = if self.random.chance(duplication) { Fate::Doubled } else { Fate::Arrives };
        if fate == Fate::Doubled {
            self.enqueue(packet.clone(), now);
        }
        self.enqueue(packet, now);
        fate
    }

    /// Segment size that a router reports for a packet longer than the MTU.
    pub fn fits(&self) -> Option<Mss> {
        Mss::new(self.config.mtu?.saturating_sub(40))
    }

    /// Arrival time of the next packet.
    pub fn next_arrival(&self) -> Instant {
        self.under_way.first_key_value().map_or(Instant::NEVER, |(&(at, _), _)| at)
    }

    /// Removes the next packet.
    pub fn arrive(&mut self) -> Option<Packet> {
        self.under_way.pop_first().map(|(_, packet)| packet)
    }

    fn enqueue(&mut self, packet: Packet, now: Instant) {
        let mut at = now + self.config.delay;
        if self.random.chance(self.config.reordering) {
            at += Duration::from_nanos(self.random.below(self.config.hold.as_nanos()));
        }
        self.under_way.insert((at, self.serial), packet);
        self.serial += 1;
    }
}

#[cfg(test)]
mod tests {
    use wire::{Control, Flags, Options, SeqNum, UnscaledWindow};

    use super::*;

    fn packet(number: u32) -> Packet {
        let segment = Segment {
            seq: SeqNum::new(number),
            ack: None,
            control: Control::None,
            flags: Flags::NONE,
            window: UnscaledWindow::new(0),
            payload_len: 0,
            options: Options::default(),
        };
        Packet { segment, payload: Vec::new() }
    }

    fn arrivals(config: PathConfig, count: u32) -> Vec<u32> {
        let mut path = Path::new(config, 7);
        for number in 0..count {
            path.send(packet(number), Instant::from_nanos(u64::from(number) * 1_000_000));
        }
        std::iter::from_fn(|| path.arrive()).map(|packet| packet.segment.seq.value()).collect()
    }

    #[test]
    fn a_good_path_keeps_all_and_their_order() {
        let config = PathConfig { delay: Duration::from_millis(20), ..PathConfig::default() };
        assert_eq!(arrivals(config, 100), (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_bad_path_loses_doubles_and_reorders() {
        let hold = Duration::from_millis(10);
        assert!(arrivals(PathConfig { loss: 300, ..PathConfig::default() }, 100).len() < 90);
        assert!(arrivals(PathConfig { corruption: 300, ..PathConfig::default() }, 100).len() < 90);
        assert!(
            arrivals(PathConfig { duplication: 300, ..PathConfig::default() }, 100).len() > 110
        );
        let shuffled = arrivals(PathConfig { reordering: 300, hold, ..PathConfig::default() }, 100);
        assert!(shuffled.len() == 100 && !shuffled.is_sorted());
    }
}
