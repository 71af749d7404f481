//! TCP settings of a scenario, and the profiles that provide the others.

use policy::congestion::{Counting, Halving as PolicyHalving};
use policy::rtt::RtoConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcp::RttSamples;
use units::Duration;

use super::limited::{Header, ReceiveBuffer, SegmentSize, Threshold};
use super::text::{Text, Time};
use super::{KeyPath, ScenarioError};

/// Declares the keys of `[tcp]`: for each its meaning, its type and its value in the profiles. The
/// first value is that of `ns2`; the others are listed where they differ. A key that is marked
/// `optional` may have no value.
macro_rules! settings {
    ($(
        $(#[$doc:meta])*
        $($optional:ident)? [$key:ident]: $type:ty = $ns2:expr $(, bsd = $bsd:expr)? $(, rfc = $rfc:expr)? $(, linux = $linux:expr)?;
    )*) => {
        /// Parameters of TCP. Absent parameters have the values of the profile.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "a table of TCP settings")]
        pub struct Tcp {
            /// Set of default values for absent parameters.
            ///
            /// Absent: `"rfc"`.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub profile: Option<Profile>,
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $key: Option<$type>,
            )*
        }

        /// TCP settings with every default applied.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub struct TcpSettings {
            /// The profile that provided the defaults.
            pub profile: Profile,
            $($(#[$doc])* pub $key: settings!(@type $type $(, $optional)?),)*
        }

        impl Tcp {
            /// The settings of `own`, else those of `self`, else those of the profile.
            fn merged(&self, own: &Self) -> TcpSettings {
                let defaults = own.profile.or(self.profile).unwrap_or_default().settings();
                TcpSettings {
                    profile: defaults.profile,
                    $($key: settings!(@or own.$key.or(self.$key), defaults.$key $(, $optional)?),)*
                }
            }
        }

        impl Profile {
            /// The settings of this profile.
            pub fn settings(self) -> TcpSettings {
                let ns2 = TcpSettings { profile: self, $($key: $ns2,)* };
                match self {
                    Self::Ns2 => ns2,
                    Self::Bsd => TcpSettings { $($($key: $bsd,)?)* ..ns2 },
                    Self::Rfc => TcpSettings { $($($key: $rfc,)?)* ..ns2 },
                    // Where Linux has no value of its own, it follows the RFCs.
                    Self::Linux612 | Self::Linux618 => TcpSettings {
                        $($($key: $linux,)?)*
                        ..TcpSettings { $($($key: $rfc,)?)* ..ns2 }
                    },
                }
            }

            /// The settings of this profile as a table of a scenario.
            pub fn table(self) -> Tcp {
                let settings = self.settings();
                Tcp {
                    profile: Some(self),
                    $($key: settings!(@key settings.$key $(, $optional)?),)*
                }
            }
        }
    };
    (@type $type:ty) => { $type };
    (@type $type:ty, optional) => { Option<$type> };
    (@or $value:expr, $default:expr) => { $value.unwrap_or($default) };
    (@or $value:expr, $default:expr, optional) => { $value.or($default) };
    (@key $value:expr) => { Some($value) };
    (@key $value:expr, optional) => { $value };
}

settings! {
    /// Maximum segment size: payload bytes of a full-sized segment.
    [mss]: SegmentSize = SegmentSize::ETHERNET_IPV4;

    /// Retransmission timeout before the first RTT sample.
    // RFC 2988 §2.1: 3 s. RFC 6298 §2.1: 1 s.
    [rto_initial]: Time = ms(3000), rfc = ms(1000), linux = ms(1000);

    /// Minimum retransmission timeout.
    // RFC 2988 §2.4 and RFC 6298 §2.4: at least 1 s. ns-2: minrto_ 1 from May 2001.
    // 4.4BSD tcp_timer.h: TCPTV_MIN 1 s.
    // Linux: tcp_rto_min_us 200 ms, as a minimum of the variation that is added to SRTT.
    [rto_min]: Time = ms(1000), linux = ms(200);

    /// Maximum retransmission timeout, back-off included.
    // RFC 2988 §2.5 and RFC 6298 §2.5: 60 s or more. For `ns2` we use 4.4BSD's 64 s, TCPTV_REXMTMAX
    // (ns-2: maxrto_ 100000, in effect none).
    // Linux: tcp_rto_max_ms 120 s.
    [rto_max]: Time = ms(64_000), rfc = ms(60_000), linux = ms(120_000);

    /// Granularity of the clock for RTT samples and timers.
    // ns-2: tcpTick_ 0.1 until March 2002. 4.4BSD tcp_timer.h: PR_SLOWHZ 2, so timers of 500 ms.
    // RFC 7323 §5.4 requires a timestamp clock of 1 ms to 1 s.
    // Linux: HZ 250 is the default of most distributions; its timers expire on the timer wheel.
    [tick]: Time = ms(100), bsd = ms(500), rfc = ms(1), linux = ms(4);

    /// `window`: one RTT sample at a time; `ack`: an RTT sample from every acknowledgment of a
    /// segment that was not retransmitted.
    // RFC 7323 §4: with timestamps every ACK gives a sample.
    [rtt_sample]: RttSample = RttSample::Window, rfc = RttSample::Ack;

    /// Growth of the window per ACK in slow start: one segment (`ack`), or the acknowledged bytes
    /// up to one segment (`bytes`).
    // RFC 5681 §3.1: by bytes acknowledged.
    [growth]: Growth = Growth::Ack, rfc = Growth::Bytes;

    /// Quantity that a loss halves: the data in flight (`flight`, RFC 5681), or the window at each
    /// timeout (`window`).
    // ns-2, `slowdown`: half of the window at every loss; so did BSD before RFC 2581.
    [halving]: Halving = Halving::Window, rfc = Halving::Flight;

    /// Initial slow start threshold: slow start ends there if there is no loss before.
    // RFC 5681 §3.1: arbitrarily high.
    optional [ssthresh_initial]: Threshold = None;

    /// Delayed ACKs: number of segments per acknowledgment; 1 acknowledges each segment.
    // ns-2's TCPSink acknowledges each segment. RFC 5681 §4.2: at least every second segment.
    [ack_every]: u8 = 1, bsd = 2, rfc = 2;

    /// Maximum delay of an ACK.
    // 4.4BSD: the 200 ms timer (PR_FASTHZ 5). RFC 9293 §3.8.6.3 allows up to 500 ms; 200 ms is
    // common.
    // Linux: TCP_DELACK_MIN 40 ms.
    [ack_delay]: Time = ms(200), linux = ms(40);

    /// Size of the receiver's buffer, which limits the advertised window.
    // 4.4BSD: the maximum of a 16-bit window field.
    [receive_buffer]: ReceiveBuffer = ReceiveBuffer::MEGABYTE, bsd = ReceiveBuffer::UNSCALED;

    /// Nagle's algorithm: at most one segment below the current segment size in flight.
    [nagle]: bool = true;

    /// Timestamps option (RFC 7323).
    [timestamps]: bool = false, rfc = true;

    /// Explicit congestion notification (RFC 3168). Without a handshake, both ends count as
    /// ECN-capable.
    // Off by default everywhere: in ns-2, and in stacks unless the peer requests it.
    [ecn]: bool = false;

    /// IP and TCP header bytes of every packet.
    // ns-2: tcpip_base_hdr_size_ 40. Without a value it follows from the options of each segment.
    optional [header]: Header = Some(Header::NS2), bsd = None, rfc = None;

    /// Maximum of a uniform random delay before each transmission, which avoids phase effects. The
    /// order of packets does not change.
    [send_jitter]: Time = ms(0);
}

const fn ms(milliseconds: u64) -> Time {
    Text(Duration::from_millis(milliseconds))
}

/// A named set of settings.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The simulator that most papers on TCP around 2000 used.
    Ns2,
    /// 4.4BSD and its descendants.
    Bsd,
    /// The RFCs in force.
    #[default]
    Rfc,
    /// Linux 6.12. The sender of such a server is `cubic(hystart=late)+rack+tlp+prr`.
    #[serde(rename = "linux-6.12")]
    Linux612,
    /// Linux 6.18. The sender of such a server is `linux`.
    #[serde(rename = "linux-6.18")]
    Linux618,
}

/// The segments that give an RTT sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RttSample {
    /// One timed segment in each window.
    Window,
    /// Every acknowledgment of a segment sent once.
    Ack,
}

/// The growth of the window in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Growth {
    /// One segment for each acknowledgment.
    Ack,
    /// The bytes acknowledged, at most one segment for each acknowledgment (RFC 5681 §3.1).
    Bytes,
}

/// The quantity that is halved after a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Halving {
    /// `FlightSize`, once while the same data keeps timing out (RFC 5681 §3.1).
    Flight,
    /// The window, at every expiration of the timer.
    Window,
}

// The scenario has enums of its own, because `policy` and `tcp` do not use serde.

impl From<RttSample> for RttSamples {
    fn from(sample: RttSample) -> Self {
        match sample {
            RttSample::Window => Self::OnePerWindow,
            RttSample::Ack => Self::EveryAck,
        }
    }
}

impl From<Growth> for Counting {
    fn from(growth: Growth) -> Self {
        match growth {
            Growth::Ack => Self::Acks,
            Growth::Bytes => Self::Bytes,
        }
    }
}

impl From<Halving> for PolicyHalving {
    fn from(halving: Halving) -> Self {
        match halving {
            Halving::Flight => Self::Flight,
            Halving::Window => Self::Window,
        }
    }
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] = [Self::Ns2, Self::Bsd, Self::Rfc, Self::Linux612, Self::Linux618];

    /// Timers expire on a tick of a free-running clock (4.4BSD's slow timer, Linux's timer wheel)
    /// instead of exactly when due.
    pub fn timers_on_ticks(self) -> bool {
        self == Self::Bsd || self.is_linux()
    }

    /// The profile is one of Linux.
    pub fn is_linux(self) -> bool {
        matches!(self, Self::Linux612 | Self::Linux618)
    }
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
    /// If two values contradict each other. The path is that of the workload's table if it contains
    /// the key, else that of the common table.
    pub(crate) fn resolve(
        &self,
        own: &Self,
        workload: &KeyPath,
    ) -> Result<TcpSettings, ScenarioError> {
        let settings = self.merged(own);
        settings.check(|keys| {
            let own_key = keys.iter().find(|key| own.has(key));
            let key = own_key.or_else(|| keys.iter().find(|key| self.has(key)));
            let table = if own_key.is_some() { workload } else { &KeyPath::default() };
            table.key("tcp").key(key.unwrap_or(&keys[0]))
        })?;
        Ok(settings)
    }

    /// Returns true if `key` is set here.
    fn has(&self, key: &str) -> bool {
        serde_json::to_value(self).is_ok_and(|table| table.get(key).is_some())
    }
}

impl TcpSettings {
    /// The parameters of the retransmission timer; `None` if they contradict each other. Those of a
    /// plan never do.
    pub fn rto(&self) -> Option<RtoConfig> {
        RtoConfig::new(
            self.rto_initial.0,
            self.rto_min.0,
            self.rto_max.0,
            self.tick.0,
            self.profile.timers_on_ticks(),
        )
    }

    /// Checks the settings against each other. `blame` returns the path of the first of several
    /// keys that is set.
    fn check(&self, blame: impl Fn(&[&str]) -> KeyPath) -> Result<(), ScenarioError> {
        let [rto_initial, rto_min, rto_max, tick] =
            [self.rto_initial, self.rto_min, self.rto_max, self.tick].map(|time| time.0);
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
        let (mss, receive_buffer) = (self.mss.get().bytes(), self.receive_buffer.get());
        let problem =
            format!("receive_buffer, {receive_buffer} B, cannot hold one segment of {mss} B");
        blame(&["receive_buffer", "mss"]).require(receive_buffer >= mss, &problem)?;
        let packet = mss + self.header.map_or(0, |header| u32::from(header.get()));
        let problem =
            format!("a full segment with its headers, {packet} B, exceeds an IP packet of 65535 B");
        blame(&["header", "mss"]).require(packet <= 65_535, &problem)
    }
}
