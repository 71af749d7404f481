//! The kernel's part of a gateway between links and a program that opens connections elsewhere, in
//! a network namespace without any other exit.
//!
//! TCP connections and UDP datagrams that arrive from the links for other hosts are delivered to
//! transparent sockets. The first segment of a connection is an exception: it leaves through a TUN
//! device, as all other packets do. The program writes it to the device again when the
//! connection can be accepted, and the kernel then answers. All that the program writes is
//! forwarded to the links.

use std::io;
use std::net::{TcpListener, UdpSocket};
use std::os::fd::OwnedFd;

use crate::exits::LINKS;
use crate::interface::family;
use crate::netlink::Request;
use crate::nftables::{Hook, Step, Table};
use crate::redirect::{transparent_datagrams, transparent_listener};
use crate::source_route::{FRA_PRIORITY, FRA_TABLE};
use crate::{Error, Interface, NetNamespace, Offload, Prefix, Tun};

/// Name of the TUN device.
const DEVICE: &str = "gateway";
/// Name of the table of the packet filter.
const TABLE: &str = "tcpsf-gateway";
/// MTU of the TUN device. Longer packets do not arrive from the links.
const MTU: u32 = 65_535;
/// Mark of packets for the transparent sockets, and the number of their routing table and rule.
const DELIVERED: u32 = 7469;
/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
/// Attribute of rules (`linux/fib_rules.h`).
const FRA_FWMARK: u16 = 10;

/// The kernel's part of a gateway. It ends when the value is dropped.
#[derive(Debug)]
pub struct Gateway {
    /// The device of packets without a socket, and of the program's packets.
    pub tun: Tun,
    /// Listeners for connections to any host, one for each IP version that exists. The local
    /// address of an accepted connection is the destination.
    pub listeners: Vec<TcpListener>,
    /// Sockets for datagrams to any host, for [`receive_redirected`](crate::receive_redirected).
    pub datagrams: Vec<UdpSocket>,
    /// The socket of the nftables table, which is removed with it.
    table: OwnedFd,
}

impl Gateway {
    /// Makes a gateway in the calling thread's network namespace, before its links.
    ///
    /// # Errors
    /// If the privilege is missing, or the kernel lacks policy routing or nftables with transparent
    /// proxies.
    pub fn new() -> Result<Self, Error> {
        NetNamespace::allow_forwarding()?;
        accept_any_source()?;
        let tun = Tun::open(DEVICE, Offload::None)?;
        let interface = tun.interface()?;
        interface.set_mtu(MTU)?;
        let has_v6 = match interface.set_no_link_local() {
            Err(error) if error.is_without_ipv6() => false,
            result => result.map(|()| true)?,
        };
        interface.set_up()?;
        let fail = |e| Error::new("make sockets for connections to any host", e);
        let (mut listeners, mut datagrams) = (Vec::new(), Vec::new());
        // Both versions have the same ports, because the rules have one port for both.
        let (mut tcp, mut udp) = (0, 0);
        for is_v6 in [false, true].into_iter().take(1 + usize::from(has_v6)) {
            match interface.add_route(if is_v6 { Prefix::ALL_V6 } else { Prefix::ALL_V4 }) {
                Err(error) if is_v6 && error.is_without_ipv6() => break,
                result => result?,
            }
            deliver_marked(&interface, is_v6)?;
            let listener = transparent_listener(is_v6, tcp).map_err(fail)?;
            let socket = transparent_datagrams(is_v6, udp).map_err(fail)?;
            tcp = listener.local_addr().map_err(fail)?.port();
            udp = socket.local_addr().map_err(fail)?.port();
            listeners.push(listener);
            datagrams.push(socket);
        }
        let table = redirect(tcp, udp)?.into_fd();
        Ok(Self { tun, listeners, datagrams, table })
    }

    /// Converts the gateway to descriptors, at most [`Gateway::MAX_FDS`].
    pub fn into_fds(self) -> Vec<OwnedFd> {
        let Self { tun, listeners, datagrams, table } = self;
        let mut fds = vec![tun.into_fd(), table];
        for (listener, datagrams) in listeners.into_iter().zip(datagrams) {
            fds.extend([OwnedFd::from(listener), datagrams.into()]);
        }
        fds
    }

    /// The maximum number of descriptors.
    pub const MAX_FDS: usize = 6;

    /// The gateway of descriptors from [`into_fds`](Self::into_fds), possibly of another process.
    ///
    /// # Errors
    /// If the descriptors are others.
    pub fn from_fds(fds: Vec<OwnedFd>) -> Result<Self, Error> {
        let mut fds = fds.into_iter();
        let (Some(tun), Some(table)) = (fds.next(), fds.next()) else {
            return Err(Error::new("take over a gateway", io::ErrorKind::InvalidData));
        };
        let (mut listeners, mut datagrams) = (Vec::new(), Vec::new());
        while let (Some(listener), Some(socket)) = (fds.next(), fds.next()) {
            listeners.push(listener.into());
            datagrams.push(socket.into());
        }
        Ok(Self { tun: Tun::from_fd(tun)?, listeners, datagrams, table })
    }
}

/// Delivers packets from the links to the transparent sockets at these ports.
fn redirect(tcp: u16, udp: u16) -> Result<Table, Error> {
    let table = Table::new(TABLE)?;
    let from_links = Step::ArrivedAtNamed(LINKS);
    let from_program = Step::ArrivedAtNamed(DEVICE);
    let (mark, accept) = (Step::Mark(DELIVERED), Step::Accept);
    let rules: [&[Step]; 5] = [
        &[Step::ToThisHost, accept],
        &[from_links, Step::Protocol(TCP), Step::OpensConnection, accept],
        &[from_links, Step::Protocol(TCP), Step::DeliverTo(tcp), mark, accept],
        // The program has written the first segment again. Its other segments are for the links.
        &[
            from_program,
            Step::Protocol(TCP),
            Step::OpensConnection,
            Step::DeliverTo(tcp),
            mark,
            accept,
        ],
        &[from_links, Step::Protocol(UDP), Step::DeliverTo(udp), mark, accept],
    ];
    table.add_chain("redirect", Hook::Arrival, &rules)?;
    Ok(table)
}

/// Accepts packets with any source address (no reverse path filter), at devices that are made
/// later. The first segments of connections arrive at the gateway's device with addresses of the
/// links.
fn accept_any_source() -> Result<(), Error> {
    for name in ["all", "default"] {
        let path = format!("/proc/sys/net/ipv4/conf/{name}/rp_filter");
        std::fs::write(&path, "0")
            .map_err(|e| Error::new(format!("turn off the reverse path filter, `{path}`"), e))?;
    }
    Ok(())
}

/// Routes packets with the mark to this host, whatever their destination is.
fn deliver_marked(interface: &Interface, is_v6: bool) -> Result<(), Error> {
    /// `FR_ACT_TO_TBL` of `linux/fib_rules.h`.
    const TO_TABLE: u8 = 1;
    let result = || {
        let any = if is_v6 { Prefix::ALL_V6 } else { Prefix::ALL_V4 }.address();
        let loopback =
            Interface::find("lo").map_err(|_| io::Error::from(io::ErrorKind::NotFound))?;
        let (protocol, kind) = (libc::RTPROT_STATIC, libc::RTN_LOCAL);
        let scope = libc::RT_SCOPE_HOST;
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let fixed =
            [family(any), 0, 0, 0, libc::RT_TABLE_UNSPEC, protocol, scope, kind, 0, 0, 0, 0];
        let mut route = Request::new(libc::RTM_NEWROUTE, flags, &fixed);
        route.attribute(libc::RTA_TABLE, &DELIVERED.to_ne_bytes());
        route.attribute(libc::RTA_OIF, &loopback.index().to_ne_bytes());
        route.execute(interface.socket())?;
        let fixed = [family(any), 0, 0, 0, 0, 0, 0, TO_TABLE, 0, 0, 0, 0];
        let mut rule = Request::new(libc::RTM_NEWRULE, flags, &fixed);
        rule.attribute(FRA_FWMARK, &DELIVERED.to_ne_bytes());
        rule.attribute(FRA_TABLE, &DELIVERED.to_ne_bytes());
        rule.attribute(FRA_PRIORITY, &DELIVERED.to_ne_bytes());
        rule.execute(interface.socket())
    };
    result().map_err(|e: io::Error| {
        Error::new("route packets for all hosts to the sockets of this namespace", e)
            .with_hint("the kernel needs policy routing (CONFIG_IP_MULTIPLE_TABLES)")
    })
}
