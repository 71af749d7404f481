//! Recovery of a sender, moved by its retransmissions.

use units::Duration;

use super::Sender;
use super::cause::Cause;
use super::classify::{DUP_THRESH, Facts, count};
use super::episode::{Episode, Phase, Retransmission};
use crate::kind::Has;

impl Sender {
    /// Whether Linux looks for evidence that a timeout now is spurious (`tcp_enter_loss`): if it
    /// was in no recovery, or if nothing was acknowledged since the timeout before. With three
    /// segments reported, it was in a recovery, even if nothing was sent.
    fn tests_timeout(&self, facts: &Facts) -> bool {
        match self.episode.as_ref().map(|episode| (episode.phase, episode.advanced)) {
            None | Some((Phase::Probe, _)) => facts.sacked_above < DUP_THRESH,
            Some((Phase::Fast, _)) => false,
            Some((Phase::Loss(_), advanced)) => !advanced,
        }
    }

    /// Adds the retransmission to an episode, and moves the state of the recovery.
    pub(super) fn record(
        &mut self,
        facts: &Facts,
        retransmission: Retransmission,
        tsval: Option<u32>,
    ) {
        let (cause, una, nxt) = (retransmission.cause, self.una, self.nxt);
        let tests_timeout = self.tests_timeout(facts);
        let has_rack = self.rack() == Has::Yes;
        if self.episode.is_none() {
            self.begin_episode(facts, &retransmission, tsval);
        }
        let Some(episode) = &mut self.episode else { return };
        match cause {
            Cause::Timeout => {
                // Linux's `tcp_enter_loss`: after progress, it begins to count anew.
                if matches!(episode.phase, Phase::Loss(_)) && episode.advanced {
                    (episode.undo_after, episode.undo_marker) = (episode.count, una);
                    episode.reported = 0;
                }
                episode.timeouts += 1;
                episode.phase = Phase::Loss(facts.at);
                episode.point = nxt;
                episode.advanced = false;
                episode.is_forward = false;
                episode.tests_timeout = tests_timeout;
                self.timing.back_off();
            }
            Cause::TailLossProbe => {
                episode.probes += 1;
                episode.phase = Phase::Probe;
            }
            _ if episode.phase == Phase::Probe => {
                episode.phase = Phase::Fast;
                episode.point = nxt;
            }
            // Linux's `tcp_fastretrans_alert` and `tcp_rack_reo_timeout`: the loss of a repair
            // after a timeout begins a fast recovery.
            Cause::LostRetransmission | Cause::RackTimer
                if has_rack && episode.phase != Phase::Fast =>
            {
                episode.phase = Phase::Fast;
                episode.point = nxt;
            }
            _ => {}
        }
        episode.add(retransmission);
        self.probe = None;
    }

    /// Begins an episode with its first retransmission.
    fn begin_episode(
        &mut self,
        facts: &Facts,
        retransmission: &Retransmission,
        tsval: Option<u32>,
    ) {
        let target = &facts.target;
        let mss = u64::from(self.mss());
        let behind = facts.end.max(target.start + mss.min(target.len()));
        if !self.outstanding.has_repairs() {
            self.first_tsval = None;
        }
        self.first_tsval = self.first_tsval.or(tsval);
        self.episode = Some(Box::new(Episode {
            lost_at: target.first_at,
            lost_frame: target.first_frame,
            repaired_at: facts.at,
            repaired_frame: retransmission.frame,
            ended_at: None,
            cause: retransmission.cause,
            confidence: retransmission.confidence,
            following: count(self.outstanding.segments_from(behind).all),
            delay: Duration::ZERO,
            timeouts: 0,
            probes: 0,
            bytes: 0,
            forward_rto: false,
            retransmissions: Vec::new(),
            count: 0,
            point: if self.una < self.silent_point { self.silent_point } else { self.nxt },
            phase: Phase::Fast,
            advanced: false,
            is_forward: false,
            first_tsval: self.first_tsval,
            undo_after: 0,
            undo_marker: self.una,
            reported: 0,
            tests_timeout: false,
        }));
    }
}
