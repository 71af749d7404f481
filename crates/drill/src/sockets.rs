//! System calls over connections, with Linux's rules for blocking, errors, and the end of a
//! connection.

mod connecting;
mod control;
mod files;
mod option;
mod poll;
mod transfer;

use std::collections::BTreeMap;

use policy::SenderPolicy;
use tcp::{CloseReason, State};
use units::{Duration, Instant};

use crate::host::{Endpoint, Host};
use crate::profile::{Profile, Settings, SocketSettings};
use crate::script::{Call, Value};

pub(crate) use option::refused as refused_option;
use poll::Watch;

/// Name of an error.
pub(crate) type Errno = &'static str;

/// Outcome of an attempt to make a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The call returned.
    Done(Answer),
    /// The call waits, at most until this time.
    Blocked(Instant),
    /// The call needs something that is not here.
    NotApplicable(String),
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) value: i64,
    pub(crate) error: Option<Errno>,
    /// Differences in what the call wrote to memory.
    pub(crate) differences: Vec<String>,
}

/// State of a call that blocks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Whether the call has been attempted.
    pub(crate) started: Option<Instant>,
    /// Number of bytes written so far.
    pub(crate) written: u32,
}

/// A socket.
#[expect(clippy::struct_excessive_bools, reason = "independent facts about the calls made so far")]
#[derive(Debug, Clone)]
struct Socket {
    kind: Kind,
    settings: SocketSettings,
    nonblocking: bool,
    /// Size of the send buffer in bytes.
    send_buffer: u32,
    /// Limit for data not sent yet, in bytes.
    notsent_lowat: Option<u32>,
    /// Whether `SHUT_RD` was called.
    receive_shut: bool,
    /// Whether `SHUT_WR` was called.
    send_shut: bool,
    /// Whether a call has returned the error of the connection.
    error_taken: bool,
    /// Whether `connect` has reported success or failure.
    connect_reported: bool,
    /// Whether `recvmsg` reports the number of readable bytes.
    reports_inq: bool,
    /// Whether the buffer had room when it was last examined.
    was_writable: bool,
    /// Whether keep-alives are on, and their parameters.
    keep_alive: KeepAliveOptions,
}

/// Socket options for keep-alives.
#[derive(Debug, Clone, Copy)]
struct KeepAliveOptions {
    on: bool,
    idle: Duration,
    interval: Duration,
    count: u8,
}

#[derive(Debug, Clone)]
enum Kind {
    Fresh,
    /// A listener, with the connections that wait for `accept`.
    Listener(Vec<usize>),
    Stream(usize),
}

#[derive(Debug, Clone)]
enum File {
    Socket(Box<Socket>),
    Epoll(Vec<Watch>),
    /// A regular file. It has as many zeros as are read from it.
    Regular,
    /// An end of a pipe, by its index.
    Pipe(usize),
}

/// Connections, sockets and settings.
#[derive(Debug)]
pub(crate) struct Machine {
    pub(crate) host: Host,
    pub(crate) settings: Settings,
    pub(crate) profile: Profile,
    pub(crate) sender: Option<SenderPolicy>,
    pub(crate) now: Instant,
    files: BTreeMap<i64, File>,
    /// Number of bytes in each pipe.
    pipes: Vec<u32>,
    /// Descriptor of the listener that receives SYNs.
    listener: Option<i64>,
}

/// Arguments of a call.
#[derive(Debug, Clone, Copy)]
struct Arguments<'a> {
    call: &'a Call,
}

impl<'a> Arguments<'a> {
    fn get(self, index: usize) -> Option<&'a Value> {
        self.call.arguments.get(index)
    }

    fn integer(self, index: usize) -> Option<i64> {
        match self.get(index)? {
            Value::Integer(value) => Some(*value),
            _ => None,
        }
    }

    /// A number of bytes.
    fn length(self, index: usize) -> Option<u32> {
        self.integer(index).and_then(|value| u32::try_from(value).ok())
    }

    fn words(self, index: usize) -> Vec<&'a str> {
        self.get(index).map(Value::words).unwrap_or_default()
    }

    fn has(self, index: usize, word: &str) -> bool {
        self.words(index).contains(&word)
    }

    fn is_null(self, index: usize) -> bool {
        self.get(index).is_some_and(|value| value.words() == ["NULL"])
    }
}

impl Outcome {
    fn value(value: i64) -> Self {
        Self::Done(Answer { value, error: None, differences: Vec::new() })
    }

    fn error(error: Errno) -> Self {
        Self::Done(Answer { value: -1, error: Some(error), differences: Vec::new() })
    }

    fn with_differences(value: i64, differences: Vec<String>) -> Self {
        Self::Done(Answer { value, error: None, differences })
    }

    fn unclear(call: &Call) -> Self {
        Self::NotApplicable(format!("the arguments of `{}` are not supported", call.name))
    }
}

impl Socket {
    fn new(settings: &Settings) -> Self {
        Self {
            kind: Kind::Fresh,
            settings: SocketSettings::default(),
            nonblocking: false,
            send_buffer: settings.send_buffer,
            notsent_lowat: None,
            receive_shut: false,
            send_shut: false,
            error_taken: false,
            connect_reported: false,
            reports_inq: false,
            was_writable: true,
            keep_alive: KeepAliveOptions {
                on: false,
                idle: Duration::from_secs(7200),
                interval: Duration::from_secs(75),
                count: 9,
            },
        }
    }

    /// Error of the connection that no call has returned yet.
    fn pending_error(&self, endpoint: &Endpoint) -> Option<Errno> {
        if self.error_taken { None } else { error_of(endpoint) }
    }
}

/// Error with which a connection ended.
fn error_of(endpoint: &Endpoint) -> Option<Errno> {
    match endpoint.closed? {
        CloseReason::ResetByPeer if endpoint.last_state == State::CloseWait => Some("EPIPE"),
        CloseReason::Refused if endpoint.last_state == State::SynSent => Some("ECONNREFUSED"),
        CloseReason::ResetByPeer | CloseReason::Refused => Some("ECONNRESET"),
        CloseReason::TimedOut | CloseReason::KeepAlive => Some("ETIMEDOUT"),
        CloseReason::Unreachable => Some("EHOSTUNREACH"),
        CloseReason::Finished | CloseReason::Aborted | CloseReason::FinWait2 => None,
    }
}

impl Machine {
    pub(crate) fn new(profile: Profile, sender: Option<SenderPolicy>) -> Self {
        Self {
            host: Host::default(),
            settings: Settings::of(profile),
            profile,
            sender,
            now: Instant::ZERO,
            files: BTreeMap::new(),
            pipes: Vec::new(),
            listener: None,
        }
    }

    /// Names of the supported calls.
    pub(crate) const CALLS: [&str; 31] = [
        "socket",
        "bind",
        "listen",
        "accept",
        "accept4",
        "connect",
        "read",
        "readv",
        "recv",
        "recvfrom",
        "recvmsg",
        "write",
        "writev",
        "send",
        "sendto",
        "sendmsg",
        "shutdown",
        "close",
        "setsockopt",
        "getsockopt",
        "fcntl",
        "ioctl",
        "poll",
        "epoll_create",
        "epoll_create1",
        "epoll_ctl",
        "epoll_wait",
        "open",
        "pipe",
        "sendfile",
        "splice",
    ];

    /// Attempts a call.
    pub(crate) fn call(&mut self, call: &Call, progress: &mut Progress) -> Outcome {
        let arguments = Arguments { call };
        progress.started.get_or_insert(self.now);
        let outcome = match call.name.as_str() {
            "socket" => self.socket(call),
            "epoll_create" | "epoll_create1" => self.epoll_create(call),
            "poll" => self.poll(arguments, progress),
            "open" => self.open_file(call),
            "pipe" => self.pipe(arguments),
            "splice" => self.splice(arguments, progress),
            _ => match arguments.integer(0) {
                Some(fd) => self.call_on(fd, call, arguments, progress),
                None => Outcome::unclear(call),
            },
        };
        self.drain();
        outcome
    }

    fn call_on(
        &mut self,
        fd: i64,
        call: &Call,
        arguments: Arguments,
        progress: &mut Progress,
    ) -> Outcome {
        match self.files.get(&fd) {
            None => return Outcome::error("EBADF"),
            Some(File::Epoll(_)) => {
                return match call.name.as_str() {
                    "epoll_ctl" => self.epoll_ctl(fd, arguments),
                    "epoll_wait" => self.epoll_wait(fd, arguments, progress),
                    "close" => {
                        self.files.remove(&fd);
                        Outcome::value(0)
                    }
                    _ => Outcome::unclear(call),
                };
            }
            Some(File::Regular | File::Pipe(_)) if call.name == "close" => {
                self.files.remove(&fd);
                return Outcome::value(0);
            }
            Some(File::Regular | File::Pipe(_)) => return Outcome::unclear(call),
            Some(File::Socket(_)) => {}
        }
        match call.name.as_str() {
            "bind" => Outcome::value(0),
            "listen" => self.listen(fd),
            "accept" | "accept4" => self.accept(fd, call, arguments),
            "connect" => self.connect(fd),
            "read" | "recv" | "recvfrom" | "recvmsg" | "readv" => self.receive(fd, arguments),
            "write" | "send" | "sendto" | "sendmsg" | "writev" => {
                self.send(fd, arguments, progress)
            }
            "sendfile" => self.send_file(fd, arguments, progress),
            "shutdown" => self.shutdown(fd, arguments),
            "close" => self.close(fd),
            "setsockopt" => self.setsockopt(fd, arguments),
            "getsockopt" => self.getsockopt(fd, arguments),
            "fcntl" => self.fcntl(fd, arguments),
            "ioctl" => self.ioctl(fd, arguments),
            _ => Outcome::NotApplicable(format!("the call `{}` is not supported", call.name)),
        }
    }

    /// Sends what the last input caused, and records which sockets became writable.
    pub(crate) fn drain(&mut self) {
        for endpoint in &mut self.host.endpoints {
            endpoint.drain(self.now);
        }
        self.note_writable();
    }

    fn socket_of(&self, fd: i64) -> Option<&Socket> {
        match self.files.get(&fd)? {
            File::Socket(socket) => Some(socket),
            _ => None,
        }
    }

    fn socket_mut(&mut self, fd: i64) -> Option<&mut Socket> {
        match self.files.get_mut(&fd)? {
            File::Socket(socket) => Some(socket),
            _ => None,
        }
    }

    /// Connection of a socket.
    fn stream(&mut self, fd: i64) -> Option<(&mut Socket, &mut Endpoint)> {
        let Some(File::Socket(socket)) = self.files.get_mut(&fd) else { return None };
        let Kind::Stream(index) = socket.kind else { return None };
        Some((socket, self.host.endpoints.get_mut(index)?))
    }

    /// Descriptor that the script expects, or a free one.
    fn descriptor(&self, call: &Call) -> i64 {
        match call.result.value {
            Some(wanted) if wanted >= 0 && !self.files.contains_key(&wanted) => wanted,
            // The lowest free one, after standard input, output and error.
            _ => self.files.keys().fold(3, |free, &fd| if fd == free { free + 1 } else { free }),
        }
    }
}

#[cfg(test)]
mod tests;
