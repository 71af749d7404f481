//! Cause of a retransmission.
//!
//! The trigger decides first. A retransmission that follows an acknowledgment within the time of a
//! reaction was made by that acknowledgment; its cause is the rule that the acknowledgment
//! fulfils. Any other was made by a timer; its cause is the timer whose setting agrees with the
//! time that has passed.

use units::{Duration, Instant};

use super::cause::{Cause, Confidence, Spurious};
use super::episode::{Phase, Retransmission};
use super::outstanding::Sent;
use super::timing::{LEAST_TIMEOUT, LONGEST_TIMEOUT, Trigger, fits, seq};
use super::{Data, Sender};
use crate::kind::{Has, SenderKind};

/// Duplicate acknowledgments, or segments above a hole, that indicate a loss (RFC 5681 §3.2, RFC
/// 6675 §2).
pub(super) const DUP_THRESH: u32 = 3;

/// Facts that a cause depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts {
    pub(super) at: Instant,
    /// First data of the packet, before this transmission.
    pub(super) target: Sent,
    /// End of the packet.
    pub(super) end: u64,
    trigger: Trigger,
    since_ack: Duration,
    waited: Duration,
    idle: Duration,
    pub(super) sacked_above: u32,
    forward: u32,
    flight: u32,
}

impl Facts {
    /// Whether the timeout without back-off may have passed.
    fn reaches(&self, timeout: Duration) -> bool {
        is_reached(self.waited, timeout)
    }

    /// RFC 5827 §3.1: fewer than four segments are in flight, and all but one are reported.
    fn is_early(&self, reported: u32) -> bool {
        self.flight < 4 && reported > 0 && reported + 1 >= self.flight
    }
}

pub(super) fn count(segments: u64) -> u32 {
    u32::try_from(segments).unwrap_or(u32::MAX)
}

type Verdict = (Cause, Confidence);

const UNKNOWN: Verdict = (Cause::Unknown, Confidence::Low);

/// Whether a timeout may have passed. The sender's estimate differs from ours by some percent.
fn is_reached(waited: Duration, timeout: Duration) -> bool {
    waited.as_nanos() >= timeout.as_nanos() / 20 * 17
}

impl Sender {
    /// Takes a retransmission of the data from `start` to `end`.
    pub(super) fn retransmit(&mut self, data: &Data, start: u64, end: u64) {
        let facts = self.facts(data, start, end);
        let (cause, confidence) = self.verdict(&facts);
        let target = facts.target;
        let is_late = self.episode.is_none() && self.is_late_repair(&facts);
        let sizes = self.sizes(data);
        self.originals.count_retransmission(data, sizes);
        let retransmission = Retransmission {
            frame: data.frame,
            at: data.at,
            seq: seq(start).value(),
            position: start,
            len: u32::try_from(end - start).unwrap_or(u32::MAX),
            previous_frame: target.last_frame,
            transmission: target.copies.max(1).saturating_add(1),
            cause,
            confidence,
            spurious: if end <= self.una { Spurious::Acknowledged } else { Spurious::No },
            since_ack: facts.since_ack,
            waited: facts.waited,
            rto: self.timing.rto(),
            pto: self.timing.pto(facts.flight <= 1),
            backoff: self.timing.backoff(),
            duplicates: self.duplicates,
            sacked_above: facts.sacked_above,
            forward: facts.forward,
            flight: facts.flight,
        };
        match &mut self.previous {
            Some(previous) if is_late => previous.add(retransmission),
            _ => self.record(&facts, retransmission, data.tsval),
        }
        for sent in self.outstanding.range_mut(start, end) {
            if !sent.sacked {
                self.originals.repeat((sent.start, sent.end), sizes);
            }
            sent.copies = sent.copies.saturating_add(1);
            (sent.last_at, sent.last_frame, sent.last_tsval) = (data.at, data.frame, data.tsval);
            if sent.retransmission_tsval.is_none() {
                (sent.retransmission_tsval, sent.retransmitted_at) = (data.tsval, data.at);
            }
        }
        if !self.has_sack {
            self.originals.exclude_joined(start, end);
        }
        if cause == Cause::PathMtu {
            self.originals.exclude(start, end);
        }
    }

    fn facts(&self, data: &Data, start: u64, end: u64) -> Facts {
        let at = data.at;
        // Data that is acknowledged is no longer in the queue.
        let acknowledged = Sent {
            start,
            end,
            first_at: at,
            last_at: at,
            first_frame: 0,
            last_frame: 0,
            first_tsval: None,
            retransmission_tsval: None,
            retransmitted_at: at,
            last_tsval: None,
            copies: 1,
            sacked: true,
        };
        let target = self.outstanding.first_in(start, end).copied().unwrap_or(acknowledged);
        let timing = &self.timing;
        let head_at = self.outstanding.head().map_or(timing.advance_at, |head| head.last_at);
        let above = self.outstanding.segments_from(start);
        Facts {
            at,
            target,
            end,
            trigger: timing.trigger_at(at),
            since_ack: at.since(timing.news_at),
            waited: at.since(timing.advance_at.max(head_at)),
            idle: at.since(timing.sent_at.max(timing.advance_at)),
            sacked_above: count(above.sacked),
            forward: count(self.outstanding.segments_to_highest_sacked(start)),
            flight: count(self.outstanding.segments().all),
        }
    }

    fn verdict(&self, facts: &Facts) -> Verdict {
        let phase = self.episode.as_ref().map(|episode| episode.phase);
        match (phase, facts.trigger) {
            (None, _) if self.is_late_repair(facts) => self.late_repair(),
            (None | Some(Phase::Probe), Trigger::Acknowledgment) => self.detected(facts),
            (None, Trigger::Other) => self.timer(facts),
            (Some(Phase::Probe), Trigger::Other) => self.timer_after_probe(facts),
            (Some(Phase::Fast), Trigger::Acknowledgment) => self.repair(facts, Instant::ZERO),
            (Some(Phase::Loss(since)), Trigger::Acknowledgment) => self.repair(facts, since),
            (Some(Phase::Fast), Trigger::Other) => self.silent(facts, Instant::ZERO),
            (Some(Phase::Loss(since)), Trigger::Other) => self.silent(facts, since),
        }
    }

    /// Whether a recovery ended while the sender transmitted this: by the acknowledgment of this
    /// data, or of other data after the sender had been told that this is lost.
    fn is_late_repair(&self, facts: &Facts) -> bool {
        let ended_at = self.previous.as_ref().and_then(|episode| episode.ended_at);
        let is_latest = ended_at == Some(self.timing.news_at) || self.rack() == Has::Yes;
        let is_in_time = ended_at.is_some_and(|at| facts.at.since(at) <= self.timing.reaction());
        is_in_time
            && facts.trigger == Trigger::Acknowledgment
            && (facts.end <= self.una || is_latest && self.was_known(facts))
    }

    /// Whether the sender knew that this is lost before the recovery ended. The capture then has
    /// the acknowledgment that ended the recovery before a packet that the sender transmitted
    /// first.
    fn was_known(&self, facts: &Facts) -> bool {
        let known = &self.known;
        if self.rack() != Has::Yes {
            let reported = u64::from(facts.sacked_above).saturating_sub(known.news);
            return self.is_head(facts)
                && !facts.target.is_retransmitted()
                && reported >= u64::from(DUP_THRESH);
        }
        let is_recent = !known.is_answered && facts.at.since(known.at) <= self.timing.reaction();
        let is_below = facts.target.start < known.highest_sacked;
        is_recent && (is_below || facts.target.last_at < known.newest_at)
    }

    /// Whether this is the first data that is not reported.
    fn is_head(&self, facts: &Facts) -> bool {
        self.outstanding.head().is_some_and(|head| head.start == facts.target.start)
    }

    /// A repair of the recovery that has just ended.
    fn late_repair(&self) -> Verdict {
        match self.previous.as_ref().map(|episode| episode.phase) {
            Some(Phase::Loss(_)) => (Cause::SlowStart, Confidence::Medium),
            _ => (Cause::Recovery, Confidence::Medium),
        }
    }

    /// The first repair, made by an acknowledgment.
    fn detected(&self, facts: &Facts) -> Verdict {
        let rack = self.rack();
        let sacks = self.outstanding.sacked() > 0;
        if self.probe_delivered() {
            return (Cause::ProbeOfNewData, Confidence::Medium);
        }
        if rack == Has::Yes && (facts.sacked_above >= DUP_THRESH || self.sent_after(facts)) {
            return (Cause::Rack, Confidence::High);
        }
        if !sacks {
            return self.detected_without_sack(facts);
        }
        if rack == Has::Yes {
            return UNKNOWN;
        }
        // A sender acts on the rule that is fulfilled first. If it did not, it does not have it.
        let reacts = |since: Option<Instant>| {
            since.is_some_and(|since| facts.at.since(since) <= self.timing.reaction())
        };
        let is_first =
            self.third_duplicate_at.is_none() || self.forward_at < self.third_duplicate_at;
        // One acknowledgment may fulfil both rules. Only Linux is known to have used FACK.
        let has_fack = matches!(self.kind, SenderKind::LinuxOld | SenderKind::LinuxMiddle);
        let is_fack = has_fack || facts.sacked_above < DUP_THRESH;
        if reacts(self.forward_at) && is_first && is_fack {
            return (Cause::Fack, Confidence::High);
        }
        if self.duplicates >= DUP_THRESH && facts.sacked_above > 0 {
            return (Cause::Sack, Confidence::High);
        }
        if facts.forward > DUP_THRESH && is_fack {
            return (Cause::Fack, Confidence::Medium);
        }
        if facts.sacked_above >= DUP_THRESH {
            return (Cause::Sack, Confidence::High);
        }
        // Linux until 3.x, `tcp_head_timedout`: an acknowledgment reveals that the segment is older
        // than the timeout.
        let age = facts.at.since(facts.target.last_at);
        if rack == Has::No && is_reached(age, self.timing.base_rto()) {
            return (Cause::Timeout, Confidence::Medium);
        }
        if facts.is_early(facts.sacked_above) {
            return (Cause::EarlyRetransmit, Confidence::Medium);
        }
        if rack == Has::Maybe && self.sent_after(facts) {
            return (Cause::Rack, Confidence::Low);
        }
        UNKNOWN
    }

    /// Without SACK, duplicates are all that the sender sees.
    fn detected_without_sack(&self, facts: &Facts) -> Verdict {
        if self.duplicates >= DUP_THRESH {
            (Cause::ThreeDuplicates, Confidence::High)
        } else if facts.is_early(self.duplicates) {
            (Cause::EarlyRetransmit, Confidence::Medium)
        } else {
            UNKNOWN
        }
    }

    /// The first repair, made by a timer.
    fn timer(&self, facts: &Facts) -> Verdict {
        let (probes, timeout) = (self.tail_loss_probes(), self.timing.base_rto());
        let is_tail = facts.end >= self.nxt;
        // RACK's timer also runs for a segment without reports above it, if a segment that was sent
        // later has been acknowledged: a repair.
        let is_overtaken =
            facts.sacked_above > 0 || self.rack() == Has::Yes && self.sent_after(facts);
        if is_overtaken && self.is_within_round_trip(facts) {
            return (Cause::RackTimer, Confidence::Medium);
        }
        if is_overtaken && self.fits_reordering_timer(facts) {
            return match self.rack() {
                Has::Yes => (Cause::RackTimer, Confidence::High),
                Has::Maybe => (Cause::RackTimer, Confidence::Medium),
                Has::No => UNKNOWN,
            };
        }
        if !is_tail || self.outstanding.sacked() > 0 || probes == Has::No {
            return self.timeout(facts);
        }
        let probe = self.timing.pto(facts.flight <= 1);
        let fits_probe = probe.is_some_and(|pto| fits(facts.idle, pto));
        let (is_armed, reaches) = (self.timing.is_probe_armed, facts.reaches(timeout));
        // A probe that would come after the timeout takes its place, so both fit. Then the timer
        // that the last packet or acknowledgment started decides.
        match (probes, fits_probe, reaches) {
            (Has::Yes, true, _) if is_armed => (Cause::TailLossProbe, Confidence::High),
            (Has::Yes | Has::Maybe, true, false) => (Cause::TailLossProbe, Confidence::Medium),
            // Without SACK blocks it has no other timer that expires before the timeout.
            (Has::Yes, false, false) if is_armed => (Cause::TailLossProbe, Confidence::Low),
            (Has::Yes, false, true) if is_armed && !fits(facts.waited, timeout) => {
                (Cause::TailLossProbe, Confidence::Medium)
            }
            (Has::Maybe, true, true) if is_armed => (Cause::Timeout, Confidence::Low),
            _ => self.timeout(facts),
        }
    }

    /// A retransmission without an acknowledgment while a probe is outstanding.
    fn timer_after_probe(&self, facts: &Facts) -> Verdict {
        let is_timer = self.fits_reordering_timer(facts) || self.is_within_round_trip(facts);
        if facts.sacked_above > 0 && is_timer && !facts.reaches(self.timing.base_rto()) {
            return (Cause::RackTimer, Confidence::Medium);
        }
        self.timeout(facts)
    }

    /// The retransmission timeout, or nothing that is known.
    fn timeout(&self, facts: &Facts) -> Verdict {
        let (base, backed_off) = (self.timing.base_rto(), self.timing.rto());
        if fits(facts.waited, base) || fits(facts.waited, backed_off) {
            return (Cause::Timeout, Confidence::High);
        }
        if facts.reaches(base) {
            return (Cause::Timeout, Confidence::Medium);
        }
        let is_shorter = facts.target.copies == 1
            && facts.end < facts.target.end
            && facts.target.len() <= u64::from(self.mss());
        // A router answers a segment that is too long within a round trip.
        if self.is_silent(facts) {
            (Cause::Timeout, Confidence::Low)
        } else if is_shorter && self.outstanding.sacked() == 0 {
            (Cause::PathMtu, Confidence::Low)
        } else {
            UNKNOWN
        }
    }

    /// Whether the sender has heard nothing for a round trip, and waited for the shortest common
    /// minimum of the timeout (200 ms), or for the maximum (60 s, RFC 6298 §2.5). No rule but the
    /// timeout transmits then.
    fn is_silent(&self, facts: &Facts) -> bool {
        // A measurement may contain the time of a loss.
        let longest = self.min_rtt.map_or(LEAST_TIMEOUT, |min| min * 4);
        let round_trip = self.timing.srtt().unwrap_or(LEAST_TIMEOUT).min(longest);
        let is_long = facts.since_ack > round_trip && facts.idle > round_trip;
        facts.waited >= LEAST_TIMEOUT && is_long || facts.waited >= LONGEST_TIMEOUT
    }

    /// A further repair, made by an acknowledgment in a recovery. `since` is the time of the last
    /// timeout.
    fn repair(&self, facts: &Facts, since: Instant) -> Verdict {
        let target = &facts.target;
        if target.is_retransmitted() && target.last_at >= since && self.repaired_in_episode(target)
        {
            let confidence =
                if self.newest_at > target.last_at { Confidence::High } else { Confidence::Low };
            return (Cause::LostRetransmission, confidence);
        }
        if since == Instant::ZERO && self.is_third_duplicate(facts) {
            return (Cause::ThreeDuplicates, Confidence::Medium);
        }
        if since == Instant::ZERO {
            (Cause::Recovery, Confidence::High)
        } else {
            (Cause::SlowStart, Confidence::High)
        }
    }

    /// Whether this follows the third duplicate acknowledgment after a partial one, without SACK.
    /// Reno ends its recovery with a partial acknowledgment (RFC 5681 §3.2); NewReno repairs at
    /// once.
    fn is_third_duplicate(&self, facts: &Facts) -> bool {
        self.outstanding.sacked() == 0
            && self.duplicates == DUP_THRESH
            && self
                .third_duplicate_at
                .is_some_and(|at| facts.at.since(at) <= self.timing.reaction())
    }

    /// A further repair without an acknowledgment.
    fn silent(&self, facts: &Facts, since: Instant) -> Verdict {
        if facts.reaches(self.timing.base_rto()) || self.is_silent(facts) {
            return self.timeout(facts);
        }
        // Without RACK no other timer repeats the first data.
        if self.rack() == Has::No && self.is_head(facts) && facts.waited >= LEAST_TIMEOUT {
            return (Cause::Timeout, Confidence::Low);
        }
        let (cause, _) = self.repair(facts, since);
        if self.rack() == Has::Yes
            && (facts.sacked_above > 0 || self.sent_after(facts))
            && (self.fits_reordering_timer(facts) || self.is_within_round_trip(facts))
        {
            return (Cause::RackTimer, Confidence::Medium);
        }
        (cause, Confidence::Low)
    }

    /// Whether the data was sent again since the episode began.
    fn repaired_in_episode(&self, target: &Sent) -> bool {
        self.episode.as_ref().is_some_and(|episode| target.last_at >= episode.repaired_at)
    }

    /// RFC 8985 §6.2: data that was sent after the target has been delivered.
    fn sent_after(&self, facts: &Facts) -> bool {
        self.newest_at > facts.target.last_at
            || facts.forward > 0 && self.newest_at == facts.target.last_at
    }

    fn fits_reordering_timer(&self, facts: &Facts) -> bool {
        let window = self.timing.reordering_window();
        facts.since_ack <= window || fits(facts.since_ack, window)
    }

    /// Whether the wait is longer than RACK's first reordering window and at most a round trip. The
    /// window grows with duplicate reports, up to SRTT (RFC 8985 §6.2). No other timer of a sender
    /// with RACK expires then.
    fn is_within_round_trip(&self, facts: &Facts) -> bool {
        self.rack() == Has::Yes
            && !self.fits_reordering_timer(facts)
            && !facts.reaches(self.timing.base_rto())
            && self
                .timing
                .srtt()
                .is_some_and(|srtt| facts.since_ack <= srtt || fits(facts.since_ack, srtt))
    }

    /// Whether the probe of new data has been delivered, but not what precedes it.
    fn probe_delivered(&self) -> bool {
        let Some((start, end)) = self.probe else { return false };
        start >= self.una && self.outstanding.first_in(start, end).is_some_and(|sent| sent.sacked)
    }
}
