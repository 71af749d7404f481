//! Profiles: the TCP of an operating system, of a simulator, or of the RFCs.
//!
//! A profile is the one definition of what such a name means for a connection: sender, timers,
//! receiver, and the treatment of doubtful segments. Scenarios, hosts and the player of scripts
//! begin with the configuration of a profile, and change what their settings name.

use std::fmt;
use std::str::FromStr;

use policy::congestion::{Counting, Halving, WindowRules};
use policy::packets::SlowStartExit;
use policy::rtt::RtoConfig;
use policy::{Congestion, InitialWindow, LossResponse, SenderPolicy};
use thiserror::Error;
use units::Duration;

use crate::config::{Acceptance, Config, DelayedAck, LinuxReceiver, Receiving, RttSamples};

/// A named TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// The simulator ns-2, which most papers on TCP around 2000 used.
    Ns2,
    /// 4.4BSD and its descendants.
    Bsd,
    /// The RFCs in force.
    #[default]
    Rfc,
    /// Linux 6.12.
    Linux612,
    /// Linux 6.18.
    Linux618,
}

/// Error of a name that is no profile.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{name}` is not one of {}", Profile::names())]
pub struct UnknownProfile {
    name: String,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 5] = [Self::Ns2, Self::Bsd, Self::Rfc, Self::Linux612, Self::Linux618];

    /// Name in scenarios and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns2",
            Self::Bsd => "bsd",
            Self::Rfc => "rfc",
            Self::Linux612 => "linux-6.12",
            Self::Linux618 => "linux-6.18",
        }
    }

    fn names() -> String {
        Self::ALL.map(|profile| format!("`{}`", profile.name())).join(", ")
    }

    /// Returns whether the profile is one of Linux.
    pub const fn is_linux(self) -> bool {
        matches!(self, Self::Linux612 | Self::Linux618)
    }

    /// Returns whether timers expire on a tick of a free-running clock (4.4BSD's slow timer,
    /// Linux's timer wheel) instead of exactly when due.
    pub const fn timers_on_ticks(self) -> bool {
        matches!(self, Self::Bsd | Self::Linux612 | Self::Linux618)
    }

    /// Sender policy of the profile.
    pub fn sender(self) -> SenderPolicy {
        match self {
            // ns-2's `TCP/Reno`, and 4.4BSD, which is Net/2's Reno.
            Self::Ns2 | Self::Bsd => {
                SenderPolicy { loss: LossResponse::Reno, ..SenderPolicy::CLASSIC }
            }
            // RFC 5681, RFC 6675, RFC 3042, RFC 6928.
            Self::Rfc => SenderPolicy {
                limited_transmit: true,
                initial_window: InitialWindow::Rfc6928,
                ..SenderPolicy::CLASSIC
            },
            Self::Linux612 => SenderPolicy {
                congestion: Congestion::Cubic(SlowStartExit::HyStartLateRounds),
                ..SenderPolicy::LINUX
            },
            Self::Linux618 => SenderPolicy::LINUX,
        }
    }

    /// Configuration of an end that opens connections.
    pub fn config(self) -> Config {
        let rfc = Config {
            sender: self.sender(),
            rto: self.rto(),
            // Neither the RFCs nor ns-2 name a buffer. This one does not limit common paths.
            receive_buffer: 1_000_000,
            ..Config::default()
        };
        match self {
            Self::Rfc => rfc,
            Self::Ns2 => before_2000(rfc),
            Self::Bsd => Config {
                // RFC 9293 §3.8.6.3: at least every second segment.
                delayed_ack: DelayedAck::RFC,
                // The maximum of a 16-bit window field.
                receive_buffer: 65_535,
                ..before_2000(rfc)
            },
            Self::Linux612 => Config {
                receiver: Receiving::Linux(LinuxReceiver::LINUX_6_12),
                // Third value of `tcp_rmem`. It determines the window scale.
                receive_buffer: 6 << 20,
                ..linux(rfc)
            },
            Self::Linux618 => Config {
                receiver: Receiving::Linux(LinuxReceiver::LINUX_6_18),
                // From Linux 6.16 on.
                receive_buffer: 32 << 20,
                ..linux(rfc)
            },
        }
    }

    /// Configuration of an end that accepts connections.
    pub fn accepting(self) -> Config {
        let opening = self.config();
        if !self.is_linux() {
            return opening;
        }
        // `tcp_ecn` 2: accept ECN, but do not offer it. `tcp_synack_retries` 5.
        Config { ecn: true, max_syn_timeouts: 5, ..opening }
    }

    /// Parameters of the retransmission timeout.
    fn rto(self) -> RtoConfig {
        let ms = Duration::from_millis;
        // RFC 2988 §2.1: 3 s initially. §2.4: at least 1 s, also `minrto_` of ns-2 from May 2001
        // and TCPTV_MIN of 4.4BSD. Maximum of 64 s: TCPTV_REXMTMAX of 4.4BSD; ns-2's `maxrto_` of
        // 100000 is in effect none.
        let (initial, min, max) = (ms(3000), ms(1000), ms(64_000));
        let rto = match self {
            Self::Rfc => Some(RtoConfig::RFC),
            // ns-2: tcpTick_ 0.1 until March 2002.
            Self::Ns2 => RtoConfig::new(initial, min, max, ms(100), false),
            // 4.4BSD tcp_timer.h: PR_SLOWHZ 2, so timers of 500 ms.
            Self::Bsd => RtoConfig::new(initial, min, max, ms(500), true),
            // TCP_TIMEOUT_INIT 1 s. `tcp_rto_min_us` 200 ms, as a minimum of the variation that is
            // added to SRTT. `tcp_rto_max_ms` 120 s. HZ 250 is the default of most distributions.
            Self::Linux612 | Self::Linux618 => {
                RtoConfig::new(ms(1000), ms(200), ms(120_000), ms(4), true)
            }
        };
        rto.unwrap_or(RtoConfig::RFC)
    }
}

/// The rules that ns-2 and 4.4BSD have in common.
fn before_2000(rfc: Config) -> Config {
    Config {
        window: WindowRules {
            counting: Counting::Acks,
            // ns-2, `slowdown`: half of the window at every loss; so did BSD before RFC 2581.
            halving: Halving::Window,
            ..WindowRules::RFC
        },
        rtt_samples: RttSamples::OnePerWindow,
        // ns-2's TCPSink acknowledges each segment.
        delayed_ack: DelayedAck::OFF,
        window_scaling: false,
        timestamps: false,
        sack: false,
        ..rfc
    }
}

/// The rules that all versions of Linux have in common. Where Linux has no rule of its own, it
/// follows the RFCs.
fn linux(rfc: Config) -> Config {
    Config {
        acceptance: Acceptance::LINUX,
        compact_syn: true,
        // RFC 9293 §3.8.6.3 with TCP_DELACK_MIN, if the receiver is not that of Linux.
        delayed_ack: DelayedAck { timeout: Duration::from_millis(40), ..DelayedAck::RFC },
        // TIME-WAIT lasts 60 s (TCP_TIMEWAIT_LEN).
        msl: Duration::from_secs(30),
        // `tcp_retries2`, `tcp_syn_retries`.
        max_timeouts: 15,
        max_syn_timeouts: 6,
        // `tcp_syn_linear_timeouts`.
        linear_syn_timeouts: 4,
        ..rfc
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;
    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| UnknownProfile { name: name.to_owned() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parse_to_the_profile() {
        for profile in Profile::ALL {
            assert_eq!(profile.to_string().parse(), Ok(profile));
        }
        let error = "linux".parse::<Profile>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`linux` is not one of `ns2`, `bsd`, `rfc`, `linux-6.12`, `linux-6.18`"
        );
    }

    #[test]
    fn each_profile_has_its_timers() {
        let found = Profile::ALL.map(|profile| {
            let rto = profile.config().rto;
            [rto.initial(), rto.min(), rto.max(), rto.expiry_tick()]
                .map(|time| time.as_nanos() / 1_000_000)
        });
        assert_eq!(
            found,
            [
                [3000, 1000, 64_000, 0],
                [3000, 1000, 64_000, 500],
                [1000, 1000, 60_000, 0],
                [1000, 200, 120_000, 4],
                [1000, 200, 120_000, 4],
            ]
        );
    }

    #[test]
    fn senders_have_names() {
        let names = Profile::ALL.map(|profile| profile.sender().to_string());
        assert_eq!(
            names,
            [
                "reno / full / iw=1",
                "reno / full / iw=1",
                "reno+sack+lt / full / iw=rfc6928",
                "cubic(hystart=late)+rack+tlp+prr / full / iw=10",
                "cubic+rack+tlp+prr / full / iw=10",
            ]
        );
    }

    #[test]
    fn only_linux_accepts_ecn_and_has_its_receiver() {
        for profile in Profile::ALL {
            let (opening, accepting) = (profile.config(), profile.accepting());
            assert!(!opening.ecn);
            assert_eq!(accepting.ecn, profile.is_linux());
            assert_eq!(opening.receiver.is_linux(), profile.is_linux());
            assert_eq!(opening.acceptance == Acceptance::LINUX, profile.is_linux());
        }
    }
}
