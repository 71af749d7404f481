//! Snapshot of the sending half with its timers and its scoreboard, for programs that show a
//! connection step by step. It allocates, so no driver calls it for each segment.

use policy::loss::SentSegment;
use units::{Duration, Instant};
use wire::{SeqNum, SeqRange};

use super::packets::TimerKind;
use super::{CongestionState, PacketSender, SendState, Sender};

/// Timer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimerName {
    /// RFC 6298: retransmission timeout.
    Retransmission,
    /// RFC 8985 §7.2: tail loss probe.
    LossProbe,
    /// RFC 8985 §6.3: reordering window of RACK.
    Reordering,
    /// RFC 9293 §3.8.6.3: delayed acknowledgment.
    DelayedAck,
    /// RFC 9293 §3.8.6.1: probe of a closed window.
    Persist,
    /// End of TIME-WAIT, a time limit of the host, or a copy that waits.
    State,
}

/// A segment in the retransmission queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueuedSegment {
    /// First sequence number.
    pub seq: SeqNum,
    /// Number of sequence numbers.
    pub len: u32,
    /// Time of the last transmission.
    pub sent_at: Instant,
    /// The receiver has reported its arrival.
    pub reported: bool,
    /// It counts as lost.
    pub lost: bool,
    /// It was retransmitted.
    pub resent: bool,
}

impl QueuedSegment {
    fn of(segment: &SentSegment) -> Self {
        let (seq, len) = segment.range();
        Self {
            seq,
            len,
            sent_at: segment.sent_at(),
            reported: segment.is_reported(),
            lost: segment.is_lost(),
            resent: segment.was_resent(),
        }
    }
}

/// State of RACK (RFC 8985 §5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RackSnapshot {
    /// `RACK.xmit_ts`: time at which the newest delivered segment was sent.
    pub xmit_at: Instant,
    /// `RACK.end_seq`: sequence number of this segment.
    pub seq: SeqNum,
    /// `RACK.rtt`; zero before the first delivery.
    pub rtt: Duration,
    /// `RACK.reo_wnd`: the reordering window at this time.
    pub reordering_window: Duration,
}

/// State of the sending half at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendSnapshot {
    /// Sequence numbers and counts.
    pub state: SendState,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Slow start threshold in bytes.
    pub ssthresh: u32,
    /// `FlightSize` (RFC 5681 §2) in bytes.
    pub flight: u32,
    /// Running timers with their deadlines.
    pub timers: Vec<(TimerName, Instant)>,
    /// Retransmission queue with the marks of the scoreboard, oldest segment first.
    pub queue: Vec<QueuedSegment>,
    /// State of congestion control; `None` if the sender counts bytes.
    pub congestion: Option<CongestionState>,
    /// State of RACK; `None` if the sender counts bytes.
    pub rack: Option<RackSnapshot>,
}

impl Sender {
    /// Snapshot at `now`. `retransmit` is the deadline of the timer that the sender's rules share,
    /// and `others` are timers of the connection; [`Instant::NEVER`] is a timer that is off.
    pub(crate) fn snapshot(
        &self,
        retransmit: Instant,
        others: [(TimerName, Instant); 3],
        now: Instant,
    ) -> SendSnapshot {
        let mut queue = Vec::new();
        if let Some(all) = SeqRange::new(self.una, self.max) {
            self.board.each_in(all, |segment| queue.push(QueuedSegment::of(segment)));
        }
        let packets = self.special.packets();
        let name = match packets.and_then(|packets| packets.timer.kind()) {
            Some(TimerKind::LossProbe) => TimerName::LossProbe,
            Some(TimerKind::Reordering) => TimerName::Reordering,
            Some(TimerKind::Retransmission) | None => TimerName::Retransmission,
        };
        let all = [(name, retransmit)].into_iter().chain(others);
        SendSnapshot {
            state: self.state(),
            cwnd: self.window(),
            ssthresh: self.ssthresh(),
            flight: self.flight(),
            timers: all.filter(|(_, at)| *at != Instant::NEVER).collect(),
            queue,
            congestion: packets.map(PacketSender::congestion_state),
            rack: packets.map(|packets| packets.rack_snapshot(&self.board, now)),
        }
    }
}
