//! Links of a scenario, as written: rate, delay, buffer and loss.

use ::link::atm::Framing;
use ::link::{Burst, DelayChanges, Discipline, Linear, LinkConfig, LossModel, Probability};
use serde::{Deserialize, Serialize};
use units::{Duration, Instant, Rate};

use super::discard::{Balanced, CoDel, Discard};
use super::keys::at;
use super::red::Red;
use super::text;
use super::{KeyPath, ScenarioError, foreign, needed};

/// A link in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a link, a table of keys")]
pub struct Link {
    /// The link's name in routes, workloads and results.
    pub name: String,
    /// The node at which it starts.
    pub from: String,
    /// The node at which it ends.
    pub to: String,
    /// The rate; absent: infinitely fast.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub rate: Option<Rate>,
    /// Propagation delay.
    #[serde(default, with = "text")]
    pub delay: Duration,
    /// Changes of the delay during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_changes: Vec<DelayChange>,
    /// Random additional delay of some packets; absent: only a shorter delay can reorder packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Transmission in cells; absent: packets are sent unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// The buffer; absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// The loss model; absent: no loss.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
}

/// A change of a link's delay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { at = \"5s\", delay = \"80ms\" }")]
pub struct DelayChange {
    /// Packets that leave the line at this time or later take the new delay.
    #[serde(with = "text")]
    pub at: Duration,
    /// The new propagation delay.
    #[serde(with = "text")]
    pub delay: Duration,
}

/// Random additional delay that lets other packets overtake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { probability = 0.01, by = \"20ms\" }")]
pub struct Reorder {
    /// The probability that a packet takes the additional delay.
    pub probability: f64,
    /// The additional delay.
    #[serde(with = "text")]
    pub by: Duration,
}

/// The cell format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// ATM cells of 53 bytes, with adaptation layer 5.
    Aal5,
}

/// The size of a link's buffer: `bytes`, `packets`, `bytes` in chunks of `chunk`, or `cells`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { bytes = \"150kB\" }, { packets = 100 } or { cells = 1200 }"
)]
pub struct Buffer {
    /// A limit in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub bytes: Option<u64>,
    /// A limit in packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packets: Option<u32>,
    /// A limit in cells: the link is a switch's port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<u32>,
    /// The unit in which bytes are allocated.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub chunk: Option<u64>,
    /// The packet in transmission occupies the buffer.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub counts_in_service: bool,
    /// Random early detection; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// Balanced packet discard; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced: Option<Balanced>,
    /// Controlled delay; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
    /// The discard rule of a port; absent: each cell is accepted independently.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<Discard>,
}

/// Losses of a link that are independent of its buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { kind = \"packet\", probability = 0.01 }"
)]
pub struct Loss {
    /// The loss model.
    pub kind: LossKind,
    /// The loss probability. `packet`, `byte`: of each; `linear`: of a packet of size `at`;
    /// `burst`: the mean over all packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// `linear`: the size of a packet that is lost with `probability`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub at: Option<u64>,
    /// `burst`: the mean number of packets lost in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<f64>,
    /// `mask`: a list with an entry for each data packet in order, `1` for lost, e.g. `1,0,0,1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<String>,
}

/// A loss model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// Every packet has the same loss probability.
    Packet,
    /// Every byte has the same loss probability, so longer packets are lost more often.
    Byte,
    /// The loss probability is proportional to the packet's size.
    Linear,
    /// Packets are lost in runs.
    Burst,
    /// Listed data packets are lost.
    Mask,
}

impl Link {
    /// The configuration of the link.
    pub(crate) fn config(&self, path: &KeyPath) -> Result<LinkConfig, ScenarioError> {
        let mut config = LinkConfig { rate: self.rate, delay: self.delay, ..LinkConfig::default() };
        if self.cells.is_some() {
            path.key("cells").require(self.rate.is_some(), "needs a link with a `rate`")?;
            config.framing = Framing::Aal5;
        }
        if let Some(buffer) = &self.buffer {
            self.apply(buffer, &mut config, path)?;
        }
        if let Some(loss) = &self.loss {
            config.loss = loss.model(&path.key("loss"))?;
        }
        let change = |change: &DelayChange| ::link::DelayChange {
            at: Instant::ZERO + change.at,
            delay: change.delay,
        };
        let changes = self.delay_changes.iter().map(change).collect();
        config.delay_changes = at(path, "delay_changes", DelayChanges::new(changes))?;
        let reorder = self.reorder.as_ref();
        config.reorder = reorder.map(|reorder| reorder.model(&path.key("reorder"))).transpose()?;
        Ok(config)
    }

    fn apply(
        &self,
        buffer: &Buffer,
        config: &mut LinkConfig,
        path: &KeyPath,
    ) -> Result<(), ScenarioError> {
        let here = path.key("buffer");
        // No packet ever waits for an infinitely fast line.
        let waits =
            |key: &str| here.key(key).require(self.rate.is_some(), "needs a link with a `rate`");
        if let Some(cells) = buffer.cells {
            waits("cells")?;
            config.port = Some(buffer.port(cells, &here)?);
            return Ok(());
        }
        config.buffer = buffer.model(&here)?;
        config.counts_in_service = buffer.counts_in_service;
        if let Some(red) = &buffer.red {
            waits("red")?;
            config.discipline = Discipline::Red(red.model(&here.key("red"))?);
        }
        if let Some(balanced) = &buffer.balanced {
            waits("balanced")?;
            config.discipline = Discipline::Balanced(balanced.model(&here.key("balanced"))?);
        }
        if let Some(codel) = &buffer.codel {
            waits("codel")?;
            config.discipline = Discipline::CoDel(codel.model(&here.key("codel"))?);
        }
        Ok(())
    }
}

impl Buffer {
    /// The configuration of a switch's port.
    fn port(&self, cells: u32, path: &KeyPath) -> Result<::link::atm::PortConfig, ScenarioError> {
        let others = [
            ("bytes", self.bytes.is_some()),
            ("packets", self.packets.is_some()),
            ("chunk", self.chunk.is_some()),
            ("counts_in_service", !self.counts_in_service),
            ("red", self.red.is_some()),
            ("balanced", self.balanced.is_some()),
            ("codel", self.codel.is_some()),
        ];
        if let Some((key, _)) = others.iter().find(|(_, given)| *given) {
            let error = path.key(key).error("does not go with `cells`");
            return Err(error.with_hint("a port has `cells` and `discard`"));
        }
        let (discard, circuit) = match &self.discard {
            Some(discard) => discard.model(&path.key("discard"))?,
            None => (::link::atm::Discard::Plain, ::link::atm::Circuit::Flow),
        };
        at(path, "cells", ::link::atm::PortConfig::new(cells, discard, circuit))
    }

    fn model(&self, path: &KeyPath) -> Result<::link::Buffer, ScenarioError> {
        let alone = "goes with `cells`, not with `bytes` or `packets`";
        path.key("discard").require(self.discard.is_none(), alone)?;
        let disciplines = [
            ("red", self.red.is_some()),
            ("balanced", self.balanced.is_some()),
            ("codel", self.codel.is_some()),
        ];
        let mut given = disciplines.iter().filter(|(_, given)| *given);
        if let (Some((first, _)), Some((second, _))) = (given.next(), given.next()) {
            let problem = format!("there is `{first}` as well; only one can decide");
            return Err(path.key(second).error(&problem));
        }
        match (self.bytes, self.packets, self.chunk) {
            (None, None, _) => Err(path.error("needs `bytes`, `packets` or `cells`")),
            (Some(_), Some(_), _) => {
                Err(path.error("has `bytes` and `packets`; only one can be the limit"))
            }
            (None, Some(_), Some(_)) => {
                Err(path.key("chunk").error("goes with `bytes`, not with `packets`"))
            }
            (None, Some(packets), None) => at(path, "packets", ::link::Buffer::packets(packets)),
            (Some(bytes), None, None) => at(path, "bytes", ::link::Buffer::bytes(bytes)),
            (Some(bytes), None, Some(chunk)) => {
                // A chunk above 4 GiB exceeds any packet, so 4 GiB has the same effect.
                let chunk = u32::try_from(chunk).unwrap_or(u32::MAX);
                at(path, "chunk", ::link::Buffer::chunks(bytes, chunk))
            }
        }
    }
}

impl Reorder {
    fn model(&self, path: &KeyPath) -> Result<::link::Reorder, ScenarioError> {
        let probability = at(path, "probability", Probability::new(self.probability))?;
        path.key("by").require(!self.by.is_zero(), "must be above zero")?;
        Ok(::link::Reorder { probability, by: self.by })
    }
}

impl Loss {
    fn model(&self, path: &KeyPath) -> Result<LossModel, ScenarioError> {
        self.refuse_foreign(path)?;
        let kind = self.kind.name();
        let probability = || {
            let value = needed(self.probability, path, "probability", kind)?;
            at(path, "probability", Probability::new(value))
        };
        match self.kind {
            LossKind::Packet => probability().map(LossModel::PerPacket),
            LossKind::Byte => probability().map(LossModel::PerByte),
            LossKind::Linear => {
                let (probability, size) = (probability()?, needed(self.at, path, "at", kind)?);
                let size =
                    u32::try_from(size).map_err(|_| path.key("at").error("must be below 4 GiB"))?;
                at(path, "at", Linear::new(probability, size)).map(LossModel::Linear)
            }
            LossKind::Burst => {
                let (probability, run) = (probability()?, needed(self.run, path, "run", kind)?);
                at(path, "run", Burst::new(probability, run)).map(LossModel::Burst)
            }
            LossKind::Mask => self.mask(path).map(LossModel::Mask),
        }
    }

    fn refuse_foreign(&self, path: &KeyPath) -> Result<(), ScenarioError> {
        let (probability, at) =
            (("probability", self.probability.is_some()), ("at", self.at.is_some()));
        let (run, drops) = (("run", self.run.is_some()), ("drops", self.drops.is_some()));
        let keys: &[_] = match self.kind {
            LossKind::Packet | LossKind::Byte => &[at, run, drops],
            LossKind::Linear => &[run, drops],
            LossKind::Burst => &[at, drops],
            LossKind::Mask => &[probability, at, run],
        };
        foreign(path, self.kind.name(), keys)
    }

    /// The entries of `drops`, `true` for lost.
    fn mask(&self, path: &KeyPath) -> Result<Vec<bool>, ScenarioError> {
        let drops = needed(self.drops.as_deref(), path, "drops", self.kind.name())?;
        let entry = |(index, text): (usize, &str)| match text.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            other => {
                let problem = format!("`{other}` at position {} is neither 0 nor 1", index + 1);
                let hint = "one for each data packet in order, 1 for lost, e.g. `1,0,0,1`";
                Err(path.key("drops").error(&problem).with_hint(hint))
            }
        };
        drops.split(',').enumerate().map(entry).collect()
    }
}

impl LossKind {
    /// The model's name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Packet => "packet",
            Self::Byte => "byte",
            Self::Linear => "linear",
            Self::Burst => "burst",
            Self::Mask => "mask",
        }
    }
}

pub(super) fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_yes(value: &bool) -> bool {
    *value
}
