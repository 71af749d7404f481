//! Acknowledgment of new data: advance of SND.UNA, measurements, and growth of the window.

use policy::loss::{LossDetector, Lost};
use policy::{AckSample, CongestionController, Segmenter};
use units::{Duration, Instant};
use wire::SeqNum;

use super::Sender;
use crate::config::Config;

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
    /// timestamps, if they are in use. `ece` says that the acknowledgment echoes a mark.
    // Not inlined: the caller already needs more values than there are registers.
    #[inline(never)]
    pub(crate) fn acknowledged(
        &mut self,
        ack: SeqNum,
        now: Instant,
        timestamp_rtt: Option<Duration>,
        ece: bool,
        config: &Config,
    ) -> Acknowledged {
        let acked = ack.distance_from(self.una);
        let app_limited = self.una.before(self.app_limited_until);
        if self.policies.needs_samples {
            self.note_delivered(ack);
        }
        let segments = self.board.segments();
        let timed = self.board.ack(ack).timed;
        self.una = ack;
        self.nxt = self.nxt.latest(ack);
        self.probing &= self.nxt != ack;
        // These sequence numbers must keep up with SND.UNA. After 2³¹ more bytes they would
        // otherwise compare as later than it.
        self.small_end = self.small_end.latest(ack);
        self.app_limited_until = self.app_limited_until.latest(ack);
        self.repair.recover = self.repair.recover.latest(ack - 1);
        self.ecn.acknowledged(ack);
        if self.policies.reported.is_none() {
            self.measure(
                ack,
                now,
                timed.map(|at| now.since(at)).or(timestamp_rtt),
                segments,
                config,
            );
        }
        self.timeouts_in_a_row = 0;
        // Most policies need only three facts of a sample, so it is built only on request.
        let (mut sample, mut lost) = (None, Lost::Nothing);
        if self.policies.needs_samples {
            let sample = sample.insert(self.sample(acked, timed, app_limited, now));
            lost = self.policies.detector.on_ack(sample, &self.board);
        } else {
            self.policies.detector.reset();
        }
        self.repair.limited_transmit_bytes = 0;
        if self.repair.in_recovery {
            if self.repair.after_timeout {
                let view = self.view_after_timeout();
                self.policies.segmenter.on_ack(&view);
                let growth = self.policies.segmenter.growth(&view);
                self.policies.controller.acknowledged(acked, app_limited, growth, sample.as_ref());
            } else if let Some(sample) = &sample {
                self.policies.controller.observe(sample);
            }
            return Acknowledged {
                restart_timer: self
                    .on_recovery_ack(acked, ack.at_or_after(self.repair.recovery_point)),
                lost,
            };
        }
        if ece {
            // RFC 3168 §6.1.2: an echo does not widen the window, and does not lengthen the
            // segments of a small window.
            if let Some(sample) = &sample {
                self.policies.controller.observe(sample);
            }
        } else {
            let view = self.view();
            self.policies.segmenter.on_ack(&view);
            let growth = self.policies.segmenter.growth(&view);
            self.policies.controller.acknowledged(acked, app_limited, growth, sample.as_ref());
        }
        Acknowledged { restart_timer: true, lost }
    }

    /// Counts the sequence numbers that `ack` is about to remove from the scoreboard as delivered.
    #[cold]
    #[inline(never)]
    fn note_delivered(&mut self, ack: SeqNum) {
        if let Some(reported) = &mut self.policies.reported {
            reported.delivered += u64::from(self.board.unreported_before(ack));
        }
    }

    /// Builds the full sample of an acknowledgment of new data. `timed` is the transmission time of
    /// the newest segment that it acknowledges.
    #[cold]
    #[inline(never)]
    fn sample(
        &mut self,
        acked: u32,
        timed: Option<Instant>,
        app_limited: bool,
        now: Instant,
    ) -> AckSample {
        let forward = self.policies.reported.as_mut().and_then(|reported| reported.take_sample());
        let sent_at = forward.map(|forward| forward.sent_at).or(timed);
        AckSample {
            acked,
            smss: self.smss,
            app_limited,
            now,
            rtt: sent_at.map(|at| now.since(at)),
            una: self.una,
            nxt: self.nxt,
            forward,
        }
    }
}
