//! Server of the three ports over this project's host.

use host::{ConnectionId, Driver, Event, EventKind, Service, Stack, StackConfig};
use peers::{CHUNK, REQUEST, REQUESTS, RESPONSE, SERVER, SINK, SOURCE};
use units::{Duration, Instant};

struct Bench {
    bytes: Vec<u8>,
    /// Peers by [`ConnectionId::index`].
    peers: Vec<Peer>,
}

#[derive(Clone, Copy, Default)]
struct Peer {
    port: u16,
    /// Bytes of an incomplete request.
    asked: usize,
    /// Bytes of responses that are still to be written.
    owed: usize,
}

impl Bench {
    fn write(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let peer = &mut self.peers[id.index()];
        if peer.port == SOURCE {
            while stack.write(id, &self.bytes, now).is_ok_and(|taken| taken == self.bytes.len()) {}
        } else if peer.owed > 0 {
            let taken = stack.write(id, &self.bytes[..peer.owed], now).unwrap_or(peer.owed);
            peer.owed -= taken;
        }
    }

    fn read(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        loop {
            let taken = stack.read(id, &mut self.bytes);
            let peer = &mut self.peers[id.index()];
            if peer.port == REQUESTS {
                peer.asked += taken;
                peer.owed += peer.asked / REQUEST * RESPONSE;
                peer.asked %= REQUEST;
            }
            if taken < self.bytes.len() {
                break;
            }
        }
        self.write(stack, id, now);
        if stack.is_at_end(id) {
            stack.close(id, now);
        }
    }
}

impl Service for Bench {
    fn start(&mut self, stack: &mut Stack, _now: Instant) {
        for port in [SOURCE, SINK, REQUESTS] {
            stack.listen(port);
        }
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant) {
        let id = event.id;
        match event.kind {
            EventKind::Accepted(port) => {
                self.peers.resize(self.peers.len().max(id.index() + 1), Peer::default());
                self.peers[id.index()] = Peer { port, ..Peer::default() };
                self.write(stack, id, now);
            }
            EventKind::Readable => self.read(stack, id, now),
            EventKind::Writable => self.write(stack, id, now),
            EventKind::Connected | EventKind::Closed(_) => {}
        }
    }

    fn on_timeout(&mut self, _stack: &mut Stack, _now: Instant) {}

    fn next_timeout(&self) -> Instant {
        Instant::NEVER
    }

    fn stop(&mut self, _stack: &mut Stack, _now: Instant) {}

    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

fn main() {
    let mtu = peers::option("--mtu", 1500);
    let offload =
        if peers::flag("--offload") { tun::Offload::Segmentation } else { tun::Offload::None };
    let buffer = peers::option("--buffer", 1 << 20);
    let mut config = StackConfig::new(vec![SERVER.into()]);
    config.mtu = mtu;
    config.tcp.send_buffer = buffer;
    config.tcp.receive_buffer = buffer;
    config.tcp.timestamps = !peers::flag("--no-timestamps");
    let bench = Bench { bytes: vec![b'x'; CHUNK], peers: Vec::new() };
    let mut driver = Driver::new(peers::device(offload, mtu), config, bench).expect("a driver");
    peers::ready();
    loop {
        driver.run(Duration::from_secs(3600)).expect("the device works");
    }
}
