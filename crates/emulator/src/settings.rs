//! The settings of a run: quantities as users write them, with the names of command-line options.
//!
//! Each direction has all options. A value under `both` applies to each direction without a value
//! of its own. An error names the option as it was given.

mod groups;
mod schedule;
mod value;

use link::atm::Framing;
use link::{Buffer, Burst, DelayChanges, Discipline, Linear, LinkConfig, LossModel};
use serde::Deserialize;
use thiserror::Error;
use units::Duration;

use crate::line::LineConfig;

use groups::{DISCIPLINES, JITTERS, LOSSES, RATES, WAITING};
pub use groups::{EXCLUSIVE, mean_rate};
pub use schedule::{Overlay, Schedule, Texts};
use schedule::{RawChange, unreadable};
use value::Value;

/// The settings of both directions, and common ones. A value of this type is valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The direction from the command to the outside.
    pub up: LineConfig,
    /// The direction to the command.
    pub down: LineConfig,
    /// The MTU of the devices, in bytes.
    pub mtu: u32,
    /// The random seed.
    pub seed: u64,
    /// The time for which the emulator busy-waits before a packet is due.
    pub spin: Duration,
    /// The devices use segmentation offload: the kernel may pass and accept up to 64 kB of a TCP
    /// stream at once. The link always works on packets.
    pub offload: bool,
}

/// The links of a scenario with which the directions begin. Options replace parts of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Templates {
    /// The direction from the command to the outside.
    pub up: Option<Template>,
    /// The direction to the command.
    pub down: Option<Template>,
}

/// A link of a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    /// The option that names the link, for errors.
    pub option: String,
    /// The option's value, for errors.
    pub value: String,
    /// The link.
    pub link: LinkConfig,
}

/// An invalid setting.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{option} {value}`: {problem}")]
pub struct SettingsError {
    option: String,
    value: String,
    problem: String,
    hint: Option<String>,
}

impl SettingsError {
    /// Advice on how to correct the error.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    fn with_hint(self, hint: &str) -> Self {
        Self { hint: Some(hint.to_owned()), ..self }
    }
}

/// The settings as written, in JSON.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RawSettings {
    both: Options,
    up: Options,
    down: Options,
    mtu: Option<u32>,
    seed: Option<u64>,
    spin: Option<String>,
    offload: Option<bool>,
    changes: Vec<RawChange>,
}

impl RawSettings {
    fn from_json(json: &str) -> Result<Self, SettingsError> {
        serde_json::from_str(json).map_err(|e| unreadable(json, &e))
    }
}

/// The options of a direction, without their dashes. `none` removes the value under `both`.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
struct Options {
    rate: Option<String>,
    delay: Option<String>,
    queue: Option<String>,
    red: Option<String>,
    codel: Option<String>,
    fq_codel: Option<String>,
    balanced: Option<String>,
    loss: Option<String>,
    loss_per_byte: Option<String>,
    loss_linear: Option<String>,
    loss_burst: Option<String>,
    loss_gilbert: Option<String>,
    loss_mask: Option<String>,
    loss_mask_all: Option<String>,
    loss_file: Option<String>,
    jitter: Option<String>,
    rate_trace: Option<String>,
    police: Option<String>,
    shape: Option<String>,
    jitter_reorder: Option<String>,
    duplicate: Option<String>,
    corrupt: Option<String>,
    path_mtu: Option<String>,
    reorder: Option<String>,
}

const NONE: &str = "none";

/// The maximum delay of a packet. A longer one in a real-time test is most likely a wrong unit.
const MAX_DELAY: Duration = Duration::from_secs(600);
/// The maximum time of busy-waiting before a packet is due. A longer time would occupy a core
/// permanently.
const MAX_SPIN: Duration = Duration::from_secs(1);

impl Settings {
    /// The MTU of Ethernet, in bytes.
    pub const MTU: u32 = 1500;
    /// The minimum MTU, in bytes: IPv6 requires it (RFC 8200 §5).
    pub const MIN_MTU: u32 = 1280;
    /// The maximum MTU of a TUN device, in bytes.
    pub const MAX_MTU: u32 = 65_535;

    /// Reads settings from JSON.
    ///
    /// `both`, `up` and `down` contain options by name without dashes, with texts as values. `mtu`
    /// and `seed` are numbers, `spin` is a text, and `offload` is a Boolean with the default true.
    /// A [`Schedule`] reads `changes` as well.
    ///
    /// # Errors
    /// If an option is unknown or has an invalid value.
    pub fn from_json(json: &str) -> Result<Self, SettingsError> {
        Self::from_json_with(json, &Templates::default())
    }

    /// Reads settings from JSON as [`from_json`](Self::from_json) does. A direction with a template
    /// has the template's value for each option that is not set.
    ///
    /// # Errors
    /// If an option is unknown or has an invalid value, or if a template sends cells.
    pub fn from_json_with(json: &str, templates: &Templates) -> Result<Self, SettingsError> {
        let raw = RawSettings::from_json(json)?;
        let settings = Self::resolve(&raw, templates)?;
        for direction in [("up", &raw.up), ("down", &raw.down)] {
            let (name, own) = direction;
            let options = Direction { name, own, both: &raw.both, template: None };
            let waiting = WAITING.into_iter().find_map(|name| options.value(name));
            refuse_idle(waiting, [&settings.up, &settings.down])?;
        }
        Ok(settings)
    }

    /// Checks the settings and applies them to the templates.
    fn resolve(raw: &RawSettings, templates: &Templates) -> Result<Self, SettingsError> {
        let mtu = raw.mtu.unwrap_or(Self::MTU);
        if !(Self::MIN_MTU..=Self::MAX_MTU).contains(&mtu) {
            let value = Value { option: "--mtu".to_owned(), text: mtu.to_string() };
            return Err(value.error(&format!("it must be {} to {}", Self::MIN_MTU, Self::MAX_MTU)));
        }
        let [up, down] = [("up", &raw.up, &templates.up), ("down", &raw.down, &templates.down)]
            .map(|(name, own, template)| Direction {
                name,
                own,
                both: &raw.both,
                template: template.as_ref(),
            });
        let lines = [up.line()?, down.line()?];
        for (options, line) in [(&up, &lines[0]), (&down, &lines[1])] {
            options.check_buckets(&line.link, mtu)?;
            let queue = options.value("queue").or_else(|| options.template_value());
            if let Some(value) = queue.filter(|_| !line.link.buffer.holds(mtu)) {
                let problem =
                    format!("it cannot hold a packet of {mtu} bytes, and would drop each of them");
                return Err(value
                    .error(&problem)
                    .with_hint("make it larger, for example `--queue 100packets`"));
            }
        }
        let spin = raw.spin.clone().map(|text| Value { option: "--spin".to_owned(), text });
        let spin =
            spin.map(|value| value.time(&value.text, MAX_SPIN)).transpose()?.unwrap_or_default();
        let seed = raw.seed.unwrap_or(1);
        let [up, down] = lines;
        Ok(Self { up, down, mtu, seed, spin, offload: raw.offload.unwrap_or(true) })
    }
}

/// One direction as written.
struct Direction<'a> {
    name: &'a str,
    own: &'a Options,
    both: &'a Options,
    template: Option<&'a Template>,
}

impl Options {
    fn get(&self, name: &str) -> Option<&String> {
        let value = match name {
            "rate" => &self.rate,
            "delay" => &self.delay,
            "queue" => &self.queue,
            "red" => &self.red,
            "codel" => &self.codel,
            "fq-codel" => &self.fq_codel,
            "balanced" => &self.balanced,
            "loss" => &self.loss,
            "loss-per-byte" => &self.loss_per_byte,
            "loss-linear" => &self.loss_linear,
            "loss-burst" => &self.loss_burst,
            "loss-gilbert" => &self.loss_gilbert,
            "loss-mask" => &self.loss_mask,
            "loss-mask-all" => &self.loss_mask_all,
            "loss-file" => &self.loss_file,
            "jitter" => &self.jitter,
            "rate-trace" => &self.rate_trace,
            "police" => &self.police,
            "shape" => &self.shape,
            "jitter-reorder" => &self.jitter_reorder,
            "duplicate" => &self.duplicate,
            "corrupt" => &self.corrupt,
            "path-mtu" => &self.path_mtu,
            "reorder" => &self.reorder,
            _ => return None,
        };
        value.as_ref()
    }
}

/// Refuses an option of packets that wait, if neither direction has a rate.
fn refuse_idle(waiting: Option<Value>, lines: [&LineConfig; 2]) -> Result<(), SettingsError> {
    let idle = lines.iter().all(|line| !line.link.has_rate());
    match waiting.filter(|_| idle) {
        Some(value) => {
            let error = value.error("packets never wait where there is no rate");
            Err(error.with_hint("add `--rate`, for example `--rate 10mbit`"))
        }
        None => Ok(()),
    }
}

impl Direction<'_> {
    fn line(&self) -> Result<LineConfig, SettingsError> {
        let mut link = self.template_link()?;
        self.apply(&mut link)?;
        for later in link.changes.configs_mut() {
            self.apply(later)?;
        }
        let chance =
            |name| Ok(self.read(name, |value| value.probability(&value.text))?.unwrap_or_default());
        Ok(LineConfig {
            link,
            duplicate: chance("duplicate")?,
            corrupt: chance("corrupt")?,
            path_mtu: self.read("path-mtu", Value::path_mtu)?,
        })
    }

    /// Replaces parts of a link by the options that are set.
    fn apply(&self, link: &mut LinkConfig) -> Result<(), SettingsError> {
        self.set_rate(link)?;
        if self.is_set(&["delay"]) {
            let delay = self.read("delay", |value| value.time(&value.text, MAX_DELAY))?;
            link.delay = delay.unwrap_or_default();
            link.delay_changes = DelayChanges::default();
        }
        if self.is_set(&["queue"]) {
            link.buffer = self.read("queue", Value::buffer)?.unwrap_or(Buffer::Unlimited);
            link.counts_in_service = true;
        }
        if self.is_set(&DISCIPLINES) {
            link.discipline = self.discipline(link.buffer)?;
        }
        if self.is_set(&LOSSES) {
            link.loss = self.loss()?;
        }
        if self.is_set(&JITTERS) {
            let hint = "`--jitter-reorder` has the same values, and lets packets overtake";
            link.jitter = match self.only_one(&JITTERS, hint)? {
                Some((kind, value)) => {
                    Some(value.jitter()?.with_reordering(kind == "jitter-reorder"))
                }
                None => None,
            };
        }
        if self.is_set(&["reorder"]) {
            link.reorder = self.read("reorder", Value::reorder)?;
        }
        Ok(())
    }

    /// Sets the rate of the line, the policer and the shaper.
    fn set_rate(&self, link: &mut LinkConfig) -> Result<(), SettingsError> {
        if self.is_set(&RATES) {
            let hint = "a trace has the rates; omit `--rate`, or give it the value `none`";
            (link.rate, link.rate_trace) = match self.only_one(&RATES, hint)? {
                Some(("rate", value)) => (Some(value.rate()?), None),
                Some((_, value)) => (None, Some(value.rate_trace()?)),
                None => (None, None),
            };
        }
        if self.is_set(&["police"]) {
            link.police = self.read("police", Value::token_bucket)?;
        }
        if self.is_set(&["shape"]) {
            link.shape = self.read("shape", Value::token_bucket)?;
        }
        Ok(())
    }

    /// Returns an error if a packet of `mtu` bytes is longer than a token bucket.
    fn check_buckets(&self, link: &LinkConfig, mtu: u32) -> Result<(), SettingsError> {
        for (name, bucket) in [("police", link.police), ("shape", link.shape)] {
            let value = self.value(name).or_else(|| self.template_value());
            let too_small = bucket.is_some_and(|bucket| bucket.burst() < mtu);
            if let Some(value) = value.filter(|_| too_small) {
                let problem = format!("the burst is shorter than a packet of {mtu} bytes");
                return Err(value.error(&problem).with_hint("make it larger, for example `15kB`"));
            }
        }
        Ok(())
    }

    /// The link of the template, or one without effect.
    fn template_link(&self) -> Result<LinkConfig, SettingsError> {
        let Some(template) = self.template else { return Ok(LinkConfig::default()) };
        let link = &template.link;
        let cells = link.port.is_some() || link.framing != Framing::Packet;
        let refused = |problem: &str| self.template_value().map(|value| value.error(problem));
        if let Some(error) = cells.then(|| refused("the link sends cells")).flatten() {
            return Err(error.with_hint("a real link carries packets; take a link without `cells`"));
        }
        let too_long = link.delay > MAX_DELAY;
        let problem = format!("the link delays packets by {}, {MAX_DELAY} at most", link.delay);
        if let Some(error) = too_long.then(|| refused(&problem)).flatten() {
            return Err(error.with_hint("add `--delay`, for example `--delay 20ms`"));
        }
        // In the scenario a port may follow, which needs this. Here none follows.
        Ok(LinkConfig { cut_through: false, ..link.clone() })
    }

    /// The name of the template, as an option and its value.
    fn template_value(&self) -> Option<Value> {
        let template = self.template?;
        Some(Value { option: template.option.clone(), text: template.value.clone() })
    }

    /// Returns true if one of the options is set for this direction, `none` included.
    fn is_set(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.own.get(name).or_else(|| self.both.get(name)).is_some())
    }

    /// The value of an option; the direction's own takes precedence.
    fn value(&self, name: &str) -> Option<Value> {
        let own = self.own.get(name).map(|text| (format!("--{}-{name}", self.name), text));
        let (option, text) =
            own.or_else(|| self.both.get(name).map(|text| (format!("--{name}"), text)))?;
        (text.trim() != NONE).then(|| Value { option, text: text.trim().to_owned() })
    }

    fn read<T>(
        &self,
        name: &str,
        read: impl Fn(&Value) -> Result<T, SettingsError>,
    ) -> Result<Option<T>, SettingsError> {
        self.value(name).map(|value| read(&value)).transpose()
    }

    /// The discipline. A direction with a discipline of its own ignores any under `both`.
    fn discipline(&self, buffer: Buffer) -> Result<Discipline, SettingsError> {
        let Some((kind, value)) =
            self.only_one(&DISCIPLINES, "one of them decides what the queue drops")?
        else {
            return Ok(Discipline::DropTail);
        };
        match kind {
            "red" => value.red().map(Discipline::Red),
            "codel" => value.codel().map(Discipline::CoDel),
            "fq-codel" => value.fq_codel().map(Discipline::FqCoDel),
            _ => {
                let balanced = value.balanced()?;
                if buffer == Buffer::Unlimited {
                    let error = value.error("a queue without an end is never full enough for it");
                    return Err(error.with_hint("add `--queue`, for example `--queue 100packets`"));
                }
                Ok(Discipline::Balanced(balanced))
            }
        }
    }

    /// The only one of these options that is set, with its value.
    fn only_one(
        &self,
        names: &[&'static str],
        hint: &str,
    ) -> Result<Option<(&'static str, Value)>, SettingsError> {
        let has_own = names.iter().any(|name| self.own.get(name).is_some());
        let here = if has_own { self.own } else { self.both };
        let mut given = names.iter().copied().filter(|name| here.get(name).is_some());
        let Some((kind, value)) = given.next().and_then(|kind| Some((kind, self.value(kind)?)))
        else {
            return Ok(None);
        };
        match given.next() {
            None => Ok(Some((kind, value))),
            Some(other) => {
                Err(value.error(&format!("there is `--{other}` as well")).with_hint(hint))
            }
        }
    }

    /// The loss model. A direction with a loss option of its own ignores any under `both`.
    fn loss(&self) -> Result<LossModel, SettingsError> {
        let hint = "a direction has one kind of loss; run one link inside another for two";
        let Some((kind, value)) = self.only_one(&LOSSES, hint)? else { return Ok(LossModel::None) };
        match kind {
            "loss" => Ok(LossModel::PerPacket(value.probability(&value.text)?)),
            "loss-per-byte" => Ok(LossModel::PerByte(value.probability(&value.text)?)),
            "loss-linear" => {
                let (probability, size) =
                    value.pair('@', "a probability and a size, such as `0.01@1500B`")?;
                let linear =
                    Linear::new(value.probability(probability)?, value.small(value.bytes(size)?)?);
                Ok(LossModel::Linear(linear.map_err(|e| value.refused(e))?))
            }
            "loss-burst" => {
                let (probability, run) = value
                    .pair(',', "a mean loss and a mean run of lost packets, such as `0.01,3`")?;
                let run = run
                    .trim()
                    .parse()
                    .map_err(|_| value.error(&format!("`{run}` is not a number")))?;
                let burst = Burst::new(value.probability(probability)?, run);
                Ok(LossModel::Burst(burst.map_err(|e| value.refused(e))?))
            }
            "loss-file" => value.loss_trace().map(LossModel::Trace),
            "loss-gilbert" => value.gilbert().map(LossModel::GilbertElliott),
            _ => value.masks(kind == "loss-mask"),
        }
    }
}

#[cfg(test)]
mod tests;
