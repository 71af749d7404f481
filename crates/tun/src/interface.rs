//! Network interfaces of the calling thread's namespace, configured through rtnetlink.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use rustix::net::netdevice::{index_to_name, name_to_index};
use units::{Duration, Instant};

use crate::netlink::{self, Request, attributes, u16_at, u32_at};
use crate::{Clock, Error};

/// An address prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    address: IpAddr,
    len: u8,
}

impl Prefix {
    /// The prefix of all IPv4 addresses.
    pub const ALL_V4: Self = Self { address: IpAddr::V4(Ipv4Addr::UNSPECIFIED), len: 0 };
    /// The prefix of all IPv6 addresses.
    pub const ALL_V6: Self = Self { address: IpAddr::V6(Ipv6Addr::UNSPECIFIED), len: 0 };

    /// The prefix with the first `len` bits of `address`. `None` if the address has fewer bits.
    pub const fn new(address: IpAddr, len: u8) -> Option<Self> {
        let max = if address.is_ipv4() { 32 } else { 128 };
        if len > max { None } else { Some(Self { address, len }) }
    }

    /// The address that the prefix was created with.
    pub const fn address(self) -> IpAddr {
        self.address
    }

    /// The length of the prefix in bits.
    pub const fn len(self) -> u8 {
        self.len
    }

    /// Whether `address` has this prefix.
    pub const fn contains(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(one), IpAddr::V4(other)) => {
                let apart = one.to_bits() ^ other.to_bits();
                apart.leading_zeros() >= self.len as u32
            }
            (IpAddr::V6(one), IpAddr::V6(other)) => {
                let apart = one.to_bits() ^ other.to_bits();
                apart.leading_zeros() >= self.len as u32
            }
            _ => false,
        }
    }

    /// Whether the length is zero.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.len)
    }
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The address, with the prefix length of its network.
    pub prefix: Prefix,
    /// The interface index.
    pub interface: u32,
}

/// A route of the namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// Destination prefix.
    pub destination: Prefix,
    /// Whether the destination is an address of this machine.
    pub is_local: bool,
    /// Whether the destination is a broadcast address.
    pub is_broadcast: bool,
    /// The gateways.
    pub gateways: Vec<IpAddr>,
}

/// Counters of an interface since its creation.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets sent; of a TUN device, packets that its reader has read.
    pub sent_packets: u64,
    /// Packets dropped before sending; of a TUN device, packets dropped because its reader was too
    /// slow.
    pub not_sent_packets: u64,
}

/// An interface of the network namespace in which it was found. It can be used from any other
/// namespace.
#[derive(Debug)]
pub struct Interface {
    name: String,
    index: u32,
    /// Netlink socket of the namespace.
    socket: OwnedFd,
}

impl Interface {
    /// Finds an interface by name in the calling thread's namespace.
    ///
    /// # Errors
    /// If there is none.
    pub fn find(name: &str) -> Result<Self, Error> {
        let fail = |source: io::Error| Error::new(format!("find interface `{name}`"), source);
        let socket = netlink::open().map_err(fail)?;
        let index = name_to_index(&socket, name).map_err(|errno| fail(errno.into()))?;
        Ok(Self { name: name.to_owned(), index, socket })
    }

    /// Finds an interface by index, in the namespace of a socket from [`into_fd`](Self::into_fd),
    /// possibly of another process.
    ///
    /// # Errors
    /// If there is none.
    pub fn from_fd(socket: OwnedFd, index: u32) -> Result<Self, Error> {
        let name = index_to_name(&socket, index)
            .map_err(|errno| Error::new(format!("find interface number {index}"), errno))?;
        Ok(Self { name, index, socket })
    }

    /// The netlink socket of its namespace.
    pub(crate) fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Converts the interface to its netlink socket.
    pub fn into_fd(self) -> OwnedFd {
        self.socket
    }

    /// The interface name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The interface index.
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Brings the interface up and waits until it can pass packets.
    ///
    /// # Errors
    /// If the system refuses, or the interface is not ready within five seconds.
    pub fn set_up(&self) -> Result<(), Error> {
        // `IFF_UP` is 1. No other flag changes.
        self.link(1, |_| ()).map_err(|e| self.fail("turn on", e))?;
        // `ifOperStatus` of RFC 2863. The kernel updates it asynchronously, up to a second later,
        // unless it is queried. Until then IPv6 has no route through the interface.
        self.wait_for("turn on", || self.is_ready())
    }

    /// Polls `condition` until it holds, for at most five seconds.
    fn wait_for(
        &self,
        operation: &str,
        condition: impl Fn() -> io::Result<bool>,
    ) -> Result<(), Error> {
        const TIMEOUT: Instant = Instant::from_nanos(5_000_000_000);
        let clock = Clock::start();
        while !condition().map_err(|e| self.fail(operation, e))? {
            if clock.now() > TIMEOUT {
                return Err(self.fail(operation, io::ErrorKind::TimedOut.into()));
            }
            clock.wait(&mut [], clock.now() + Duration::from_millis(1), Duration::ZERO)?;
        }
        Ok(())
    }

    fn is_ready(&self) -> io::Result<bool> {
        /// `IF_OPER_UNKNOWN`, the only state of many drivers, and `IF_OPER_UP`.
        const READY: [u8; 2] = [0, 6];
        self.query(IFLA_OPERSTATE, |value| value.first().map(|state| READY.contains(state)))
    }

    /// Sets the MTU in bytes, IP header included.
    ///
    /// # Errors
    /// If the system refuses, as it does below 68. Below 1280 the kernel removes the IPv6
    /// addresses.
    pub fn set_mtu(&self, bytes: u32) -> Result<(), Error> {
        self.link(0, |request| request.attribute(libc::IFLA_MTU, &bytes.to_ne_bytes()))
            .map_err(|e| self.fail(&format!("set MTU {bytes} on"), e))
    }

    /// Disables the automatic IPv6 link-local address, and thus the router solicitations of the
    /// kernel. To be called before [`set_up`](Self::set_up).
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_no_link_local(&self) -> Result<(), Error> {
        const INET6_ADDR_GEN_MODE: u16 = 8;
        const NONE: u8 = 1;
        let result = self.link(0, |request| {
            let families = request.begin(libc::IFLA_AF_SPEC);
            let ipv6 = request.begin(u16::try_from(libc::AF_INET6).unwrap_or_default());
            request.attribute(INET6_ADDR_GEN_MODE, &[NONE]);
            request.end(ipv6);
            request.end(families);
        });
        result.map_err(|e| self.fail("turn off link-local addresses of", e))
    }

    /// Sets the length of the transmit queue in packets. Of a TUN device, they wait there until
    /// they are read.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn set_queue_len(&self, packets: u32) -> Result<(), Error> {
        self.link(0, |request| request.attribute(libc::IFLA_TXQLEN, &packets.to_ne_bytes()))
            .map_err(|e| self.fail(&format!("set a queue of {packets} packets for"), e))
    }

    /// Adds an address. With `peer`, the interface becomes point-to-point, with that address at the
    /// other end.
    ///
    /// # Errors
    /// If the interface has the address already, or the system refuses.
    pub fn add_address(&self, address: Prefix, peer: Option<IpAddr>) -> Result<(), Error> {
        let result = || {
            let mut fixed = vec![family(address.address), address.len, 0, 0];
            fixed.extend(self.index.to_ne_bytes());
            let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
            let mut request = Request::new(libc::RTM_NEWADDR, flags, &fixed);
            request.attribute(libc::IFA_LOCAL, &octets(address.address));
            request.attribute(libc::IFA_ADDRESS, &octets(peer.unwrap_or(address.address)));
            // Duplicate address detection is useless on a point-to-point line.
            request.attribute(IFA_FLAGS, &libc::IFA_F_NODAD.to_ne_bytes());
            request.execute(&self.socket)
        };
        let operation = format!("add address {address} to");
        result().map_err(|e| self.fail(&operation, e))?;
        if address.address.is_ipv4() {
            return Ok(());
        }
        // The kernel adds the routes of an IPv6 address asynchronously: that to the address, then
        // that to the peer.
        self.wait_for(&operation, || match peer {
            None => self.has_route(address.address, |kind, _| kind == libc::RTN_LOCAL),
            Some(peer) => self.has_route(peer, |_, interface| interface == Some(self.index)),
        })
    }

    /// Looks up the route to `address` and applies `wanted` to its type and interface index.
    fn has_route(
        &self,
        address: IpAddr,
        wanted: impl Fn(u8, Option<u32>) -> bool,
    ) -> io::Result<bool> {
        const KIND_AT: usize = 7;
        let len = if address.is_ipv4() { 32 } else { 128 };
        let mut fixed = [0; 12];
        fixed[..2].copy_from_slice(&[family(address), len]);
        let mut request = Request::new(libc::RTM_GETROUTE, libc::NLM_F_ACK, &fixed);
        request.attribute(libc::RTA_DST, &octets(address));
        let mut found = false;
        let result = request.execute_with(&self.socket, |message, body| {
            if message == libc::RTM_NEWROUTE {
                let mut all = attributes(body.get(fixed.len()..).unwrap_or_default());
                let interface = all.find(|&(kind, _)| kind == libc::RTA_OIF);
                let interface = interface.and_then(|(_, value)| u32_at(value, 0));
                found = body.get(KIND_AT).is_some_and(|&kind| wanted(kind, interface));
            }
        });
        match result {
            Err(error) if error.kind() == io::ErrorKind::NetworkUnreachable => Ok(false),
            result => result.map(|()| found),
        }
    }

    /// Adds a route to `destination` through the interface.
    ///
    /// # Errors
    /// `AlreadyExists` if the namespace has a route for exactly this prefix; other errors of the
    /// system.
    pub fn add_route(&self, destination: Prefix) -> Result<(), Error> {
        let result = || {
            let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
            let (table, protocol) = (libc::RT_TABLE_MAIN, libc::RTPROT_STATIC);
            let (scope, kind) = (libc::RT_SCOPE_LINK, libc::RTN_UNICAST);
            let (family, len) = (family(destination.address), destination.len);
            let fixed = [family, len, 0, 0, table, protocol, scope, kind, 0, 0, 0, 0];
            let mut request = Request::new(libc::RTM_NEWROUTE, flags, &fixed);
            if !destination.is_empty() {
                request.attribute(libc::RTA_DST, &octets(destination.address));
            }
            request.attribute(libc::RTA_OIF, &self.index.to_ne_bytes());
            request.execute(&self.socket)
        };
        result().map_err(|e| self.fail(&format!("add route {destination} through"), e))
    }

    /// Lists all addresses of the namespace.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn addresses() -> Result<Vec<Address>, Error> {
        list("addresses", libc::RTM_GETADDR, libc::RTM_NEWADDR, &[0; 8], address)
    }

    /// Lists all routes of the namespace, including those of the kernel's local table.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn routes() -> Result<Vec<Route>, Error> {
        list("routes", libc::RTM_GETROUTE, libc::RTM_NEWROUTE, &[0; 12], route)
    }

    /// Lists the neighbours of the namespace that have answered address resolution.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn neighbours() -> Result<Vec<IpAddr>, Error> {
        list("neighbours", libc::RTM_GETNEIGH, libc::RTM_NEWNEIGH, &[0; 12], neighbour)
    }

    /// Reads the counters of the interface.
    ///
    /// # Errors
    /// If the interface was removed, or the system refuses.
    pub fn statistics(&self) -> Result<Statistics, Error> {
        /// Indexes into `struct rtnl_link_stats64`, which begins with packets received and sent,
        /// bytes, errors, and dropped packets.
        const SENT: usize = 1;
        const NOT_SENT: usize = 7;
        let found = self.query(libc::IFLA_STATS64, |value| {
            let count = |at: usize| {
                Some(u64::from_ne_bytes(value.get(8 * at..8 * at + 8)?.try_into().ok()?))
            };
            Some(Statistics { sent_packets: count(SENT)?, not_sent_packets: count(NOT_SENT)? })
        });
        found.map_err(|e| self.fail("ask for the statistics of", e))
    }

    /// Changes flags and attributes of the interface.
    fn link(&self, flags: u32, attributes: impl FnOnce(&mut Request)) -> io::Result<()> {
        let mut fixed = vec![0; 4];
        fixed.extend(self.index.to_ne_bytes());
        fixed.extend(flags.to_ne_bytes());
        fixed.extend(flags.to_ne_bytes());
        let mut request = Request::new(libc::RTM_NEWLINK, libc::NLM_F_ACK, &fixed);
        attributes(&mut request);
        request.execute(&self.socket)
    }

    /// Reads one attribute of the interface.
    fn query<T>(&self, wanted: u16, read: impl Fn(&[u8]) -> Option<T>) -> io::Result<T> {
        let mut fixed = vec![0; 4];
        fixed.extend(self.index.to_ne_bytes());
        fixed.extend([0; 8]);
        let request = Request::new(libc::RTM_GETLINK, libc::NLM_F_ACK, &fixed);
        let mut found = None;
        request.execute_with(&self.socket, |kind, body| {
            if kind == libc::RTM_NEWLINK {
                let mut all = attributes(body.get(fixed.len()..).unwrap_or_default());
                found = all.find(|&(kind, _)| kind == wanted).and_then(|(_, value)| read(value));
            }
        })?;
        found.ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    fn fail(&self, operation: &str, source: io::Error) -> Error {
        let error = Error::new(format!("{operation} interface `{}`", self.name), source);
        if error.is_permission_denied() {
            return error.with_hint(
                "this requires CAP_NET_ADMIN in this network namespace: run it as root",
            );
        }
        error
    }
}

const IFA_FLAGS: u16 = 8;
const IFLA_OPERSTATE: u16 = 16;

pub(crate) fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() { libc::AF_INET } else { libc::AF_INET6 };
    u8::try_from(family).unwrap_or_default()
}

pub(crate) fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Requests a list from the calling thread's namespace and parses each message of type `entry`.
pub(crate) fn list<T>(
    what: &str,
    request: u16,
    entry: u16,
    fixed: &[u8],
    read: impl Fn(&[u8]) -> Option<T>,
) -> Result<Vec<T>, Error> {
    let mut found = Vec::new();
    let request = Request::new(request, libc::NLM_F_DUMP, fixed);
    let result = netlink::open().and_then(|socket| {
        request.execute_with(&socket, |kind, body| {
            if kind == entry {
                found.extend(read(body));
            }
        })
    });
    result.map_err(|e| Error::new(format!("list the {what} of this network namespace"), e))?;
    Ok(found)
}

/// Parses an `RTM_NEWROUTE` message.
fn route(body: &[u8]) -> Option<Route> {
    /// Length of `struct rtnexthop` without its attributes.
    const NEXT_HOP_BYTES: usize = 8;
    let (family, len, kind) = (i32::from(*body.first()?), *body.get(1)?, *body.get(7)?);
    let (mut address, mut gateways) = (
        match family {
            libc::AF_INET => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            libc::AF_INET6 => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
            _ => return None,
        },
        Vec::new(),
    );
    for (kind, value) in attributes(body.get(12..)?) {
        match kind {
            libc::RTA_DST => address = ip(value)?,
            libc::RTA_GATEWAY => gateways.extend(ip(value)),
            // A gateway of the other address family: the family, then the address.
            libc::RTA_VIA => gateways.extend(value.get(2..).and_then(ip)),
            libc::RTA_MULTIPATH => {
                let mut rest = value;
                while let Some(len) =
                    u16_at(rest, 0).map(usize::from).filter(|&len| len >= NEXT_HOP_BYTES)
                {
                    let hop = attributes(rest.get(NEXT_HOP_BYTES..len).unwrap_or_default());
                    let to = hop.filter(|&(kind, _)| kind == libc::RTA_GATEWAY);
                    gateways.extend(to.filter_map(|(_, value)| ip(value)));
                    rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    Some(Route {
        destination: Prefix::new(address, len)?,
        is_local: kind == libc::RTN_LOCAL,
        is_broadcast: kind == libc::RTN_BROADCAST,
        gateways,
    })
}

/// Parses an `RTM_NEWNEIGH` message. `None` unless the neighbour has answered.
fn neighbour(body: &[u8]) -> Option<IpAddr> {
    const STATE_AT: usize = 8;
    let silent = libc::NUD_INCOMPLETE | libc::NUD_FAILED | libc::NUD_NOARP;
    if u16_at(body, STATE_AT)? & silent != 0 {
        return None;
    }
    let (_, value) = attributes(body.get(12..)?).find(|&(kind, _)| kind == libc::NDA_DST)?;
    ip(value)
}

/// Parses a binary address.
fn ip(octets: &[u8]) -> Option<IpAddr> {
    match <[u8; 4]>::try_from(octets) {
        Ok(octets) => Some(octets.into()),
        Err(_) => <[u8; 16]>::try_from(octets).ok().map(IpAddr::from),
    }
}

/// Parses an `RTM_NEWADDR` message.
fn address(body: &[u8]) -> Option<Address> {
    let (len, interface) = (*body.get(1)?, u32_at(body, 4)?);
    // `IFA_LOCAL` is the interface's own address. Without a peer, IPv6 has `IFA_ADDRESS` only.
    let of = |wanted: u16| attributes(body.get(8..)?).find(|&(kind, _)| kind == wanted);
    let (_, value) = of(libc::IFA_LOCAL).or_else(|| of(libc::IFA_ADDRESS))?;
    Some(Address { prefix: Prefix::new(ip(value)?, len)?, interface })
}
