//! Outcome of a script.

use std::fmt;

use serde::Serialize;

/// Outcome of one script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// Name of the file.
    pub file: String,
    /// Verdict.
    pub verdict: Verdict,
    /// Line of the failure, or of the reason.
    pub line: Option<u32>,
    /// Description of the failure, or the reason.
    pub problem: Option<String>,
    /// Expected event in the notation of scripts, with its time.
    pub expected: Option<String>,
    /// Actual event in the notation of scripts, with its time.
    pub actual: Option<String>,
    /// Differences that are not failures, each with its line.
    pub notes: Vec<Note>,
    /// Lines that `print` wrote.
    pub printed: Vec<String>,
    /// Number of events that were played, of those in the script.
    pub events: [usize; 2],
    /// Number of segments that left after the last expected one.
    pub unmatched: usize,
    /// Events in the notation of scripts, with absolute times.
    pub trace: Vec<String>,
}

/// Verdict on a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Everything happened as written.
    Passed,
    /// An expectation was not met.
    Failed,
    /// The script needs a feature that is not here.
    NotApplicable,
    /// The script cannot be read.
    Unreadable,
}

/// A difference that is not a failure.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// Line of the event.
    pub line: u32,
    /// Difference.
    pub text: String,
}

impl Report {
    /// Creates the report of a script that passed nothing yet.
    pub(crate) fn new(file: &str, events: usize) -> Self {
        Self {
            file: file.to_owned(),
            verdict: Verdict::Passed,
            line: None,
            problem: None,
            expected: None,
            actual: None,
            notes: Vec::new(),
            printed: Vec::new(),
            events: [0, events],
            unmatched: 0,
            trace: Vec::new(),
        }
    }

    /// The report as one object of JSON.
    pub fn to_json(&self) -> String {
        // The type has no map with other keys than texts, so this cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn stop(&mut self, stop: Stop) {
        self.verdict = stop.verdict;
        self.line = Some(stop.line);
        self.problem = Some(stop.problem);
        (self.expected, self.actual) = (stop.expected, stop.actual);
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::NotApplicable => "not applicable",
            Self::Unreadable => "unreadable",
        })
    }
}

/// Reason to end a script before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stop {
    pub(crate) verdict: Verdict,
    pub(crate) line: u32,
    pub(crate) problem: String,
    pub(crate) expected: Option<String>,
    pub(crate) actual: Option<String>,
}

impl Stop {
    pub(crate) fn failed(line: u32, problem: impl Into<String>) -> Self {
        let verdict = Verdict::Failed;
        Self { verdict, line, problem: problem.into(), expected: None, actual: None }
    }

    pub(crate) fn not_applicable(line: u32, reason: impl Into<String>) -> Self {
        Self { verdict: Verdict::NotApplicable, ..Self::failed(line, reason) }
    }

    pub(crate) fn between(self, expected: Option<String>, actual: Option<String>) -> Self {
        Self { expected, actual, ..self }
    }
}
