//! A sans-IO TCP (RFC 9293): one connection as a state machine that performs no I/O and reads no
//! clock.
//!
//! [`Connection`] is the protocol: it is fed segments, timeouts and user calls, and drained of
//! segments and events. It deals in sequence numbers; [`ByteStream`] adds the bytes, for whoever
//! has any. The simulator drives `Connection` alone, a program on a real wire drives `ByteStream`:
//! one TCP for both.
//!
//! What decides is in the `policy` crate; what is here is the bookkeeping of RFC 9293, cut along
//! its §3.10.7:
//!
//! | module | holds |
//! | --- | --- |
//! | `connection` | the type, its driving contract, the user's calls |
//! | `opening` | connections made from a peer's SYN, or from a SYN cookie that it returns |
//! | `ingress` | an arriving segment, a module per step of RFC 9293 §3.10.7.4 |
//! | `egress` | the next segment to send |
//! | `send` | the sending half: window, queue, loss response |
//! | `receive` | the receiving half: reassembly, delayed ACKs, advertised window |
//! | `icmp` | what routers report: path MTU, errors |
//! | `host_timers` | what only a connection on a real wire keeps: patience, limits for challenges |
//! | `timeout` | expired timers |
//! | `time_wait` | a new connection in the place of an old one |
//!
//! # Limits
//!
//! - Payload on a SYN is not queued. The SYN alone is acknowledged, so the peer sends the payload
//!   again after the handshake. There is no TCP Fast Open (RFC 7413).
//! - Urgent data is delivered in line with other data, and the user is not told of the urgent
//!   pointer. RFC 9293 §3.8.5 requires the notification; RFC 6093 recommends in-line delivery and
//!   no new use of the mechanism.

mod bytes;
mod config;
mod connection;
mod egress;
mod event;
mod host_timers;
mod icmp;
mod ingress;
mod opening;
mod receive;
mod send;
mod state;
mod time_wait;
mod timeout;

pub use bytes::ByteStream;
pub use config::{Challenges, Config, DelayedAck, KeepAlive, Negotiated, RttSamples, Timeouts};
pub use connection::{Connection, Pending};
pub use event::{Accepted, CallError, CloseReason, Event, LossEvent, Repair};
pub use icmp::IcmpError;
pub use send::{SendState, SendStatistics};
pub use state::State;
