//! Retransmissions with their causes, and loss episodes: from a loss to the end of its recovery.

use units::{Duration, Instant};

use super::cause::{Cause, Confidence, Spurious};

/// Maximum number of retransmissions that an open episode keeps. Of a longer one, the first are
/// kept and the others counted.
const KEPT: usize = 1 << 14;

/// A retransmitted packet, with the evidence of its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retransmission {
    /// Number of the packet in the file.
    pub frame: u64,
    /// Time of the capture.
    pub at: Instant,
    /// Sequence number.
    pub seq: u32,
    /// Position in the stream, which does not wrap.
    pub position: u64,
    /// Length in bytes.
    pub len: u32,
    /// Packet of the previous transmission; zero if the capture does not have it.
    pub previous_frame: u64,
    /// Number of the transmission: 2 for the first retransmission.
    pub transmission: u16,
    /// Cause.
    pub cause: Cause,
    /// Degree to which the capture supports the cause.
    pub confidence: Confidence,
    /// Whether it was not necessary.
    pub spurious: Spurious,
    /// Time since the last acknowledgment with news, at the sender.
    pub since_ack: Duration,
    /// Time since the retransmission timer was last started.
    pub waited: Duration,
    /// Estimated retransmission timeout, with back-off.
    pub rto: Duration,
    /// Estimated timeout of a tail loss probe.
    pub pto: Option<Duration>,
    /// Number of doublings of the timeout before this packet.
    pub backoff: u32,
    /// Duplicate acknowledgments before this packet.
    pub duplicates: u32,
    /// Segments above this one that are sacked.
    pub sacked_above: u32,
    /// Segments between this one and the highest sacked byte.
    pub forward: u32,
    /// Outstanding segments.
    pub flight: u32,
}

/// State of the sender in an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// A tail loss probe is outstanding.
    Probe,
    /// Fast recovery.
    Fast,
    /// Recovery after a retransmission timeout, which began at this time.
    Loss(Instant),
}

/// A loss episode: from the transmission of the lost data to the end of the recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Episode {
    /// First transmission of the data that was repaired first.
    pub lost_at: Instant,
    /// Packet of this transmission; zero if the capture does not have it.
    pub lost_frame: u64,
    /// Time of the first repair.
    pub repaired_at: Instant,
    /// Packet of the first repair.
    pub repaired_frame: u64,
    /// Time of the acknowledgment that ended the recovery; `None` if the capture does not have it.
    pub ended_at: Option<Instant>,
    /// Cause of the first repair.
    pub cause: Cause,
    /// Degree to which the capture supports it.
    pub confidence: Confidence,
    /// Segments that were sent after the lost one and before its repair.
    pub following: u32,
    /// Maximum delay of lost data: from its first transmission to the one that arrived.
    pub delay: Duration,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Tail loss probes.
    pub probes: u32,
    /// Bytes sent again.
    pub bytes: u64,
    /// Whether the sender answered the first acknowledgment after a timeout with new data
    /// (F-RTO, RFC 5682).
    pub forward_rto: bool,
    /// Retransmissions in their order.
    pub retransmissions: Vec<Retransmission>,
    /// Number of retransmissions, with those that are not kept.
    pub count: u64,
    /// Position whose acknowledgment ends the recovery.
    pub(crate) point: u64,
    pub(crate) phase: Phase,
    /// Whether an acknowledgment has advanced SND.UNA since the last timeout.
    pub(crate) advanced: bool,
    /// Whether `forward_rto` is true for the last timeout.
    pub(crate) is_forward: bool,
    /// Timestamp of the first retransmission (RFC 7323).
    pub(crate) first_tsval: Option<u32>,
    /// Retransmissions before the ones for which Linux may undo the recovery, and SND.UNA then
    /// (`undo_marker`).
    pub(crate) undo_after: u64,
    pub(crate) undo_marker: u64,
    /// Repairs above the marker that the receiver has reported as duplicates since then.
    pub(crate) reported: u64,
    /// Whether Linux looks for evidence that the last timeout was spurious (F-RTO).
    pub(crate) tests_timeout: bool,
}

impl Episode {
    /// An episode of a SYN that was sent again.
    pub(crate) fn of_syn(first_at: Instant, retransmission: Retransmission) -> Self {
        let mut episode = Self {
            lost_at: first_at,
            lost_frame: retransmission.previous_frame,
            repaired_at: retransmission.at,
            repaired_frame: retransmission.frame,
            ended_at: Some(retransmission.at),
            cause: retransmission.cause,
            confidence: retransmission.confidence,
            following: 0,
            delay: retransmission.waited,
            timeouts: 1,
            probes: 0,
            bytes: 0,
            forward_rto: false,
            retransmissions: Vec::new(),
            count: 0,
            point: 0,
            phase: Phase::Loss(retransmission.at),
            advanced: true,
            is_forward: false,
            first_tsval: None,
            undo_after: 0,
            undo_marker: 0,
            reported: 0,
            tests_timeout: true,
        };
        episode.add(retransmission);
        episode
    }

    /// Adds a retransmission.
    pub(crate) fn add(&mut self, retransmission: Retransmission) {
        self.count += 1;
        self.bytes += u64::from(retransmission.len);
        if self.retransmissions.len() < KEPT {
            self.retransmissions.push(retransmission);
        }
    }

    /// Whether every retransmission was unnecessary.
    pub fn is_spurious(&self) -> bool {
        self.retransmissions.iter().all(|each| each.spurious != Spurious::No)
    }

    /// Whether the receiver has reported all retransmissions as duplicates that Linux counts
    /// (`tcp_check_dsack`).
    pub(crate) fn is_refuted(&self) -> bool {
        self.reported >= self.count - self.undo_after
    }

    /// RFC 5682 §3.1, as Linux's `tcp_process_loss` applies it: after a timeout, an acknowledgment
    /// of data that was sent before the timeout and not again.
    pub(crate) fn is_answered_by_original(&self, original_at: Option<Instant>) -> bool {
        let Phase::Loss(since) = self.phase else { return false };
        self.tests_timeout && original_at.is_some_and(|original| original < since)
    }

    /// Marks the retransmission of a packet as unnecessary, and returns its range.
    pub(crate) fn refute_frame(&mut self, frame: u64, why: Spurious) -> Option<(u64, u64)> {
        self.refute(why, |each| each.frame == frame)
    }

    /// Marks the latest retransmission of a range as unnecessary, and returns its own range.
    pub(crate) fn refute_range(
        &mut self,
        start: u64,
        end: u64,
        why: Spurious,
    ) -> Option<(u64, u64)> {
        self.refute(why, |each| each.position < end && each.position + u64::from(each.len) > start)
    }

    fn refute(
        &mut self,
        why: Spurious,
        is_it: impl Fn(&Retransmission) -> bool,
    ) -> Option<(u64, u64)> {
        let mut latest = self.retransmissions.iter_mut().rev();
        let found = latest.find(|each| each.spurious == Spurious::No && is_it(each))?;
        found.spurious = why;
        Some((found.position, found.position + u64::from(found.len)))
    }
}
