//! Two stacks that exchange packets in virtual time.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test uses its part of it")]

pub mod download;
pub mod live;
pub mod raw;

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};

use host::{Checksums, ConnectionId, Event, Outgoing, Secret, Stack, StackConfig, Tuple};
use units::{Duration, Instant};

pub const DELAY: Duration = Duration::from_millis(10);

pub fn address(last: u8) -> IpAddr {
    Ipv4Addr::new(192, 0, 2, last).into()
}

pub fn config(last: u8) -> StackConfig {
    StackConfig::new(vec![address(last)])
}

/// The tuple of host 2, which opens the connection, to host 1.
pub fn tuple(local_port: u16, remote_port: u16) -> Tuple {
    Tuple { local: address(2), remote: address(1), local_port, remote_port }
}

/// Hosts 1 and 2 on a link with a constant delay. A closure decides the fate of each packet.
pub struct World {
    pub now: Instant,
    pub hosts: [Stack; 2],
    /// Packets in flight with their destination, by arrival time and serial number.
    on_the_line: BTreeMap<(Instant, u64), (usize, Vec<u8>)>,
    sent: u64,
    buffer: Outgoing,
}

/// The fate of a packet.
pub enum Fate {
    Arrives,
    Lost,
}

impl World {
    pub fn new(one: StackConfig, two: StackConfig) -> Self {
        let hosts = [Stack::new(one, Secret::new([1; 16])), Stack::new(two, Secret::new([2; 16]))];
        let now = Instant::ZERO + Duration::from_secs(1000);
        Self { now, hosts, on_the_line: BTreeMap::new(), sent: 0, buffer: Outgoing::default() }
    }

    pub fn server(&mut self) -> &mut Stack {
        &mut self.hosts[0]
    }

    pub fn client(&mut self) -> &mut Stack {
        &mut self.hosts[1]
    }

    pub fn connect(&mut self, local_port: u16) -> ConnectionId {
        let now = self.now;
        self.client().connect(tuple(local_port, 80), now).expect("there is room")
    }

    /// Delivers a packet to a host at once.
    pub fn inject(&mut self, host: usize, packet: &[u8]) {
        self.hosts[host].receive(packet, Checksums::Verify, self.now);
    }

    /// Drains both hosts and passes their events to `user`.
    pub fn drain(
        &mut self,
        mut fate: impl FnMut(usize, &[u8]) -> Fate,
        mut user: impl FnMut(&mut Stack, usize, Event, Instant),
    ) {
        let mut busy = true;
        while busy {
            busy = false;
            for (from, host) in self.hosts.iter_mut().enumerate() {
                while host.poll_transmit(self.now, &mut self.buffer) {
                    busy = true;
                    let to = 1 - from;
                    self.sent += 1;
                    if matches!(fate(to, self.buffer.bytes()), Fate::Arrives) {
                        self.on_the_line.insert(
                            (self.now + DELAY, self.sent),
                            (to, self.buffer.bytes().to_vec()),
                        );
                    }
                }
                while let Some(event) = host.poll_event() {
                    busy = true;
                    user(host, from, event, self.now);
                }
            }
        }
    }

    /// Advances virtual time until `end`.
    pub fn run(
        &mut self,
        end: Instant,
        mut fate: impl FnMut(usize, &[u8]) -> Fate,
        mut user: impl FnMut(&mut Stack, usize, Event, Instant),
    ) {
        loop {
            self.drain(&mut fate, &mut user);
            let arrival = self.on_the_line.keys().next().map_or(Instant::NEVER, |key| key.0);
            let timeout = self.hosts[0].next_timeout().min(self.hosts[1].next_timeout());
            let next = arrival.min(timeout);
            if next > end {
                self.now = self.now.max(end);
                return;
            }
            self.now = self.now.max(next);
            if arrival <= timeout {
                if let Some((_, (to, packet))) = self.on_the_line.pop_first() {
                    self.hosts[to].receive(&packet, Checksums::Verify, self.now);
                }
            } else {
                for host in &mut self.hosts {
                    host.on_timeout(self.now);
                }
            }
        }
    }
}

/// A network without loss.
pub fn clean(_: usize, _: &[u8]) -> Fate {
    Fate::Arrives
}

/// The byte at an offset of a test stream with a long period.
pub fn byte(at: usize) -> u8 {
    u8::try_from((at ^ at >> 8 ^ at >> 16) & 0xff).unwrap_or(0)
}
