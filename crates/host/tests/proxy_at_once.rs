//! The proxy over a stack in virtual time. Its upstream is a kernel socket on loopback.

mod common;

use std::io::Write;
use std::net::{Ipv4Addr, TcpListener};

use common::{DELAY, Fate, World, clean, config};
use host::{Event, Proxy, Service, Stack};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use units::{Duration, Instant};

/// Lets the proxy handle socket events until `done` holds. No virtual time passes.
fn hear(proxy: &mut Proxy, world: &mut World, done: impl Fn(&Proxy) -> bool) {
    let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
    while !done(proxy) {
        let sockets = proxy.descriptor().expect("a descriptor");
        let ready = poll(&mut [PollFd::from_borrowed_fd(sockets, PollFlags::IN)], Some(&patience));
        assert_eq!(ready, Ok(1), "sockets that the kernel has news of");
        let now = world.now;
        proxy.on_ready(world.server(), now);
    }
}

/// RFC 9293 §3.7.4: without the Nagle algorithm a small segment does not wait for the
/// acknowledgment of the previous one.
#[test]
fn small_upstream_writes_are_sent_without_nagle_delay() {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let upstream = listener.local_addr().expect("a bound socket");
    let mut proxy = Proxy::new(80, vec![upstream], Duration::from_secs(10)).expect("a descriptor");
    let mut settings = config(1);
    proxy.configure(&mut settings);
    let mut world = World::new(settings, config(2));
    let now = world.now;
    proxy.start(world.server(), now);
    world.connect(1000);
    let end = now + Duration::from_secs(1);
    world.run(end, clean, |stack, host, event, now| on_event(&mut proxy, stack, host, event, now));
    let (mut socket, _) = listener.accept().expect("the proxy connects");
    hear(&mut proxy, &mut world, |proxy| proxy.relayed().connected == 1);
    // All within one instant, so that no acknowledgment can arrive in between.
    let written = world.now;
    let mut left = Vec::new();
    for number in 1..=5_u64 {
        socket.write_all(&[b'x'; 100]).expect("an open connection");
        hear(&mut proxy, &mut world, |proxy| proxy.relayed().down_bytes == 100 * number);
        world.drain(
            |to, packet| {
                if to == 1 {
                    left.push(packet.len());
                }
                Fate::Arrives
            },
            |stack, host, event, now| on_event(&mut proxy, stack, host, event, now),
        );
        assert_eq!(
            left.len(),
            usize::try_from(number).expect("a small number"),
            "segments that have left"
        );
    }
    assert!(left.iter().all(|&len| len > 100 && len < 200), "{left:?}");
    assert!(world.now == written && world.now < written + DELAY);
}

fn on_event(proxy: &mut Proxy, stack: &mut Stack, host: usize, event: Event, now: Instant) {
    if host == 0 {
        proxy.on_event(stack, event, now);
    }
}
