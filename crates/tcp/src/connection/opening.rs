//! Creation of connections without a listener of their own. A host keeps one listener per port and
//! creates a connection for each SYN or cookie.

use std::sync::Arc;

use units::{Duration, Instant};
use wire::{Control, Segment, SeqNum};

use crate::config::{Config, Negotiated};
use crate::connection::Connection;
use crate::event::Event;
use crate::state::State;

/// Origin of a connection. It decides the effect of a failed handshake (RFC 9293 §3.10.7.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// Active open: the application is informed.
    Active,
    /// Passive open of this connection: it returns to LISTEN.
    Listening,
    /// Passive open by a separate listener: the connection ends.
    Accepted,
}

impl Connection {
    /// Takes a round-trip time that was measured before the first data, as on a connection that has
    /// been used before. `now` is the time at which the connection begins.
    pub fn assume_rtt(&mut self, rtt: Duration, now: Instant) {
        self.snd.assume_rtt(rtt, now, &self.config);
    }

    /// Creates a connection in SYN-RECEIVED that answers `syn`. Returns `None` if the segment does
    /// not open a connection.
    ///
    /// Unlike a listening connection, it ends when the handshake fails, and answers another SYN
    /// with a challenge. For SYN cookies the caller passes the cookie as `iss` and takes the answer
    /// from [`poll_transmit`](Self::poll_transmit) and the options from
    /// [`negotiated`](Self::negotiated). It then drops the connection.
    pub fn accept(config: Arc<Config>, syn: &Segment, iss: SeqNum, now: Instant) -> Option<Self> {
        // RFC 9293 §3.10.7.2: a SYN with an acknowledgment is not accepted in LISTEN.
        if syn.control != Control::Syn || syn.ack.is_some() {
            return None;
        }
        let mut connection = Self::new(config, iss);
        connection.enter(State::Listen);
        connection.opening = Opening::Accepted;
        connection.answer_syn(syn, now);
        Some(connection)
    }

    /// Creates a connection in ESTABLISHED from the third segment of a stateless handshake. The
    /// peer has returned the SYN cookie `iss`, and `negotiated` contains the options encoded in it.
    /// Returns `None` if the segment does not complete a handshake. The caller checks that the
    /// cookie is genuine (RFC 4987 §3.6).
    ///
    /// The segment may carry more than the acknowledgment. Pass it to
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
        // RFC 7323 §3.2: once negotiated, every segment carries timestamps.
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
        connection.rcv.start_linux(true, now);
        connection.emit(Event::Connected);
        Some(connection)
    }

    /// RFC 9293 §3.10.7.2, third step: answers a SYN.
    pub(crate) fn answer_syn(&mut self, syn: &Segment, now: Instant) {
        self.take_peer_options(syn, now);
        self.rcv.synchronize(syn.seq);
        if self.config.receiver.is_linux() {
            self.begin_receiving(self.negotiated.timestamps);
        }
        self.enter(State::SynReceived);
    }
}
