//! Many TCP connections over packets: the `tcp` crate as a host.
//!
//! [`Stack`] is sans-IO like the connections in it: packets in, packets out, time as an argument.
//! It knows whose a packet is, takes new connections in, and keeps all of them within bounds.
//!
//! | module | holds |
//! | --- | --- |
//! | `stack` | the type, its driving contract, the user's calls |
//! | `stack::ingress` | an arriving packet |
//! | `stack::admission` | a SYN, and who has to go for it |
//! | `stack::egress` | the next packet to send |
//! | `stack::life` | what follows from a change of a connection's state |
//! | `stack::slot` | what is kept of a connection beside itself |
//! | `cookie`, `secret` | SYN cookies (RFC 4987), initial sequence numbers (RFC 6528) |
//! | `record` | a row for each connection that has ended |
//! | `service` | what a host does with its connections |
//! | `http` | files over HTTP/1.1 |
//! | `proxy` | peers connected with an upstream, over the kernel's TCP |
//! | `attach` | a TUN device with addresses |
//! | `driver` | all of it on a TUN device, in real time |

mod attach;
mod config;
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
pub use tuple::Tuple;
