//! A sans-IO TCP (RFC 9293): one connection as a state machine that performs no I/O and reads no
//! clock.
//!
//! [`Connection`] is the protocol. Its driver feeds it segments, timeouts and user calls, and
//! drains segments and events from it. It handles sequence numbers only; [`ByteStream`] adds the
//! bytes. The simulator drives `Connection` alone, a program on a real wire drives `ByteStream`:
//! one TCP for both.
//!
//! The `policy` crate makes the decisions. This crate does the bookkeeping of RFC 9293, divided
//! along its §3.10.7:
//!
//! | module | contents |
//! | --- | --- |
//! | `connection` | the type, its driving contract, user calls |
//! | `opening` | connections created from a peer's SYN, or from a returned SYN cookie |
//! | `ingress` | an arriving segment, one module per step of RFC 9293 §3.10.7.4 |
//! | `egress` | the next segment to send |
//! | `send` | the sending half: window, retransmission queue, loss response |
//! | `receive` | the receiving half: reassembly, delayed ACKs, advertised window |
//! | `receive::linux` | the same by the rules of Linux |
//! | `profile` | the TCP of Linux, 4.4BSD, ns-2 and the RFCs as a configuration |
//! | `icmp` | ICMP errors: path MTU, unreachable |
//! | `host_timers` | state of hosts on a real wire: user timeout, keep-alive, challenge limit |
//! | `timeout` | expired timers |
//! | `rules` | variants of the path of a segment, for rules that few connections have |
//! | `time_wait` | reuse of a connection in TIME-WAIT |
//!
//! # Limits
//!
//! - Payload on a SYN is not queued. Only the SYN is acknowledged, so the peer sends the payload
//!   again after the handshake. TCP Fast Open (RFC 7413) is not implemented.
//! - Urgent data is delivered in line with other data, without a notification of the urgent
//!   pointer. RFC 9293 §3.8.5 requires the notification; RFC 6093 recommends in-line delivery and
//!   no new use of the mechanism.
//!
//! The example `exchange` shows two endpoints, a path, and a lost segment:
//! `cargo run -p tcp --example exchange`.

mod bytes;
mod config;
mod connection;
mod egress;
mod event;
mod ingress;
mod profile;
mod receive;
mod rules;
mod send;
mod state;
mod time_wait;
mod timeout;

pub use bytes::ByteStream;
pub use config::{
    Acceptance, Challenges, Config, DelayedAck, KeepAlive, LinuxReceiver, Negotiated, Receiving,
    RttSamples, SendMemory, Timeouts,
};
pub use connection::{Connection, IcmpError};
pub use event::{Accepted, CallError, CloseReason, Event, LossEvent, Repair};
pub use profile::{Profile, UnknownProfile};
pub use receive::ReceiveInfo;
pub use send::{
    CongestionState, QueuedSegment, RackSnapshot, SendSnapshot, SendState, SendStatistics, TcpInfo,
    TimerName, WriteFlags,
};
pub use state::State;
