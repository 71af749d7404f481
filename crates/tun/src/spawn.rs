//! Starts programs in namespaces.
//!
//! A program may have a `/etc/resolv.conf` of its own. It is a file in memory that is mounted over
//! the other one, in a mount namespace (`mount_namespaces(7)`) that ends with the program.

use std::fs::{OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command};

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};
use rustix::thread::{
    CapabilitySet, LinkNameSpaceType, capabilities, configure_capability_in_ambient_set,
    move_into_link_name_space, set_capabilities,
};

use crate::{Error, NetNamespace, sys};

/// The namespaces of a program.
#[derive(Debug, Clone, Copy)]
pub struct Namespaces<'a> {
    /// The network namespace; `None` is the caller's.
    pub net: Option<&'a NetNamespace>,
    /// The user namespace that owns the network namespace, if it is not the caller's.
    pub user: Option<&'a OwnedFd>,
    /// The content of `/etc/resolv.conf` that the program sees, if it is not the caller's.
    pub resolv_conf: Option<&'a str>,
}

/// The file that lists DNS servers (`resolv.conf(5)`).
const RESOLV_CONF: &str = "/etc/resolv.conf";
/// A folder that the memory file system covers for a moment, in the program's mount namespace only.
const STAGING: &str = "/tmp";
const STAGED: &str = "/tmp/resolv.conf";

/// Capabilities that a program keeps in its user namespace. They suffice for nested links and for
/// `ping`.
const KEPT_CAPABILITIES: [CapabilitySet; 4] = [
    CapabilitySet::NET_ADMIN,
    CapabilitySet::NET_RAW,
    CapabilitySet::NET_BIND_SERVICE,
    CapabilitySet::SYS_ADMIN,
];

impl Namespaces<'_> {
    /// Starts `command` in the namespaces. It is killed when the calling thread ends, so the caller
    /// must use a thread that lives long enough.
    ///
    /// # Errors
    /// If the program does not exist, or the privilege to enter is missing.
    pub fn spawn(&self, mut command: Command) -> Result<Child, Error> {
        let program = command.get_program().to_string_lossy().into_owned();
        let fail = |e: io::Error| Error::new(format!("start `{program}`"), e);
        // Duplicates, which the child has until it executes the program.
        let net = self.net.map(|net| net.as_fd().try_clone_to_owned()).transpose().map_err(fail)?;
        let user = self.user.map(OwnedFd::try_clone).transpose().map_err(fail)?;
        let resolv_conf = self.resolv_conf.map(str::to_owned);
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
            if let Some(content) = &resolv_conf {
                mount_resolv_conf(content.as_bytes())?;
            }
            // This call is last, because entering a user namespace resets the setting.
            set_parent_process_death_signal(Some(Signal::KILL))?;
            if getppid() != Some(parent) {
                // The parent ended before the setting took effect.
                return Err(io::ErrorKind::BrokenPipe.into());
            }
            Ok(())
        });
        command.spawn().map_err(fail)
    }
}

/// Moves the process into a mount namespace of its own with another `/etc/resolv.conf`. Later
/// mounts of others appear there too.
fn mount_resolv_conf(content: &[u8]) -> io::Result<()> {
    sys::unshare_mounts()?;
    mount_change("/", MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC)?;
    mount("tcpsf", STAGING, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755")?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(STAGED)?;
    file.write_all(content)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    mount_bind(STAGED, RESOLV_CONF)?;
    unmount(STAGING, UnmountFlags::DETACH)?;
    Ok(())
}

/// Keeps the capabilities of the user namespace across `exec`, which otherwise drops them for users
/// other than root.
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
