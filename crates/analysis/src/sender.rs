//! A sender of data, reconstructed from its packets and the acknowledgments that it receives.
//!
//! [`Sender`] keeps what the sender itself keeps: outstanding data, SACK information, estimates of
//! the round-trip time, and the state of its recovery. A retransmission is classified by the rules
//! that are fulfilled at its time (`classify`). The capture may be anywhere on the path: an
//! acknowledgment takes effect after the lag, the time between the capture and the sender.

mod acknowledgment;
mod cause;
mod classify;
mod copies;
mod episode;
mod event;
mod first_transmissions;
mod originals;
mod outcome;
mod outstanding;
mod policer;
mod record;
mod timing;
mod waits;

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::SeqNum;

pub use self::cause::{Cause, Confidence, Spurious};
use self::episode::Phase;
pub use self::episode::{Episode, Retransmission};
pub(crate) use self::event::{Ack, Data};
pub use self::event::{Effect, Role};
use self::originals::Originals;
pub use self::outcome::{BLOCK, Block, Cell, Count, Loss};
use self::outstanding::{Outstanding, Sent};
pub use self::policer::Policing;
use self::timing::{Timing, Trigger, seq};
pub use self::waits::Waits;
use crate::kind::{Has, SenderKind};
use crate::spread::Spread;

/// Position of the initial sequence number, so that positions below it are positive.
const ORIGIN: u64 = 1 << 33;

/// Segment size of Ethernet. Without a handshake, longer packets are joined segments.
const COMMON_MSS: u32 = 1460;

/// Maximum number of outstanding ranges, and the maximum when memory is short.
const MAX_RANGES: usize = 1 << 17;
const FEW_RANGES: usize = 64;

/// Losses that a sender knew at some time.
#[derive(Debug, Clone, Copy, Default)]
struct KnownLosses {
    /// Time of the last acknowledgment with news.
    at: Instant,
    /// Whether data was sent since then.
    is_answered: bool,
    /// Segments that the acknowledgment that ended the recovery reported first.
    news: u64,
    /// Latest transmission time of delivered data.
    newest_at: Instant,
    /// Position after the highest sacked byte.
    highest_sacked: u64,
}

/// Model of a sender.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Sender {
    kind: SenderKind,
    started: bool,
    una: u64,
    nxt: u64,
    window: u32,
    /// Whether the handshake has told the segment size.
    is_mss_known: bool,
    /// Whether the receiver reports what arrived out of order.
    has_sack: bool,
    outstanding: Outstanding,
    originals: Originals,
    timing: Timing,
    duplicates: u32,
    /// Time at which the third duplicate arrived, and at which SACK blocks first exceeded the lost
    /// segment by more than three.
    third_duplicate_at: Option<Instant>,
    forward_at: Option<Instant>,
    /// Latest transmission time of delivered data (RFC 8985 §5.2, `RACK.xmit_ts`).
    newest_at: Instant,
    /// Minimum round-trip time between the capture and the receiver.
    min_rtt: Option<Duration>,
    /// Latest packet with data.
    latest: Option<Data>,
    /// Timestamp and identification of the packet that ended at `nxt`.
    last_tsval: Option<u32>,
    last_identification: u16,
    /// New data that may have been sent as a tail loss probe.
    probe: Option<(u64, u64)>,
    /// Losses that the sender knew before the acknowledgment that ended the last recovery.
    known: KnownLosses,
    /// Sums of the times before new data.
    waits: Waits,
    /// Whether the last data filled the receiver's window.
    is_window_full: bool,
    /// Whether the last acknowledgment with news had no data.
    is_news_pure: bool,
    /// Whether the sender is in Linux's state `TCP_CA_Disorder`, or in a recovery.
    is_disordered: bool,
    /// End of a recovery in which nothing has been sent again; zero if there is none.
    silent_point: u64,
    /// Timestamp of the first retransmission since none was outstanding (Linux's `retrans_stamp`).
    first_tsval: Option<u32>,
    /// Whether SACK is known not to be negotiated.
    is_without_sack: bool,
    pending: VecDeque<Ack>,
    episode: Option<Box<Episode>>,
    previous: Option<Box<Episode>>,
    finished: Vec<Episode>,
    round_trips: Spread,
    latest_rtt: Option<Duration>,
}

impl Sender {
    pub(crate) fn new() -> Self {
        Self {
            kind: SenderKind::default(),
            started: false,
            una: ORIGIN,
            nxt: ORIGIN,
            window: u32::MAX,
            is_mss_known: false,
            has_sack: false,
            outstanding: Outstanding::default(),
            originals: Originals::default(),
            timing: Timing::new(),
            duplicates: 0,
            third_duplicate_at: None,
            forward_at: None,
            newest_at: Instant::ZERO,
            min_rtt: None,
            latest: None,
            last_tsval: None,
            last_identification: 0,
            probe: None,
            known: KnownLosses::default(),
            waits: Waits::default(),
            is_window_full: false,
            is_news_pure: false,
            is_disordered: false,
            silent_point: 0,
            first_tsval: None,
            is_without_sack: false,
            pending: VecDeque::new(),
            episode: None,
            previous: None,
            finished: Vec::new(),
            round_trips: Spread::default(),
            latest_rtt: None,
        }
    }

    /// Begins the stream after a SYN with this sequence number.
    pub(crate) fn start(&mut self, first: SeqNum) {
        self.started = true;
        // The lower 32 bits of a position are the sequence number.
        self.nxt = ORIGIN | u64::from(first.value());
        self.una = self.nxt;
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// States the sender's kind, as far as it is known.
    pub(crate) fn set_kind(&mut self, kind: SenderKind) {
        self.kind = kind;
    }

    pub(crate) fn kind(&self) -> SenderKind {
        self.kind
    }

    /// States that SACK is not negotiated. Linux then has no tail loss probes and no RACK.
    pub(crate) fn set_without_sack(&mut self) {
        self.is_without_sack = true;
    }

    /// Whether the sender has RACK.
    fn rack(&self) -> Has {
        if self.is_without_sack { Has::No } else { self.kind.rack() }
    }

    /// Whether the sender has tail loss probes.
    fn tail_loss_probes(&self) -> Has {
        if self.is_without_sack { Has::No } else { self.kind.tail_loss_probes() }
    }

    /// States the maximum segment size of the connection in bytes, and whether SACK was negotiated.
    pub(crate) fn set_mss(&mut self, mss: u32, has_sack: bool) {
        self.outstanding.set_mss(mss);
        self.is_mss_known = true;
        self.has_sack = has_sack;
    }

    pub(crate) fn mss(&self) -> u32 {
        self.outstanding.mss()
    }

    /// States the time between the capture and the sender, in both directions together.
    pub(crate) fn set_lag(&mut self, lag: Duration) {
        if self.timing.is_lag_stated {
            return;
        }
        self.timing.lag = lag;
        self.timing.is_lag_known = true;
    }

    /// States that the capture is at the sender.
    pub(crate) fn state_no_lag(&mut self) {
        self.set_lag(Duration::ZERO);
        self.timing.is_lag_stated = true;
    }

    pub(crate) fn is_lag_known(&self) -> bool {
        self.timing.is_lag_known
    }

    pub(crate) fn lag(&self) -> Duration {
        self.timing.lag
    }

    /// Adds a finished episode of a SYN.
    pub(crate) fn add_episode(&mut self, episode: Episode) {
        self.finished.push(episode);
    }

    /// Round-trip times between the capture and the receiver.
    pub(crate) fn round_trips(&self) -> &Spread {
        &self.round_trips
    }

    /// Latest of these, once.
    pub(crate) fn take_latest_rtt(&mut self) -> Option<Duration> {
        self.latest_rtt.take()
    }

    /// Takes a round-trip time of the handshake, between the capture and the receiver.
    pub(crate) fn handshake(&mut self, rtt: Duration, now: Instant) {
        // Without the lag, the round-trip time of the sender is unknown.
        if self.timing.is_lag_known {
            self.timing.sample(rtt, self.una, self.nxt, now);
        }
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
    }

    /// Whether a round-trip time has been measured.
    pub(crate) fn is_timed(&self) -> bool {
        self.timing.srtt().is_some()
    }

    /// Takes a round-trip time of a handshake whose segments were sent again, by an echoed
    /// timestamp; `None` without one. Only Linux is known to use it.
    pub(crate) fn repeated_handshake(&mut self, rtt: Option<Duration>, now: Instant) {
        match rtt {
            Some(rtt) if self.kind.is_linux() => self.timing.sample(rtt, self.una, self.nxt, now),
            _ => self.timing.after_syn_timeout(),
        }
    }

    /// Smoothed round-trip time.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.timing.srtt()
    }

    /// Whether the sender is in Linux's state `TCP_CA_Open`.
    fn is_open(&self) -> bool {
        let phase = self.episode.as_ref().map(|episode| episode.phase);
        matches!(phase, None | Some(Phase::Probe))
            && self.una >= self.silent_point
            && !self.is_disordered
    }

    /// Outstanding bytes.
    pub(crate) fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// Whether nothing is outstanding but the last packet, with this payload and perhaps a FIN.
    pub(crate) fn is_alone(&self, payload: u32) -> bool {
        self.flight() <= u64::from(payload) + 1
    }

    /// Whether an acknowledgment triggered the last packet.
    pub(crate) fn is_triggered_by_ack(&self) -> bool {
        self.timing.trigger == Trigger::Acknowledgment
    }

    /// Number of outstanding ranges in memory.
    pub(crate) fn ranges(&self) -> usize {
        self.outstanding.len() + self.pending.len() + self.originals.len()
    }

    /// Frees the memory of empty queues, after the connection has closed. Its entry stays in the
    /// table for late packets.
    pub(crate) fn release(&mut self) {
        self.outstanding.release();
        self.originals.release();
        if self.pending.is_empty() {
            self.pending = VecDeque::new();
        }
    }

    /// Position of a sequence number near SND.NXT.
    fn position(&self, number: SeqNum) -> u64 {
        let distance = number.value().wrapping_sub(seq(self.nxt).value()).cast_signed();
        self.nxt.saturating_add_signed(i64::from(distance))
    }

    /// Takes a packet with data. `is_tight` says that memory is short.
    pub(crate) fn on_data(&mut self, data: &Data, is_tight: bool) -> Role {
        self.apply_pending(data);
        if !self.started {
            self.start(data.seq);
        }
        let start = self.position(data.seq);
        let end = start + u64::from(data.len);
        if let Some(role) = self.copy_role(data, start, end) {
            self.originals.exclude(start, end);
            return role;
        }
        self.latest = Some(*data);
        let role = if start >= self.nxt {
            self.new_data(data, start, end);
            Role::New
        } else {
            self.old_data(data, start, end)
        };
        let trigger = self.timing.trigger_at(data.at);
        (self.timing.trigger, self.timing.sent_at) = (trigger, data.at);
        let next = self.flight() + u64::from(self.mss());
        self.is_window_full = next > u64::from(self.window);
        let limit = if is_tight { FEW_RANGES } else { MAX_RANGES };
        if self.outstanding.len() > limit
            && let Some(first) = self.outstanding.limit(limit)
        {
            self.una = self.una.max(first);
            self.originals.forget(first);
        }
        self.originals.limit(limit);
        role
    }

    #[inline]
    fn new_data(&mut self, data: &Data, start: u64, end: u64) {
        if self.follows(data) {
            self.originals.follow();
        }
        if start > self.nxt {
            // Data that the capture does not have: lost before it, reordered, or not captured.
            let (first_frame, last_frame, copies) = (0, 0, 0);
            let gap = Self::sent(data, self.nxt, start);
            self.outstanding.push(Sent { first_frame, last_frame, copies, ..gap });
            self.originals.push_gap(data.at, self.nxt, start);
        }
        self.originals.push(data, (start, end), self.sizes(data));
        if let Some(episode) = &mut self.episode
            && matches!(episode.phase, Phase::Loss(_))
            && episode.advanced
            && episode.count == u64::from(episode.timeouts)
        {
            episode.forward_rto = true;
            episode.is_forward = true;
        }
        self.note_wait(data.at, true);
        self.note_probe(data.at, start, end);
        self.timing.is_probe_armed = self.is_open();
        let payload = data.payload.min(COMMON_MSS);
        if !self.is_mss_known && payload > self.outstanding.mss() {
            self.outstanding.set_mss(payload);
        }
        self.outstanding.push(Self::sent(data, start, end));
        self.nxt = end;
        (self.last_tsval, self.last_identification) = (data.tsval, data.identification);
    }

    fn sent(data: &Data, start: u64, end: u64) -> Sent {
        Sent {
            start,
            end,
            first_at: data.at,
            last_at: data.at,
            first_frame: data.frame,
            last_frame: data.frame,
            first_tsval: data.tsval,
            retransmission_tsval: None,
            retransmitted_at: data.at,
            last_tsval: data.tsval,
            copies: 1,
            sacked: false,
        }
    }

    /// Data that begins below SND.NXT.
    fn old_data(&mut self, data: &Data, start: u64, end: u64) -> Role {
        if data.payload <= 1 && end <= self.nxt {
            if self.outstanding.is_empty() && end == self.nxt && data.len == data.payload {
                return Role::KeepAlive;
            }
            if self.window == 0 && start >= self.una {
                return Role::WindowProbe;
            }
        }
        if self.fills_gap(data, start, end) {
            for sent in self.outstanding.range_mut(start, end).filter(|sent| sent.copies == 0) {
                (sent.copies, sent.first_frame, sent.last_frame) = (1, data.frame, data.frame);
            }
            self.originals.fill(data, (start, end), self.sizes(data));
            return Role::Reordered;
        }
        self.note_wait(data.at, false);
        let end_of_old = end.min(self.nxt);
        self.retransmit(data, start, end_of_old);
        if end > self.nxt {
            self.new_data(data, self.nxt, end);
        }
        Role::Retransmission
    }

    /// Whether the packet is an original that arrives late: it is in a gap, and it was sent before
    /// the packet that revealed the gap.
    fn fills_gap(&self, data: &Data, start: u64, end: u64) -> bool {
        let Some(gap) = self.outstanding.first_in(start, end).filter(|sent| sent.copies == 0)
        else {
            return false;
        };
        // A retransmission has a later timestamp and a later identification.
        if let (Some(this), Some(last)) = (data.tsval, self.last_tsval)
            && this != last
        {
            return SeqNum::new(this).before(SeqNum::new(last));
        }
        if data.identification != 0 && self.last_identification != 0 {
            let distance = data.identification.wrapping_sub(self.last_identification).cast_signed();
            if distance.unsigned_abs() < 1024 && distance != 0 {
                return distance < 0;
            }
        }
        // The sender needs a round trip to learn of the gap.
        let rtt = self.timing.min_rtt().unwrap_or(Duration::from_millis(6));
        data.at.since(gap.first_at) < Duration::from_nanos(rtt.as_nanos() / 2)
    }

    /// Whether there are episodes that will not change.
    #[inline]
    pub(crate) fn has_episodes(&self) -> bool {
        !self.finished.is_empty()
    }

    /// Returns the episodes that will not change. At the end of the connection these are all.
    pub(crate) fn take_episodes(&mut self, at_end: bool) -> Vec<Episode> {
        if at_end {
            while !self.pending.is_empty() {
                self.apply_first(Instant::NEVER);
            }
            let open = [self.previous.take(), self.episode.take()];
            self.finished.extend(open.into_iter().flatten().map(|episode| *episode));
            self.originals.finish();
        }
        std::mem::take(&mut self.finished)
    }

    /// Remembers new data that may be a tail loss probe: sent without an acknowledgment, after the
    /// timeout of a probe.
    fn note_probe(&mut self, at: Instant, start: u64, end: u64) {
        if self.outstanding.is_empty() || self.episode.is_some() || self.outstanding.sacked() > 0 {
            return;
        }
        if self.timing.trigger_at(at) != Trigger::Other {
            return;
        }
        let idle = at.since(self.timing.sent_at.max(self.timing.advance_at));
        let single = self.outstanding.segments().all <= 1;
        if self.timing.pto(single).is_some_and(|pto| timing::fits(idle, pto)) {
            self.probe = Some((start, end));
        }
    }
}

#[cfg(test)]
mod tests;
