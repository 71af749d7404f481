//! Loss models and disciplines that the driver implements.
//!
//! A link calls them for each packet, with facts and a uniform number. The number depends on the
//! driver's random numbers for this packet, as for the models of this crate. Such a model may have
//! a state of the whole link. A link with one is therefore never
//! [plain](crate::LinkConfig::is_plain).

use std::fmt;
use std::sync::Arc;

use units::Instant;

use crate::books::Tally;
use crate::buffer::Buffer;
use crate::packet::Offered;

/// A loss model that the driver implements.
pub trait CustomLoss: fmt::Debug + Send + Sync {
    /// Returns true if the packet is lost.
    fn loses(&mut self, facts: &LossFacts) -> bool;
}

/// The facts on which a [`CustomLoss`] decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LossFacts {
    /// The time at which the packet is offered to the link.
    pub now: Instant,
    /// The packet.
    pub packet: Offered,
    /// A uniform number for this decision.
    pub draw: u64,
}

/// A queue discipline that the driver implements. It decides when a packet arrives.
pub trait CustomDiscipline: fmt::Debug + Send + Sync {
    /// Decides on a packet. A packet that does not fit into the buffer is dropped in any case.
    fn decide(&mut self, facts: &QueueFacts) -> Admission;
}

/// The facts on which a [`CustomDiscipline`] decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueFacts {
    /// The time at which the packet arrives.
    pub now: Instant,
    /// The packet.
    pub packet: Offered,
    /// A uniform number for this decision.
    pub draw: u64,
    /// The packets that the buffer counts, without the arriving one.
    pub queue: Tally,
    /// The start of the idle period; `None` while a packet is waiting or in transmission.
    pub idle_since: Option<Instant>,
    /// The buffer's size and unit.
    pub buffer: Buffer,
    /// The packet fits into the buffer.
    pub fits: bool,
}

/// The decision of a [`CustomDiscipline`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// The packet enters the queue.
    Accept,
    /// The packet is marked. RFC 3168 §5: one that is not ECN-capable is dropped instead.
    Mark,
    /// The packet is dropped.
    Drop,
}

/// A function that makes a new model for each link.
///
/// Two factories are equal if they are clones of one factory.
pub struct Factory<M: ?Sized>(Arc<dyn Fn() -> Box<M> + Send + Sync>);

impl<M: ?Sized> Factory<M> {
    /// A factory that calls `make`.
    pub fn new(make: impl Fn() -> Box<M> + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Makes a new model.
    pub(crate) fn make(&self) -> Box<M> {
        (self.0)()
    }
}

impl<M: ?Sized> Clone for Factory<M> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<M: ?Sized> fmt::Debug for Factory<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Factory")
    }
}

impl<M: ?Sized> PartialEq for Factory<M> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<M: ?Sized> Eq for Factory<M> {}

#[cfg(test)]
mod tests;
