//! The sending half: window, retransmission queue, loss response.
//!
//! The sequence space is `snd.una ≤ snd.nxt ≤ snd.max`. A timeout sets `nxt` back to `una`, and
//! everything up to `max` is segmented and sent again. Otherwise `nxt = max`.

use policy::loss::{LossDetector, Scoreboard};
use policy::recovery::Recovery;
use policy::rtt::RttEstimator;
use policy::{CongestionController, Segmenter};
use units::Instant;
use wire::SeqNum;

use crate::config::{Config, Negotiated};
use crate::event::{LossEvent, Repair};

mod ack;
mod copies;
mod ecn;
mod handshake;
mod packet_mode;
pub(crate) mod packets;
mod policies;
mod repair;
mod reports;
mod shortcuts;
mod snapshot;
mod special;
mod state;
mod tail;
mod timing;

pub(crate) use copies::TailCopies;
use ecn::EcnState;
pub(crate) use packet_mode::PacketTimeout;
pub(crate) use packets::{AckArrival, PacketSender};
pub use packets::{CongestionState, TcpInfo, WriteFlags};
use policies::Policies;
pub(crate) use repair::Expiry;
use repair::RepairState;
pub use snapshot::{QueuedSegment, RackSnapshot, SendSnapshot, TimerName};
use special::Special;
pub use state::{SendState, SendStatistics};

/// State of the sending half. The order of the fields matters: see
/// [`Connection`](crate::Connection).
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Sender {
    pub(crate) statistics: SendStatistics,
    pub(crate) rtt: RttEstimator,
    policies: Policies,
    pub(crate) special: Special,
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
            special: Special::new(config, negotiated, iss),
            timed_end: iss,
            timed_at: Instant::NEVER,
            app_limited_until: iss,
            timeouts_in_a_row: 0,
            probe: false,
            probing: false,
        }
    }

    /// Applies the negotiated options: replaces the policies and begins a slow start.
    pub(crate) fn negotiated(&mut self, config: &Config, negotiated: &Negotiated, now: Instant) {
        self.smss = negotiated.smss(config);
        self.policies = Policies::new(config, negotiated);
        self.policies.customize(config, self.smss);
        if self.statistics.syn_timeouts > 0 {
            // RFC 5681 §3.1: after a lost SYN the initial window is one segment.
            self.policies.controller.set_cwnd(self.smss);
        }
        match self.special.packets_mut() {
            Some(packets) => {
                packets.negotiated(config, negotiated, self.una, self.statistics.syn_timeouts, now);
            }
            None => self.special = Special::new(config, negotiated, self.iss),
        }
        self.begin_slow_start(self.window());
    }

    /// Informs the segmenter of a slow start with this window, in bytes.
    fn begin_slow_start(&mut self, window: u32) {
        let view = self.view();
        self.policies.segmenter.on_slow_start(window, &view);
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
        if self.special.reported().is_some() {
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

    pub(crate) fn event(&self, at: Instant, repair: Repair) -> LossEvent {
        LossEvent { at, repair, cwnd: self.window(), flight: self.flight() }
    }
}
