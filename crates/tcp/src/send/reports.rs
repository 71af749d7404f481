//! Information in acknowledgments besides the number: SACK blocks (RFC 2018), or the option of TCP
//! Santa Cruz.
//!
//! With the option every transmission is timed, retransmissions too, so Karn's rule does not apply.
//! The policies receive the delay of each transmission on the forward path. Parsa and
//! Garcia-Luna-Aceves 1999, section 3.2.

use std::collections::VecDeque;

use policy::loss::{LossDetector, SentSegment, Transmission};
use policy::{AckSample, CongestionController, ForwardSample};
use units::{Duration, Instant};
use wire::layout::PackedReport;
use wire::{Arrival, CopyNumber, SeqNum, SeqRange};

use super::Sender;
use crate::config::Config;
use crate::event::LossEvent;

/// Sender state for a peer that identifies the transmission that caused an acknowledgment.
#[derive(Debug, Default)]
pub(super) struct TimedReports {
    /// Number of bytes known to have arrived.
    pub(super) delivered: u64,
    /// Whether the retransmission timer is never backed off.
    pub(super) never_backs_off: bool,
    srtt: Option<Duration>,
    /// Transmissions of data sent more than once, oldest first. The last transmission of a segment
    /// in flight is also in the scoreboard.
    copies: VecDeque<NumberedTransmission>,
    /// Report of the current acknowledgment, and whether the controller has received it.
    latest: Option<ForwardSample>,
    sample_taken: bool,
    /// Latest reported arrival in microseconds of the peer's clock. `return_reordered` counts later
    /// reports of earlier arrivals whose transmissions were already acknowledged and forgotten.
    arrived_us: Option<u32>,
    pub(super) return_reordered: u64,
    /// Last sent of the transmissions that have arrived.
    newest: Option<Transmission>,
    /// Pending check for a loss that will be detected if nothing else arrives.
    pending_check: Option<PendingCheck>,
}

/// A second check of a report. The retransmission timer is set to its time.
#[derive(Debug, Clone, Copy)]
struct PendingCheck {
    at: Instant,
    report: ForwardSample,
    /// Original deadline of the retransmission timer.
    deadline: Instant,
}

#[derive(Debug, Clone, Copy)]
struct NumberedTransmission {
    seq: SeqNum,
    number: CopyNumber,
    sent_at: Instant,
}

impl TimedReports {
    /// Maximum number of stored transmissions. An acknowledgment of a forgotten one measures
    /// nothing.
    const MAX_COPIES: usize = 64;

    /// Creates the state. `never_backs_off` disables the back-off of the retransmission timer.
    pub(super) fn new(never_backs_off: bool) -> Self {
        Self { never_backs_off, ..Self::default() }
    }

    fn keep(&mut self, segment: &SentSegment) {
        if self.copies.len() == Self::MAX_COPIES {
            self.copies.pop_front();
        }
        self.copies.push_back(NumberedTransmission {
            seq: segment.range().0,
            number: segment.copy(),
            sent_at: segment.sent_at(),
        });
    }

    /// Records a retransmission that changed a segment from `before` to `after`.
    pub(super) fn resent(&mut self, before: &SentSegment, after: &SentSegment) {
        if !before.was_resent() {
            self.keep(before);
        }
        self.keep(after);
    }

    /// Returns the report of the current acknowledgment, and records that the controller receives
    /// it.
    pub(super) fn take_sample(&mut self) -> Option<ForwardSample> {
        self.sample_taken = true;
        self.forward()
    }

    fn forward(&self) -> Option<ForwardSample> {
        Some(ForwardSample { delivered: self.delivered, ..self.latest? })
    }

    fn smooth(&mut self, rtt: Duration) -> Duration {
        // Like RFC 6298 §2.3, but for every acknowledged transmission, and to the nanosecond.
        let srtt = self.srtt.map_or(rtt, |srtt| {
            Duration::from_nanos(srtt.as_nanos() - srtt.as_nanos() / 8 + rtt.as_nanos() / 8)
        });
        self.srtt = Some(srtt);
        srtt
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Self>() + self.copies.capacity() * size_of::<NumberedTransmission>()
    }
}

impl Sender {
    /// Transmission number of the segment at `seq`, which has just been sent.
    #[cold]
    pub(crate) fn copy_of(&self, seq: SeqNum) -> CopyNumber {
        self.board.segment_at(seq).map_or(CopyNumber::LAST, |segment| segment.copy())
    }

    /// Records a retransmission of the first `len` sequence numbers of the segment at `seq`.
    #[cold]
    pub(super) fn note_copy(&mut self, seq: SeqNum, len: u32, now: Instant) {
        let before = self.board.segment_at(seq);
        self.board.resend(seq, len, now);
        if let (Some(reported), Some(before), Some(after)) =
            (self.special.reported_mut(), before, self.board.segment_at(seq))
        {
            reported.resent(&before, &after);
        }
    }

    /// Heap memory of this state in bytes.
    pub(crate) fn sender_memory(&self) -> usize {
        self.special.reported().map_or(0, TimedReports::memory) + self.special.memory()
    }

    /// Handles the reports of an acknowledgment. Returns the number of bytes reported for the first
    /// time.
    #[inline(never)]
    pub(crate) fn take_reports(
        &mut self,
        reports: &PackedReport,
        ack: SeqNum,
        now: Instant,
        config: &Config,
    ) -> u32 {
        match self.special.reported() {
            None => self.sack(reports.sack_blocks().iter(), ack),
            Some(_) => self.take_option(reports, ack, now, config),
        }
    }

    /// Handles SACK blocks. Returns the number of bytes reported for the first time.
    fn sack(&mut self, blocks: impl Iterator<Item = SeqRange>, ack: SeqNum) -> u32 {
        if !self.policies.sack {
            return 0;
        }
        let mut newly_reported = 0;
        for block in blocks {
            // RFC 6675 §3 lets the sender decide about blocks of data never sent: they are ignored.
            // A block below the acknowledgment reports a duplicate (RFC 2883 §4).
            if block.end().at_or_before(self.max) && block.start().at_or_after(ack.latest(self.una))
            {
                newly_reported += self.board.sack(block);
            }
        }
        newly_reported
    }

    #[cold]
    #[inline(never)]
    fn take_option(
        &mut self,
        reports: &PackedReport,
        ack: SeqNum,
        now: Instant,
        config: &Config,
    ) -> u32 {
        let Some(option) = reports.santa_cruz() else { return 0 };
        let Some(arrival) = option.arrival() else { return 0 };
        self.time(&arrival, now, config);
        let mut newly_reported = 0;
        if self.policies.sack {
            let una = ack.latest(self.una);
            // Data that the same segment acknowledges needs no report.
            if arrival.seq.at_or_after(una)
                && let Some((seq, len)) =
                    self.board.segment_at(arrival.seq).map(|segment| segment.range())
                && let Some(range) = SeqRange::new(seq, seq + len)
            {
                newly_reported += self.board.report(range, 0);
            }
            let window = option.window();
            let unreported_margin = window.bytes_per_bit().saturating_sub(1);
            for range in window.ranges(ack) {
                let within =
                    SeqRange::new(range.start().latest(una), range.end().earliest(self.max));
                newly_reported +=
                    within.map_or(0, |range| self.board.report(range, unreported_margin));
            }
        }
        if let Some(reported) = self.special.reported_mut() {
            reported.delivered += u64::from(newly_reported);
        }
        newly_reported
    }

    /// Measures the round trip of the transmission that arrived, if its number is unique.
    fn time(&mut self, arrival: &Arrival, now: Instant, config: &Config) {
        let Some(reported) = self.special.reported_mut() else { return };
        reported.latest = None;
        let &Arrival { seq, copy, at } = arrival;
        if !copy.is_unique() {
            return;
        }
        let sent_at = match self.board.segment_at(seq) {
            Some(segment) if segment.copy() == copy => Some(segment.sent_at()),
            _ => reported
                .copies
                .iter()
                .rev()
                .find(|c| (c.seq, c.number) == (seq, copy))
                .map(|c| c.sent_at),
        };
        // The arrivals are less than 2³¹ µs apart, in either order.
        let arrived_earlier =
            reported.arrived_us.is_some_and(|last| at.wrapping_sub(last).cast_signed() < 0);
        if !arrived_earlier {
            reported.arrived_us = Some(at);
        }
        let Some(sent_at) = sent_at else {
            reported.return_reordered += u64::from(arrived_earlier);
            return;
        };
        let rtt = now.since(sent_at);
        self.rtt.sample(rtt, &config.rto);
        let srtt = reported.smooth(rtt);
        let delivered = reported.delivered;
        reported.latest =
            Some(ForwardSample { now, seq, sent_at, arrived_us: at, delivered, srtt });
        reported.sample_taken = false;
    }

    /// Runs loss detection on the report of the current acknowledgment, after the acknowledgment
    /// was handled. Returns the detected loss. `timer` is the retransmission timer.
    #[cold]
    #[inline(never)]
    pub(crate) fn detect_loss(&mut self, now: Instant, timer: &mut Instant) -> Option<LossEvent> {
        let reported = self.special.reported_mut()?;
        let report = reported.forward()?;
        reported.latest = None;
        let this = report.transmission();
        let newest = reported.newest.filter(|newest| newest.is_after(&this)).unwrap_or(this);
        reported.newest = Some(newest);
        if let Some(check) = reported.pending_check.take().filter(|check| *timer == check.at) {
            *timer = check.deadline;
        }
        if !reported.sample_taken {
            let rtt = Some(now.since(report.sent_at));
            let (smss, una, nxt) = (self.smss, self.una, self.nxt);
            let forward = Some(report);
            self.policies.controller.observe(&AckSample {
                acked: 0,
                smss,
                app_limited: false,
                now,
                rtt,
                una,
                nxt,
                forward,
            });
        }
        self.run_detector(
            ForwardSample { sent_at: newest.sent_at, seq: newest.seq, ..report },
            timer,
        )
    }

    /// Runs loss detection again if the retransmission timer expired at `due` for that purpose.
    /// Returns the detected loss, and the original deadline of the timer.
    #[cold]
    pub(crate) fn recheck_loss(
        &mut self,
        due: Instant,
        now: Instant,
    ) -> Option<(Option<LossEvent>, Instant)> {
        let check =
            self.special.reported_mut()?.pending_check.take().filter(|check| check.at == due)?;
        let mut deadline = check.deadline;
        let loss = self.run_detector(ForwardSample { now, ..check.report }, &mut deadline);
        Some((loss, deadline))
    }

    fn run_detector(&mut self, report: ForwardSample, timer: &mut Instant) -> Option<LossEvent> {
        let detection = self.policies.detector.on_report(&report, &self.board);
        if detection.next_deadline < *timer
            && *timer != Instant::NEVER
            && let Some(reported) = self.special.reported_mut()
        {
            reported.pending_check =
                Some(PendingCheck { at: detection.next_deadline, report, deadline: *timer });
            *timer = detection.next_deadline;
        }
        self.repair_lost(detection.lost, report.now)
    }
}
