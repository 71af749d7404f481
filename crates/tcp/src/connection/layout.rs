//! Memory layout for drivers with many connections, for which every access is a cache miss. Fields
//! that are used together are adjacent: first those of a data sender, then those of both halves,
//! then those of a receiver, last those that few packets need. `benches/NOTES.md` has the
//! measurements.

use std::mem::offset_of;
use std::ops::Range;

use crate::connection::{Connection, Timers};
use crate::receive::Receiver;

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(
        size_of::<Connection>() <= 8 * 64,
        "Connection grew past 8 cache lines; see benches/NOTES.md, \"Memory\"; the number may be \
         raised"
    );
    assert!(
        Connection::SENDING.end <= 7 * 64,
        "the fields of Connection that a sender of data uses grew past 7 cache lines; see \
         benches/NOTES.md, \"Memory\"; the number may be raised"
    );
    assert!(
        Connection::RECEIVING.end - Connection::RECEIVING.start <= 3 * 64,
        "the fields of Connection that a receiver of data uses grew past 3 cache lines; see \
         benches/NOTES.md, \"Memory\"; the number may be raised"
    );
};

#[doc(hidden)]
impl Connection {
    /// Byte range of the fields used by an end that only sends data.
    pub const SENDING: Range<usize> = 0..offset_of!(Self, rcv) + Receiver::SENDER_END;

    /// Byte range of the fields used by an end that only receives data.
    pub const RECEIVING: Range<usize> =
        offset_of!(Self, snd.repair.in_recovery)..offset_of!(Self, rcv) + Receiver::RECEIVER_END;

    /// Byte range of the fields that [`next_timeout`](Self::next_timeout) reads.
    pub const DEADLINES: Range<usize> =
        offset_of!(Self, timers)..offset_of!(Self, timers) + size_of::<Timers>();

    /// Addresses in the heap that are read first when an acknowledgment is handled, for
    /// prefetching. They may point outside an allocation.
    #[inline]
    pub fn sending_queue(&self) -> [*const u8; 2] {
        self.snd.board.addresses()
    }

    /// Address in the heap that is read first when data is handled, for prefetching. It may point
    /// outside an allocation.
    #[inline]
    pub const fn receiving_queue(&self) -> *const u8 {
        self.rcv.out_of_order_address()
    }
}
