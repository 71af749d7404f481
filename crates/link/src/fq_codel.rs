//! Flow queueing with controlled delay (RFC 8290): packets are divided among queues by flow, the
//! queues take turns by deficit round-robin, and CoDel applies to each of them.

use std::collections::VecDeque;

use units::{Duration, Instant};

use crate::codel::{CoDel, CoDelFlow};
use crate::error::ConfigError;
use crate::scheduled::{Scheduler, Waiting};

/// The parameters of FQ-CoDel, with the RFC's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FqCoDel {
    codel: CoDel,
    flows: u32,
    quantum: u32,
}

impl FqCoDel {
    /// The default number of queues (§5.2.4).
    pub const FLOWS: u32 = 1024;
    /// The maximum number of queues.
    pub const MAX_FLOWS: u32 = 65_536;
    /// The default of the bytes that a queue may send in a turn: an Ethernet frame (§5.2.3).
    pub const QUANTUM: u32 = 1514;

    /// FQ-CoDel with this number of queues and the default quantum.
    ///
    /// # Errors
    /// Unless there are 1 to 65 536 queues.
    pub const fn new(codel: CoDel, flows: u32) -> Result<Self, ConfigError> {
        if flows == 0 || flows > Self::MAX_FLOWS {
            return Err(ConfigError::FqFlows(flows));
        }
        Ok(Self { codel, flows, quantum: Self::QUANTUM })
    }

    /// Sets the bytes that a queue may send in a turn.
    ///
    /// # Errors
    /// If `quantum` is zero.
    pub const fn with_quantum(self, quantum: u32) -> Result<Self, ConfigError> {
        if quantum == 0 {
            return Err(ConfigError::FqQuantum);
        }
        Ok(Self { quantum, ..self })
    }
}

/// The queues and the two lists of the scheduler (§3.2 and §4.2), as indexes of queues.
#[derive(Debug)]
pub(crate) struct FairQueues {
    config: FqCoDel,
    queues: Vec<FairQueue>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

#[derive(Debug, Default)]
struct FairQueue {
    flow: CoDelFlow,
    /// The bytes that the queue may still send in its turn.
    credits: i64,
    /// The queue is in one of the lists.
    active: bool,
}

impl FairQueues {
    pub(crate) fn new(config: FqCoDel) -> Self {
        let queues = (0..config.flows).map(|_| FairQueue::default()).collect();
        Self { config, queues, new: VecDeque::new(), old: VecDeque::new() }
    }
}

impl Scheduler for FairQueues {
    const EVICTS: bool = true;

    /// §4.1: a queue that was inactive joins the list of new queues, with a quantum of credits.
    fn push(&mut self, flow: u64, packet: Waiting) {
        // The high bits of a product distribute the flows as a remainder does, whatever the number.
        let hash = units::hash::mix(flow);
        let index = (u128::from(hash) * u128::from(self.config.flows)) >> 64;
        let index = usize::try_from(index).unwrap_or(0);
        let Some(queue) = self.queues.get_mut(index) else { return };
        queue.flow.push(packet);
        if !queue.active {
            queue.active = true;
            queue.credits = i64::from(self.config.quantum);
            self.new.push_back(index);
        }
    }

    /// §4.2: the first new queue, else the first old queue. A queue without credits gets a quantum
    /// and goes to the end of the old queues. An empty new queue goes there as well, so that a flow
    /// of single packets does not always precede the others. An empty old queue becomes inactive.
    fn pop(&mut self, now: Instant, dropped: &mut Vec<Waiting>) -> Option<(Waiting, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let queue = self.queues.get_mut(index)?;
            if queue.credits <= 0 {
                queue.credits += i64::from(self.config.quantum);
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            if let Some((packet, marked)) = queue.flow.dequeue(self.config.codel, now, dropped) {
                queue.credits -= i64::from(packet.bytes);
                return Some((packet, marked));
            }
            list.pop_front();
            if is_new {
                self.old.push_back(index);
            } else {
                queue.active = false;
            }
        }
    }

    /// §4.1: the first packet of the queue with the most bytes. Unlike §5.2.2, which drops up to 64
    /// packets at once to save computing time.
    fn evict(&mut self) -> Option<Waiting> {
        let active = self.new.iter().chain(&self.old);
        let bytes = |index: &usize| self.queues.get(*index).map(|queue| queue.flow.waiting_bytes());
        // The first one, if several have the most.
        let fattest = active.rev().max_by_key(|index| bytes(index)).copied()?;
        self.queues.get_mut(fattest)?.flow.pop()
    }

    /// The configuration of FQ-CoDel is fixed.
    fn change(&mut self, _codel: (Duration, Duration, bool)) {}

    fn for_each(&mut self, act: &mut dyn FnMut(&mut Waiting)) {
        for queue in &mut self.queues {
            queue.flow.for_each(act);
        }
    }
}

#[cfg(test)]
mod tests;
