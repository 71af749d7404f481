//! What a program on a real wire asks of Linux, with every error saying what was wanted and what
//! can be done.
//!
//! | wanted | type |
//! | --- | --- |
//! | packets to and from the kernel's own stack | [`Tun`] |
//! | addresses, routes, sizes of an interface | [`Interface`], by rtnetlink |
//! | addresses that no other link or host has | [`Block`] |
//! | a network of one's own | [`NetNamespace`]; without privilege [`in_own_namespaces`] |
//! | a program in it | [`Namespaces::spawn`] |
//! | the time, and to be woken at one | [`Clock`], [`TimerSlack`], [`Priority`] |
//! | to hear of Ctrl-C | [`Signals`] |
//! | to hold no more memory than is in use | [`trim_heap`] |
//!
//! The crate knows no protocol: a packet is bytes.

mod clock;
mod device;
mod error;
mod interface;
mod namespace;
mod netlink;
mod plan;
mod signals;
mod spawn;
mod sys;
mod user_namespace;

pub use clock::{Clock, Priority, TimerSlack};
pub use device::{Offload, Tun};
pub use error::Error;
pub use interface::{Address, Interface, Prefix, Route, Statistics};
pub use namespace::NetNamespace;
pub use plan::{Block, INNER_DEVICE, host_addresses, ipv6};
pub use rustix::event::{PollFd, PollFlags};
pub use signals::{CaughtSignal, Signals};
pub use spawn::Namespaces;
pub use user_namespace::{PassedFds, in_own_namespaces};

/// Gives memory that was freed back to the system, where the allocator of the C library would keep
/// it. It looks at all that is free, some 10 ms for 200 MB in small pieces.
pub fn trim_heap() {
    sys::trim_heap();
}
