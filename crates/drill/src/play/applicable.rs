//! Whether a script can be played, decided before its first event, so that the verdict does not
//! depend on how far the TCP gets.

use std::collections::BTreeSet;

use units::Duration;

use super::{Options, PlaySettings};
use crate::info;
use crate::profile::Settings;
use crate::report::Stop;
use crate::script::{
    Action, Call, Direction, Event, Packet, Script, Setting, TcpOption, TcpPacket, Value,
};
use crate::shell;
use crate::sockets::{Machine, refused_option};

/// Settings without an effect here: addresses, ports, and the device of packetdrill.
const WITHOUT_EFFECT: [&str; 15] = [
    "remote_ip",
    "local_ip",
    "gateway_ip",
    "netmask_ip",
    "ip_version",
    "bind_port",
    "connect_port",
    "speed",
    "mtu",
    "init_scripts",
    "code_command",
    "code_format",
    "verbose",
    "dry_run",
    "send_omit_free",
];

/// Number of `MSG_FASTOPEN`.
const FAST_OPEN: i64 = 0x2000_0000;

/// Checks the whole script. Returns the settings for the player.
pub(super) fn check(script: &Script, options: &Options) -> Result<PlaySettings, Stop> {
    let settings = settings(script, options)?;
    let mut system = Settings::of(options.profile);
    if let Some(init) = &script.init {
        command(init.line, &init.text, &mut system)?;
    }
    let mut assigned: BTreeSet<&str> = BTreeSet::new();
    for event in &script.events {
        match &event.action {
            Action::Packet(Packet::Tcp(found)) => {
                packet(found, &system).map_or(Ok(()), |reason| stop(event, reason))?;
            }
            Action::Packet(Packet::Icmp(found)) if found.direction == Direction::Outbound => {
                stop(event, "ICMP errors do not leave".to_owned())?;
            }
            Action::Packet(Packet::Icmp(_)) => {}
            Action::Call(found) => call(found).map_or(Ok(()), |reason| stop(event, reason))?,
            Action::Command(found) => command(found.line, &found.text, &mut system)?,
            Action::Code(found) => {
                assigned.extend(found.assigned());
                for (line, name) in found.names() {
                    let known = info::FIELDS.contains(&name)
                        || info::constant(name).is_some()
                        || assigned.contains(name);
                    if !known {
                        let reason = format!("`{name}` is not available");
                        return Err(Stop::not_applicable(line, reason));
                    }
                }
            }
        }
    }
    Ok(settings)
}

fn stop(event: &Event, reason: String) -> Result<(), Stop> {
    Err(Stop::not_applicable(event.line, reason))
}

fn command(line: u32, text: &str, settings: &mut Settings) -> Result<(), Stop> {
    shell::apply(text, settings)
        .map_err(|(offset, reason)| Stop::not_applicable(line + offset, reason))
}

fn settings(script: &Script, options: &Options) -> Result<PlaySettings, Stop> {
    let mut found = PlaySettings {
        tolerance: Duration::from_millis(4),
        // Thousandths: 12.5 %.
        tolerance_percent: 12_500,
        unit: None,
        strict_segments: false,
        stamp_tick: 0,
        scaled_echoes: false,
    };
    for setting in script.settings.iter().chain(&options.settings) {
        let Setting { line, name, value } = setting;
        let wrong = || {
            Stop::not_applicable(*line, format!("the setting `--{name}={value}` is not supported"))
        };
        let number = || value.parse::<u64>().map_err(|_| wrong());
        match name.as_str() {
            "tolerance_usecs" => found.tolerance = Duration::from_micros(number()?),
            "tolerance_percent" => {
                let thousandths = thousandths(value).ok_or_else(wrong)?;
                found.tolerance_percent = thousandths;
            }
            "mss" => found.unit = Some(u32::try_from(number()?).map_err(|_| wrong())?),
            "strict_segments" => found.strict_segments = true,
            "tcp_ts_tick_usecs" => found.stamp_tick = number()?,
            "tcp_ts_ecr_scaled" => found.scaled_echoes = true,
            // Addresses and the like.
            other if WITHOUT_EFFECT.contains(&other) => {}
            _ => return Err(wrong()),
        }
    }
    Ok(found)
}

/// Reads a percentage in thousandths, such as `12.5` as 12500.
fn thousandths(text: &str) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = format!("{fraction:0<3}");
    let valid = fraction.len() <= 3 && digits.bytes().all(|byte| byte.is_ascii_digit());
    whole
        .parse::<u32>()
        .ok()
        .filter(|_| valid)
        .map(|whole| u64::from(whole) * 1000 + digits.parse::<u64>().unwrap_or(0))
}

/// Reason for which a packet cannot be played.
fn packet(packet: &TcpPacket, system: &Settings) -> Option<String> {
    if let Some(field) = &packet.foreign {
        return Some(format!("the field {field} is not played"));
    }
    if packet.counter.is_some() || packet.has('A') {
        return Some("accurate ECN is not implemented".to_owned());
    }
    if packet.has('U') {
        return Some("urgent data is delivered in line".to_owned());
    }
    // RFC 9293 §3.1: a TCP without Fast Open ignores its option.
    let is_request =
        packet.direction == Direction::Inbound && packet.has('S') && packet.ack.is_none();
    packet.options.iter().flatten().find_map(|option| match option {
        TcpOption::FastOpen(_) if is_request && !system.fast_open => None,
        TcpOption::FastOpen(_) => Some("Fast Open is not implemented".to_owned()),
        TcpOption::Md5(_) => Some("MD5 signatures are not implemented".to_owned()),
        TcpOption::AccurateEcn(_) => Some("accurate ECN is not implemented".to_owned()),
        _ => None,
    })
}

/// Reason for which a call cannot be made.
fn call(call: &Call) -> Option<String> {
    let name = call.name.as_str();
    if !Machine::CALLS.contains(&name) {
        return Some(format!("the call `{name}` is not supported"));
    }
    if name.ends_with("sockopt") {
        return call.arguments.get(2).and_then(|option| {
            option.words().iter().find_map(|word| Some(refused_option(word)?.to_owned()))
        });
    }
    let words = || call.arguments.iter().flat_map(Value::words);
    let has = |word: &str, bit: i64| {
        let numbers = call.arguments.iter().skip(2);
        words().any(|each| each == word)
            || numbers
                .into_iter()
                .any(|each| matches!(each, Value::Integer(bits) if bits & bit != 0))
    };
    let sends = ["send", "sendto", "sendmsg"].contains(&name);
    if sends && has("MSG_FASTOPEN", FAST_OPEN) {
        return Some("Fast Open is not implemented".to_owned());
    }
    for (word, reason) in [
        ("MSG_ERRQUEUE", "there is no error queue"),
        ("MSG_OOB", "urgent data is delivered in line"),
        ("MSG_PEEK", "MSG_PEEK is not supported"),
        ("MSG_WAITALL", "MSG_WAITALL is not supported"),
        ("MSG_TRUNC", "MSG_TRUNC is not supported"),
    ] {
        if words().any(|each| each == word) {
            return Some(reason.to_owned());
        }
    }
    if name == "socket"
        && !words().any(|word| word == "SOCK_STREAM" || word.starts_with("IPPROTO_TCP"))
    {
        return Some("the socket is not one of TCP".to_owned());
    }
    partial_write(call)
}

/// Linux takes a part of the data where its memory accounting says so.
fn partial_write(call: &Call) -> Option<String> {
    let is_write = ["write", "send", "sendto"].contains(&call.name.as_str());
    let Some(Value::Integer(len)) = call.arguments.get(2) else { return None };
    let taken = call.result.value?;
    (is_write && taken > 0 && taken < *len).then(|| {
        format!("a write of {taken} of {len} bytes follows the kernel's memory accounting")
    })
}
