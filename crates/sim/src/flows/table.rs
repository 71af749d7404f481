//! The table of active flows, in slots.

use std::ops::{Index, IndexMut};

use units::Instant;

use super::endpoints::Endpoints;
use super::flow::{Flow, Name};
use super::prefetch;
use crate::timers::{Class, Timers};
use crate::workload::FlowStart;

/// Flows by slot. A new flow reuses a free slot and the memory of its queues.
#[derive(Debug)]
pub(crate) struct FlowTable {
    pub(super) slots: Vec<Flow>,
    /// Slots that are free.
    free: Vec<u32>,
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
        self.slots[slot].write(endpoints.records());
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

    /// Moves the timer entries of the next slice to the heap. Entries whose deadline has moved are
    /// rescheduled.
    #[inline(never)]
    pub(crate) fn refill(&mut self, timers: &mut Timers) {
        timers.refill(|timer, behind| {
            prefetch::before_check(self, behind);
            if timer.class != Class::Flow {
                return Some(timer.at);
            }
            let flow =
                self.get_mut(timer.slot as usize).filter(|flow| flow.is_current_timer(timer))?;
            flow.scheduled = flow.next_timeout();
            (flow.scheduled != Instant::NEVER).then_some(flow.scheduled)
        });
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
