//! User namespaces (`user_namespaces(7)`), in which any user may create devices, networks and
//! routes.
//!
//! A process with several threads cannot enter another user namespace. Therefore a forked child
//! enters it, does the work, and passes the descriptors back.

use std::fs;
use std::io::{self, IoSlice, IoSliceMut, Read, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::{WaitOptions, getgid, getuid, waitpid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::namespace::loopback_up;
use crate::{Error, NetNamespace, sys};

/// Descriptors and text passed back by the child process.
#[derive(Debug, Default)]
pub struct PassedFds {
    /// The descriptors, at most [`PassedFds::MAX`].
    pub fds: Vec<OwnedFd>,
    /// Text that describes the descriptors.
    pub text: String,
}

impl PassedFds {
    /// Maximum number of descriptors.
    pub const MAX: usize = 16;
}

/// Runs `work` in a new user namespace with a new network namespace, whose loopback interface is
/// up. The user keeps its id there and has every privilege. Returns a descriptor of the user
/// namespace and the result of `work`.
///
/// `work` runs in a short-lived child process: its other effects are not visible to the caller. It
/// must not wait for another thread.
///
/// # Errors
/// If the system does not allow unprivileged user namespaces; the errors of `work`.
pub fn in_own_namespaces(
    work: impl FnOnce() -> Result<PassedFds, Error>,
) -> Result<(OwnedFd, PassedFds), Error> {
    let mut passed = in_child(|| {
        make_namespaces()?;
        let path = "/proc/self/ns/user";
        let own = fs::File::open(path).map_err(|e| Error::new(format!("open `{path}`"), e))?;
        let mut passed = work()?;
        passed.fds.insert(0, own.into());
        Ok(passed)
    })?;
    if passed.fds.is_empty() {
        return Err(not_started(io::ErrorKind::UnexpectedEof.into()));
    }
    let user = passed.fds.remove(0);
    Ok((user, passed))
}

/// Runs `work` in namespaces that [`in_own_namespaces`] has made. There, `work` has every privilege
/// and the restrictions of [`in_own_namespaces`].
///
/// # Errors
/// If the user has not made the namespaces; the errors of `work`.
pub fn in_namespaces(
    user: &OwnedFd,
    network: &NetNamespace,
    work: impl FnOnce() -> Result<PassedFds, Error>,
) -> Result<PassedFds, Error> {
    in_child(|| {
        move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))
            .map_err(|errno| Error::new("enter a user namespace", errno))?;
        network.enter()?;
        work()
    })
}

fn not_started(source: io::Error) -> Error {
    Error::new("start a process in a user namespace", source)
}

/// Runs `work` in a child process, which passes its result back.
fn in_child(work: impl FnOnce() -> Result<PassedFds, Error>) -> Result<PassedFds, Error> {
    let (ours, theirs) = UnixStream::pair().map_err(not_started)?;
    let child = sys::fork(|| match work().and_then(|passed| send(&theirs, &passed)) {
        Ok(()) => 0,
        Err(error) => {
            // If the write fails, the empty response indicates the error.
            let _ = (&theirs).write_all(refusal(&error).as_bytes());
            1
        }
    })
    .map_err(not_started)?;
    drop(theirs);
    let received = receive(&ours);
    // The child is only reaped here; the message tells how it ended.
    while waitpid(Some(child), WaitOptions::empty())
        .is_err_and(|errno| errno == rustix::io::Errno::INTR)
    {}
    received
}

/// Moves the calling process to new namespaces.
fn make_namespaces() -> Result<(), Error> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    sys::unshare_user_and_network().map_err(|source| {
        let hint = if source.raw_os_error() == Some(libc::ENOSPC) {
            "the limit is `sysctl user.max_user_namespaces`; or run it as root"
        } else {
            "this system does not let users have namespaces of their own (`sysctl kernel.unprivileged_userns_clone`, \
             `kernel.apparmor_restrict_unprivileged_userns`, or a container's rules): run it as root"
        };
        Error::new("make a user namespace", source).with_hint(hint)
    })?;
    // `user_namespaces(7)`: without privileges outside, a group may be mapped only after
    // `setgroups` is denied.
    for (path, line) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ] {
        fs::write(path, &line).map_err(|e| Error::new(format!("write `{line}` to `{path}`"), e))?;
    }
    loopback_up()
}

/// First line of a message that reports success. The text follows; an error message has the error
/// number, the operation and the hint instead.
const SUCCESS: &str = "well";

fn send(to: &UnixStream, passed: &PassedFds) -> Result<(), Error> {
    let fail = |source: io::Error| Error::new("pass descriptors to the parent process", source);
    let fds: Vec<_> = passed.fds.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PassedFds::MAX + 1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !control.push(SendAncillaryMessage::ScmRights(&fds)) {
        return Err(fail(io::ErrorKind::InvalidInput.into()));
    }
    let message = format!("{SUCCESS}\n{}", passed.text);
    sendmsg(to, &[IoSlice::new(message.as_bytes())], &mut control, SendFlags::empty())
        .map_err(|errno| fail(errno.into()))?;
    Ok(())
}

fn refusal(error: &Error) -> String {
    let code = error.source().raw_os_error().unwrap_or(libc::EIO);
    format!("{code}\n{}\n{}", error.operation(), error.hint().unwrap_or_default())
}

fn receive(from: &UnixStream) -> Result<PassedFds, Error> {
    let fail = |source: io::Error| Error::new("receive descriptors from the child process", source);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PassedFds::MAX + 1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut bytes = vec![0; 4096];
    let received = loop {
        let parts = &mut [IoSliceMut::new(&mut bytes)];
        match recvmsg(from, parts, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(rustix::io::Errno::INTR) => {}
            result => break result.map_err(|errno| fail(errno.into()))?,
        }
    };
    bytes.truncate(received.bytes);
    let fds = control.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(fds) => fds.collect(),
        _ => Vec::new(),
    });
    let fds: Vec<OwnedFd> = fds.collect();
    (&*from).read_to_end(&mut bytes).map_err(fail)?;
    let text = String::from_utf8_lossy(&bytes);
    match text.split_once('\n') {
        Some((SUCCESS, text)) => Ok(PassedFds { fds, text: text.to_owned() }),
        Some((code, rest)) => {
            let (operation, hint) = rest.split_once('\n').unwrap_or((rest, ""));
            let source = io::Error::from_raw_os_error(code.parse().unwrap_or(libc::EIO));
            let error = Error::new(operation, source);
            Err(if hint.is_empty() { error } else { error.with_hint(hint) })
        }
        None => Err(fail(io::ErrorKind::UnexpectedEof.into())),
    }
}
