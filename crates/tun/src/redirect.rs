//! Sockets for a proxy that other hosts do not see (transparent proxy,
//! `Documentation/networking/tproxy.rst` of Linux), and errors of datagrams (`ip(7)`).

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::sockopt::set_ipv6_v6only;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::sys::{ControlMessage, receive, set_socket_option};

/// Length of the queue of accepted connections. The kernel limits it to `net.core.somaxconn`.
const BACKLOG: i32 = 4096;

/// An ICMP error about a datagram, or an error of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramError {
    /// The destination of the datagram.
    pub to: SocketAddr,
    /// The error number.
    pub code: i32,
    /// Whether an ICMP message reported the error, and not this system.
    pub is_remote: bool,
}

/// A socket at a port of the unspecified address, which accepts connections to any address. The
/// port 0 selects a free one.
pub(crate) fn transparent_listener(is_v6: bool, port: u16) -> io::Result<TcpListener> {
    let socket = transparent(is_v6, SocketType::STREAM, port)?;
    listen(&socket, BACKLOG)?;
    Ok(socket.into())
}

/// A socket at a port of the unspecified address, which receives datagrams to any address. The port
/// 0 selects a free one.
pub(crate) fn transparent_datagrams(is_v6: bool, port: u16) -> io::Result<UdpSocket> {
    let socket = transparent(is_v6, SocketType::DGRAM, port)?;
    if is_v6 {
        set_socket_option(&socket, libc::SOL_IPV6, libc::IPV6_RECVORIGDSTADDR, 1)?;
    } else {
        set_socket_option(&socket, libc::SOL_IP, libc::IP_RECVORIGDSTADDR, 1)?;
    }
    Ok(socket.into())
}

fn transparent(is_v6: bool, kind: SocketType, port: u16) -> io::Result<OwnedFd> {
    let family = if is_v6 { AddressFamily::INET6 } else { AddressFamily::INET };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, kind, flags, None)?;
    let any: SocketAddr = if is_v6 {
        set_ipv6_v6only(&socket, true)?;
        set_socket_option(&socket, libc::SOL_IPV6, libc::IPV6_TRANSPARENT, 1)?;
        (Ipv6Addr::UNSPECIFIED, port).into()
    } else {
        set_socket_option(&socket, libc::SOL_IP, libc::IP_TRANSPARENT, 1)?;
        (Ipv4Addr::UNSPECIFIED, port).into()
    };
    bind(&socket, &any)?;
    Ok(socket)
}

/// Receives a datagram that was redirected to a transparent socket. Returns its length, its source
/// and its original destination. Does not wait.
///
/// # Errors
/// `WouldBlock` if there is none; other errors of the system.
pub fn receive_redirected(
    socket: &UdpSocket,
    buffer: &mut [u8],
) -> io::Result<(usize, SocketAddr, SocketAddr)> {
    let received = receive(socket, buffer, 0)?;
    match (received.name, received.message) {
        (Some(from), Some(ControlMessage::Destination(to))) => Ok((received.len, from, to)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Lets a datagram socket receive errors about its datagrams (`IP_RECVERR`).
///
/// # Errors
/// If the system refuses.
pub fn report_errors(socket: impl AsFd, is_v6: bool) -> io::Result<()> {
    if is_v6 {
        set_socket_option(socket, libc::SOL_IPV6, libc::IPV6_RECVERR, 1)
    } else {
        set_socket_option(socket, libc::SOL_IP, libc::IP_RECVERR, 1)
    }
}

/// Receives an error about a datagram, and the beginning of the datagram. Returns the length of the
/// latter. Does not wait.
///
/// # Errors
/// `WouldBlock` if there is none; other errors of the system.
pub fn receive_error(socket: impl AsFd, buffer: &mut [u8]) -> io::Result<(usize, DatagramError)> {
    /// `SO_EE_ORIGIN_LOCAL` of `linux/errqueue.h`.
    const LOCAL: u8 = 1;
    let received = receive(socket, buffer, libc::MSG_ERRQUEUE)?;
    match (received.name, received.message) {
        (Some(to), Some(ControlMessage::Error { code, origin })) => {
            Ok((received.len, DatagramError { to, code, is_remote: origin != LOCAL }))
        }
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Limits the data that waits in a connection's send buffer without having been sent
/// (`TCP_NOTSENT_LOWAT`, `tcp(7)`): the socket is writable below this number of bytes.
///
/// # Errors
/// If the system refuses.
pub fn limit_unsent(socket: &TcpStream, bytes: i32) -> io::Result<()> {
    set_socket_option(socket, libc::SOL_TCP, libc::TCP_NOTSENT_LOWAT, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: i32 = 5000;

    fn wait(socket: impl AsFd) {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        let time = Timespec { tv_sec: i64::from(WAIT / 1000), tv_nsec: 0 };
        let ready = poll(&mut [PollFd::new(&socket, PollFlags::IN)], Some(&time));
        assert!(ready.unwrap() > 0);
    }

    /// The kernel reports that no socket has the port.
    #[test]
    fn an_error_names_the_destination_of_its_datagram() {
        for host in [SocketAddr::from(([127, 0, 0, 1], 0)), (Ipv6Addr::LOCALHOST, 0).into()] {
            let closed = UdpSocket::bind(host).unwrap().local_addr().unwrap();
            let socket = UdpSocket::bind(host).unwrap();
            report_errors(&socket, host.is_ipv6()).unwrap();
            let mut buffer = [0; 64];
            let none = receive_error(&socket, &mut buffer).unwrap_err();
            assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
            socket.send_to(b"datagram", closed).unwrap();
            wait(&socket);
            let (len, error) = receive_error(&socket, &mut buffer).unwrap();
            let code = libc::ECONNREFUSED;
            assert_eq!(error, DatagramError { to: closed, code, is_remote: true });
            assert_eq!(&buffer[..len], b"datagram");
        }
    }
}
