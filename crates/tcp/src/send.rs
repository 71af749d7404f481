//! The sending half: window, retransmission queue, loss response.
//!
//! The sequence space is `snd.una ≤ snd.nxt ≤ snd.max`. A timeout sets `nxt` back to `una`, and
//! everything up to `max` is segmented and sent again. Otherwise `nxt = max`.

use policy::congestion::PathDelays;
use policy::loss::{DUP_THRESH, LossDetector, Scoreboard};
use policy::recovery::Recovery;
use policy::rtt::RttEstimator;
use policy::{AckSample, CongestionController, Segmenter, SendView};
use units::{Duration, Instant};
use wire::SeqNum;

use crate::config::{Config, Negotiated};
use crate::event::{LossEvent, Repair};

mod ecn;
mod policies;
mod repair;
mod reports;
mod timing;

use ecn::EcnState;
use policies::Policies;
pub(crate) use repair::Expiry;
use repair::RepairState;

/// Counters of what has been sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SendStatistics {
    /// Number of segments with payload.
    pub segments: u32,
    /// Number of payload bytes, with retransmissions.
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
    /// recovery with the scoreboard, otherwise everything in flight.
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

/// Consequences of an acknowledgment of new data.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    /// Whether to restart the retransmission timer.
    pub(crate) restart_timer: bool,
    /// Whether the segment that is now the first is lost.
    pub(crate) lost: bool,
}

/// State of the sending half. The order of the fields matters: see
/// [`Connection`](crate::Connection).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) statistics: SendStatistics,
    pub(crate) rtt: RttEstimator,
    policies: Policies,
    pub(crate) board: Scoreboard,
    /// Transmission time of the one timed segment, [`Instant::NEVER`] if there is none. The
    /// sequence number after it is `timed_end`.
    timed_at: Instant,
    pub(crate) last_sent: Instant,
    timed_end: SeqNum,
    /// SND.SML: sequence number after the last segment shorter than `MSS_c`.
    pub(crate) small_end: SeqNum,
    /// Sequence number up to which the sender was application-limited.
    app_limited_until: SeqNum,
    pub(crate) iss: SeqNum,
    /// A data receiver also uses the fields from here on.
    pub(crate) repair: RepairState,
    pub(crate) ecn: EcnState,
    /// SND.WL1 and SND.WL2: sequence and acknowledgment number of the segment that set `wnd`.
    wl: (SeqNum, SeqNum),
    /// SND.UNA.
    pub(crate) una: SeqNum,
    /// SND.NXT.
    pub(crate) nxt: SeqNum,
    /// Sequence number after the highest ever sent.
    pub(crate) max: SeqNum,
    /// SND.WND in bytes, and its maximum so far.
    pub(crate) wnd: u32,
    pub(crate) max_wnd: u32,
    /// Sequence number after the last byte written.
    pub(crate) data_end: SeqNum,
    pub(crate) smss: u32,
    /// Whether a FIN follows the data.
    pub(crate) fin: bool,
    /// Whether a probe of a closed window is due: one byte may be sent (RFC 9293 §3.8.6.1).
    pub(crate) probe: bool,
    /// Whether a window probe is in flight: such a byte, or a FIN beyond the window.
    probing: bool,
    timeouts_in_a_row: u8,
}

impl Sender {
    pub(crate) fn new(config: &Config, negotiated: &Negotiated, iss: SeqNum) -> Self {
        Self {
            iss,
            una: iss,
            nxt: iss,
            max: iss,
            wnd: 0,
            max_wnd: 0,
            wl: (SeqNum::default(), SeqNum::default()),
            data_end: iss + 1,
            fin: false,
            smss: negotiated.smss(config),
            board: Scoreboard::default(),
            rtt: RttEstimator::new(&config.rto),
            statistics: SendStatistics::default(),
            repair: RepairState::inactive(iss),
            ecn: EcnState::default(),
            small_end: iss,
            last_sent: Instant::ZERO,
            policies: Policies::new(config, negotiated),
            timed_end: iss,
            timed_at: Instant::NEVER,
            app_limited_until: iss,
            timeouts_in_a_row: 0,
            probe: false,
            probing: false,
        }
    }

    /// Applies the negotiated options: replaces the policies and begins a slow start.
    pub(crate) fn negotiated(&mut self, config: &Config, negotiated: &Negotiated) {
        self.smss = negotiated.smss(config);
        self.policies = Policies::new(config, negotiated);
        if self.statistics.syn_timeouts > 0 {
            // RFC 5681 §3.1: after a lost SYN the initial window is one segment.
            self.policies.controller.set_cwnd(self.smss);
        }
        self.begin_slow_start(self.window());
    }

    /// Informs the segmenter of a slow start with this window, in bytes.
    fn begin_slow_start(&mut self, window: u32) {
        let view = self.view();
        self.policies.segmenter.on_slow_start(window, &view);
    }

    /// Starts as if the SYN had been acknowledged, by a peer with this initial sequence number and
    /// this window in bytes.
    pub(crate) fn syn_skipped(&mut self, irs: SeqNum, window: u32) {
        self.begin_slow_start(self.window());
        self.una = self.iss + 1;
        self.nxt = self.una;
        self.max = self.una;
        self.small_end = self.una;
        self.wl = (irs, self.una);
        self.set_window(window);
    }

    pub(crate) fn view(&self) -> SendView {
        SendView {
            smss: self.smss,
            cwnd: self.window(),
            flight: self.flight(),
            flight_segments: self.board.segments(),
        }
    }

    /// View of the sender after a timeout, when everything that was in flight is lost. Only
    /// segments sent since count.
    #[cold]
    fn view_after_timeout(&self) -> SendView {
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
            in_network: self.pipe().unwrap_or_else(|| self.flight()),
            duplicates: self.policies.detector.duplicates(),
            recovering: self.repair.in_recovery && !self.repair.after_timeout,
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
    fn network_segments(&self) -> u32 {
        if self.pipe().is_some() {
            return self.board.pipe_segments();
        }
        // A duplicate acknowledgment stands for a segment that has left the network. Outside
        // recovery only Limited Transmit (RFC 3042) sends another segment for it, for the first
        // two.
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
        match &self.policies.recovery {
            Some(recovery) if self.repair.in_recovery => {
                recovery.window(self.policies.controller.cwnd())
            }
            _ => self.policies.controller.cwnd(),
        }
    }

    pub(crate) fn ssthresh(&self) -> u32 {
        self.policies.controller.ssthresh()
    }

    pub(crate) fn path(&self) -> Option<PathDelays> {
        let path = self.policies.controller.path()?;
        let reordered =
            self.policies.reported.as_ref().map_or(0, |reported| reported.return_reordered);
        Some(PathDelays { return_reordered: path.return_reordered + reordered, ..path })
    }

    pub(crate) fn flight(&self) -> u32 {
        self.nxt.distance_from(self.una)
    }

    /// Returns true only if unsent data waits for room in the congestion window. Recovery and RFC
    /// 3042 have other rules, so the result is then false.
    pub(crate) fn is_cwnd_limited(&self) -> bool {
        let (flight, left) = (self.flight(), self.data_end.distance_from(self.nxt));
        if flight == 0 || left == 0 || self.repair.in_recovery || self.policies.limited_transmit {
            return false;
        }
        let next = flight + left.min(self.mss_c());
        next > self.policies.controller.cwnd() && next <= self.wnd
    }

    /// Sequence number after everything to be sent, including the FIN.
    pub(crate) fn end(&self) -> SeqNum {
        self.data_end + u32::from(self.fin)
    }

    pub(crate) fn write(&mut self, bytes: u32, buffer: u32) -> u32 {
        let taken = bytes.min(self.free(buffer));
        self.data_end += taken;
        taken
    }

    pub(crate) fn free(&self, buffer: u32) -> u32 {
        if self.fin { 0 } else { buffer.saturating_sub(self.unacknowledged()) }
    }

    pub(crate) fn unacknowledged(&self) -> u32 {
        self.data_end.distance_from(self.first_unacknowledged_byte())
    }

    pub(crate) fn first_unacknowledged_byte(&self) -> SeqNum {
        // Before the handshake is complete it follows the SYN. Later the initial sequence number
        // must not be compared: after 2³¹ bytes it would be ahead.
        let opening = self.una == self.iss && self.statistics.bytes == 0;
        self.una + u32::from(opening)
    }

    pub(crate) fn has_data(&self) -> bool {
        self.unacknowledged() > 0
    }

    pub(crate) fn close(&mut self) {
        self.fin = true;
    }

    /// RFC 5961 §5.2: returns whether an acknowledgment below SND.UNA is older than the peer's
    /// largest window. Unlike there, acknowledgments up to the initial sequence number are also too
    /// old, because nothing was sent there. A guess then has to hit data that has been
    /// acknowledged.
    #[cold]
    #[inline(never)]
    pub(crate) fn is_too_old(&self, ack: SeqNum) -> bool {
        // Distances from the SYN are valid only until sequence numbers wrap.
        let unwrapped = self.statistics.bytes < 1 << 30;
        ack.before(self.una - self.max_wnd) || unwrapped && ack.at_or_before(self.iss)
    }

    /// RFC 9293 §3.10.7.4, fifth step: returns whether the segment's window is newer than the
    /// current one.
    pub(crate) fn updates_window(&self, seq: SeqNum, ack: SeqNum) -> bool {
        self.wl.0.before(seq) || (self.wl.0 == seq && self.wl.1.at_or_before(ack))
    }

    pub(crate) fn take_window(&mut self, seq: SeqNum, ack: SeqNum, window: u32) {
        let probing = self.is_probing();
        self.wl = (seq, ack);
        self.set_window(window);
        if probing {
            // RFC 9293 §3.8.6.1: a peer that answers probes is alive, even if its window remains
            // closed.
            self.timeouts_in_a_row = 0;
            if window > 0 && self.probing {
                // The peer may have dropped the probe. The data that follows must not look like a
                // loss, and must not inherit the back-off of the probes.
                self.unsend_all();
                self.rtt.end_back_off();
            }
        }
    }

    /// Returns whether the peer's window is closed, so that missing acknowledgments do not indicate
    /// a loss. Either a probe is in flight, or the peer has closed a window with data in flight.
    /// (With scaling a window often shrinks slightly, because it is advertised in steps: RFC 7323
    /// §2.4.)
    pub(crate) fn is_probing(&self) -> bool {
        self.probing || self.wnd == 0 && self.flight() > 0
    }

    /// Sequence number of a segment without data. RFC 9293 §3.10 uses SND.NXT. After a timeout
    /// SND.NXT may be below the peer's RCV.NXT, and a probe may be above its window. The peer would
    /// ignore either.
    pub(crate) fn pure_seq(&self) -> SeqNum {
        if self.probing { self.una } else { self.max }
    }

    fn set_window(&mut self, window: u32) {
        self.wnd = window;
        self.max_wnd = self.max_wnd.max(window);
    }

    /// Records that a segment of `len` sequence numbers is sent at `nxt`.
    pub(crate) fn sent(&mut self, len: u32, now: Instant) {
        let again = self.nxt.before(self.max);
        self.board.push(self.nxt, len, now, again);
        if !again && self.timed().is_none() {
            self.start_timing(self.nxt + len, now);
        }
        let flight = self.flight() + len;
        if self.policies.limited_transmit
            && !self.repair.in_recovery
            && self.policies.detector.duplicates() > 0
            && flight > self.window()
        {
            self.repair.limited_transmit_bytes += len;
        }
        self.note_sent_in_recovery(len);
        self.probing = flight > self.wnd;
        self.nxt += len;
        self.max = self.max.latest(self.nxt);
        self.last_sent = now;
        self.probe = false;
    }

    /// Records a retransmission of the first `len` sequence numbers of the segment at `seq`.
    pub(crate) fn resent(&mut self, seq: SeqNum, len: u32, now: Instant) {
        self.note_sent_in_recovery(len);
        if self.policies.reported.is_some() {
            self.note_copy(seq, len, now);
        } else {
            self.board.resend(seq, len, now);
        }
        if self.timed().is_some_and(|(end, _)| seq.before(end)) {
            // Karn's rule (RFC 6298 §3): the timed segment is indistinguishable from its
            // retransmission.
            self.stop_timing();
        }
        self.last_sent = now;
    }

    fn note_sent_in_recovery(&mut self, bytes: u32) {
        if self.repair.in_recovery
            && let Some(recovery) = &mut self.policies.recovery
        {
            recovery.on_sent(bytes);
        }
    }

    /// Records that the sender is application-limited: it had no more data although the window had
    /// room.
    pub(crate) fn set_app_limited(&mut self) {
        self.app_limited_until = self.nxt;
    }

    /// RFC 5681 §4.1: restarts with slow start after an idle time of one RTO, because the
    /// acknowledgment clock has stopped.
    pub(crate) fn restart_if_idle(&mut self, now: Instant, config: &Config) {
        let never_sent = self.max == self.iss + 1;
        // After a timeout nothing is in flight, but the connection is not idle.
        let repairing = self.timeouts_in_a_row > 0;
        if self.flight() > 0
            || never_sent
            || repairing
            || now.since(self.last_sent) <= self.rtt.rto(&config.rto)
        {
            return;
        }
        let restart =
            config.sender.initial_window.bytes(self.smss).min(self.policies.controller.cwnd());
        self.policies.controller.set_cwnd(restart);
        self.begin_slow_start(restart);
    }

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
        let (mut sample, mut lost) = (None, false);
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

    /// Handles the acknowledgment of the SYN.
    pub(crate) fn syn_acknowledged(&mut self, now: Instant, config: &Config) {
        self.una = self.iss + 1;
        self.nxt = self.una;
        self.max = self.max.latest(self.una);
        self.small_end = self.una;
        self.timeouts_in_a_row = 0;
        let timed = self.timed();
        self.stop_timing();
        if self.statistics.syn_timeouts > 0 {
            self.rtt.after_syn_timeout(&config.rto);
        } else if let Some((_, at)) = timed {
            self.rtt.sample(now.since(at), &config.rto);
        }
    }

    /// Resets the state after a failed handshake, for the next one.
    pub(crate) fn listen_again(&mut self) {
        self.nxt = self.iss;
        self.stop_timing();
        self.timeouts_in_a_row = 0;
    }

    /// Records that a SYN is sent.
    pub(crate) fn syn_sent(&mut self, now: Instant) {
        // Karn's rule: in a simultaneous open the SYN is sent a second time, with an
        // acknowledgment.
        if self.max == self.iss {
            self.start_timing(self.iss + 1, now);
        } else {
            self.stop_timing();
        }
        self.nxt = self.iss + 1;
        self.max = self.nxt;
        self.last_sent = now;
    }

    /// Handles an expiry of the retransmission timer for the SYN. Returns `false` after too many
    /// expiries.
    pub(crate) fn on_syn_rto(&mut self, config: &Config) -> bool {
        if self.timeouts_in_a_row >= config.max_syn_timeouts {
            return false;
        }
        self.timeouts_in_a_row += 1;
        self.statistics.syn_timeouts += 1;
        self.rtt.back_off();
        self.stop_timing();
        self.nxt = self.iss;
        true
    }

    pub(crate) fn event(&self, at: Instant, repair: Repair) -> LossEvent {
        LossEvent { at, repair, cwnd: self.window(), flight: self.flight() }
    }
}
