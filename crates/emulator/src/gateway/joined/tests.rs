use std::net::{Ipv4Addr, TcpListener};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use proptest::prelude::*;

use super::*;

const WAIT: Duration = Duration::from_secs(10);

/// A connection over the loopback interface: the end of a peer, and the end of the pair.
fn connection() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let peer = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    peer.set_read_timeout(Some(WAIT)).unwrap();
    (peer, listener.accept().unwrap().0)
}

fn spawned<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    Builder::new().spawn(work).unwrap()
}

/// Drives a pair until it is over, in a thread.
fn driven(mut pair: Joined) -> JoinHandle<usize> {
    spawned(move || {
        let poller = Poller::new().unwrap();
        poller.add_edges(&pair.ends[1], Token::Opening(0)).unwrap();
        pair.watch(0, &poller).unwrap();
        let (mut events, mut buffer, mut most) = (Vec::new(), vec![0; 5000], 0);
        let mut wait = None;
        loop {
            poller.wait(wait, &mut events).unwrap();
            for event in events.drain(..) {
                let Token::Joined(_, side) = event.token else { continue };
                pair.notice(side, event);
            }
            let progress = pair.copy(&mut buffer);
            most = most.max(pair.flows.iter().map(|flow| flow.rest.len()).sum());
            match progress {
                Progress::Over => return most,
                Progress::Busy => wait = Some(units::Duration::ZERO),
                Progress::Waiting => wait = None,
            }
        }
    })
}

/// Two peers with a pair between them, and the thread of the pair.
fn peers() -> (TcpStream, TcpStream, JoinHandle<usize>) {
    let ((client, inside), (server, outside)) = (connection(), connection());
    (client, server, driven(Joined::new(inside, outside).unwrap()))
}

fn pattern(seed: usize, len: usize) -> Vec<u8> {
    (0..len).map(|at| u8::try_from((at * 31 + seed) % 251).unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Each side gets the bytes of the other, and then their end, in whatever order they end.
    #[test]
    fn bytes_and_ends_pass_in_both_directions(
        up in 0_usize..400_000,
        down in 0_usize..400_000,
        server_first in any::<bool>(),
    ) {
        let (client, server, pair) = peers();
        let sent = [pattern(1, up), pattern(2, down)];
        let exchange = |mut socket: TcpStream, bytes: Vec<u8>, waits: bool| {
            spawned(move || {
                let mut got = Vec::new();
                if waits {
                    socket.read_to_end(&mut got).unwrap();
                }
                socket.write_all(&bytes).unwrap();
                socket.shutdown(Shutdown::Write).unwrap();
                socket.read_to_end(&mut got).unwrap();
                got
            })
        };
        // The side that waits sees the end of the other's data while it can still send.
        let one = exchange(client, sent[0].clone(), server_first);
        let other = exchange(server, sent[1].clone(), !server_first);
        prop_assert!(one.join().unwrap() == sent[1]);
        prop_assert!(other.join().unwrap() == sent[0]);
        pair.join().unwrap();
    }
}

#[test]
fn a_reset_passes_in_both_directions() {
    for from_server in [false, true] {
        let (client, server, pair) = peers();
        let (reset_by, mut other) = if from_server { (server, client) } else { (client, server) };
        // The other side has sent nothing, and waits.
        reset(&reset_by);
        drop(reset_by);
        let error = other.read(&mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset, "from the server: {from_server}");
        pair.join().unwrap();
    }
}

#[test]
fn a_receiver_that_does_not_read_stops_the_sender() {
    let (mut client, mut server, pair) = peers();
    client.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let (data, mut sent) = (vec![7; 65_536], 0);
    // Without back pressure the sender would never have to wait. The buffers of four sockets hold
    // some megabytes each.
    while sent < 200_000_000
        && let Ok(len) = client.write(&data)
    {
        sent += len;
    }
    assert!(sent < 100_000_000, "{sent}");
    client.shutdown(Shutdown::Write).unwrap();
    let mut got = 0;
    let mut buffer = vec![0; 1 << 16];
    loop {
        let len = server.read(&mut buffer).unwrap();
        if len == 0 {
            break;
        }
        got += len;
    }
    assert_eq!(got, sent);
    drop(server);
    assert!(pair.join().unwrap() <= 5000, "only the data of one read waits");
}
