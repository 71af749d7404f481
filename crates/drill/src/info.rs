//! Fields of `TCP_INFO` and the constants that assertions compare them with.
//!
//! [`value`] is the only place that reads them from a connection. A field that [`FIELDS`] does not
//! list makes a script not applicable.

use tcp::{Connection, ReceiveInfo, State, TcpInfo};
use units::{Duration, Instant};

/// Observations of the player that a connection does not record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observed {
    /// Current time.
    pub now: Instant,
    /// Announced segment size in bytes.
    pub announced_mss: u32,
    /// Longest segment received, in bytes of payload.
    pub longest_segment: u32,
    /// Number of bytes received in order.
    pub bytes_received: u64,
    /// Time of the last arrival of data, or of the handshake.
    pub data_received: Instant,
    /// Time at which data was last sent, or of the handshake.
    pub data_sent: Instant,
    /// Time of the last acknowledgment that arrived.
    pub ack_received: Instant,
}

/// Fields that [`value`] knows.
pub const FIELDS: [&str; 38] = [
    "tcpi_ca_state",
    "tcpi_retransmits",
    "tcpi_backoff",
    "tcpi_rttvar",
    "tcpi_min_rtt",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_reordering",
    "tcpi_reord_seen",
    "tcpi_delivered",
    "tcpi_dsack_dups",
    "tcpi_probes",
    "tcpi_busy_time",
    "tcpi_rwnd_limited",
    "tcpi_state",
    "tcpi_options",
    "tcpi_snd_wscale",
    "tcpi_rcv_wscale",
    "tcpi_rto",
    "tcpi_rtt",
    "tcpi_snd_mss",
    "tcpi_advmss",
    "tcpi_rcv_mss",
    "tcpi_rcv_ssthresh",
    "tcpi_rcv_wnd",
    "tcpi_ato",
    "tcpi_rcv_rtt",
    "tcpi_unacked",
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_total_retrans",
    "tcpi_notsent_bytes",
    "tcpi_bytes_retrans",
    "tcpi_bytes_received",
    "tcpi_last_data_recv",
    "tcpi_last_data_sent",
    "tcpi_last_ack_recv",
];

/// Constants by name.
const CONSTANTS: [(&str, i64); 22] = [
    ("TCP_ESTABLISHED", 1),
    ("TCP_SYN_SENT", 2),
    ("TCP_SYN_RECV", 3),
    ("TCP_FIN_WAIT1", 4),
    ("TCP_FIN_WAIT2", 5),
    ("TCP_TIME_WAIT", 6),
    ("TCP_CLOSE", 7),
    ("TCP_CLOSE_WAIT", 8),
    ("TCP_LAST_ACK", 9),
    ("TCP_LISTEN", 10),
    ("TCP_CLOSING", 11),
    ("TCP_CA_Open", 0),
    ("TCP_CA_Disorder", 1),
    ("TCP_CA_CWR", 2),
    ("TCP_CA_Recovery", 3),
    ("TCP_CA_Loss", 4),
    ("TCPI_OPT_TIMESTAMPS", 1),
    ("TCPI_OPT_SACK", 2),
    ("TCPI_OPT_WSCALE", 4),
    ("TCPI_OPT_ECN", 8),
    ("TCPI_OPT_ECN_SEEN", 16),
    ("TCPI_OPT_SYN_DATA", 32),
];

/// Threshold that stands for "none yet".
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;

/// Value of a constant.
pub fn constant(name: &str) -> Option<i64> {
    CONSTANTS.iter().find(|(known, _)| *known == name).map(|&(_, value)| value)
}

/// Value of a field: windows in segments, times in microseconds, except for `last_…` in
/// milliseconds, as in Linux.
pub fn value(name: &str, connection: &Connection, observed: &Observed) -> Option<i64> {
    if let Some(value) = connection.tcp_info(observed.now).and_then(|info| of_info(name, &info)) {
        return Some(value);
    }
    if let Some(value) = connection.receive_info().and_then(|info| of_receiver(name, &info)) {
        return Some(value);
    }
    let negotiated = connection.negotiated();
    let smss = connection.smss().max(1);
    let value = match name {
        "tcpi_state" => state(connection.state()),
        "tcpi_options" => {
            i64::from(negotiated.timestamps)
                | i64::from(negotiated.feedback == policy::Feedback::Sack) << 1
                | i64::from(negotiated.receive_scale.shift() > 0) << 2
                | i64::from(negotiated.ecn) << 3
        }
        "tcpi_snd_wscale" => negotiated.send_scale.shift().into(),
        "tcpi_rcv_wscale" => negotiated.receive_scale.shift().into(),
        "tcpi_rto" => micros(connection.rto()),
        "tcpi_rtt" => micros(connection.srtt().unwrap_or_default()),
        "tcpi_snd_mss" => smss.into(),
        "tcpi_advmss" => {
            // As in Linux, timestamps reduce what is announced.
            let timestamps = if negotiated.timestamps { 12 } else { 0 };
            i64::from(observed.announced_mss) - timestamps
        }
        "tcpi_rcv_mss" => observed.longest_segment.into(),
        "tcpi_unacked" => connection.send_state().segments.into(),
        "tcpi_snd_cwnd" => (connection.cwnd() / smss).into(),
        "tcpi_snd_ssthresh" => match connection.ssthresh() {
            none if none >= INFINITE_SSTHRESH / 2 => INFINITE_SSTHRESH.into(),
            bytes => (bytes / smss).into(),
        },
        "tcpi_total_retrans" => connection.statistics().retransmitted_segments.into(),
        "tcpi_bytes_retrans" => {
            i64::try_from(connection.statistics().retransmitted_bytes).unwrap_or(i64::MAX)
        }
        "tcpi_notsent_bytes" => {
            connection.unacknowledged().saturating_sub(connection.flight()).into()
        }
        "tcpi_bytes_received" => i64::try_from(observed.bytes_received).unwrap_or(i64::MAX),
        "tcpi_last_data_recv" => millis(observed.now.since(observed.data_received)),
        "tcpi_last_data_sent" => millis(observed.now.since(observed.data_sent)),
        "tcpi_last_ack_recv" => millis(observed.now.since(observed.ack_received)),
        _ => return None,
    };
    Some(value)
}

/// Value of a field that a sender that counts packets has.
fn of_info(name: &str, info: &TcpInfo) -> Option<i64> {
    Some(match name {
        "tcpi_ca_state" => info.ca_state as i64,
        "tcpi_retransmits" => info.retransmits.into(),
        "tcpi_backoff" => info.backoff.into(),
        "tcpi_rttvar" => micros(info.rttvar),
        "tcpi_min_rtt" => micros(info.min_rtt.unwrap_or_default()),
        "tcpi_unacked" => info.unacked.into(),
        "tcpi_sacked" => info.sacked.into(),
        "tcpi_lost" => info.lost.into(),
        "tcpi_retrans" => info.retrans.into(),
        "tcpi_total_retrans" => info.total_retrans.into(),
        "tcpi_snd_cwnd" => info.snd_cwnd.into(),
        "tcpi_snd_ssthresh" => info.snd_ssthresh.into(),
        "tcpi_reordering" => info.reordering.into(),
        "tcpi_reord_seen" => info.reord_seen.into(),
        "tcpi_delivered" => info.delivered.into(),
        "tcpi_dsack_dups" => info.dsack_dups.into(),
        "tcpi_probes" => info.probes.into(),
        "tcpi_busy_time" => micros(info.busy_time),
        "tcpi_rwnd_limited" => micros(info.rwnd_limited),
        _ => return None,
    })
}

/// Value of a field that a receiver with the rules of Linux has.
fn of_receiver(name: &str, info: &ReceiveInfo) -> Option<i64> {
    Some(match name {
        "tcpi_rcv_mss" => info.rcv_mss.into(),
        "tcpi_rcv_ssthresh" => info.rcv_ssthresh.into(),
        "tcpi_rcv_wnd" => info.rcv_wnd.into(),
        "tcpi_ato" => micros(info.ato),
        "tcpi_rcv_rtt" => micros(info.rcv_rtt.unwrap_or_default()),
        _ => return None,
    })
}

fn state(state: State) -> i64 {
    match state {
        State::Established => 1,
        State::SynSent => 2,
        State::SynReceived => 3,
        State::FinWait1 => 4,
        State::FinWait2 => 5,
        State::TimeWait => 6,
        State::Closed => 7,
        State::CloseWait => 8,
        State::LastAck => 9,
        State::Listen => 10,
        State::Closing => 11,
    }
}

fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_nanos() / 1000).unwrap_or(i64::MAX)
}

fn millis(span: Duration) -> i64 {
    micros(span) / 1000
}
