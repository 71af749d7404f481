//! Memory of the data that an application has written, as Linux accounts it (`sk_wmem_queued` and
//! `sk_sndbuf`), and how much of it an application may use.
//!
//! An application that writes more waits. It is woken when a third of the limit is free, and the
//! limit grows while the application is the reason for an unused congestion window. After a loss
//! the sender may therefore have nothing to send, although the application has more data.

use std::collections::VecDeque;

use wire::SeqNum;

use super::{Half, PacketSender};

/// Memory of one buffer besides its payload in bytes: the `truesize` of an empty `sk_buff` on a
/// 64-bit machine.
const OVERHEAD: u32 = 832;
/// Largest headers in bytes (`MAX_TCP_HEADER`).
const HEADERS: u32 = 256;
/// Parts of the overhead in bytes: `struct skb_shared_info` and `struct sk_buff`.
const SHARED_INFO: u32 = 320;
const SK_BUFF: u32 = 256;
/// Least number of segments for which there is memory (`TCP_INIT_CWND`).
const LEAST_SEGMENTS: u32 = 10;
/// Largest limit in bytes (third value of `tcp_wmem`).
const LARGEST_LIMIT: u32 = 4 << 20;

/// Memory of the data that was written and has not been acknowledged. Linux keeps it in buffers of
/// several segments. Each has an overhead, and the memory of a buffer is free when all of it has
/// been acknowledged.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "facts, each of which can hold alone")]
pub(crate) struct Memory {
    /// Limit in bytes (`sk_sndbuf`). A buffer that was begun below it may exceed it.
    limit: u32,
    /// Maximum segment size that the peer announced, or the own one, in bytes.
    mss: u32,
    /// Sequence numbers after each buffer that was sent in part or completely.
    sent: VecDeque<SeqNum>,
    /// Sequence numbers after each buffer that was not sent.
    unsent: VecDeque<SeqNum>,
    /// Whether the last buffer ends with a record, so that no data joins it.
    closed: bool,
    /// Whether the application waits for memory (`SOCK_NOSPACE`).
    waits: bool,
    /// Whether a part of the last write has not been taken.
    is_amid_write: bool,
    /// Whether an acknowledgment has arrived since the application was last considered.
    heard: bool,
}

impl Memory {
    /// Creates the state of a connection without data. `mss` is the maximum segment size in bytes.
    pub(super) fn new(mss: u32) -> Self {
        let mut memory = Self {
            limit: 0,
            mss,
            sent: VecDeque::new(),
            unsent: VecDeque::new(),
            closed: false,
            waits: false,
            is_amid_write: false,
            heard: false,
        };
        memory.expand(0, 0);
        memory
    }

    /// Raises the limit to twice the memory of a window (`tcp_sndbuf_expand`). `degree` is that of
    /// reordering.
    fn expand(&mut self, cwnd: u32, degree: u32) {
        let per_segment = (self.mss + HEADERS + SHARED_INFO).next_power_of_two() + SK_BUFF;
        let segments = cwnd.max(LEAST_SEGMENTS).max(degree.saturating_add(1));
        let wanted = segments.saturating_mul(per_segment).saturating_mul(2);
        self.limit = self.limit.max(wanted.min(LARGEST_LIMIT));
    }

    /// Memory in use in bytes, with `unacknowledged` bytes of data.
    fn used(&self, unacknowledged: u32) -> u32 {
        let buffers = u32::try_from(self.sent.len() + self.unsent.len()).unwrap_or(u32::MAX);
        unacknowledged.saturating_add(buffers.saturating_mul(OVERHEAD))
    }

    /// Takes up to `bytes` that the application writes: what the last buffer has room for, or else
    /// a new buffer. `size` is that of a full buffer, and `nxt` is SND.NXT. `written` is the
    /// unacknowledged data before, which ends before `end`. Returns zero if the application must
    /// wait.
    pub(super) fn take(
        &mut self,
        bytes: u32,
        size: u32,
        nxt: SeqNum,
        (written, end): (u32, SeqNum),
    ) -> u32 {
        let begin = match self.unsent.len() {
            0 => end,
            1 => nxt,
            buffers => self.unsent[buffers - 2].latest(nxt),
        };
        let room = if self.closed { 0 } else { size.saturating_sub(end.distance_from(begin)) };
        if !self.unsent.is_empty() && room > 0 {
            let taken = bytes.min(room);
            if let Some(last) = self.unsent.back_mut() {
                *last = end + taken;
            }
            return taken;
        }
        self.waits = self.used(written) >= self.limit;
        if self.waits {
            return 0;
        }
        let taken = bytes.min(size);
        self.unsent.push_back(end + taken);
        self.closed = false;
        taken
    }

    /// Notes that new data was sent up to `nxt`. `begins` says that it was the beginning of a group
    /// of segments, which is a buffer of its own.
    pub(super) fn on_sent(&mut self, nxt: SeqNum, begins: bool) {
        match self.sent.back_mut() {
            Some(last) if !begins => *last = nxt,
            _ => self.sent.push_back(nxt),
        }
        while self.unsent.pop_front_if(|end| end.at_or_before(nxt)).is_some() {}
    }

    /// Notes that the data before `una` is acknowledged.
    pub(super) fn on_acknowledged(&mut self, una: SeqNum) {
        self.heard = true;
        while self.sent.pop_front_if(|end| end.at_or_before(una)).is_some() {}
    }

    /// Sequence number after the buffer at SND.NXT, if there is one.
    pub(super) fn end_of_buffer(&self) -> Option<SeqNum> {
        self.unsent.front().copied()
    }

    /// Heap memory in bytes.
    pub(super) fn memory(&self) -> usize {
        (self.sent.capacity() + self.unsent.capacity()) * size_of::<SeqNum>()
    }
}

impl PacketSender {
    /// Returns whether writes are limited by memory.
    #[inline]
    pub(in crate::send) const fn limits_writes(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns whether the application waits for memory.
    pub(crate) fn waits_for_memory(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.waits)
    }

    /// Returns whether a part of the last write has not been taken.
    pub(in crate::send) fn is_amid_write(&self) -> bool {
        self.memory.as_ref().is_some_and(|memory| memory.is_amid_write)
    }

    /// Takes up to `bytes` that the application writes; `more` says that more data follows.
    /// `written` is the unacknowledged data before in bytes, and the sequence number after it.
    /// Returns zero if the application must wait.
    pub(in crate::send) fn take_write(
        &mut self,
        half: &Half<'_>,
        (bytes, more): (u32, bool),
        written: (u32, SeqNum),
    ) -> u32 {
        let size = self.blocks.size_for(half.max_wnd, half.smss);
        let Some(memory) = self.memory.as_mut() else { return 0 };
        let taken = memory.take(bytes, size, half.nxt, written);
        memory.is_amid_write = more || taken < bytes;
        if taken == 0 {
            // Linux pushes what it has before the application waits.
            self.writes.push(written.1);
        }
        taken
    }

    /// Notes that a record ends with the last buffer, so that no data joins it.
    pub(in crate::send) fn end_buffer(&mut self) {
        if let Some(memory) = &mut self.memory {
            memory.closed = true;
        }
    }

    /// Returns whether an application that waits for memory is woken (`tcp_check_space`). Called
    /// after everything was sent that an acknowledgment admits. `written` is the unacknowledged
    /// data in bytes.
    pub(in crate::send) fn wakes_writer(&mut self, half: &Half<'_>, written: u32) -> bool {
        // `tcp_should_expand_sndbuf`: a full window needs no more memory.
        let unused = self.in_flight(half.board) < self.window.cwnd;
        let Some(memory) = self.memory.as_mut() else { return false };
        if !memory.waits || !std::mem::take(&mut memory.heard) {
            return false;
        }
        if unused {
            memory.expand(self.window.cwnd, self.reordering.degree());
        }
        // `sk_stream_is_writeable`: what is free is at least half of what is in use.
        let used = memory.used(written);
        memory.waits = memory.limit.saturating_sub(used) < used / 2 || used >= memory.limit;
        !memory.waits
    }
}
