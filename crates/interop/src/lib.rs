//! Live runs of the host for tests and `verification/`, with numeric results.
//!
//! | question | module |
//! | --- | --- |
//! | Do all bytes arrive between the host and the kernel over an impaired link? | [`exchange`] |
//! | Are the packets on the wire those of the simulator? | [`one_tcp`] |
//! | Is a genuine client served during an attack? | [`hostile`] |
//!
//! All runs need root and `/dev/net/tun`. Each has its own network namespace, and ends when that is
//! removed.
#![expect(
    clippy::disallowed_methods,
    reason = "programs on a real wire: threads, and the system's clock"
)]

mod capture;
mod case;
pub mod exchange;
pub mod hostile;
mod kernel;
pub mod one_tcp;
mod ours;
mod raw;
mod request;

use std::error::Error;

/// Result with any error, which ends the program with its text.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub use kernel::kernel;
pub use one_tcp::fetch;
