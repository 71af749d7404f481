//! The order of writes of several threads to one descriptor.
//!
//! The kernel takes the data of a write in one piece, so threads may write to one connection
//! without a lock of their own. A write that is cut must not have that of another thread between
//! its pieces. Each write is counted for its descriptor. A write is cut only if there is no other,
//! and others wait while its pieces are passed to the kernel, which never blocks.
//!
//! A thread that is cancelled, or leaves a call by `longjmp`, does not end its turn. Then writes to
//! this descriptor are not cut any more, or the next one waits until [`LONGEST_WAIT`].

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

use crate::sys;

/// Number of places. Descriptors with the same remainder share one.
const PLACES: usize = 4096;

/// State of a place while a write is cut. The other bits have the number of other writes.
const CUTTING: u32 = 1 << 31;

/// Number of times that other threads run before the mark of a write that is cut is removed.
const LONGEST_WAIT: u32 = 100_000;

static WRITES: [AtomicU32; PLACES] = [const { AtomicU32::new(0) }; PLACES];

/// The turn of a write, which may have others beside it.
#[derive(Debug)]
pub(crate) struct Turn(&'static AtomicU32);

/// The turn of a write without others.
#[derive(Debug)]
pub(crate) struct OnlyTurn(&'static AtomicU32);

impl Turn {
    /// Waits while a write to the descriptor is cut.
    pub(crate) fn begin(fd: c_int) -> Self {
        let place = &WRITES[fd.unsigned_abs() as usize % PLACES];
        let mut waited = 0;
        loop {
            let state = place.load(Relaxed);
            if state & CUTTING != 0 {
                if waited < LONGEST_WAIT {
                    waited += 1;
                    sys::yield_thread();
                } else {
                    place.fetch_and(!CUTTING, Relaxed);
                }
            } else if place.compare_exchange_weak(state, state + 1, Acquire, Relaxed).is_ok() {
                return Self(place);
            }
        }
    }

    /// Excludes other writes, if there is none now.
    pub(crate) fn alone(self) -> Result<OnlyTurn, Self> {
        match self.0.compare_exchange(1, CUTTING, Acquire, Relaxed) {
            Ok(_) => {
                let place = self.0;
                core::mem::forget(self);
                Ok(OnlyTurn(place))
            }
            Err(_) => Err(self),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Release);
    }
}

impl Drop for OnlyTurn {
    fn drop(&mut self) {
        self.0.fetch_and(!CUTTING, Release);
    }
}
