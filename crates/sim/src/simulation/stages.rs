//! The stages of a run: warm-up, statistics, and the completion of flows that count (`drain`).

use super::Simulation;
use crate::flows::Flow;
use crate::tables::Links;

/// The stage of a run.
#[derive(Debug)]
pub(super) enum Stage {
    /// Statistics are being collected.
    Counting,
    /// Statistics have ended, with these books of the links. Some flows that count are still
    /// incomplete.
    Draining(Links),
    /// The run has ended. The books are those at the end of the statistics.
    Done(Links),
}

impl Simulation {
    /// Ends the warm-up: statistics start.
    pub(super) fn end_warm_up(&mut self) {
        let now = self.context.shared.now;
        let past = self.context.lookahead.end_warm_up();
        self.context.shared.end = self.context.shared.plan.end();
        self.context.shared.network.end_warm_up(now, &past.links);
        self.context.shared.recorder.end_warm_up(now, self.flows.iter(), &past.received);
    }

    /// Ends a stage of the run, at its end time or when no events are left. Returns true if the run
    /// continues, to complete the flows that count.
    #[cold]
    #[inline(never)]
    pub(super) fn end_stage(&mut self) -> bool {
        match &mut self.stage {
            Stage::Counting => {
                self.context.shared.now = self.context.shared.end;
                let links = self.links();
                self.context.shared.awaited =
                    self.unfinished(|flow| flow.start.size().is_some()).len();
                if self.context.shared.awaited == 0 || self.context.shared.plan.drain.is_zero() {
                    self.record_unfinished(|_| true);
                    self.stage = Stage::Done(links);
                    return false;
                }
                self.record_unfinished(|flow| flow.start.size().is_none());
                // No flow is ahead of this time. Look-ahead ends for all flows: if only some were
                // ahead, their acknowledgments would be out of order.
                self.stop_looking_ahead();
                self.context.shared.end = self.context.shared.plan.limit();
                self.stage = Stage::Draining(links);
                true
            }
            Stage::Draining(links) => {
                let links = std::mem::replace(links, Links::new(&self.link_names));
                self.context.shared.now = self.context.shared.end;
                self.record_unfinished(|_| true);
                self.stage = Stage::Done(links);
                false
            }
            Stage::Done(_) => false,
        }
    }

    /// The slots of the flows that will have a row and do not have one yet, in order of starting.
    fn unfinished(&self, wanted: impl Fn(&Flow) -> bool) -> Vec<usize> {
        let counts = |flow: &Flow| {
            self.context.shared.plan.counts(flow.start.at) || flow.start.size().is_none()
        };
        let left =
            self.flows.slots().filter(|(_, flow)| !flow.recorded && counts(flow) && wanted(flow));
        let mut left: Vec<_> = left.map(|(slot, flow)| (flow.serial, slot)).collect();
        left.sort_unstable();
        left.into_iter().map(|(_, slot)| slot).collect()
    }

    /// Records the unfinished flows that are `wanted` in their current state.
    fn record_unfinished(&mut self, wanted: impl Fn(&Flow) -> bool) {
        let left = self.unfinished(wanted);
        self.context.shared.recorder.flows.reserve(left.len());
        for slot in left {
            let flow = &mut self.flows[slot];
            flow.recorded = true;
            self.context.shared.recorder.flow(self.context.shared.now, flow);
        }
    }
}
