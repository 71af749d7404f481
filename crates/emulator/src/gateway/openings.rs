//! Connections that are opened outside, until the kernel has accepted them on the link.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpStream};

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use tun::Tun;
use units::{Duration, Instant};

use super::packets::{self, Ends};
use super::poller::{Poller, Token};

/// Time after the last first segment for which an opened connection waits for its client. Clients
/// with Linux send that segment again after 32 s at the latest, until their last attempt.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(70);

#[derive(Debug)]
struct Opening {
    ends: Ends,
    outside: TcpStream,
    /// The first segment, as a packet.
    packet: Vec<u8>,
    /// The time at which the gateway gives up, once the connection is open outside.
    until: Option<Instant>,
}

/// All connections that are being opened.
#[derive(Debug)]
pub(super) struct Openings {
    all: BTreeMap<u64, Opening>,
    by_ends: BTreeMap<Ends, u64>,
    next: u64,
    /// Maximum number of connections, with those that are open.
    limit: usize,
}

impl Openings {
    pub(super) fn new(limit: usize) -> Self {
        Self { all: BTreeMap::new(), by_ends: BTreeMap::new(), next: 0, limit }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Opens a connection outside for the first segment `packet`. `open` is the number of
    /// connections that are open. A segment above the limit is dropped, so the client sends it
    /// again.
    pub(super) fn begin(
        &mut self,
        ends: Ends,
        packet: &[u8],
        open: usize,
        now: Instant,
        poller: &Poller,
        device: &Tun,
    ) {
        if let Some(id) = self.by_ends.get(&ends) {
            if let Some(opening) = self.all.get_mut(id) {
                // The client has sent it again, or another one from the same port.
                packet.clone_into(&mut opening.packet);
                if opening.until.is_some() {
                    opening.pass(now, device);
                }
            }
            return;
        }
        if self.all.len() + open >= self.limit {
            return;
        }
        let id = self.next;
        let opened = start(ends.server).and_then(|outside| {
            poller.add_edges(&outside, Token::Opening(id))?;
            Ok(outside)
        });
        match opened {
            Ok(outside) => {
                self.next += 1;
                self.by_ends.insert(ends, id);
                let packet = packet.to_vec();
                self.all.insert(id, Opening { ends, outside, packet, until: None });
            }
            Err(error) => packets::refuse(device, packet, &error),
        }
    }

    /// Passes the first segment to the kernel if the connection is open outside, or answers it with
    /// the error.
    pub(super) fn proceed(&mut self, id: u64, now: Instant, device: &Tun) {
        let Some(opening) = self.all.get_mut(&id) else { return };
        if opening.until.is_some() {
            // There is data already, or an end, which its client will get.
            return;
        }
        match opening.outside.take_error() {
            Ok(None) => {
                if opening.outside.peer_addr().is_ok() {
                    opening.pass(now, device);
                }
            }
            Ok(Some(error)) | Err(error) => {
                packets::refuse(device, &opening.packet, &error);
                self.remove(id);
            }
        }
    }

    /// Takes the connection outside for one that the kernel has accepted, with its number.
    pub(super) fn take(&mut self, inside: &TcpStream) -> Option<(u64, TcpStream)> {
        let ends = Ends { client: inside.peer_addr().ok()?, server: inside.local_addr().ok()? };
        let id = self.by_ends.get(&ends).copied()?;
        // A number is used once, so a late event finds no other connection.
        self.remove(id).map(|opening| (id, opening.outside))
    }

    /// Gives up connections whose clients do not come.
    pub(super) fn expire(&mut self, now: Instant) {
        let late = self.all.iter().filter(|(_, one)| one.until.is_some_and(|until| until <= now));
        for id in late.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.remove(id);
        }
    }

    fn remove(&mut self, id: u64) -> Option<Opening> {
        let opening = self.all.remove(&id)?;
        self.by_ends.remove(&opening.ends);
        Some(opening)
    }
}

impl Opening {
    /// Passes the first segment to the kernel, which answers it.
    fn pass(&mut self, now: Instant, device: &Tun) {
        self.until = Some(now + ACCEPT_TIMEOUT);
        // A packet without room is lost, as on any path.
        let _ = device.write(&self.packet);
    }
}

/// Begins to open a connection.
fn start(server: SocketAddr) -> io::Result<TcpStream> {
    let family = if server.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    match connect(&socket, &server) {
        Ok(()) | Err(Errno::INPROGRESS) => Ok(socket.into()),
        Err(errno) => Err(errno.into()),
    }
}
