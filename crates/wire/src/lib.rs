//! TCP's own types, and the bytes that carry them.
//!
//! Two levels. A `Repr` is what the stack believes: impossible values are unrepresentable, and it can be written.
//! A `View` looks at bytes as they came: it exists for any bytes with room for their own lengths, so that nonsense
//! can be counted and shown, and says what to believe of them.
//!
//! | | believed | as it came |
//! | --- | --- | --- |
//! | IPv4 | [`ipv4::Repr`] | [`ipv4::View`] |
//! | TCP | [`tcp::Repr`], a [`Segment`] between two ports | [`tcp::View`], [`tcp::RawOption`] |
//!
//! A [`Segment`] is a small `Copy` value whose payload is a length; whoever holds the stream holds the bytes.

mod checksum;
pub mod ipv4;
mod sack;
mod segment;
mod seq;
pub mod tcp;
mod window;

pub use checksum::Checksum;
pub use sack::{SackBlocks, SeqRange};
pub use segment::{Control, Ecn, Flags, Options, Segment, Timestamps};
pub use seq::SeqNum;
pub use window::{Mss, UnscaledWindow, WindowScale};
