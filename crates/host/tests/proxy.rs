//! The proxy between two connections of the kernel's TCP, through a TUN device. Needs root and
//! `/dev/net/tun`.

mod common;

use std::io::{Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Span;

use common::byte;
use common::live::{KERNEL, KERNEL_6, OURS, OURS_6, beside};
use host::{Driver, Proxy};
use tun::Offload;
use units::Duration;

const UPSTREAM: u16 = 8080;

fn bytes(count: usize) -> Vec<u8> {
    (0..count).map(byte).collect()
}

fn connect(to: IpAddr) -> TcpStream {
    let stream = TcpStream::connect_timeout(&SocketAddr::new(to, 80), Span::from_secs(10))
        .expect("our port is open");
    stream.set_read_timeout(Some(Span::from_secs(20))).expect("a timeout");
    stream
}

/// Runs `client` beside a proxy. `serve` handles each connection to the upstream, one after the
/// other.
fn between(
    offload: Offload,
    upstream: &[IpAddr],
    connections: usize,
    serve: impl Fn(TcpStream) + Send + Sync,
    client: impl FnOnce() + Send,
) -> Driver<Proxy> {
    let addresses = upstream.iter().map(|&address| SocketAddr::new(address, UPSTREAM)).collect();
    beside(
        offload,
        |_| {},
        || Proxy::new(80, addresses, Duration::from_secs(2)).expect("a descriptor"),
        || {
            let listeners: Vec<_> = if connections > 0 {
                upstream
                    .iter()
                    .map(|&address| TcpListener::bind((address, UPSTREAM)).expect("a free port"))
                    .collect()
            } else {
                Vec::new()
            };
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for number in 0..connections {
                        let (stream, _) = listeners[number % listeners.len()]
                            .accept()
                            .expect("the proxy connects");
                        stream.set_read_timeout(Some(Span::from_secs(20))).expect("a timeout");
                        serve(stream);
                    }
                });
                client();
            });
        },
    )
}

#[test]
fn data_and_fin_are_relayed_in_both_directions() {
    for (offload, upstream, ours) in
        [(Offload::None, KERNEL, OURS), (Offload::Segmentation, KERNEL_6, OURS_6)]
    {
        let size = 2_000_000;
        // The upstream answers only after the end of the stream.
        let serve = |mut stream: TcpStream| {
            let mut heard = Vec::new();
            stream.read_to_end(&mut heard).expect("the peer's bytes");
            assert!(heard == bytes(size));
            heard.reverse();
            stream.write_all(&heard).expect("an open connection");
        };
        let driver = between(offload, &[upstream], 1, serve, || {
            let mut stream = connect(ours);
            stream.write_all(&bytes(size)).expect("an open connection");
            stream.shutdown(Shutdown::Write).expect("an open connection");
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("the upstream's bytes");
            answer.reverse();
            assert!(answer == bytes(size));
        });
        let relayed = driver.service().relayed();
        assert_eq!((relayed.up_bytes, relayed.down_bytes), (size as u64, size as u64));
        assert_eq!((driver.stack().counters().closed, driver.stack().counters().failed), (1, 0));
    }
}

#[test]
fn slow_peer_throttles_the_upstream() {
    let size = 20_000_000;
    let serve = |mut stream: TcpStream| stream.write_all(&bytes(size)).expect("an open connection");
    let driver = between(Offload::None, &[KERNEL], 1, serve, || {
        let mut stream = connect(OURS);
        std::thread::park_timeout(Span::from_millis(300));
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("the upstream's bytes");
        assert!(answer == bytes(size));
    });
    assert_eq!(driver.service().relayed().down_bytes, size as u64);
    assert_eq!(driver.stack().buffered_bytes(), 0);
}

#[test]
fn peer_is_reset_if_no_upstream_answers() {
    let driver = between(Offload::None, &[KERNEL], 0, drop, || {
        // The reset may arrive before the kernel reports the connection as open.
        let refused = TcpStream::connect((OURS, 80)).and_then(|mut stream| stream.read(&mut [0]));
        assert!(refused.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    });
    assert_eq!((driver.service().relayed().unconnected, driver.stack().counters().failed), (1, 1));
}

#[test]
fn next_upstream_address_is_tried() {
    let other = "100.64.1.99".parse().expect("an address");
    let addresses = vec![SocketAddr::new(other, 1), SocketAddr::new(KERNEL, UPSTREAM)];
    let driver = beside(
        Offload::None,
        |_| {},
        || Proxy::new(80, addresses, Duration::from_millis(200)).expect("a descriptor"),
        || {
            let listener = TcpListener::bind((KERNEL, UPSTREAM)).expect("a free port");
            let mut stream = connect(OURS);
            let (mut upstream, _) = listener.accept().expect("the proxy connects");
            upstream.write_all(b"here").expect("an open connection");
            drop(upstream);
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("the upstream's bytes");
            assert_eq!(answer, b"here");
        },
    );
    assert_eq!(driver.service().relayed().connected, 1);
}

#[test]
fn resets_are_forwarded_in_both_directions() {
    let serve = |stream: TcpStream| {
        // Unread data makes the kernel send a reset on close.
        let mut one = [0];
        stream.peek(&mut one).expect("a byte");
        drop(stream);
    };
    between(Offload::None, &[KERNEL], 1, serve, || {
        let mut stream = connect(OURS);
        stream.write_all(b"unread").expect("an open connection");
        let ended = stream.read(&mut [0; 10]);
        assert!(ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    });
    let serve = |mut stream: TcpStream| {
        stream.write_all(b"unread").expect("an open connection");
        let ended = stream.read(&mut [0; 10]);
        assert!(ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    };
    between(Offload::None, &[KERNEL], 1, serve, || {
        let stream = connect(OURS);
        let mut one = [0];
        stream.peek(&mut one).expect("a byte");
    });
}

#[test]
fn hundreds_of_concurrent_relays() {
    let serve =
        |mut stream: TcpStream| stream.write_all(&bytes(10_000)).expect("an open connection");
    let driver = between(Offload::None, &[KERNEL], 300, serve, || {
        let streams: Vec<_> = (0..300).map(|_| connect(OURS)).collect();
        for mut stream in streams {
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).expect("the upstream's bytes");
            assert!(answer == bytes(10_000));
        }
    });
    assert_eq!(driver.service().relayed().connected, 300);
}

#[test]
fn idle_connections_resume() {
    let (hand_over, handed) = std::sync::mpsc::channel();
    let serve = |stream: TcpStream| hand_over.send(stream).expect("somebody who takes it");
    between(Offload::None, &[KERNEL], 50, serve, move || {
        let mut streams: Vec<_> = (0..50).map(|_| connect(OURS)).collect();
        // The upstream's sockets are used in a different order than the peers'.
        for (number, stream) in streams.iter_mut().enumerate() {
            stream.write_all(&[byte(number)]).expect("an open connection");
        }
        let mut upstream: Vec<_> =
            (0..50).map(|_| handed.recv().expect("the upstream's end")).collect();
        for round in 0..3 {
            for stream in &mut upstream {
                let mut heard = [0];
                stream.read_exact(&mut heard).expect("what the peer said");
                // One byte, one byte, and then more than one segment.
                stream
                    .write_all(&heard.repeat(if round == 2 { 100_000 } else { 1 }))
                    .expect("an open connection");
            }
            for (number, stream) in streams.iter_mut().enumerate() {
                let mut answer = vec![0; if round == 2 { 100_000 } else { 1 }];
                stream.read_exact(&mut answer).expect("its echo");
                assert!(answer.iter().all(|&heard| heard == byte(number)));
                if round < 2 {
                    stream.write_all(&[byte(number)]).expect("an open connection");
                }
            }
        }
    });
}

/// Large enough that most of it stays in the proxy while the peer does not read; the proxy can hold
/// all of it.
const HELD: usize = 500_000;

#[test]
fn data_of_a_closed_upstream_arrives_while_it_rejects_data() {
    let closed = AtomicBool::new(false);
    let serve = |mut stream: TcpStream| {
        stream.write_all(&bytes(HELD)).expect("an open connection");
        drop(stream);
        closed.store(true, Ordering::Release);
    };
    let driver = between(Offload::None, &[KERNEL], 1, serve, || {
        let mut stream = connect(OURS);
        // With unread data the kernel would send a reset on close rather than a FIN.
        while !closed.load(Ordering::Acquire) {
            std::thread::park_timeout(Span::from_millis(10));
        }
        // Data sent to the upstream now is answered with a reset; later sends fail.
        for _ in 0..3 {
            std::thread::park_timeout(Span::from_millis(200));
            stream.write_all(b"late").expect("an open connection");
        }
        std::thread::park_timeout(Span::from_millis(200));
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("an orderly end");
        assert!(answer == bytes(HELD), "{} bytes of {HELD}", answer.len());
    });
    assert_eq!((driver.stack().counters().closed, driver.stack().counters().failed), (1, 0));
}

#[test]
fn data_before_an_upstream_reset_arrives_before_the_reset() {
    let serve = |mut stream: TcpStream| {
        let mut one = [0];
        stream.peek(&mut one).expect("a byte");
        stream.write_all(&bytes(HELD)).expect("an open connection");
        std::thread::park_timeout(Span::from_millis(300));
        // Unread data makes the kernel send a reset on close.
        drop(stream);
    };
    let driver = between(Offload::None, &[KERNEL], 1, serve, || {
        let mut stream = connect(OURS);
        stream.write_all(b"unread").expect("an open connection");
        for _ in 0..3 {
            std::thread::park_timeout(Span::from_millis(200));
            let _ = stream.write_all(b"late");
        }
        let mut answer = Vec::new();
        let ended = stream.read_to_end(&mut answer);
        assert!(answer == bytes(HELD), "{} bytes of {HELD}", answer.len());
        assert!(ended.is_err_and(|error| error.kind() == std::io::ErrorKind::ConnectionReset));
    });
    assert_eq!(driver.stack().counters().failed, 1);
}
