//! An existing network namespace, such as that of a container, which gets the link as its way out.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use rustix::process::{Pid, PidfdFlags, pidfd_open};
use tun::{Error, NetNamespace};

/// Folder with the named namespaces (`ip-netns(8)`).
const NAMED: &str = "/run/netns";

/// Identifies an existing network namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The name of a namespace (`ip-netns(8)`), or a path with a slash.
    Namespace(String),
    /// A process in the namespace. The link ends when the process does.
    Process(i32),
}

/// An opened target.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) namespace: NetNamespace,
    /// The process with which the link ends.
    pub(crate) process: Option<OwnedFd>,
}

impl Attachment {
    pub(crate) fn open(target: &Target) -> Result<Self, Error> {
        let (path, process) = match target {
            Target::Namespace(name) if name.contains('/') => (PathBuf::from(name), None),
            Target::Namespace(name) => (PathBuf::from(format!("{NAMED}/{name}")), None),
            Target::Process(pid) => {
                let opened = Pid::from_raw(*pid)
                    .ok_or(rustix::io::Errno::SRCH)
                    .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
                let opened = opened.map_err(|errno| {
                    Error::new(format!("find process {pid}"), errno)
                        .with_hint("`ps -e` lists the processes")
                })?;
                (PathBuf::from(format!("/proc/{pid}/ns/net")), Some(opened))
            }
        };
        let operation = format!("open network namespace `{}`", path.display());
        let file = File::open(&path).map_err(|e| {
            let error = Error::new(&operation, e);
            match target {
                Target::Namespace(_) => error.with_hint(
                    "give a name of `ip netns list`, or a path such as `/proc/PID/ns/net`",
                ),
                Target::Process(_) => error.with_hint("run it as root"),
            }
        })?;
        let own = File::from(NetNamespace::current()?.into_fd());
        let identity = |file: &File| match file.metadata() {
            Ok(found) => Ok((found.dev(), found.ino())),
            Err(error) => Err(Error::new(&operation, error)),
        };
        if identity(&file)? == identity(&own)? {
            let error = Error::new(
                format!("attach a link to network namespace `{}`", path.display()),
                std::io::ErrorKind::InvalidInput,
            );
            return Err(error.with_hint("it is the namespace of `tcpsf` itself: give another one"));
        }
        Ok(Self { namespace: NetNamespace::from_fd(file.into()), process })
    }
}
