//! Value types of TCP, and the bytes of IPv4, IPv6, TCP and ICMP.
//!
//! Each header has two types. A `Repr` is a validated value that can be written; impossible values
//! are unrepresentable. A `View` reads received bytes: it exists for any bytes with room for their
//! own lengths, so that invalid packets can be counted and shown. It returns the `Repr` of valid
//! ones.
//!
//! | | validated | received |
//! | --- | --- | --- |
//! | IPv4 | [`ipv4::Repr`] | [`ipv4::View`] |
//! | IPv6 | [`ipv6::Repr`] | [`ipv6::View`], [`ipv6::Extension`] |
//! | either | [`ip::Repr`] | [`ip::View`] |
//! | TCP | [`tcp::Repr`], a [`Segment`] between two ports | [`tcp::View`], [`tcp::RawOption`] |
//! | ICMP | [`icmp::Repr`], a [`icmp::Message`] of one version | [`icmp::View`], [`icmp::Quote`] |
//! | offload: segmentation and checksums | [`gso::Offload`], [`gso::Joiner`] | [`gso::Cutter`] |
//!
//! A [`Segment`] is a small `Copy` value whose payload is a length; the owner of the stream has the
//! bytes. Headers need no allocation: a [`Header`] is an array on the stack.
//!
//! The example `headers` shows a packet written and read: `cargo run -p wire --example headers`.

mod checksum;
pub mod gso;
mod header;
pub mod icmp;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
#[doc(hidden)]
pub mod layout;
mod protocol;
mod report;
mod sack;
mod santa_cruz;
mod segment;
mod seq;
pub mod tcp;
mod window;

pub use checksum::Checksum;
pub use header::Header;
pub use report::Report;
pub use sack::{SackBlocks, SeqRange};
pub use santa_cruz::{AckWindow, Arrival, CopyNumber, SantaCruz};
pub use segment::{Control, Ecn, Flags, Options, Segment, Timestamps};
pub use seq::SeqNum;
pub use window::{Mss, UnscaledWindow, WindowScale};
