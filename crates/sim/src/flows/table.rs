//! The table of active flows, in slots.

use std::ops::{Index, IndexMut, Range};

use super::flow::{End, Endpoints, Flow, Name};
use super::prefetch::{prefetch, prefetch_line};
use crate::workload::FlowStart;

/// Flows by slot. A new flow reuses a free slot and the memory of its queues.
#[derive(Debug)]
pub(crate) struct FlowTable {
    slots: Vec<Flow>,
    /// Slots that are free.
    free: Vec<u32>,
}

/// The ends of a flow that an event needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Sender,
    Receiver,
    Both,
}

impl FlowTable {
    /// An empty table with memory for `flows` flows, if available. Growing the table would need
    /// twice the memory.
    pub(crate) fn with_capacity(flows: usize) -> Self {
        let mut slots = Vec::new();
        // If not, the table grows as flows start.
        let _ = slots.try_reserve_exact(flows);
        Self { slots, free: Vec::new() }
    }

    /// Starts a flow and returns its slot.
    pub(crate) fn start(&mut self, endpoints: &Endpoints, name: Name, start: FlowStart) -> usize {
        let mut flow = Flow::new(endpoints, name, start);
        let slot = if let Some(slot) = self.free.pop() {
            let slot = slot as usize;
            flow.inherit(&mut self.slots[slot]);
            self.slots[slot] = flow;
            slot
        } else {
            self.slots.push(flow);
            self.slots.len() - 1
        };
        self.slots[slot].write();
        slot
    }

    /// Releases the slot of a finished flow.
    pub(crate) fn release(&mut self, slot: usize) {
        let flow = &mut self.slots[slot];
        if !std::mem::replace(&mut flow.is_free, true) {
            // Memory is exhausted before slot numbers are.
            self.free.extend(u32::try_from(slot));
        }
    }

    /// Returns true if the flows exceed a core's own cache, about 1 MB, of which other data needs a
    /// part.
    #[inline]
    pub(crate) const fn exceeds_cache(&self) -> bool {
        self.slots.len() > (1 << 19) / size_of::<Flow>()
    }

    /// Prefetches the fields that a packet needs for these ends of a flow.
    #[inline]
    pub(crate) fn prefetch_ends(&self, slot: usize, ends: Ends) {
        match ends {
            Ends::Sender => self.prefetch_parts(slot, [Flow::SENDING]),
            Ends::Receiver => self.prefetch_parts(slot, [Flow::RECEIVING]),
            Ends::Both => self.prefetch_parts(slot, [Flow::SENDING, Flow::RECEIVING]),
        }
    }

    /// Prefetches the fields that determine a flow's next timeout.
    #[inline]
    pub(crate) fn prefetch_deadlines(&self, slot: usize) {
        self.prefetch_parts(slot, Flow::DEADLINES);
    }

    /// Prefetches the fields that an expired timer of a flow needs.
    #[inline]
    pub(crate) fn prefetch_expiring(&self, slot: usize) {
        self.prefetch_parts(slot, Flow::EXPIRING);
    }

    /// Prefetches these parts of a flow and the fields that every packet needs.
    #[inline]
    fn prefetch_parts<const PARTS: usize>(&self, slot: usize, parts: [Range<usize>; PARTS]) {
        let Some(flow) = self.slots.get(slot) else { return };
        prefetch(flow, Flow::USUAL);
        for bytes in parts {
            prefetch(flow, bytes);
        }
    }

    /// Prefetches the queues that a packet for this end of a flow needs, including that of a
    /// receiver that acts ahead of time.
    #[inline]
    pub(crate) fn prefetch_queues(&self, slot: usize, end: End) {
        let Some(flow) = self.slots.get(slot) else { return };
        if end == End::Sender {
            flow.sender.sending_queue().into_iter().for_each(prefetch_line);
        }
        if end == End::Receiver || flow.is_ahead {
            prefetch_line(flow.receiver.receiving_queue());
        }
    }

    /// The flow in this slot, if it is active.
    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Flow> {
        self.slots.get_mut(slot).filter(|flow| !flow.is_free)
    }

    /// The active flows, by slot and so in no order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.slots.iter().filter(|flow| !flow.is_free)
    }

    /// The active flows by slot, mutably.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.slots.iter_mut().filter(|flow| !flow.is_free)
    }

    /// The active flows with their slots.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.slots.iter().enumerate().filter(|(_, flow)| !flow.is_free)
    }

    /// The number of active flows.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// Indexing requires a slot in use: a packet on the network keeps its flow's slot in use.
impl Index<usize> for FlowTable {
    type Output = Flow;
    fn index(&self, slot: usize) -> &Flow {
        &self.slots[slot]
    }
}

impl IndexMut<usize> for FlowTable {
    fn index_mut(&mut self, slot: usize) -> &mut Flow {
        &mut self.slots[slot]
    }
}
