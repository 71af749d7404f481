//! Reuse of a connection in TIME-WAIT (RFC 9293 §3.6.1, RFC 6191).

use wire::{Control, Segment};

use crate::connection::Connection;
use crate::state::State;

impl Connection {
    /// Returns whether `syn` may open a new connection between the same endpoints although this one
    /// is in TIME-WAIT. No old segment could then be mistaken for one of the new connection.
    pub fn may_be_succeeded_by(&self, syn: &Segment) -> bool {
        if self.state != State::TimeWait || syn.control != Control::Syn || syn.ack.is_some() {
            return false;
        }
        let later = syn.seq.after(self.rcv.nxt);
        match syn.options.timestamps {
            // RFC 6191 §2: segments of the old connection have no timestamps, so the new one
            // rejects them.
            Some(_) if !self.negotiated.timestamps => later || self.config.timestamps,
            // RFC 6191 §2: a later timestamp is enough. With the same timestamp the sequence number
            // decides. A timestamp clock that was idle for 24 days cannot occur here, because
            // TIME-WAIT is shorter.
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

    /// Returns a connection in TIME-WAIT with RCV.NXT at 1002. With `timestamps` TS.Recent is 500;
    /// `offered` says whether this end offers timestamps.
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

    /// RFC 6191 §2: a later timestamp, or else a later sequence number, is required.
    #[test]
    fn later_timestamp_or_sequence_number_reopens() {
        for (timestamps, seq, stamp, reopens) in [
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
                reopens,
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
        // The old connection had no timestamps and the new one will have them: any sequence number
        // is acceptable.
        assert!(waiting(false, true).may_be_succeeded_by(&segment(7, None, Control::Syn, Some(1))));
        assert!(!waiting(false, true).may_be_succeeded_by(&segment(7, None, Control::Syn, None)));
        let open = Connection::new(Arc::new(Config::default()), SeqNum::new(9));
        assert!(!open.may_be_succeeded_by(&segment(1003, None, Control::Syn, None)));
    }
}
