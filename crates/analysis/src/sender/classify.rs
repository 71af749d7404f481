//! Cause of a retransmission.
//!
//! The trigger decides first. A retransmission that follows an acknowledgment within the time of a
//! reaction was made by that acknowledgment; its cause is the rule that the acknowledgment
//! fulfils. Any other was made by a timer; its cause is the timer whose setting agrees with the
//! time that has passed.

use units::{Duration, Instant};

use super::cause::{Cause, Confidence, Spurious};
use super::episode::{Episode, Phase, Retransmission};
use super::outstanding::Sent;
use super::timing::{LEAST_TIMEOUT, Trigger, fits, seq};
use super::{Data, Sender};
use crate::kind::{Has, SenderKind};

/// Duplicate acknowledgments, or segments above a hole, that indicate a loss (RFC 5681 §3.2, RFC
/// 6675 §2).
const DUP_THRESH: u32 = 3;

/// Facts that a cause depends on.
#[derive(Debug, Clone, Copy)]
struct Facts {
    at: Instant,
    /// First data of the packet, before this transmission.
    target: Sent,
    /// End of the packet.
    end: u64,
    trigger: Trigger,
    since_ack: Duration,
    waited: Duration,
    idle: Duration,
    sacked_above: u32,
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
            (sent.last_at, sent.last_frame) = (data.at, data.frame);
            if sent.retransmission_tsval.is_none() {
                sent.retransmission_tsval = data.tsval;
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
            retransmission_tsval: None,
            copies: 1,
            sacked: true,
        };
        let target = self.outstanding.first_in(start, end).copied().unwrap_or(acknowledged);
        let timing = &self.timing;
        let head_at = self.outstanding.head().map_or(timing.advance_at, |head| head.last_at);
        let above = self.outstanding.sacked_from(start);
        Facts {
            at,
            target,
            end,
            trigger: timing.trigger_at(at),
            since_ack: at.since(timing.news_at),
            waited: at.since(timing.advance_at.max(head_at)),
            idle: at.since(timing.sent_at.max(timing.advance_at)),
            sacked_above: self.segments(above),
            forward: self.segments(self.outstanding.highest_sacked().saturating_sub(start)),
            flight: self.segments(self.flight()),
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
        let is_in_time = ended_at.is_some_and(|at| facts.at.since(at) <= self.timing.reaction());
        let was_reported = self.late_hole == Some(facts.target.start);
        is_in_time
            && facts.trigger == Trigger::Acknowledgment
            && (facts.end <= self.una || was_reported)
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
        let rack = self.kind.rack();
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
        if reacts(self.forward_at) && is_first && self.kind != SenderKind::Other {
            return (Cause::Fack, Confidence::High);
        }
        if self.duplicates >= DUP_THRESH && facts.sacked_above > 0 {
            return (Cause::Sack, Confidence::High);
        }
        if facts.forward > DUP_THRESH && self.kind != SenderKind::Other {
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
        let (probes, timeout) = (self.kind.tail_loss_probes(), self.timing.base_rto());
        let is_tail = facts.end >= self.nxt;
        if facts.sacked_above > 0 && self.is_within_round_trip(facts) {
            return (Cause::RackTimer, Confidence::Medium);
        }
        if facts.sacked_above > 0 && self.fits_reordering_timer(facts) {
            return match self.kind.rack() {
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
        // A probe that would come after the timeout takes its place, so both fit. The first timer
        // of a sender with probes is always that of a probe.
        match (probes, fits_probe, facts.reaches(timeout)) {
            (Has::Yes, true, _) => (Cause::TailLossProbe, Confidence::High),
            // Without SACK blocks it has no other timer that expires before the timeout.
            (Has::Yes, false, false) => (Cause::TailLossProbe, Confidence::Low),
            (Has::Yes, false, true) | (Has::Maybe, true, false) => {
                (Cause::TailLossProbe, Confidence::Medium)
            }
            (Has::Maybe, true, true) => (Cause::Timeout, Confidence::Low),
            _ => self.timeout(facts),
        }
    }

    /// A retransmission without an acknowledgment while a probe is outstanding.
    fn timer_after_probe(&self, facts: &Facts) -> Verdict {
        if facts.sacked_above > 0
            && self.fits_reordering_timer(facts)
            && !facts.reaches(self.timing.base_rto())
        {
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
            && facts.target.len() <= u64::from(self.mss);
        if is_shorter && self.outstanding.sacked() == 0 {
            return (Cause::PathMtu, Confidence::Low);
        }
        if self.is_silent(facts) { (Cause::Timeout, Confidence::Low) } else { UNKNOWN }
    }

    /// Whether the sender has heard nothing for a round trip, and waited for the shortest common
    /// minimum of the timeout (200 ms). No rule but the timeout transmits then.
    fn is_silent(&self, facts: &Facts) -> bool {
        let round_trip = self.timing.srtt().unwrap_or(LEAST_TIMEOUT);
        facts.waited >= LEAST_TIMEOUT && facts.since_ack > round_trip && facts.idle > round_trip
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
        if since == Instant::ZERO {
            (Cause::Recovery, Confidence::High)
        } else {
            (Cause::SlowStart, Confidence::High)
        }
    }

    /// A further repair without an acknowledgment.
    fn silent(&self, facts: &Facts, since: Instant) -> Verdict {
        if facts.reaches(self.timing.base_rto()) || self.is_silent(facts) {
            return self.timeout(facts);
        }
        let (cause, _) = self.repair(facts, since);
        if facts.sacked_above > 0
            && self.kind.rack() == Has::Yes
            && self.fits_reordering_timer(facts)
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
        self.kind.rack() == Has::Yes
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

    /// Adds the retransmission to an episode, and moves the state of the recovery.
    fn record(&mut self, facts: &Facts, retransmission: Retransmission, tsval: Option<u32>) {
        let cause = retransmission.cause;
        let (nxt, mss) = (self.nxt, u64::from(self.mss));
        let target = &facts.target;
        let behind = nxt.saturating_sub(facts.end.max(target.start + mss.min(target.len())));
        let following = self.segments(behind);
        let episode = self.episode.get_or_insert_with(|| {
            Box::new(Episode {
                lost_at: target.first_at,
                lost_frame: target.first_frame,
                repaired_at: facts.at,
                repaired_frame: retransmission.frame,
                ended_at: None,
                cause,
                confidence: retransmission.confidence,
                following,
                delay: Duration::ZERO,
                timeouts: 0,
                probes: 0,
                bytes: 0,
                forward_rto: false,
                retransmissions: Vec::new(),
                count: 0,
                point: nxt,
                phase: Phase::Fast,
                advanced: false,
                first_tsval: tsval,
                reported: 0,
                only_timers: true,
            })
        });
        // With three segments reported, the sender was in a recovery, even if nothing was sent.
        episode.only_timers &= matches!(cause, Cause::Timeout | Cause::TailLossProbe)
            && facts.sacked_above < DUP_THRESH;
        match cause {
            Cause::Timeout => {
                episode.timeouts += 1;
                episode.phase = Phase::Loss(facts.at);
                episode.point = nxt;
                episode.advanced = false;
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
            _ => {}
        }
        episode.add(retransmission);
        self.probe = None;
    }
}
