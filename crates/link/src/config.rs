//! What a link is made of, and what makes a part of it impossible.

use units::{Duration, Rate};

use crate::atm::{Framing, PortConfig};
use crate::balanced::Balanced;
use crate::buffer::Buffer;
use crate::codel::CoDel;
use crate::loss::LossModel;
use crate::path::{DelayChanges, Reorder};
use crate::red::Red;

/// The parts of a link. The default is a wire: infinitely fast, no delay, no loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkConfig {
    /// How fast the line sends; `None` is infinitely fast.
    pub rate: Option<Rate>,
    /// How long the last bit travels after it has left.
    pub delay: Duration,
    /// When that becomes another time.
    pub delay_changes: DelayChanges,
    /// Which packets take longer, so that others overtake them; with
    /// [`cut_through`](Self::cut_through) nothing may.
    pub reorder: Option<Reorder>,
    /// What the link can store.
    pub buffer: Buffer,
    /// Whether the packet in transmission takes up room in the buffer.
    ///
    /// With `true`, `Buffer::Packets` of 100 means at most 100 packets in the link, waiting or in
    /// transmission. That is also what a drop-tail queue of ns-2 counted in packets with
    /// `limit_` 100 comes to, by another rule: it leaves out the packet in transmission but
    /// drops what would *reach* the limit, so 99 wait.
    ///
    /// With `false` the buffer holds waiting packets only, and an idle link accepts a packet of
    /// any size.
    pub counts_in_service: bool,
    /// Which packets are dropped or marked although there is room. The queue that it looks at is
    /// what the buffer counts.
    pub discipline: Discipline,
    /// Which packets are lost other than for want of room.
    pub loss: LossModel,
    /// Where they are lost.
    pub loss_point: LossPoint,
    /// In what the line sends a packet. Buffer, books and loss count packets and their own bytes
    /// all the same.
    pub framing: Framing,
    /// A packet is handed over when its first cell has arrived, or, if the line sends it as it is,
    /// what fills one: to a port, which is told how much later the last one comes
    /// ([`Link::lag`](crate::Link::lag)).
    pub cut_through: bool,
    /// A switch's port in the place of buffer, discipline and framing. It needs a rate.
    pub port: Option<PortConfig>,
}

impl LinkConfig {
    /// Whether what becomes of a packet is known when it is offered, and depends on nothing but
    /// room.
    pub fn is_plain(&self) -> bool {
        self.is_ordinary() && self.loss == LossModel::None
    }

    /// Whether packets are whole, in order, equally long on their way, and only refused for want of
    /// room.
    pub(crate) fn is_ordinary(&self) -> bool {
        let decides_at_once = self.port.is_none() && self.discipline == Discipline::DropTail;
        let in_order = self.delay_changes.is_empty() && self.reorder.is_none();
        decides_at_once && in_order && self.framing == Framing::Packet && !self.cut_through
    }
}

impl Default for LinkConfig {
    fn default() -> Self {
        Self {
            rate: None,
            delay: Duration::ZERO,
            delay_changes: DelayChanges::default(),
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

/// What a buffer does before it is full.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Discipline {
    /// Nothing.
    #[default]
    DropTail,
    /// Random early detection.
    Red(Red),
    /// Balanced packet discard: shares of the buffer's units. An unlimited buffer is never full
    /// enough for it.
    Balanced(Balanced),
    /// Controlled delay: decides as packets leave. It needs a rate, without which nothing waits.
    CoDel(CoDel),
}

/// Where the loss model takes its packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LossPoint {
    /// On the line, as a bit error would: the packet takes up buffer and line like any other, then
    /// vanishes. A packet refused by the buffer is not put to the model.
    #[default]
    Line,
    /// Before the buffer, as an emulator's drop stage would: the packet takes up nothing.
    Entry,
}
