//! The flows alive, each in a place of its own.

use std::ops::{Index, IndexMut, Range};

use crate::flow::{End, Endpoints, Flow, Name};
use crate::prefetch::{prefetch, prefetch_line};
use crate::workload::FlowStart;

/// Flows by their place. A place that a flow has left is taken by the next one, with the memory of
/// its queues.
#[derive(Debug)]
pub(crate) struct FlowTable {
    slots: Vec<Flow>,
    /// Places that flows have left.
    free: Vec<u32>,
}

/// Which ends of a flow are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    Sender,
    Receiver,
    Both,
}

impl FlowTable {
    /// None yet, with memory for so many if it can be had: to grow into it would take what it needs
    /// twice.
    pub(crate) fn with_capacity(flows: usize) -> Self {
        let mut slots = Vec::new();
        // If not, it grows as flows come.
        let _ = slots.try_reserve_exact(flows);
        Self { slots, free: Vec::new() }
    }

    /// Begins a flow and returns its place.
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

    /// Forgets the flow in this place, which is over.
    pub(crate) fn release(&mut self, slot: usize) {
        let flow = &mut self.slots[slot];
        if !std::mem::replace(&mut flow.is_free, true) {
            // Memory ends before places do.
            self.free.extend(u32::try_from(slot));
        }
    }

    /// Whether they are so many that a processor's own cache (1 MB, give or take) doesn't hold them
    /// beside all else.
    #[inline]
    pub(crate) const fn exceeds_cache(&self) -> bool {
        self.slots.len() > (1 << 19) / size_of::<Flow>()
    }

    /// Has what these ends of the flow in this place need for a packet fetched into the cache.
    #[inline]
    pub(crate) fn prefetch_ends(&self, slot: usize, ends: Ends) {
        match ends {
            Ends::Sender => self.prefetch_parts(slot, [Flow::SENDING]),
            Ends::Receiver => self.prefetch_parts(slot, [Flow::RECEIVING]),
            Ends::Both => self.prefetch_parts(slot, [Flow::SENDING, Flow::RECEIVING]),
        }
    }

    /// Has what says when the flow in this place is due fetched.
    #[inline]
    pub(crate) fn prefetch_deadlines(&self, slot: usize) {
        self.prefetch_parts(slot, Flow::DEADLINES);
    }

    /// Has what a timer of the flow in this place asks for fetched.
    #[inline]
    pub(crate) fn prefetch_expiring(&self, slot: usize) {
        self.prefetch_parts(slot, Flow::EXPIRING);
    }

    /// Has these parts of the flow in this place fetched, and what is usual.
    #[inline]
    fn prefetch_parts<const PARTS: usize>(&self, slot: usize, parts: [Range<usize>; PARTS]) {
        let Some(flow) = self.slots.get(slot) else { return };
        prefetch(flow, Flow::USUAL);
        for bytes in parts {
            prefetch(flow, bytes);
        }
    }

    /// Has the queues that a packet for this end of the flow in this place asks for fetched: that
    /// of a receiver who acts ahead of time, too.
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

    /// The flow in this place, if it is alive.
    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut Flow> {
        self.slots.get_mut(slot).filter(|flow| !flow.is_free)
    }

    /// Those alive, by place and so in no order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.slots.iter().filter(|flow| !flow.is_free)
    }

    /// The same, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.slots.iter_mut().filter(|flow| !flow.is_free)
    }

    /// The same with their places.
    pub(crate) fn slots(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.slots.iter().enumerate().filter(|(_, flow)| !flow.is_free)
    }

    /// How many are alive.
    pub(crate) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
}

/// A place that a flow is in: a packet on the network keeps its flow alive.
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
