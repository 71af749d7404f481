//! Signals as something to wait for.

use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use rustix::process::Signal;

use crate::{Error, sys};

/// A signal that came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CaughtSignal {
    /// Which.
    pub signal: Signal,
    /// Whether a process sent it to this one alone. Otherwise it came from the terminal, which
    /// sends it to all processes in the foreground.
    pub from_process: bool,
}

/// Signals caught while the value lives: they do nothing but wait here, and whoever handled them
/// before does so again afterwards. One at a time in a process.
pub struct Signals {
    from: UnixStream,
    /// The handler's end.
    _to: UnixStream,
    previous: Vec<sys::Previous>,
}

impl Signals {
    /// Catches these, except for those that the process ignores.
    ///
    /// # Errors
    /// When they are being caught already, or the system refuses.
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

    /// The next one that came, if any.
    pub fn next(&self) -> Option<CaughtSignal> {
        let mut pair = [0; 2];
        // Two bytes were written at once.
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
