//! Transcripts: one connection against a script, in virtual time and so to the nanosecond.
//!
//! ```text
//! # What it shows, and which clause says so.
//! use sender reno+sack / fs(n=4) / iw=1
//! +0      write 1460
//! +0      > 1:366(365) > 366:731(365) > 731:1096(365) > P. 1096:1461(365)
//! +40ms   < ack 1 sack 366:731
//! +0      assert flight 1460, fast_retransmits 0
//! ```
//!
//! A line begins with the time since the line before. Then comes what happens, or what must have
//! happened:
//!
//! | line | meaning |
//! | --- | --- |
//! | `> segment > segment …` | these leave at exactly this moment, in this order |
//! | `< segment` | this arrives |
//! | `connect`, `listen`, `close`, `abort` | the user's call; `close fails` when it must be refused (so the first three) |
//! | `write 1000`, `write 1000 = 500` | the user writes, and this much fits (all of it if nothing is said) |
//! | `read 1000`, `read 1000 = 500` | the user reads, and gets this much |
//! | `icmp mss 536 for 1`, `icmp soft for 1`, `icmp hard for 1` | a router reports of the segment at 1 what fits, or an error; `… ignored` when that is to be dropped |
//! | `assert cwnd 2920, ssthresh >= 2920` | what must hold (the names are in `script/claim.rs`) |
//! | `event connected` | the next event of that kind has come |
//! | `quiet` | time passes; as everywhere, what leaves and isn't expected is an error |
//!
//! Before the first of them stand the settings, `use key value`, and for one key `for key value |
//! value | …` (in several lines if they are many), which plays the script once with each value.
//! Timers that are due fire before a line is played.
//!
//! A segment is written as [`crate::notation`] prints it, and what isn't said isn't compared:
//! without flags it is a plain segment with an acknowledgment, pushed or not. SACK blocks must be
//! those given, or none; and a SYN that gives any option gives all. The ECN field is compared where
//! one is given: `not-ect`, `ect0`, `ce`. What isn't said of an arriving segment is what the peer
//! would say: the acknowledgment, window and place in the stream that it has come to.

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

/// A script that has been read.
#[derive(Debug, Clone)]
pub struct Script {
    name: String,
    settings: Vec<Setting>,
    /// The key and the values of `for`.
    variants: Vec<Setting>,
    steps: Vec<Step>,
}

/// Why a script can't be read, or what went otherwise than it says.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{script}:{line}: {problem}")]
pub struct ScriptError {
    script: String,
    line: u32,
    problem: String,
}

/// `use key value`.
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
    Write { bytes: u32, taken: u32 },
    Read { bytes: u32, taken: u32 },
    Icmp { report: Report, seq: u32, ignored: bool },
    Assert(Vec<Claim>),
    Event(String),
    Quiet,
}

/// What a router reports.
#[derive(Debug, Clone, Copy)]
enum Report {
    TooBig(Mss),
    Error(IcmpError),
}

impl Script {
    /// Reads a script; `name` stands in messages.
    ///
    /// # Errors
    /// With the first line that can't be read.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScriptError> {
        parse::script(name, text)
    }

    /// Plays the script, once for each variant, and returns how often.
    ///
    /// # Errors
    /// With the first line that isn't as it says.
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
