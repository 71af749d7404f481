//! Arguments of `santa-cruz(…)` that select a reading of its paper.

use std::fmt;

use crate::congestion::{BackOff, Change, Hold, Reading, Startup, Translation};

/// An argument that selects a reading of the paper: its key, its two values, and how a reading is
/// queried and changed.
pub(super) struct ReadingArgument {
    pub(super) key: &'static str,
    pub(super) words: [&'static str; 2],
    /// Returns whether a reading has the first of the two values.
    is_first: fn(&Reading) -> bool,
    pub(super) set: fn(&mut Reading, bool),
}

pub(super) const READING_ARGUMENTS: [ReadingArgument; 5] = [
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
