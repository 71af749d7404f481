//! Network namespaces (`network_namespaces(7)`).

use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{Error, Interface, sys};

const OWN: &str = "/proc/thread-self/ns/net";

/// A network namespace, referenced by a descriptor. It has no name, and the kernel removes it with
/// its last reference.
#[derive(Debug)]
pub struct NetNamespace {
    fd: OwnedFd,
}

impl NetNamespace {
    /// Creates a namespace with its loopback interface up. The calling thread does not enter it.
    ///
    /// # Errors
    /// If the caller lacks the privilege.
    pub fn new() -> Result<Self, Error> {
        on_a_thread_of_its_own(|| {
            sys::unshare_network().map_err(refused)?;
            let namespace = Self::current()?;
            loopback_up()?;
            Ok(namespace)
        })?
    }

    /// The namespace of the calling thread.
    ///
    /// # Errors
    /// If `/proc` is not mounted.
    pub fn current() -> Result<Self, Error> {
        let file = File::open(OWN)
            .map_err(|e| Error::new(format!("open this network namespace, `{OWN}`"), e))?;
        Ok(Self { fd: file.into() })
    }

    /// The namespace of a descriptor.
    pub fn from_fd(fd: OwnedFd) -> Self {
        Self { fd }
    }

    /// Converts the namespace to its descriptor.
    pub fn into_fd(self) -> OwnedFd {
        self.fd
    }

    /// Runs `work` in the namespace on a new thread. Sockets and devices created there stay in the
    /// namespace. No other thread moves.
    ///
    /// # Errors
    /// If the caller lacks the privilege to enter.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, Error> {
        on_a_thread_of_its_own(|| {
            self.enter()?;
            Ok(work())
        })?
    }

    /// Moves the calling thread into the namespace.
    ///
    /// # Errors
    /// If the caller lacks the privilege.
    pub fn enter(&self) -> Result<(), Error> {
        move_into_link_name_space(self.fd.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|errno| Error::new("enter a network namespace", errno).with_hint(PRIVILEGE))
    }

    /// Enables IP forwarding in the calling thread's namespace.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn allow_forwarding() -> Result<(), Error> {
        for path in ["/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/ipv6/conf/all/forwarding"] {
            match fs::write(path, "1") {
                // The kernel has no IPv6.
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

/// Brings the loopback interface of the calling thread's namespace up.
pub(crate) fn loopback_up() -> Result<(), Error> {
    // The kernel assigns its addresses.
    Interface::find("lo")?.set_up()
}

const PRIVILEGE: &str = "this requires CAP_SYS_ADMIN: run it as root";

fn refused(source: io::Error) -> Error {
    Error::new("make a network namespace", source).with_hint(PRIVILEGE)
}

/// Runs `work` on a new thread. A namespace belongs to a thread, so existing threads do not move.
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
