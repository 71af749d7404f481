//! A program at one of the ends.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tun::{Clock, Error, Namespaces, PollFd, PollFlags};
use units::Duration;

use crate::network::{End, Ends};

/// A running program. It is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    pidfd: OwnedFd,
    status: Option<ExitStatus>,
}

/// The namespaces of a program, and the addresses in its environment variables.
pub(crate) struct Environment<'a> {
    pub(crate) end: &'a End,
    pub(crate) user: Option<&'a OwnedFd>,
    pub(crate) ends: &'a Ends,
}

impl Program {
    /// Starts a program in the foreground, with the caller's input and output.
    pub(crate) fn foreground(
        words: &[String],
        environment: &Environment<'_>,
    ) -> Result<Self, Error> {
        Self::start(command(words, environment)?, environment)
    }

    /// Starts a program in the background: without input, and with its output on standard error.
    pub(crate) fn background(
        words: &[String],
        environment: &Environment<'_>,
    ) -> Result<Self, Error> {
        let mut command = command(words, environment)?;
        let stderr = std::io::stderr().as_fd().try_clone_to_owned();
        let stderr = stderr.map_err(|e| Error::new("copy standard error", e))?;
        command.stdin(Stdio::null()).stdout(stderr);
        Self::start(command, environment)
    }

    fn start(command: Command, environment: &Environment<'_>) -> Result<Self, Error> {
        let child = Namespaces { net: Some(&environment.end.namespace), user: environment.user }
            .spawn(command)?;
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| {
            Error::new(format!("watch process {}", pid.as_raw_nonzero()), errno)
        })?;
        Ok(Self { child, pidfd, status: None })
    }

    /// A descriptor that is readable when the program has ended; `None` once its status is known.
    pub(crate) fn pidfd_to_poll(&self) -> Option<&dyn AsFd> {
        self.status.is_none().then_some(&self.pidfd as &dyn AsFd)
    }

    /// The exit status as in shells: the program's own, or 128 plus the number of the signal.
    pub(crate) fn status(&mut self) -> Result<Option<i32>, Error> {
        if self.status.is_none() {
            self.status = self
                .child
                .try_wait()
                .map_err(|e| Error::new("ask for a program's exit status", e))?;
        }
        Ok(self.known_status())
    }

    /// The exit status if it has already been read.
    pub(crate) fn known_status(&self) -> Option<i32> {
        self.status
            .map(|status| status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
    }

    /// Sends a signal to the program, if it is running.
    pub(crate) fn signal(&self, signal: Signal) {
        // The program may just have ended.
        let _ = pidfd_send_signal(&self.pidfd, signal);
    }

    /// Terminates the program, and kills it if it does not end within `timeout`.
    pub(crate) fn end(mut self, clock: Clock, timeout: Duration) -> Result<(), Error> {
        self.signal(Signal::TERM);
        let until = clock.now() + timeout;
        while self.status()?.is_none() && clock.now() < until {
            let mut fds = [PollFd::from_borrowed_fd(self.pidfd.as_fd(), PollFlags::IN)];
            clock.wait(&mut fds, until, Duration::ZERO)?;
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if self.status.is_none() {
            // The program may just have ended.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn command(words: &[String], environment: &Environment<'_>) -> Result<Command, Error> {
    let [program, arguments @ ..] = words else {
        return Err(Error::new("start a command of no words", std::io::ErrorKind::InvalidInput));
    };
    let mut command = Command::new(program);
    command.args(arguments).envs(environment.ends.environment());
    Ok(command)
}
