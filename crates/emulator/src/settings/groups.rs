//! Groups of options, and the rate that follows from several of them.

use units::Rate;

use super::schedule::Texts;
use super::value::Value;
use super::{NONE, SettingsError};

/// The options of packets that wait for the line.
pub(super) const WAITING: [&str; 5] = ["queue", "red", "codel", "fq-codel", "balanced"];

pub(super) const DISCIPLINES: [&str; 4] = ["red", "codel", "fq-codel", "balanced"];

pub(super) const RATES: [&str; 2] = ["rate", "rate-trace"];

pub(super) const JITTERS: [&str; 2] = ["jitter", "jitter-reorder"];

pub(super) const LOSSES: [&str; 8] = [
    "loss",
    "loss-per-byte",
    "loss-linear",
    "loss-burst",
    "loss-gilbert",
    "loss-mask",
    "loss-mask-all",
    "loss-file",
];

/// The groups of which a direction has one option at most. A new one replaces any other of its
/// group.
pub const EXCLUSIVE: [&[&str]; 4] = [&RATES, &LOSSES, &JITTERS, &DISCIPLINES];

/// The mean rate at which a direction with these options sends: that of its line, which may be a
/// trace, or of its shaper if that is lower. `None` if it has neither, or if one is invalid.
pub fn mean_rate(options: &Texts) -> Option<Rate> {
    let rates = [
        rate_of(options, "rate", Value::rate),
        rate_of(options, "rate-trace", |value| Ok(value.rate_trace()?.mean_rate())),
        rate_of(options, "shape", |value| Ok(value.token_bucket()?.rate())),
    ];
    let rates: Result<Vec<_>, _> = rates.into_iter().collect();
    rates.ok()?.into_iter().flatten().min()
}

fn rate_of(
    options: &Texts,
    name: &str,
    read: impl Fn(&Value) -> Result<Rate, SettingsError>,
) -> Result<Option<Rate>, SettingsError> {
    let text = options.get(name).map(|text| text.trim()).filter(|&text| text != NONE);
    text.map(|text| read(&Value { option: format!("--{name}"), text: text.to_owned() })).transpose()
}
