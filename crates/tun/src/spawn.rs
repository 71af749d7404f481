//! Programs in namespaces.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command};

use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, capabilities, configure_capability_in_ambient_set,
    move_into_link_name_space, set_capabilities,
};

use crate::{Error, NetNamespace, sys};

/// Where a program runs.
#[derive(Debug, Clone, Copy)]
pub struct Namespaces<'a> {
    /// Its network; `None` is the caller's.
    pub net: Option<&'a NetNamespace>,
    /// The user namespace that the network belongs to, when it isn't the caller's.
    pub user: Option<&'a OwnedFd>,
}

/// What a program keeps of its user namespace: enough to make links of its own there, and to
/// `ping`.
const KEPT_CAPABILITIES: [CapabilitySet; 4] = [
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::NET_BIND_SERVICE,
    CapabilitySet::SYS_ADMIN,
];

impl Namespaces<'_> {
    /// Starts `command` there. It is killed when the calling thread ends: call it from one that
    /// lives as long.
    ///
    /// # Errors
    /// When there is no such program, or no privilege to enter.
    pub fn spawn(&self, mut command: Command) -> Result<Child, Error> {
        let program = command.get_program().to_string_lossy().into_owned();
        let fail = |e: io::Error| Error::new(format!("start `{program}`"), e);
        // Own copies, which the child has until it becomes the program.
        let net = self.net.map(|net| net.as_fd().try_clone_to_owned()).transpose().map_err(fail)?;
        let user = self.user.map(OwnedFd::try_clone).transpose().map_err(fail)?;
        let parent = getpid();
        sys::before_exec(&mut command, move || {
            let enter = |fd: &OwnedFd, kind| move_into_link_name_space(fd.as_fd(), Some(kind));
            if let Some(user) = &user {
                enter(user, LinkNameSpaceType::User)?;
            }
            if let Some(net) = &net {
                enter(net, LinkNameSpaceType::Network)?;
            }
            if user.is_some() {
                keep_capabilities()?;
            }
            // Last: moving into a user namespace takes the request back.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                // The parent was gone before it was asked for.
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        });
        command.spawn().map_err(fail)
    }
}

/// Without this, a program of a user other than root loses what its user namespace gives it.
fn keep_capabilities() -> io::Result<()> {
    let mut sets = capabilities(None)?;
    for one in KEPT_CAPABILITIES {
        sets.inheritable |= one;
    }
    set_capabilities(None, sets)?;
    for one in KEPT_CAPABILITIES {
        configure_capability_in_ambient_set(one, true)?;
    }
    Ok(())
}
