//! Receiver as in Linux (`tcp_input.c`, `tcp_output.c`, `tcp_timer.c` of 6.12 to 6.18): immediate
//! acknowledgments at the beginning, a delay that adapts to the arrivals, acknowledgments by bytes
//! instead of segments, and fewer acknowledgments of out-of-order data.
//!
//! Unlike there, a segment is never joined with the one before, data beyond the window is cut off,
//! and the memory of packets is an assumption (see `window`).

use policy::Feedback;
use policy::rtt::LinuxRtoConfig;
use units::{Duration, Instant};
use wire::{SeqNum, SeqRange, WindowScale};

use crate::config::{Config, LinuxReceiver, Negotiated};

mod acknowledging;
mod arrival;
mod blocks;
mod rtt;
#[cfg(test)]
mod tests;
mod window;

use acknowledging::Acknowledging;
pub(crate) use arrival::Text;
use blocks::Blocks;
use rtt::ReceiverRtt;
use window::Window;

/// Facts of the sending half that the receiver uses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) now: Instant,
    /// Retransmission timeout.
    pub(crate) rto: Duration,
    /// Smoothed round-trip time.
    pub(crate) srtt: Option<Duration>,
}

/// State of the receiver with the names of Linux's `TCP_INFO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReceiveInfo {
    /// Estimated segment size of the peer in bytes.
    pub rcv_mss: u32,
    /// Bound of the advertised window in bytes.
    pub rcv_ssthresh: u32,
    /// Last advertised window in bytes.
    pub rcv_wnd: u32,
    /// Delay of acknowledgments; zero before the first data.
    pub ato: Duration,
    /// Round-trip time measured by the receiver; `None` before the first measurement.
    pub rcv_rtt: Option<Duration>,
}

/// State of the receiver. It is on the heap, so that other receivers do not pay for it.
#[derive(Debug)]
pub(crate) struct LinuxState {
    options: LinuxReceiver,
    sack: bool,
    scale: WindowScale,
    /// Bytes of options that every segment carries.
    option_bytes: u32,
    /// Largest payload that the peer may send.
    announced: u32,
    /// Estimated segment size of the peer (`rcv_mss`).
    mss: u32,
    /// Length of the last segment, if that was short.
    short_segment: Option<u32>,
    /// Length of the segments that a network device joined into the one that arrives now.
    unit: Option<u32>,
    acks: Acknowledging,
    window: Window,
    /// Window of an acknowledgment that is sent at once, until it is sent.
    selected: Option<u32>,
    rtt: ReceiverRtt,
    blocks: Blocks,
    /// Blocks of a compressed acknowledgment that was sent before a change of the blocks.
    flushed: Option<Blocks>,
    /// Whether a segment was marked as ECN-capable.
    ecn_seen: bool,
    /// Whether the segment that is handled completes the handshake.
    completes_handshake: bool,
    last_arrival: Instant,
}

impl LinuxState {
    /// Segment size that every IPv4 host accepts, and the smallest that Linux uses.
    const DEFAULT_MSS: u32 = 536;
    const MIN_MSS: u32 = 88;

    /// Smallest buffer: a segment (`SOCK_MIN_RCVBUF`).
    const MIN_BUFFER: u32 = 2304;

    /// Buffer at the beginning, and its limit.
    fn buffers(options: &LinuxReceiver, config: &Config) -> (u32, u32) {
        let limit = config.receive_buffer.max(Self::MIN_BUFFER);
        (options.initial_buffer.clamp(Self::MIN_BUFFER, limit), limit)
    }

    /// Window of a SYN or SYN-ACK in bytes. A SYN-ACK with timestamps counts shorter segments.
    pub(crate) fn initial_window(
        options: &LinuxReceiver,
        config: &Config,
        timestamps: bool,
    ) -> u32 {
        let mss = config.mss.bytes() - if timestamps { 12.min(config.mss.bytes() - 1) } else { 0 };
        Window::initial(Self::buffers(options, config).0, mss)
    }

    /// Creates the state after the exchange of the SYNs. `smss` is the sender maximum segment size.
    pub(super) fn new(
        options: LinuxReceiver,
        config: &Config,
        negotiated: &Negotiated,
        smss: u32,
        offered: u32,
    ) -> Self {
        let announced = negotiated.peer_smss(config);
        let buffers = Self::buffers(&options, config);
        let hint = announced.min(smss).min(offered / 2).min(Self::DEFAULT_MSS);
        let clock = LinuxRtoConfig {
            tick: config.rto.expiry_tick(),
            phase: config.rto.phase(),
            ..LinuxRtoConfig::HZ_1000
        };
        Self {
            options,
            sack: negotiated.feedback == Feedback::Sack,
            scale: negotiated.receive_scale,
            option_bytes: if negotiated.timestamps { 12 } else { 0 },
            announced,
            mss: hint.max(Self::MIN_MSS),
            short_segment: None,
            unit: None,
            acks: Acknowledging::new(clock, options.interactive),
            window: Window::new(buffers, offered, announced, negotiated.receive_scale),
            selected: None,
            rtt: ReceiverRtt::default(),
            blocks: Blocks::default(),
            flushed: None,
            ecn_seen: false,
            completes_handshake: false,
            last_arrival: Instant::ZERO,
        }
    }

    /// Starts the clocks when the connection is open.
    pub(super) fn start(&mut self, nxt: SeqNum, now: Instant) {
        self.acks.start(now);
        self.window.start(nxt, now);
        self.last_arrival = now;
    }

    pub(super) fn info(&self) -> ReceiveInfo {
        ReceiveInfo {
            rcv_mss: self.mss,
            rcv_ssthresh: self.window.threshold,
            rcv_wnd: self.window.offered,
            ato: self.acks.delay(),
            rcv_rtt: self.rtt.get(),
        }
    }

    /// Estimates the segment size of the peer (`tcp_measure_rcv_mss`). Segments shorter than the
    /// estimate lower it only if two in succession have the same length.
    fn measure(&mut self, text: &Text, memory: u32) {
        let last = self.short_segment.take();
        let len = self.unit_of(text.len);
        if len >= self.mss {
            if len > self.mss {
                self.window.measure(text.len, memory, self.options.moves_threshold);
            }
            self.mss = len.min(self.announced);
            if text.push {
                self.acks.note_pushed(1);
            }
            return;
        }
        let with_options = len + text.option_bytes;
        let is_full_sized = with_options >= Self::DEFAULT_MSS
            || with_options >= Self::MIN_MSS && !text.push && !text.fin;
        if is_full_sized {
            let len = with_options.saturating_sub(self.option_bytes);
            self.short_segment = Some(len);
            if Some(len) == last {
                self.mss = len;
                return;
            }
        }
        self.acks.note_pushed(2);
    }

    /// Length of the segments in `len` bytes that arrived together.
    fn unit_of(&self, len: u32) -> u32 {
        self.unit.unwrap_or(self.announced).min(len).max(1)
    }

    /// Range for a DSACK (RFC 2883), if it may be reported.
    fn dsack(&self, start: SeqNum, end: SeqNum) -> Option<SeqRange> {
        SeqRange::new(start, end).filter(|_| self.sack && self.options.dsack)
    }

    /// Begins to acknowledge each segment at once (`tcp_enter_quickack_mode`).
    fn enter_quick_mode(&mut self, max: u32) {
        self.raise_quick(max);
        self.acks.leave_interactive();
    }

    fn raise_quick(&mut self, max: u32) {
        let fit = match self.window.offered / (2 * self.mss) {
            0 => 2,
            fit => fit,
        };
        self.acks.raise_quick(fit.min(max));
    }

    /// In-order data has arrived (`tcp_event_data_recv`). `nxt` is RCV.NXT after it.
    fn data_received(&mut self, text: &Text, nxt: SeqNum, facts: &Facts) {
        let memory = self.memory_of(text.len);
        self.window.hold(memory);
        self.acks.schedule();
        self.measure(text, memory);
        self.rtt.measure_window(nxt, self.window.offered, facts.now);
        if self.acks.note_data(facts) {
            self.raise_quick(Acknowledging::MAX_QUICK);
        }
        self.check_mark(text);
        if text.len >= 128 && self.window.grow(text.len, memory, self.mss) {
            self.acks.keep_quick();
        }
    }

    fn memory_of(&self, len: u32) -> u32 {
        let unit = self.unit_of(len) + self.option_bytes;
        Window::memory_of(len + self.option_bytes, unit)
    }

    /// RFC 3168 §6.1.3: marks are echoed without delay. Linux also takes a segment that is not
    /// ECN-capable for a retransmission.
    fn check_mark(&mut self, text: &Text) {
        match text.mark {
            Some(true) if !text.echoes_mark => self.enter_quick_mode(2),
            None if self.ecn_seen && text.ecn => self.enter_quick_mode(2),
            _ => {}
        }
        self.ecn_seen |= text.mark.is_some();
    }

    /// Discards the out-of-order data.
    pub(super) fn renege(&mut self) {
        self.blocks.clear();
    }
}
