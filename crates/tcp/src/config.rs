//! Configuration of a connection.

use policy::congestion::{ControllerFactory, WindowRules};
use policy::rtt::RtoConfig;
use policy::{Feedback, Framing, SenderPolicy};
use units::Duration;
use wire::{Mss, SantaCruz, WindowScale};

mod receiving;

pub use receiving::{Acceptance, LinuxReceiver, Receiving};

/// Configuration of a connection. Many connections share one.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each an option of TCP with a name"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Sender policy: congestion control, loss recovery, segmentation. [`SenderPolicy::rto`]
    /// applies its minimum of the retransmission timeout to `rto`.
    pub sender: SenderPolicy,
    /// Factory of the congestion controller; `None` for the controller of `sender`. A connection
    /// calls it once, when the options are negotiated.
    pub controller: Option<ControllerFactory>,
    /// Window rules that hold for every congestion controller.
    pub window: WindowRules,
    /// Maximum segment size to announce in the MSS option and to send.
    pub mss: Mss,
    /// Parameters of the retransmission timer.
    pub rto: RtoConfig,
    /// Acknowledgments that measure the round-trip time.
    pub rtt_samples: RttSamples,
    /// Delay of acknowledgments.
    pub delayed_ack: DelayedAck,
    /// Rules for acknowledgments and the advertised window.
    pub receiver: Receiving,
    /// Treatment of segments that only some implementations reject or answer.
    pub acceptance: Acceptance,
    /// Receive buffer in bytes: data held for the application before the peer must wait.
    pub receive_buffer: u32,
    /// Send buffer in bytes: data accepted from the application and not yet acknowledged; at most
    /// 2³⁰.
    pub send_buffer: u32,
    /// Limit of the memory for data that the application has written, besides `send_buffer`.
    pub send_memory: SendMemory,
    /// Offer window scaling (RFC 7323 §2).
    pub window_scaling: bool,
    /// Offer timestamps (RFC 7323 §3).
    pub timestamps: bool,
    /// Offer SACK (RFC 2018) for received data. For sent data the sender policy must also use it.
    pub sack: bool,
    /// Offer and accept the option of TCP Santa Cruz, which replaces SACK blocks.
    pub santa_cruz: bool,
    /// Write the options of a SYN in the order of Linux, which needs four bytes less.
    pub compact_syn: bool,
    /// Offer and accept ECN (RFC 3168).
    pub ecn: bool,
    /// Delay a segment shorter than `MSS_c` while another such segment is unacknowledged (Nagle).
    pub nagle: bool,
    /// RFC 5681 §4.1: restart with slow start after an idle time of one RTO.
    pub restart_after_idle: bool,
    /// A sender that counts packets sends this fraction of the window at once: one divided by the
    /// number (`tcp_tso_win_divisor`). Less may wait for an acknowledgment that is expected within
    /// a millisecond.
    pub window_divisor: u8,
    /// Maximum segment lifetime (RFC 9293 §3.4.2). TIME-WAIT lasts two of them.
    pub msl: Duration,
    /// Number of consecutive timeouts after which the connection is aborted (RFC 9293 §3.8.3, R2).
    pub max_timeouts: u8,
    /// Number of consecutive timeouts of a SYN after which the connection is aborted.
    pub max_syn_timeouts: u8,
    /// Number of timeouts of the SYN of an active open after which the timeout is not doubled.
    /// Linux has 4 (`tcp_syn_linear_timeouts`); RFC 6298 §5.5 doubles at once. The connection is
    /// aborted after the time that `max_syn_timeouts` would take without them.
    pub linear_syn_timeouts: u8,
    /// Lower bound for the segment size that a peer or a router can impose, options included.
    pub min_mss: Mss,
    /// Rate limit for challenge ACKs.
    pub challenges: Challenges,
    /// Time limits for a silent or stalled peer.
    pub timeouts: Timeouts,
}

impl Default for Config {
    /// Values that the RFCs recommend today, with full-sized segments.
    fn default() -> Self {
        Self {
            sender: SenderPolicy::CLASSIC,
            controller: None,
            window: WindowRules::RFC,
            mss: Mss::ETHERNET_IPV4,
            rto: RtoConfig::RFC,
            rtt_samples: RttSamples::EveryAck,
            delayed_ack: DelayedAck::RFC,
            receiver: Receiving::Rfc,
            acceptance: Acceptance::RFC,
            receive_buffer: 1 << 20,
            send_buffer: 1 << 20,
            send_memory: SendMemory::Unlimited,
            window_scaling: true,
            timestamps: true,
            sack: true,
            santa_cruz: false,
            compact_syn: false,
            ecn: false,
            nagle: true,
            restart_after_idle: true,
            window_divisor: 3,
            msl: Duration::from_secs(120),
            max_timeouts: 15,
            // RFC 9293 §3.8.3: R2 of a SYN is at least 3 minutes. From a timeout of 1 s this is 183
            // s.
            max_syn_timeouts: 7,
            linear_syn_timeouts: 0,
            min_mss: Mss::LEAST,
            challenges: Challenges::DEFAULT,
            timeouts: Timeouts::NONE,
        }
    }
}

impl Config {
    /// Returns whether the sender counts packets, or treats the end of a write in another way.
    #[inline]
    pub(crate) fn has_special_sender(&self) -> bool {
        let sender = &self.sender;
        sender.rack().is_some()
            || sender.tail_copy.is_some()
            || matches!(sender.framing, Framing::Tail(_))
    }
}

/// RFC 5961 §7: rate limit for challenge ACKs and for the other answers that an attacker can
/// trigger by guessing.
///
/// Unlike there, the limit holds for each connection, and hosts have no global limit. A global
/// limit leaks information (CVE-2016-5696): an attacker exhausts it on another connection, and the
/// number of remaining answers tells whether guesses for the victim triggered any. The traffic of a
/// host stays bounded. One attacker packet triggers at most one small packet, and each connection
/// with known addresses and ports sends at most ten a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Challenges {
    /// Maximum number of challenges in a period.
    pub count: u8,
    /// Length of the period.
    pub per: Duration,
}

impl Challenges {
    /// Ten challenges a second.
    pub const DEFAULT: Self = Self { count: 10, per: Duration::from_secs(1) };
}

/// Time limits of a connection, beyond those of the protocol. `None` disables a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// User timeout (RFC 9293 §3.8.3, RFC 5482): maximum time without progress of queued data,
    /// because the peer is silent or its window is closed. Then the connection is aborted. It also
    /// holds for a SYN.
    pub user_timeout: Option<Duration>,
    /// Keep-alive probes to a silent peer (RFC 9293 §3.8.4).
    pub keep_alive: Option<KeepAlive>,
    /// Maximum silence of the peer in FIN-WAIT-2, a state that nothing else ends.
    pub fin_wait_2: Option<Duration>,
}

impl Timeouts {
    /// No limits beyond those of the protocol.
    pub const NONE: Self = Self { user_timeout: None, keep_alive: None, fin_wait_2: None };

    pub(crate) fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

/// Parameters of keep-alive probes (RFC 9293 §3.8.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepAlive {
    pub(crate) idle: Duration,
    pub(crate) interval: Duration,
    pub(crate) count: u8,
}

impl KeepAlive {
    /// RFC 9293 §3.8.4: two hours, the minimum for the default; then nine probes at 75 s, as other
    /// implementations do.
    pub const DEFAULT: Self =
        Self { idle: Duration::from_secs(7200), interval: Duration::from_secs(75), count: 9 };

    /// Creates the parameters. After `idle` without a segment from the peer and with nothing
    /// unacknowledged, a probe is sent, then one every `interval`. The connection is aborted after
    /// `count` unanswered probes; a single missing answer proves nothing. Returns `None` if any of
    /// the three is zero.
    pub fn new(idle: Duration, interval: Duration, count: u8) -> Option<Self> {
        (!idle.is_zero() && !interval.is_zero() && count > 0).then_some(Self {
            idle,
            interval,
            count,
        })
    }
}

/// Limit of the memory for data that the application has written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SendMemory {
    /// No limit besides the send buffer in bytes.
    #[default]
    Unlimited,
    /// Linux's limit, which begins with the memory of two windows of ten segments and grows with
    /// the window (`tcp_sndbuf_expand`). It is for drivers whose applications have no data, as in a
    /// simulation. A sender that counts bytes ignores it.
    Linux,
}

/// Acknowledgments that measure the round-trip time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RttSamples {
    /// One segment at a time is timed, as in BSD: at most one sample per window.
    OnePerWindow,
    /// Every acknowledgment of a segment that was sent only once.
    EveryAck,
}

/// Acknowledgment of in-order data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DelayedAck {
    /// Maximum number of segments per acknowledgment; 1 acknowledges each at once.
    pub every: u8,
    /// Maximum delay of an acknowledgment.
    pub timeout: Duration,
}

impl DelayedAck {
    /// RFC 9293 §3.8.6.3: at least every second segment, within 0.5 s. Common implementations use
    /// 200 ms.
    pub const RFC: Self = Self { every: 2, timeout: Duration::from_millis(200) };
    /// No delay.
    pub const OFF: Self = Self { every: 1, timeout: Duration::from_millis(200) };
}

/// Options that both ends negotiated with their SYNs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Negotiated {
    /// Maximum segment size of the peer.
    pub peer_mss: Mss,
    /// Information in acknowledgments, in both directions. With TCP Santa Cruz every data segment
    /// also carries its transmission number.
    pub feedback: Feedback,
    /// Whether ECN is in use: routers may mark data segments.
    pub ecn: bool,
    /// Whether every segment carries timestamps.
    pub timestamps: bool,
    /// Scale of the windows that the peer advertises.
    pub send_scale: WindowScale,
    /// Scale of the windows that this end advertises.
    pub receive_scale: WindowScale,
}

impl Negotiated {
    /// Returns the options that two ends with this configuration negotiate.
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

    /// Sender maximum segment size in bytes. RFC 6691 §2: options on every data segment reduce the
    /// payload.
    pub(crate) fn smss(self, config: &Config) -> u32 {
        self.payload_of(config.mss.min(self.peer_mss.max(config.min_mss)))
    }

    /// Maximum payload that the peer may send, in bytes, as announced to it. The advertised window
    /// opens in steps of it. The peer's own MSS, which limits this end, may be smaller.
    pub(crate) fn peer_smss(self, config: &Config) -> u32 {
        self.payload_of(config.mss)
    }

    /// Payload of a segment of this size without the options, in bytes. With a FIN it stays below
    /// 2¹⁶ sequence numbers, because the largest MSS means only that there is no bound (RFC 2675
    /// §5).
    pub(crate) fn payload_of(self, mss: Mss) -> u32 {
        let timestamps = if self.timestamps { 12 } else { 0 };
        let santa_cruz = if self.santa_cruz_negotiated() { SantaCruz::DATA_LEN } else { 0 };
        let bytes = mss.bytes().min(u32::from(u16::MAX) - 1);
        bytes.saturating_sub(timestamps + santa_cruz).max(1)
    }

    /// Returns whether the option of TCP Santa Cruz is negotiated.
    pub(crate) fn santa_cruz_negotiated(&self) -> bool {
        self.feedback == Feedback::AckWindow
    }

    /// Returns the feedback that results from the negotiated options.
    pub(crate) fn feedback_of(santa_cruz: bool, sack: bool) -> Feedback {
        match (santa_cruz, sack) {
            (true, _) => Feedback::AckWindow,
            (false, true) => Feedback::Sack,
            (false, false) => Feedback::Cumulative,
        }
    }
}
