//! Acknowledgment of new data: advance of SND.UNA, measurements, and growth of the window.

use policy::loss::{LossDetector, Lost};
use policy::{AckSample, CongestionController, ForwardSample, Segmenter, SendView};
use units::{Duration, Instant};
use wire::SeqNum;

use super::Sender;
use super::reports::TimedReports;
use crate::config::Config;
use crate::rules::RuleSet;

/// Consequences of an acknowledgment of new data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    /// Whether to restart the retransmission timer.
    pub(crate) restart_timer: bool,
    /// Segments that are lost.
    pub(crate) lost: Lost,
}

impl Sender {
    /// Handles an advance of SND.UNA to `ack`. `timestamp_rtt` is the round-trip time from
    /// timestamps, if they are in use. `ece` says that the acknowledgment echoes a mark. With
    /// `R::REPORTS` the peer may report transmissions.
    // Not inlined: the caller already needs more values than there are registers.
    #[inline(never)]
    pub(crate) fn acknowledged<R: RuleSet>(
        &mut self,
        ack: SeqNum,
        now: Instant,
        timestamp_rtt: Option<Duration>,
        ece: bool,
        config: &Config,
    ) -> Acknowledged {
        let acked = ack.distance_from(self.una);
        let app_limited = self.una.before(self.app_limited_until);
        let reported = R::REPORTS && self.special.reported().is_some();
        if reported {
            self.note_delivered(ack);
        }
        let segments = self.board.segments();
        let rtt = self.board.ack(ack).timed.map(|at| now.since(at));
        self.advance_to(ack);
        if !reported {
            self.measure(ack, now, rtt.or(timestamp_rtt), segments, config);
        }
        self.timeouts_in_a_row = 0;
        let forward = if R::REPORTS { self.take_forward_sample() } else { None };
        let sample = self.sample(acked, rtt, forward, app_limited, now);
        let lost = self.policies.detector.on_ack(&sample, &self.board);
        self.repair.limited_transmit_bytes = 0;
        let mut restart_timer = true;
        if self.repair.in_recovery {
            self.acknowledged_in_recovery(sample);
            let full = ack.at_or_after(self.repair.recovery_point);
            restart_timer = self.on_recovery_ack(acked, full);
        } else if ece {
            // RFC 3168 §6.1.2: an echo does not widen the window, and does not lengthen the
            // segments of a small window.
            self.observe(sample);
        } else {
            self.grow(&sample, &self.view_in_bytes());
        }
        Acknowledged { restart_timer, lost }
    }

    /// Advances SND.UNA, and the sequence numbers that must keep up with it.
    #[inline]
    fn advance_to(&mut self, ack: SeqNum) {
        self.una = ack;
        self.nxt = self.nxt.latest(ack);
        self.probing &= self.nxt != ack;
        // After 2³¹ more bytes the following would otherwise compare as later than SND.UNA.
        self.small_end = self.small_end.latest(ack);
        self.app_limited_until = self.app_limited_until.latest(ack);
        self.repair.recover = self.repair.recover.latest(ack - 1);
        self.ecn.acknowledged(ack);
    }

    /// Lets the window grow after an acknowledgment, as far as the segmenter allows. `view` is the
    /// state of the sender after it.
    #[expect(clippy::inline_always, reason = "the sample then remains in registers")]
    #[inline(always)]
    fn grow(&mut self, sample: &AckSample, view: &SendView) {
        self.policies.segmenter.on_ack(view);
        let growth = self.policies.segmenter.growth(view);
        self.policies.controller.on_ack(sample, growth);
    }

    /// Handles the facts of an acknowledgment of new data during recovery.
    // By value, like `observe`, so that the sample need not be in memory for other acknowledgments.
    #[cold]
    #[inline(never)]
    fn acknowledged_in_recovery(&mut self, sample: AckSample) {
        if self.repair.after_timeout {
            self.grow(&sample, &self.view_after_timeout());
        } else {
            self.policies.controller.observe(&sample);
        }
    }

    /// Shows an acknowledgment to the controller for which the window must not grow.
    #[cold]
    #[inline(never)]
    fn observe(&mut self, sample: AckSample) {
        self.policies.controller.observe(&sample);
    }

    /// Counts the sequence numbers that `ack` is about to remove from the scoreboard as delivered.
    #[cold]
    #[inline(never)]
    fn note_delivered(&mut self, ack: SeqNum) {
        if let Some(reported) = self.special.reported_mut() {
            reported.delivered += u64::from(self.board.unreported_before(ack));
        }
    }

    fn take_forward_sample(&mut self) -> Option<ForwardSample> {
        self.special.reported_mut().and_then(TimedReports::take_sample)
    }

    /// Builds the sample of an acknowledgment of new data. `rtt` is the round-trip time of the
    /// newest segment that it acknowledges. A report of its transmission is more exact.
    #[inline]
    fn sample(
        &self,
        acked: u32,
        rtt: Option<Duration>,
        forward: Option<ForwardSample>,
        app_limited: bool,
        now: Instant,
    ) -> AckSample {
        AckSample {
            acked,
            smss: self.smss,
            app_limited,
            now,
            rtt: forward.map(|forward| now.since(forward.sent_at)).or(rtt),
            una: self.una,
            nxt: self.nxt,
            forward,
        }
    }
}
