//! Settings of a profile: the configuration of the TCP that plays a script.
//!
//! [`Settings`] has the values that a system administrator sets, and [`SocketSettings`] those of a
//! socket. [`config`] is the only place where both change the configuration of a
//! [`tcp::Profile`]. A setting without a counterpart in `Config` is kept in `Settings`, so that
//! only that function changes when `tcp` gets one.

use policy::packets::SlowStartExit;
use policy::rtt::RtoConfig;
use policy::{Congestion, InitialWindow, LossResponse, SenderPolicy};
pub use tcp::Profile;
use tcp::{Config, KeepAlive, LinuxReceiver, Receiving, Timeouts};
use units::Duration;
use wire::Mss;

/// Profiles that play scripts. The others lack the options that scripts take for granted.
pub const PROFILES: [Profile; 3] = [Profile::Linux618, Profile::Linux612, Profile::Rfc];

/// Returns whether send buffers count the kernel's memory instead of bytes. The room in a buffer
/// that fills up is then unknown.
pub(crate) const fn counts_memory(profile: Profile) -> bool {
    profile.is_linux()
}

/// Configuration of a connection of `profile`. `passive` says that the peer opens it.
pub fn config(
    profile: Profile,
    sender: Option<SenderPolicy>,
    settings: &Settings,
    socket: &SocketSettings,
    passive: bool,
) -> Config {
    let base = profile.config();
    let mss = socket.max_segment.map_or(settings.mss, |mss| mss.min(settings.mss));
    let retries = if passive { settings.synack_retries } else { settings.syn_retries };
    // Scripts expect timers when they are due, not on the next tick of a clock.
    let (initial, min, max) = (base.rto.initial(), base.rto.min(), base.rto.max());
    let exact = RtoConfig::new(initial, min, max, Duration::from_millis(1), false);
    let receiver = match base.receiver {
        Receiving::Linux(linux) => Receiving::Linux(LinuxReceiver {
            // A buffer that the socket sets does not grow.
            initial_buffer: socket.receive_buffer.unwrap_or(settings.initial_receive_buffer),
            dsack: settings.dsack,
            // Scripts expect it, and peers in scripts often offer no window scaling.
            limits_unscaled_window: true,
            ..linux
        }),
        Receiving::Rfc => Receiving::Rfc,
    };
    let sender = policy(base.sender, sender, settings);
    Config {
        sender,
        receiver,
        rto: sender.rto(exact.unwrap_or(base.rto)),
        mss,
        receive_buffer: socket.receive_buffer.unwrap_or(settings.receive_buffer),
        // The sockets count the room in the send buffer.
        send_buffer: 1 << 30,
        window_scaling: settings.window_scaling,
        timestamps: settings.timestamps,
        sack: settings.sack,
        // Linux: 1 offers and accepts, 2 only accepts.
        ecn: settings.ecn == 1 || settings.ecn == 2 && passive,
        nagle: !socket.no_delay,
        restart_after_idle: settings.slow_start_after_idle,
        window_divisor: settings.window_divisor,
        max_timeouts: settings.retries,
        max_syn_timeouts: socket.syn_retries.unwrap_or(retries),
        linear_syn_timeouts: settings.syn_linear_timeouts,
        timeouts: socket.timeouts(),
        ..base
    }
}

/// Sender of the profile, or the `given` one, with the parts that the settings switch off.
fn policy(
    of_profile: SenderPolicy,
    given: Option<SenderPolicy>,
    settings: &Settings,
) -> SenderPolicy {
    let mut policy = given.unwrap_or(of_profile);
    if given.is_none()
        && let Some(segments) = settings.initial_window
    {
        policy.initial_window = InitialWindow::Segments(segments);
    }
    if let LossResponse::Rack(options) = &mut policy.loss {
        // Linux: 3 and 4 allow tail loss probes.
        options.tlp &= settings.early_retrans >= 3;
        options.frto &= settings.frto > 0;
    }
    if settings.hystart_detect == 0
        && let Congestion::Cubic(exit) = &mut policy.congestion
    {
        *exit = SlowStartExit::None;
    }
    policy
}

/// Settings of the system. Names are those of `net.ipv4.tcp_…` where there is one.
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent switches, each a setting with a name"
)]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Largest receive buffer in bytes (third value of `rmem`). It determines the window scale.
    pub receive_buffer: u32,
    /// Receive buffer at the beginning in bytes (second value of `rmem`).
    pub initial_receive_buffer: u32,
    /// Default send buffer in bytes (second value of `wmem`).
    pub send_buffer: u32,
    /// Announced segment size.
    pub mss: Mss,
    /// Initial window in segments; `None` for the profile's.
    pub initial_window: Option<u8>,
    /// `window_scaling`.
    pub window_scaling: bool,
    /// `timestamps`.
    pub timestamps: bool,
    /// `sack`.
    pub sack: bool,
    /// `dsack`. It concerns only the Linux profiles.
    pub dsack: bool,
    /// `ecn`: 0 off, 1 offered and accepted, 2 accepted.
    pub ecn: u8,
    /// `syn_retries`.
    pub syn_retries: u8,
    /// `syn_linear_timeouts`.
    pub syn_linear_timeouts: u8,
    /// `synack_retries`.
    pub synack_retries: u8,
    /// `retries2`.
    pub retries: u8,
    /// `slow_start_after_idle`.
    pub slow_start_after_idle: bool,
    /// `tcp_tso_win_divisor`.
    pub window_divisor: u8,
    /// `early_retrans`: 0 switches the tail loss probe off. Not in `Config` yet.
    pub early_retrans: u8,
    /// `recovery`: 0 switches RACK off. Not in `Config` yet.
    pub recovery: u8,
    /// Whether Fast Open (RFC 7413) may be in force without a request by the application.
    pub fast_open: bool,
    /// `frto`. Not in `Config` yet.
    pub frto: u8,
    /// `reordering`. Not in `Config` yet.
    pub reordering: u32,
    /// Signals of `HyStart` as bits. Not in `Config` yet.
    pub hystart_detect: u8,
    /// `notsent_lowat` in bytes.
    pub notsent_lowat: u32,
}

impl Settings {
    /// Settings of a profile before any command.
    pub fn of(profile: Profile) -> Self {
        let linux = profile.is_linux();
        Self {
            receive_buffer: 15 << 20,
            initial_receive_buffer: 540_000,
            send_buffer: 256 << 10,
            mss: Mss::ETHERNET_IPV4,
            initial_window: None,
            window_scaling: true,
            timestamps: true,
            sack: true,
            dsack: true,
            ecn: 0,
            syn_retries: if linux { 5 } else { Config::default().max_syn_timeouts },
            syn_linear_timeouts: if linux { 4 } else { 0 },
            synack_retries: if linux { 5 } else { Config::default().max_syn_timeouts },
            retries: 15,
            slow_start_after_idle: !linux,
            window_divisor: Config::default().window_divisor,
            early_retrans: 4,
            recovery: 1,
            fast_open: true,
            frto: 2,
            reordering: 3,
            hystart_detect: 3,
            notsent_lowat: u32::MAX,
        }
    }
}

/// Settings of a socket that its connection takes over when it opens.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SocketSettings {
    /// `TCP_MAXSEG`.
    pub max_segment: Option<Mss>,
    /// `TCP_NODELAY`.
    pub no_delay: bool,
    /// `TCP_USER_TIMEOUT`.
    pub user_timeout: Option<Duration>,
    /// Keep-alives, if `SO_KEEPALIVE` is set.
    pub keep_alive: Option<KeepAlive>,
    /// `SO_RCVBUF`, doubled as Linux does.
    pub receive_buffer: Option<u32>,
    /// `TCP_SYNCNT`.
    pub syn_retries: Option<u8>,
}

impl SocketSettings {
    /// Time limits of the connection.
    pub fn timeouts(&self) -> Timeouts {
        Timeouts { user_timeout: self.user_timeout, keep_alive: self.keep_alive, fin_wait_2: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ecn_has_three_settings() {
        let socket = SocketSettings::default();
        for (ecn, passive, wanted) in [
            (0, true, false),
            (1, false, true),
            (1, true, true),
            (2, false, false),
            (2, true, true),
        ] {
            let settings = Settings { ecn, ..Settings::of(Profile::Linux618) };
            let found = config(Profile::Linux618, None, &settings, &socket, passive);
            assert_eq!(found.ecn, wanted, "{ecn} {passive}");
        }
    }

    #[test]
    fn socket_settings_precede_system_settings() {
        let socket = SocketSettings {
            max_segment: Mss::new(500),
            no_delay: true,
            syn_retries: Some(1),
            receive_buffer: Some(8000),
            ..SocketSettings::default()
        };
        let settings = Settings::of(Profile::Rfc);
        let found = config(Profile::Rfc, None, &settings, &socket, false);
        assert_eq!((found.mss.get(), found.nagle, found.max_syn_timeouts), (500, false, 1));
        assert_eq!(found.receive_buffer, 8000);
        let larger = SocketSettings { max_segment: Mss::new(9000), ..socket };
        assert_eq!(config(Profile::Rfc, None, &settings, &larger, false).mss.get(), 1460);
    }
}
