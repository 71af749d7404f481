//! Sender that counts packets, as Linux does: RACK-TLP (RFC 8985), PRR (RFC 9937), F-RTO (RFC
//! 5682), undo by timestamps and DSACKs (RFC 3522, RFC 3708), and NewReno where the peer has no
//! SACK.
//!
//! The policies in `policy` decide; this module has the state machine of an acknowledgment and of
//! the timers around them. It follows the order in which Linux applies the steps, because the order
//! decides what is sent. Unlike there, a segment is retransmitted with its original boundaries
//! (Linux merges adjacent small ones), and a reported segment is never in flight, even if its
//! retransmission may be.

use policy::congestion::MAX_WINDOW;
use policy::loss::{Rack, RackFacts, Reordering, Scoreboard, SentSegment, TailLossProbe};
use policy::packets::{Pacing, PacketController, PacketWindow, RateFacts, WindowUsage};
use policy::recovery::{Prr, Undo};
use policy::rtt::{LinuxRtoConfig, LinuxRtt};
use policy::{Feedback, RackOptions};
use units::{Duration, Instant};
use wire::SeqNum;

use super::ecn::EcnState;
use crate::config::{Config, Negotiated, SendMemory};

mod ack;
mod alert;
mod defer;
mod groups;
mod info;
mod limits;
mod memory;
mod output;
mod reduction;
mod sacktag;
mod shortcuts;
mod timeout;
mod timer;
mod writes;

pub(crate) use ack::AckArrival;
pub use info::{CongestionState, TcpInfo};
pub(super) use output::{Force, Next};
pub(super) use timeout::PacketExpiry;
pub(in crate::send) use timer::TimerKind;
pub use writes::WriteFlags;
use writes::Writes;

/// State of the sender. It is on the heap, so that other senders do not pay for it.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts, each of which can hold alone")]
pub(crate) struct PacketSender {
    state: CongestionState,
    options: RackOptions,
    /// Whether the peer reports out-of-order data.
    sack: bool,
    window: PacketWindow,
    controller: PacketController,
    usage: WindowUsage,
    initial_window: u32,
    restarts_after_idle: bool,
    pub(crate) rtt: LinuxRtt,
    rto_config: LinuxRtoConfig,
    rack: Rack,
    reordering: Reordering,
    probe: TailLossProbe,
    prr: Prr,
    undo: Undo,
    /// Slow start threshold before the reduction, in packets; `None` if it must not be restored.
    prior_ssthresh: Option<u32>,
    /// SND.NXT when the state of congestion control changed (Linux's `high_seq`).
    recovery_point: SeqNum,
    /// Whether F-RTO examines the last timeout.
    frto: bool,
    /// Without SACK: duplicate acknowledgments, each of which stands for a delivered packet.
    duplicates: u32,
    /// Packets delivered, and packets found lost, since the connection began.
    delivered: u32,
    lost: u32,
    retransmissions: u32,
    /// Segments that DSACKs have reported.
    dsacked: u32,
    /// Timeouts since the last acknowledgment of new data.
    timeouts: u8,
    pub(crate) timer: timer::Timer,
    /// Pacing, and whether something waits for it.
    pacing: Pacing,
    pub(in crate::send) waits_for_pacing: bool,
    pub(crate) output: output::Output,
    group: groups::Group,
    pub(in crate::send) blocks: defer::Blocks,
    pub(crate) writes: Writes,
    /// Whether unsent data waits with nothing in flight, so that a timer must end the wait.
    pub(crate) waits_for_timer: bool,
    limits: limits::Limits,
    /// Memory of what the application has written, if it is limited.
    memory: Option<Box<memory::Memory>>,
    /// Window probes without an answer that opens the window.
    pub(crate) window_probes: u8,
    last_sent: Instant,
}

/// Parts of the sending half that the packet sender reads and changes.
#[derive(Debug)]
pub(super) struct Half<'a> {
    pub(super) board: &'a mut Scoreboard,
    pub(super) ecn: &'a mut EcnState,
    /// SND.UNA, SND.NXT, SND.WND, and the largest window so far.
    pub(super) una: SeqNum,
    pub(super) nxt: SeqNum,
    pub(super) wnd: u32,
    pub(super) max_wnd: u32,
    /// Sender maximum segment size in bytes.
    pub(super) smss: u32,
    /// Length of the data and the FIN that have not been sent.
    pub(super) unsent: u32,
    pub(super) now: Instant,
}

impl Half<'_> {
    /// Sequence number after the peer's window.
    fn window_end(&self) -> SeqNum {
        self.una + self.wnd
    }

    /// Number of segments in flight or reported: Linux's `packets_out`.
    fn packets_out(&self) -> u32 {
        self.board.segments()
    }

    /// Sequence number after the highest reported segment, or SND.UNA if none is reported.
    fn highest_reported(&self) -> SeqNum {
        self.board.highest_reported_end().unwrap_or(self.una)
    }

    /// Returns whether retransmissions are outstanding.
    fn any_resent(&self) -> bool {
        self.board.resent_segments() > 0
            || self.board.first().is_some_and(|segment| segment.was_resent())
    }

    /// Returns whether the peer's window admits a retransmission. The first segment is sent in any
    /// case, as a probe of a window that was shrunk to zero.
    fn may_resend(&self, segment: &SentSegment) -> bool {
        let (seq, len) = segment.range();
        seq == self.una || !(seq + len).after(self.window_end())
    }
}

impl PacketSender {
    /// Creates the sender of a connection whose first sequence number is `iss`; `None` if the
    /// policy of the configuration counts bytes.
    pub(super) fn new(config: &Config, negotiated: &Negotiated, iss: SeqNum) -> Option<Self> {
        let options = config.sender.rack()?;
        let smss = negotiated.smss(config);
        let initial_window = config.sender.initial_window.packets(smss);
        let rto_config = Self::rto_config(config);
        let controller = config.sender.packet_controller(rto_config.tick, Instant::ZERO, iss);
        let memory = match config.send_memory {
            SendMemory::Unlimited => None,
            SendMemory::Linux => Some(Box::new(memory::Memory::new(config.mss.bytes()))),
        };
        Some(Self {
            state: CongestionState::Open,
            options,
            sack: negotiated.feedback == Feedback::Sack,
            window: PacketWindow::new(initial_window),
            controller,
            usage: WindowUsage::new(Instant::ZERO, iss),
            initial_window,
            restarts_after_idle: config.restart_after_idle,
            rtt: LinuxRtt::new(&rto_config),
            rto_config,
            rack: Rack::new(iss),
            reordering: Reordering::default(),
            probe: TailLossProbe::default(),
            prr: Prr::default(),
            undo: Undo::default(),
            prior_ssthresh: None,
            recovery_point: iss,
            frto: false,
            duplicates: 0,
            delivered: 0,
            lost: 0,
            retransmissions: 0,
            dsacked: 0,
            timeouts: 0,
            timer: timer::Timer::OFF,
            pacing: Pacing::new(options.pacing),
            waits_for_pacing: false,
            output: output::Output::default(),
            group: groups::Group::default(),
            blocks: defer::Blocks::new(iss, config.window_divisor),
            writes: Writes::default(),
            waits_for_timer: false,
            limits: limits::Limits::default(),
            memory,
            window_probes: 0,
            last_sent: Instant::ZERO,
        })
    }

    fn rto_config(config: &Config) -> LinuxRtoConfig {
        LinuxRtoConfig {
            min: config.rto.min(),
            max: config.rto.max(),
            initial: config.rto.initial(),
            tick: config.rto.expiry_tick(),
            phase: config.rto.phase(),
        }
    }

    /// Applies the negotiated options before the first data.
    pub(super) fn negotiated(
        &mut self,
        config: &Config,
        negotiated: &Negotiated,
        una: SeqNum,
        syn_timeouts: u32,
        now: Instant,
    ) {
        self.sack = negotiated.feedback == Feedback::Sack;
        self.initial_window = config.sender.initial_window.packets(negotiated.smss(config));
        // RFC 6298 §5.7, RFC 6928 §2: after more than one lost SYN the initial window is one
        // segment.
        self.window.cwnd = if syn_timeouts > 1 { 1 } else { self.initial_window };
        self.recovery_point = una;
        self.usage = WindowUsage::new(now, una);
        self.blocks = defer::Blocks::new(una, config.window_divisor);
        self.controller = config.sender.packet_controller(self.rto_config.tick, now, una);
    }

    /// Takes the round-trip time of the handshake, if it could be measured.
    pub(super) fn handshake_done(
        &mut self,
        rtt: Option<Duration>,
        smss: u32,
        una: SeqNum,
        nxt: SeqNum,
        now: Instant,
    ) {
        match rtt {
            Some(rtt) => self.rtt.sample(rtt, una, nxt, now),
            None => self.rtt.after_syn_timeout(),
        }
        self.set_pacing_rate(smss, 0);
    }

    /// Sets the pacing rate for the window and the round-trip time in force.
    fn set_pacing_rate(&mut self, smss: u32, packets_out: u32) {
        self.pacing.set_rate(&RateFacts {
            cwnd: self.window.cwnd,
            ssthresh: self.window.ssthresh,
            packets_out,
            smss,
            srtt: self.rtt.srtt(),
        });
    }

    /// Time at which the timer expires, or at which pacing lets the next packet leave.
    pub(crate) fn deadline(&self) -> Instant {
        let deadline = self.timer.deadline();
        if self.waits_for_pacing { deadline.min(self.pacing.next()) } else { deadline }
    }

    /// Number of packets in the network (Linux's `tcp_packets_in_flight`).
    pub(super) fn in_flight(&self, board: &Scoreboard) -> u32 {
        board.pipe_segments().saturating_sub(self.duplicates)
    }

    /// Number of packets that have arrived out of order: reported ones, or duplicates without SACK.
    fn sacked(&self, board: &Scoreboard) -> u32 {
        if self.sack { board.sacked_segments() } else { self.duplicates }
    }

    fn rack_facts(&self, half: &Half<'_>) -> RackFacts<'_> {
        self.rack_facts_at(half.board, half.now)
    }

    fn rack_facts_at(&self, board: &Scoreboard, now: Instant) -> RackFacts<'_> {
        RackFacts {
            now,
            in_recovery: self.state >= CongestionState::Recovery,
            sacked: board.sacked_segments(),
            reordering: &self.reordering,
            min_rtt: self.rtt.min_rtt(now),
            srtt: self.rtt.srtt(),
        }
    }

    /// Window in force in bytes, for segmenters and traces.
    pub(super) fn window_bytes(&self, smss: u32) -> u32 {
        self.window.cwnd.saturating_mul(smss).min(MAX_WINDOW)
    }

    /// Slow start threshold in bytes.
    pub(super) fn ssthresh_bytes(&self, smss: u32) -> u32 {
        self.window.ssthresh.saturating_mul(smss).min(MAX_WINDOW)
    }

    /// Returns whether a recovery is active, after a loss or after a timeout.
    pub(super) fn in_recovery(&self) -> bool {
        self.state >= CongestionState::Recovery
    }

    /// Returns whether the state is that of a recovery after a timeout.
    pub(super) fn is_after_timeout(&self) -> bool {
        self.state == CongestionState::Loss
    }

    /// Returns whether a segment whose payload ends before `end` ends a write.
    pub(crate) fn pushes_at(&self, end: SeqNum) -> bool {
        self.writes.pushes_at(end)
    }

    /// Retransmission timeout in force.
    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Heap memory of the sender in bytes.
    pub(super) fn memory(&self) -> usize {
        let memory =
            self.memory.as_ref().map_or(0, |memory| size_of_val(&**memory) + memory.memory());
        size_of::<Self>() + self.writes.memory() + memory
    }

    /// Sets the timer.
    fn set_timer_to(&mut self, kind: TimerKind, now: Instant, timeout: Duration) {
        self.timer.set(kind, now, timeout, &self.rto_config);
    }
}
