//! Settings that change during a run: at given times, periodically, or on request.
//!
//! A change replaces options, as if they had been written in the place of others at the start. The
//! settings at a time are a function of the changes so far, so each combination is checked as the
//! settings of a new link are.

use std::collections::BTreeMap;

use link::Discipline;
use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use super::groups::{EXCLUSIVE, LOSSES, WAITING};
use super::value::Value;
use super::{NONE, Options, RawSettings, Settings, SettingsError, Templates, refuse_idle};
use crate::line::LineConfig;

/// The texts of options by name, without dashes.
pub type Texts = BTreeMap<String, String>;

/// Options for both directions and for each.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Overlay {
    /// Options for both directions. They replace those of each direction.
    pub both: Texts,
    /// Options for the direction from the command to the outside.
    pub up: Texts,
    /// Options for the direction to the command.
    pub down: Texts,
}

/// The settings of a link over time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The settings at the start.
    base: Overlay,
    mtu: Option<u32>,
    templates: Templates,
    changes: Vec<Change>,
}

/// A change of options.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Change {
    /// The time of the first change.
    at: Instant,
    /// The time after which the change ends; `None` for a permanent one.
    lasts: Option<Duration>,
    /// The period of repetition.
    every: Option<Duration>,
    options: Overlay,
}

/// A change as written.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawChange {
    at: Option<String>,
    #[serde(rename = "for")]
    lasts: Option<String>,
    every: Option<String>,
    #[serde(default)]
    both: Texts,
    #[serde(default)]
    up: Texts,
    #[serde(default)]
    down: Texts,
}

/// The maximum time of a change, a duration or a period.
const MAX_TIME: Duration = Duration::from_secs(30 * 86_400);
/// The minimum duration and period. A shorter one would occupy the emulator.
const MIN_TIME: Duration = Duration::from_millis(1);
/// The number of changes that are checked before the start.
const CHECKED: usize = 1000;

impl Schedule {
    /// Reads the schedule from JSON. The keys are those of [`Settings::from_json`]. `changes` is a
    /// list of tables with `both`, `up` and `down`, and with times as texts:
    ///
    /// - `at` alone is a permanent change at this time.
    /// - `every` and `for`: the change is made in each period, and ends after the time of `for`.
    ///   The first one is at `at`, or after one period.
    /// - `every` and `at` alone: a permanent change, made again in each period.
    ///
    /// # Errors
    /// If an option or a time is invalid, or if a link cannot make one of the first changes.
    pub fn from_json(json: &str, templates: &Templates) -> Result<Self, SettingsError> {
        let raw = RawSettings::from_json(json)?;
        let base: Base = serde_json::from_str(json).map_err(|e| unreadable(json, &e))?;
        let mut changes = Vec::new();
        for raw in raw.changes {
            changes.push(Change::read(raw)?);
        }
        let Base { both, up, down } = base;
        let base = Overlay { both, up, down };
        let found = Self { base, mtu: raw.mtu, templates: templates.clone(), changes };
        found.check()?;
        Ok(found)
    }

    /// Makes a permanent change at `now`.
    ///
    /// # Errors
    /// If an option is invalid or the link cannot make the change. The schedule is unchanged then.
    pub fn add(&mut self, now: Instant, options: Overlay) -> Result<(), SettingsError> {
        options.check()?;
        let before = self.lines_at(now)?;
        let more = Change { at: now, lasts: None, every: None, options };
        // A series of requests is one change as long as no other change is made between them.
        let last = self.changes.last_mut().filter(|last| last.is_single() && last.at <= now);
        let previous = last.as_deref().cloned();
        let merged = previous.is_some_and(|previous| {
            let rest = self.changes.split_last().map_or(&[][..], |(_, rest)| rest);
            rest.iter().all(|change| change.next(previous.at).is_none_or(|next| next > now))
        });
        let saved = self.changes.clone();
        match self.changes.last_mut().filter(|_| merged) {
            Some(last) => more.options.over(&mut last.options),
            None => self.changes.push(more.clone()),
        }
        let made = self.lines_at(now).and_then(|lines| changeable(&before, &lines, &more.options));
        if made.is_err() {
            self.changes = saved;
        }
        made
    }

    /// Returns true for the schedule without settings and changes.
    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if two directions have the same options of loss.
    pub(crate) fn has_same_loss(one: &Texts, other: &Texts) -> bool {
        LOSSES.iter().all(|name| one.get(*name) == other.get(*name))
    }

    /// The time of the first change after `now`.
    pub fn next_after(&self, now: Instant) -> Option<Instant> {
        self.changes.iter().filter_map(|change| change.next(now)).min()
    }

    /// The configurations of both directions at `now`, up and down.
    ///
    /// # Errors
    /// If a combination of changes is invalid.
    pub fn lines_at(&self, now: Instant) -> Result<[LineConfig; 2], SettingsError> {
        let Overlay { both, up, down } = self.options_at(now);
        let raw = serde_json::json!({ "both": both, "up": up, "down": down, "mtu": self.mtu });
        let raw = RawSettings::from_json(&raw.to_string())?;
        let Settings { up, down, .. } = Settings::resolve(&raw, &self.templates)?;
        Ok([up, down])
    }

    /// The options of both directions that are in force at `now`, up and down.
    pub fn directions_at(&self, now: Instant) -> [Texts; 2] {
        let Overlay { both, up, down } = self.options_at(now);
        [up, down].map(|own| {
            let shadowed = |name: &str| group(name).iter().any(|name| own.contains_key(*name));
            let common =
                both.iter().filter(|(name, _)| !shadowed(name) && !own.contains_key(*name));
            common
                .chain(&own)
                .filter(|(_, text)| text.trim() != NONE)
                .map(|(name, text)| (name.clone(), text.clone()))
                .collect()
        })
    }

    fn options_at(&self, now: Instant) -> Overlay {
        let mut active: Vec<(Instant, &Overlay)> = self
            .changes
            .iter()
            .filter_map(|change| Some((change.active_since(now)?, &change.options)))
            .collect();
        active.sort_by_key(|(since, _)| *since);
        let mut found = self.base.clone();
        for (_, options) in active {
            options.over(&mut found);
        }
        found
    }

    fn check(&self) -> Result<(), SettingsError> {
        let (mut now, mut before) = (Instant::ZERO, self.lines_at(Instant::ZERO)?);
        for _ in 0..CHECKED {
            let Some(next) = self.next_after(now) else { break };
            let lines = self.lines_at(next)?;
            let made = self.changes.iter().find(|change| change.next(now) == Some(next));
            changeable(&before, &lines, made.map_or(&self.base, |change| &change.options))?;
            (now, before) = (next, lines);
        }
        Ok(())
    }
}

/// The options at the start, as texts. Other keys have been checked.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Base {
    both: Texts,
    up: Texts,
    down: Texts,
}

impl Overlay {
    /// Returns true if there is no option.
    pub fn is_empty(&self) -> bool {
        [&self.both, &self.up, &self.down].iter().all(|options| options.is_empty())
    }

    /// Replaces options of `base`. One kind of loss replaces any other, and so does one discipline.
    fn over(&self, base: &mut Self) {
        for (name, text) in &self.both {
            for options in [&mut base.both, &mut base.up, &mut base.down] {
                remove(options, name);
            }
            base.both.insert(name.clone(), text.clone());
        }
        for (own, options) in [(&self.up, &mut base.up), (&self.down, &mut base.down)] {
            for (name, text) in own {
                remove(options, name);
                options.insert(name.clone(), text.clone());
            }
        }
    }

    /// Refuses names that are not options of a link.
    fn check(&self) -> Result<(), SettingsError> {
        let Self { both, up, down } = self;
        for (prefix, options) in [("", both), ("up-", up), ("down-", down)] {
            for (name, text) in options {
                let only = serde_json::json!({ name.clone(): text });
                if serde_json::from_value::<Options>(only).is_err() {
                    let option = format!("--{prefix}{name}");
                    let value = Value { option, text: text.clone() };
                    let error = value.error("a link has no such option");
                    return Err(error.with_hint("`tcpsf link --help` lists the options"));
                }
            }
        }
        Ok(())
    }

    /// The first option of packets that wait, and its value.
    fn waiting(&self) -> Option<Value> {
        let Self { both, up, down } = self;
        let mut all = [("", both), ("up-", up), ("down-", down)].into_iter();
        all.find_map(|(prefix, options)| {
            let mut given = WAITING.iter().filter_map(|name| Some((name, options.get(*name)?)));
            let (name, text) = given.find(|(_, text)| text.trim() != NONE)?;
            Some(Value { option: format!("--{prefix}{name}"), text: text.clone() })
        })
    }

    /// The first option and its value, for errors.
    fn first(&self) -> Option<Value> {
        let Self { both, up, down } = self;
        let mut all = [("", both), ("up-", up), ("down-", down)].into_iter();
        all.find_map(|(prefix, options)| {
            let (name, text) = options.first_key_value()?;
            Some(Value { option: format!("--{prefix}{name}"), text: text.clone() })
        })
    }
}

impl Change {
    fn read(raw: RawChange) -> Result<Self, SettingsError> {
        let RawChange { at, lasts, every, both, up, down } = raw;
        let options = Overlay { both, up, down };
        options.check()?;
        let time = |key: &str, text: Option<String>, least: Duration| {
            let Some(text) = text else { return Ok(None) };
            let value = Value { option: key.to_owned(), text };
            let time = value.time(&value.text, MAX_TIME)?;
            if time < least {
                return Err(value.error("it must be at least 1ms"));
            }
            Ok(Some(time))
        };
        let at = time("at", at, Duration::ZERO)?;
        let (lasts, every) = (time("for", lasts, MIN_TIME)?, time("every", every, MIN_TIME)?);
        let problem = match (at, lasts, every) {
            (None, _, None) => Some("it needs `at` or `every`"),
            (_, Some(lasts), Some(every)) if lasts >= every => {
                Some("the change lasts as long as its period")
            }
            _ => None,
        };
        if let Some(problem) = problem {
            let value = options.first();
            let value =
                value.unwrap_or(Value { option: "changes".to_owned(), text: String::new() });
            let hint = "for example `--at 10s:loss=100%` or `--every 60s:2s:loss=100%`";
            return Err(value.error(problem).with_hint(hint));
        }
        let at = Instant::ZERO + at.or(every).unwrap_or_default();
        Ok(Self { at, lasts, every, options })
    }

    /// A permanent change that is made once.
    fn is_single(&self) -> bool {
        self.lasts.is_none() && self.every.is_none()
    }

    /// The begin of the last change by `now`.
    fn begun(&self, now: Instant) -> Option<Instant> {
        let since = now.as_nanos().checked_sub(self.at.as_nanos())?;
        let periods = self.every.map_or(0, |every| since / every.as_nanos());
        Some(self.at + self.every.unwrap_or_default() * periods)
    }

    /// The begin of the change that is in force at `now`.
    fn active_since(&self, now: Instant) -> Option<Instant> {
        let begun = self.begun(now)?;
        self.lasts.is_none_or(|lasts| now < begun + lasts).then_some(begun)
    }

    /// The first begin or end after `now`.
    fn next(&self, now: Instant) -> Option<Instant> {
        let Some(begun) = self.begun(now) else { return Some(self.at) };
        let end = self.lasts.map(|lasts| begun + lasts).filter(|end| *end > now);
        end.or_else(|| self.every.map(|every| begun + every))
    }
}

/// Checks that a running link can make a change. `options` are those of the change, for errors.
fn changeable(
    before: &[LineConfig; 2],
    after: &[LineConfig; 2],
    options: &Overlay,
) -> Result<(), SettingsError> {
    refuse_idle(options.waiting(), after.each_ref())?;
    for (before, after) in before.iter().zip(after) {
        if let Err(error) = before.link.check_change(&after.link) {
            let value = options.first();
            let value =
                value.unwrap_or(Value { option: "changes".to_owned(), text: String::new() });
            let is_codel = |line: &LineConfig| matches!(line.link.discipline, Discipline::CoDel(_));
            let hint = if is_codel(before) || is_codel(after) {
                "start the link with `--codel`; a target of 599s switches it off"
            } else {
                "start another link with these options"
            };
            return Err(value.refused(error).with_hint(hint));
        }
    }
    Ok(())
}

/// The options of which a direction has one at most.
fn group(name: &str) -> &'static [&'static str] {
    EXCLUSIVE.into_iter().find(|group| group.contains(&name)).unwrap_or_default()
}

fn remove(options: &mut Texts, name: &str) {
    options.remove(name);
    for other in group(name) {
        options.remove(*other);
    }
}

pub(super) fn unreadable(json: &str, error: &serde_json::Error) -> SettingsError {
    SettingsError {
        option: "settings".to_owned(),
        value: json.to_owned(),
        problem: error.to_string(),
        hint: None,
    }
}

#[cfg(test)]
mod tests;
