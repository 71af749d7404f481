//! The configuration of a link.

use units::{Duration, Instant, Rate};

use crate::atm::{Framing, PortConfig};
use crate::balanced::Balanced;
use crate::buffer::Buffer;
use crate::codel::CoDel;
use crate::custom::{CustomDiscipline, Factory};
use crate::error::ConfigError;
use crate::fq_codel::FqCoDel;
use crate::jitter::Jitter;
use crate::loss::LossModel;
use crate::packet::DropReason;
use crate::path::{DelayChanges, Reorder};
use crate::rate_trace::RateTrace;
use crate::red::Red;
use crate::token_bucket::TokenBucket;

/// The parts of a link. The default has an infinite rate, no delay and no loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkConfig {
    /// The line's rate; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// The course of the rate, instead of [`rate`](Self::rate). Not possible with cells.
    pub rate_trace: Option<RateTrace>,
    /// A policer in front of the buffer: packets that exceed it are dropped.
    pub police: Option<TokenBucket>,
    /// A shaper behind the buffer: packets that exceed it wait. Not possible with cells.
    pub shape: Option<TokenBucket>,
    /// The propagation delay, from a packet's departure to its arrival.
    pub delay: Duration,
    /// Changes of the delay during the run.
    pub delay_changes: DelayChanges,
    /// Changes of other parts during the run. The later configurations have the delays too.
    pub changes: LinkChanges,
    /// Random variation of the delay. Not possible with [`cut_through`](Self::cut_through).
    pub jitter: Option<Jitter>,
    /// Random additional delay by which packets are overtaken. Not possible with
    /// [`cut_through`](Self::cut_through).
    pub reorder: Option<Reorder>,
    /// The buffer's size and unit.
    pub buffer: Buffer,
    /// The packet in transmission occupies the buffer.
    ///
    /// With `true`, `Buffer::Packets` of 100 means at most 100 packets in the link, waiting or in
    /// transmission. A drop-tail queue of ns-2 counted in packets with `limit_` 100 has the same
    /// effect by another rule. It leaves out the packet in transmission but drops a packet that
    /// would *reach* the limit, so 99 wait.
    ///
    /// With `false` the buffer holds waiting packets only, and an idle link accepts a packet of
    /// any size.
    pub counts_in_service: bool,
    /// The rule that drops or marks packets although there is room. It works on the packets that
    /// the buffer counts.
    pub discipline: Discipline,
    /// The process by which packets are lost independently of the buffer.
    pub loss: LossModel,
    /// The point at which packets are lost.
    pub loss_point: LossPoint,
    /// The framing on the line. Buffer, books and loss always count packets and their own bytes.
    pub framing: Framing,
    /// A packet is delivered when its first cell has arrived; without cells on the line, when its
    /// first 48 bytes have arrived. The next link must be a port, which needs the time until the
    /// last cell ([`Link::lag`](crate::Link::lag)).
    pub cut_through: bool,
    /// A switch's output port that replaces buffer, discipline and framing. It needs a rate.
    pub port: Option<PortConfig>,
}

impl LinkConfig {
    /// Returns true if packets may wait: the line has a rate, or a shaper is in front of it.
    pub fn has_rate(&self) -> bool {
        self.rate.is_some() || self.rate_trace.is_some() || self.shape.is_some()
    }

    /// The rate, or the mean rate of a trace; `None` for an infinitely fast line.
    pub fn mean_rate(&self) -> Option<Rate> {
        self.rate_trace.as_ref().map(RateTrace::mean_rate).or(self.rate)
    }

    /// Returns true if every decision is made on arrival and depends only on the buffer.
    pub fn is_plain(&self) -> bool {
        self.is_fifo() && self.loss == LossModel::None
    }

    /// The cause of a drop on this link, in the words of captures.
    pub fn drop_cause(&self, reason: DropReason) -> &'static str {
        let is_port = self.port.is_some();
        match (reason, &self.discipline) {
            (DropReason::Buffer, _) if is_port => "cells lost, buffer full",
            (DropReason::Buffer, _) => "buffer full",
            (DropReason::Early, _) if is_port => "packet discard by the port",
            (DropReason::Early, Discipline::DropTail) if self.police.is_some() => "policer",
            (DropReason::Early, _) if self.police.is_some() => "policer or early drop",
            (DropReason::Early, Discipline::DropTail | Discipline::Red(_)) => "early drop by RED",
            (DropReason::Early, Discipline::Balanced(_)) => "balanced packet discard",
            (DropReason::Early, Discipline::CoDel(_)) => "early drop by CoDel",
            (DropReason::Early, Discipline::FqCoDel(_)) => "early drop by FQ-CoDel",
            (DropReason::Early, Discipline::Custom(_)) => "early drop by a custom discipline",
            (DropReason::Loss, _) => match self.loss {
                LossModel::Mask(_) | LossModel::PacketMask(_) | LossModel::Trace(_) => "loss mask",
                LossModel::Custom(_) => "custom loss model",
                _ => "random loss",
            },
        }
    }

    /// Returns true if the queue decides on packets after their arrival. It then holds them itself.
    pub(crate) fn has_deferred_verdicts(&self) -> bool {
        let is_codel = matches!(self.discipline, Discipline::CoDel(_) | Discipline::FqCoDel(_));
        self.has_rate() && (self.port.is_some() || is_codel)
    }

    /// Returns true for a first-in, first-out link with drop-tail, a constant delay, no cells and a
    /// built-in loss model.
    pub(crate) fn is_fifo(&self) -> bool {
        let decides_at_once = self.port.is_none() && self.discipline == Discipline::DropTail;
        let built_in = !matches!(self.loss, LossModel::Custom(_));
        let constant_rate =
            self.rate_trace.is_none() && self.police.is_none() && self.shape.is_none();
        let in_order =
            self.delay_changes.is_empty() && self.reorder.is_none() && self.jitter.is_none();
        let constant = self.changes.is_empty();
        decides_at_once
            && built_in
            && in_order
            && constant
            && constant_rate
            && self.framing == Framing::Packet
            && !self.cut_through
    }
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            rate_trace: None,
            police: None,
            shape: None,
            delay: Duration::ZERO,
            delay_changes: DelayChanges::default(),
            changes: LinkChanges::default(),
            jitter: None,
            reorder: None,
            buffer: Buffer::Unlimited,
            counts_in_service: true,
            discipline: Discipline::DropTail,
            loss: LossModel::None,
            loss_point: LossPoint::Line,
            framing: Framing::Packet,
            cut_through: false,
            port: None,
        }
    }
}

/// The changes of a link's configuration during the run, in order of time.
///
/// At each time, the link is [reconfigured](crate::Link::reconfigure).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkChanges(Vec<(Instant, LinkConfig)>);

impl LinkChanges {
    /// A list of changes of a link that begins with `first`. Changes within the configurations are
    /// ignored.
    ///
    /// # Errors
    /// If the times are not strictly increasing, or if a link cannot make one of the changes.
    pub fn new(
        first: &LinkConfig,
        changes: Vec<(Instant, LinkConfig)>,
    ) -> Result<Self, ConfigError> {
        if let Some(pair) = changes.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
            return Err(ConfigError::Changes { before: pair[0].0, at: pair[1].0 });
        }
        let mut before = first;
        for (_, after) in &changes {
            before.check_change(after)?;
            before = after;
        }
        Ok(Self(changes))
    }

    /// Returns true if there are no changes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The later configurations, to replace parts of them.
    pub fn configs_mut(&mut self) -> impl Iterator<Item = &mut LinkConfig> {
        self.0.iter_mut().map(|(_, config)| config)
    }

    /// The time of the first change.
    pub(crate) fn first(&self) -> Option<Instant> {
        self.0.first().map(|(at, _)| *at)
    }

    /// The configuration at `now` of a link that begins with `first`, with the later changes.
    pub(crate) fn at(first: LinkConfig, now: Instant) -> LinkConfig {
        let mut first = first;
        let mut changes = std::mem::take(&mut first.changes).0;
        let later = changes.split_off(changes.partition_point(|(at, _)| *at <= now));
        let found = changes.pop().map_or(first, |(_, config)| config);
        LinkConfig { changes: Self(later), ..found }
    }
}

/// The rule that drops or marks packets before the buffer is full.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Discipline {
    /// No packet is dropped early.
    #[default]
    DropTail,
    /// Random early detection.
    Red(Red),
    /// Balanced packet discard, with thresholds as shares of the buffer. It has no effect with an
    /// unlimited buffer.
    Balanced(Balanced),
    /// Controlled delay: decides when packets leave. It needs a rate, without which no packet
    /// waits.
    CoDel(CoDel),
    /// CoDel for each flow, and deficit round-robin among the flows. It needs a rate.
    FqCoDel(FqCoDel),
    /// A discipline that the driver implements. It decides when packets arrive.
    Custom(Factory<dyn CustomDiscipline>),
}

/// The point at which the loss model loses packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LossPoint {
    /// On the line, like a bit error: a lost packet occupies buffer and line like any other. The
    /// model does not decide on packets that the buffer refuses.
    #[default]
    Line,
    /// Before the buffer, like the drop stage of an emulator: a lost packet occupies neither buffer
    /// nor line.
    Entry,
}
