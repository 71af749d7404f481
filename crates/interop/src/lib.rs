//! The host on real wires, for tests and `verification/`: what it is to be held against, and what
//! comes of it as numbers.
//!
//! | question | module |
//! | --- | --- |
//! | does every byte arrive, between us and the kernel's TCP, whatever the link does? | [`exchange`] |
//! | does the wire see the packets that the simulator sends? | [`one_tcp`] |
//! | does a good client notice the bad ones? | [`hostile`] |
//!
//! All of it needs root and `/dev/net/tun`. Every run has a network namespace of its own, and is
//! over when that is gone.
#![expect(
    clippy::disallowed_methods,
    reason = "programs on a real wire: threads, and the system's clock"
)]

mod capture;
pub mod exchange;
pub mod hostile;
mod kernel;
pub mod one_tcp;
mod ours;
mod raw;
mod request;

use std::error::Error;

/// What goes wrong here ends the program: any error, with its text.
pub type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

pub use kernel::kernel;
pub use one_tcp::fetch;
