//! Steps of the receiver as in Linux, from the arrival of a segment to its acknowledgment.

use policy::Feedback;
use units::{Duration, Instant};
use wire::{
    Control, Ecn, Flags, SackBlocks, Segment, SeqNum, SeqRange, UnscaledWindow, WindowScale,
};

use super::acknowledging::{Acknowledging, Decision};
use super::window::Tuning;
use super::{Facts, LinuxState, ReceiveInfo};
use crate::config::{Config, LinuxReceiver, Negotiated};
use crate::event::Accepted;
use crate::receive::Receiver;
use crate::receive::special::Special;

/// Payload of a segment, and the parts of its header that decide its acknowledgment.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "flags of a segment")]
pub(crate) struct Text {
    pub(super) seq: SeqNum,
    pub(super) len: u32,
    pub(super) fin: bool,
    pub(super) push: bool,
    /// Bytes of timestamps and SACK blocks, padded.
    pub(super) option_bytes: u32,
    /// Whether ECN is negotiated, and the mark of an ECN-capable segment.
    pub(super) ecn: bool,
    pub(super) mark: Option<bool>,
    /// Whether marks are echoed already.
    pub(super) echoes_mark: bool,
}

impl Text {
    /// Reads a segment.
    pub(crate) fn of(segment: &Segment, ecn: bool, echoes_mark: bool) -> Self {
        let timestamps = if segment.options.timestamps.is_some() { 12 } else { 0 };
        let blocks = match segment.options.sack_blocks().len() {
            0 => 0,
            some => 4 + 8 * u32::try_from(some).unwrap_or(0),
        };
        Self {
            seq: segment.seq,
            len: segment.payload_len,
            fin: segment.control == Control::Fin,
            push: segment.flags.has(Flags::PSH),
            option_bytes: timestamps + blocks,
            ecn,
            mark: match segment.flags.ecn() {
                Ecn::NotEct => None,
                ecn => Some(ecn == Ecn::Ce),
            },
            echoes_mark,
        }
    }

    fn end(&self) -> SeqNum {
        self.seq + self.len
    }
}

impl Receiver {
    /// Applies the options of the SYNs. `offered` is the window of the SYN of this end, and `smss`
    /// the sender maximum segment size.
    pub(crate) fn become_linux(
        &mut self,
        options: LinuxReceiver,
        config: &Config,
        negotiated: &Negotiated,
        smss: u32,
        offered: u32,
    ) {
        let unscaled = negotiated.receive_scale == WindowScale::NONE;
        let limited = unscaled && options.limits_unscaled_window;
        let offered = if limited { offered.min(u32::from(u16::MAX)) } else { offered };
        // TCP Santa Cruz needs an acknowledgment for each arrival.
        if negotiated.feedback != Feedback::AckWindow {
            let state = LinuxState::new(options, config, negotiated, smss, offered);
            self.special = Special::of_linux(state);
            self.edge = self.nxt + offered;
            // The window updates of the RFCs follow from the capacity.
            self.capacity = 0;
        }
    }

    /// Starts the clocks when the connection is open. `by_text` says that the segment which
    /// completes the handshake may carry data.
    pub(crate) fn start_linux(&mut self, by_text: bool, now: Instant) {
        let nxt = self.nxt;
        if let Some(linux) = self.special.linux_mut() {
            linux.start(nxt, now);
            // Linux does not measure with that segment.
            linux.completes_handshake = by_text;
        }
    }

    /// State for `TCP_INFO`, if the rules of Linux are in force.
    pub(crate) fn linux_info(&self) -> Option<ReceiveInfo> {
        self.special.linux().map(LinuxState::info)
    }

    /// Returns whether the rules of Linux are in force.
    pub(crate) fn is_linux(&self) -> bool {
        self.special.linux().is_some()
    }

    /// Returns whether an acceptable segment is dropped because it ends beyond the window
    /// (`tcp_sequence`). With nothing to read, Linux takes it in spite of the window.
    pub(crate) fn drops_beyond_window(&self, seq: SeqNum, seq_len: u32) -> bool {
        self.special.linux().is_some_and(|linux| linux.options.drops_beyond_window)
            && self.unread > 0
            && (seq + seq_len).after(self.edge)
    }

    /// Sets the length of the segments that a network device joined into the next one.
    pub(crate) fn set_unit(&mut self, unit: Option<u32>) {
        if let Some(linux) = self.special.linux_mut() {
            linux.unit = unit;
        }
    }

    /// Measures the round-trip time with the echo of an acceptable segment.
    pub(crate) fn measure_echo(&mut self, echo: u32, rtt: Option<Duration>, seq_len: u32) {
        if let Some(linux) = self.special.linux_mut()
            && !std::mem::take(&mut linux.completes_handshake)
        {
            linux.rtt.measure_echo(echo, rtt, seq_len >= linux.mss);
        }
    }

    /// Takes the new part of a payload (`tcp_data_queue`). The acknowledgment is decided later, by
    /// [`settle_acknowledgment`](Self::settle_acknowledgment).
    pub(crate) fn text_as_linux(
        &mut self,
        text: &Text,
        facts: &Facts,
        timer: &mut Instant,
    ) -> Option<Accepted> {
        let (nxt, end) = (self.nxt, text.end());
        let linux = self.special.linux_mut()?;
        linux.last_arrival = facts.now;
        if text.seq != nxt || text.fin || !self.out_of_order.is_empty() {
            // Only a segment without surprises leaves a pending report as it is.
            self.duplicate = None;
        }
        let is_old = end.at_or_before(nxt);
        if text.seq.before(nxt) {
            // RFC 2883 §4.1: data that arrived before.
            self.duplicate = linux.dsack(text.seq, end.earliest(nxt));
        }
        if is_old || self.edge == nxt || text.seq.at_or_after(self.edge) {
            linux.enter_quick_mode(Acknowledging::MAX_QUICK);
            linux.acks.schedule();
            return None;
        }
        // Linux does not cut a segment at the edge of the window.
        let mut stop = end;
        if let Some(fin) = self.fin {
            stop = stop.earliest(fin);
        }
        let start = text.seq.latest(nxt);
        let fresh = SeqRange::new(start, stop)?;
        let accepted = Accepted {
            skip: start.distance_from(text.seq),
            offset: self.unread + start.distance_from(nxt),
            len: fresh.len(),
        };
        if start == nxt {
            self.in_order(text, stop, facts);
            return Some(accepted);
        }
        self.out_of_order_as_linux(text, fresh, timer).then_some(accepted)
    }

    fn in_order(&mut self, text: &Text, stop: SeqNum, facts: &Facts) {
        let before = self.nxt;
        self.advance(stop);
        let nxt = self.nxt;
        self.edge = self.edge.latest(nxt);
        let Some(linux) = self.special.linux_mut() else { return };
        linux.data_received(text, nxt, facts);
        if self.out_of_order.is_empty() {
            return;
        }
        // RFC 2883 §4.1: data that had arrived out of order. Only adjacent ranges fit into one
        // report, so the others are not reported.
        let mut again: Vec<SeqRange> =
            self.out_of_order.iter().copied().filter(|held| held.start().before(nxt)).collect();
        again.sort_by_key(|held| held.start().distance_from(before));
        for held in again {
            let overlap = linux.dsack(held.start(), held.end().earliest(nxt));
            self.duplicate = joined(self.duplicate, overlap);
        }
        self.merge_reached_ranges();
        let nxt = self.nxt;
        self.edge = self.edge.latest(nxt);
        if let Some(linux) = self.special.linux_mut() {
            linux.blocks.remove_below(nxt);
            if self.out_of_order.is_empty() {
                linux.blocks.clear();
                // RFC 5681 §4.2: a segment that fills the last gap.
                linux.acks.require_now();
            }
        }
    }

    /// Keeps out-of-order data (`tcp_data_queue_ofo`). Returns whether there was room.
    fn out_of_order_as_linux(&mut self, text: &Text, fresh: SeqRange, timer: &mut Instant) -> bool {
        let Some(linux) = self.special.linux_mut() else { return false };
        linux.check_mark(text);
        let memory = linux.memory_of(text.len);
        if linux.options.measures_out_of_order {
            linux.measure(text, memory);
        }
        linux.acks.schedule();
        let mut held: Vec<SeqRange> = self.out_of_order.clone();
        held.retain(|held| held.start().before(fresh.end()) && held.end().after(fresh.start()));
        held.sort_by_key(|held| held.start().distance_from(self.nxt));
        let is_known = held.iter().any(|held| held.contains(fresh));
        let mut again = None;
        let has_fin = text.fin && fresh.end() == text.end();
        // A FIN that had arrived before belongs to the duplicate.
        let fin_again = u32::from(has_fin && self.fin == Some(fresh.end()));
        for held in held {
            // RFC 2883 §4.1.2: the part that had arrived before.
            let start = fresh.start().latest(held.start());
            let mut end = fresh.end().earliest(held.end());
            if end == fresh.end() {
                end += fin_again;
            }
            again = joined(again, linux.dsack(start, end));
        }
        let kept = self.insert_out_of_order(fresh);
        self.duplicate = again;
        let end = fresh.end() + u32::from(has_fin);
        self.report(SeqRange::new(fresh.start(), end).unwrap_or(fresh), timer);
        if let Some(linux) = self.special.linux_mut()
            && !is_known
            && kept
        {
            // A window that grows would hide duplicates from a peer that identifies them by an
            // unchanged window (RFC 5681 §2).
            if linux.sack && linux.window.grow(text.len, memory, linux.mss) {
                linux.acks.keep_quick();
            }
            linux.window.hold(memory);
        }
        let (unread, span) = (self.unread, self.out_of_order_span());
        if let Some(linux) = self.special.linux_mut() {
            let facts = linux.tuning(unread, span);
            linux.window.tune_for_out_of_order(&facts);
        }
        kept
    }

    /// Bytes from RCV.NXT to the end of the out-of-order data.
    fn out_of_order_span(&self) -> u32 {
        let ends = self.out_of_order.iter().map(|held| held.end().distance_from(self.nxt));
        ends.max().unwrap_or(0)
    }

    /// Adds a range to the SACK blocks. Blocks that a delayed acknowledgment was to report and that
    /// may be displaced are reported before.
    fn report(&mut self, range: SeqRange, timer: &mut Instant) {
        let Some(linux) = self.special.linux_mut() else { return };
        if !linux.sack {
            return;
        }
        if linux.blocks.displaces(range) && linux.acks.is_compressing() {
            linux.flushed = Some(linux.blocks);
            linux.acks.note_sent();
            *timer = Instant::NEVER;
            self.acks_due = self.acks_due.saturating_add(1);
        }
        linux.blocks.add(range);
    }

    /// The peer's FIN has arrived before data that is missing. A segment with data, which is not
    /// `is_alone`, has been handled already.
    pub(crate) fn early_fin(&mut self, fin: SeqNum, is_alone: bool, timer: &mut Instant) {
        if !is_alone {
            return;
        }
        if let Some(linux) = self.special.linux_mut() {
            linux.acks.schedule();
        }
        if let Some(range) = SeqRange::new(fin, fin + 1) {
            self.report(range, timer);
        }
    }

    /// Consumes the FIN (`tcp_fin`). `at_once` says that this end has closed too.
    pub(crate) fn finish_as_linux(&mut self, at_once: bool) {
        self.consume_fin();
        self.duplicate = None;
        let Some(linux) = self.special.linux_mut() else { return };
        linux.blocks.clear();
        linux.acks.schedule();
        // Without memory every arrival is acknowledged at once (`tcp_try_rmem_schedule`).
        if at_once || linux.window.is_over() {
            linux.acks.require_now();
        }
        if !at_once {
            linux.acks.become_interactive();
        }
    }

    /// Returns whether a segment is older than RCV.NXT and ends at the last acknowledgment sent, or
    /// after it.
    pub(crate) fn has_just_arrived(&self, seq: SeqNum, seq_len: u32) -> bool {
        let end = seq + seq_len;
        seq.before(self.nxt) && end.at_or_before(self.nxt) && end.at_or_after(self.last_ack_sent)
    }

    /// A segment with sequence numbers was not acceptable: it is old, or beyond the window.
    pub(crate) fn note_unacceptable(&mut self, seq: SeqNum, len: u32) {
        let (nxt, acknowledged) = (self.nxt, self.last_ack_sent);
        let Some(linux) = self.special.linux_mut() else { return };
        if len == 0 || seq.at_or_after(nxt) {
            return;
        }
        linux.enter_quick_mode(Acknowledging::MAX_QUICK);
        if (seq + len).at_or_after(acknowledged) {
            linux.acks.schedule();
        }
        self.duplicate = linux.dsack(seq, (seq + len).earliest(nxt));
    }

    /// Decides the acknowledgment of the segment that was handled (`__tcp_ack_snd_check`).
    pub(crate) fn settle_acknowledgment(&mut self, facts: &Facts, timer: &mut Instant) {
        let unacknowledged = self.nxt.distance_from(self.last_ack_sent);
        let (nxt, unread) = (self.nxt, self.unread);
        let Some(linux) = self.special.linux_mut() else { return };
        linux.unit = None;
        if !linux.acks.is_scheduled() {
            return;
        }
        // More than a segment: bytes count, because segments may be short.
        let is_much =
            unacknowledged > linux.mss && (unread == 0 || linux.select() >= linux.window.offered);
        let decision = if is_much || linux.acks.is_immediate() {
            Decision::Now
        } else if self.out_of_order.is_empty() && self.fin.is_none() {
            linux.acks.delayed(facts)
        } else if linux.sack {
            let rtt = linux.rtt.get().unwrap_or_default();
            let rtt = facts.srtt.map_or(rtt, |srtt| srtt.min(rtt));
            linux.acks.of_out_of_order(&linux.options, nxt, rtt, facts.now)
        } else {
            Decision::Now
        };
        match decision {
            Decision::Nothing => {}
            Decision::Now => {
                // Linux sends it before the application can read what has arrived.
                let selected = linux.select();
                linux.selected = Some(selected);
                self.acks_due = self.acks_due.saturating_add(1);
            }
            Decision::At(at) => *timer = at,
        }
    }

    /// Handles the expiry of the timer for acknowledgments.
    pub(crate) fn on_timer_as_linux(&mut self, rto: Duration) {
        if let Some(linux) = self.special.linux_mut()
            && linux.acks.on_timeout(rto)
        {
            self.acks_due = self.acks_due.max(1);
        }
    }

    /// `TCP_QUICKACK`: acknowledgments at once, or delayed ones. An acknowledgment that waits is
    /// sent if everything has been read.
    pub(crate) fn set_quick_ack(&mut self, quick: bool) {
        let is_read = self.unread == 0 && self.out_of_order.is_empty();
        let Some(linux) = self.special.linux_mut() else { return };
        linux.acks.set_interactive(!quick);
        if quick && is_read && linux.acks.is_scheduled() {
            self.acks_due = self.acks_due.max(1);
        }
    }

    /// The application has read `taken` bytes (`tcp_cleanup_rbuf`). `open` says that the peer can
    /// still send data.
    pub(crate) fn note_read(&mut self, taken: u32, open: bool) {
        let held =
            self.unread + taken + self.out_of_order.iter().map(|held| held.len()).sum::<u32>();
        let is_empty = held == taken;
        let window = self.window();
        let unacknowledged = self.nxt.distance_from(self.last_ack_sent);
        let (nxt, unread, span) = (self.nxt, self.unread, self.out_of_order_span());
        let Some(linux) = self.special.linux_mut() else { return };
        if taken > 0 {
            linux.window.release(taken, held);
            let rtt = linux.rtt.get().unwrap_or_default();
            // Linux measures after each packet. The first one of a long read ends the measurement,
            // and the others wait to be read at that time.
            let facts = linux.tuning(unread + taken.saturating_sub(linux.mss), span);
            linux.window.tune(nxt - facts.unread, rtt, linux.last_arrival, &facts);
        }
        let scheduled = linux.acks.is_scheduled()
            && (unacknowledged > linux.mss
                || taken > 0 && is_empty && linux.acks.acknowledges_read());
        let reopens = taken > 0 && open && linux.window.is_worth_probing(window) && {
            let selected = linux.select();
            selected > 0 && selected >= 2 * window
        };
        if scheduled || reopens {
            self.acks_due = self.acks_due.max(1);
        }
    }

    /// Returns up to `room` SACK blocks, first the duplicate.
    pub(in crate::receive) fn blocks_as_linux(&mut self, room: usize) -> SackBlocks {
        let Some(linux) = self.special.linux_mut() else { return SackBlocks::EMPTY };
        let mut all = SackBlocks::EMPTY;
        let flushed = linux.flushed.take();
        let duplicate = if flushed.is_some() { None } else { self.duplicate.take() };
        let blocks = flushed.unwrap_or(linux.blocks);
        for block in duplicate.into_iter().chain(blocks.iter()).take(room) {
            all.push(block);
        }
        all
    }

    /// Returns the window to advertise (`tcp_select_window`).
    pub(crate) fn advertise_as_linux(&mut self, scale: WindowScale) -> UnscaledWindow {
        let current = self.window();
        if let Some(linux) = self.special.linux_mut() {
            let selected = linux.selected.take().unwrap_or_else(|| linux.select());
            // RFC 9293 §3.8.6: a window is never taken back.
            let window = if selected < current {
                current.next_multiple_of(1 << scale.shift())
            } else {
                selected
            };
            linux.window.offered = window;
            self.edge = self.nxt + window;
        }
        UnscaledWindow::from_bytes(self.window(), scale)
    }

    /// Records that an acknowledgment is sent. Returns its number.
    pub(crate) fn acknowledge_as_linux(&mut self, timer: &mut Instant) -> SeqNum {
        self.acks_due = self.acks_due.saturating_sub(1);
        self.last_ack_sent = self.nxt;
        // The state of a flushed acknowledgment was changed when it was decided.
        if let Some(linux) = self.special.linux_mut()
            && linux.flushed.is_none()
        {
            linux.acks.note_sent();
            *timer = Instant::NEVER;
        }
        self.nxt
    }

    /// Records that payload is sent.
    pub(crate) fn note_reply(&mut self, now: Instant) {
        if let Some(linux) = self.special.linux_mut() {
            linux.acks.note_reply(now);
        }
    }
}

impl LinuxState {
    /// Facts for the size of the buffer. `span` is the extent of the out-of-order data.
    fn tuning(&self, unread: u32, span: u32) -> Tuning {
        Tuning { unread, out_of_order: self.options.tunes_for_out_of_order.then_some(span) }
    }

    /// Selects the window to advertise. A buffer that is half full ends acknowledgments at once.
    fn select(&mut self) -> u32 {
        let (window, crowded) = self.window.select(self.mss, self.scale);
        if crowded {
            self.acks.end_quick();
        }
        window
    }
}

/// Extends a report of duplicate data by an adjacent range.
fn joined(report: Option<SeqRange>, range: Option<SeqRange>) -> Option<SeqRange> {
    match (report, range) {
        (None, range) => range,
        (Some(report), Some(range)) if report.touches(range) => Some(report.union(range)),
        (report, _) => report,
    }
}
