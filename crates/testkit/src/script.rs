//! Transcripts: one connection against a script, in virtual time and exact to the nanosecond.
//!
//! ```text
//! # The behaviour, and the clause that requires it.
//! use sender reno+sack / fs(n=4) / iw=1
//! +0      write 1460
//! +0      > 1:366(365) > 366:731(365) > 731:1096(365) > P. 1096:1461(365)
//! +40ms   < ack 1 sack 366:731
//! +0      assert flight 1460, fast_retransmits 0
//! ```
//!
//! A line begins with the time since the previous line. An event or an expectation follows:
//!
//! - `> segment > segment …`: these segments are sent exactly at this time, in this order.
//! - `< segment`: this segment arrives.
//! - `connect`, `listen`, `close`, `refuse-data`, `abort`: a call of the application. `close fails`
//!   expects an error; `connect` and `listen` have the same form.
//! - `user-timeout 3s`: the application changes the user timeout of the open connection.
//! - `write 1000`, `write 1000 = 500`: the application writes, and the second number of bytes fits
//!   (by default all).
//! - `read 1000`, `read 1000 = 500`: the application reads, and receives the second number of
//!   bytes.
//! - `icmp mss 536 for 1`, `icmp soft for 1`, `icmp hard for 1`: an ICMP error about the segment at
//!   1 arrives, with a segment size or a kind of error. With `ignored` at the end it must have no
//!   effect.
//! - `assert cwnd 2920, ssthresh >= 2920`: these conditions hold. The names are in
//!   `script/claim.rs`.
//! - `event connected`: the next event of that kind has occurred.
//! - `quiet`: time passes. As on every line, an unexpected segment is an error.
//!
//! The settings, `use key value`, precede the first event. One key may have several values, `for
//! key value | value | …` (also in several lines). The script is then played once with each value.
//! Due timers expire before a line is played.
//!
//! A segment is written as [`crate::notation`] prints it. Omitted fields are not compared. Without
//! flags it is a plain segment with an acknowledgment, with or without PSH. SACK blocks must be
//! equal, or absent. A SYN with any option must list all. The ECN field is compared if it is given:
//! `not-ect`, `ect0`, `ce`. Omitted fields of an arriving segment follow from the state of the
//! peer: acknowledgment, window and sequence number.

mod claim;
mod parse;
mod pattern;
mod play;
mod setup;

use std::fmt;

use tcp::IcmpError;
use thiserror::Error;
use units::Duration;
use wire::Mss;

use claim::Claim;
use pattern::Pattern;
use setup::Setup;

/// A parsed script.
#[derive(Debug, Clone)]
pub struct Script {
    name: String,
    settings: Vec<Setting>,
    /// Key and values of `for`.
    variants: Vec<Setting>,
    steps: Vec<Step>,
}

/// Error of parsing or playing a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{script}:{line}: {problem}")]
pub struct ScriptError {
    script: String,
    line: u32,
    problem: String,
}

/// Setting `use key value`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    line: u32,
    key: String,
    value: String,
}

#[derive(Debug, Clone)]
struct Step {
    line: u32,
    after: Duration,
    action: Action,
}

#[derive(Debug, Clone)]
enum Action {
    Expect(Vec<Pattern>),
    Arrive(Pattern),
    Connect { refused: bool },
    Listen { refused: bool },
    Close { refused: bool },
    Abort,
    RefuseData,
    UserTimeout(Duration),
    Write { bytes: u32, taken: u32 },
    Read { bytes: u32, taken: u32 },
    Icmp { report: Report, seq: u32, ignored: bool },
    Assert(Vec<Claim>),
    Event(String),
    Quiet,
}

/// Content of an ICMP error.
#[derive(Debug, Clone, Copy)]
enum Report {
    TooBig(Mss),
    Error(IcmpError),
}

impl Script {
    /// Parses a script. Error messages contain `name`.
    ///
    /// # Errors
    /// Returns an error for the first line that cannot be parsed.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        parse::script(name, text)
    }

    /// Plays the script once for each variant. Returns the number of variants.
    ///
    /// # Errors
    /// Returns an error for the first line whose expectation fails.
    pub fn play(&self) -> Result<u32, ScriptError> {
        let mut played = 0;
        let mut play = |variant: Option<&Setting>| -> Result<(), ScriptError> {
            let mut setup = Setup::default();
            for setting in self.settings.iter().chain(variant) {
                setup
                    .set(&setting.key, &setting.value)
                    .map_err(|problem| self.error(setting.line, &problem))?;
            }
            play::play(&setup, &self.steps).map_err(|(line, problem)| match variant {
                Some(variant) => self.error(line, &format!("with {variant}: {problem}")),
                None => self.error(line, &problem),
            })?;
            played += 1;
            Ok(())
        };
        if self.variants.is_empty() {
            play(None)?;
        }
        for variant in &self.variants {
            play(Some(variant))?;
        }
        Ok(played)
    }

    fn error(&self, line: u32, problem: &str) -> ScriptError {
        ScriptError { script: self.name.clone(), line, problem: problem.to_owned() }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.value)
    }
}

#[cfg(test)]
mod tests;
