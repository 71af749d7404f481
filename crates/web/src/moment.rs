//! The state of both ends of a flow at a time.

use schemars::JsonSchema;
use serde::Serialize;
use sim::tables::{span_s, time_s};
use sim::watched::Moment;
use tcp::{CongestionState, QueuedSegment, TimerName};
use units::Instant;
use wire::SeqNum;

/// The state of both ends. Sequence numbers are relative to the initial one of the sender.
#[derive(Debug, Serialize, JsonSchema)]
pub struct MomentAnswer {
    /// Time of the event that led to this state, in seconds.
    pub at_s: f64,
    /// Congestion window in bytes.
    pub cwnd_bytes: u32,
    /// Slow start threshold in bytes; null before the first reduction.
    pub ssthresh_bytes: Option<u32>,
    /// `FlightSize` (RFC 5681) in bytes.
    pub flight_bytes: u32,
    /// Bytes that count against the congestion window.
    pub pipe_bytes: u32,
    /// Maximum payload of the next segment in bytes.
    pub segment_bytes: u32,
    /// SND.UNA, SND.NXT.
    pub una: u32,
    /// SND.NXT.
    pub nxt: u32,
    /// Window of the receiver in bytes.
    pub wnd_bytes: u32,
    /// Number of duplicate acknowledgments since SND.UNA advanced.
    pub duplicates: u32,
    /// Whether fast recovery is active.
    pub recovering: bool,
    /// State of congestion control of a sender that counts packets, with the names of Linux.
    pub congestion: Option<&'static str>,
    /// Running timers of both ends.
    pub timers: Vec<TimerAnswer>,
    /// Retransmission queue with the marks of the scoreboard, oldest segment first.
    pub queue: Vec<QueuedAnswer>,
    /// State of RACK; null for a sender without it.
    pub rack: Option<RackAnswer>,
}

/// A running timer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TimerAnswer {
    /// Whether it is a timer of the end that sends the flow's data.
    pub is_sender: bool,
    /// Name of the timer.
    pub name: &'static str,
    /// Time of the expiry in seconds.
    pub at_s: f64,
}

/// A segment that is sent and not acknowledged.
#[derive(Debug, Serialize, JsonSchema)]
pub struct QueuedAnswer {
    /// First sequence number.
    pub seq: u32,
    /// Number of sequence numbers.
    pub length: u32,
    /// Time of the last transmission in seconds.
    pub sent_s: f64,
    /// Whether the receiver has reported its arrival.
    pub reported: bool,
    /// Whether it counts as lost.
    pub lost: bool,
    /// Whether it was retransmitted.
    pub resent: bool,
}

/// State of RACK (RFC 8985 §5.2).
#[derive(Debug, Serialize, JsonSchema)]
pub struct RackAnswer {
    /// `RACK.xmit_ts` in seconds.
    pub xmit_s: f64,
    /// `RACK.end_seq`, as the first sequence number of that segment.
    pub seq: u32,
    /// `RACK.rtt` in seconds.
    pub rtt_s: f64,
    /// `RACK.reo_wnd` in seconds.
    pub reordering_window_s: f64,
}

/// A threshold from here on stands for none (`policy::congestion::MAX_WINDOW`).
const NO_THRESHOLD: u32 = 1 << 30;

impl MomentAnswer {
    pub(crate) fn new(moment: &Moment, first: SeqNum) -> Self {
        let sender = &moment.sender;
        let state = &sender.state;
        let relative = |seq: SeqNum| seq.distance_from(first);
        let of = |is_sender: bool, timers: &[(TimerName, Instant)]| -> Vec<TimerAnswer> {
            let timer = |&(name, at): &(TimerName, Instant)| TimerAnswer {
                is_sender,
                name: name_of(name),
                at_s: time_s(at),
            };
            timers.iter().map(timer).collect()
        };
        let mut timers = of(true, &sender.timers);
        timers.extend(of(false, &moment.receiver_timers));
        Self {
            at_s: time_s(moment.at),
            cwnd_bytes: sender.cwnd,
            ssthresh_bytes: (sender.ssthresh < NO_THRESHOLD).then_some(sender.ssthresh),
            flight_bytes: sender.flight,
            pipe_bytes: state.in_network,
            segment_bytes: state.mss_c,
            una: relative(state.una),
            nxt: relative(state.nxt),
            wnd_bytes: state.wnd,
            duplicates: state.duplicates,
            recovering: state.recovering,
            congestion: sender.congestion.map(|state| match state {
                CongestionState::Open => "Open",
                CongestionState::Disorder => "Disorder",
                CongestionState::Cwr => "CWR",
                CongestionState::Recovery => "Recovery",
                CongestionState::Loss => "Loss",
            }),
            timers,
            queue: sender.queue.iter().map(|segment| queued(segment, first)).collect(),
            rack: sender.rack.map(|rack| RackAnswer {
                xmit_s: time_s(rack.xmit_at),
                seq: relative(rack.seq),
                rtt_s: span_s(rack.rtt),
                reordering_window_s: span_s(rack.reordering_window),
            }),
        }
    }
}

fn queued(segment: &QueuedSegment, first: SeqNum) -> QueuedAnswer {
    QueuedAnswer {
        seq: segment.seq.distance_from(first),
        length: segment.len,
        sent_s: time_s(segment.sent_at),
        reported: segment.reported,
        lost: segment.lost,
        resent: segment.resent,
    }
}

fn name_of(timer: TimerName) -> &'static str {
    match timer {
        TimerName::Retransmission => "retransmission timeout",
        TimerName::LossProbe => "tail loss probe",
        TimerName::Reordering => "RACK reordering window",
        TimerName::DelayedAck => "delayed acknowledgment",
        TimerName::Persist => "window probe",
        TimerName::State => "end of the state",
    }
}
