//! UDP datagrams and ICMP echo requests. Each socket of a client has one socket outside, for all
//! hosts: endpoint-independent mapping and filtering (RFC 4787 REQ-1, REQ-8; for ICMP RFC 5508).

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use tun::Tun;
use units::{Duration, Instant};
use wire::icmp::{Echo, HEADER_LEN};

use super::packets::{self, write, write_unreachable};
use super::poller::{BATCH, Event, Poller, Token};

/// Time after the last datagram for which a session remains: RFC 4787 REQ-5 recommends five
/// minutes, and RFC 5508 REQ-2 requires 60 s.
const DATAGRAM_TIMEOUT: Duration = Duration::from_secs(300);
const ECHO_TIMEOUT: Duration = Duration::from_secs(60);

/// Types of ICMP messages: echo request and echo reply, in IPv4 and IPv6.
const REQUEST: [u8; 2] = [8, 128];
const REPLY: [u8; 2] = [0, 129];

/// The socket of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Client {
    /// An address and a UDP port.
    Datagrams(SocketAddr),
    /// An address and an identifier of echo requests.
    Echo(IpAddr, u16),
}

#[derive(Debug)]
struct Session {
    client: Client,
    /// For echo requests it has their protocol.
    socket: UdpSocket,
    until: Instant,
}

/// All sessions.
#[derive(Debug)]
pub(super) struct Sessions {
    all: BTreeMap<u64, Session>,
    by_client: BTreeMap<Client, u64>,
    next: u64,
    limit: usize,
    mtu: usize,
    /// Identification of the next fragmented packet.
    identification: u16,
}

impl Sessions {
    pub(super) fn new(limit: usize, mtu: u32) -> Self {
        Self {
            all: BTreeMap::new(),
            by_client: BTreeMap::new(),
            next: 0,
            limit,
            mtu: usize::try_from(mtu).unwrap_or(usize::MAX),
            identification: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Sends a datagram of a client.
    pub(super) fn send(
        &mut self,
        client: SocketAddr,
        to: SocketAddr,
        data: &[u8],
        now: Instant,
        poller: &Poller,
        device: &Tun,
    ) {
        let is_broadcast = matches!(to.ip(), IpAddr::V4(address) if address.is_broadcast());
        if is_broadcast || to.ip().is_multicast() {
            return;
        }
        let sent = self
            .session(Client::Datagrams(client), now, poller)
            .and_then(|session| session.send(to, data));
        if let Err(error) = sent {
            let about = packets::quoted_datagram(client, to, data.len());
            answer(device, &about, &error);
        }
    }

    /// Sends an echo request of a client, which is the packet `about.0` to the host `about.1`.
    pub(super) fn request(
        &mut self,
        client: IpAddr,
        about: (&[u8], IpAddr),
        echo: Echo<'_>,
        now: Instant,
        poller: &Poller,
        device: &Tun,
    ) {
        let (packet, to) = about;
        let [high, low] = echo.sequence.to_be_bytes();
        // The kernel sets the identifier and the checksum.
        let mut message = vec![REQUEST[usize::from(to.is_ipv6())], 0, 0, 0, 0, 0, high, low];
        message.extend_from_slice(echo.data);
        let sent = self
            .session(Client::Echo(client, echo.identifier), now, poller)
            .and_then(|session| session.send(SocketAddr::new(to, 0), &message));
        if let Err(error) = sent {
            answer(device, packet, &error);
        }
    }

    /// Passes to the client what its session has received.
    pub(super) fn receive(
        &mut self,
        id: u64,
        event: Event,
        now: Instant,
        buffer: &mut [u8],
        device: &Tun,
    ) {
        let Some(session) = self.all.get_mut(&id) else { return };
        if event.failed {
            session.pass_errors(buffer, device);
        }
        for _ in 0..BATCH {
            let Ok((len, from)) = session.socket.recv_from(buffer) else { break };
            session.touch(now);
            self.identification = self.identification.wrapping_add(1);
            for packet in session.packets(from, &buffer[..len], self.mtu, self.identification) {
                write(device, &packet);
            }
        }
    }

    /// Ends sessions that were idle for too long.
    pub(super) fn expire(&mut self, now: Instant) {
        let late = self.all.iter().filter(|(_, session)| session.until <= now);
        for id in late.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.remove(id);
        }
    }

    /// The session of a client, which is made if there is none. Above the limit, the session that
    /// would end first gives way.
    fn session(
        &mut self,
        client: Client,
        now: Instant,
        poller: &Poller,
    ) -> io::Result<&mut Session> {
        let id = match self.by_client.get(&client) {
            Some(&id) => id,
            None => self.make(client, now, poller)?,
        };
        let session = self.all.get_mut(&id).ok_or(io::ErrorKind::NotFound)?;
        session.touch(now);
        Ok(session)
    }

    fn make(&mut self, client: Client, now: Instant, poller: &Poller) -> io::Result<u64> {
        if self.all.len() >= self.limit {
            let first = self.all.iter().min_by_key(|(_, session)| session.until);
            if let Some(id) = first.map(|(id, _)| *id) {
                self.remove(id);
            }
        }
        let id = self.next;
        let socket = client.socket()?;
        poller.add_levels(&socket, Token::Session(id))?;
        self.next += 1;
        self.by_client.insert(client, id);
        self.all.insert(id, Session { client, socket, until: now });
        Ok(id)
    }

    fn remove(&mut self, id: u64) {
        if let Some(session) = self.all.remove(&id) {
            self.by_client.remove(&session.client);
        }
    }
}

impl Client {
    fn is_v6(self) -> bool {
        match self {
            Self::Datagrams(address) => address.is_ipv6(),
            Self::Echo(address, _) => address.is_ipv6(),
        }
    }

    /// A socket outside.
    fn socket(self) -> io::Result<UdpSocket> {
        let any: IpAddr =
            if self.is_v6() { Ipv6Addr::UNSPECIFIED.into() } else { Ipv4Addr::UNSPECIFIED.into() };
        let socket = match self {
            Self::Datagrams(_) => UdpSocket::bind((any, 0))?,
            Self::Echo(..) => {
                let (family, protocol) = if self.is_v6() {
                    (AddressFamily::INET6, ipproto::ICMPV6)
                } else {
                    (AddressFamily::INET, ipproto::ICMP)
                };
                let flags = SocketFlags::CLOEXEC;
                socket_with(family, SocketType::DGRAM, flags, Some(protocol))?.into()
            }
        };
        socket.set_nonblocking(true)?;
        tun::report_errors(&socket, self.is_v6())?;
        Ok(socket)
    }
}

impl Session {
    fn touch(&mut self, now: Instant) {
        let timeout = match self.client {
            Client::Datagrams(_) => DATAGRAM_TIMEOUT,
            Client::Echo(..) => ECHO_TIMEOUT,
        };
        self.until = now + timeout;
    }

    fn send(&self, to: SocketAddr, data: &[u8]) -> io::Result<()> {
        // The first attempt may return the error of an earlier datagram, which is in the queue of
        // errors as well.
        let sent = self.socket.send_to(data, to).or_else(|_| self.socket.send_to(data, to));
        sent.map(drop)
    }

    /// Passes errors of earlier datagrams to the client.
    fn pass_errors(&self, buffer: &mut [u8], device: &Tun) {
        for _ in 0..BATCH {
            let Ok((len, error)) = tun::receive_error(&self.socket, buffer) else { break };
            if !error.is_remote {
                continue;
            }
            let about = match self.client {
                Client::Datagrams(client) => packets::quoted_datagram(client, error.to, len),
                Client::Echo(client, identifier) => {
                    let request = buffer.get(..len).unwrap_or_default();
                    packets::quoted_echo(client, error.to.ip(), identifier, request)
                }
            };
            answer(device, &about, &io::Error::from_raw_os_error(error.code));
        }
        // An error without an entry in the queue.
        let _ = self.socket.take_error();
    }

    /// The packets for the client of a received datagram or echo reply.
    fn packets(
        &self,
        from: SocketAddr,
        data: &[u8],
        mtu: usize,
        identification: u16,
    ) -> Vec<Vec<u8>> {
        match self.client {
            Client::Datagrams(client) => packets::datagram(from, client, data, mtu, identification),
            Client::Echo(client, identifier) => {
                let Some(head) = data.first_chunk::<HEADER_LEN>() else { return Vec::new() };
                if head[0] != REPLY[usize::from(client.is_ipv6())] {
                    return Vec::new();
                }
                let sequence = u16::from_be_bytes([head[6], head[7]]);
                let echo = Echo { identifier, sequence, data: &data[HEADER_LEN..] };
                packets::echo_reply(from.ip(), client, echo, mtu, identification)
            }
        }
    }
}

/// Tells the client of a packet that it could not be delivered.
fn answer(device: &Tun, about: &[u8], error: &io::Error) {
    if let Some(reason) = packets::reason(error) {
        let mut message = Vec::new();
        write_unreachable(about, reason, &mut message);
        write(device, &message);
    }
}

#[cfg(test)]
mod tests;
