//! Scripts in the packetdrill language, as a syntax tree with line numbers.
//!
//! The reader is a recursive descent over characters. The tokens of the language depend on their
//! place: `.` is a flag, a decimal point or a part of `...`, and a bare word may be a flag, an
//! option or a constant. A lexer without context would need the parser's state. A parser library
//! was not tried again: CONTRIBUTING.md has the result for the grammar of senders, that error texts
//! named the wrong part.

mod call;
mod packet;
mod parse;
mod time;

use std::fmt;

use thiserror::Error;
use units::Duration;

pub use crate::cursor::Definitions;
use crate::expression::Code;

pub use call::{Call, CallResult, Field, Value};
pub use packet::{Direction, EcnField, Icmp, Packet, Sequence, TcpOption, TcpPacket};
pub use time::{Time, When};

/// A script that was read completely.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Name of the file, for messages.
    pub name: String,
    /// Settings `--name=value` before the first event.
    pub settings: Vec<Setting>,
    /// Shell command before the first event.
    pub init: Option<Command>,
    /// Events in the order of the script.
    pub events: Vec<Event>,
    /// Shell command after the last event.
    pub cleanup: Option<Command>,
}

/// A setting `--name=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Line of the setting.
    pub line: u32,
    /// Name without the dashes.
    pub name: String,
    /// Text after `=`; empty without `=`.
    pub value: String,
}

/// A shell command in backticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// Line of the first backtick.
    pub line: u32,
    /// Text between the backticks.
    pub text: String,
}

/// An event with its time.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Line of the event.
    pub line: u32,
    /// Time of the event.
    pub time: Time,
    /// The event itself.
    pub action: Action,
    /// Text of the event in the script, in one line and without comments.
    pub text: String,
}

/// Kind of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// A packet arrives, or must leave.
    Packet(Packet),
    /// A system call with its expected result.
    Call(Call),
    /// A shell command.
    Command(Command),
    /// Assertions over `TCP_INFO`.
    Code(Code),
}

/// Error of reading a script.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{name}:{line}:{column}: {problem}")]
pub struct ReadError {
    /// Name of the file.
    pub name: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
    /// Problem, with the text that was found.
    pub problem: String,
}

impl Script {
    /// Reads a script. Messages contain `name`.
    ///
    /// # Errors
    /// Returns an error for the first place that cannot be read.
    pub fn parse(name: &str, text: &str, definitions: &Definitions) -> Result<Self, ReadError> {
        parse::script(name, text, definitions)
    }

    /// Value of a setting; the last one counts.
    pub fn setting(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().rev().find(|setting| setting.name == name)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plus = if self.relative { "+" } else { "" };
        match self.when {
            When::At(at) => write!(f, "{plus}{}", seconds(at)),
            When::Range(from, to) => write!(f, "{plus}{}~{plus}{}", seconds(from), seconds(to)),
            When::Blocking(from, to) => write!(f, "{plus}{}...{}", seconds(from), seconds(to)),
            When::Any => f.write_str("*"),
        }
    }
}

/// Formats a span in seconds without a unit.
pub(crate) fn seconds(span: Duration) -> String {
    let text = span.to_string();
    text.trim_end_matches('s').to_owned()
}

#[cfg(test)]
mod tests;
