//! Forwarding of IP packets between interfaces for a limited time
//! (`Documentation/networking/ip-sysctl.rst` of Linux).
//!
//! A process of its own, the keeper, changes the settings and restores them. It ends with the last
//! program that needs them, also if that program is killed. It listens on a socket in the abstract
//! namespace (`unix(7)`), which belongs to the network namespace, as the settings do. The first
//! program starts the keeper, and later ones connect to it.
//!
//! An interface that forwards would also forward packets of strangers. While the keeper runs, a
//! table of the packet filter drops those that the settings of before would not have forwarded.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{WaitOptions, geteuid, setsid, waitpid};

use crate::exits::LINKS;
use crate::nftables::{Hook, Step, Table};
use crate::{Clock, Error, Interface, sys};

/// Name of the keeper's socket in the abstract namespace.
const SOCKET: &str = "tcpsf-forwarding";
/// Name of the keeper's table.
const TABLE: &str = "tcpsf-forwarding";
const CHAIN: &str = "forward";
/// Longest wait for the other side, which answers at once.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Time until the next attempt, if another program is starting a keeper.
const PAUSE: units::Duration = units::Duration::from_millis(10);
/// Attempts to reach a keeper that may just be ending.
const ATTEMPTS: u32 = 50;

/// The permission to forward packets from and to interfaces. Dropping it, or the end of the
/// process, restores the settings, unless another process needs them.
#[derive(Debug)]
pub(crate) struct Forwarding {
    keeper: UnixStream,
}

/// An interface and an IP version.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) interface: Interface,
    pub(crate) is_v6: bool,
}

impl Forwarding {
    /// Lets the interfaces of the calling thread's namespace forward packets that arrive at them.
    ///
    /// # Errors
    /// If the system refuses.
    pub(crate) fn allow(wanted: &[Wanted]) -> Result<Self, Error> {
        let fail = |e| Error::new("turn on forwarding", e);
        let words = wanted.iter().map(|Wanted { interface, is_v6 }| {
            let version = if *is_v6 { 6 } else { 4 };
            format!("{version} {} {}", interface.index(), interface.name())
        });
        let request = words.collect::<Vec<_>>().join(" ");
        for _ in 0..ATTEMPTS {
            let Some(keeper) = reach_keeper().map_err(fail)? else { continue };
            let mut response = String::new();
            let asked = (&keeper)
                .write_all(format!("{request}\n").as_bytes())
                .and_then(|()| BufReader::new(&keeper).read_line(&mut response));
            match (asked, response.trim_end()) {
                (_, DONE) => return Ok(Self { keeper }),
                // The keeper was ending.
                (Ok(0), _) => {}
                (Err(error), _) if is_gone(&error) => {}
                (Err(error), _) => return Err(fail(error)),
                (Ok(_), refusal) => return Err(parse_refusal(refusal)),
            }
        }
        Err(fail(io::ErrorKind::TimedOut.into()))
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        // The keeper closes the connection when it has restored the settings without users.
        if self.keeper.shutdown(Shutdown::Write).is_ok() {
            let _ = io::copy(&mut self.keeper, &mut io::sink());
        }
    }
}

/// Response to a request that succeeded.
const DONE: &str = "done";

fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe)
}

/// Connects to the keeper, which is started if there is none. `None` if another program has just
/// started one, or it has just ended.
fn reach_keeper() -> io::Result<Option<UnixStream>> {
    let address = SocketAddr::from_abstract_name(SOCKET)?;
    let stream = match UnixStream::connect_addr(&address) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            match UnixListener::bind_addr(&address) {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                    let clock = Clock::start();
                    let _ = clock.wait(&mut [], clock.now() + PAUSE, units::Duration::ZERO);
                    return Ok(None);
                }
                listener => start_keeper(listener?)?,
            }
        }
        stream => {
            let stream = stream?;
            if !is_ours(&stream) {
                let text = format!("a process of another user has the socket `@{SOCKET}`");
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
            }
            stream
        }
    };
    stream.set_read_timeout(Some(ANSWER_TIMEOUT))?;
    Ok(Some(stream))
}

/// Whether the process at the other end has our user.
fn is_ours(stream: &UnixStream) -> bool {
    socket_peercred(stream).is_ok_and(|peer| peer.uid == geteuid())
}

/// Starts the keeper and returns the first connection to it.
fn start_keeper(listener: UnixListener) -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = sys::fork(|| {
        // The keeper is a grandchild, so the caller does not have to wait for its end.
        let kept = [listener.as_raw_fd(), theirs.as_raw_fd()];
        match sys::fork(|| {
            sys::close_other_files(&kept);
            sys::block_signals();
            // It belongs to no terminal.
            let _ = setsid();
            // It keeps no file system busy.
            let _ = std::env::set_current_dir("/");
            Keeper::new(listener, theirs).run();
            0
        }) {
            Ok(_) => 0,
            Err(_) => 1,
        }
    })?;
    while waitpid(Some(child), WaitOptions::empty())
        .is_err_and(|errno| errno == rustix::io::Errno::INTR)
    {}
    Ok(ours)
}

/// A setting that was changed.
#[derive(Debug)]
struct Changed {
    path: String,
    before: String,
    after: &'static str,
}

#[derive(Debug)]
struct Keeper {
    listener: UnixListener,
    clients: Vec<UnixStream>,
    changed: Vec<Changed>,
    table: Option<Table>,
    /// Interfaces whose packets the table restricts.
    restricted: BTreeSet<u32>,
}

impl Keeper {
    fn new(listener: UnixListener, first: UnixStream) -> Self {
        // An accepted connection may already be closed.
        let _ = listener.set_nonblocking(true);
        Self {
            listener,
            clients: vec![first],
            changed: Vec::new(),
            table: None,
            restricted: BTreeSet::new(),
        }
    }

    /// Serves requests until no program needs the settings.
    fn run(mut self) {
        let mut ended = Vec::new();
        while !self.clients.is_empty() {
            let ready = self.wait();
            for at in (0..ready.len()).rev().filter(|&at| ready[at]) {
                if !self.serve(at) {
                    ended.push(self.clients.remove(at));
                }
            }
            while let Ok((client, _)) = self.listener.accept() {
                if is_ours(&client) && client.set_nonblocking(false).is_ok() {
                    self.clients.push(client);
                }
            }
            if !self.clients.is_empty() {
                // The settings remain for others.
                ended.clear();
            }
        }
        self.restore();
        // The clients see the end of their connections after the name of the socket is free.
        drop(self);
        drop(ended);
    }

    /// Waits for events and returns which clients have one.
    fn wait(&self) -> Vec<bool> {
        let all = self.clients.iter().map(AsFd::as_fd).chain([self.listener.as_fd()]);
        let mut fds: Vec<_> = all.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        // An error such as EINTR has no events.
        let _ = poll(&mut fds, None);
        fds[..self.clients.len()].iter().map(|fd| !fd.revents().is_empty()).collect()
    }

    /// Handles one request. Returns `false` at the end of the connection.
    fn serve(&mut self, at: usize) -> bool {
        let mut line = String::new();
        let client = &self.clients[at];
        let _ = client.set_read_timeout(Some(ANSWER_TIMEOUT));
        if !BufReader::new(client).read_line(&mut line).is_ok_and(|len| len > 0) {
            return false;
        }
        let response = match self.allow(&line) {
            Ok(()) => DONE.to_owned(),
            Err(error) => refusal(&error),
        };
        (&self.clients[at]).write_all(format!("{response}\n").as_bytes()).is_ok()
    }

    fn allow(&mut self, request: &str) -> Result<(), Error> {
        let words: Vec<&str> = request.split_whitespace().collect();
        for wanted in words.chunks_exact(3) {
            let Ok(index) = wanted[1].parse() else { continue };
            match wanted[0] {
                "6" => self.allow_v6(wanted[2], index)?,
                _ => self.allow_v4(wanted[2], index)?,
            }
        }
        Ok(())
    }

    fn allow_v4(&mut self, interface: &str, index: u32) -> Result<(), Error> {
        let path = format!("/proc/sys/net/ipv4/conf/{interface}/forwarding");
        if read(&path).as_deref() == Some("0") {
            self.restrict(index)?;
            self.change(path, "1")?;
        }
        Ok(())
    }

    /// Since Linux 6.17 an interface can forward alone. Older kernels forward IPv6 at all
    /// interfaces or at none.
    fn allow_v6(&mut self, interface: &str, index: u32) -> Result<(), Error> {
        const ALL: &str = "/proc/sys/net/ipv6/conf/all/forwarding";
        if read(ALL).as_deref() == Some("1") {
            return Ok(());
        }
        let alone = format!("/proc/sys/net/ipv6/conf/{interface}/force_forwarding");
        match read(&alone).as_deref() {
            Some("0") => {
                self.restrict(index)?;
                self.change(alone, "1")
            }
            Some(_) => Ok(()),
            None => self.allow_all_v6(ALL),
        }
    }

    /// Turns on forwarding of IPv6 at all interfaces. Without `accept_ra` 2, an interface that
    /// forwards loses its default routes from router advertisements.
    fn allow_all_v6(&mut self, all: &str) -> Result<(), Error> {
        let folder = Path::new("/proc/sys/net/ipv6/conf");
        let names = fs::read_dir(folder).map_err(|e| Error::new("list interfaces with IPv6", e))?;
        let names: Vec<String> =
            names.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let of = |name: &str, key: &str| format!("{}/{name}/{key}", folder.display());
        let interfaces = names.iter().filter(|name| !["all", "default"].contains(&name.as_str()));
        for name in interfaces {
            let (accept, forwarding) = (of(name, "accept_ra"), of(name, "forwarding"));
            match read(&forwarding).as_deref() {
                Some("0") => {
                    if read(&accept).as_deref() == Some("1") {
                        self.change(accept, "2")?;
                    }
                    if let Ok(found) = Interface::find(name) {
                        self.restrict(found.index())?;
                    }
                }
                // The change of `all` at the end turns it off, so that it is restored after that.
                Some(_) => {
                    self.changed.push(Changed { path: forwarding, before: "1".into(), after: "0" });
                }
                None => {}
            }
        }
        self.change(all.to_owned(), "1")
    }

    /// Drops packets from the interface that leave through none of a link's interfaces.
    fn restrict(&mut self, index: u32) -> Result<(), Error> {
        if !self.restricted.insert(index) {
            return Ok(());
        }
        let table = if let Some(table) = self.table.take() {
            table
        } else {
            let table = Table::new(TABLE)?;
            table.add_chain(CHAIN, Hook::Forward(0), &[])?;
            table
        };
        let steps = [Step::ArrivedAt(index), Step::LeavesNotThroughNamed(LINKS), Step::Drop];
        self.table.insert(table).add_rule(CHAIN, &steps)
    }

    fn change(&mut self, path: String, after: &'static str) -> Result<(), Error> {
        let before = read(&path).unwrap_or_default();
        fs::write(&path, after).map_err(|e| refused(&path, e))?;
        self.changed.push(Changed { path, before, after });
        Ok(())
    }

    /// Restores the settings that no other program has changed since.
    fn restore(&mut self) {
        for Changed { path, before, after } in self.changed.drain(..).rev() {
            if read(&path).as_deref() == Some(after) {
                // The interface may have been removed.
                let _ = fs::write(path, before);
            }
        }
    }
}

/// Turns on forwarding at an interface of the caller, which is removed with the caller.
pub(crate) fn allow_at_own(interface: &str) -> Result<(), Error> {
    for path in [
        format!("/proc/sys/net/ipv4/conf/{interface}/forwarding"),
        format!("/proc/sys/net/ipv6/conf/{interface}/force_forwarding"),
    ] {
        match fs::write(&path, "1") {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            result => result.map_err(|e| refused(&path, e))?,
        }
    }
    Ok(())
}

fn read(path: &str) -> Option<String> {
    Some(fs::read_to_string(path).ok()?.trim_end().to_owned())
}

fn refused(path: &str, source: io::Error) -> Error {
    Error::new(format!("turn on forwarding, `{path}`"), source).with_hint(
        "the file must be writable: run it as root, and not in an unprivileged container",
    )
}

/// An error as one line: its number, the operation and the hint, separated by tabs.
fn refusal(error: &Error) -> String {
    let code = error.source().raw_os_error().unwrap_or(libc::EIO);
    format!("{code}\t{}\t{}", error.operation(), error.hint().unwrap_or_default())
}

fn parse_refusal(line: &str) -> Error {
    let mut parts = line.splitn(3, '\t');
    let code = parts.next().and_then(|code| code.parse().ok()).unwrap_or(libc::EIO);
    let operation = parts.next().unwrap_or("turn on forwarding");
    let error = Error::new(operation, io::Error::from_raw_os_error(code));
    match parts.next().filter(|hint| !hint.is_empty()) {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NetNamespace, Offload, Tun};

    const NAMES: [&str; 8] = [
        "all/forwarding",
        "default/forwarding",
        "first/forwarding",
        "first/accept_ra",
        "second/forwarding",
        "second/accept_ra",
        "lo/forwarding",
        "lo/accept_ra",
    ];

    fn setting(name: &str) -> String {
        format!("/proc/sys/net/ipv6/conf/{name}")
    }

    /// Needs root, as CI has it. Recent kernels do not use this way.
    #[test]
    fn forwarding_of_ipv6_everywhere_keeps_router_advertisements_and_is_restored() {
        let work = || {
            let _devices = ["first", "second"].map(|name| {
                let tun = Tun::open(name, Offload::None).unwrap();
                tun.interface().unwrap().set_up().unwrap();
                tun
            });
            fs::write(setting("second/forwarding"), "1").unwrap();
            let settings = || NAMES.map(|name| read(&setting(name)));
            let before = settings();
            let address = SocketAddr::from_abstract_name(SOCKET).unwrap();
            let listener = UnixListener::bind_addr(&address).unwrap();
            let mut keeper = Keeper::new(listener, UnixStream::pair().unwrap().0);
            keeper.allow_all_v6(&setting("all/forwarding")).unwrap();
            for (name, value) in [
                ("all/forwarding", "1"),
                ("first/forwarding", "1"),
                ("second/forwarding", "1"),
                ("first/accept_ra", "2"),
            ] {
                assert_eq!(read(&setting(name)).as_deref(), Some(value), "{name}");
            }
            // Packets from an interface that forwarded before are not restricted.
            let index = |name| Interface::find(name).unwrap().index();
            assert!(keeper.restricted.contains(&index("first")));
            assert!(!keeper.restricted.contains(&index("second")));
            keeper.restore();
            assert_eq!(settings(), before);
        };
        NetNamespace::new().unwrap().run(work).unwrap();
    }

    #[test]
    fn a_refusal_is_the_same_error_after_transport() {
        for hint in ["", "run it as root"] {
            let error = Error::new("do `this`", io::Error::from_raw_os_error(libc::EROFS));
            let error = if hint.is_empty() { error } else { error.with_hint(hint) };
            let found = parse_refusal(&refusal(&error));
            assert_eq!(found.to_string(), error.to_string());
            assert_eq!(found.hint(), error.hint());
        }
    }
}
