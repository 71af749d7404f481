//! Links of a scenario, as written: rate, delay and buffer.

use ::link::atm::Framing;
use ::link::{DelayChanges, Discipline, LinkChanges, LinkConfig, Probability};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Instant, Rate};

use super::discard::{Balanced, CoDel, Discard, FqCoDel};
use super::jitter::Jitter;
use super::keys::at;
use super::loss::Loss;
use super::rates::{RateTrace, TokenBucket};
use super::red::Red;
use super::schema::Share;
use super::text::{Size, Text, Time};
use super::{KeyPath, ScenarioError};

/// A link in one direction: a buffer, a rate, a delay and, optionally, loss.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a link, a table of keys")]
pub struct Link {
    /// Name of the link in results and in other tables.
    pub name: String,
    /// Node at the start of the link. Nodes are defined by links.
    pub from: String,
    /// Node at the end of the link.
    pub to: String,
    /// Transmission rate in bits per second, headers included.
    ///
    /// Absent: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Text<Rate>>,
    /// Course of the rate over time, instead of `rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_trace: Option<RateTrace>,
    /// Token bucket in front of the buffer, which drops the packets that exceed it.
    ///
    /// Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub police: Option<TokenBucket>,
    /// Token bucket behind the buffer, which delays the packets that exceed it.
    ///
    /// Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<TokenBucket>,
    /// Propagation delay.
    #[serde(default)]
    pub delay: Time,
    /// Changes of the link during the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(!skip_serializing_if)]
    pub changes: Vec<LinkChange>,
    /// Random variation of the delay of every packet.
    ///
    /// Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Additional delay of some packets. A link in front of a port can have neither this key nor
    /// `jitter` or `changes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Send packets as AAL5 frames, in cells of 53 bytes with 48 bytes of payload each. Sizes in
    /// results remain those of the packets.
    ///
    /// Absent: packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<Cells>,
    /// Buffer in front of the link.
    ///
    /// Absent: unlimited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// Loss on the link, in addition to drops at the buffer.
    ///
    /// Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
}

/// A change of a link, for example by a change of route. Keys that are absent stay as they are.
///
/// No packet is dropped by a change. Packets in the queue are sent at the new rate, after the one
/// in transmission. Packets that leave the link after the change have the new delay. If it is
/// shorter, they can overtake earlier ones. CoDel can neither be added nor removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { at = \"5s\", delay = \"80ms\" }")]
pub struct LinkChange {
    /// Time of the change. Changes are listed in the order of time.
    pub at: Time,
    /// The new propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Time>,
    /// The new transmission rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Text<Rate>>,
    /// The new buffer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<Buffer>,
    /// The new loss. A packet loss of probability 0 ends losses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Loss>,
}

/// Additional delay of some packets, so that later packets overtake them.
///
/// Each packet is delayed with the same probability, independently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { probability = 0.01, by = \"20ms\" }")]
pub struct Reorder {
    /// Probability that a packet is delayed, 0 to 1.
    #[schemars(with = "Share")]
    pub probability: f64,
    /// The additional delay.
    pub by: Time,
}

/// The cell format of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cells {
    /// ATM cells of 53 bytes, with adaptation layer 5.
    Aal5,
}

/// The buffer in front of a link: a queue of packets, or a port of ATM cells.
///
/// The capacity of a queue is counted in bytes, in packets or in chunks of bytes. A port shares its
/// buffer between the cells of all circuits, sends cells in their order of arrival, and discards
/// some (`discard`). The cells of a frame arrive at the rate of the link in front of the port.
/// Behind the port, frames are reassembled. A frame without its last cell is lost together with
/// the next frame of its circuit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a table such as { bytes = \"150kB\" }, { packets = 100 } or { cells = 1200 }"
)]
pub struct Buffer {
    /// Capacity of the buffer in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Size>,
    /// Capacity of the buffer in packets, instead of `bytes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<u32>,
    /// Capacity of a port in cells of 53 bytes, including the cell in transmission.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cells: Option<u32>,
    /// With `bytes`: memory is allocated in chunks of this size, so that a packet occupies whole
    /// chunks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chunk: Option<Size>,
    /// Whether the packet in transmission occupies the buffer. In ns-2 it does not count towards
    /// the queue limit.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    #[schemars(!skip_serializing_if)]
    pub counts_in_service: bool,
    /// Random early detection: drops or marks packets before the buffer is full.
    ///
    /// Absent: drop-tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub red: Option<Red>,
    /// Balanced packet discard instead of `red`: a higher threshold for a flow after a drop.
    ///
    /// Absent: drop-tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub balanced: Option<Balanced>,
    /// Controlled delay instead of `red`: drops packets at the head of the queue when delay
    /// persists.
    ///
    /// Absent: drop-tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub codel: Option<CoDel>,
    /// A queue with controlled delay for each flow, instead of `red`.
    ///
    /// Absent: drop-tail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fq_codel: Option<FqCoDel>,
    /// With `cells`: the discard policy.
    ///
    /// Absent: `{ policy = "plain" }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discard: Option<Discard>,
}

impl Link {
    /// The configuration of the link.
    pub(crate) fn config(&self, path: &KeyPath) -> Result<LinkConfig, ScenarioError> {
        let mut config = LinkConfig {
            rate: self.rate.map(|rate| rate.0),
            delay: self.delay.0,
            ..LinkConfig::default()
        };
        self.set_rates(&mut config, path)?;
        if self.cells.is_some() {
            path.key("cells").require(self.rate.is_some(), "needs a link with a `rate`")?;
            config.framing = Framing::Aal5;
        }
        if let Some(buffer) = &self.buffer {
            Self::apply(buffer, &mut config, path)?;
        }
        if let Some(loss) = &self.loss {
            config.loss = loss.model(&path.key("loss"))?;
        }
        let jitter = self.jitter.as_ref();
        config.jitter = jitter.map(|jitter| jitter.model(&path.key("jitter"))).transpose()?;
        let reorder = self.reorder.as_ref();
        config.reorder = reorder.map(|reorder| reorder.model(&path.key("reorder"))).transpose()?;
        self.apply_changes(&mut config, path)?;
        Ok(config)
    }

    /// Adds the changes to the configuration. Delays that change alone are known in advance, so the
    /// link can compute each delivery when it accepts a packet.
    fn apply_changes(&self, config: &mut LinkConfig, path: &KeyPath) -> Result<(), ScenarioError> {
        let delays: Option<Vec<_>> = self.changes.iter().map(LinkChange::delay_alone).collect();
        if let Some(delays) = delays {
            config.delay_changes = at(path, "changes", DelayChanges::new(delays))?;
            return Ok(());
        }
        let mut link = Self { changes: Vec::new(), ..self.clone() };
        let mut changes = Vec::new();
        for (index, change) in self.changes.iter().enumerate() {
            link.delay = change.delay.unwrap_or(link.delay);
            link.rate = change.rate.or(link.rate);
            link.buffer = change.buffer.clone().or(link.buffer);
            link.loss = change.loss.clone().or(link.loss);
            let later = link.config(&path.key("changes").index(index))?;
            changes.push((Instant::ZERO + change.at.0, later));
        }
        config.changes = at(path, "changes", LinkChanges::new(config, changes))?;
        Ok(())
    }

    /// Sets the trace of the rate and the token buckets.
    fn set_rates(&self, config: &mut LinkConfig, path: &KeyPath) -> Result<(), ScenarioError> {
        if let Some(trace) = &self.rate_trace {
            let here = path.key("rate_trace");
            here.require(self.rate.is_none(), "there is `rate` as well; only one can be the rate")?;
            config.rate_trace = Some(trace.model(&here)?);
        }
        let bucket = |key: &str, bucket: &Option<TokenBucket>| {
            bucket.as_ref().map(|bucket| bucket.model(&path.key(key))).transpose()
        };
        config.police = bucket("police", &self.police)?;
        config.shape = bucket("shape", &self.shape)?;
        let ports = self.buffer.as_ref().is_some_and(|buffer| buffer.cells.is_some());
        for (key, given) in [
            ("rate_trace", self.rate_trace.is_some()),
            ("police", self.police.is_some()),
            ("shape", self.shape.is_some()),
        ] {
            let cells = given && (ports || self.cells.is_some());
            path.key(key).require(!cells, "does not go with `cells`")?;
        }
        Ok(())
    }

    fn apply(
        buffer: &Buffer,
        config: &mut LinkConfig,
        path: &KeyPath,
    ) -> Result<(), ScenarioError> {
        let here = path.key("buffer");
        // No packet ever waits for an infinitely fast line.
        let has_rate = config.has_rate();
        let waits = |key: &str| here.key(key).require(has_rate, "needs a link with a `rate`");
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
        if let Some(fair) = &buffer.fq_codel {
            waits("fq_codel")?;
            config.discipline = Discipline::FqCoDel(fair.model(&here.key("fq_codel"))?);
        }
        Ok(())
    }
}

impl LinkChange {
    /// The change, if only the delay changes.
    fn delay_alone(&self) -> Option<::link::DelayChange> {
        let Self { at, delay, rate: None, buffer: None, loss: None } = self else { return None };
        delay.map(|delay| ::link::DelayChange { at: Instant::ZERO + at.0, delay: delay.0 })
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
            ("fq_codel", self.fq_codel.is_some()),
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
            ("fq_codel", self.fq_codel.is_some()),
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
            (Some(bytes), None, None) => at(path, "bytes", ::link::Buffer::bytes(bytes.bytes())),
            (Some(bytes), None, Some(chunk)) => {
                // A chunk above 4 GiB exceeds any packet, so 4 GiB has the same effect.
                let chunk = u32::try_from(chunk.bytes()).unwrap_or(u32::MAX);
                at(path, "chunk", ::link::Buffer::chunks(bytes.bytes(), chunk))
            }
        }
    }
}

impl Reorder {
    fn model(&self, path: &KeyPath) -> Result<::link::Reorder, ScenarioError> {
        let probability = at(path, "probability", Probability::new(self.probability))?;
        path.key("by").require(!self.by.0.is_zero(), "must be above zero")?;
        Ok(::link::Reorder { probability, by: self.by.0 })
    }
}

pub(super) fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
pub(super) fn is_yes(value: &bool) -> bool {
    *value
}
