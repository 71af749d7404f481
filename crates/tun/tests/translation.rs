//! Address translation in a namespace of its own, with TUN devices as the link and as the network
//! outside. Needs root, as CI has it.
#![expect(clippy::unwrap_used, reason = "a test")]

use std::net::Ipv4Addr;

use tun::{Interface, NetNamespace, Offload, PollFd, PollFlags, Prefix, Translation, Tun};

const FORWARDING: &str = "/proc/sys/net/ipv4/conf/outer/forwarding";
const FORWARDING_V6: &str = "/proc/sys/net/ipv6/conf/outer/force_forwarding";

/// A UDP packet without a checksum.
fn packet(from: [u8; 4], to: [u8; 4], ports: [u16; 2]) -> Vec<u8> {
    let mut bytes = vec![0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 0, 0];
    bytes.extend(from);
    bytes.extend(to);
    let sum: u32 = bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(two[1])).sum();
    let sum = !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap();
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
    bytes.extend([0, 8, 0, 0]);
    bytes
}

fn device(name: &str, address: &str, routes: &[&str]) -> (Tun, Interface) {
    let tun = Tun::open(name, Offload::None).unwrap();
    let interface = tun.interface().unwrap();
    interface.set_no_link_local().unwrap();
    interface.set_up().unwrap();
    interface.add_address(prefix(address), None).unwrap();
    for route in routes {
        interface.add_route(prefix(route)).unwrap();
    }
    (tun, interface)
}

fn prefix(text: &str) -> Prefix {
    let (address, len) = text.split_once('/').unwrap();
    Prefix::new(address.parse().unwrap(), len.parse().unwrap()).unwrap()
}

/// The next packet within a second: its addresses and ports.
fn received(tun: &Tun) -> Option<([u8; 4], [u8; 4], [u16; 2])> {
    let clock = tun::Clock::start();
    let mut buffer = [0; 2048];
    let until = clock.now() + units::Duration::from_millis(1000);
    while clock.now() < until {
        let Some(len) = tun.read(&mut buffer).unwrap() else {
            let mut fds = [PollFd::new(tun, PollFlags::IN)];
            clock.wait(&mut fds, until, units::Duration::ZERO).unwrap();
            continue;
        };
        let bytes = &buffer[..len];
        if bytes[0] == 0x45 && bytes[9] == 17 {
            let port = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
            let address = |at: usize| <[u8; 4]>::try_from(&bytes[at..at + 4]).unwrap();
            return Some((address(12), address(16), [port(20), port(22)]));
        }
    }
    None
}

fn setting(path: &str) -> Option<String> {
    Some(std::fs::read_to_string(path).ok()?.trim().to_owned())
}

const INSIDE: [u8; 4] = [100, 64, 0, 2];
const SERVER: [u8; 4] = [203, 0, 113, 9];
const MACHINE: [u8; 4] = [198, 51, 100, 1];
const STRANGER: [u8; 4] = [198, 51, 100, 7];

#[test]
fn packets_are_translated_in_both_directions_and_settings_are_restored() {
    NetNamespace::new().unwrap().run(translated).unwrap();
}

fn translated() {
    let (outer, _) = device("outer", "198.51.100.1/24", &["0.0.0.0/0"]);
    let (inner, link) = device("tcpsf0", "100.64.0.1/32", &["100.64.0.0/18"]);
    let (other, _) = device("other", "192.0.2.1/24", &[]);
    let before = (setting(FORWARDING), setting(FORWARDING_V6));
    let translation = Translation::new(&link, &[prefix("100.64.0.0/18")]).unwrap();
    assert_eq!(setting(FORWARDING).as_deref(), Some("1"));

    inner.write(&packet(INSIDE, SERVER, [5000, 53])).unwrap();
    let (from, to, ports) = received(&outer).unwrap();
    assert_eq!((from, to, ports[1]), (MACHINE, SERVER, 53));
    outer.write(&packet(SERVER, MACHINE, [53, ports[0]])).unwrap();
    assert_eq!(received(&inner), Some((SERVER, INSIDE, [53, 5000])));
    assert_eq!(translation.dropped_packets().unwrap(), 0);

    // The machine did not forward packets of strangers before, and does not do so now.
    outer.write(&packet(STRANGER, [192, 0, 2, 7], [1, 2])).unwrap();
    assert_eq!(received(&other), None);

    // With two links, the last one restores the settings.
    let (second_end, second_link) = device("tcpsf1", "100.64.64.1/32", &["100.64.64.0/18"]);
    let second = Translation::new(&second_link, &[prefix("100.64.64.0/18")]).unwrap();
    drop(translation);
    assert_eq!(setting(FORWARDING).as_deref(), Some("1"));
    second_end.write(&packet([100, 64, 64, 2], SERVER, [6000, 80])).unwrap();
    assert_eq!(received(&outer).map(|(from, ..)| from), Some(MACHINE));
    outer.write(&packet(STRANGER, [192, 0, 2, 7], [1, 2])).unwrap();
    assert_eq!(received(&other), None);
    drop(second);
    assert_eq!((setting(FORWARDING), setting(FORWARDING_V6)), before);
}

#[test]
fn a_namespace_without_a_default_route_has_no_network_outside() {
    let refused = NetNamespace::new().unwrap().run(|| {
        let (_inner, link) = device("tcpsf0", "100.64.0.1/32", &["100.64.0.0/18"]);
        Translation::new(&link, &[prefix("100.64.0.0/18")]).unwrap_err()
    });
    let refused = refused.unwrap();
    assert!(refused.to_string().starts_with("cannot reach the network outside of this machine"));
    assert_eq!(refused.hint(), Some("there is no default route: `ip route`"));
}

#[test]
fn a_setting_that_was_on_stays_on() {
    NetNamespace::new()
        .unwrap()
        .run(|| {
            let (outer, _) = device("outer", "198.51.100.1/24", &["0.0.0.0/0"]);
            let (other, _) = device("other", "192.0.2.1/24", &[]);
            let (_inner, link) = device("tcpsf0", "100.64.0.1/32", &["100.64.0.0/18"]);
            NetNamespace::allow_forwarding().unwrap();
            let translation = Translation::new(&link, &[prefix("100.64.0.0/18")]).unwrap();
            outer.write(&packet(STRANGER, [192, 0, 2, 7], [1, 2])).unwrap();
            assert!(received(&other).is_some(), "{}", Ipv4Addr::from(STRANGER));
            drop(translation);
            assert_eq!(setting(FORWARDING).as_deref(), Some("1"));
        })
        .unwrap();
}
