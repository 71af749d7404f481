//! Operations on the links that only [look-ahead](crate::lookahead) uses.

use link::reserved::{Reservation, ReservedDelivery};
use link::{DropReason, Offered};
use units::Instant;

use super::{Network, Packet};

/// Reserved delivery on plain links.
impl Network {
    /// Reserves a delivery on a link, which must be the only one of the path.
    #[inline]
    pub(crate) fn reserve(
        &mut self,
        now: Instant,
        number: u32,
        bytes: u32,
    ) -> Result<Reservation, DropReason> {
        self.links[number as usize].reserve(now, Offered { bytes, ..Offered::default() })
    }

    /// Counts a reserved packet that the receiver has handled ahead of time.
    #[inline]
    pub(crate) fn commit_delivered(&mut self, number: u32, reservation: Reservation) {
        self.links[number as usize].commit_delivered(reservation);
    }

    /// Puts a reserved packet on its link, to be delivered when it arrives.
    #[cold]
    #[inline(never)]
    pub(crate) fn commit(&mut self, number: u32, reservation: Reservation, packet: Packet) {
        self.links[number as usize].commit(reservation, packet);
        self.schedule(number);
    }

    /// Puts a packet on a link that only delays, at a time that may lie in the future.
    #[expect(
        clippy::inline_always,
        reason = "the packet goes from registers directly into the ring"
    )]
    #[inline(always)]
    pub(crate) fn offer_ahead(&mut self, at: Instant, number: u32, packet: Packet) {
        if self.links[number as usize].offer_ahead(at, packet.bytes, packet) {
            self.schedule(number);
        }
    }

    /// Resets the statistics of a link at a time that may lie in the future.
    pub(crate) fn reset_statistics_ahead(&mut self, number: u32, at: Instant) {
        self.links[number as usize].reset_statistics(at);
    }
}
