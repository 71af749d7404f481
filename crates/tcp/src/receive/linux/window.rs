//! Advertised window as in Linux (`__tcp_select_window`, `tcp_grow_window`,
//! `tcp_rcv_space_adjust`).
//!
//! The receive buffer counts the memory of packets. The share that is payload (`scaling_ratio`)
//! converts it into a window. The window begins at about 64 kbytes and grows with the data that
//! arrives, then with the data that the application reads in a round trip.
//!
//! Unlike in Linux, whose packets differ with the network device, a segment always occupies a block
//! of memory whose size is a power of two, as behind a TUN device, and the queue is not compacted.
//! With 1448 bytes that is the memory of half a page, which other devices use.

use units::{Duration, Instant};
use wire::{SeqNum, WindowScale};

/// Buffer and window of the receiver, in bytes.
#[derive(Debug, Clone, Copy)]
pub(in crate::receive) struct Window {
    /// Last advertised window (`rcv_wnd`).
    pub(super) offered: u32,
    /// Bound of the window while it grows (`rcv_ssthresh`).
    pub(super) threshold: u32,
    /// Bound of the window by the size of the buffer (`window_clamp`).
    clamp: u32,
    /// Size of the buffer, and the limit of its growth, in bytes of memory.
    buffer: u32,
    max_buffer: u32,
    /// Memory of the packets in the buffer.
    memory: u32,
    /// Payload in 256 bytes of memory (`scaling_ratio`).
    ratio: u32,
    /// Announced segment size without timestamps.
    announced_mss: u32,
    /// Data that the application read in the last round trip, the sequence number at which the
    /// present measurement began, and its time.
    read: u32,
    read_from: SeqNum,
    read_since: Instant,
}

/// Facts about the data in the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tuning {
    /// Bytes in order that wait to be read.
    pub(super) unread: u32,
    /// Bytes from RCV.NXT to the end of the out-of-order data; `None` if the version ignores them.
    pub(super) out_of_order: Option<u32>,
}

impl Window {
    /// Share of payload that Linux assumes before the first segment: one half.
    const RATIO: u32 = 128;
    /// Least bound of the window, half of `SOCK_MIN_RCVBUF` (`tcp_set_window_clamp`). Without it a
    /// small buffer that holds segments with much overhead would never open its window again.
    const LEAST_CLAMP: u32 = 1152;

    /// Window of a SYN in bytes: whole segments of `mss` bytes in the buffer.
    pub(super) fn initial(buffer: u32, mss: u32) -> u32 {
        let space = buffer / 2;
        if space > mss { space / mss * mss } else { space }
    }

    /// Creates the window of an open connection that announced segments of `announced_mss` bytes.
    pub(super) fn new(
        (buffer, max_buffer): (u32, u32),
        offered: u32,
        announced_mss: u32,
        scale: WindowScale,
    ) -> Self {
        let full = buffer / 2;
        let mut clamp = (u32::from(u16::MAX) << scale.shift()).min(full);
        // Linux reserves a segment.
        if clamp > 2 * announced_mss && clamp + announced_mss > full {
            clamp = (2 * announced_mss).max(full.saturating_sub(announced_mss));
        }
        let threshold = offered.min(clamp);
        Self {
            offered,
            threshold,
            clamp,
            buffer,
            max_buffer,
            memory: 0,
            ratio: Self::RATIO,
            announced_mss,
            read: threshold.min(10 * announced_mss),
            read_from: SeqNum::default(),
            read_since: Instant::ZERO,
        }
    }

    /// Starts the measurement of the data that the application reads.
    pub(super) fn start(&mut self, nxt: SeqNum, now: Instant) {
        (self.read_from, self.read_since) = (nxt, now);
    }

    /// Memory of `len` bytes that arrived in segments of `unit` bytes.
    pub(super) fn memory_of(len: u32, unit: u32) -> u32 {
        /// Headers of IPv4 and TCP, space before them, and administration behind the payload.
        const AROUND: u32 = 40 + 64 + 320;
        /// Administration of a packet.
        const PACKET: u32 = 256;
        let unit = unit.clamp(1, len.max(1));
        let block = unit.saturating_add(AROUND).checked_next_power_of_two().unwrap_or(unit);
        (PACKET + block).saturating_mul(len.div_ceil(unit))
    }

    fn payload_of(&self, memory: u32) -> u32 {
        u32::try_from(u64::from(memory) * u64::from(self.ratio) / 256).unwrap_or(u32::MAX)
    }

    pub(super) fn full(&self) -> u32 {
        self.payload_of(self.buffer)
    }

    fn free(&self) -> u32 {
        self.payload_of(self.buffer.saturating_sub(self.memory))
    }

    /// Adds a packet to the buffer.
    pub(super) fn hold(&mut self, memory: u32) {
        self.memory = self.memory.saturating_add(memory);
    }

    /// Returns whether the packets take more memory than the buffer has.
    pub(super) fn is_over(&self) -> bool {
        self.memory > self.buffer
    }

    /// Removes `taken` of `held` bytes from the buffer.
    pub(super) fn release(&mut self, taken: u32, held: u32) {
        let share = u64::from(self.memory) * u64::from(taken) / u64::from(held.max(1));
        self.memory -= u32::try_from(share).unwrap_or(0).min(self.memory);
    }

    /// Learns the share of payload from a segment that is longer than those before.
    /// `moves_threshold` says that the bound of the growing window follows that of the buffer.
    pub(super) fn measure(&mut self, len: u32, memory: u32, moves_threshold: bool) {
        let ratio = (u64::from(len) * 256 / u64::from(memory.max(1))).clamp(1, 255);
        let ratio = u32::try_from(ratio).unwrap_or(Self::RATIO);
        if ratio != self.ratio {
            self.ratio = ratio;
            let before = self.clamp;
            self.clamp = self.full().max(Self::LEAST_CLAMP);
            if moves_threshold && self.clamp < before {
                self.threshold = self.threshold.min(self.clamp);
            } else if moves_threshold {
                self.threshold = self.threshold.max(self.offered.min(self.clamp));
            }
            self.read = self.read.min(self.clamp);
        }
    }

    /// Raises the bound of the window, if segments such as this one fit. Returns whether it rose.
    pub(super) fn grow(&mut self, len: u32, memory: u32, rcv_mss: u32) -> bool {
        let room = self.clamp.min(self.free()).saturating_sub(self.threshold);
        if room == 0 {
            return false;
        }
        let step = if self.payload_of(memory) <= len {
            2 * self.announced_mss
        } else {
            self.careful_step(len, memory, rcv_mss)
        };
        if step == 0 {
            return false;
        }
        self.threshold += room.min(step.max(2 * len));
        true
    }

    /// Step for a segment with much overhead: none, once the window has a share of the largest
    /// buffer that halves with each doubling of the overhead.
    fn careful_step(&self, len: u32, memory: u32, rcv_mss: u32) -> u32 {
        let mut memory = self.payload_of(memory) / 2;
        let mut window = self.payload_of(self.max_buffer) / 2;
        while self.threshold <= window && window > 0 {
            if memory <= len {
                return 2 * rcv_mss;
            }
            memory /= 2;
            window /= 2;
        }
        0
    }

    /// Returns the window to advertise, and whether the buffer is more than half full.
    pub(super) fn select(&self, rcv_mss: u32, scale: WindowScale) -> (u32, bool) {
        let full = self.clamp.min(self.full());
        let mss = rcv_mss.min(full);
        if mss == 0 {
            return (0, false);
        }
        let unit = 1 << scale.shift();
        let mut free = self.free();
        let crowded = free < full / 2;
        if crowded {
            free = free / unit * unit;
            // RFC 9293 §3.8.6.2.2: rather none than a small window.
            if free < self.full() / 16 || free < mss {
                return (0, crowded);
            }
        }
        let free = free.min(self.threshold);
        if scale.shift() > 0 {
            return (free.next_multiple_of(unit), crowded);
        }
        let offered = self.offered;
        let window = if offered.saturating_add(mss) <= free || offered > free {
            free / mss * mss
        } else if mss == full && free > offered + full / 2 {
            free
        } else {
            offered
        };
        (window, crowded)
    }

    /// Returns whether a window of `current` bytes is at most half of what could be offered.
    pub(super) fn is_worth_probing(&self, current: u32) -> bool {
        current <= self.clamp / 2
    }

    /// Enlarges the buffer after a read, if the application has read more in this round trip than
    /// in the one before. `copied` is the sequence number after the data that was read.
    pub(super) fn tune(&mut self, copied: SeqNum, rtt: Duration, now: Instant, facts: &Tuning) {
        if rtt.is_zero() || now.since(self.read_since) < rtt {
            return;
        }
        let read = copied.distance_from(self.read_from).saturating_sub(facts.unread);
        if read > self.read {
            self.enlarge(read, facts);
        }
        self.start(copied, now);
    }

    /// Enlarges the buffer for out-of-order data, which waits in addition to the data of a round
    /// trip (`tcp_rcvbuf_grow`).
    pub(super) fn tune_for_out_of_order(&mut self, facts: &Tuning) {
        if facts.out_of_order.is_some() {
            self.enlarge(self.read, facts);
        }
    }

    /// Enlarges the buffer to twice the data of a round trip. A sender in slow start may double the
    /// data of the next one.
    fn enlarge(&mut self, read: u32, facts: &Tuning) {
        let twice = u64::from(read) * 2;
        // Versions that ignore out-of-order data add 16 segments, which grow with the rest.
        let (base, more) = match facts.out_of_order {
            Some(span) => (twice, u64::from(span)),
            None => (twice + 16 * u64::from(self.announced_mss), 0),
        };
        let growth = base * u64::from(read - self.read) / u64::from(self.read.max(1));
        let wanted = (base + 2 * growth + more) * 256 / u64::from(self.ratio.max(1));
        let wanted = u32::try_from(wanted).unwrap_or(u32::MAX).min(self.max_buffer);
        if wanted > self.buffer {
            self.buffer = wanted;
            self.clamp = self.full().max(Self::LEAST_CLAMP);
        }
        self.read = read;
    }
}
