//! State of the sender as `TCP_INFO` of Linux shows it.

use policy::loss::Scoreboard;
use units::{Duration, Instant};

use super::PacketSender;
use crate::send::snapshot::RackSnapshot;

/// State of congestion control: `TCP_CA_*` of Linux, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CongestionState {
    /// Nothing is suspicious.
    Open,
    /// Segments arrived out of order, but none counts as lost.
    Disorder,
    /// The window is being reduced after a mark of a router or a tail loss probe.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// Recovery after a timeout.
    Loss,
}

/// State of a sender that counts packets, with the names of Linux's `TCP_INFO`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpInfo {
    /// State of congestion control.
    pub ca_state: CongestionState,
    /// Number of timeouts without an acknowledgment of new data since.
    pub retransmits: u8,
    /// Number of times that the retransmission timeout was doubled.
    pub backoff: u32,
    /// Retransmission timeout.
    pub rto: Duration,
    /// Smoothed round-trip time; `None` before the first measurement.
    pub rtt: Option<Duration>,
    /// Variation of the round-trip time.
    pub rttvar: Duration,
    /// Minimum round-trip time of the last five minutes.
    pub min_rtt: Option<Duration>,
    /// Congestion window in packets.
    pub snd_cwnd: u32,
    /// Slow start threshold in packets.
    pub snd_ssthresh: u32,
    /// Sender maximum segment size in bytes.
    pub snd_mss: u32,
    /// Number of packets sent and not acknowledged cumulatively.
    pub unacked: u32,
    /// Number of these packets that the receiver has reported.
    pub sacked: u32,
    /// Number of these packets that count as lost.
    pub lost: u32,
    /// Number of retransmissions in flight.
    pub retrans: u32,
    /// Number of retransmissions since the connection began.
    pub total_retrans: u32,
    /// Degree of reordering in packets.
    pub reordering: u32,
    /// Number of times that reordering was observed.
    pub reord_seen: u32,
    /// Number of packets delivered, including spurious retransmissions.
    pub delivered: u32,
    /// Number of segments that DSACKs reported.
    pub dsack_dups: u32,
    /// Number of probes of a closed window without an answer that opens it.
    pub probes: u8,
    /// Time with data queued or in flight.
    pub busy_time: Duration,
    /// Time that the peer's window limited the sender.
    pub rwnd_limited: Duration,
}

impl PacketSender {
    /// State of congestion control.
    pub(in crate::send) fn congestion_state(&self) -> CongestionState {
        self.state
    }

    /// State of RACK at `now`.
    pub(in crate::send) fn rack_snapshot(&self, board: &Scoreboard, now: Instant) -> RackSnapshot {
        let newest = self.rack.newest();
        let facts = self.rack_facts_at(board, now);
        RackSnapshot {
            xmit_at: newest.sent_at,
            seq: newest.seq,
            rtt: self.rack.rtt(),
            reordering_window: self.rack.reordering_window(&facts),
        }
    }

    pub(in crate::send) fn info(&self, board: &Scoreboard, smss: u32, now: Instant) -> TcpInfo {
        TcpInfo {
            ca_state: self.state,
            retransmits: self.timeouts,
            backoff: self.rtt.backoff(),
            rto: self.rtt.rto(),
            rtt: self.rtt.srtt(),
            rttvar: self.rtt.rttvar(),
            min_rtt: self.rtt.min_rtt(now),
            snd_cwnd: self.window.cwnd,
            snd_ssthresh: self.window.ssthresh,
            snd_mss: smss,
            unacked: board.segments(),
            sacked: self.sacked(board),
            lost: board.lost_segments(),
            retrans: board.resent_segments(),
            total_retrans: self.retransmissions,
            reordering: self.reordering.degree(),
            reord_seen: self.reordering.seen(),
            delivered: self.delivered,
            dsack_dups: self.dsacked,
            probes: self.window_probes,
            busy_time: self.limits.busy(now),
            rwnd_limited: self.limits.by_window(now),
        }
    }
}
