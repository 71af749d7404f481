//! TCP's own types, and the bytes that carry them.
//!
//! Two levels. A `Repr` is what the stack believes: impossible values are unrepresentable, and it
//! can be written. A `View` looks at bytes as they came: it exists for any bytes with room for
//! their own lengths, so that nonsense can be counted and shown, and says what to believe of them.
//!
//! | | believed | as it came |
//! | --- | --- | --- |
//! | IPv4 | [`ipv4::Repr`] | [`ipv4::View`] |
//! | IPv6 | [`ipv6::Repr`] | [`ipv6::View`], [`ipv6::Extension`] |
//! | either | [`ip::Repr`] | [`ip::View`] |
//! | TCP | [`tcp::Repr`], a [`Segment`] between two ports | [`tcp::View`], [`tcp::RawOption`] |
//! | ICMP | [`icmp::Repr`], a [`icmp::Message`] of one version | [`icmp::View`], [`icmp::Quote`] |
//! | packets that a device cuts and sums | [`gso::Offload`], [`gso::Joiner`] | [`gso::Cutter`] |
//!
//! A [`Segment`] is a small `Copy` value whose payload is a length; whoever holds the stream holds
//! the bytes. Nothing is allocated for a header: [`Header`] is its bytes on the stack.

mod checksum;
pub mod gso;
mod header;
pub mod icmp;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
mod sack;
mod santa_cruz;
mod segment;
mod seq;
pub mod tcp;
mod window;

pub use checksum::Checksum;
pub use header::Header;
pub use sack::{SackBlocks, SeqRange};
pub use santa_cruz::{AckWindow, Arrival, CopyNumber, SantaCruz};
pub use segment::{Control, Ecn, Flags, Options, Report, Reports, Segment, Timestamps};
pub use seq::SeqNum;
pub use window::{Mss, UnscaledWindow, WindowScale};
