//! Attaches a host to a TUN device and routes addresses to it.
//!
//! The kernel's end of the device gets addresses of two otherwise unused ranges: 100.127.0.0/16 of
//! the shared address space (RFC 6598), which `tcpsf link` leaves free, and `fd74:6370:7366:1::/64`
//! (RFC 4193).

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use tun::{
    Block, Error, Interface, NetNamespace, Offload, Prefix, Route, Tun, host_addresses, ipv6,
};

/// Length of the device queue towards the host, in packets. It holds a simultaneous burst of many
/// connections.
const QUEUE: u32 = 10_000;

/// Creates a device in the calling thread's network namespace and routes `addresses` to it. If
/// `addresses` is empty, it takes a free pair of one IPv4 and one IPv6 address. In the namespace of
/// a link these belong to the link's block, so that the other side has a route to them. Returns the
/// device and the addresses.
///
/// # Errors
/// If TUN devices or privileges are missing, or if an address is unusable: it belongs to this
/// machine or its router, is in use elsewhere, or is no unicast address of a host.
pub fn attach(addresses: &[IpAddr], mtu: u16, offload: bool) -> Result<(Tun, Vec<IpAddr>), Error> {
    let machine = Machine::look()?;
    for (number, &address) in addresses.iter().enumerate() {
        machine.allow(address, &addresses[..number]).map_err(|reason| refused(address, reason))?;
    }
    let (tun, interface) = device(mtu, offload)?;
    let around = Block::of_this_namespace()?;
    if around.is_some() {
        // The namespace was created by `tcpsf link`, so packets of the host are forwarded into the
        // link.
        NetNamespace::allow_forwarding()?;
    }
    for (number, free) in (0..=u8::MAX).zip(free_pairs(around)) {
        let kernel = host_addresses(number, 1);
        if kernel.iter().any(|&kernel| machine.has(kernel) || addresses.contains(&kernel)) {
            continue;
        }
        let wanted = if addresses.is_empty() { &free[..] } else { addresses };
        match give(&interface, kernel, wanted, !addresses.is_empty()) {
            // Another host took this pair concurrently.
            Err(error) if addresses.is_empty() && is_taken(&error) => {}
            result => return Ok((tun, result?)),
        }
    }
    let error = Error::new("find a free address in 100.127.0.0/16", io::ErrorKind::AddrInUse);
    Err(error.with_hint("stop a host that is no longer needed"))
}

/// Creates a device that is up and has no addresses.
fn device(mtu: u16, offload: bool) -> Result<(Tun, Interface), Error> {
    let tun = Tun::open("tcpsf%d", if offload { Offload::Segmentation } else { Offload::None })?;
    let interface = tun.interface()?;
    interface.set_no_link_local()?;
    interface.set_queue_len(QUEUE)?;
    interface.set_mtu(mtu.into())?;
    interface.set_up()?;
    Ok((tun, interface))
}

/// Routes `wanted` to the device and assigns the kernel's addresses to its end. A route claims its
/// address: if two hosts start at once, only one succeeds. Returns the claimed addresses.
fn give(
    interface: &Interface,
    kernel: [IpAddr; 2],
    wanted: &[IpAddr],
    asked: bool,
) -> Result<Vec<IpAddr>, Error> {
    let mut claimed = Vec::with_capacity(wanted.len());
    for kernel in kernel {
        let same_version = |address: &IpAddr| address.is_ipv4() == kernel.is_ipv4();
        let (Some(kernel), true) = (single(kernel), wanted.iter().any(same_version)) else {
            continue;
        };
        match interface.add_address(kernel, None) {
            // The kernel has no IPv6, and no IPv6 address was requested.
            Err(_) if !asked && !kernel.address().is_ipv4() => continue,
            result => result?,
        }
        for &address in wanted.iter().filter(|&address| same_version(address)) {
            let Some(destination) = single(address) else { continue };
            match interface.add_route(destination) {
                Err(error) if asked && is_taken(&error) => return Err(refused(address, IN_USE)),
                result => result?,
            }
            claimed.push(address);
        }
    }
    claimed.sort_by_key(|address| wanted.iter().position(|one| one == address));
    Ok(claimed)
}

/// The address pairs, IPv4 and IPv6, that a host may take by default. Inside a link they are those
/// that the outside has a route for, elsewhere those of the reserved range.
fn free_pairs(around: Option<Block>) -> impl Iterator<Item = [IpAddr; 2]> {
    let in_link = around
        .into_iter()
        .flat_map(|block| block.hosts())
        .map(|host| [host.into(), ipv6(host).into()]);
    in_link.chain((0..=u8::MAX).map(|number| host_addresses(number, 2)))
}

const IN_USE: &str = "it is in use: a device of this machine leads to it, perhaps of another `tcpsf serve` or `tcpsf proxy`";

/// Routes and neighbours of the network namespace.
#[derive(Debug)]
struct Machine {
    routes: Vec<Route>,
    neighbours: Vec<IpAddr>,
}

impl Machine {
    fn look() -> Result<Self, Error> {
        Ok(Self { routes: Interface::routes()?, neighbours: Interface::neighbours()? })
    }

    /// Returns the reason why a host cannot use `address` together with `others`.
    fn allow(&self, address: IpAddr, others: &[IpAddr]) -> Result<(), &'static str> {
        if others.contains(&address) {
            return Err("it is listed twice");
        }
        of_one_host(address)?;
        let exactly = |route: &&Route| single(address) == Some(route.destination);
        if self.has(address) {
            return Err("it belongs to this machine");
        }
        if self.routes.iter().any(|route| route.gateways.contains(&address)) {
            return Err("it is a gateway of this machine");
        }
        if self.routes.iter().filter(exactly).any(|route| route.is_broadcast) {
            return Err("it is the broadcast address of a network of this machine");
        }
        if self.routes.iter().any(|route| exactly(&route)) {
            return Err(IN_USE);
        }
        if self.neighbours.contains(&address) {
            return Err("it is in use: another machine on the network has it");
        }
        Ok(())
    }

    /// Whether the machine itself has `address`.
    fn has(&self, address: IpAddr) -> bool {
        self.routes.iter().any(|route| route.is_local && route.destination.contains(address))
    }
}

/// Refuses addresses that are never those of a single host on a network.
fn of_one_host(address: IpAddr) -> Result<(), &'static str> {
    let broadcast = address == IpAddr::V4(Ipv4Addr::BROADCAST);
    // RFC 1122 §3.2.1.3: 0.0.0.0/8 is this network. RFC 4291 §2.5.6: an address of fe80::/10 needs
    // an interface.
    let (this_network, on_link) = match address {
        IpAddr::V4(four) => (four.octets()[0] == 0, false),
        IpAddr::V6(six) => (six.is_unspecified(), six.is_unicast_link_local()),
    };
    let mapped = matches!(address, IpAddr::V6(six) if six.to_ipv4_mapped().is_some());
    for (is, reason) in [
        (this_network, "no host can have it"),
        (address.is_loopback(), "it is a loopback address, which never leaves the kernel"),
        (address.is_multicast(), "it is a multicast address"),
        (broadcast, "it is the broadcast address"),
        (on_link, "it is a link-local address, which the kernel cannot route"),
        (mapped, "it is an IPv4 address in IPv6 form: write it as IPv4"),
    ] {
        if is {
            return Err(reason);
        }
    }
    Ok(())
}

/// The prefix that contains `address` alone.
fn single(address: IpAddr) -> Option<Prefix> {
    Prefix::new(address, if address.is_ipv4() { 32 } else { 128 })
}

fn is_taken(error: &Error) -> bool {
    error.source().kind() == io::ErrorKind::AlreadyExists
}

fn refused(address: IpAddr, reason: &str) -> Error {
    let error = Error::new(format!("use the address `{address}`"), io::Error::other(reason));
    error.with_hint("use a free address, such as 100.127.9.2, or give none to get a free one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine() -> Machine {
        let route = |text: &str, len| Route {
            destination: Prefix::new(text.parse().unwrap(), len).unwrap(),
            is_local: false,
            is_broadcast: false,
            gateways: Vec::new(),
        };
        let routes = vec![
            Route { gateways: vec!["192.0.2.1".parse().unwrap()], ..route("0.0.0.0", 0) },
            route("192.0.2.0", 24),
            Route { is_local: true, ..route("192.0.2.2", 32) },
            Route { is_local: true, ..route("127.0.0.0", 8) },
            Route { is_broadcast: true, ..route("192.0.2.255", 32) },
            Route { gateways: vec!["2001:db8::1".parse().unwrap()], ..route("::", 0) },
            Route { is_local: true, ..route("2001:db8::2", 128) },
            route("100.127.0.2", 32),
        ];
        Machine { routes, neighbours: vec!["192.0.2.53".parse().unwrap()] }
    }

    #[test]
    fn addresses_in_use_are_refused() {
        for (address, reason) in [
            ("0.0.0.0", "no host can have it"),
            ("0.1.2.3", "no host can have it"),
            ("::", "no host can have it"),
            ("127.0.0.1", "loopback"),
            ("::1", "loopback"),
            ("224.0.0.1", "multicast"),
            ("ff02::1", "multicast"),
            ("255.255.255.255", "broadcast"),
            ("192.0.2.255", "broadcast"),
            ("fe80::2", "link-local"),
            ("::ffff:192.0.2.9", "write it as IPv4"),
            ("192.0.2.1", "gateway"),
            ("2001:db8::1", "gateway"),
            ("192.0.2.2", "it belongs to this machine"),
            ("2001:db8::2", "it belongs to this machine"),
            ("192.0.2.53", "another machine"),
            ("100.127.0.2", "in use"),
        ] {
            let found = machine().allow(address.parse().unwrap(), &[]);
            assert!(found.is_err_and(|found| found.contains(reason)), "{address}: {found:?}");
        }
    }

    #[test]
    fn free_addresses_are_accepted_once() {
        for address in ["192.0.2.9", "198.51.100.7", "2001:db8::9", "100.127.0.3", "fd00::2"] {
            let address = address.parse().unwrap();
            assert_eq!(machine().allow(address, &[]), Ok(()));
            assert_eq!(machine().allow(address, &[address]), Err("it is listed twice"));
        }
    }
}
