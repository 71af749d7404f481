//! Undo of a window reduction after spurious retransmissions: detection by timestamps (Eifel, RFC
//! 3522) and by DSACKs (RFC 3708), as in Linux.

use wire::SeqNum;

/// Evidence that the retransmissions of a recovery were unnecessary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Undo {
    /// SND.UNA at the beginning of the recovery; `None` if its reduction cannot be undone.
    marker: Option<SeqNum>,
    /// Retransmissions of this recovery that no DSACK has reported; `None` before the first one.
    unreported: Option<u32>,
    /// Timestamp (RFC 7323) of the first retransmission.
    first_stamp: Option<u32>,
}

impl Undo {
    /// Begins to collect evidence for a recovery. `una` is SND.UNA. `outstanding` is the number of
    /// retransmissions still in flight, whose DSACKs may arrive.
    pub fn begin(&mut self, una: SeqNum, outstanding: u32) {
        self.marker = Some(una);
        self.unreported = (outstanding > 0).then_some(outstanding);
    }

    /// Forbids an undo of the current reduction.
    pub fn forbid(&mut self) {
        self.marker = None;
    }

    /// Returns whether an undo is still possible.
    pub fn is_possible(&self) -> bool {
        self.marker.is_some()
    }

    /// Notes a retransmission with this timestamp.
    pub fn on_retransmission(&mut self, stamp: u32) {
        self.first_stamp.get_or_insert(stamp);
        self.unreported = Some(self.unreported.unwrap_or(0).saturating_add(1));
    }

    /// Returns whether a retransmission is outstanding whose timestamp is known.
    pub fn has_stamp(&self) -> bool {
        self.first_stamp.is_some()
    }

    /// Forgets the timestamp of the first retransmission: none is outstanding.
    pub fn forget_stamp(&mut self) {
        self.first_stamp = None;
    }

    /// Notes a DSACK for `segments` segments that end at `end`.
    pub fn on_dsack(&mut self, end: SeqNum, segments: u32) {
        if self.marker.is_some_and(|marker| end.after(marker))
            && let Some(unreported) = &mut self.unreported
        {
            *unreported = unreported.saturating_sub(segments);
        }
    }

    /// Returns whether DSACKs have reported every retransmission of the recovery (RFC 3708 §2).
    pub fn all_reported(&self) -> bool {
        self.marker.is_some() && self.unreported == Some(0)
    }

    /// Eifel detection (RFC 3522 §3.2, step 5): returns whether the acknowledgment echoes a
    /// timestamp from before the first retransmission, or there has been no retransmission. The
    /// original transmission has then arrived.
    pub fn is_delayed_original(&self, echo: Option<u32>) -> bool {
        match (self.first_stamp, echo) {
            (None, _) => true,
            (Some(first), Some(echo)) => SeqNum::new(echo).before(SeqNum::new(first)),
            (Some(_), None) => false,
        }
    }

    /// Returns whether the reduction may be undone at an acknowledgment that echoes this timestamp.
    pub fn may_undo(&self, echo: Option<u32>) -> bool {
        self.marker.is_some() && (self.unreported == Some(0) || self.is_delayed_original(echo))
    }

    /// Like [`is_delayed_original`](Self::is_delayed_original), during a recovery that may be
    /// undone.
    pub fn may_undo_partially(&self, echo: Option<u32>) -> bool {
        self.marker.is_some() && self.is_delayed_original(echo)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recovery() -> Undo {
        let mut undo = Undo::default();
        undo.begin(SeqNum::new(1000), 0);
        undo.on_retransmission(50);
        undo.on_retransmission(52);
        undo
    }

    /// RFC 3522 §3.2: an echo from before the first retransmission.
    #[test]
    fn an_old_echo_shows_a_delayed_original() {
        for (echo, delayed) in
            [(Some(49), true), (Some(50), false), (Some(51), false), (None, false)]
        {
            assert_eq!(recovery().may_undo(echo), delayed, "{echo:?}");
        }
    }

    /// RFC 3708 §2: DSACKs for all retransmissions, of data above the beginning of the recovery.
    #[test]
    fn dsacks_of_all_retransmissions_allow_an_undo() {
        let mut undo = recovery();
        undo.on_dsack(SeqNum::new(1000), 1);
        undo.on_dsack(SeqNum::new(2000), 1);
        assert!(!undo.all_reported(), "the first is below SND.UNA at the beginning");
        undo.on_dsack(SeqNum::new(3000), 1);
        assert!(undo.all_reported() && undo.may_undo(None));
    }

    #[test]
    fn without_a_retransmission_a_reduction_can_be_undone() {
        let mut undo = Undo::default();
        undo.begin(SeqNum::new(1000), 0);
        assert!(!undo.all_reported(), "no retransmission that a DSACK could report");
        assert!(undo.may_undo(None));
        undo.forbid();
        assert!(!undo.may_undo(None));
    }
}
