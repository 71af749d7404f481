//! Boundaries between the writes of the application, and what it wants held back (Nagle, Minshall,
//! `TCP_CORK`, `MSG_MORE`, `MSG_EOR`).

use std::collections::VecDeque;

use wire::SeqNum;

/// Flags of a write.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteFlags {
    /// `MSG_MORE`: more data follows, so a segment that is not full waits for it.
    pub more: bool,
    /// `MSG_EOR`: a segment ends with this write. Later data never joins it.
    pub end_of_record: bool,
}

/// End of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct WriteEnd {
    end: SeqNum,
    push: bool,
    end_of_record: bool,
}

/// Writes that have not been acknowledged, and the switches of the application.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "facts, each of which can hold alone")]
pub(crate) struct Writes {
    ends: VecDeque<WriteEnd>,
    /// Number of these that end a record. Usually there are none, and nothing is searched for.
    records: u32,
    /// Whether the last write had `MSG_MORE`.
    more: bool,
    cork: bool,
    /// Whether `TCP_NODELAY` has just been set, which sends what is held in any case.
    pushed: bool,
    /// Whether the application has written since the last transmission was selected.
    wrote: bool,
    /// Sequence number after the last byte written.
    end: SeqNum,
    /// `TCP_NODELAY`: overrides the configuration.
    pub(in crate::send) no_delay: Option<bool>,
}

impl Writes {
    /// Notes a write that ends before `end`.
    pub(in crate::send) fn on_write(&mut self, end: SeqNum, flags: WriteFlags) {
        self.more = flags.more;
        (self.pushed, self.wrote, self.end) = (false, true, end);
        if !flags.more || flags.end_of_record {
            let written = WriteEnd { end, push: !flags.more, end_of_record: flags.end_of_record };
            self.records += u32::from(flags.end_of_record);
            self.ends.push_back(written);
        }
    }

    /// Pushes the data before `end` although the application has more to write.
    pub(in crate::send) fn push(&mut self, end: SeqNum) {
        (self.more, self.end) = (false, end);
        self.ends.push_back(WriteEnd { end, push: true, end_of_record: false });
    }

    /// `TCP_CORK`: holds or releases a last segment that is not full.
    pub(crate) fn set_cork(&mut self, cork: bool) {
        self.cork = cork;
        if !cork {
            self.more = false;
        }
    }

    /// `TCP_NODELAY`.
    pub(crate) fn set_no_delay(&mut self, no_delay: bool) {
        self.no_delay = Some(no_delay);
        if no_delay {
            self.more = false;
            self.pushed = true;
        }
    }

    /// Returns whether the application wants a last segment that is not full to wait.
    pub(crate) fn holds_last(&self) -> bool {
        (self.cork || self.more) && !self.pushed
    }

    /// Returns whether the application has written since the last call.
    pub(in crate::send) fn take_wrote(&mut self) -> bool {
        std::mem::take(&mut self.wrote)
    }

    /// Returns whether [`take_wrote`](Self::take_wrote) would return true.
    pub(super) const fn has_written(&self) -> bool {
        self.wrote
    }

    /// Releases what `MSG_MORE` or `TCP_CORK` held, after the timer for window probes has expired.
    /// The segment then carries PSH.
    pub(crate) fn release(&mut self) {
        self.pushed = true;
        let end = self.end;
        self.ends.push_back(WriteEnd { end, push: true, end_of_record: false });
    }

    /// Forgets writes that `una` acknowledges completely. `MSG_MORE` holds data only until an
    /// acknowledgment arrives, unlike `TCP_CORK`.
    pub(in crate::send) fn acknowledged(&mut self, una: SeqNum) {
        self.more = false;
        while let Some(write) = self.ends.front().filter(|write| write.end.at_or_before(una)) {
            self.records -= u32::from(write.end_of_record);
            self.ends.pop_front();
        }
    }

    /// First end of a record after `seq`.
    pub(in crate::send) fn record_end_after(&self, seq: SeqNum) -> Option<SeqNum> {
        if self.records == 0 {
            return None;
        }
        self.ends
            .iter()
            .find(|write| write.end_of_record && write.end.after(seq))
            .map(|write| write.end)
    }

    /// Returns whether a segment that ends before `end` ends a write, so that it carries PSH.
    // Out of line: the path of all senders calls it.
    #[inline(never)]
    pub(in crate::send) fn pushes_at(&self, end: SeqNum) -> bool {
        // Usually no write ends in or before the segment.
        if self.ends.front().is_none_or(|first| first.end.after(end)) {
            return false;
        }
        let index = self.ends.partition_point(|write| write.end.before(end));
        self.ends.range(index..).take_while(|write| write.end == end).any(|write| write.push)
    }

    pub(in crate::send) fn memory(&self) -> usize {
        self.ends.capacity() * size_of::<WriteEnd>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seq: u32) -> SeqNum {
        SeqNum::new(seq)
    }

    #[test]
    fn ends_of_writes_push_and_ends_of_records_divide() {
        let mut writes = Writes::default();
        writes.on_write(at(400), WriteFlags::default());
        writes.on_write(at(800), WriteFlags { end_of_record: true, more: false });
        writes.on_write(at(900), WriteFlags { more: true, ..WriteFlags::default() });
        assert!(writes.holds_last());
        assert_eq!(writes.record_end_after(at(0)), Some(at(800)));
        assert_eq!(writes.record_end_after(at(800)), None);
        assert_eq!([400, 800, 900].map(|end| writes.pushes_at(at(end))), [true, true, false]);
        writes.acknowledged(at(500));
        assert!(!writes.pushes_at(at(400)) && writes.pushes_at(at(800)));
        writes.set_no_delay(true);
        assert!(!writes.holds_last());
    }
}
