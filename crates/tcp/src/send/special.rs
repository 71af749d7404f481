//! State of senders that few connections have, on the heap.

use policy::Feedback;
use wire::SeqNum;

use super::packets::PacketSender;
use super::reports::TimedReports;
use crate::config::{Config, Negotiated};

/// State of a sender other than those that count bytes and duplicates or SACK blocks. Usually there
/// is none.
#[derive(Debug, Default)]
pub(crate) struct Special(Option<Box<Kind>>);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is on the heap, once per connection")]
enum Kind {
    /// TCP Santa Cruz: the peer reports transmissions.
    Reported(TimedReports),
    /// A sender that counts packets.
    Packets(PacketSender),
}

impl Special {
    /// Creates the state for the options negotiated so far, of a connection whose first sequence
    /// number is `iss`.
    pub(super) fn new(config: &Config, negotiated: &Negotiated, iss: SeqNum) -> Self {
        let kind = match PacketSender::new(config, negotiated, iss) {
            Some(packets) => Some(Kind::Packets(packets)),
            None => (negotiated.feedback == Feedback::AckWindow)
                .then(|| Kind::Reported(TimedReports::new(!config.sender.backs_off()))),
        };
        Self(kind.map(Box::new))
    }

    /// State of TCP Santa Cruz, if it is negotiated.
    #[inline]
    pub(super) fn reported(&self) -> Option<&TimedReports> {
        match self.0.as_deref() {
            Some(Kind::Reported(reported)) => Some(reported),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn reported_mut(&mut self) -> Option<&mut TimedReports> {
        match self.0.as_deref_mut() {
            Some(Kind::Reported(reported)) => Some(reported),
            _ => None,
        }
    }

    /// State of a sender that counts packets. For the others the policies decide.
    #[inline]
    pub(crate) fn packets(&self) -> Option<&PacketSender> {
        match self.0.as_deref() {
            Some(Kind::Packets(packets)) => Some(packets),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn packets_mut(&mut self) -> Option<&mut PacketSender> {
        match self.0.as_deref_mut() {
            Some(Kind::Packets(packets)) => Some(packets),
            _ => None,
        }
    }
}
