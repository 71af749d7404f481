//! Cuts in what a server writes, without privileges: a library for `LD_PRELOAD`.
//!
//! The dynamic loader puts the library before the C library, so calls of `send`, `write` and others
//! reach [`hooks`]. A hook asks the kernel for the state of the connection (`TCP_INFO`), decides
//! where the write is cut ([`Cut`]), and sends the pieces with one call of `sendmmsg`. `MSG_EOR`
//! keeps the kernel from joining them. Everything else is passed to the C library unchanged.
//!
//! The crate is compiled twice. `build.rs` makes the shared object with `cfg(exported)`: no
//! standard library, no allocation, no lock. The other time it has the [`Session`], which writes
//! the object and the settings to a folder, and reads the counts. Both share the [`Page`], a mapped
//! file.
#![cfg_attr(exported, no_std)]

pub mod hooks;

mod cuts;
mod exclusion;
mod next;
mod page;
mod socket;
mod sys;
mod writes;

#[cfg(any(exported, clippy))]
mod exports;
#[cfg(not(exported))]
mod session;

pub use cuts::{Cut, MOST_PIECES, Pieces, WindowFacts};
pub use page::{Counts, Page};
#[cfg(not(exported))]
pub use session::{Session, Settings};
pub use sys::{IoVec, MessageHeader, NumberedMessage};
