//! Needs root, as CI has it.

use std::time::Duration as Wait;

use tun::{NetNamespace, Offload};

use super::*;

/// Sessions in a namespace of their own, with a server at the loopback address.
struct Gateway {
    sessions: Sessions,
    poller: Poller,
    device: Tun,
    server: UdpSocket,
}

impl Gateway {
    fn new(limit: usize) -> Self {
        let device = Tun::open("gateway", Offload::None).unwrap();
        device.interface().unwrap().set_up().unwrap();
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        server.set_read_timeout(Some(Wait::from_secs(10))).unwrap();
        Self {
            sessions: Sessions::new(limit, 1500),
            poller: Poller::new().unwrap(),
            device,
            server,
        }
    }

    /// Sends a datagram of a client, and returns the port from which the server receives it.
    fn send(&mut self, client: u16, at: Instant) -> u16 {
        let to = self.server.local_addr().unwrap();
        let client = SocketAddr::from(([100, 64, 0, 2], client));
        self.sessions.send(client, to, b"datagram", at, &self.poller, &self.device);
        let (len, from) = self.server.recv_from(&mut [0; 100]).unwrap();
        assert_eq!(len, 8);
        from.port()
    }
}

fn in_a_namespace(work: impl FnOnce() + Send) {
    NetNamespace::new().unwrap().run(work).unwrap();
}

fn at(seconds: u64) -> Instant {
    Instant::from_nanos(seconds * 1_000_000_000)
}

/// RFC 4787 REQ-1, REQ-5 and REQ-6: one port outside, until five minutes without a datagram.
#[test]
fn a_client_keeps_its_port_outside_until_it_is_idle() {
    in_a_namespace(|| {
        let mut gateway = Gateway::new(10);
        let port = gateway.send(5000, at(0));
        assert_ne!(gateway.send(5001, at(0)), port);
        gateway.sessions.expire(at(299));
        assert_eq!(gateway.send(5000, at(299)), port);
        gateway.sessions.expire(at(301));
        assert_eq!(gateway.sessions.all.len(), 1, "the other one was idle");
        assert_eq!(gateway.send(5000, at(598)), port);
        gateway.sessions.expire(at(897));
        assert!(!gateway.sessions.is_empty());
        gateway.sessions.expire(at(898));
        assert!(gateway.sessions.is_empty() && gateway.sessions.by_client.is_empty());
    });
}

#[test]
fn above_the_limit_the_session_that_was_idle_longest_gives_way() {
    in_a_namespace(|| {
        let mut gateway = Gateway::new(3);
        let ports: Vec<u16> = (0..3).map(|client| gateway.send(client, at(0))).collect();
        assert_eq!(gateway.send(0, at(1)), ports[0]);
        assert_eq!(gateway.send(2, at(1)), ports[2]);
        gateway.send(3, at(2));
        assert_eq!(gateway.sessions.all.len(), 3);
        assert_eq!(gateway.send(0, at(3)), ports[0]);
        assert_eq!(gateway.send(2, at(3)), ports[2]);
        assert_ne!(gateway.send(1, at(4)), ports[1]);
    });
}
