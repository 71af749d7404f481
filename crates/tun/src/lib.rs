//! Linux system interfaces for a network program in real time. Each error names the operation and,
//! if possible, a remedy.
//!
//! | purpose | type |
//! | --- | --- |
//! | packets to and from the kernel's IP stack | [`Tun`] |
//! | addresses, routes and MTU of an interface | [`Interface`], through rtnetlink |
//! | address blocks that no other link or host uses | [`Block`] |
//! | other hosts, with address translation | [`Translation`], through nftables |
//! | other hosts, through a program's own sockets | [`Gateway`], through nftables |
//! | private networks | [`NetNamespace`] |
//! | private networks without privileges | [`in_own_namespaces`], [`in_namespaces`] |
//! | programs in namespaces | [`Namespaces::spawn`] |
//! | state of the TCP sockets in a namespace | [`TcpSockets`] |
//! | clock and timely wake-ups | [`Clock`], [`TimerSlack`], [`Priority`] |
//! | signals such as Ctrl-C | [`Signals`] |
//! | release of unused memory | [`trim_heap`] |
//!
//! The crate parses no protocol: a packet is a slice of bytes.

mod clock;
mod device;
mod error;
mod exits;
mod forwarding;
mod gateway;
mod interface;
mod namespace;
mod netlink;
mod nftables;
mod plan;
mod redirect;
mod signals;
mod source_route;
mod spawn;
mod sys;
mod tcp_sockets;
mod ticks;
mod translation;
mod user_namespace;

pub use clock::{Clock, Priority, TimerSlack};
pub use device::{Offload, Tun};
pub use error::Error;
pub use gateway::Gateway;
pub use interface::{Address, Interface, Prefix, Route, Statistics};
pub use namespace::NetNamespace;
pub use plan::{Block, INNER_DEVICE, host_addresses, ipv6};
pub use redirect::{DatagramError, limit_unsent, receive_error, receive_redirected, report_errors};
pub use rustix::event::{PollFd, PollFlags};
pub use signals::{CaughtSignal, Signals};
pub use spawn::Namespaces;
pub use tcp_sockets::TcpSockets;
pub use ticks::KernelTicks;
pub use translation::{Translation, check_reach};
pub use user_namespace::{PassedFds, in_namespaces, in_own_namespaces};

/// Returns freed heap memory to the system, which the C library's allocator would otherwise keep.
/// It scans all free memory, which takes some 10 ms for 200 MB in small pieces.
pub fn trim_heap() {
    sys::trim_heap();
}
