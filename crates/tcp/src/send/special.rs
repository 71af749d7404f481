//! State of senders that few connections have, on the heap.

use units::Instant;
use wire::SeqNum;

use super::Sender;
use super::copies::TailCopies;
use super::packets::PacketSender;
use super::reports::TimedReports;
use crate::config::{Config, Negotiated};
use crate::rules::Rules;

/// State of a sender other than those that only count bytes and duplicates or SACK blocks, or that
/// treats the end of a write in another way. Usually there is none, which is a single test.
#[derive(Debug, Default)]
pub(crate) struct Special(Option<Box<Parts>>);

#[derive(Debug)]
struct Parts {
    kind: Kind,
    /// Copies of the ends of writes, if the policy has them.
    copies: Option<Box<TailCopies>>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "it is on the heap, once per connection")]
enum Kind {
    /// A sender that counts bytes.
    Bytes,
    /// TCP Santa Cruz: the peer reports transmissions.
    Reported(TimedReports),
    /// A sender that counts packets.
    Packets(PacketSender),
}

impl Special {
    /// Creates the state for the options negotiated so far, of a connection whose first sequence
    /// number is `iss`.
    #[inline]
    pub(super) fn new(config: &Config, negotiated: &Negotiated, iss: SeqNum) -> Self {
        if config.has_special_sender() || negotiated.santa_cruz_negotiated() {
            Self::create(config, negotiated, iss)
        } else {
            Self(None)
        }
    }

    #[cold]
    #[inline(never)]
    fn create(config: &Config, negotiated: &Negotiated, iss: SeqNum) -> Self {
        let reports = negotiated.santa_cruz_negotiated();
        let sender = &config.sender;
        let copies = TailCopies::of(config, negotiated);
        let parts = match PacketSender::new(config, negotiated, iss) {
            Some(packets) => Box::new(Parts { kind: Kind::Packets(packets), copies }),
            None if reports => {
                let reported = TimedReports::new(!sender.backs_off());
                Box::new(Parts { kind: Kind::Reported(reported), copies })
            }
            None => Box::new(Parts { kind: Kind::Bytes, copies }),
        };
        Self(Some(parts))
    }

    /// Returns whether there is any such state. Without it, no end of a write is cut or copied.
    #[inline]
    pub(crate) const fn exists(&self) -> bool {
        self.0.is_some()
    }

    /// Returns whether a segment besides new data is to be sent now.
    #[inline]
    pub(crate) fn has_output(&self, now: Instant) -> bool {
        let Some(parts) = self.0.as_deref() else { return false };
        matches!(&parts.kind, Kind::Packets(packets) if packets.has_output())
            || parts.copies.as_ref().is_some_and(|copies| copies.is_due(now))
    }

    /// Returns whether the sender differs from others only in the reports of TCP Santa Cruz.
    fn only_reports(&self) -> bool {
        matches!(self.0.as_deref(), Some(Parts { kind: Kind::Reported(_), copies: None }))
    }

    /// State of TCP Santa Cruz, if it is negotiated.
    #[inline]
    pub(super) fn reported(&self) -> Option<&TimedReports> {
        match self.0.as_deref() {
            Some(Parts { kind: Kind::Reported(reported), .. }) => Some(reported),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn reported_mut(&mut self) -> Option<&mut TimedReports> {
        match self.0.as_deref_mut() {
            Some(Parts { kind: Kind::Reported(reported), .. }) => Some(reported),
            _ => None,
        }
    }

    /// State of a sender that counts packets. For the others the policies decide.
    #[inline]
    pub(crate) fn packets(&self) -> Option<&PacketSender> {
        match self.0.as_deref() {
            Some(Parts { kind: Kind::Packets(packets), .. }) => Some(packets),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn packets_mut(&mut self) -> Option<&mut PacketSender> {
        match self.0.as_deref_mut() {
            Some(Parts { kind: Kind::Packets(packets), .. }) => Some(packets),
            _ => None,
        }
    }

    /// Copies of the ends of writes, if the policy has them.
    #[inline]
    pub(crate) fn copies(&self) -> Option<&TailCopies> {
        self.0.as_deref()?.copies.as_deref()
    }

    #[inline]
    pub(crate) fn copies_mut(&mut self) -> Option<&mut TailCopies> {
        self.0.as_deref_mut()?.copies.as_deref_mut()
    }

    /// Heap memory in bytes, without that of TCP Santa Cruz's state.
    pub(super) fn memory(&self) -> usize {
        self.packets().map_or(0, PacketSender::memory) + self.copies().map_or(0, TailCopies::memory)
    }
}

impl Sender {
    /// Rules of a connection with this sender. Options that are negotiated later may only remove
    /// rules.
    pub(crate) fn rules(&self, config: &Config) -> Rules {
        if config.receiver.is_linux() || self.cuts_tails() {
            Rules::All
        } else if self.special.only_reports() {
            Rules::Reports
        } else if self.special.exists() {
            Rules::All
        } else {
            Rules::Common
        }
    }
}
