//! Reserved delivery: the interface of drivers that handle packets before they arrive.
//!
//! On a [plain](LinkConfig::is_plain) link the delivery time of a packet is known when the packet
//! is offered. A driver that can handle the packet at once [reserves](ReservedDelivery::reserve)
//! the delivery and leaves the packet out of the link. Other drivers need only the methods of
//! [`Link`] itself.

use std::collections::VecDeque;

use units::Instant;

use super::Link;
use crate::books::Tally;
#[cfg(doc)]
use crate::config::LinkConfig;
use crate::packet::{DropReason, InFlight, Offered};

/// The delivery of a packet that a link has [reserved](ReservedDelivery::reserve).
#[derive(Debug)]
#[must_use = "a reservation must be committed"]
pub struct Reservation {
    delivery: Instant,
    bytes: u32,
}

impl Reservation {
    /// The delivery time.
    #[inline]
    pub fn delivery(&self) -> Instant {
        self.delivery
    }
}

/// Operations of a [`Link`] for a driver that handles packets before they arrive.
///
/// The link must be [plain](LinkConfig::is_plain).
pub trait ReservedDelivery<P> {
    /// Decides on a packet without taking its content.
    ///
    /// The reservation must be passed to [`commit`](Self::commit), or to
    /// [`commit_delivered`](Self::commit_delivered) if the driver delivers the packet itself.
    ///
    /// # Errors
    /// The reason for which the packet is dropped.
    fn reserve(&mut self, now: Instant, packet: Offered) -> Result<Reservation, DropReason>;

    /// Puts a reserved packet on the link.
    fn commit(&mut self, reservation: Reservation, content: P);

    /// Counts a reserved packet that the driver delivers itself. The books hold the packet until
    /// the link's time reaches its delivery time.
    fn commit_delivered(&mut self, reservation: Reservation);

    /// Offers a packet of `bytes` at a time that may lie in the future.
    ///
    /// The link must have an infinite rate and an unlimited buffer, so that no decision depends on
    /// earlier packets. The books count the packet at once. Returns true if the packet is the next
    /// to be delivered.
    fn offer_ahead(&mut self, at: Instant, bytes: u32, content: P) -> bool;

    /// Removes the packets delivered since the last reset from the books. Needed when the
    /// statistics were reset for a future time, once that time has come.
    fn discount_delivered(&mut self);
}

impl<P> ReservedDelivery<P> for Link<P> {
    #[inline]
    fn reserve(&mut self, now: Instant, packet: Offered) -> Result<Reservation, DropReason> {
        // A plain link makes no random decisions.
        self.decide(now, packet, |_| 0)
            .map(|delivery| Reservation { delivery, bytes: packet.bytes })
    }

    fn commit(&mut self, reservation: Reservation, content: P) {
        let Reservation { delivery, bytes } = reservation;
        self.in_flight.push_back(InFlight { delivery, bytes, content });
    }

    #[inline]
    fn commit_delivered(&mut self, reservation: Reservation) {
        self.delivered_early.0.push_back(reservation);
    }

    #[expect(
        clippy::inline_always,
        reason = "the packet goes from registers directly into the ring"
    )]
    #[inline(always)]
    fn offer_ahead(&mut self, at: Instant, bytes: u32, content: P) -> bool {
        let delivery = at + self.delay;
        self.offered.count(bytes);
        let is_last = self.in_flight.back().is_none_or(|last| last.delivery <= delivery);
        self.in_flight.push_back(InFlight { delivery, bytes, content });
        let behind = if is_last { 0 } else { self.sort_newest_by_delivery() };
        behind + 1 == self.in_flight.len()
    }

    fn discount_delivered(&mut self) {
        let Tally { packets, bytes } = std::mem::take(&mut self.delivered);
        self.offered.packets -= packets;
        self.offered.bytes -= bytes;
    }
}

/// The packets that the driver has delivered before their delivery times, in order of these times.
#[derive(Debug, Default)]
pub(super) struct EarlyDeliveries(VecDeque<Reservation>);

impl EarlyDeliveries {
    /// Moves the packets whose delivery time has come by `now` to `delivered`.
    #[inline]
    pub(super) fn retire(&mut self, now: Instant, delivered: &mut Tally) {
        while let Some(due) = self.0.pop_front_if(|packet| packet.delivery <= now) {
            delivered.count(due.bytes);
        }
    }

    /// The sizes in bytes of the packets whose delivery time has not come.
    pub(super) fn sizes(&self) -> impl Iterator<Item = u32> {
        self.0.iter().map(|packet| packet.bytes)
    }
}
