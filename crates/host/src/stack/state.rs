//! State of the stack and its connections as an application reads it, and the totals of all
//! connections.

use tcp::Connection;

use super::Stack;
use super::slot::{AcceptState, Slot};
use crate::config::StackConfig;
use crate::event::ConnectionId;
use crate::tuple::Tuple;

/// Totals over all connections since the stack was created.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets received.
    pub received_packets: u64,
    /// Packets sent.
    pub sent_packets: u64,
    /// Payload bytes of ended connections, without retransmissions.
    pub sent_bytes: u64,
    /// Packets with a wrong checksum or an invalid header.
    pub damaged: u64,
    /// Packets of another protocol, or to an address that is not the host's.
    pub unknown: u64,
    /// Connections opened by peers.
    pub accepted: u64,
    /// Connections opened by this host.
    pub connected: u64,
    /// Connections that were open and have ended.
    pub closed: u64,
    /// Connections in `closed` that ended other than by an orderly close of both ends.
    pub failed: u64,
    /// SYNs answered with a SYN cookie.
    pub cookies_sent: u64,
    /// Connections established from a SYN cookie.
    pub cookies_taken: u64,
    /// Acknowledgments that match neither a connection nor a valid SYN cookie.
    pub cookies_refused: u64,
    /// SYNs and returned SYN cookies refused because a limit was reached.
    pub refused: u64,
    /// Half-open connections that ended before the handshake completed.
    pub half_open_lost: u64,
    /// Slow connections that were evicted to free a slot or memory.
    pub evicted: u64,
    /// Connections that reached the idle or the lifetime limit.
    pub expired: u64,
    /// Connections removed early from TIME-WAIT: for lack of room, or for a new connection between
    /// the same ends (RFC 6191).
    pub time_wait_cut: u64,
    /// ICMP echo requests answered.
    pub pings: u64,
    /// ICMP errors that passed the checks of RFC 5927 and were applied.
    pub icmp_believed: u64,
    /// Resets sent in response to segments without a connection.
    pub resets_sent: u64,
    /// Replies suppressed by the rate limit or a full queue.
    pub replies_withheld: u64,
    /// Segments whose payload was dropped or truncated because the shared buffers were short.
    pub over_budget: u64,
    /// Times a connection's out-of-order data was discarded because the shared buffers were short
    /// (RFC 2018 §8).
    pub reneged: u64,
    /// Times fast recovery was entered.
    pub fast_retransmits: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
}

impl Stack {
    /// The connection; `None` once its slot has been freed.
    pub fn connection(&self, id: ConnectionId) -> Option<&Connection> {
        self.slots.get(id.index()).filter(|slot| slot.id == id).map(|slot| &*slot.stream)
    }

    /// The addresses and ports of a connection; `None` once its slot has been freed.
    pub fn tuple(&self, id: ConnectionId) -> Option<Tuple> {
        self.slots.get(id.index()).filter(|slot| slot.id == id).map(|slot| slot.tuple)
    }

    /// The index of the connection's sender policy in the configuration.
    pub fn sender(&self, id: ConnectionId) -> Option<u16> {
        self.slots.get(id.index()).filter(|slot| slot.id == id).map(|slot| slot.sender)
    }

    /// Whether the peer has closed its sending direction.
    pub fn peer_has_closed(&self, id: ConnectionId) -> bool {
        self.slots.get(id.index()).is_none_or(|slot| slot.id != id || slot.peer_closed)
    }

    /// Whether the peer has closed its sending direction and all its data has been read.
    pub fn is_at_end(&self, id: ConnectionId) -> bool {
        self.slots
            .get(id.index())
            .is_none_or(|slot| slot.id != id || slot.peer_closed && slot.stream.readable() == 0)
    }

    /// The number of connections, including half-open ones and without those in TIME-WAIT.
    pub fn connections(&self) -> usize {
        self.slots.len() - self.time_wait
    }

    /// The connections that are open for the application: accepted, queued to be accepted, or
    /// opened by it, and without a delivered [`EventKind::Closed`](crate::EventKind::Closed).
    pub fn open_connections(&self) -> Vec<ConnectionId> {
        let is_open = |slot: &&Slot| match slot.accept_state {
            AcceptState::Handshaking => slot.active,
            AcceptState::Queued | AcceptState::Accepted => true,
            AcceptState::Closed => false,
        };
        self.slots.iter().map(|(_, slot)| slot).filter(is_open).map(|slot| slot.id).collect()
    }

    /// Memory used by the buffers and queues of all connections, in bytes.
    pub fn buffered_bytes(&self) -> usize {
        self.buffered
    }

    /// Totals since the stack was created.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The configuration of the stack.
    pub fn config(&self) -> &StackConfig {
        &self.config
    }
}
