//! Acknowledgments that a sender receives.
//!
//! Between the capture and the sender they wait for the lag. Then they advance the model as they
//! advance the sender.

use units::{Duration, Instant};
use wire::SeqNum;

use super::cause::Spurious;
use super::episode::Phase;
use super::event::{Ack, Data, Effect};
use super::outstanding::Delivered;
use super::{KnownLosses, Sender, timing};

/// Maximum number of acknowledgments between the capture and the sender.
const MAX_PENDING: usize = 1 << 12;
const FEW_PENDING: usize = 16;

impl Sender {
    /// Takes an acknowledgment as the capture shows it.
    pub(crate) fn on_ack(&mut self, ack: &Ack, is_tight: bool) -> Effect {
        let effect = self.effect(ack);
        // Without a measurement of the lag, timestamps tell which acknowledgments have arrived.
        let waits = if self.timing.is_lag_known {
            self.timing.lag > timing::REACTION
        } else {
            ack.tsval.is_some()
        };
        if !waits && self.pending.is_empty() {
            self.apply(ack, ack.at);
        } else {
            let limit = if is_tight { FEW_PENDING } else { MAX_PENDING };
            while self.pending.len() >= limit {
                self.apply_first(ack.at);
            }
            self.pending.push_back(*ack);
        }
        effect
    }

    /// Facts about an acknowledgment that do not depend on the position of the capture.
    fn effect(&mut self, ack: &Ack) -> Effect {
        let position = self.position(ack.number);
        let latest = self.pending.back().map_or(self.una, |last| self.position(last.number));
        let outstanding = position < self.nxt;
        let before = self.pending.back().map_or(self.window, |last| last.window);
        Effect {
            duplicate: self.started
                && ack.is_pure
                && position == latest
                && outstanding
                && ack.window == before,
            dsack: is_dsack(ack),
            unseen: self.started && position > self.nxt,
            advances: self.started && position > latest,
            acked: if self.started { position.saturating_sub(latest) } else { 0 },
            window: ack.window,
            updates_window: ack.window != before,
        }
    }

    /// Applies the acknowledgments that the sender had received when it sent this packet. With
    /// timestamps, the packet names the last of them (RFC 7323 §3.2).
    pub(super) fn apply_pending(&mut self, data: &Data) {
        let (mut named, mut latest) = (None, None);
        while let Some(ack) = self.pending.front() {
            let received = match (data.tsecr, ack.tsval) {
                (Some(echo), Some(tsval)) => !SeqNum::new(tsval).after(SeqNum::new(echo)),
                // The lag of one packet varies, so an acknowledgment may take an eighth less.
                _ => ack.at + self.timing.least_lag() <= data.at,
            };
            if !received {
                break;
            }
            if data.tsecr.is_some() && ack.tsval == data.tsecr && named.is_none() {
                named = Some(ack.at);
            }
            latest = Some(ack.at);
            self.apply_first(data.at);
        }
        // The first packet that echoes a timestamp was sent at once, if an acknowledgment made the
        // sender transmit. An interval that is much longer was made by something else.
        if let Some(at) = named {
            self.bound_lag(data, latest.unwrap_or(at));
            self.measure_lag(data.at.since(at));
        }
    }

    /// Corrects the time at which the sender received its latest acknowledgment, which passed the
    /// capture at `latest`. The lag of one packet varies. The packet shows that the sender did not
    /// have the next acknowledgment yet. So at most the time between both had passed, unless the
    /// next one was lost: then a timer may have expired, which takes another round trip.
    fn bound_lag(&mut self, data: &Data, latest: Instant) {
        let Some(next) = self.pending.front() else { return };
        let lag = self.timing.lag;
        let (assumed, gap) = ((latest + lag).min(data.at), next.at.since(latest));
        if data.at.since(assumed) <= gap || data.at.since(latest) >= lag + lag {
            return;
        }
        let received = latest + (data.at.since(latest) - gap);
        let timing = &mut self.timing;
        let times = [&mut timing.news_at, &mut timing.advance_at].into_iter();
        let known = [&mut self.third_duplicate_at, &mut self.forward_at].into_iter().flatten();
        for at in times.chain(known).filter(|at| **at == assumed) {
            *at = received;
        }
    }

    /// Takes a measurement of the lag by timestamps, unless the capture is at the sender.
    fn measure_lag(&mut self, lag: Duration) {
        if !self.timing.is_lag_known || self.timing.lag > timing::REACTION {
            self.timing.observe_lag(lag);
        }
    }

    /// Takes the time in which the sender acknowledged data as a measurement of the lag. Without a
    /// lag by the handshake, it is not known how long the sender delays acknowledgments.
    pub(crate) fn observe_lag(&mut self, lag: Duration) {
        if self.timing.is_lag_known && self.timing.lag > timing::REACTION {
            self.timing.observe_lag(lag);
        }
    }

    pub(super) fn apply_first(&mut self, latest: Instant) {
        if let Some(ack) = self.pending.pop_front() {
            self.apply(&ack, (ack.at + self.timing.lag).min(latest));
        }
    }

    /// Round-trip times between the capture and the receiver, from the last acknowledgment.
    fn measure(&mut self, ack: &Ack, delivered: &Delivered, now: Instant) {
        if let Some(timed_at) = delivered.timed_at() {
            self.timing.sample(ack.at.since(timed_at), self.una, self.nxt, now);
        }
        let Some(sent_at) = delivered.sent_once_at else { return };
        let rtt = ack.at.since(sent_at);
        self.round_trips.add(rtt);
        self.latest_rtt = Some(rtt);
        self.originals.note_round_trip(sent_at, rtt);
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// Applies an acknowledgment that the sender receives at `now`.
    fn apply(&mut self, ack: &Ack, now: Instant) {
        if !self.started {
            return;
        }
        let position = self.position(ack.number);
        let half_rtt = self.min_rtt.map_or(0, |min| min.as_nanos() / 2);
        let mut delivered = Delivered {
            at: ack.at,
            tsecr: ack.tsecr,
            too_early: Duration::from_nanos(half_rtt),
            ..Delivered::default()
        };
        let before = self.una;
        let (known, was_open) = (self.known_losses(), self.is_open());
        let advanced = position > before;
        if position > self.nxt {
            // The capture does not have this data.
            self.outstanding.clear();
            self.originals.forget(position);
            (self.una, self.nxt) = (position, position);
        } else if advanced {
            self.outstanding.acknowledge(position, &mut delivered);
            self.una = position;
        }
        let eifel = advanced && is_before(ack.tsecr, delivered.retransmission_tsval);
        let tsecr = ack.tsecr.filter(|_| advanced);
        let duplicate = ack.is_pure
            && position == self.una
            && !advanced
            && ack.window == self.window
            && !self.outstanding.is_empty();
        if position == self.una {
            self.window = ack.window;
        }
        self.take_sack(ack, position, &mut delivered);
        self.note_news(advanced, duplicate, &delivered, ack.is_pure, now);
        self.measure(ack, &delivered, now);
        self.advance_episode(known, advanced, eifel, tsecr, &delivered, now);
        self.originals.acknowledge(self.una, self.nxt);
        self.is_disordered = self.is_disordered_after(was_open);
        if advanced {
            // Linux's `tcp_set_xmit_timer`.
            self.timing.is_probe_armed = self.is_open();
        }
    }

    /// Whether the sender is in disorder or in a recovery after an acknowledgment (Linux's
    /// `tcp_try_keep_open`). A repair counts only for a sender that was so before.
    fn is_disordered_after(&self, was_open: bool) -> bool {
        let phase = self.episode.as_ref().map(|episode| episode.phase);
        matches!(phase, Some(Phase::Fast | Phase::Loss(_)))
            || self.outstanding.sacked() > 0
            || !was_open && (self.outstanding.has_repairs() || self.outstanding.is_head_repaired())
    }

    /// Takes the SACK blocks.
    fn take_sack(&mut self, ack: &Ack, position: u64, delivered: &mut Delivered) {
        delivered.is_sacking = true;
        let dsack = is_dsack(ack);
        self.has_sack |= !ack.sack.is_empty();
        for (index, block) in ack.sack.iter().enumerate() {
            let (start, end) = (self.position(block.start()), self.position(block.end()));
            if dsack && index == 0 {
                self.refute(start, end);
            } else if start >= position && end <= self.nxt && start < end {
                self.outstanding.sack(start, end, delivered);
            }
        }
    }

    /// RFC 2883 §4: a duplicate was received, so a retransmission was not necessary.
    fn refute(&mut self, start: u64, end: u64) {
        let mut refuted = None;
        if let Some(episode) = &mut self.episode {
            refuted = episode.refute_range(start, end, Spurious::Dsack);
            let counts = refuted.is_some() && end > episode.undo_marker;
            episode.reported += u64::from(counts);
        }
        if refuted.is_none()
            && let Some(episode) = &mut self.previous
        {
            refuted = episode.refute_range(start, end, Spurious::Dsack);
        }
        self.originals.refute(refuted);
    }

    fn note_news(
        &mut self,
        advanced: bool,
        duplicate: bool,
        delivered: &Delivered,
        is_pure: bool,
        now: Instant,
    ) {
        if advanced {
            self.duplicates = 0;
            (self.third_duplicate_at, self.forward_at) = (None, None);
            self.timing.advance_at = now;
        } else if duplicate || delivered.bytes > 0 {
            self.duplicates = self.duplicates.saturating_add(1);
            if self.duplicates == 3 {
                self.third_duplicate_at = Some(now);
            }
        }
        if self.forward_at.is_none() && self.outstanding.is_sacked_beyond(3) {
            self.forward_at.get_or_insert(now);
        }
        if advanced || duplicate || delivered.bytes > 0 {
            self.timing.news_at = now;
            self.is_news_pure = is_pure;
        }
        if delivered.early.is_empty()
            && let Some(at) = delivered.newest_at
        {
            self.newest_at = self.newest_at.max(at);
        }
    }

    /// Reports of losses that the sender has.
    fn known_losses(&self) -> KnownLosses {
        KnownLosses {
            at: self.timing.news_at,
            is_answered: self.timing.sent_at >= self.timing.news_at,
            news: 0,
            newest_at: self.newest_at,
            highest_sacked: self.outstanding.highest_sacked(),
        }
    }

    /// Applies an acknowledgment to the episode. `known` is what the sender knew before it, and
    /// `tsecr` its timestamp if it advances.
    fn advance_episode(
        &mut self,
        known: KnownLosses,
        advanced: bool,
        eifel: bool,
        tsecr: Option<u32>,
        delivered: &Delivered,
        now: Instant,
    ) {
        let una = self.una;
        let is_echo_before = is_before(tsecr, self.episode.as_ref().and_then(|e| e.first_tsval));
        // Linux's `tcp_try_undo_partial`: not while a repair is in flight.
        let has_repairs = is_echo_before && self.outstanding.has_repairs();
        let Some(episode) = &mut self.episode else { return };
        for &frame in &delivered.early {
            self.originals.refute(episode.refute_frame(frame, Spurious::Early));
        }
        if eifel {
            let at = episode.retransmissions.first().map_or(una, |first| first.position);
            self.originals.refute(episode.refute_range(at, una, Spurious::Eifel));
        }
        episode.delay = episode.delay.max(delivered.delay);
        // RFC 5682 §2.1: the timeout was spurious if the second acknowledgment also advances, of
        // data that was not sent again.
        let forward_rto = episode.is_forward && advanced && delivered.original_at.is_some();
        // RFC 4015 §3.2, RFC 3708: the sender returns to its state before the recovery.
        let is_delayed = is_echo_before && (!has_repairs || episode.phase != Phase::Fast);
        let is_refuted = is_delayed
            || episode.is_refuted()
            || self.kind.is_linux_with_frto()
                && episode.is_answered_by_original(delivered.original_at);
        let undone = forward_rto || self.kind.is_linux() && is_refuted;
        if forward_rto {
            let timeout = episode.retransmissions.last().map_or(0, |last| last.frame);
            self.originals.refute(episode.refute_frame(timeout, Spurious::ForwardRto));
        }
        episode.advanced |= advanced;
        if una >= self.silent_point {
            self.silent_point = 0;
        }
        if una >= episode.point || undone && episode.phase != Phase::Probe {
            episode.ended_at = Some(now);
            self.known = KnownLosses { news: delivered.sacked_segments, ..known };
            // Linux's `tcp_time_to_recover`: with a lost segment whose repair is in flight, another
            // recovery begins at once.
            if self.kind.is_linux() && !undone && self.outstanding.has_repairs() {
                self.silent_point = self.nxt;
            }
            let ended = self.episode.take();
            if let Some(before) = std::mem::replace(&mut self.previous, ended) {
                self.finished.push(*before);
            }
        }
    }
}

/// RFC 2883 §4: the first block is below the acknowledgment or inside the second block.
fn is_dsack(ack: &Ack) -> bool {
    let mut blocks = ack.sack.iter();
    let Some(first) = blocks.next() else { return false };
    first.start().before(ack.number) || blocks.next().is_some_and(|second| second.contains(first))
}

/// Whether an echoed timestamp is before that of the retransmission.
fn is_before(tsecr: Option<u32>, tsval: Option<u32>) -> bool {
    let (Some(tsecr), Some(tsval)) = (tsecr, tsval) else { return false };
    SeqNum::new(tsecr).before(SeqNum::new(tsval))
}
