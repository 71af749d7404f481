//! Parser of scripts.

use tcp::IcmpError;
use units::Duration;

use super::claim::Claim;
use super::pattern::Pattern;
use super::setup::{self, Setup};
use super::{Action, Report, Script, ScriptError, Setting, Step};

pub(super) fn script(name: &str, text: &str) -> Result<Script, ScriptError> {
    let mut script = Script {
        name: name.to_owned(),
        settings: Vec::new(),
        variants: Vec::new(),
        steps: Vec::new(),
    };
    for (line, text) in (1..).zip(text.lines()) {
        let content = text.split('#').next().unwrap_or_default().trim();
        if !content.is_empty() {
            read_line(&mut script, line, content)
                .map_err(|problem| script.error(line, &problem))?;
        }
    }
    if script.steps.is_empty() {
        return Err(script.error(1, "nothing happens in it"));
    }
    Ok(script)
}

fn read_line(script: &mut Script, line: u32, content: &str) -> Result<(), String> {
    let (word, rest) = content.split_once(char::is_whitespace).unwrap_or((content, ""));
    let rest = rest.trim();
    match word {
        "use" | "for" if !script.steps.is_empty() => {
            Err(format!("`{word}` stands before what happens"))
        }
        "use" => {
            let setting = setting(line, rest)?;
            script.settings.push(setting);
            Ok(())
        }
        "for" => {
            let (key, values) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            if let Some(other) = script.variants.iter().find(|variant| variant.key != key) {
                return Err(format!(
                    "`for {key}` beside `for {}`: only one key can vary",
                    other.key
                ));
            }
            for value in values.split(" | ") {
                script.variants.push(setting(line, &format!("{key} {}", value.trim()))?);
            }
            Ok(())
        }
        _ => {
            let after = word.strip_prefix('+').ok_or_else(|| {
                format!("`{word}` is neither `use`, nor `for`, nor a time such as `+0` or `+40ms`")
            })?;
            script.steps.push(Step { line, after: span(after)?, action: action(rest)? });
            Ok(())
        }
    }
}

/// Settings are applied when they are parsed, so that an error has its line.
fn setting(line: u32, text: &str) -> Result<Setting, String> {
    let (key, value) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let value = value.trim();
    Setup::default().set(key, value)?;
    Ok(Setting { line, key: key.to_owned(), value: value.to_owned() })
}

pub(super) fn span(text: &str) -> Result<Duration, String> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    text.parse().map_err(|_| format!("`{text}` is not a time such as `0`, `40ms` or `1.5s`"))
}

pub(super) fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| format!("`{text}` is not a whole number"))
}

fn action(text: &str) -> Result<Action, String> {
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    let alone = |action: Action| {
        if rest.is_empty() {
            Ok(action)
        } else {
            Err(format!("`{rest}` means nothing after `{word}`"))
        }
    };
    match word {
        ">" => rest.split(" > ").map(Pattern::parse).collect::<Result<_, _>>().map(Action::Expect),
        "<" => Pattern::parse(rest).map(Action::Arrive),
        "connect" if rest == "fails" => Ok(Action::Connect { refused: true }),
        "connect" => alone(Action::Connect { refused: false }),
        "listen" if rest == "fails" => Ok(Action::Listen { refused: true }),
        "listen" => alone(Action::Listen { refused: false }),
        "close" if rest == "fails" => Ok(Action::Close { refused: true }),
        "close" => alone(Action::Close { refused: false }),
        "abort" => alone(Action::Abort),
        "refuse-data" => alone(Action::RefuseData),
        "user-timeout" => span(rest).map(Action::UserTimeout),
        "write" => amounts(rest).map(|(bytes, taken)| Action::Write { bytes, taken }),
        "read" => amounts(rest).map(|(bytes, taken)| Action::Read { bytes, taken }),
        "icmp" => icmp(rest),
        "assert" => rest.split(',').map(Claim::parse).collect::<Result<_, _>>().map(Action::Assert),
        "event" if !rest.is_empty() => Ok(Action::Event(rest.to_owned())),
        "quiet" => alone(Action::Quiet),
        "" => Err("nothing stands after the time".to_owned()),
        other => Err(format!("nothing that happens is called `{other}`")),
    }
}

/// Parses `mss 536 for 1` or `hard for 1 ignored`.
fn icmp(text: &str) -> Result<Action, String> {
    let (text, ignored) = text.strip_suffix("ignored").map_or((text, false), |text| (text, true));
    let (report, seq) = text
        .split_once(" for ")
        .ok_or("`icmp` is e.g. `mss 536 for 1`, `soft for 1` or `hard for 1`")?;
    let report = match report.trim() {
        "soft" => Report::Error(IcmpError::Soft),
        "hard" => Report::Error(IcmpError::Hard),
        other => Report::TooBig(
            other
                .strip_prefix("mss ")
                .map_or_else(|| Err(format!("no router reports `{other}`")), setup::mss)?,
        ),
    };
    Ok(Action::Icmp { report, seq: number(seq.trim())?, ignored })
}

/// Parses `1000`, or `1000 = 500` for a partial result.
fn amounts(text: &str) -> Result<(u32, u32), String> {
    let (asked, done) = text.split_once('=').unwrap_or((text, text));
    Ok((number(asked.trim())?, number(done.trim())?))
}
