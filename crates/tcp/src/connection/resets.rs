//! Resets of this end (RFC 9293 §3.10.7, §3.10.5).

use units::Instant;
use wire::{Control, Flags, Options, Segment, SeqNum, UnscaledWindow};

use crate::connection::Connection;

/// Kind of a pending reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwedReset {
    None,
    Bare,
    WithAcknowledgment,
    /// With the acknowledgment and the timestamps of an open connection.
    OfConnection,
}

impl Connection {
    /// Schedules a reset with these numbers, to be sent before anything else.
    pub(crate) fn owe_reset(&mut self, seq: SeqNum, ack: Option<SeqNum>) {
        self.reset = if ack.is_some() { OwedReset::WithAcknowledgment } else { OwedReset::Bare };
        self.reset_numbers = [seq, ack.unwrap_or_default()];
    }

    /// Schedules the reset that aborts an open connection.
    pub(crate) fn owe_reset_of_connection(&mut self) {
        self.owe_reset(self.snd.pure_seq(), Some(self.rcv.nxt));
        self.reset = OwedReset::OfConnection;
    }

    pub(crate) fn owes_reset(&self) -> bool {
        self.reset != OwedReset::None
    }

    /// Takes the pending reset.
    pub(crate) fn take_reset(&mut self, now: Instant) -> Option<Segment> {
        let [seq, ack] = self.reset_numbers;
        let (ack, timestamps) = match std::mem::replace(&mut self.reset, OwedReset::None) {
            OwedReset::None => return None,
            OwedReset::Bare => (None, None),
            OwedReset::WithAcknowledgment => (Some(ack), None),
            // RFC 7323 §3.2: a reset of a connection with timestamps should carry them.
            OwedReset::OfConnection => {
                (Some(ack), self.negotiated.timestamps.then(|| self.timestamps(now)))
            }
        };
        Some(Segment {
            seq,
            ack,
            control: Control::Rst,
            flags: Flags::NONE,
            window: UnscaledWindow::default(),
            payload_len: 0,
            options: Options { timestamps, ..Options::default() },
        })
    }
}
