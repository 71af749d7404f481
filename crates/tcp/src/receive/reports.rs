//! Reports of the receiver in acknowledgments: SACK blocks (RFC 2018), with duplicates (RFC 2883)
//! first, or the option of TCP Santa Cruz (Parsa and Garcia-Luna-Aceves 1999, section 3.2.1).

use units::Instant;
use wire::layout::PackedReport;
use wire::{AckWindow, Arrival, CopyNumber, SackBlocks, SantaCruz, SeqNum, SeqRange};

use super::Receiver;

/// Data for the option of TCP Santa Cruz in acknowledgments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SantaCruzAck {
    /// Last segment that has arrived, until an acknowledgment reports it.
    arrival: Option<Arrival>,
    /// Option of the segment that is sent now.
    option: PackedReport,
}

impl Receiver {
    /// RFC 2883 §4: records data for a DSACK in the next acknowledgment, if it had arrived before.
    // Not inlined: in both places of `text` it would cost 0.2 % of all instructions.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_duplicate(&mut self, seq: SeqNum, len: u32) {
        if (seq + len).at_or_before(self.nxt)
            && let Some(duplicate) = SeqRange::new(seq, seq + len)
        {
            self.duplicate = Some(duplicate);
        }
    }

    /// Returns whether there is data to report in SACK blocks.
    pub(crate) fn has_reports(&self) -> bool {
        !self.out_of_order.is_empty() || self.fin.is_some() || self.duplicate.is_some()
    }

    /// Returns up to `room` blocks: first the duplicate (RFC 2883 §4), then the most recently
    /// updated ranges (RFC 2018 §4). A pending FIN is included in the block that it ends, or is a
    /// block of its own after the others. RFC 2018 speaks of data only, but a sender whose last
    /// segment carries the FIN must learn that all of it arrived. Linux reports it in the same way.
    pub(crate) fn sack_blocks(&mut self, room: usize) -> SackBlocks {
        if self.special.linux().is_some() {
            return self.blocks_as_linux(room);
        }
        let mut blocks = SackBlocks::EMPTY;
        if let Some(duplicate) = self.duplicate.take() {
            blocks.push(duplicate);
        }
        let room = room.min(SackBlocks::CAPACITY).saturating_sub(blocks.len());
        let kept = self.fin.and_then(|fin| SeqRange::new(fin, fin + 1));
        let ended = |held: SeqRange| match kept {
            Some(fin) if held.end() == fin.start() => {
                SeqRange::new(held.start(), fin.end()).unwrap_or(held)
            }
            _ => held,
        };
        let alone =
            kept.filter(|fin| self.out_of_order.iter().all(|held| held.end() != fin.start()));
        let out_of_order = self.out_of_order.iter().rev().map(|&held| ended(held));
        for block in out_of_order.chain(alone).take(room) {
            blocks.push(block);
        }
        blocks
    }

    /// TCP Santa Cruz, section 3.2.1: records the arrival of a transmission, if its data can be
    /// acknowledged.
    pub(crate) fn note_arrival(&mut self, seq: SeqNum, len: u32, copy: CopyNumber, now: Instant) {
        let is_held = (seq + len).at_or_before(self.nxt)
            || SeqRange::new(seq, seq + len)
                .is_none_or(|range| self.out_of_order.iter().any(|held| held.contains(range)));
        if is_held {
            let arrival = Arrival { seq, copy, at: arrival_clock(now) };
            if let Some(santa_cruz) = self.special.santa_cruz_mut() {
                santa_cruz.arrival = Some(arrival);
            }
        }
    }

    /// Prepares the option of TCP Santa Cruz for the segment that is sent now. `data_copy` is the
    /// transmission number of its data, and `room` the maximum size of the ACK window in bytes.
    /// Each arrival is reported once.
    #[cold]
    #[inline(never)]
    pub(crate) fn write_santa_cruz_option(&mut self, data_copy: Option<CopyNumber>, room: usize) {
        self.duplicate = None;
        let Some(santa_cruz) = self.special.santa_cruz_mut() else { return };
        let option = SantaCruz::new(data_copy);
        santa_cruz.option = match santa_cruz.arrival.take() {
            Some(arrival) => {
                let window = AckWindow::covering(self.nxt, self.out_of_order.iter().copied(), room);
                option.answering(arrival, window).into()
            }
            None if data_copy.is_some() => option.into(),
            None => PackedReport::NONE,
        };
    }

    /// Returns the prepared option.
    pub(crate) fn santa_cruz_option(&self) -> Option<&PackedReport> {
        Some(&self.special.santa_cruz()?.option)
    }
}

/// Clock with one tick per microsecond.
fn arrival_clock(now: Instant) -> u32 {
    let micros = now.as_nanos() / 1000;
    u32::try_from(micros & u64::from(u32::MAX)).unwrap_or(0)
}
