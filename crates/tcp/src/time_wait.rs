//! A new connection in the place of one in TIME-WAIT (RFC 9293 §3.6.1, RFC 6191).

use wire::{Control, Segment};

use crate::connection::Connection;
use crate::state::State;

impl Connection {
    /// Whether this segment may begin a new connection between the same ends, although this one is
    /// still in TIME-WAIT: nothing that is left of the old one could be taken for part of the
    /// new one.
    pub fn may_be_succeeded_by(&self, syn: &Segment) -> bool {
        if self.state != State::TimeWait || syn.control != Control::Syn || syn.ack.is_some() {
            return false;
        }
        let later = syn.seq.after(self.rcv.nxt);
        match syn.options.timestamps {
            // RFC 6191 §2: segments of the old connection, without timestamps, are no part of the
            // new one.
            Some(_) if !self.negotiated.timestamps => later || self.config.timestamps,
            // RFC 6191 §2: a later timestamp is enough, with the same one the sequence number
            // decides. The question is not put to a clock that has been idle for 24
            // days: TIME-WAIT is shorter.
            Some(stamp) => match stamp.val.wrapping_sub(self.rcv.timestamp_echo()) {
                0 => later,
                ahead => ahead <= u32::MAX / 2,
            },
            // RFC 6191 §2, RFC 9293 §3.6.1: without timestamps, only the sequence number.
            None => later,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use units::Instant;
    use wire::{Flags, Options, SeqNum, Timestamps, UnscaledWindow};

    use super::*;
    use crate::config::{Config, Negotiated};

    fn segment(seq: u32, ack: Option<SeqNum>, control: Control, stamp: Option<u32>) -> Segment {
        let timestamps = stamp.map(|val| Timestamps { val, ecr: 0 });
        Segment {
            seq: SeqNum::new(seq),
            ack,
            control,
            flags: Flags::NONE,
            window: UnscaledWindow::new(1000),
            payload_len: 0,
            options: Options { timestamps, ..Options::default() },
        }
    }

    /// In TIME-WAIT, with RCV.NXT at 1002 and, if there are timestamps, TS.Recent at 500. This end
    /// offers timestamps, or not.
    fn waiting(timestamps: bool, offered: bool) -> Connection {
        let config = Arc::new(Config { timestamps: offered, ..Config::default() });
        let negotiated = Negotiated { timestamps, ..Negotiated::between_equals(&config) };
        let iss = SeqNum::new(9);
        let mut connection =
            Connection::established(config, iss, SeqNum::new(1000), negotiated, 1000);
        connection.close().unwrap();
        while connection.poll_transmit(Instant::ZERO).is_some() {}
        let stamp = timestamps.then_some(500);
        connection.on_segment(&segment(1001, Some(iss + 2), Control::Fin, stamp), Instant::ZERO);
        while connection.poll_transmit(Instant::ZERO).is_some() {}
        assert_eq!(connection.state(), State::TimeWait);
        connection
    }

    /// RFC 6191 §2
    #[test]
    fn a_later_timestamp_or_else_a_later_sequence_number_begins_anew() {
        for (timestamps, seq, stamp, begins) in [
            (true, 7, Some(501), true),
            (true, 7, Some(500), false),
            (true, 1003, Some(500), true),
            (true, 1003, Some(499), false),
            (true, 1003, None, true),
            (true, 1002, None, false),
            (false, 1003, Some(1), true),
            (false, 1002, Some(501), false),
        ] {
            let connection = waiting(timestamps, timestamps);
            let syn = segment(seq, None, Control::Syn, stamp);
            assert_eq!(
                connection.may_be_succeeded_by(&syn),
                begins,
                "{timestamps} {seq} {stamp:?}"
            );
            for other in [
                Segment { ack: Some(SeqNum::new(11)), ..syn },
                Segment { control: Control::None, ..syn },
                Segment { control: Control::Rst, ..syn },
            ] {
                assert!(!connection.may_be_succeeded_by(&other));
            }
        }
        // The old connection had no timestamps, and the new one will: its number may be any.
        assert!(waiting(false, true).may_be_succeeded_by(&segment(7, None, Control::Syn, Some(1))));
        assert!(!waiting(false, true).may_be_succeeded_by(&segment(7, None, Control::Syn, None)));
        let open = Connection::new(Arc::new(Config::default()), SeqNum::new(9));
        assert!(!open.may_be_succeeded_by(&segment(1003, None, Control::Syn, None)));
    }
}
