//! TCP's own types: what a segment *means*, with impossible values unrepresentable.
//!
//! Bytes (parsing and emitting IPv4, IPv6 and TCP) are not here yet: nothing puts a segment on a real wire.
//! A [`Segment`] is a small `Copy` value whose payload is a length; whoever holds the stream holds the bytes.

mod sack;
mod segment;
mod seq;
mod window;

pub use sack::{SackBlocks, SeqRange};
pub use segment::{Control, Ecn, Flags, Options, Segment, Timestamps};
pub use seq::SeqNum;
pub use window::{Mss, UnscaledWindow, WindowScale};
