//! Calls that open and close connections.

use tcp::State;
use wire::{Control, Segment};

use super::{Arguments, File, Kind, Machine, Outcome, Socket};
use crate::profile::config;
use crate::script::Call;

impl Machine {
    pub(super) fn socket(&mut self, call: &Call) -> Outcome {
        let fd = self.descriptor(call);
        self.files.insert(fd, File::Socket(Box::new(Socket::new(&self.settings))));
        // A new socket is the one under test. Until it is connected, it has no connection.
        self.host.current = None;
        Outcome::value(fd)
    }

    pub(super) fn listen(&mut self, fd: i64) -> Outcome {
        let Some(socket) = self.socket_mut(fd) else { return Outcome::error("EBADF") };
        match socket.kind {
            Kind::Fresh => socket.kind = Kind::Listener(Vec::new()),
            Kind::Listener(_) => {}
            Kind::Stream(_) => return Outcome::error("EINVAL"),
        }
        self.listener = Some(fd);
        Outcome::value(0)
    }

    pub(super) fn accept(&mut self, fd: i64, call: &Call, arguments: Arguments) -> Outcome {
        let new = self.descriptor(call);
        let Some(File::Socket(listener)) = self.files.get_mut(&fd) else {
            return Outcome::error("EBADF");
        };
        let Kind::Listener(waiting) = &mut listener.kind else { return Outcome::error("EINVAL") };
        let endpoints = &self.host.endpoints;
        let Some(at) = waiting.iter().position(|&index| endpoints[index].opened) else {
            return self.wait_or_again(fd);
        };
        let index = waiting.remove(at);
        let socket = Socket {
            kind: Kind::Stream(index),
            nonblocking: arguments.has(3, "SOCK_NONBLOCK"),
            ..(**listener).clone()
        };
        self.files.insert(new, File::Socket(Box::new(socket)));
        Outcome::value(new)
    }

    pub(super) fn connect(&mut self, fd: i64) -> Outcome {
        let Some(socket) = self.socket_of(fd) else { return Outcome::error("EBADF") };
        match socket.kind {
            Kind::Listener(_) => return Outcome::error("EISCONN"),
            Kind::Fresh => return self.begin_connect(fd),
            Kind::Stream(_) => {}
        }
        let nonblocking = socket.nonblocking;
        let Some((socket, endpoint)) = self.stream(fd) else { return Outcome::error("EBADF") };
        if endpoint.closed.is_some() && !endpoint.opened {
            let error = socket.pending_error(endpoint).unwrap_or("ECONNABORTED");
            socket.error_taken = true;
            return Outcome::error(error);
        }
        match (endpoint.opened, socket.connect_reported) {
            (true, true) => Outcome::error("EISCONN"),
            (true, false) => {
                socket.connect_reported = true;
                Outcome::value(0)
            }
            (false, _) if nonblocking => Outcome::error("EALREADY"),
            (false, _) => self.wait_or_again(fd),
        }
    }

    fn begin_connect(&mut self, fd: i64) -> Outcome {
        let Some(socket) = self.socket_of(fd) else { return Outcome::error("EBADF") };
        let config = config(self.profile, self.sender, &self.settings, &socket.settings, false);
        let nonblocking = socket.nonblocking;
        let index = self.host.add(config);
        if let Some(socket) = self.socket_mut(fd) {
            socket.kind = Kind::Stream(index);
        }
        // The connection is new, so this cannot fail.
        let _ = self.host.endpoints[index].connection.connect();
        if nonblocking {
            return Outcome::error("EINPROGRESS");
        }
        self.wait_or_again(fd)
    }

    pub(super) fn shutdown(&mut self, fd: i64, arguments: Arguments) -> Outcome {
        let how = arguments.words(1);
        let (receive, send) = match how.as_slice() {
            ["SHUT_RD"] => (true, false),
            ["SHUT_WR"] => (false, true),
            ["SHUT_RDWR"] => (true, true),
            _ => return Outcome::unclear(arguments.call),
        };
        let Some((socket, endpoint)) = self.stream(fd) else { return Outcome::error("ENOTCONN") };
        if endpoint.closed.is_some() {
            return Outcome::error("ENOTCONN");
        }
        socket.receive_shut |= receive;
        if send && !socket.send_shut {
            socket.send_shut = true;
            // It fails where there is nothing left to close.
            let _ = endpoint.connection.close();
        }
        if socket.receive_shut && socket.send_shut {
            endpoint.connection.refuse_data();
        }
        Outcome::value(0)
    }

    pub(super) fn close(&mut self, fd: i64) -> Outcome {
        let Some(File::Socket(socket)) = self.files.remove(&fd) else {
            return Outcome::error("EBADF");
        };
        match socket.kind {
            Kind::Fresh => {}
            Kind::Listener(waiting) => {
                self.listener = self.listener.filter(|&listener| listener != fd);
                // They cannot be accepted any more.
                for index in waiting {
                    self.host.endpoints[index].connection.abort();
                }
            }
            Kind::Stream(index) => {
                let connection = &mut self.host.endpoints[index].connection;
                if connection.readable() > 0 || connection.state() == State::SynSent {
                    // RFC 9293 §3.6.1: a reset shows that data was lost. An unanswered SYN is
                    // forgotten without one.
                    connection.abort();
                } else {
                    if !socket.send_shut {
                        let _ = connection.close();
                    }
                    connection.refuse_data();
                }
            }
        }
        Outcome::value(0)
    }

    /// Delivers a SYN to the listener. Returns whether it opened a connection.
    pub(crate) fn open(&mut self, syn: &Segment) -> bool {
        if syn.control != Control::Syn || syn.ack.is_some() {
            return false;
        }
        let Some(fd) = self.listener else { return false };
        let Some(socket) = self.socket_of(fd) else { return false };
        let config = config(self.profile, self.sender, &self.settings, &socket.settings, true);
        let Some(index) = self.host.accept(config, syn, self.now) else { return false };
        if let Some(Socket { kind: Kind::Listener(waiting), .. }) = self.socket_mut(fd) {
            waiting.push(index);
        }
        true
    }
}
