//! TCP settings of a scenario, and the profiles that provide the others.

use policy::congestion::{Counting, Halving as PolicyHalving};
use policy::rtt::RtoConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tcp::{DelayedAck, RttSamples};
use units::Duration;

use super::limited::{Header, ReceiveBuffer, SegmentSize, Threshold};
use super::text::{Text, Time};
use super::{KeyPath, ScenarioError};

/// Declares the keys of `[tcp]`: for each its meaning, its type and its value in a profile, which
/// usually comes from the configuration of [`tcp::Profile`]. A key that is marked `optional` may
/// have no value.
macro_rules! settings {
    (|$profile:ident, $config:ident| $(
        $(#[$doc:meta])*
        $($optional:ident)? [$key:ident]: $type:ty = $value:expr;
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
            /// The settings of `own`, else those of `self`, else those of the profile. A receiving
            /// host with a profile of its own has the receiver of that profile.
            fn merged(&self, own: &Self) -> TcpSettings {
                let profile = own.profile.or(self.profile).unwrap_or_default();
                let receiver = own.receiver.or(self.receiver).unwrap_or(profile).settings();
                let defaults = TcpSettings {
                    ack_every: receiver.ack_every,
                    ack_delay: receiver.ack_delay,
                    receive_buffer: receiver.receive_buffer,
                    ..profile.settings()
                };
                TcpSettings {
                    profile,
                    $($key: settings!(@or own.$key.or(self.$key), defaults.$key $(, $optional)?),)*
                }
            }
        }

        impl Profile {
            /// The settings of this profile.
            pub fn settings(self) -> TcpSettings {
                let ($profile, $config) = (self, self.config());
                TcpSettings { profile: self, $($key: $value,)* }
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

settings! { |profile, config|
    /// Maximum segment size: payload bytes of a full-sized segment.
    [mss]: SegmentSize = SegmentSize::ETHERNET_IPV4;

    /// Retransmission timeout before the first RTT sample.
    [rto_initial]: Time = Text(config.rto.initial());

    /// Minimum retransmission timeout.
    [rto_min]: Time = Text(config.rto.min());

    /// Maximum retransmission timeout, back-off included.
    [rto_max]: Time = Text(config.rto.max());

    /// Granularity of the clock for RTT samples and timers.
    [tick]: Time = Text(config.rto.tick());

    /// `window`: one RTT sample at a time; `ack`: an RTT sample from every acknowledgment of a
    /// segment that was not retransmitted.
    [rtt_sample]: RttSample = config.rtt_samples.into();

    /// Growth of the window per ACK in slow start: one segment (`ack`), or the acknowledged bytes
    /// up to one segment (`bytes`).
    [growth]: Growth = config.window.counting.into();

    /// Quantity that a loss halves: the data in flight (`flight`, RFC 5681), or the window at each
    /// timeout (`window`).
    [halving]: Halving = config.window.halving.into();

    /// Initial slow start threshold: slow start ends there if there is no loss before.
    // RFC 5681 §3.1: arbitrarily high.
    optional [ssthresh_initial]: Threshold = None;

    /// Round-trip time that the sender knows when a flow starts, as on a connection that has been
    /// used before. Only without a handshake, which measures it.
    optional [rtt_initial]: Time = None;

    /// Profile of the receiving host, which determines its acknowledgments and its window. It
    /// replaces `profile` in `ack_every`, `ack_delay`, `receive_buffer` and the rules of Linux.
    ///
    /// Absent: that of `profile`.
    optional [receiver]: Profile = None;

    /// Delayed ACKs: number of segments per acknowledgment; 1 acknowledges each segment. A receiver
    /// of a Linux profile has rules of its own. With `ack_every` or `ack_delay` it follows RFC 5681
    /// instead.
    optional [ack_every]: u8 = (!profile.is_linux()).then_some(config.delayed_ack.every);

    /// Maximum delay of an ACK.
    optional [ack_delay]: Time =
        (!profile.is_linux()).then_some(Text(config.delayed_ack.timeout));

    /// Size of the receiver's buffer, which limits the advertised window. A receiver of Linux
    /// counts the memory of packets, and its window begins with 64 kB.
    [receive_buffer]: ReceiveBuffer = ReceiveBuffer::of(&config);

    /// Memory for data that the application has written and that is not acknowledged: `unlimited`,
    /// or `linux` for the limit that grows with the window. Only with a sender that counts packets.
    [send_memory]: SendMemory =
        if profile.is_linux() { SendMemory::Linux } else { SendMemory::Unlimited };

    /// Nagle's algorithm: at most one segment below the current segment size in flight.
    [nagle]: bool = config.nagle;

    /// Timestamps option (RFC 7323).
    [timestamps]: bool = config.timestamps;

    /// A receiver of Linux does not acknowledge the first segments at once, as after an exchange of
    /// requests and replies, or with `TCP_QUICKACK` = 0.
    [interactive]: bool = false;

    /// Selective acknowledgments (RFC 2018), if the sender uses them. Without them a sender of
    /// Linux recovers as NewReno.
    [sack]: bool = true;

    /// Explicit congestion notification (RFC 3168). Without a handshake, both ends count as
    /// ECN-capable.
    // Off by default everywhere: in ns-2, and in stacks unless the peer requests it.
    [ecn]: bool = config.ecn;

    /// IP and TCP header bytes of every packet.
    // ns-2: tcpip_base_hdr_size_ 40. Without a value it follows from the options of each segment.
    optional [header]: Header = (profile == Profile::Ns2).then_some(Header::NS2);

    /// Maximum of a uniform random delay before each transmission, which avoids phase effects. The
    /// order of packets does not change.
    [send_jitter]: Time = Text(Duration::ZERO);
}

/// A named set of settings, that of a [`tcp::Profile`].
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
    /// Linux 6.12. A workload without a sender has `cubic(hystart=late)+rack+tlp+prr`.
    #[serde(rename = "linux-6.12")]
    Linux612,
    /// Linux 6.18. A workload without a sender has the sender `linux`.
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

/// The memory for data that an application has written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SendMemory {
    /// The application writes all data at once.
    Unlimited,
    /// The application writes as much as Linux has memory for, and the rest when a third of the
    /// memory is free. At first this is the memory of two windows of ten segments.
    Linux,
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

impl From<SendMemory> for tcp::SendMemory {
    fn from(memory: SendMemory) -> Self {
        match memory {
            SendMemory::Unlimited => Self::Unlimited,
            SendMemory::Linux => Self::Linux,
        }
    }
}

impl From<RttSamples> for RttSample {
    fn from(samples: RttSamples) -> Self {
        match samples {
            RttSamples::OnePerWindow => Self::Window,
            RttSamples::EveryAck => Self::Ack,
        }
    }
}

impl From<Counting> for Growth {
    fn from(counting: Counting) -> Self {
        match counting {
            Counting::Acks => Self::Ack,
            // RFC 3465 is a part of senders and not of profiles.
            Counting::Bytes | Counting::Appropriate => Self::Bytes,
        }
    }
}

impl From<PolicyHalving> for Halving {
    fn from(halving: PolicyHalving) -> Self {
        match halving {
            PolicyHalving::Flight => Self::Flight,
            PolicyHalving::Window => Self::Window,
        }
    }
}

impl From<Profile> for tcp::Profile {
    fn from(profile: Profile) -> Self {
        match profile {
            Profile::Ns2 => Self::Ns2,
            Profile::Bsd => Self::Bsd,
            Profile::Rfc => Self::Rfc,
            Profile::Linux612 => Self::Linux612,
            Profile::Linux618 => Self::Linux618,
        }
    }
}

impl Profile {
    /// Every profile.
    pub const ALL: [Self; 5] = [Self::Ns2, Self::Bsd, Self::Rfc, Self::Linux612, Self::Linux618];

    /// The configuration of a connection with this profile.
    pub(crate) fn config(self) -> tcp::Config {
        tcp::Profile::from(self).config()
    }

    /// The profile is one of Linux.
    pub fn is_linux(self) -> bool {
        tcp::Profile::from(self).is_linux()
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
            tcp::Profile::from(self.profile).timers_on_ticks(),
        )
    }

    /// Whether timers are those of Linux's wheel. Its slots expire many timers at once, and each is
    /// a stack: `enqueue_timer` adds a timer in front of those that were armed before.
    pub(crate) fn has_timer_wheel(&self) -> bool {
        tcp::Profile::from(self.profile).is_linux() && !self.tick.0.is_zero()
    }

    /// The profile of the receiving host.
    pub fn receiving_host(&self) -> Profile {
        self.receiver.unwrap_or(self.profile)
    }

    /// The delay of acknowledgments by RFC 5681; `None` if the receiver has the rules of Linux.
    pub fn delayed_ack(&self) -> Option<DelayedAck> {
        if self.ack_every.is_none() && self.ack_delay.is_none() {
            return None;
        }
        let usual = self.receiving_host().config().delayed_ack;
        let timeout = self.ack_delay.map_or(usual.timeout, |delay| delay.0);
        Some(DelayedAck { every: self.ack_every.unwrap_or(usual.every), timeout })
    }

    /// Checks the settings against each other. `blame` returns the path of the first of several
    /// keys that is set.
    fn check(&self, blame: impl Fn(&[&str]) -> KeyPath) -> Result<(), ScenarioError> {
        let [rto_initial, rto_min, rto_max, tick] =
            [self.rto_initial, self.rto_min, self.rto_max, self.tick].map(|time| time.0);
        blame(&["rto_min"]).require(!rto_min.is_zero(), "must be above zero")?;
        let no_rtt = self.rtt_initial.is_some_and(|rtt| rtt.0.is_zero());
        blame(&["rtt_initial"]).require(!no_rtt, "must be above zero")?;
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
        blame(&["ack_every"]).require(self.ack_every != Some(0), "must be at least 1")?;
        self.check_receiver(&blame)?;
        let (mss, receive_buffer) = (self.mss.get().bytes(), self.receive_buffer.get());
        let problem =
            format!("receive_buffer, {receive_buffer} B, cannot hold one segment of {mss} B");
        blame(&["receive_buffer", "mss"]).require(receive_buffer >= mss, &problem)?;
        let packet = mss + self.header.map_or(0, |header| u32::from(header.get()));
        let problem =
            format!("a full segment with its headers, {packet} B, exceeds an IP packet of 65535 B");
        blame(&["header", "mss"]).require(packet <= 65_535, &problem)
    }

    /// Refuses a delay of acknowledgments for a receiver that was explicitly given the rules of
    /// Linux.
    fn check_receiver(&self, blame: &impl Fn(&[&str]) -> KeyPath) -> Result<(), ScenarioError> {
        let Some(receiver) = self.receiver.filter(|receiver| receiver.is_linux()) else {
            return Ok(());
        };
        if self.delayed_ack().is_none() {
            return Ok(());
        }
        let name = tcp::Profile::from(receiver);
        let path = blame(&["ack_every", "ack_delay"]);
        let error = path.error(&format!("contradicts receiver = \"{name}\""));
        Err(error.with_hint("the receiver of Linux decides when it acknowledges: omit one of both"))
    }
}
