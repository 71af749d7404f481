//! A program at one of the ends.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::event::{Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tun::{CaughtSignal, Clock, Error, Namespaces, PollFd, PollFlags};
use units::Duration;

use crate::network::{End, Ends};

/// A running program. It is killed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Program {
    subject: Subject,
    /// The exit status once it is known.
    status: Option<i32>,
}

/// The end of a run.
#[derive(Debug)]
enum Subject {
    /// With a program that this process started.
    Child(Child, OwnedFd),
    /// With a signal to this process, or with another process.
    Other { process: Option<OwnedFd>, stopped: bool },
}

/// The namespaces of a program, and the addresses in its environment variables.
pub(crate) struct Environment<'a> {
    pub(crate) end: &'a End,
    pub(crate) user: Option<&'a OwnedFd>,
    /// The addresses of all links of the programs.
    pub(crate) ends: &'a [Ends],
    /// The list of DNS servers for the program, if it is not the caller's.
    pub(crate) resolv_conf: Option<&'a str>,
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

    /// Stands for no program: it ends with the first signal, or with another process if one is
    /// given. Its exit status is 0.
    pub(crate) fn other(process: Option<OwnedFd>) -> Self {
        Self { subject: Subject::Other { process, stopped: false }, status: None }
    }

    fn start(command: Command, environment: &Environment<'_>) -> Result<Self, Error> {
        let namespaces = Namespaces {
            net: Some(&environment.end.namespace),
            user: environment.user,
            resolv_conf: environment.resolv_conf,
        };
        let child = namespaces.spawn(command)?;
        let pid = Pid::from_child(&child);
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| {
            Error::new(format!("watch process {}", pid.as_raw_nonzero()), errno)
        })?;
        Ok(Self { subject: Subject::Child(child, pidfd), status: None })
    }

    /// A descriptor that is readable when the program has ended; `None` once its status is known.
    pub(crate) fn pidfd_to_poll(&self) -> Option<&dyn AsFd> {
        let fd = match &self.subject {
            Subject::Child(_, pidfd) => Some(pidfd),
            Subject::Other { process, .. } => process.as_ref(),
        };
        fd.filter(|_| self.status.is_none()).map(|fd| fd as &dyn AsFd)
    }

    /// The exit status as in shells: the program's own, or 128 plus the number of the signal.
    pub(crate) fn status(&mut self) -> Result<Option<i32>, Error> {
        if self.status.is_none() {
            self.status = match &mut self.subject {
                Subject::Child(child, _) => child
                    .try_wait()
                    .map_err(|e| Error::new("ask for a program's exit status", e))?
                    .map(shell_status),
                Subject::Other { process, stopped } => {
                    let ended = process.as_ref().is_some_and(has_ended);
                    (*stopped || ended).then_some(0)
                }
            };
        }
        Ok(self.known_status())
    }

    /// The exit status if it has already been read.
    pub(crate) fn known_status(&self) -> Option<i32> {
        self.status
    }

    /// Passes a signal on to the program, if it is running. The terminal has sent its own signals
    /// to the program itself.
    pub(crate) fn pass_on(&mut self, caught: CaughtSignal) {
        match &mut self.subject {
            Subject::Child(..) if !caught.from_process => {}
            Subject::Child(..) => self.signal(caught.signal),
            Subject::Other { stopped, .. } => *stopped = true,
        }
    }

    fn signal(&self, signal: Signal) {
        if let Subject::Child(_, pidfd) = &self.subject {
            // The program may just have ended.
            let _ = pidfd_send_signal(pidfd, signal);
        }
    }

    /// Terminates the program, and kills it if it does not end within `timeout`.
    pub(crate) fn end(mut self, clock: Clock, timeout: Duration) -> Result<(), Error> {
        self.signal(Signal::TERM);
        let until = clock.now() + timeout;
        while self.status()?.is_none() && clock.now() < until {
            let fds =
                self.pidfd_to_poll().map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            clock.wait(&mut fds.into_iter().collect::<Vec<_>>(), until, Duration::ZERO)?;
        }
        Ok(())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Subject::Child(child, _) = &mut self.subject
            && self.status.is_none()
        {
            // The program may just have ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn shell_status(status: ExitStatus) -> i32 {
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Whether the process of a descriptor has ended.
fn has_ended(process: &OwnedFd) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(process.as_fd(), PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok_and(|ready| ready > 0)
}

fn command(words: &[String], environment: &Environment<'_>) -> Result<Command, Error> {
    let [program, arguments @ ..] = words else {
        return Err(Error::new("start a command of no words", std::io::ErrorKind::InvalidInput));
    };
    let mut command = Command::new(program);
    command.args(arguments);
    for (number, ends) in (1..).zip(environment.ends) {
        command.envs(ends.environment(number));
    }
    Ok(command)
}
