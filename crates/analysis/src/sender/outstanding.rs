//! Data that a sender has sent and that is not acknowledged, as the capture shows it.
//!
//! Positions are sequence numbers with 64 bits. Neighbouring entries touch: data that the capture
//! does not contain is an entry without a transmission. Entries are divided where a
//! retransmission, an acknowledgment or a SACK block begins or ends, because segments that
//! offload has joined are divided on the wire.

use std::collections::VecDeque;

use units::{Duration, Instant};

/// A range of data with its transmissions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    /// First position.
    pub(crate) start: u64,
    /// Position after the last.
    pub(crate) end: u64,
    /// Time of the first transmission, or at which its absence was noticed.
    pub(crate) first_at: Instant,
    /// Time of the last transmission.
    pub(crate) last_at: Instant,
    /// Packet of the first transmission; zero if the capture does not have it.
    pub(crate) first_frame: u64,
    /// Packet of the last transmission.
    pub(crate) last_frame: u64,
    /// Timestamp of the first transmission (RFC 7323).
    pub(crate) first_tsval: Option<u32>,
    /// Timestamp of the first retransmission, for the Eifel detection, and its time.
    pub(crate) retransmission_tsval: Option<u32>,
    pub(crate) retransmitted_at: Instant,
    /// Timestamp of the last transmission.
    pub(crate) last_tsval: Option<u32>,
    /// Number of transmissions in the capture.
    pub(crate) copies: u16,
    /// Whether a SACK block has covered it.
    pub(crate) sacked: bool,
}

impl Sent {
    /// Length in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.end - self.start
    }

    /// Time of the transmission that an echoed timestamp names.
    fn echoed_at(&self, tsecr: u32) -> Option<Instant> {
        let transmissions = [
            (self.last_tsval, self.last_at),
            (self.retransmission_tsval, self.retransmitted_at),
            (self.first_tsval, self.first_at),
        ];
        transmissions.into_iter().find(|(tsval, _)| *tsval == Some(tsecr)).map(|(_, at)| at)
    }

    /// Returns whether it has been sent again, as far as the capture shows.
    pub(crate) fn is_retransmitted(&self) -> bool {
        self.copies > 1 || (self.copies == 1 && self.first_frame == 0)
    }
}

/// Data that one acknowledgment delivers.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// Time of the acknowledgment.
    pub(crate) at: Instant,
    /// Time after a retransmission in which no acknowledgment of it can arrive.
    pub(crate) too_early: Duration,
    /// Bytes that are acknowledged or sacked for the first time.
    pub(crate) bytes: u64,
    /// Segments of these that are sacked.
    pub(crate) sacked_segments: u64,
    /// Echoed timestamp.
    pub(crate) tsecr: Option<u32>,
    /// Whether the following data is sacked, and not acknowledged.
    pub(crate) is_sacking: bool,
    /// First transmission of the newest data that was sent once.
    pub(crate) sent_once_at: Option<Instant>,
    /// First transmission of the oldest acknowledged data that was sent once, for a measurement of
    /// the RTT (Karn's rule, RFC 6298 §3), and of the oldest sacked data.
    pub(crate) oldest_once_at: Option<Instant>,
    /// First transmission of the oldest sacked data that was sent once.
    pub(crate) oldest_sacked_at: Option<Instant>,
    /// Whether acknowledged data was sent again.
    pub(crate) has_retransmitted: bool,
    /// Transmission that the echoed timestamp names, of data that was sent again.
    pub(crate) echoed_at: Option<Instant>,
    /// Latest transmission time of the delivered data.
    pub(crate) newest_at: Option<Instant>,
    /// First transmission of the oldest data that had not been sacked and was never sent again.
    pub(crate) original_at: Option<Instant>,
    /// Maximum time between the transmissions of data that was sent again and arrived.
    pub(crate) delay: Duration,
    /// Timestamp of the first retransmission of the first data, if there was one.
    pub(crate) retransmission_tsval: Option<u32>,
    /// Packets that were sent again and could not have been acknowledged yet.
    pub(crate) early: Vec<u64>,
}

impl Delivered {
    /// Transmission from which a sender measures the round-trip time (Linux's
    /// `tcp_ack_update_rtt`): of acknowledged data if none of it was sent again, else of sacked
    /// data, else the one that the timestamp names.
    pub(crate) fn timed_at(&self) -> Option<Instant> {
        let acknowledged = self.oldest_once_at.filter(|_| !self.has_retransmitted);
        acknowledged.or(self.oldest_sacked_at).or(self.echoed_at)
    }

    fn add(&mut self, sent: &Sent) {
        if sent.sacked {
            return;
        }
        if self.bytes == 0 {
            self.retransmission_tsval = sent.retransmission_tsval;
        }
        self.bytes += sent.len();
        self.newest_at = self.newest_at.max(Some(sent.last_at));
        if sent.is_retransmitted() {
            self.has_retransmitted |= !self.is_sacking;
            let echoed_at = self.tsecr.and_then(|tsecr| sent.echoed_at(tsecr));
            self.echoed_at = echoed_at.or(self.echoed_at);
            if self.at.since(sent.last_at) < self.too_early {
                self.early.push(sent.last_frame);
            } else {
                self.delay = self.delay.max(sent.last_at.since(sent.first_at));
            }
        } else {
            let original_at = self.original_at.unwrap_or(Instant::NEVER);
            self.original_at = Some(original_at.min(sent.first_at));
            if sent.copies == 1 {
                let oldest = if self.is_sacking {
                    &mut self.oldest_sacked_at
                } else {
                    &mut self.oldest_once_at
                };
                oldest.get_or_insert(sent.first_at);
                self.sent_once_at = self.sent_once_at.max(Some(sent.first_at));
            }
        }
    }
}

/// Numbers of segments.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Segments {
    /// All segments.
    pub(crate) all: u64,
    /// Segments that SACK blocks cover.
    pub(crate) sacked: u64,
}

impl Segments {
    fn add(&mut self, count: u64, is_sacked: bool) {
        self.all += count;
        self.sacked += if is_sacked { count } else { 0 };
    }

    fn subtract(&mut self, count: u64, is_sacked: bool) {
        self.all = self.all.saturating_sub(count);
        self.sacked = self.sacked.saturating_sub(if is_sacked { count } else { 0 });
    }
}

/// Queue of data between SND.UNA and SND.NXT.
#[derive(Debug)]
pub(crate) struct Outstanding {
    queue: VecDeque<Sent>,
    sacked: u64,
    highest_sacked: u64,
    segments: Segments,
    /// Maximum segment size in bytes.
    mss: u32,
}

impl Default for Outstanding {
    fn default() -> Self {
        let segments = Segments::default();
        Self { queue: VecDeque::new(), sacked: 0, highest_sacked: 0, segments, mss: 536 }
    }
}

impl Outstanding {
    /// Maximum segment size in bytes.
    pub(crate) fn mss(&self) -> u32 {
        self.mss
    }

    /// States the maximum segment size in bytes.
    pub(crate) fn set_mss(&mut self, mss: u32) {
        self.mss = mss.max(1);
        self.segments = self.counted(0..self.queue.len());
    }

    fn counted(&self, entries: std::ops::Range<usize>) -> Segments {
        let mut segments = Segments::default();
        for sent in self.queue.range(entries) {
            segments.add(self.segments_in(sent.len()), sent.sacked);
        }
        segments
    }

    fn segments_in(&self, bytes: u64) -> u64 {
        segments_in(bytes, self.mss)
    }

    /// Segments that are outstanding.
    pub(crate) fn segments(&self) -> Segments {
        self.segments
    }

    /// Segments from a position on.
    pub(crate) fn segments_from(&self, position: u64) -> Segments {
        let before = self.counted(0..self.index_of(position));
        Segments {
            all: self.segments.all.saturating_sub(before.all),
            sacked: self.segments.sacked.saturating_sub(before.sacked),
        }
    }

    /// Whether the highest sacked byte is more than this number of segments above SND.UNA.
    pub(crate) fn is_sacked_beyond(&self, segments: u64) -> bool {
        let highest = self.highest_sacked();
        let mut below = 0;
        for sent in self.queue.iter().take_while(|sent| sent.start < highest) {
            below += self.segments_in(sent.len());
            if below > segments {
                return true;
            }
        }
        false
    }

    /// Segments from a position up to the highest sacked byte.
    pub(crate) fn segments_to_highest_sacked(&self, position: u64) -> u64 {
        let (from, to) = (self.index_of(position), self.index_of(self.highest_sacked()));
        self.counted(from..to.max(from)).all
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Returns whether everything is acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Frees the memory of an empty queue.
    pub(crate) fn release(&mut self) {
        if self.queue.is_empty() {
            self.queue = VecDeque::new();
        }
    }

    /// Bytes that SACK blocks cover.
    pub(crate) fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Position after the highest sacked byte; zero if there is none.
    pub(crate) fn highest_sacked(&self) -> u64 {
        if self.sacked == 0 { 0 } else { self.highest_sacked }
    }

    /// First data that is not sacked.
    pub(crate) fn head(&self) -> Option<&Sent> {
        self.queue.iter().find(|sent| !sent.sacked)
    }

    /// Adds data after all other.
    #[inline]
    pub(crate) fn push(&mut self, sent: Sent) {
        self.segments.add(self.segments_in(sent.len()), sent.sacked);
        self.queue.push_back(sent);
    }

    /// Entries that overlap a range, after dividing those at its edges.
    pub(crate) fn range_mut(&mut self, start: u64, end: u64) -> impl Iterator<Item = &mut Sent> {
        self.divide(start);
        self.divide(end);
        let (from, to) = (self.index_of(start), self.index_of(end));
        self.queue.range_mut(from..to.max(from))
    }

    /// First entry that overlaps the range and is not sacked, or the first that overlaps it.
    pub(crate) fn first_in(&self, start: u64, end: u64) -> Option<&Sent> {
        let from = self.queue.partition_point(|sent| sent.end <= start);
        let mut found = self.queue.range(from..).take_while(|sent| sent.start < end);
        found.clone().find(|sent| !sent.sacked).or_else(|| found.next())
    }

    /// Whether data that was sent again is neither sacked nor acknowledged.
    pub(crate) fn has_repairs(&self) -> bool {
        self.queue.iter().any(|sent| sent.copies > 1 && !sent.sacked)
    }

    /// Whether the first data was sent again.
    pub(crate) fn is_head_repaired(&self) -> bool {
        self.queue.front().is_some_and(|sent| sent.copies > 1)
    }

    /// Removes data below `una`.
    #[inline]
    pub(crate) fn acknowledge(&mut self, una: u64, delivered: &mut Delivered) {
        while let Some(front) = self.queue.front_mut() {
            if front.end > una {
                if front.start < una {
                    self.divide(una);
                    continue;
                }
                break;
            }
            if let Some(front) = self.queue.pop_front() {
                self.remove(&front, delivered);
            }
        }
    }

    fn remove(&mut self, sent: &Sent, delivered: &mut Delivered) {
        delivered.add(sent);
        self.segments.subtract(self.segments_in(sent.len()), sent.sacked);
        if sent.sacked {
            self.sacked -= sent.len();
        }
    }

    /// Marks the data of a SACK block.
    pub(crate) fn sack(&mut self, start: u64, end: u64, delivered: &mut Delivered) {
        let (mut added, mut last, mss) = (0, 0, self.mss);
        let mut segments = 0;
        for sent in self.range_mut(start, end).filter(|sent| !sent.sacked) {
            delivered.add(sent);
            sent.sacked = true;
            added += sent.len();
            segments += segments_in(sent.len(), mss);
            last = sent.end;
        }
        self.segments.sacked += segments;
        self.sacked += added;
        delivered.sacked_segments += segments;
        self.highest_sacked = self.highest_sacked.max(last);
    }

    /// Removes the oldest entries above a limit, and returns the new first position.
    #[inline]
    pub(crate) fn limit(&mut self, entries: usize) -> Option<u64> {
        while self.queue.len() > entries {
            if let Some(front) = self.queue.pop_front() {
                self.remove(&front, &mut Delivered::default());
            }
        }
        self.queue.front().map(|sent| sent.start)
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        self.queue.clear();
        self.sacked = 0;
        self.segments = Segments::default();
    }

    /// Index of the first entry that starts at `position` or after it.
    fn index_of(&self, position: u64) -> usize {
        self.queue.partition_point(|sent| sent.start < position)
    }

    /// Divides the entry that contains a position inside, so that one begins there.
    fn divide(&mut self, position: u64) {
        let index = self.index_of(position);
        let Some(before) = index.checked_sub(1) else { return };
        let sent = self.queue[before];
        if sent.end > position {
            let (first, second) =
                (Sent { end: position, ..sent }, Sent { start: position, ..sent });
            self.segments.subtract(self.segments_in(sent.len()), sent.sacked);
            for part in [first, second] {
                self.segments.add(self.segments_in(part.len()), part.sacked);
            }
            self.queue[before] = first;
            self.queue.insert(index, second);
        }
    }
}

/// Segments in a number of bytes, rounded up. One number more may be a FIN, which is no segment of
/// its own unless it is alone.
#[inline]
fn segments_in(bytes: u64, mss: u32) -> u64 {
    // Most packets are one segment, and a division is slow.
    if bytes <= u64::from(mss) + 1 {
        return bytes.min(1);
    }
    bytes.saturating_sub(1).div_ceil(u64::from(mss)).max(bytes.min(1))
}

#[cfg(test)]
mod tests;
