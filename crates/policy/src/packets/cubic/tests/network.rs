//! A bulk flow over a path that delivers two packets each 100 ms.

use std::collections::VecDeque;

use super::*;

const MSS: u32 = 1000;
const INTERVAL: u64 = 100;

/// Sender and path, with the time of each transmission.
pub(super) struct Network {
    cubic: Cubic,
    pub(super) window: PacketWindow,
    now: u64,
    /// Times at which the packets in flight were sent, in ms.
    in_flight: VecDeque<u64>,
    acked: u32,
    /// Whether the window limits the sender.
    pub(super) cwnd_limited: bool,
}

impl Network {
    pub(super) fn new(cubic: Cubic) -> Self {
        let window = PacketWindow::new(10);
        let in_flight = VecDeque::from(vec![0; 10]);
        Self { cubic, window, now: 0, in_flight, acked: 0, cwnd_limited: true }
    }

    /// Handles ACKs of two packets until `packets` are acknowledged.
    pub(super) fn acknowledge_up_to(&mut self, packets: u32) {
        while self.acked < packets {
            self.now += INTERVAL;
            let nxt = START + (self.acked + self.flight()) * MSS;
            self.acked += 2;
            self.in_flight.pop_front();
            let sent = self.in_flight.pop_front().unwrap();
            let una = START + self.acked * MSS;
            let rtt = sample(at(self.now), self.now - sent);
            self.cubic.on_rtt(&mut self.window, &PacketRtt { una, nxt, ..rtt });
            let facts = PacketAck { cwnd_limited: self.cwnd_limited, ..ack(at(self.now), 2) };
            self.cubic.on_ack(&mut self.window, &facts);
            self.fill();
        }
    }

    fn flight(&self) -> u32 {
        u32::try_from(self.in_flight.len()).unwrap()
    }

    fn fill(&mut self) {
        while self.flight() < self.window.cwnd {
            self.in_flight.push_back(self.now);
        }
    }

    /// The application pauses, and everything is acknowledged.
    pub(super) fn pause(&mut self, pause: Duration) {
        let last_sent = at(self.now);
        self.now += pause.as_nanos() / 1_000_000;
        self.cubic.on_transmit_start(at(self.now), last_sent);
        self.in_flight.clear();
        self.fill();
    }
}
