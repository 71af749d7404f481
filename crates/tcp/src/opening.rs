//! How a connection comes about without a listener of its own: for a host that keeps one listener a
//! port and a connection only for a peer that has said something.

use std::sync::Arc;

use units::Instant;
use wire::{Control, Segment, SeqNum};

use crate::config::{Config, Negotiated};
use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;

/// Who opened, and so what becomes of a handshake that fails (RFC 9293 §3.10.7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// This end: the user is told.
    Active,
    /// The peer, of this very connection: it goes on listening.
    Listening,
    /// The peer, of a listener elsewhere: there is nothing to go back to.
    Accepted,
}

impl Connection {
    /// A connection in SYN-RECEIVED that answers `syn`; `None` when that doesn't open a connection.
    ///
    /// Unlike one that listens itself, it is over when its handshake fails, and a SYN that comes in
    /// between is challenged. Whoever answers with a SYN cookie takes the answer from
    /// [`poll_transmit`](Self::poll_transmit), with the cookie for `iss`, and what was agreed
    /// on from [`negotiated`](Self::negotiated), and forgets the connection.
    pub fn accept(config: Arc<Config>, syn: &Segment, iss: SeqNum, now: Instant) -> Option<Self> {
        // RFC 9293 §3.10.7.2: in LISTEN, a SYN that acknowledges something is none.
        if syn.control != Control::Syn || syn.ack.is_some() {
            return None;
        }
        let mut connection = Self::new(config, iss);
        connection.opening = Opening::Accepted;
        connection.answer_syn(syn, now);
        Some(connection)
    }

    /// A connection in ESTABLISHED, from the third segment of a handshake of which nothing else is
    /// known: the peer has returned a SYN cookie, `iss`, and `negotiated` is what the cookie
    /// says was agreed on. `None` when the segment doesn't complete a handshake. Whether the
    /// cookie is genuine is for the caller to judge (RFC 4987 §3.6).
    ///
    /// The segment may carry more than the acknowledgment: hand it to
    /// [`on_segment`](Self::on_segment) as well.
    pub fn from_cookie(
        config: Arc<Config>,
        iss: SeqNum,
        ack: &Segment,
        negotiated: Negotiated,
        now: Instant,
    ) -> Option<Self> {
        let completes =
            matches!(ack.control, Control::None | Control::Fin) && ack.ack == Some(iss + 1);
        let stamp = ack.options.timestamps;
        // RFC 7323 §3.2: once agreed on, every segment carries them.
        if !completes || negotiated.timestamps && stamp.is_none() {
            return None;
        }
        let irs = ack.seq - 1;
        let window = ack.window.bytes(negotiated.send_scale);
        let mut connection = Self::established(config, iss, irs, negotiated, window);
        connection.opening = Opening::Accepted;
        if let Some(stamp) = stamp.filter(|_| negotiated.timestamps) {
            connection.rcv.first_timestamp(stamp.val, now);
        }
        connection.note_opened(now);
        connection.emit(Event::Connected);
        Some(connection)
    }

    /// RFC 9293 §3.10.7.2, third step.
    pub(crate) fn answer_syn(&mut self, syn: &Segment, now: Instant) {
        self.take_peer_options(syn, now);
        self.rcv.synchronize(syn.seq);
        self.state = State::SynReceived;
    }
}
