//! Parsing of sender policies. An error names the part of the name that is wrong.

use std::fmt;
use std::str::FromStr;

use units::Duration;

use super::print::Decimal;
use super::reading::{READING_ARGUMENTS, ReadingArgument};
use crate::congestion::{Packets, Reading, Target, VegasThresholds};
use crate::loss::EarlyRetransmit;
use crate::packets::SlowStartExit;
use crate::segment::{Alpha, Avoidance, Cut, Regime, Tail};
use crate::sender::{Congestion, Framing, InitialWindow, LossResponse, RackOptions, SenderPolicy};

pub(super) fn parse(name: &str) -> Result<SenderPolicy, String> {
    let parts: Vec<&str> = name.split('/').map(str::trim).collect();
    let (control, framing, windows) = match parts[..] {
        [control, framing, windows] => (control, framing, windows),
        // The abbreviation stands for the other parts, too.
        [control, framing] if after_linux(control).is_some() => (control, framing, "iw=10"),
        [control] if after_linux(control).is_some() => (control, "full", "iw=10"),
        _ => {
            let count = parts.len();
            return Err(format!("expected three parts separated by slashes, got {count}"));
        }
    };
    let mut policy = SenderPolicy::CLASSIC;
    parse_remedies(framing, &mut policy)?;
    parse_control(control, &mut policy)?;
    parse_windows(windows, &mut policy)?;
    if policy.tail_copy.is_some() && policy.loss == LossResponse::AckWindow {
        // The peer reports the number of the transmission that arrived. A copy has the same number.
        return Err("`dup-tail` cannot be combined with an ACK window".to_owned());
    }
    Ok(policy)
}

/// Suffixes of a control that begins with `linux`, which stands for `cubic+rack+tlp+prr`.
fn after_linux(control: &str) -> Option<&str> {
    let suffixes = control.strip_prefix("linux")?.trim_start();
    (suffixes.is_empty() || suffixes.starts_with('+')).then_some(suffixes)
}

/// Parses the framing, and what a sender does besides: a copy of the tail, a minimum of the
/// retransmission timeout. Without a framing, segments are full-sized.
fn parse_remedies(text: &str, policy: &mut SenderPolicy) -> Result<(), String> {
    for (index, word) in text.split('+').map(str::trim).enumerate() {
        let (name, arguments) = call(word)?;
        match name {
            "dup-tail" if policy.tail_copy.is_none() => {
                allow(&arguments, &["delay"])?;
                let delay = argument(&arguments, "delay").map_or(Ok(Duration::ZERO), parse_delay);
                policy.tail_copy = Some(delay?);
            }
            "rto-min" if policy.rto_min.is_none() => {
                allow(&arguments, &["ms"])?;
                let ms = argument(&arguments, "ms").ok_or("`rto-min` needs `rto-min(ms=20)`")?;
                policy.rto_min = Some(Duration::from_millis(number(ms, 1, MOST_RTO_MIN_MS)?));
            }
            "dup-tail" | "rto-min" => return Err(format!("`{name}` occurs twice")),
            _ if index == 0 => policy.framing = parse_framing(name, &arguments)?,
            _ => return Err(format!("expected `dup-tail` or `rto-min(ms=20)`, not `{name}`")),
        }
    }
    Ok(())
}

/// Longest minimum of the retransmission timeout, in milliseconds: that of RFC 6298 for the maximum
/// (§2.5), 60 s.
const MOST_RTO_MIN_MS: u64 = 60_000;

/// Longest delay of a copy.
const MOST_DELAY: Duration = Duration::from_secs(10);

fn parse_delay(text: &str) -> Result<Duration, String> {
    let delay: Option<Duration> = text.parse().ok();
    delay
        .filter(|&delay| delay <= MOST_DELAY)
        .ok_or_else(|| format!("`{text}` is not a delay from 0s to 10s such as `5ms`"))
}

fn parse_control(text: &str, policy: &mut SenderPolicy) -> Result<(), String> {
    let linux = after_linux(text).map(|suffixes| format!("cubic+rack+tlp+prr{suffixes}"));
    let mut words = linux.as_deref().unwrap_or(text).split('+').map(str::trim);
    let (congestion, arguments) = call(words.next().unwrap_or_default())?;
    policy.loss = if congestion == "tahoe" { LossResponse::Tahoe } else { LossResponse::Reno };
    policy.congestion = match congestion {
        "tahoe" | "reno" => {
            allow(&arguments, &[])?;
            Congestion::Reno
        }
        "vegas" => {
            allow(&arguments, &["alpha", "beta", "gamma"])?;
            parse_vegas(&arguments)?
        }
        "fixed" => {
            allow(&arguments, &["n"])?;
            let n = argument(&arguments, "n").ok_or("`fixed` needs a window: `fixed(n=10)`")?;
            Congestion::Fixed(number(n, 1, u16::MAX)?)
        }
        "santa-cruz" => {
            let [sum, hold, startup, change, back_off] =
                READING_ARGUMENTS.map(|argument| argument.key);
            allow(&arguments, &["n", "delta", sum, hold, startup, change, back_off])?;
            policy.loss = LossResponse::AckWindow;
            Congestion::SantaCruz(parse_target(&arguments)?)
        }
        "cubic" => {
            allow(&arguments, &["hystart"])?;
            Congestion::Cubic(parse_slow_start_exit(&arguments)?)
        }
        other => return Err(format!("unknown congestion control `{other}`")),
    };
    for word in words {
        parse_suffix(word, policy)?;
    }
    check_packets(policy)?;
    if policy.early_retransmit.is_some() && policy.loss == LossResponse::AckWindow {
        // The ACK window counts no duplicates: one report of a later transmission is enough.
        return Err("`+er` cannot be combined with an ACK window".to_owned());
    }
    if policy.byte_counting && matches!(policy.congestion, Congestion::Fixed(_)) {
        return Err("`+abc` cannot be combined with a window that never grows".to_owned());
    }
    Ok(())
}

/// Parses a word after the congestion controller.
fn parse_suffix(word: &str, policy: &mut SenderPolicy) -> Result<(), String> {
    let (word, arguments) = call(word)?;
    allow(&arguments, if word == "rack" { &["frto", "undo"] } else { &[] })?;
    match word {
        "rack" if policy.loss == LossResponse::Reno => {
            policy.loss = LossResponse::Rack(parse_rack(&arguments)?);
        }
        "tlp" | "prr" | "pacing" if policy.rack().is_some() => add_to_rack(policy, word)?,
        "tlp" | "prr" | "pacing" => return Err(format!("`+{word}` needs `+rack` before it")),
        "newreno" if policy.loss == LossResponse::Reno => policy.loss = LossResponse::NewReno,
        "sack" if policy.loss == LossResponse::Reno => policy.loss = LossResponse::Sack,
        "sack1" if policy.loss == LossResponse::Reno => policy.loss = LossResponse::Sack1,
        "fack" if policy.loss == LossResponse::Reno => policy.loss = LossResponse::Fack,
        "ackwindow" if policy.loss == LossResponse::Reno => {
            policy.loss = LossResponse::AckWindow;
        }
        "lt" if !policy.limited_transmit => policy.limited_transmit = true,
        "er" if policy.early_retransmit.is_none() => {
            policy.early_retransmit = Some(EarlyRetransmit::Segments);
        }
        "er-bytes" if policy.early_retransmit.is_none() => {
            policy.early_retransmit = Some(EarlyRetransmit::Bytes);
        }
        "abc" if !policy.byte_counting => policy.byte_counting = true,
        "newreno" | "sack" | "sack1" | "fack" | "ackwindow" | "lt" | "er" | "er-bytes" | "abc"
        | "rack" => {
            return Err(format!("`+{word}` cannot be combined with the preceding words"));
        }
        other => return Err(format!("unknown suffix `+{other}`")),
    }
    Ok(())
}

/// Checks a sender that counts packets, and that CUBIC is one.
fn check_packets(policy: &SenderPolicy) -> Result<(), String> {
    let counts_packets = policy.rack().is_some();
    match policy.congestion {
        Congestion::Cubic(_) if !counts_packets => {
            return Err("`cubic` needs `+rack`: `cubic+rack+tlp+prr`".to_owned());
        }
        Congestion::Vegas(_) | Congestion::Fixed(_) | Congestion::SantaCruz(_)
            if counts_packets =>
        {
            return Err("`+rack` needs `cubic` or `reno`".to_owned());
        }
        _ => {}
    }
    if counts_packets
        && (policy.limited_transmit || policy.early_retransmit.is_some() || policy.byte_counting)
    {
        return Err("`+rack` cannot be combined with `+lt`, `+er` or `+abc`".to_owned());
    }
    Ok(())
}

fn parse_slow_start_exit(arguments: &Arguments<'_>) -> Result<SlowStartExit, String> {
    match argument(arguments, "hystart") {
        None | Some("on") => Ok(SlowStartExit::HyStart),
        Some("off") => Ok(SlowStartExit::None),
        Some("late") => Ok(SlowStartExit::HyStartLateRounds),
        Some("rfc9406") => Ok(SlowStartExit::HyStartPlusPlus),
        Some(other) => Err(format!("hystart is `on`, `off`, `late` or `rfc9406`, not `{other}`")),
    }
}

fn parse_rack(arguments: &Arguments<'_>) -> Result<RackOptions, String> {
    let on = |key| match argument(arguments, key) {
        None | Some("on") => Ok(true),
        Some("off") => Ok(false),
        Some(other) => Err(format!("{key} is `on` or `off`, not `{other}`")),
    };
    Ok(RackOptions { frto: on("frto")?, undo: on("undo")?, ..RackOptions::ALONE })
}

/// Switches on a part of RACK that a sender name lists.
fn add_to_rack(policy: &mut SenderPolicy, word: &str) -> Result<(), String> {
    if let LossResponse::Rack(options) = &mut policy.loss {
        let part = match word {
            "tlp" => &mut options.tlp,
            "prr" => &mut options.prr,
            _ => &mut options.pacing,
        };
        if std::mem::replace(part, true) {
            return Err(format!("`+{word}` occurs twice"));
        }
    }
    Ok(())
}

fn parse_target(arguments: &Arguments<'_>) -> Result<Target, String> {
    let of = |key, default| argument(arguments, key).map_or(Ok(default), parse_packets);
    let (n_op, delta) = (of("n", Target::PAPER.n_op())?, of("delta", Target::PAPER.delta())?);
    let mut reading = Reading::DEFAULT;
    for ReadingArgument { key, words: [first, second], set, .. } in READING_ARGUMENTS {
        match argument(arguments, key) {
            None => {}
            Some(word) if word == first || word == second => set(&mut reading, word == first),
            Some(other) => return Err(format!("{key} is `{first}` or `{second}`, not `{other}`")),
        }
    }
    Target::new(n_op, delta, reading).ok_or_else(|| {
        format!(
            "n is above 0 and at most 100, and delta at most n, not n={}, delta={}",
            Decimal(n_op),
            Decimal(delta)
        )
    })
}

fn parse_packets(text: &str) -> Result<Packets, String> {
    decimal(text, 2)
        .and_then(|hundredths| u16::try_from(hundredths).ok())
        .map(Packets::from_hundredths)
        .ok_or_else(|| format!("`{text}` is not a number of packets with at most two decimals"))
}

/// Parses a decimal number in units of the last of `places` decimals.
fn decimal(text: &str, places: usize) -> Option<u32> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let all_digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let valid =
        !whole.is_empty() && fraction.len() <= places && all_digits(whole) && all_digits(fraction);
    if valid { format!("{whole}{fraction:0<places$}").parse().ok() } else { None }
}

fn parse_vegas(arguments: &Arguments<'_>) -> Result<Congestion, String> {
    let paper = VegasThresholds::PAPER;
    let threshold = |key, default| {
        argument(arguments, key).map_or(Ok(default), |n| number(n, 1, VegasThresholds::MAX))
    };
    let alpha = threshold("alpha", paper.alpha())?;
    let beta = threshold("beta", paper.beta())?;
    let gamma = threshold("gamma", paper.gamma())?;
    VegasThresholds::new(alpha, beta, gamma)
        .map(Congestion::Vegas)
        .ok_or_else(|| format!("alpha, {alpha}, is more than beta, {beta}"))
}

fn parse_framing(name: &str, arguments: &Arguments<'_>) -> Result<Framing, String> {
    let segments = argument(arguments, "n").map_or(Ok(4), |n| number(n, 2, 64))?;
    let threshold = argument(arguments, "min").map_or(Ok(4), |n| number(n, 1, 64))?;
    let regime = Regime::new(segments, threshold).unwrap_or(Regime::PAPER);
    match name {
        "full" => {
            allow(arguments, &[])?;
            Ok(Framing::Full)
        }
        "fs" => {
            allow(arguments, &["n", "min", "avoidance"])?;
            let avoidance = match argument(arguments, "avoidance") {
                None | Some("draft") => Avoidance::Draft,
                Some("bytewise") => Avoidance::Bytewise,
                Some(other) => {
                    return Err(format!("avoidance is `draft` or `bytewise`, not `{other}`"));
                }
            };
            Ok(Framing::FixedSize(regime, avoidance))
        }
        "vs" => {
            allow(arguments, &["n", "min", "alpha"])?;
            let alpha = argument(arguments, "alpha").map_or(Ok(Alpha::PAPER), parse_alpha)?;
            Ok(Framing::VariableSize(regime, alpha))
        }
        "tail" => {
            allow(arguments, &["n"])?;
            let pieces =
                argument(arguments, "n").map_or(Ok(4), |n| number(n, 2, Tail::MOST_PIECES));
            Ok(Framing::Tail(Cut::Pieces(pieces?)))
        }
        "tiny-tail" => {
            allow(arguments, &[])?;
            Ok(Framing::Tail(Cut::LastByte))
        }
        other => Err(format!("unknown framing `{other}`")),
    }
}

fn parse_alpha(text: &str) -> Result<Alpha, String> {
    decimal(text, 6).and_then(Alpha::from_millionths).ok_or_else(|| {
        format!("alpha is between 1.01 and 4 with at most six decimals, not `{text}`")
    })
}

fn parse_windows(text: &str, policy: &mut SenderPolicy) -> Result<(), String> {
    let arguments = arguments(text)?;
    allow(&arguments, &["iw", "lw"])?;
    policy.initial_window = match argument(&arguments, "iw") {
        Some("rfc3390") => InitialWindow::Rfc3390,
        Some("rfc6928") => InitialWindow::Rfc6928,
        Some(n) => InitialWindow::Segments(number(n, 1, most_initial_window(policy))?),
        None => return Err("the initial window is missing: `iw=1`".to_owned()),
    };
    if let Some(n) = argument(&arguments, "lw") {
        policy.loss_window = number(n, 1, 10)?;
    }
    Ok(())
}

/// Largest initial window in segments: that of RFC 6928. For a sender that counts packets it is a
/// value of Linux's route option `initcwnd` beyond those in use.
fn most_initial_window(policy: &SenderPolicy) -> u8 {
    if policy.rack().is_some() { 64 } else { 10 }
}

type Arguments<'a> = Vec<(&'a str, &'a str)>;

/// Parses `name(key=value, …)` or just `name`.
fn call(text: &str) -> Result<(&str, Arguments<'_>), String> {
    let Some((name, rest)) = text.split_once('(') else { return Ok((text, Vec::new())) };
    let inner = rest.strip_suffix(')').ok_or_else(|| format!("`{text}` has no closing bracket"))?;
    Ok((name.trim(), arguments(inner)?))
}

fn arguments(text: &str) -> Result<Arguments<'_>, String> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(|part| {
            part.split_once('=')
                .map(|(key, value)| (key.trim(), value.trim()))
                .ok_or_else(|| format!("`{part}` is not `key=value`"))
        })
        .collect()
}

fn argument<'a>(arguments: &Arguments<'a>, key: &str) -> Option<&'a str> {
    arguments.iter().find(|(k, _)| *k == key).map(|&(_, value)| value)
}

fn allow(arguments: &Arguments<'_>, keys: &[&str]) -> Result<(), String> {
    for (index, (key, _)) in arguments.iter().enumerate() {
        if !keys.contains(key) {
            return Err(format!("unknown parameter `{key}`"));
        }
        if arguments[..index].iter().any(|(earlier, _)| earlier == key) {
            return Err(format!("duplicate parameter `{key}`"));
        }
    }
    Ok(())
}

fn number<N: FromStr + PartialOrd + fmt::Display + Copy>(
    text: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    match text.parse::<N>() {
        Ok(n) if n >= least && n <= most => Ok(n),
        _ => Err(format!("`{text}` is not a whole number from {least} to {most}")),
    }
}
