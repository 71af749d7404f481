//! Connection between both halves where the receiver follows the rules of Linux.

use units::Instant;
use wire::{Segment, SeqNum, UnscaledWindow};

use crate::config::Config;
use crate::connection::Connection;
use crate::event::Accepted;
use crate::receive::{Facts, LinuxState, ReceiveInfo};

impl Connection {
    /// State of the receiver with the names of Linux's `TCP_INFO`; `None` if it follows the RFCs.
    pub fn receive_info(&self) -> Option<ReceiveInfo> {
        self.rcv.linux_info()
    }

    /// Window in bytes that a connection with this configuration advertises first. `timestamps`
    /// says that they are negotiated: Linux then counts shorter segments.
    pub fn initial_window(config: &Config, timestamps: bool) -> u32 {
        match config.receiver.linux() {
            None => config.receive_buffer,
            Some(options) => LinuxState::initial_window(options, config, timestamps),
        }
    }

    /// Handles a segment that a network device has joined from segments of `unit` bytes (receive
    /// offload). Otherwise [`on_segment`](Self::on_segment) assumes full-sized segments in a longer
    /// one.
    pub fn on_joined_segment(
        &mut self,
        segment: &Segment,
        unit: u32,
        now: Instant,
    ) -> Option<Accepted> {
        self.rcv.set_unit(Some(unit));
        let accepted = self.on_segment(segment, now);
        self.rcv.set_unit(None);
        accepted
    }

    /// Sends acknowledgments at once, or delays them as on an interactive connection
    /// (`TCP_QUICKACK`). A receiver that follows the RFCs ignores it.
    pub fn set_quick_ack(&mut self, quick: bool) {
        self.rcv.set_quick_ack(quick);
    }

    /// Applies the options of the SYNs to the receiver. `timestamps` says that the window of the
    /// local SYN was counted in segments with timestamps.
    #[cold]
    #[inline(never)]
    pub(crate) fn begin_receiving(&mut self, timestamps: bool) {
        let Some(&options) = self.config.receiver.linux() else { return };
        let offered = LinuxState::initial_window(&options, &self.config, timestamps);
        let smss = self.negotiated.smss(&self.config);
        self.rcv.become_linux(options, &self.config, &self.negotiated, smss, offered);
    }

    /// Facts of the sending half for the receiver.
    pub(crate) fn receiver_facts(&self, now: Instant) -> Facts {
        Facts { now, rto: self.rto(), srtt: self.srtt() }
    }

    /// The application has read `taken` bytes. With the rules of Linux, the receiver may then send
    /// an acknowledgment or a window update.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_read(&mut self, taken: u32) {
        if self.rcv.is_linux() {
            self.rcv.note_read(taken, self.state.can_receive());
        }
    }

    /// Handles the expiry of the timer for acknowledgments.
    #[cold]
    #[inline(never)]
    pub(crate) fn receiver_timer_expired(&mut self) {
        let rto = self.rto();
        self.rcv.on_timer_as_linux(rto);
    }

    /// Window and acknowledgment number of a segment that is sent with `payload_len` bytes.
    #[inline(never)]
    pub(crate) fn window_and_acknowledgment(
        &mut self,
        payload_len: u32,
        now: Instant,
    ) -> (UnscaledWindow, SeqNum) {
        let window = self.rcv.advertise_as_linux(self.negotiated.receive_scale);
        let ack = self.rcv.acknowledge_as_linux(&mut self.timers.delayed_ack);
        if payload_len > 0 {
            self.rcv.note_reply(now);
        }
        (window, ack)
    }
}
