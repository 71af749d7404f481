//! Segments of a framing that cuts the end of a write.

use policy::segment::{TailSegment, TailView};

use super::Sender;

impl Sender {
    /// Next segment of new data, if the framing cuts the end of a write. The queued data ends at
    /// the end of a write, and `left` bytes of it follow SND.NXT. `room` is the number of segments
    /// that the congestion window admits; a window in bytes admits any number of smaller ones.
    #[cold]
    #[inline(never)]
    pub(crate) fn next_of_tail(&mut self, left: u32, room: u32) -> Option<TailSegment> {
        let view = TailView { nxt: self.nxt, left, smss: self.smss, room };
        self.policies.segmenter.tail_mut().map(|tail| tail.next(&view))
    }

    /// Returns whether the framing cuts the end of a write.
    #[inline]
    pub(crate) const fn cuts_tails(&self) -> bool {
        self.special.exists() && self.policies.segmenter.is_tail()
    }
}
