//! The memory layout of a flow.
//!
//! With many flows every access is a cache miss. The fields of [`Flow`] are therefore grouped in
//! whole cache lines, in this order: fields that every packet needs, the end that sends, rarely
//! used fields, and the end that receives. The fields of the receiver that data segments need begin
//! with a cache line. `benches/NOTES.md` ("Memory") has the measurements.

use std::mem::offset_of;
use std::ops::Range;

use tcp::Connection;

use super::flow::Flow;

/// The size of a cache line, in bytes.
pub(super) const LINE: usize = 64;

/// Ranges of bytes that are used together.
impl Flow {
    /// The fields that every packet needs.
    pub(super) const USUAL: Range<usize> = 0..offset_of!(Self, sender);
    /// The fields of the sending end that a packet for it needs.
    pub(super) const SENDING: Range<usize> = within(offset_of!(Self, sender), Connection::SENDING);
    /// The fields of the receiving end that a packet for it needs.
    pub(super) const RECEIVING: Range<usize> =
        within(offset_of!(Self, receiver), Connection::RECEIVING);
    /// The fields that determine the flow's next timeout.
    pub(super) const DEADLINES: [Range<usize>; 2] = [
        within(offset_of!(Self, sender), Connection::DEADLINES),
        within(offset_of!(Self, receiver), Connection::DEADLINES),
    ];
    /// The fields that an expired timer needs, including those of a receiver that acts ahead of
    /// time.
    pub(super) const EXPIRING: [Range<usize>; 2] =
        [offset_of!(Self, sender)..offset_of!(Self, receiver), Self::RECEIVING];
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    assert!(
        size_of::<Flow>() <= 18 * LINE,
        "Flow grew past 18 cache lines; see benches/NOTES.md, \"Memory\"; the number may be raised"
    );
    assert!(
        lines(&Flow::USUAL) == 1,
        "the fields of Flow before `sender` grew past one cache line, which every packet needs; \
         move fields that few packets need behind `sender`"
    );
    assert!(
        lines(&Flow::SENDING) <= 7,
        "a packet for a sender needs more than 7 cache lines of Flow; see benches/NOTES.md, \
         \"Memory\"; the number may be raised"
    );
    assert!(
        lines(&Flow::RECEIVING) <= 3,
        "a packet for a receiver needs more than 3 cache lines of Flow; see benches/NOTES.md, \
         \"Memory\"; the number may be raised"
    );
    assert!(
        lines(&Flow::DEADLINES[0]) == 1 && lines(&Flow::DEADLINES[1]) == 1,
        "the timers of an end are not in one cache line; reorder the fields of tcp::Connection, or \
         raise the number"
    );
};

/// The number of cache lines that a range of bytes touches.
#[cfg(target_pointer_width = "64")]
const fn lines(bytes: &Range<usize>) -> usize {
    bytes.end.div_ceil(LINE) - bytes.start / LINE
}

/// Shifts a range relative to a value at offset `value` to the start of the enclosing struct.
const fn within(value: usize, bytes: Range<usize>) -> Range<usize> {
    value + bytes.start..value + bytes.end
}
