//! What a connection is built with.

use policy::congestion::WindowRules;
use policy::rtt::RtoConfig;
use policy::{Feedback, SenderPolicy};
use units::Duration;
use wire::{Mss, SantaCruz, WindowScale};

/// The parameters of a connection. Many connections share one.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each an option of TCP with a name"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// How to send.
    pub sender: SenderPolicy,
    /// What holds for the window, whoever keeps it.
    pub window: WindowRules,
    /// The largest segment to accept, which is announced, and to send.
    pub mss: Mss,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// Which acknowledgments are timed.
    pub rtt_samples: RttSamples,
    /// When to acknowledge.
    pub delayed_ack: DelayedAck,
    /// Bytes held for the user before the peer must wait.
    pub receive_buffer: u32,
    /// Bytes taken from the user before they are acknowledged; at most 2³⁰.
    pub send_buffer: u32,
    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer SACK (RFC 2018), for what is received; what is sent also needs a sender that uses it.
    pub sack: bool,
    /// Offer the option of TCP Santa Cruz, and accept it, in the place of SACK blocks.
    pub santa_cruz: bool,
    /// Offer ECN (RFC 3168), and accept it.
    pub ecn: bool,
    /// Hold a segment shorter than `MSS_c` back while another such segment is unacknowledged.
    pub nagle: bool,
    /// RFC 5681 §4.1: begin a new slow start after an idle time of one RTO.
    pub restart_after_idle: bool,
    /// The maximum segment lifetime (RFC 9293 §3.4.2); TIME-WAIT lasts two of them.
    pub msl: Duration,
    /// Timeouts in a row after which the connection is given up (RFC 9293 §3.8.3, R2).
    pub max_timeouts: u8,
    /// The same for a SYN.
    pub max_syn_timeouts: u8,
    /// What no peer and no router makes segments smaller than, options included.
    pub min_mss: Mss,
    /// How often a segment that may be a guess is challenged.
    pub challenges: Challenges,
    /// How long a silent or unwilling peer is waited for.
    pub timeouts: Timeouts,
}

impl Default for Config {
    /// What the RFCs recommend today, with classic framing.
    fn default() -> Self {
        Self {
            sender: SenderPolicy::CLASSIC,
            window: WindowRules::RFC,
            mss: Mss::ETHERNET_IPV4,
            rto: RtoConfig::RFC,
            rtt_samples: RttSamples::EveryAck,
            delayed_ack: DelayedAck::RFC,
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            window_scaling: true,
            timestamps: true,
            sack: true,
            santa_cruz: false,
            ecn: false,
            nagle: true,
            restart_after_idle: true,
            msl: Duration::from_secs(120),
            max_timeouts: 15,
            // RFC 9293 §3.8.3: R2 of a SYN is at least 3 minutes. From a timeout of 1 s this is 183
            // s.
            max_syn_timeouts: 7,
            min_mss: Mss::LEAST,
            challenges: Challenges::DEFAULT,
            timeouts: Timeouts::NONE,
        }
    }
}

/// RFC 5961 §7: a limit for challenge ACKs, and for the other answers that a stranger can draw by
/// guessing, so that a flood of guesses costs little.
///
/// Unlike there, it holds for a connection, and there is none for all connections of a host:
/// whoever draws the rest of a shared number on a connection of his own and counts what he gets of
/// it learns whether his guesses about another's drew any (CVE-2016-5696), which is more than the
/// guesses themselves were worth. What a host sends is bounded without it: a stranger draws one
/// small packet with each of his, and ten a second from each connection whose ends and ports he
/// knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenges {
    /// So many at most …
    pub count: u8,
    /// … in any time of this length.
    pub per: Duration,
}

impl Challenges {
    /// Ten a second.
    pub const DEFAULT: Self = Self { count: 10, per: Duration::from_secs(1) };
}

/// How long a host waits for a peer, beyond what the protocol says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// RFC 9293 §3.8.3, RFC 5482: what is queued may make no progress for so long, be it that the
    /// peer is silent or that its window stays closed; then the connection is given up. It
    /// also holds for a SYN.
    pub user_timeout: Option<Duration>,
    /// RFC 9293 §3.8.4: whether and how a peer that says nothing is asked if it is there.
    pub keep_alive: Option<KeepAlive>,
    /// How long a peer may be silent in FIN-WAIT-2, where nothing else would end the wait.
    pub fin_wait_2: Option<Duration>,
}

impl Timeouts {
    /// What the protocol asks for and no more.
    pub const NONE: Self = Self { user_timeout: None, keep_alive: None, fin_wait_2: None };

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// RFC 9293 §3.8.4: keep-alives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    pub(crate) idle: Duration,
    pub(crate) interval: Duration,
    pub(crate) count: u8,
}

impl KeepAlive {
    /// RFC 9293 §3.8.4: two hours, the least that may be done unasked; then as stacks do, nine
    /// times at 75 s.
    pub const DEFAULT: Self =
        Self { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), count: 9 };

    /// After `idle` without a word from the peer, and with nothing unacknowledged, it is asked if
    /// it is there; and again every `interval`, `count` times in all, before it is given up. No
    /// single answer that is missing means anything. `None` if any of the three is zero.
    pub fn new(idle: Duration, interval: Duration, count: u8) -> Option<Self> {
        (!idle.is_zero() && !interval.is_zero() && count > 0).then_some(Self {
            idle,
            interval,
            count,
        })
    }
}

/// Which acknowledgments measure the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttSamples {
    /// One segment at a time is timed: the BSD way, at most a sample a window.
    OnePerWindow,
    /// Every acknowledgment of a segment that was sent once.
    EveryAck,
}

/// When data in order is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// Acknowledge at the latest every so many segments; 1 acknowledges each at once.
    pub every: u8,
    /// Acknowledge at the latest after so long.
    pub timeout: Duration,
}

impl DelayedAck {
    /// RFC 9293 §3.8.6.3: at least every second segment, within 0.5 s. Stacks take 200 ms.
    pub const RFC: Self = Self { every: 2, timeout: Duration::from_millis(200) };
    /// No delay.
    pub const OFF: Self = Self { every: 1, timeout: Duration::from_millis(200) };
}

/// What the two ends agreed on with their SYNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    /// The peer's maximum segment size.
    pub peer_mss: Mss,
    /// What acknowledgments say, in both directions. With TCP Santa Cruz every segment with data
    /// also says which transmission it is.
    pub feedback: Feedback,
    /// Whether routers may mark data segments, and both ends act on it.
    pub ecn: bool,
    /// Whether every segment carries timestamps.
    pub timestamps: bool,
    /// The scale of the windows that the peer advertises.
    pub send_scale: WindowScale,
    /// The scale of the windows that are advertised to the peer.
    pub receive_scale: WindowScale,
}

impl Negotiated {
    /// What two ends with this configuration agree on.
    pub fn between_equals(config: &Config) -> Self {
        let scale = if config.window_scaling {
            WindowScale::for_buffer(config.receive_buffer)
        } else {
            WindowScale::NONE
        };
        Self {
            peer_mss: config.mss,
            feedback: Self::feedback_of(config.santa_cruz, config.sack),
            ecn: config.ecn,
            timestamps: config.timestamps,
            send_scale: scale,
            receive_scale: scale,
        }
    }

    /// The sender maximum segment size: RFC 6691 §2, the options on every data segment come out of
    /// the payload.
    pub(crate) fn smss(self, config: &Config) -> u32 {
        self.payload_of(config.mss.min(self.peer_mss.max(config.min_mss)))
    }

    /// The largest payload that the peer may send, in bytes: what was announced to it. Windows are
    /// opened in steps of it. What the peer takes, by which this end sends, may be less.
    pub(crate) fn peer_smss(self, config: &Config) -> u32 {
        self.payload_of(config.mss)
    }

    /// What a segment of this size carries beside the options. With a FIN it stays below 2¹⁶
    /// sequence numbers: RFC 2675 §5, the largest MSS says no more than that there is no bound.
    pub(crate) fn payload_of(self, mss: Mss) -> u32 {
        let timestamps = if self.timestamps { 12 } else { 0 };
        let santa_cruz = if self.santa_cruz_negotiated() { SantaCruz::DATA_LEN } else { 0 };
        let bytes = mss.bytes().min(u32::from(u16::MAX) - 1);
        bytes.saturating_sub(timestamps + santa_cruz).max(1)
    }

    /// Whether both ends speak TCP Santa Cruz.
    pub(crate) fn santa_cruz_negotiated(&self) -> bool {
        self.feedback == Feedback::AckWindow
    }

    /// What acknowledgments say when so much is spoken by both ends.
    pub(crate) fn feedback_of(santa_cruz: bool, sack: bool) -> Feedback {
        match (santa_cruz, sack) {
            (true, _) => Feedback::AckWindow,
            (false, true) => Feedback::Sack,
            (false, false) => Feedback::Cumulative,
        }
    }
}
