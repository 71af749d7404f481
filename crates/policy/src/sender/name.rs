//! Text form of a combination of sender policies.
//!
//! ```text
//! <congestion>[+newreno|+sack|+sack1|+fack|+ackwindow][+lt][+er|+er-bytes][+abc]
//!     / <segmenter> / iw=<window>[, lw=N]
//!
//! reno+sack / fs(n=4) / iw=1
//! tahoe / full / iw=2
//! reno+newreno+lt / vs(n=4, min=4, alpha=1.32) / iw=rfc6928
//! vegas / full / iw=1
//! ```

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

use super::{Congestion, Framing, InitialWindow, LossResponse, SenderPolicy};
use crate::congestion::{
    BackOff, Change, Hold, Packets, Reading, Startup, Target, Translation, VegasThresholds,
};
use crate::loss::EarlyRetransmit;
use crate::segment::{Alpha, Avoidance, Regime};

impl fmt::Display for SenderPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.congestion, self.loss) {
            (Congestion::Reno, LossResponse::Tahoe) => f.write_str("tahoe")?,
            (Congestion::Reno, _) => f.write_str("reno")?,
            (Congestion::Vegas(thresholds), _) => write!(f, "{thresholds}")?,
            (Congestion::Fixed(n), _) => write!(f, "fixed(n={n})")?,
            (Congestion::SantaCruz(target), _) => {
                write!(f, "santa-cruz(n={}", Decimal(target.n_op()))?;
                if target.delta() != Target::PAPER.delta() {
                    write!(f, ", delta={}", Decimal(target.delta()))?;
                }
                write!(f, "{})", target.reading())?;
            }
        }
        match self.loss {
            LossResponse::Tahoe | LossResponse::Reno => {}
            LossResponse::NewReno => f.write_str("+newreno")?,
            LossResponse::Sack => f.write_str("+sack")?,
            LossResponse::Sack1 => f.write_str("+sack1")?,
            LossResponse::Fack => f.write_str("+fack")?,
            LossResponse::AckWindow if matches!(self.congestion, Congestion::SantaCruz(_)) => {}
            LossResponse::AckWindow => f.write_str("+ackwindow")?,
        }
        if self.limited_transmit {
            f.write_str("+lt")?;
        }
        match self.early_retransmit {
            None => {}
            Some(EarlyRetransmit::Segments) => f.write_str("+er")?,
            Some(EarlyRetransmit::Bytes) => f.write_str("+er-bytes")?,
        }
        if self.byte_counting {
            f.write_str("+abc")?;
        }
        write!(f, " / {}", self.framing)?;
        match self.initial_window {
            InitialWindow::Segments(n) => write!(f, " / iw={n}")?,
            InitialWindow::Rfc3390 => f.write_str(" / iw=rfc3390")?,
            InitialWindow::Rfc6928 => f.write_str(" / iw=rfc6928")?,
        }
        if self.loss_window != 1 {
            write!(f, ", lw={}", self.loss_window)?;
        }
        Ok(())
    }
}

/// An argument that selects a reading of the paper: its key, its two values, and how a reading is
/// queried and changed.
struct ReadingArgument {
    key: &'static str,
    words: [&'static str; 2],
    /// Returns whether a reading has the first of the two values.
    is_first: fn(&Reading) -> bool,
    set: fn(&mut Reading, bool),
}

const READING_ARGUMENTS: [ReadingArgument; 5] = [
    ReadingArgument {
        key: "sum",
        words: ["session", "window"],
        is_first: |reading| reading.translation == Translation::Session,
        set: |reading, first| {
            reading.translation = if first { Translation::Session } else { Translation::Window };
        },
    },
    ReadingArgument {
        key: "hold",
        words: ["window", "none"],
        is_first: |reading| reading.hold == Hold::Window,
        set: |reading, first| reading.hold = if first { Hold::Window } else { Hold::None },
    },
    ReadingArgument {
        key: "startup",
        words: ["report", "window"],
        is_first: |reading| reading.startup == Startup::Report,
        set: |reading, first| {
            reading.startup = if first { Startup::Report } else { Startup::Window }
        },
    },
    ReadingArgument {
        key: "change",
        words: ["ramp", "step"],
        is_first: |reading| reading.change == Change::Ramp,
        set: |reading, first| reading.change = if first { Change::Ramp } else { Change::Step },
    },
    ReadingArgument {
        key: "backoff",
        words: ["repeated", "none"],
        is_first: |reading| reading.back_off == BackOff::Repeated,
        set: |reading, first| {
            reading.back_off = if first { BackOff::Repeated } else { BackOff::None }
        },
    },
];

/// Prints the arguments that differ from the default.
impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for ReadingArgument { key, words: [first, second], is_first, .. } in READING_ARGUMENTS {
            if is_first(self) != is_first(&Self::DEFAULT) {
                write!(f, ", {key}={}", if is_first(self) { first } else { second })?;
            }
        }
        Ok(())
    }
}

/// A number of packets with up to two decimals, without trailing zeros.
struct Decimal(Packets);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0.hundredths() / 100, self.0.hundredths() % 100);
        match (rest, rest % 10) {
            (0, _) => write!(f, "{whole}"),
            (_, 0) => write!(f, "{whole}.{}", rest / 10),
            _ => write!(f, "{whole}.{rest:02}"),
        }
    }
}

impl fmt::Display for VegasThresholds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paper = Self::PAPER;
        let given: Vec<String> = [
            ("alpha", self.alpha(), paper.alpha()),
            ("beta", self.beta(), paper.beta()),
            ("gamma", self.gamma(), paper.gamma()),
        ]
        .iter()
        .filter(|(_, value, default)| value != default)
        .map(|(key, value, _)| format!("{key}={value}"))
        .collect();
        if given.is_empty() {
            f.write_str("vegas")
        } else {
            write!(f, "vegas({})", given.join(", "))
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, regime) = match self {
            Self::Full => return f.write_str("full"),
            Self::FixedSize(regime, _) => ("fs", regime),
            Self::VariableSize(regime, _) => ("vs", regime),
        };
        write!(f, "{name}(n={}", regime.segments())?;
        if regime.threshold() != Regime::PAPER.threshold() {
            write!(f, ", min={}", regime.threshold())?;
        }
        match self {
            Self::FixedSize(_, Avoidance::Bytewise) => f.write_str(", avoidance=bytewise")?,
            Self::VariableSize(_, alpha) if *alpha != Alpha::PAPER => {
                let digits = format!("{:06}", alpha.millionths() % 1_000_000);
                write!(f, ", alpha={}.{}", alpha.millionths() / 1_000_000, digits)?;
            }
            _ => {}
        }
        f.write_str(")")
    }
}

/// Error for a sender name that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("sender `{name}`: {problem}")]
pub struct ParseSenderError {
    name: String,
    problem: String,
}

impl ParseSenderError {
    /// Grammar and example of a sender name, for a hint.
    pub const EXAMPLE: &str = "a sender is `<tahoe|reno|vegas|santa-cruz|fixed(n=N)>[+newreno|+sack|+sack1|+fack|+ackwindow][+lt][+er|+er-bytes][+abc] / <full|fs(n=4)|vs(n=4)> / iw=<1…10>`, \
         e.g. `reno+sack / fs(n=4) / iw=1`";
}

impl FromStr for SenderPolicy {
    type Err = ParseSenderError;

    fn from_str(name: &str) -> Result<Self, ParseSenderError> {
        parse(name).map_err(|problem| ParseSenderError { name: name.to_owned(), problem })
    }
}

fn parse(name: &str) -> Result<SenderPolicy, String> {
    let parts: Vec<&str> = name.split('/').map(str::trim).collect();
    let [control, framing, windows] = parts[..] else {
        return Err(format!("expected three parts separated by slashes, got {}", parts.len()));
    };
    let mut policy = SenderPolicy { framing: parse_framing(framing)?, ..SenderPolicy::CLASSIC };
    parse_control(control, &mut policy)?;
    parse_windows(windows, &mut policy)?;
    Ok(policy)
}

fn parse_control(text: &str, policy: &mut SenderPolicy) -> Result<(), String> {
    let mut words = text.split('+').map(str::trim);
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
        other => return Err(format!("unknown congestion control `{other}`")),
    };
    for word in words {
        match word {
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
            "newreno" | "sack" | "sack1" | "fack" | "ackwindow" | "lt" | "er" | "er-bytes"
            | "abc" => {
                return Err(format!("`+{word}` cannot be combined with the preceding words"));
            }
            other => return Err(format!("unknown suffix `+{other}`")),
        }
    }
    if policy.early_retransmit.is_some() && policy.loss == LossResponse::AckWindow {
        // The ACK window counts no duplicates: one report of a later transmission is enough.
        return Err("`+er` cannot be combined with an ACK window".to_owned());
    }
    if policy.byte_counting && matches!(policy.congestion, Congestion::Fixed(_)) {
        return Err("`+abc` cannot be combined with a window that never grows".to_owned());
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

fn parse_framing(text: &str) -> Result<Framing, String> {
    let (name, arguments) = call(text)?;
    let segments = argument(&arguments, "n").map_or(Ok(4), |n| number(n, 2, 64))?;
    let threshold = argument(&arguments, "min").map_or(Ok(4), |n| number(n, 1, 64))?;
    let regime = Regime::new(segments, threshold).unwrap_or(Regime::PAPER);
    match name {
        "full" => {
            allow(&arguments, &[])?;
            Ok(Framing::Full)
        }
        "fs" => {
            allow(&arguments, &["n", "min", "avoidance"])?;
            let avoidance = match argument(&arguments, "avoidance") {
                None | Some("draft") => Avoidance::Draft,
                Some("bytewise") => Avoidance::Bytewise,
                Some(other) => {
                    return Err(format!("avoidance is `draft` or `bytewise`, not `{other}`"));
                }
            };
            Ok(Framing::FixedSize(regime, avoidance))
        }
        "vs" => {
            allow(&arguments, &["n", "min", "alpha"])?;
            let alpha = argument(&arguments, "alpha").map_or(Ok(Alpha::PAPER), parse_alpha)?;
            Ok(Framing::VariableSize(regime, alpha))
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
        Some(n) => InitialWindow::Segments(number(n, 1, 10)?),
        None => return Err("the initial window is missing: `iw=1`".to_owned()),
    };
    if let Some(n) = argument(&arguments, "lw") {
        policy.loss_window = number(n, 1, 10)?;
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn policies() -> impl Strategy<Value = SenderPolicy> {
        let loss = prop_oneof![
            Just(LossResponse::Tahoe),
            Just(LossResponse::Reno),
            Just(LossResponse::NewReno),
            Just(LossResponse::Sack),
            Just(LossResponse::Sack1),
            Just(LossResponse::Fack),
            Just(LossResponse::AckWindow)
        ];
        let target =
            (1..=10_000u16, 0..=10_000u16, any::<[bool; 5]>()).prop_map(|(n, delta, firsts)| {
                let of = Packets::from_hundredths;
                let mut reading = Reading::DEFAULT;
                for (argument, first) in READING_ARGUMENTS.iter().zip(firsts) {
                    (argument.set)(&mut reading, first);
                }
                Target::new(of(n), of(delta.min(n)), reading).unwrap()
            });
        let thresholds = (1..=64u8, 1..=64u8, 1..=64u8)
            .prop_map(|(a, b, c)| VegasThresholds::new(a.min(b), a.max(b), c).unwrap());
        let congestion = prop_oneof![
            Just(Congestion::Reno),
            thresholds.prop_map(Congestion::Vegas),
            target.prop_map(Congestion::SantaCruz)
        ];
        let regime = (2..=64u8, 1..=64u8).prop_map(|(n, min)| Regime::new(n, min).unwrap());
        let framing = prop_oneof![
            Just(Framing::Full),
            (regime.clone(), any::<bool>()).prop_map(|(r, b)| {
                Framing::FixedSize(r, if b { Avoidance::Draft } else { Avoidance::Bytewise })
            }),
            (regime, 1_010_000..=4_000_000u32)
                .prop_map(|(r, a)| Framing::VariableSize(r, Alpha::from_millionths(a).unwrap())),
        ];
        let window = prop_oneof![
            (1..=10u8).prop_map(InitialWindow::Segments),
            Just(InitialWindow::Rfc3390),
            Just(InitialWindow::Rfc6928)
        ];
        let early = prop_oneof![
            Just(None),
            Just(Some(EarlyRetransmit::Bytes)),
            Just(Some(EarlyRetransmit::Segments))
        ];
        let more = (any::<bool>(), early, any::<bool>());
        (congestion, loss, more, framing, window, 1..=10u8).prop_map(
            |(
                congestion,
                loss,
                (limited_transmit, early, byte_counting),
                framing,
                initial_window,
                loss_window,
            )| {
                let santa_cruz =
                    matches!(congestion, Congestion::SantaCruz(_)) && loss != LossResponse::Tahoe;
                SenderPolicy {
                    // The name of Tahoe determines two answers, and so does that of TCP Santa Cruz.
                    congestion: if loss == LossResponse::Tahoe {
                        Congestion::Reno
                    } else {
                        congestion
                    },
                    loss: match congestion {
                        Congestion::SantaCruz(_) if loss != LossResponse::Tahoe => {
                            LossResponse::AckWindow
                        }
                        _ => loss,
                    },
                    limited_transmit,
                    early_retransmit: early
                        .filter(|_| loss != LossResponse::AckWindow && !santa_cruz),
                    byte_counting,
                    framing,
                    initial_window,
                    loss_window,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn names_round_trip(policy in policies()) {
            prop_assert_eq!(policy.to_string().parse(), Ok(policy));
        }
    }

    #[test]
    fn senders_of_the_papers_have_names() {
        let fs: SenderPolicy = "reno+sack / fs(n=4) / iw=1".parse().unwrap();
        assert_eq!(fs.framing, Framing::FixedSize(Regime::PAPER, Avoidance::Draft));
        assert_eq!(fs.to_string(), "reno+sack / fs(n=4) / iw=1");
        let santa_cruz: SenderPolicy = "santa-cruz / fs(n=4) / iw=2".parse().unwrap();
        assert_eq!(
            (santa_cruz.congestion, santa_cruz.loss),
            (Congestion::SantaCruz(Target::PAPER), LossResponse::AckWindow)
        );
        assert_eq!(santa_cruz.to_string(), "santa-cruz(n=1.5) / fs(n=4) / iw=2");
        let five = "santa-cruz(n=5.00, delta=0.05) / full / iw=2".parse::<SenderPolicy>().unwrap();
        assert_eq!(five.to_string(), "santa-cruz(n=5, delta=0.05) / full / iw=2");
        let vs: SenderPolicy =
            "reno+newreno+lt / vs(n=4, min=4, alpha=1.32) / iw=rfc6928".parse().unwrap();
        assert_eq!(vs.to_string(), "reno+newreno+lt / vs(n=4) / iw=rfc6928");
        let all: SenderPolicy = "reno+abc+er-bytes+sack+lt / full / iw=2".parse().unwrap();
        assert_eq!(all.early_retransmit, Some(EarlyRetransmit::Bytes));
        assert_eq!(all.to_string(), "reno+sack+lt+er-bytes+abc / full / iw=2");
    }

    #[test]
    fn errors_name_the_wrong_part() {
        let cases = [
            ("reno", "expected three parts separated by slashes, got 1"),
            ("cubic / full / iw=1", "unknown congestion control `cubic`"),
            (
                "reno+sack+newreno / full / iw=1",
                "`+newreno` cannot be combined with the preceding words",
            ),
            (
                "santa-cruz+sack / full / iw=2",
                "`+sack` cannot be combined with the preceding words",
            ),
            (
                "santa-cruz(n=1.555) / full / iw=2",
                "`1.555` is not a number of packets with at most two decimals",
            ),
            (
                "santa-cruz(n=0.2) / full / iw=2",
                "n is above 0 and at most 100, and delta at most n, not n=0.2, delta=0.25",
            ),
            ("santa-cruz(hold=on) / full / iw=2", "hold is `window` or `none`, not `on`"),
            ("reno+sack+fack / full / iw=1", "`+fack` cannot be combined with the preceding words"),
            ("tahoe+fack / full / iw=1", "`+fack` cannot be combined with the preceding words"),
            ("tahoe+sack / full / iw=1", "`+sack` cannot be combined with the preceding words"),
            ("vegas(alpha=4) / full / iw=1", "alpha, 4, is more than beta, 3"),
            ("vegas(gamma=0) / full / iw=1", "`0` is not a whole number from 1 to 64"),
            ("reno+rack / full / iw=1", "unknown suffix `+rack`"),
            (
                "reno+er+er-bytes / full / iw=1",
                "`+er-bytes` cannot be combined with the preceding words",
            ),
            ("santa-cruz+er / full / iw=1", "`+er` cannot be combined with an ACK window"),
            (
                "fixed(n=4)+abc / full / iw=1",
                "`+abc` cannot be combined with a window that never grows",
            ),
            ("reno / fs(n=1) / iw=1", "`1` is not a whole number from 2 to 64"),
            ("reno / fs(m=4) / iw=1", "unknown parameter `m`"),
            ("reno / fs(n=4,n=5) / iw=1", "duplicate parameter `n`"),
            (
                "reno / vs(alpha=9) / iw=1",
                "alpha is between 1.01 and 4 with at most six decimals, not `9`",
            ),
            ("reno / full / iw=11", "`11` is not a whole number from 1 to 10"),
            ("reno / full / lw=1", "the initial window is missing: `iw=1`"),
            ("reno / fs(n=4 / iw=1", "`fs(n=4` has no closing bracket"),
        ];
        for (name, problem) in cases {
            let error = name.parse::<SenderPolicy>().unwrap_err();
            assert_eq!(error.to_string(), format!("sender `{name}`: {problem}"));
        }
    }
}
