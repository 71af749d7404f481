//! Requests to a running link, over a Unix socket.
//!
//! A request and its answer are one line of JSON each. The emulator's thread serves them between
//! two packets, so a change needs no lock. The socket is a file. Abstract addresses would need no
//! removal, but belong to a network namespace, which the command behind the link does not share.
//! They also have no permissions (unix(7)). A socket whose process has been killed refuses
//! connections, so it is recognised and replaced.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

use rustix::event::epoll;
use serde::Deserialize;
use serde_json::{Value, json};
use units::Instant;

use crate::convert::seconds;
use crate::network::Ends;
use crate::pump::Pump;
use crate::settings::{Overlay, SettingsError, Texts};

/// The control socket of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Control {
    /// The name of the link.
    pub name: String,
    /// The path of the socket, in an existing folder.
    pub path: PathBuf,
}

/// The maximum length of a request, in bytes.
pub const MAX_REQUEST: usize = 65_536;
/// The number of clients at a time. Another one replaces the oldest.
const MAX_CLIENTS: usize = 8;
/// The number of bytes read from a client before packets are served.
const READ_AT_ONCE: usize = 16_384;

/// A request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Request {
    /// The settings in force.
    Show,
    /// The statistics up to now.
    Stats,
    /// A permanent change of options.
    Set(Overlay),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRequest {
    op: Operation,
    #[serde(default)]
    both: Texts,
    #[serde(default)]
    up: Texts,
    #[serde(default)]
    down: Texts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Operation {
    Show,
    Stats,
    Set,
}

impl Request {
    /// Reads a request from a line without its end.
    ///
    /// # Errors
    /// A sentence for the client, if the line is not a request.
    pub fn parse(line: &[u8]) -> Result<Self, String> {
        let raw: RawRequest =
            serde_json::from_slice(line).map_err(|e| format!("cannot read the request: {e}"))?;
        let RawRequest { op, both, up, down } = raw;
        let options = Overlay { both, up, down };
        match (op, options.is_empty()) {
            (Operation::Set, false) => Ok(Self::Set(options)),
            (Operation::Set, true) => Err("cannot set options: there are none".to_owned()),
            (Operation::Show, true) => Ok(Self::Show),
            (Operation::Stats, true) => Ok(Self::Stats),
            (_, false) => Err("cannot read the request: only `set` has options".to_owned()),
        }
    }
}

/// The socket and its clients.
#[derive(Debug)]
pub(crate) struct Server {
    control: Control,
    command: Vec<String>,
    ends: Ends,
    listener: UnixListener,
    epoll: OwnedFd,
    /// Clients with their keys, in order of connection.
    clients: Vec<(u64, Client)>,
    next_key: u64,
}

/// The key of the socket itself.
const LISTENER: u64 = 0;

impl Server {
    /// Makes the socket.
    ///
    /// # Errors
    /// If the folder does not exist, or if a link with this name is running.
    pub(crate) fn new(control: &Control, command: &[String], ends: &Ends) -> io::Result<Self> {
        let listener = listen(&control.path)?;
        listener.set_nonblocking(true)?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let data = epoll::EventData::new_u64(LISTENER);
        epoll::add(&epoll, &listener, data, epoll::EventFlags::IN)?;
        Ok(Self {
            control: control.clone(),
            command: command.to_vec(),
            ends: ends.clone(),
            listener,
            epoll,
            clients: Vec::new(),
            next_key: LISTENER + 1,
        })
    }

    /// Serves the requests that have arrived.
    pub(crate) fn serve(&mut self, pump: &mut Pump) {
        let mut events = Vec::with_capacity(MAX_CLIENTS + 1);
        let no_wait = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
        let buffer = rustix::buffer::spare_capacity(&mut events);
        if epoll::wait(&self.epoll, buffer, Some(&no_wait)).is_err() {
            return;
        }
        for event in events {
            match event.data.u64() {
                LISTENER => self.accept(),
                key => self.serve_client(key, pump),
            }
        }
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            if stream.set_nonblocking(true).is_err() {
                continue;
            }
            if self.clients.len() == MAX_CLIENTS {
                self.clients.remove(0);
            }
            let key = self.next_key;
            self.next_key += 1;
            let data = epoll::EventData::new_u64(key);
            if epoll::add(&self.epoll, &stream, data, epoll::EventFlags::IN).is_ok() {
                self.clients.push((key, Client { stream, session: Session::default() }));
            }
        }
    }

    fn serve_client(&mut self, key: u64, pump: &mut Pump) {
        let Self { control, command, ends, clients, epoll, .. } = self;
        let Some(index) = clients.iter().position(|(each, _)| *each == key) else { return };
        let (_, client) = &mut clients[index];
        let was_waiting = client.session.has_output();
        let about = About { control, command, ends };
        let open = client.exchange(|request| about.answer(request, pump));
        // Nothing is read from a client that does not read its answers.
        let waits = client.session.has_output();
        let flags = if waits { epoll::EventFlags::OUT } else { epoll::EventFlags::IN };
        let data = epoll::EventData::new_u64(key);
        let registered =
            waits == was_waiting || epoll::modify(&*epoll, &client.stream, data, flags).is_ok();
        if !(open && registered) {
            clients.remove(index);
        }
    }
}

impl AsFd for Server {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The file may be gone already.
        let _ = std::fs::remove_file(&self.control.path);
    }
}

/// Makes the socket, in place of one whose process has ended.
///
/// It gets its name after it listens. A socket that is bound and does not listen refuses
/// connections, so another process would remove it as that of an ended link.
fn listen(path: &Path) -> io::Result<UnixListener> {
    let unnamed = path.with_file_name(format!(".{}", std::process::id()));
    // Left by a killed process that had the same number.
    let _ = std::fs::remove_file(&unnamed);
    let listener = UnixListener::bind(&unnamed)?;
    let named = name(&unnamed, path);
    std::fs::remove_file(&unnamed)?;
    named.map(|()| listener)
}

/// Gives a socket a further name, unless a process listens at it.
fn name(socket: &Path, path: &Path) -> io::Result<()> {
    match std::fs::hard_link(socket, path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        result => return result,
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            std::fs::remove_file(path)?;
            std::fs::hard_link(socket, path)
        }
        _ => Err(io::Error::new(io::ErrorKind::AddrInUse, "a link of this name is running")),
    }
}

/// The facts of a run that do not change.
struct About<'a> {
    control: &'a Control,
    command: &'a [String],
    ends: &'a Ends,
}

impl About<'_> {
    fn answer(&self, request: Request, pump: &mut Pump) -> Value {
        match request {
            Request::Show => self.settings(pump),
            Request::Stats => {
                let (now, [up, down], [queue_up, queue_down]) = pump.statistics();
                let with_queue = |report: &crate::report::LineReport, queue: link::Tally| {
                    let mut found = json!(report);
                    found["queue_packets"] = json!(queue.packets);
                    found["queue_bytes"] = json!(queue.bytes);
                    found
                };
                json!({
                    "ok": true,
                    "name": self.control.name,
                    "time_s": seconds(now.since(Instant::ZERO)),
                    "up": with_queue(&up, queue_up),
                    "down": with_queue(&down, queue_down),
                })
            }
            Request::Set(options) => match pump.change(options) {
                Ok(()) => self.settings(pump),
                Err(error) => refusal(&error),
            },
        }
    }

    fn settings(&self, pump: &Pump) -> Value {
        let ([up, down], changes) = pump.settings();
        json!({
            "ok": true,
            "name": self.control.name,
            "pid": std::process::id(),
            "command": self.command,
            "ends": self.ends,
            "up": up,
            "down": down,
            "changes": changes,
        })
    }
}

fn refusal(error: &SettingsError) -> Value {
    json!({ "ok": false, "error": error.to_string(), "hint": error.hint() })
}

/// A client and its socket.
#[derive(Debug)]
struct Client {
    stream: UnixStream,
    session: Session,
}

impl Client {
    /// Reads requests and writes answers. Returns false at the end of the connection.
    fn exchange(&mut self, answer: impl FnMut(Request) -> Value) -> bool {
        if !self.session.has_output() {
            let mut buffer = [0; READ_AT_ONCE];
            match self.stream.read(&mut buffer) {
                Ok(0) => return false,
                Ok(read) => self.session.receive(buffer.get(..read).unwrap_or_default(), answer),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(_) => return false,
            }
        }
        while self.session.has_output() {
            match self.stream.write(&self.session.output) {
                Ok(written) => drop(self.session.output.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => return false,
            }
        }
        !self.session.is_over
    }
}

/// The bytes of a client, without its socket.
#[derive(Debug, Default)]
struct Session {
    input: Vec<u8>,
    output: Vec<u8>,
    /// A request was too long, so the next one cannot be found.
    is_over: bool,
}

impl Session {
    fn has_output(&self) -> bool {
        !self.output.is_empty()
    }

    /// Takes bytes, and answers the requests that they complete.
    fn receive(&mut self, bytes: &[u8], mut answer: impl FnMut(Request) -> Value) {
        if self.is_over {
            return;
        }
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let (line, more) = rest.split_at(end);
            rest = more.get(1..).unwrap_or_default();
            self.input.extend_from_slice(line);
            let line = std::mem::take(&mut self.input);
            if line.len() > MAX_REQUEST {
                return self.end();
            }
            let answered = match Request::parse(&line) {
                Ok(request) => answer(request),
                Err(problem) => json!({ "ok": false, "error": problem, "hint": null }),
            };
            self.send(&answered);
        }
        self.input.extend_from_slice(rest);
        if self.input.len() > MAX_REQUEST {
            self.end();
        }
    }

    fn end(&mut self) {
        let problem = format!("cannot read the request: it has more than {MAX_REQUEST} bytes");
        self.send(&json!({ "ok": false, "error": problem, "hint": null }));
        (self.input, self.is_over) = (Vec::new(), true);
    }

    fn send(&mut self, answer: &Value) {
        // One line: JSON has no line breaks within texts.
        let _ = writeln!(self.output, "{answer}");
    }
}

#[cfg(test)]
mod tests;
