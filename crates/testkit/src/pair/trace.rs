//! The last segments of a run.

use std::collections::VecDeque;
use std::fmt;

use units::Instant;
use wire::Segment;

use super::End;
use crate::notation::Origins;
use crate::path::Fate;

/// Stores the last segments. They print as one line each.
#[derive(Debug, Default)]
pub struct Trace {
    entries: VecDeque<Entry>,
}

#[derive(Debug)]
struct Entry {
    at: Instant,
    from: End,
    segment: Segment,
    origins: Origins,
    fate: Fate,
}

impl Trace {
    /// Maximum number of stored segments.
    pub const KEPT: usize = 60;

    pub(super) fn note(
        &mut self,
        at: Instant,
        from: End,
        segment: Segment,
        origins: Origins,
        fate: Fate,
    ) {
        if self.entries.len() == Self::KEPT {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { at, from, segment, origins, fate });
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for Entry { at, from, segment, origins, fate } in &self.entries {
            let end = match fate {
                Fate::Arrives => "",
                Fate::Lost => "  (lost)",
                Fate::Damaged => "  (damaged)",
                Fate::Doubled => "  (doubled)",
                Fate::TooBig => "  (too big)",
            };
            writeln!(f, "    {at} {from:?} {}{end}", origins.show(segment))?;
        }
        Ok(())
    }
}
