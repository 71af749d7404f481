//! Samples of queues and senders at regular times.

use super::Simulation;
use crate::convert::{float, signed};
use crate::flows::Flow;
use crate::tables::{Object, Quantity};
use crate::timers::Class;

impl Simulation {
    /// Takes the samples of this time, and schedules the next ones.
    pub(super) fn sample(&mut self) {
        let Some(plan) = &self.context.shared.plan.samples else { return };
        let now = self.context.shared.now;
        let mut push = |object, quantity, value| {
            self.context.shared.recorder.sample(now, object, quantity, value);
        };
        for &link in &plan.links {
            let queue = self.context.shared.network.queue(link, self.context.shared.now);
            let object = Object::Link(u32::try_from(link).unwrap_or(u32::MAX));
            push(object, Quantity::QueueBytes, float(queue.bytes));
            push(object, Quantity::QueuePackets, float(queue.packets));
        }
        // Slots are reused, so their order is not the order of starting.
        let wanted = |flow: &&Flow| plan.workloads.contains(&usize::from(flow.workload));
        let mut flows: Vec<&Flow> = self.flows.iter().filter(wanted).collect();
        flows.sort_unstable_by_key(|flow| flow.serial);
        for flow in flows {
            let object = Object::Flow { workload: u32::from(flow.workload), flow: flow.index };
            push(object, Quantity::CwndBytes, f64::from(flow.sender.cwnd()));
            push(object, Quantity::SsthreshBytes, f64::from(flow.sender.ssthresh()));
            push(object, Quantity::FlightBytes, f64::from(flow.sender.flight()));
            if let Some(path) = flow.sender.path() {
                push(object, Quantity::ForwardDelay, 1e-9 * signed(path.forward_ns));
                push(object, Quantity::ReturnDelay, 1e-9 * signed(path.return_ns));
                push(object, Quantity::WaitingPackets, 1e-6 * signed(path.waiting_millionths));
                push(object, Quantity::ForwardReordered, float(path.forward_reordered));
                push(object, Quantity::ReturnReordered, float(path.return_reordered));
            }
        }
        let next = self.context.shared.now + plan.every;
        if next <= self.context.shared.plan.end() {
            self.context.shared.schedule(next, Class::Sample);
        }
    }
}
