//! State of the sending half as it is shown to policies, drivers, traces and tests.

use policy::congestion::PathDelays;
use policy::loss::{DUP_THRESH, LossDetector};
use policy::recovery::Recovery;
use policy::{CongestionController, Segmenter, SendView};
use wire::SeqNum;

use super::Sender;

/// Counters of what has been sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendStatistics {
    /// Number of segments with payload, with retransmissions and copies.
    pub segments: u32,
    /// Number of payload bytes, with retransmissions and copies.
    pub bytes: u64,
    /// Number of segments with payload that had been sent before.
    pub retransmitted_segments: u32,
    /// Number of payload bytes in retransmitted segments.
    pub retransmitted_bytes: u64,
    /// Number of times that fast recovery began.
    pub fast_retransmits: u32,
    /// Number of expiries of the retransmission timer for data.
    pub timeouts: u32,
    /// Number of expiries of the retransmission timer for a SYN.
    pub syn_timeouts: u32,
    /// Number of times that an echoed mark reduced the window.
    pub ecn_reductions: u32,
}

/// State of the sending half, for traces and tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SendState {
    /// SND.UNA.
    pub una: SeqNum,
    /// SND.NXT.
    pub nxt: SeqNum,
    /// Sequence number after the highest ever sent.
    pub max: SeqNum,
    /// SND.WND in bytes.
    pub wnd: u32,
    /// `MSS_c`: maximum payload of the next segment, in bytes.
    pub mss_c: u32,
    /// Number of segments in flight. After a timeout, number of segments sent since.
    pub segments: u32,
    /// Number of these segments that are still in the network as far as the sender knows.
    /// Retransmissions count. Reported and lost segments do not, nor, without a scoreboard, one
    /// segment for each duplicate acknowledgment.
    pub network_segments: u32,
    /// Number of bytes that count against the congestion window: the pipe (RFC 6675 §4) during
    /// recovery with the scoreboard, otherwise everything in flight. A sender that counts packets
    /// counts each with SMSS.
    pub in_network: u32,
    /// Number of duplicate acknowledgments since `una` last advanced.
    pub duplicates: u32,
    /// Whether fast recovery is active.
    pub recovering: bool,
    /// Whether the first lost segment is to be retransmitted regardless of the window.
    pub resend_first: bool,
    /// First segment that is lost and has not been retransmitted.
    pub next_lost: Option<SeqNum>,
}

impl Sender {
    pub(crate) fn view(&self) -> SendView {
        self.view_with(self.window())
    }

    /// View of a sender that counts bytes.
    pub(crate) fn view_in_bytes(&self) -> SendView {
        self.view_with(self.window_in_bytes())
    }

    fn view_with(&self, cwnd: u32) -> SendView {
        SendView {
            smss: self.smss,
            cwnd,
            flight: self.flight(),
            flight_segments: self.board.segments(),
        }
    }

    /// View of the sender after a timeout, when everything that was in flight is lost. Only
    /// segments sent since count.
    #[cold]
    pub(super) fn view_after_timeout(&self) -> SendView {
        let view = self.view();
        match self.pipe() {
            Some(flight) => {
                SendView { flight, flight_segments: self.board.pipe_segments(), ..view }
            }
            None => view,
        }
    }

    pub(crate) fn state(&self) -> SendState {
        SendState {
            una: self.una,
            nxt: self.nxt,
            max: self.max,
            wnd: self.wnd,
            mss_c: self.mss_c(),
            segments: if self.repair.after_timeout {
                self.board.pipe_segments()
            } else {
                self.board.segments()
            },
            network_segments: self.network_segments(),
            in_network: match self.special.packets() {
                Some(packets) => packets.in_flight(&self.board).saturating_mul(self.smss),
                None => self.pipe().unwrap_or_else(|| self.flight()),
            },
            duplicates: self.policies.detector.duplicates(),
            recovering: match self.special.packets() {
                Some(packets) => packets.in_recovery() && !packets.is_after_timeout(),
                None => self.repair.in_recovery && !self.repair.after_timeout,
            },
            resend_first: self.repair.resend_first,
            next_lost: self.board.next_lost().map(|segment| segment.range().0),
        }
    }

    /// `MSS_c` in bytes.
    pub(crate) fn mss_c(&self) -> u32 {
        self.mss_c_at(&self.view())
    }

    /// `MSS_c` in bytes, for a caller that already has a view.
    pub(crate) fn mss_c_at(&self, view: &SendView) -> u32 {
        self.policies.segmenter.mss_c(view)
    }

    /// Returns whether the segmenter allows another segment in flight.
    pub(crate) fn may_add_segment(&self, view: &SendView) -> bool {
        let most = self.policies.segmenter.max_segments(view);
        most.is_none_or(|most| self.network_segments() < most)
    }

    /// Number of segments in the network, as far as the sender knows.
    pub(super) fn network_segments(&self) -> u32 {
        if let Some(packets) = self.special.packets() {
            return packets.in_flight(&self.board);
        }
        if self.pipe().is_some() {
            return self.board.pipe_segments();
        }
        // Each duplicate acknowledgment shows that a segment has left the network. Outside recovery
        // only Limited Transmit (RFC 3042) sends another segment for it, for the first two.
        let duplicates = self.policies.detector.duplicates();
        let left = match (self.repair.in_recovery, self.policies.limited_transmit) {
            (true, _) => duplicates,
            (false, true) => duplicates.min(DUP_THRESH - 1),
            (false, false) => 0,
        };
        self.board.segments().saturating_sub(left)
    }

    /// Congestion window in force, in bytes.
    pub(crate) fn window(&self) -> u32 {
        if let Some(packets) = self.special.packets() {
            return packets.window_bytes(self.smss);
        }
        self.window_in_bytes()
    }

    /// Congestion window in force of a sender that counts bytes, in bytes.
    fn window_in_bytes(&self) -> u32 {
        match &self.policies.recovery {
            Some(recovery) if self.repair.in_recovery => {
                recovery.window(self.policies.controller.cwnd())
            }
            _ => self.policies.controller.cwnd(),
        }
    }

    pub(crate) fn ssthresh(&self) -> u32 {
        if let Some(packets) = self.special.packets() {
            return packets.ssthresh_bytes(self.smss);
        }
        self.policies.controller.ssthresh()
    }

    pub(crate) fn path(&self) -> Option<PathDelays> {
        let path = self.policies.controller.path()?;
        let reordered = self.special.reported().map_or(0, |reported| reported.return_reordered);
        Some(PathDelays { return_reordered: path.return_reordered + reordered, ..path })
    }

    pub(crate) fn flight(&self) -> u32 {
        self.nxt.distance_from(self.una)
    }

    /// Returns true only if unsent data waits for room in the congestion window. Recovery and RFC
    /// 3042 have other rules, so the result is then false. The sender counts bytes, and the ends of
    /// writes are neither cut nor copied.
    #[inline]
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        let (flight, left) = (self.flight(), self.data_end.distance_from(self.nxt));
        if flight == 0 || left == 0 || self.repair.in_recovery || self.policies.limited_transmit {
            return false;
        }
        let next = flight + left.min(self.mss_c_at(&self.view_in_bytes()));
        next > self.policies.controller.cwnd() && next <= self.wnd
    }
}
