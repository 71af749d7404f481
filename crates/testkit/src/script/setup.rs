//! Settings of a script.

use policy::congestion::{Counting, Halving};
use policy::rtt::RtoConfig;
use tcp::{
    Acceptance, Challenges, Config, DelayedAck, KeepAlive, LinuxReceiver, Receiving, RttSamples,
};
use units::Duration;
use wire::{Mss, SeqNum, WindowScale};

use super::parse::{number, span};

/// Initial state of a script's connection.
#[derive(Debug, Clone)]
pub(super) struct Setup {
    pub(super) config: Config,
    /// Whether the handshake is skipped.
    pub(super) established: bool,
    /// Initial sequence number. By default sequence numbers wrap after a thousand bytes of the
    /// stream.
    pub(super) iss: SeqNum,
    pub(super) irs: SeqNum,
    /// Window of the peer in bytes, and its scale if the handshake is skipped.
    pub(super) window: u32,
    pub(super) peer_scale: WindowScale,
    pub(super) peer_mss: Mss,
}

impl Default for Setup {
    /// An established connection with plain headers, SACK, and the segment size of Ethernet.
    fn default() -> Self {
        let config = Config { timestamps: false, window_scaling: false, ..Config::default() };
        Self {
            config,
            established: true,
            iss: SeqNum::new(u32::MAX - 999),
            irs: SeqNum::new((1 << 31) - 500),
            window: 65_535,
            peer_scale: WindowScale::NONE,
            peer_mss: Mss::ETHERNET_IPV4,
        }
    }
}

impl Setup {
    /// Applies `use key value`.
    pub(super) fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let config = &mut self.config;
        match key {
            "start" => {
                self.established = choice(value, &[("established", true), ("closed", false)])?;
            }
            "sender" => {
                config.sender =
                    value.parse().map_err(|error: policy::ParseSenderError| error.to_string())?;
            }
            "growth" => {
                config.window.counting =
                    choice(value, &[("ack", Counting::Acks), ("bytes", Counting::Bytes)])?;
            }
            "halving" => {
                config.window.halving =
                    choice(value, &[("flight", Halving::Flight), ("window", Halving::Window)])?;
            }
            "ssthresh" => config.window.ssthresh = number(value)?,
            "mss" => config.mss = mss(value)?,
            "peer_mss" => self.peer_mss = mss(value)?,
            "rto" => config.rto = rto(value)?,
            "rtt_sample" => {
                let samples = [("window", RttSamples::OnePerWindow), ("ack", RttSamples::EveryAck)];
                config.rtt_samples = choice(value, &samples)?;
            }
            "delayed_ack" => config.delayed_ack = delayed_ack(value)?,
            "receiver" => config.receiver = receiver(value)?,
            "acceptance" => {
                let rules = [("rfc", Acceptance::RFC), ("linux", Acceptance::LINUX)];
                config.acceptance = choice(value, &rules)?;
            }
            "receive_buffer" => config.receive_buffer = number(value)?,
            "send_buffer" => config.send_buffer = number(value)?,
            "scaling" => config.window_scaling = switch(value)?,
            "timestamps" => config.timestamps = switch(value)?,
            "sack" => config.sack = switch(value)?,
            "santa_cruz" => config.santa_cruz = switch(value)?,
            "ecn" => config.ecn = switch(value)?,
            "nagle" => config.nagle = switch(value)?,
            "restart_after_idle" => config.restart_after_idle = switch(value)?,
            "msl" => config.msl = span(value)?,
            "max_timeouts" => config.max_timeouts = small(value)?,
            "max_syn_timeouts" => config.max_syn_timeouts = small(value)?,
            "min_mss" => config.min_mss = mss(value)?,
            "challenges" => config.challenges = challenges(value)?,
            "user_timeout" => config.timeouts.user_timeout = Some(span(value)?),
            "keep_alive" => config.timeouts.keep_alive = Some(keep_alive(value)?),
            "fin_wait_2" => config.timeouts.fin_wait_2 = Some(span(value)?),
            "iss" => self.iss = SeqNum::new(number(value)?),
            "irs" => self.irs = SeqNum::new(number(value)?),
            "window" => self.window = number(value)?,
            "peer_scale" => self.peer_scale = WindowScale::clamped(small(value)?),
            _ => return Err(format!("no setting is called `{key}`")),
        }
        Ok(())
    }
}

/// Parses `rfc`, or `linux-6.18` with an optional buffer such as `540000`.
fn receiver(value: &str) -> Result<Receiving, String> {
    let (name, buffer) = value.split_once(' ').unwrap_or((value, ""));
    let linux = |linux| Receiving::Linux(linux);
    let names = [
        ("rfc", Receiving::Rfc),
        ("linux-6.18", linux(LinuxReceiver::LINUX_6_18)),
        ("linux-6.12", linux(LinuxReceiver::LINUX_6_12)),
    ];
    let mut receiver = choice(name, &names)?;
    if let Receiving::Linux(linux) = &mut receiver
        && !buffer.is_empty()
    {
        linux.initial_buffer = number(buffer)?;
    }
    Ok(receiver)
}

fn choice<T: Copy>(value: &str, choices: &[(&str, T)]) -> Result<T, String> {
    choices.iter().find(|(name, _)| *name == value).map(|&(_, choice)| choice).ok_or_else(|| {
        let names: Vec<String> = choices.iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("`{value}` is not {}", names.join(" or "))
    })
}

fn switch(value: &str) -> Result<bool, String> {
    choice(value, &[("on", true), ("off", false)])
}

fn small(value: &str) -> Result<u8, String> {
    value.parse().map_err(|_| format!("`{value}` is not a whole number up to 255"))
}

pub(super) fn mss(value: &str) -> Result<Mss, String> {
    let bytes = value.parse().ok().and_then(Mss::new);
    bytes.ok_or_else(|| format!("`{value}` is not a segment size"))
}

/// Parses `initial 3s min 1s max 64s tick 100ms expire`. Omitted values are those of the RFC, on an
/// exact clock.
fn rto(value: &str) -> Result<RtoConfig, String> {
    let [mut initial, mut min, mut max, mut tick] =
        [Duration::from_secs(1), Duration::from_secs(1), Duration::from_secs(60), Duration::ZERO];
    let mut ticks_expire = false;
    let mut words = value.split_whitespace();
    while let Some(word) = words.next() {
        let slot = match word {
            "initial" => &mut initial,
            "min" => &mut min,
            "max" => &mut max,
            "tick" => &mut tick,
            "expire" => {
                ticks_expire = true;
                continue;
            }
            _ => return Err(format!("`{word}` says nothing of the timer")),
        };
        *slot = span(words.next().unwrap_or_default())?;
    }
    RtoConfig::new(initial, min, max, tick, ticks_expire).ok_or_else(|| {
        format!("`{value}`: min is at most initial, initial at most max, and the tick at most min")
    })
}

/// Parses `10 1s`.
fn challenges(value: &str) -> Result<Challenges, String> {
    let (count, per) = value.split_once(' ').ok_or("`challenges` is e.g. `10 1s`")?;
    Ok(Challenges { count: small(count)?, per: span(per.trim())? })
}

/// Parses `2h 75s 9`.
fn keep_alive(value: &str) -> Result<KeepAlive, String> {
    let words: Vec<&str> = value.split_whitespace().collect();
    let [idle, interval, count] = words[..] else {
        return Err("`keep_alive` is e.g. `2h 75s 9`".to_owned());
    };
    let keep_alive = KeepAlive::new(span(idle)?, span(interval)?, small(count)?);
    keep_alive.ok_or_else(|| format!("`{value}`: none of the three can be zero"))
}

/// Parses `2 200ms`, or `off`.
fn delayed_ack(value: &str) -> Result<DelayedAck, String> {
    if value == "off" {
        return Ok(DelayedAck::OFF);
    }
    let (every, timeout) =
        value.split_once(' ').ok_or("`delayed_ack` is `off` or e.g. `2 200ms`")?;
    Ok(DelayedAck { every: small(every)?, timeout: span(timeout.trim())? })
}
