//! Links of a scenario: rate, delay, buffer and loss, as written.

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
    /// How routes, workloads and results call it.
    pub name: String,
    /// The node it starts at.
    pub from: String,
    /// The node it ends at.
    pub to: String,
    /// Absent: infinitely fast.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional")]
    pub rate: Option<Rate>,
    /// Propagation delay.
    #[serde(default, with = "text")]
    pub delay: Duration,
    /// Other delays, from then on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delay_changes: Vec<DelayChange>,
    /// Absent: packets that have left the line keep their order, but for a delay that becomes
    /// shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Absent: packets go on the line as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// Absent: unlimited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
}

/// A path of another delay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { at = \"5s\", delay = \"80ms\" }")]
pub struct DelayChange {
    /// What leaves the line then or later takes it.
    #[serde(with = "text")]
    pub at: Duration,
    /// Its propagation delay.
    #[serde(with = "text")]
    pub delay: Duration,
}

/// Packets that others overtake.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table such as { probability = 0.01, by = \"20ms\" }")]
pub struct Reorder {
    /// How likely a packet is to be late.
    pub probability: f64,
    /// By how much.
    #[serde(with = "text")]
    pub by: Duration,
}

/// In which cells a line sends packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// ATM's, of 53 bytes, by the adaptation layer 5.
    Aal5,
}

/// How much may wait for a link: `bytes`, `packets`, `bytes` in chunks of `chunk`, or `cells`.
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
    /// The unit in which bytes are allotted.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub chunk: Option<u64>,
    /// Whether the packet being transmitted takes up room.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub counts_in_service: bool,
    /// Drops or marks before the buffer is full; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// One loss at a time for each flow; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub balanced: Option<Balanced>,
    /// Drops or marks as packets leave; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
    /// What a port does with packets that it cannot store whole; absent: each cell is on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<Discard>,
}

/// What a link loses, beyond a full buffer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { kind = \"packet\", probability = 0.01 }"
)]
pub struct Loss {
    /// The model.
    pub kind: LossKind,
    /// `packet`, `byte`: of each; `linear`: of a packet of size `at`; `burst`: the mean over all
    /// packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<f64>,
    /// `linear`: the size that is lost with `probability`.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "text::optional_bytes")]
    pub at: Option<u64>,
    /// `burst`: the mean number of packets lost in a row.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<f64>,
    /// `mask`: the fate of each data packet in turn, `1` for lost, e.g. `1,0,0,1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drops: Option<String>,
}

/// Which packets a link loses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LossKind {
    /// Each packet alike.
    Packet,
    /// Each byte alike, so longer packets more often.
    Byte,
    /// In proportion to the packet's size.
    Linear,
    /// Several in a row.
    Burst,
    /// Listed data packets.
    Mask,
}

impl Link {
    /// The link these keys describe.
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
        // Nothing ever waits for an infinitely fast line.
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
    /// A switch's port.
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
                // A chunk beyond 4 GiB exceeds any packet, so it may as well be one of 4 GiB.
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

    /// The fates listed in `drops`, `true` for lost.
    fn mask(&self, path: &KeyPath) -> Result<Vec<bool>, ScenarioError> {
        let drops = needed(self.drops.as_deref(), path, "drops", self.kind.name())?;
        let fate = |(index, text): (usize, &str)| match text.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            other => {
                let problem = format!("`{other}` at position {} is neither 0 nor 1", index + 1);
                let hint = "one for each data packet in order, 1 for lost, e.g. `1,0,0,1`";
                Err(path.key("drops").error(&problem).with_hint(hint))
            }
        };
        drops.split(',').enumerate().map(fate).collect()
    }
}

impl LossKind {
    /// As the scenario spells it.
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
