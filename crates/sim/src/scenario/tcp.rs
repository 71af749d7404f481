//! TCP settings of a scenario, and the profiles that provide the others.

use policy::rtt::RtoConfig;
use serde::{Deserialize, Serialize};
use units::Duration;
use wire::Mss;

use super::text;
use super::{KeyPath, ScenarioError};

/// TCP settings as written; the profile provides the value of an absent key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table of TCP settings")]
pub struct Tcp {
    /// The profile that provides the settings that are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// Maximum segment size in bytes of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss: Option<u16>,
    /// Retransmission timeout before the first RTT sample.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub rto_initial: Option<Duration>,
    /// Smallest retransmission timeout.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub rto_min: Option<Duration>,
    /// Largest retransmission timeout, where back-off ends.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub rto_max: Option<Duration>,
    /// Granularity of the clock that measures round trips and timeouts.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub tick: Option<Duration>,
    /// The segments that are timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_sample: Option<RttSample>,
    /// The growth of the window per acknowledgment in slow start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub growth: Option<Growth>,
    /// The quantity that is halved after a loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub halving: Option<Halving>,
    /// The slow start threshold before the first loss, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub ssthresh_initial: Option<u64>,
    /// The receiver acknowledges every n-th segment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_every: Option<u8>,
    /// The maximum delay of an acknowledgment.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub ack_delay: Option<Duration>,
    /// The receiver's buffer in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub receive_buffer: Option<u64>,
    /// Nagle's algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// The timestamps option.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Explicit congestion notification.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// The size of all IP and TCP headers together; absent: the profile's value.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub header: Option<u64>,
    /// Each send opportunity is deferred by a random time up to this one.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub send_jitter: Option<Duration>,
}

/// A named set of settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The simulator that most papers on TCP around 2000 used.
    Ns2,
    /// 4.4BSD and its descendants.
    Bsd,
    /// The RFCs in force.
    #[default]
    Rfc,
}

/// The segments that give an RTT sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RttSample {
    /// One timed segment in each window.
    Window,
    /// Every acknowledgment of a segment sent once.
    Ack,
}

/// The growth of the window in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Growth {
    /// One segment for each acknowledgment.
    Ack,
    /// The bytes acknowledged, at most one segment for each acknowledgment (RFC 5681 §3.1).
    Bytes,
}

/// The quantity that is halved after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Halving {
    /// `FlightSize`, once while the same data keeps timing out (RFC 5681 §3.1).
    Flight,
    /// The window, at every expiration of the timer.
    Window,
}

/// TCP settings with every default applied.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each an option of TCP with a name"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpSettings {
    /// The profile that provided the defaults.
    pub profile: Profile,
    /// Maximum segment size.
    pub mss: Mss,
    /// Retransmission timeout before the first RTT sample.
    pub rto_initial: Duration,
    /// Smallest retransmission timeout.
    pub rto_min: Duration,
    /// Largest retransmission timeout.
    pub rto_max: Duration,
    /// Clock granularity; zero for an exact clock.
    pub tick: Duration,
    /// Timers expire on a tick of a free-running clock (4.4BSD's slow timer) instead of exactly
    /// when due. Set by the profile alone.
    pub timers_on_ticks: bool,
    /// The segments that are timed.
    pub rtt_sample: RttSample,
    /// Growth in slow start.
    pub growth: Growth,
    /// The quantity that is halved after a loss.
    pub halving: Halving,
    /// The slow start threshold before the first loss, in bytes; `None`: as high as possible.
    pub ssthresh_initial: Option<u32>,
    /// Segments for each acknowledgment.
    pub ack_every: u8,
    /// The maximum delay of the acknowledgment of a single segment.
    pub ack_delay: Duration,
    /// The receiver's buffer in bytes.
    pub receive_buffer: u32,
    /// Nagle's algorithm.
    pub nagle: bool,
    /// The timestamps option.
    pub timestamps: bool,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Size of all headers on the wire in bytes; `None`: computed from the options of each segment.
    pub header: Option<u16>,
    /// The maximum random delay of a send opportunity.
    pub send_jitter: Duration,
}

impl Tcp {
    /// Returns true if no key is set.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Combines the common settings with a workload's `own` and with the profile. `own` takes
    /// precedence, key by key.
    ///
    /// # Errors
    /// If a value is out of range or two contradict each other. The path is that of the workload's
    /// table if it contains the key, else that of the common table.
    pub(crate) fn resolve(
        &self,
        own: &Self,
        workload: &KeyPath,
    ) -> Result<TcpSettings, ScenarioError> {
        let profile = own.profile.or(self.profile).unwrap_or_default();
        let defaults = profile.settings();
        let settings = TcpSettings {
            profile,
            mss: match own.mss.or(self.mss) {
                Some(mss) => {
                    // 65495 payload bytes and two headers of 20 fill an IPv4 packet (RFC 791 §3.1).
                    // RFC 1191 §7.1 knows no link below 68 bytes, so a minimum of 8 is generous.
                    let path = tcp_path("mss", own.mss.is_some(), workload);
                    let valid = Mss::new(mss).filter(|_| (8..=65_495).contains(&mss));
                    valid.ok_or_else(|| {
                        path.error(&format!("{mss} is not a segment size from 8 to 65495"))
                    })?
                }
                None => defaults.mss,
            },
            rto_initial: own.rto_initial.or(self.rto_initial).unwrap_or(defaults.rto_initial),
            rto_min: own.rto_min.or(self.rto_min).unwrap_or(defaults.rto_min),
            rto_max: own.rto_max.or(self.rto_max).unwrap_or(defaults.rto_max),
            tick: own.tick.or(self.tick).unwrap_or(defaults.tick),
            timers_on_ticks: defaults.timers_on_ticks,
            rtt_sample: own.rtt_sample.or(self.rtt_sample).unwrap_or(defaults.rtt_sample),
            growth: own.growth.or(self.growth).unwrap_or(defaults.growth),
            halving: own.halving.or(self.halving).unwrap_or(defaults.halving),
            ssthresh_initial: match own.ssthresh_initial.or(self.ssthresh_initial) {
                Some(bytes) => Some(
                    u32::try_from(bytes).ok().filter(|b| (1..=1 << 30).contains(b)).ok_or_else(
                        || {
                            tcp_path("ssthresh_initial", own.ssthresh_initial.is_some(), workload)
                                .error("must be from 1 B to 1 GiB, the largest window")
                        },
                    )?,
                ),
                None => defaults.ssthresh_initial,
            },
            ack_every: own.ack_every.or(self.ack_every).unwrap_or(defaults.ack_every),
            ack_delay: own.ack_delay.or(self.ack_delay).unwrap_or(defaults.ack_delay),
            receive_buffer: match own.receive_buffer.or(self.receive_buffer) {
                // RFC 7323 §2.3: no window exceeds 2^30 bytes.
                Some(bytes) => {
                    u32::try_from(bytes).ok().filter(|&b| b <= 1 << 30).ok_or_else(|| {
                        tcp_path("receive_buffer", own.receive_buffer.is_some(), workload)
                            .error("must be at most 1 GiB, the largest window")
                    })?
                }
                None => defaults.receive_buffer,
            },
            nagle: own.nagle.or(self.nagle).unwrap_or(defaults.nagle),
            timestamps: own.timestamps.or(self.timestamps).unwrap_or(defaults.timestamps),
            ecn: own.ecn.or(self.ecn).unwrap_or(defaults.ecn),
            header: match own.header.or(self.header) {
                Some(bytes) => {
                    Some(u16::try_from(bytes).ok().filter(|&b| b >= 1).ok_or_else(|| {
                        tcp_path("header", own.header.is_some(), workload)
                            .error("must be from 1 B to 65535 B")
                    })?)
                }
                None => defaults.header,
            },
            send_jitter: own.send_jitter.or(self.send_jitter).unwrap_or(defaults.send_jitter),
        };
        settings.check(|keys| {
            let own_key = keys.iter().find(|key| own.says(key));
            let key = own_key.or_else(|| keys.iter().find(|key| self.says(key)));
            tcp_path(key.unwrap_or(&keys[0]), own_key.is_some(), workload)
        })?;
        Ok(settings)
    }

    /// Returns true if `key` is set here.
    fn says(&self, key: &str) -> bool {
        serde_json::to_value(self).is_ok_and(|table| table.get(key).is_some())
    }
}

impl Profile {
    /// The settings of this profile.
    pub fn settings(self) -> TcpSettings {
        let ns2 = TcpSettings {
            profile: self,
            mss: Mss::ETHERNET_IPV4,
            // RFC 2988 §2.1, §2.4, §2.5: 3 s at first, at least 1 s (ns-2: minrto_ 1 from May
            // 2001), and a maximum of 60 s or more. We use 4.4BSD's 64 s (ns-2: maxrto_ 100000, in
            // effect none).
            rto_initial: Duration::from_secs(3),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(64),
            // ns-2: tcpTick_ 0.1 until March 2002; one timed segment a window; TCPSink acknowledges
            // each segment.
            tick: Duration::from_millis(100),
            timers_on_ticks: false,
            rtt_sample: RttSample::Window,
            growth: Growth::Ack,
            // ns-2, `slowdown`: half of the window at every loss; so did BSD before RFC 2581.
            halving: Halving::Window,
            // RFC 5681 §3.1: arbitrarily high.
            ssthresh_initial: None,
            ack_every: 1,
            ack_delay: Duration::from_millis(200),
            receive_buffer: 1_000_000,
            nagle: true,
            timestamps: false,
            // Off by default everywhere: in ns-2, and in stacks unless the peer requests it.
            ecn: false,
            // ns-2: tcpip_base_hdr_size_ 40.
            header: Some(40),
            send_jitter: Duration::ZERO,
        };
        match self {
            Self::Ns2 => ns2,
            Self::Bsd => TcpSettings {
                // 4.4BSD tcp_timer.h: PR_SLOWHZ 2, so timers of 500 ms; TCPTV_SRTTDFLT 3 s,
                // TCPTV_MIN 1 s, TCPTV_REXMTMAX 64 s. A delayed ACK uses the 200 ms timer
                // (PR_FASTHZ 5).
                tick: Duration::from_millis(500),
                timers_on_ticks: true,
                ack_every: 2,
                // The maximum of a 16-bit window field.
                receive_buffer: 65_535,
                header: None,
                ..ns2
            },
            Self::Rfc => TcpSettings {
                // RFC 6298 §2.1, §2.4, §2.5: 1 s at first, at least 1 s, a maximum of 60 s or more.
                rto_initial: Duration::from_secs(1),
                rto_max: Duration::from_secs(60),
                // RFC 7323 §5.4 requires a timestamp clock of 1 ms to 1 s.
                tick: Duration::from_millis(1),
                // RFC 7323 §4: with timestamps every ACK gives a sample.
                rtt_sample: RttSample::Ack,
                timestamps: true,
                // RFC 5681 §3.1 and §4.2: growth by bytes acknowledged, an ACK for at least every
                // second segment.
                growth: Growth::Bytes,
                halving: Halving::Flight,
                ack_every: 2,
                // RFC 9293 §3.8.6.3 allows up to 500 ms; 200 ms is common.
                ack_delay: Duration::from_millis(200),
                header: None,
                ..ns2
            },
        }
    }
}

impl TcpSettings {
    /// The parameters of the retransmission timer; `None` if they contradict each other. Those of a
    /// plan never do.
    pub fn rto(&self) -> Option<RtoConfig> {
        RtoConfig::new(
            self.rto_initial,
            self.rto_min,
            self.rto_max,
            self.tick,
            self.timers_on_ticks,
        )
    }

    /// Checks the settings against each other. `blame` returns the path of the first of several
    /// keys that is set.
    fn check(&self, blame: impl Fn(&[&str]) -> KeyPath) -> Result<(), ScenarioError> {
        let &Self { rto_initial, rto_min, rto_max, tick, receive_buffer, .. } = self;
        blame(&["rto_min"]).require(!rto_min.is_zero(), "must be above zero")?;
        let problem = format!("rto_max, {rto_max}, is below rto_min, {rto_min}");
        blame(&["rto_max", "rto_min"]).require(rto_max >= rto_min, &problem)?;
        let problem = format!(
            "rto_initial, {rto_initial}, is not between rto_min, {rto_min}, and rto_max, {rto_max}"
        );
        let between = (rto_min..=rto_max).contains(&rto_initial);
        blame(&["rto_initial", "rto_min", "rto_max"]).require(between, &problem)?;
        let problem = format!(
            "tick, {tick}, is more than rto_min, {rto_min}: every timeout would be one tick"
        );
        blame(&["tick", "rto_min"]).require(tick <= rto_min, &problem)?;
        blame(&["ack_every"]).require(self.ack_every >= 1, "must be at least 1")?;
        let mss = self.mss.bytes();
        let problem =
            format!("receive_buffer, {receive_buffer} B, cannot hold one segment of {mss} B");
        blame(&["receive_buffer", "mss"]).require(receive_buffer >= mss, &problem)?;
        let packet = mss + self.header.map_or(0, u32::from);
        let problem =
            format!("a full segment with its headers, {packet} B, exceeds an IP packet of 65535 B");
        blame(&["header", "mss"]).require(packet <= 65_535, &problem)
    }
}

/// The path of a TCP key: in the workload's own table if it has the key, else in the common one.
fn tcp_path(key: &str, own: bool, workload: &KeyPath) -> KeyPath {
    if own { workload.key("tcp").key(key) } else { KeyPath::default().key("tcp").key(key) }
}
