//! An acknowledgment: what it delivers, what it measures, and how the window follows.

use policy::loss::{DUP_THRESH, ProbeAck, ProbeVerdict};
use policy::packets::{PacketAck, PacketRtt};
use policy::recovery::PrrAck;
use units::{Duration, Instant};
use wire::SeqNum;
use wire::layout::PackedReport;

use super::info::CongestionState;
use super::output::Resend;
use super::{Half, PacketSender};
use crate::event::Repair;

/// An acknowledgment as it arrives.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "facts, each of which can hold alone")]
pub(crate) struct AckArrival {
    /// Acknowledgment number; not beyond SND.NXT.
    pub(crate) ack: SeqNum,
    /// SACK blocks.
    pub(crate) reports: PackedReport,
    /// Whether the segment reports the arrival of a copy that the sender made as a precaution, by a
    /// DSACK or as a duplicate acknowledgment.
    pub(crate) acknowledges_copy: bool,
    /// Echoed timestamp, unless it is zero.
    pub(crate) echo: Option<u32>,
    /// Round-trip time by timestamps, with the resolution of their clock.
    pub(crate) timestamp_rtt: Option<Duration>,
    /// Whether the segment has ECE.
    pub(crate) ece: bool,
    /// Whether the segment has data, a SYN or a FIN.
    pub(crate) carries_data: bool,
    /// Whether it updates SND.WND: it is newer, or the window grows, or it is zero.
    pub(crate) updates_window: bool,
}

/// Effects of an acknowledgment on the retransmission queue.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts, each of which can hold alone")]
pub(super) struct Effects {
    /// SND.UNA advanced.
    pub(super) advances: bool,
    /// Segments were acknowledged cumulatively.
    pub(super) acked: bool,
    /// Of these, at least one had been retransmitted.
    pub(super) acked_resent: bool,
    /// SACK blocks reported segments for the first time.
    pub(super) sacked: bool,
    /// A DSACK reported retransmitted segments; the tail loss probe among them.
    pub(super) dsack: bool,
    pub(super) dsack_of_probe: bool,
    /// The segment reports a copy that was made as a precaution, which says nothing about the
    /// probe.
    pub(super) copy: bool,
    /// A segment that was never retransmitted was delivered, from before the recovery point.
    pub(super) original_delivered: bool,
    /// The segment has other news than the acknowledgment.
    pub(super) carries_data: bool,
    pub(super) updates_window: bool,
    pub(super) ece: bool,
    /// Retransmissions were found lost.
    pub(super) lost_retransmission: bool,
    /// The first segment in the queue has been reported.
    pub(super) reneged: bool,
    /// The timer must be set again.
    pub(super) sets_timer: bool,
    /// Packets delivered by SACK blocks, with spurious retransmissions.
    pub(super) sack_delivered: u32,
    /// Transmission times of the first and the last segment that SACK blocks or the cumulative
    /// acknowledgment deliver and that were sent once.
    pub(super) first_sacked: Option<Instant>,
    pub(super) last_sacked: Option<Instant>,
    pub(super) first_acked: Option<Instant>,
    pub(super) last_acked: Option<Instant>,
    /// Timestamp that the segment echoes.
    pub(super) echo: Option<u32>,
}

impl Effects {
    /// RFC 5681 §2: returns whether the segment cannot be a duplicate acknowledgment.
    pub(super) fn is_not_duplicate(&self) -> bool {
        self.carries_data || self.updates_window || self.acked
    }

    fn is_suspicious(&self) -> bool {
        !self.is_not_duplicate() || self.sacked || self.dsack || self.ece
    }

    /// Number of duplicate acknowledgments that the segment stands for.
    pub(super) fn duplicates(&self) -> u32 {
        u32::from(!self.advances && !self.is_not_duplicate() && !self.dsack && !self.copy)
    }
}

/// Totals before an acknowledgment.
#[derive(Debug, Clone, Copy)]
struct Before {
    una: SeqNum,
    highest_reported: SeqNum,
    sacked: u32,
    delivered: u32,
    lost: u32,
}

impl PacketSender {
    /// Handles an acknowledgment. Advances `half.una`. Returns the recovery or reduction that
    /// begins.
    pub(in crate::send) fn on_ack(
        &mut self,
        half: &mut Half<'_>,
        ack: &AckArrival,
    ) -> Option<Repair> {
        self.finish_burst(half);
        self.end_write();
        self.waits_for_pacing = false;
        let before = Before {
            una: half.una,
            highest_reported: half.highest_reported(),
            sacked: self.sacked(half.board),
            delivered: self.delivered,
            lost: self.lost,
        };
        let was_empty = half.board.is_empty();
        let mut effects = Effects {
            advances: ack.ack.after(half.una),
            carries_data: ack.carries_data,
            updates_window: ack.updates_window,
            ece: ack.ece,
            copy: ack.acknowledges_copy,
            echo: ack.echo,
            ..Effects::default()
        };
        if ack.ack.before(half.una) {
            return self.on_old_ack(half, ack, &before, effects);
        }
        if effects.advances {
            self.timeouts = 0;
        }
        half.una = ack.ack;
        if !ack.reports.is_none() && self.sack {
            self.apply_reports(half, ack, before.una, &mut effects);
        }
        self.delivered += effects.sack_delivered;
        self.writes.acknowledged(half.una);
        if let Some(memory) = &mut self.memory {
            memory.on_acknowledged(half.una);
        }
        if was_empty {
            // RFC 2883: a DSACK can also arrive when everything is acknowledged.
            let event =
                if effects.dsack { self.alert(half, &mut effects, before.una) } else { None };
            self.settle_probe(half, &effects);
            return event;
        }
        self.clean_queue(half, ack, &before, &mut effects);
        self.rack.adapt_window(half.una, half.nxt);
        self.settle_probe(half, &effects);
        let mut event = None;
        if effects.is_suspicious() || self.state != CongestionState::Open {
            event = self.alert(half, &mut effects, before.una);
        }
        if effects.sets_timer {
            self.set_timer(half);
        }
        self.control(half, &before, &effects);
        self.set_pacing_rate(half.smss, half.packets_out());
        event
    }

    /// Handles an acknowledgment below SND.UNA: only its SACK blocks count.
    fn on_old_ack(
        &mut self,
        half: &mut Half<'_>,
        ack: &AckArrival,
        before: &Before,
        mut effects: Effects,
    ) -> Option<Repair> {
        if ack.reports.is_none() || !self.sack {
            return None;
        }
        effects.carries_data = true;
        self.apply_reports(half, ack, before.una, &mut effects);
        self.delivered += effects.sack_delivered;
        self.alert(half, &mut effects, before.una)
    }

    /// Removes what is acknowledged from the queue, and measures the round-trip time (Linux's
    /// `tcp_clean_rtx_queue`).
    fn clean_queue(
        &mut self,
        half: &mut Half<'_>,
        ack: &AckArrival,
        before: &Before,
        effects: &mut Effects,
    ) {
        let (now, min_rtt) = (half.now, self.rtt.min_rtt(half.now));
        let (sack, recovery_point) = (self.sack, self.recovery_point);
        let (rack, undo) = (&mut self.rack, &self.undo);
        let mut low: Option<SeqNum> = None;
        let mut delivered = 0;
        let count = half.board.ack_each(half.una, |segment| {
            if segment.was_resent() {
                effects.acked_resent = true;
            } else if !segment.is_reported() {
                effects.last_acked = Some(segment.sent_at());
                effects.first_acked.get_or_insert(segment.sent_at());
                let (seq, len) = segment.range();
                low.get_or_insert(seq);
                effects.original_delivered |= !(seq + len).after(recovery_point);
            }
            if !segment.is_reported() {
                delivered += 1;
                // A timestamp from before the retransmission shows that the original arrived.
                let spurious = segment.was_resent()
                    && ack.echo.is_some()
                    && undo.is_delayed_original(ack.echo);
                if sack && !spurious {
                    let sent = segment.last_transmission();
                    rack.on_delivered(sent, segment.was_resent(), now, min_rtt);
                }
            }
        });
        effects.acked = count > 0;
        effects.reneged = half.board.has_reneged();
        let measured = self.measure(half, ack, effects, count, before);
        if effects.acked {
            effects.sets_timer = true;
            if sack {
                self.delivered += delivered;
                if let Some(low) = low {
                    // RFC 8985 §6.2, step 4: a hole was filled by its original.
                    self.reordering.observe(low, before.highest_reported, half.smss);
                }
            } else {
                self.remove_duplicates(half, count);
                // Without SACK the acknowledgment may be due to a retransmission.
                effects.original_delivered &= !effects.acked_resent;
            }
        } else if let (true, Some(sacked), Some(first)) =
            (measured, effects.first_sacked, half.board.first())
        {
            // A report of data that was sent before the first segment was sent last moves the
            // timeout. Otherwise it would be extended again and again during a recovery.
            effects.sets_timer = sacked < first.sent_at();
        }
    }

    /// Takes a round-trip time sample (Linux's `tcp_ack_update_rtt`). Returns whether there is one.
    fn measure(
        &mut self,
        half: &Half<'_>,
        ack: &AckArrival,
        effects: &Effects,
        count: u32,
        before: &Before,
    ) -> bool {
        let since = |at: Instant| half.now.since(at);
        // RFC 6298 §3, Karn's rule.
        let unambiguous = !effects.acked_resent;
        let (mut sample, mut newest) = match (effects.first_acked, effects.last_acked) {
            (Some(first), Some(last)) if unambiguous => (Some(since(first)), Some(since(last))),
            _ => (None, None),
        };
        let delayed = count == 1
            && sample.is_some()
            && before.sacked == 0
            && half.una.distance_from(before.una) < half.smss
            && !effects.is_suspicious();
        if let (Some(first), Some(last)) = (effects.first_sacked, effects.last_sacked) {
            sample = sample.or(Some(since(first)));
            newest = Some(since(last));
        }
        if sample.is_none() && effects.acked {
            // RFC 7323 §4: a timestamp measures a retransmission, too.
            sample = ack.timestamp_rtt;
            newest = newest.or(sample);
        }
        let Some(sample) = sample else {
            return false;
        };
        if let Some(newest) = newest {
            // A single short segment may wait for a delayed acknowledgment.
            if !(delayed && self.rtt.min_rtt(half.now).is_some_and(|min| newest > min)) {
                self.rtt.observe_min(newest, half.now);
            }
        }
        self.rtt.estimate(sample, half.una, half.nxt);
        if effects.acked || effects.sacked {
            self.controller.on_rtt(
                &mut self.window,
                &PacketRtt {
                    now: half.now,
                    rtt: newest.unwrap_or(sample),
                    una: half.una,
                    nxt: half.nxt,
                    paced: self.pacing.paces(),
                    pacing_rate: self.pacing.rate(),
                },
            );
        }
        true
    }

    /// Concludes from the acknowledgment whether the tail loss probe repaired a loss (RFC 8985
    /// §7.4.2).
    fn settle_probe(&mut self, half: &mut Half<'_>, effects: &Effects) {
        if !self.probe.is_outstanding() {
            return;
        }
        let probe_ack = ProbeAck {
            ack: half.una,
            dsack: effects.dsack_of_probe,
            is_pure_duplicate: !effects.advances
                && !effects.is_not_duplicate()
                && !effects.sacked
                && !effects.copy,
        };
        if self.probe.on_ack(&probe_ack) == ProbeVerdict::Repaired {
            self.begin_reduction(half);
            self.enter(CongestionState::Cwr);
            self.end_reduction();
            self.try_keep_open(half);
        }
    }

    /// Sets the window after an acknowledgment (Linux's `tcp_cong_control`).
    fn control(&mut self, half: &mut Half<'_>, before: &Before, effects: &Effects) {
        let delivered = self.delivered - before.delivered;
        let in_reduction = matches!(self.state, CongestionState::Cwr | CongestionState::Recovery);
        if in_reduction {
            self.reduce(half, delivered, self.lost - before.lost, effects.advances);
            return;
        }
        // RFC 5681 §3.1: only acknowledgments of new data in order widen the window. With much
        // reordering every delivery does.
        let grows = if self.reordering.degree() > DUP_THRESH {
            effects.acked || effects.sacked
        } else {
            effects.acked
        };
        if grows && delivered > 0 {
            let ack = PacketAck {
                now: half.now,
                acked: delivered,
                una: half.una,
                nxt: half.nxt,
                cwnd_limited: self.usage.is_cwnd_limited(&self.window),
            };
            self.controller.on_ack(&mut self.window, &ack);
            self.usage.on_window_change(half.now);
        }
    }

    /// Applies PRR to the window, or sets it to the threshold at once.
    pub(super) fn reduce(
        &mut self,
        half: &Half<'_>,
        delivered: u32,
        newly_lost: u32,
        advances: bool,
    ) {
        let ssthresh = self.window.ssthresh;
        let in_flight = self.in_flight(half.board);
        if !self.options.prr {
            // RFC 6675 §5, step (4.2): the window is halved at once.
            self.window.cwnd = ssthresh.max(1);
            return;
        }
        let ack = PrrAck { delivered, newly_lost, in_flight, ssthresh, advances };
        if let Some(cwnd) = self.prr.on_ack(&ack) {
            self.window.cwnd = cwnd;
        }
    }

    /// Requests the retransmission of lost segments.
    pub(super) fn request(&mut self, resend: Resend) {
        self.output.resend = resend;
    }
}
