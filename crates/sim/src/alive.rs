//! The flows alive, each in a place of its own.

use std::ops::{Index, IndexMut, Range};

use crate::flow::{End, Endpoints, Flow, Name};
use crate::prefetch::{prefetch, prefetch_line};
use crate::workload::FlowStart;

/// Flows by their place. A place that a flow has left is taken by the next one, with the memory of
/// its queues.
#[derive(Debug)]
pub(crate) struct Alive {
    places: Vec<Flow>,
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

impl Alive {
    /// None yet, with memory for so many if it can be had: to grow into it would take what it needs
    /// twice.
    pub(crate) fn with_room_for(flows: usize) -> Self {
        let mut places = Vec::new();
        // If not, it grows as flows come.
        let _ = places.try_reserve_exact(flows);
        Self { places, free: Vec::new() }
    }

    /// Begins a flow and returns its place.
    pub(crate) fn start(&mut self, endpoints: &Endpoints, name: Name, start: FlowStart) -> usize {
        let mut flow = Flow::new(endpoints, name, start);
        let place = if let Some(place) = self.free.pop() {
            let place = place as usize;
            flow.inherit(&mut self.places[place]);
            self.places[place] = flow;
            place
        } else {
            self.places.push(flow);
            self.places.len() - 1
        };
        self.places[place].write();
        place
    }

    /// Forgets the flow in this place, which is over.
    pub(crate) fn forget(&mut self, place: usize) {
        let flow = &mut self.places[place];
        if !std::mem::replace(&mut flow.forgotten, true) {
            // Memory ends before places do.
            self.free.extend(u32::try_from(place));
        }
    }

    /// Whether they are so many that a processor's own cache (1 MB, give or take) doesn't hold them
    /// beside all else.
    #[inline]
    pub(crate) const fn are_beyond_cache(&self) -> bool {
        self.places.len() > (1 << 19) / size_of::<Flow>()
    }

    /// Has what these ends of the flow in this place need for a packet fetched into the cache.
    #[inline]
    pub(crate) fn fetch(&self, place: usize, ends: Ends) {
        match ends {
            Ends::Sender => self.fetch_parts(place, [Flow::SENDING]),
            Ends::Receiver => self.fetch_parts(place, [Flow::RECEIVING]),
            Ends::Both => self.fetch_parts(place, [Flow::SENDING, Flow::RECEIVING]),
        }
    }

    /// Has what says when the flow in this place is due fetched.
    #[inline]
    pub(crate) fn fetch_deadlines(&self, place: usize) {
        self.fetch_parts(place, Flow::DEADLINES);
    }

    /// Has what a timer of the flow in this place asks for fetched.
    #[inline]
    pub(crate) fn fetch_timers(&self, place: usize) {
        self.fetch_parts(place, Flow::EXPIRING);
    }

    /// Has these parts of the flow in this place fetched, and what is usual.
    #[inline]
    fn fetch_parts<const PARTS: usize>(&self, place: usize, parts: [Range<usize>; PARTS]) {
        let Some(flow) = self.places.get(place) else { return };
        prefetch(flow, Flow::USUAL);
        for bytes in parts {
            prefetch(flow, bytes);
        }
    }

    /// Has the queues that a packet for this end of the flow in this place asks for fetched: that
    /// of a receiver who acts ahead of time, too.
    #[inline]
    pub(crate) fn fetch_queues(&self, place: usize, end: End) {
        let Some(flow) = self.places.get(place) else { return };
        if end == End::Sender {
            flow.sender.sending_queue().into_iter().for_each(prefetch_line);
        }
        if end == End::Receiver || flow.is_ahead {
            prefetch_line(flow.receiver.receiving_queue());
        }
    }

    /// The flow in this place, if it is alive.
    pub(crate) fn get_mut(&mut self, place: usize) -> Option<&mut Flow> {
        self.places.get_mut(place).filter(|flow| !flow.forgotten)
    }

    /// Those alive, by place and so in no order of time.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Flow> {
        self.places.iter().filter(|flow| !flow.forgotten)
    }

    /// The same, to be changed.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Flow> {
        self.places.iter_mut().filter(|flow| !flow.forgotten)
    }

    /// The same with their places.
    pub(crate) fn places(&self) -> impl Iterator<Item = (usize, &Flow)> {
        self.places.iter().enumerate().filter(|(_, flow)| !flow.forgotten)
    }

    /// How many are alive.
    pub(crate) fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

/// A place that a flow is in: a packet on the network keeps its flow alive.
impl Index<usize> for Alive {
    type Output = Flow;
    fn index(&self, place: usize) -> &Flow {
        &self.places[place]
    }
}

impl IndexMut<usize> for Alive {
    fn index_mut(&mut self, place: usize) -> &mut Flow {
        &mut self.places[place]
    }
}
