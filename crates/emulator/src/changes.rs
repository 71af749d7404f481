//! Changes of the settings during a run, and the record of them.

use std::collections::BTreeMap;

use serde::Serialize;
use units::Instant;

use crate::convert::seconds;
use crate::line::LineConfig;
use crate::settings::{Overlay, Schedule, SettingsError, Texts};

/// A change that was made during a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ChangeRecord {
    /// The time since the start of the run, in seconds.
    pub time_s: f64,
    /// The origin of the change.
    pub source: ChangeSource,
    /// The options of the direction to the outside that changed, with their new values; `None` for
    /// an option that is no longer set.
    pub up: BTreeMap<String, Option<String>>,
    /// The options of the direction to the command that changed.
    pub down: BTreeMap<String, Option<String>>,
}

/// The origin of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeSource {
    /// The schedule.
    Schedule,
    /// A request at the control socket.
    Control,
}

/// The number of changes that are recorded.
const MAX_RECORDS: usize = 10_000;

/// The schedule of a run and the settings in force.
#[derive(Debug)]
pub(crate) struct Changes {
    schedule: Schedule,
    /// The time of the next change of the schedule.
    next: Instant,
    /// The options and configurations in force, up and down.
    options: [Texts; 2],
    lines: [LineConfig; 2],
    records: Vec<ChangeRecord>,
    /// The number of changes after the last one recorded.
    omitted: u64,
}

impl Changes {
    /// Begins with the configurations of both directions.
    pub(crate) fn new(schedule: Schedule, lines: [LineConfig; 2]) -> Self {
        let next = schedule.next_after(Instant::ZERO).unwrap_or(Instant::NEVER);
        let options = schedule.directions_at(Instant::ZERO);
        let mut found = Self { schedule, next, options, lines, records: Vec::new(), omitted: 0 };
        if let Ok(lines) = found.schedule.lines_at(Instant::ZERO)
            && !found.schedule.is_empty()
        {
            found.lines = lines;
        }
        found
    }

    /// The configurations in force, up and down.
    pub(crate) fn lines(&self) -> &[LineConfig; 2] {
        &self.lines
    }

    /// The options in force, up and down.
    pub(crate) fn options(&self) -> &[Texts; 2] {
        &self.options
    }

    /// The time of the next change.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// The number of changes so far.
    pub(crate) fn count(&self) -> u64 {
        self.records.len() as u64 + self.omitted
    }

    /// The changes so far, and the number of later ones that were not recorded.
    pub(crate) fn into_records(self) -> (Vec<ChangeRecord>, u64) {
        (self.records, self.omitted)
    }

    /// Makes a change on request at `now`. The caller then applies [`lines`](Self::lines).
    ///
    /// # Errors
    /// If an option is invalid or the link cannot make the change.
    pub(crate) fn add(&mut self, now: Instant, options: Overlay) -> Result<(), SettingsError> {
        self.schedule.add(now, options)?;
        self.advance_to(now, ChangeSource::Control)
    }

    /// Makes the changes that are due at `now`.
    ///
    /// # Errors
    /// If a combination of changes is invalid. The settings are unchanged then.
    pub(crate) fn advance_to(
        &mut self,
        now: Instant,
        source: ChangeSource,
    ) -> Result<(), SettingsError> {
        self.next = self.schedule.next_after(now).unwrap_or(Instant::NEVER);
        let mut lines = self.schedule.lines_at(now)?;
        let options = self.schedule.directions_at(now);
        for direction in 0..2 {
            // Masks of connections are equal only to themselves, and have to keep their positions.
            if Schedule::has_same_loss(&self.options[direction], &options[direction]) {
                lines[direction].link.loss = self.lines[direction].link.loss.clone();
            }
        }
        let [up, down] =
            [0, 1].map(|direction| difference(&self.options[direction], &options[direction]));
        (self.lines, self.options) = (lines, options);
        if self.records.len() < MAX_RECORDS {
            let time_s = seconds(now.since(Instant::ZERO));
            self.records.push(ChangeRecord { time_s, source, up, down });
        } else {
            self.omitted += 1;
        }
        Ok(())
    }
}

fn difference(before: &Texts, after: &Texts) -> BTreeMap<String, Option<String>> {
    let gone = before.keys().filter(|name| !after.contains_key(*name));
    let new = after.iter().filter(|(name, text)| before.get(*name) != Some(text));
    gone.map(|name| (name.clone(), None))
        .chain(new.map(|(name, text)| (name.clone(), Some(text.clone()))))
        .collect()
}
