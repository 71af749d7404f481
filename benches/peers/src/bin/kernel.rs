//! Server of the three ports over the kernel's own TCP, with one thread.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

use peers::{CHUNK, REQUEST, REQUESTS, RESPONSE, SERVER, SINK, SOURCE};
use rustix::event::epoll;

struct Peer {
    stream: TcpStream,
    port: u16,
    asked: usize,
    owed: usize,
}

impl Peer {
    /// Reads and writes as much as possible; `false` if the peer has closed.
    fn serve(&mut self, bytes: &mut [u8]) -> bool {
        loop {
            match self.stream.read(bytes) {
                Ok(0) => return false,
                Ok(taken) if self.port == REQUESTS => {
                    self.asked += taken;
                    self.owed += self.asked / REQUEST * RESPONSE;
                    self.asked %= REQUEST;
                    // A short read: the buffer is empty, and `epoll` reports new data.
                    if taken < bytes.len() {
                        break;
                    }
                }
                Ok(taken) if taken < bytes.len() => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        while self.port == SOURCE || self.owed > 0 {
            let part = if self.port == SOURCE { &*bytes } else { &bytes[..self.owed] };
            match self.stream.write(part) {
                Ok(taken) if self.port == REQUESTS => self.owed -= taken,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        true
    }
}

fn main() {
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC).expect("an epoll");
    let mut listeners = HashMap::new();
    for port in [SOURCE, SINK, REQUESTS] {
        let listener = TcpListener::bind((SERVER, port)).expect("a listener");
        rustix::net::listen(&listener, 4096).expect("a longer queue");
        listener.set_nonblocking(true).expect("it does not block");
        let number = listener.as_raw_fd();
        let data = epoll::EventData::new_u64(u64::try_from(number).expect("a descriptor"));
        epoll::add(&poll, &listener, data, epoll::EventFlags::IN).expect("it is watched");
        listeners.insert(number, (listener, port));
    }
    let mut peers: HashMap<i32, Peer> = HashMap::new();
    let mut bytes = vec![b'x'; CHUNK];
    let mut events = Vec::with_capacity(256);
    peers::ready();
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None).expect("a wait");
        for event in &events {
            let number = i32::try_from(event.data.u64()).expect("a descriptor");
            if let Some((listener, port)) = listeners.get(&number) {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true).expect("it does not block");
                    stream.set_nodelay(true).expect("it does not wait");
                    let number = stream.as_raw_fd();
                    let data =
                        epoll::EventData::new_u64(u64::try_from(number).expect("a descriptor"));
                    let mut flags = epoll::EventFlags::IN | epoll::EventFlags::ET;
                    flags.set(epoll::EventFlags::OUT, *port != SINK);
                    epoll::add(&poll, &stream, data, flags).expect("it is watched");
                    peers.insert(number, Peer { stream, port: *port, asked: 0, owed: 0 });
                }
            } else if let Some(peer) = peers.get_mut(&number)
                && !peer.serve(&mut bytes)
            {
                // Closing the socket also removes it from `epoll`.
                peers.remove(&number);
            }
        }
    }
}
