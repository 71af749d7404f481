//! A TCP host: many connections of the `tcp` crate over IP packets.
//!
//! [`Stack`] is sans-IO like its connections: packets in, packets out, time as an argument. It
//! assigns packets to connections, accepts new connections, and enforces resource limits.
//!
//! | module | content |
//! | --- | --- |
//! | `stack` | `Stack`: its driving contract and the application's calls |
//! | `stack::ingress` | received packets |
//! | `stack::admission` | SYNs, limits and eviction |
//! | `stack::egress` | selection of the next packet to send |
//! | `stack::life` | state changes of a connection |
//! | `stack::slot` | per-connection state of the stack |
//! | `cookie`, `secret` | SYN cookies (RFC 4987), initial sequence numbers (RFC 6528) |
//! | `record` | one row per ended connection |
//! | `service` | the interface of applications |
//! | `http` | HTTP/1.1 server and client for files |
//! | `proxy` | TCP proxy to an upstream over the kernel's TCP |
//! | `attach` | TUN device with routed addresses |
//! | `driver` | event loop on a TUN device, in real time |

mod attach;
mod config;
mod connections;
mod cookie;
mod driver;
mod event;
pub mod http;
mod packet;
mod proxy;
mod record;
mod secret;
mod service;
mod stack;
mod throttle;
mod timers;
mod tuple;

pub use attach::attach;
pub use config::{Alternate, Limits, Senders, StackConfig};
pub use driver::Driver;
pub use event::{ConnectionId, EndReason, Event, EventKind};
pub use packet::Outgoing;
pub use proxy::{Proxy, Relayed};
pub use record::Record;
pub use secret::Secret;
pub use service::Service;
pub use stack::{Checksums, Counters, OpenError, Stack};
pub use tcp::CloseReason;
pub use tuple::Tuple;
