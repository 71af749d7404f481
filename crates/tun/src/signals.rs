//! Signals as readable events.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;

use crate::{Error, sys};

/// A caught signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaughtSignal {
    /// The signal.
    pub signal: Signal,
    /// Whether a process sent the signal to this process. Otherwise the terminal sent it to all
    /// foreground processes.
    pub from_process: bool,
}

/// Catches signals while the value lives, and queues them for reading. Afterwards the previous
/// handlers are restored. Only one value may exist in a process.
pub struct Signals {
    from: UnixStream,
    /// The end that the signal handler writes to.
    _to: UnixStream,
    previous: Vec<sys::Previous>,
}

impl Signals {
    /// Catches these signals, except those that the process ignores.
    ///
    /// # Errors
    /// If another value exists, or the system refuses.
    pub fn catch(signals: &[Signal]) -> Result<Self, Error> {
        let fail = |source: io::Error| Error::new("catch signals", source);
        let (from, to) = UnixStream::pair().map_err(fail)?;
        for end in [&from, &to] {
            end.set_nonblocking(true).map_err(fail)?;
        }
        let numbers: Vec<_> = signals.iter().map(|signal| signal.as_raw()).collect();
        let caught = sys::catch(&numbers, to.as_raw_fd())
            .unwrap_or_else(|| Err(io::ErrorKind::ResourceBusy.into()));
        let previous = caught.map_err(fail)?;
        Ok(Self { from, _to: to, previous })
    }

    /// The next caught signal, if any.
    pub fn next(&self) -> Option<CaughtSignal> {
        let mut pair = [0; 2];
        // The handler writes both bytes with one call.
        (&self.from).read_exact(&mut pair).ok()?;
        let signal = Signal::from_named_raw(i32::from(pair[0]))?;
        Some(CaughtSignal { signal, from_process: pair[1] != 0 })
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.from.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        sys::release(&self.previous);
    }
}
