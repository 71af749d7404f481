//! SYN and SYN-ACK of a connection, and their repetitions.

use units::{Duration, Instant};
use wire::SeqNum;
use wire::tcp::Flags;

use crate::packet::Packet;
use crate::sender::{Cause, Confidence, Episode, Retransmission, Spurious};

/// Resolution of the timers of a SYN-ACK: a tick of Linux at 100 Hz.
const TICK: Duration = Duration::from_millis(10);
/// Largest number of doublings of a timeout that is looked at.
const MOST_DOUBLINGS: u32 = 8;

/// The SYN of a direction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Syn {
    pub(super) seq: SeqNum,
    pub(super) first_at: Instant,
    pub(super) last_at: Instant,
    pub(super) last_frame: u64,
    pub(super) first_tsval: Option<u32>,
    pub(super) last_tsval: Option<u32>,
    pub(super) copies: u16,
}

impl Syn {
    /// Round-trip time to an answer, if it is known which copy is answered: the only one (Karn's
    /// rule), or the last, whose timestamp the answer echoes (RFC 7323 §4.1).
    pub(super) fn answered_after(&self, answer: &Packet) -> Option<Duration> {
        let echo = answer.timestamps.map(|timestamps| timestamps.ecr);
        let known = self.copies == 1 || echo.is_some() && echo == self.last_tsval;
        known.then(|| answer.at.since(self.last_at))
    }

    /// Time to an answer that echoes the timestamp of the first copy. It contains the time until
    /// the copy that was answered. Linux uses it all the same (`tcp_rtt_tsopt_us`).
    pub(super) fn echoed_after(&self, answer: &Packet) -> Option<Duration> {
        let echo = answer.timestamps.map(|timestamps| timestamps.ecr)?;
        (self.first_tsval == Some(echo)).then(|| answer.at.since(self.first_at))
    }
}

/// A SYN or SYN-ACK that is sent again is an episode of its own. `other` is the SYN of the other
/// end.
///
/// A SYN-ACK after a repeated SYN answers that SYN, whose sender's timer repaired the loss (RFC
/// 9293 §3.10.7.4), unless the own timer expired. A SYN is repeated without need if it has been
/// answered: the SYN-ACK was lost or late.
pub(super) fn repeated_syn(syn: &mut Syn, packet: &Packet, other: Option<&Syn>) -> Episode {
    let waited = packet.at.since(syn.last_at);
    let is_answer = packet.has(Flags::ACK);
    let follows =
        is_answer && other.is_some_and(|other| other.copies > 1 && other.last_at >= syn.last_at);
    let by_peer = follows && !is_timeout(waited, syn.copies);
    let cause = if is_answer && !by_peer { Cause::SynAckTimeout } else { Cause::SynTimeout };
    let spurious =
        if !is_answer && other.is_some() { Spurious::Acknowledged } else { Spurious::No };
    syn.copies = syn.copies.saturating_add(1);
    let retransmission = Retransmission {
        frame: packet.frame,
        at: packet.at,
        seq: packet.seq.value(),
        position: 0,
        len: 1,
        previous_frame: syn.last_frame,
        transmission: syn.copies,
        cause,
        confidence: if follows && !by_peer { Confidence::Low } else { Confidence::High },
        spurious,
        since_ack: waited,
        waited,
        rto: Duration::from_secs(1),
        pto: None,
        backoff: u32::from(syn.copies.saturating_sub(2)),
        duplicates: 0,
        sacked_above: 0,
        forward: 0,
        flight: 1,
    };
    (syn.last_at, syn.last_frame) = (packet.at, packet.frame);
    syn.last_tsval = packet.timestamps.map(|timestamps| timestamps.val);
    let mut episode = Episode::of_syn(syn.first_at, retransmission);
    if by_peer {
        episode.timeouts = 0;
    }
    episode
}

/// Whether a SYN-ACK is repeated at the time of its own timer. The initial timeout is 1 s (RFC 6298
/// §2.1), or 3 s of older systems, and doubles.
fn is_timeout(waited: Duration, copies: u16) -> bool {
    let doublings = u32::from(copies.saturating_sub(1)).min(MOST_DOUBLINGS);
    [1, 3].into_iter().any(|seconds| {
        let timeout = Duration::from_secs(seconds << doublings);
        timeout <= waited + TICK && waited <= timeout + TICK
    })
}
