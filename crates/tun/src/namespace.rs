//! Network namespaces (`network_namespaces(7)`): networks of one's own.

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{Error, Interface, sys};

const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, kept by a descriptor: it has no name, and is gone when nobody uses it any
/// more.
#[derive(Debug)]
pub struct NetNamespace {
    fd: OwnedFd,
}

impl NetNamespace {
    /// Makes one, with its loopback interface on. The calling thread stays where it is.
    ///
    /// # Errors
    /// When the caller has no privilege for it.
    pub fn new() -> Result<Self, Error> {
        on_a_thread_of_its_own(|| {
            sys::unshare_network().map_err(refused)?;
            let namespace = Self::current()?;
            loopback_up()?;
            Ok(namespace)
        })?
    }

    /// The one in which the calling thread is.
    ///
    /// # Errors
    /// When `/proc` is not there.
    pub fn current() -> Result<Self, Error> {
        let file = File::open(OWN)
            .map_err(|e| Error::new(format!("open this network namespace, `{OWN}`"), e))?;
        Ok(Self { fd: file.into() })
    }

    /// The one that a descriptor belongs to.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Its descriptor.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Runs `work` in it, on a thread of its own: sockets and devices made there belong to this
    /// namespace for good. No other thread moves.
    ///
    /// # Errors
    /// When the caller has no privilege to enter.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        on_a_thread_of_its_own(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread into it.
    ///
    /// # Errors
    /// When the caller has no privilege for it.
    pub fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|errno| Error::new("enter a network namespace", errno).with_hint(PRIVILEGE))
    }

    /// Lets the calling thread's namespace pass on packets that are for others.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn allow_forwarding() -> Result<(), Error> {
        for path in ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"] {
            match fs::write(path, "1") {
                // A kernel without IPv6.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    return Err(Error::new(format!("turn on forwarding, `{path}`"), error));
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }
}

impl AsFd for NetNamespace {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Turns on the loopback interface of the calling thread's namespace.
pub(crate) fn loopback_up() -> Result<(), Error> {
    // The kernel gives it its addresses.
    Interface::find("lo")?.set_up()
}

const PRIVILEGE: &str = "it takes CAP_SYS_ADMIN: run it as root";

fn refused(source: io::Error) -> Error {
    Error::new("make a network namespace", source).with_hint(PRIVILEGE)
}

/// A thread's namespace is its own; threads that were there before don't move.
fn on_a_thread_of_its_own<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, Error> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("tcpsf-netns".to_owned())
            .spawn_scoped(scope, work)
            .map_err(|e| Error::new("start a thread", e))?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
