//! The event loop.
//!
//! Events have a total order: time, then [`Class`], then the number of the link, flow or workload.
//! A different order would change every result.
//!
//! Three properties keep an event cheap. A link is a ring of which only the head is scheduled (see
//! [`crate::network`]). A flow has one timer entry, which is checked when it is due instead of
//! being moved with every deadline. No memory is allocated per packet.

use link::Outcome;
use units::{Duration, Instant};

use crate::custom::CustomModels;
use crate::flows::{Flow, FlowTable, Name, prefetch};
use crate::lookahead::LookAhead;
use crate::network::{End, Packet};
use crate::plan::Plan;
use crate::recorder::trace::Entry;
use crate::scenario::{Scenario, ScenarioError};
use crate::shared::Shared;
use crate::streams::{Seed, flow_identity};
use crate::tables::{Flows, Links, Names, PacketEvent, Packets, Recoveries, Samples, names};
use crate::timers::{Class, Timer};

mod context;
mod sampling;
mod stages;

use context::Context;
use stages::Stage;

/// The status of a run after [`Simulation::advance`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Events are left.
    Running,
    /// The end of the run has been reached.
    Done,
}

/// A run in progress.
///
/// # Driving
/// Call [`advance`](Self::advance) until it returns [`Status::Done`]. Take rows out in between, to
/// limit memory. The rows do not depend on how the run is divided into calls.
#[derive(Debug)]
pub struct Simulation {
    context: Context,
    flows: FlowTable,
    started: u64,
    events: u64,
    link_names: Names,
    stage: Stage,
}

impl Simulation {
    /// A run of `scenario` with the random seed `seed`.
    ///
    /// # Errors
    /// The first invalid key of the scenario.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, ScenarioError> {
        Self::with_models(scenario, seed, &CustomModels::default())
    }

    /// A run of `scenario` with models that the caller implements.
    ///
    /// # Errors
    /// The first invalid key of the scenario, or a model that does not fit the scenario.
    pub fn with_models(
        scenario: &Scenario,
        seed: u64,
        models: &CustomModels,
    ) -> Result<Self, ScenarioError> {
        let mut plan = Plan::new(scenario)?;
        models.apply(&mut plan)?;
        let link_names = names(plan.links.iter().map(|link| link.name.as_str()));
        let endless =
            plan.workloads.iter().map(|workload| workload.demand.endless() as usize).sum();
        Ok(Self {
            context: Context {
                lookahead: LookAhead::new(&plan),
                shared: Shared::new(plan, Seed(seed), &link_names),
            },
            flows: FlowTable::with_capacity(endless),
            started: 0,
            events: 0,
            link_names,
            stage: Stage::Counting,
        })
    }

    /// Handles up to `max_events` events.
    pub fn advance(&mut self, max_events: u64) -> Status {
        let limit = self.events.saturating_add(max_events);
        while self.events < limit {
            self.handle_events(limit);
            if self.events < limit && !self.end_stage() {
                return Status::Done;
            }
        }
        Status::Running
    }

    /// Handles events until `limit` events have been handled or the stage ends.
    // A function of its own for profile-guided optimisation: with the end of a run in the same
    // body, the loop takes 6 to 9 % more CPU time (benches/README.md, "The event loop").
    #[inline(never)]
    fn handle_events(&mut self, limit: u64) {
        while self.events < limit {
            if self.context.shared.timers.needs_refill() {
                self.flows.refill(&mut self.context.shared.timers);
            }
            let delivery = self.context.shared.network.next_delivery();
            let timer = self.context.shared.timers.next();
            let next = delivery.min(timer);
            if next > self.context.shared.end || next == Instant::NEVER {
                return;
            }
            self.context.shared.now = next;
            self.events += 1;
            if delivery <= timer {
                self.deliver();
            } else {
                self.fire();
            }
        }
    }

    /// The current simulated time.
    pub fn now(&self) -> Instant {
        self.context.shared.now
    }

    /// The simulated time over which statistics are collected. A run that drains continues beyond
    /// it.
    pub fn duration(&self) -> Duration {
        self.context.shared.plan.duration
    }

    /// The number of events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The number of rows that have not been taken.
    pub fn buffered_rows(&self) -> usize {
        self.context.shared.recorder.rows()
    }

    /// The number of active flows.
    pub fn active_flows(&self) -> usize {
        self.flows.len()
    }

    /// Takes the rows about flows recorded since the last call.
    pub fn take_flows(&mut self) -> Flows {
        self.context.shared.recorder.flows.take()
    }

    /// Takes the rows about recoveries recorded since the last call.
    pub fn take_recoveries(&mut self) -> Recoveries {
        self.context.shared.recorder.recoveries.take()
    }

    /// Takes the samples recorded since the last call.
    pub fn take_samples(&mut self) -> Samples {
        self.context.shared.recorder.samples.take()
    }

    /// Takes the packets of traced workloads recorded since the last call.
    pub fn take_packets(&mut self) -> Packets {
        self.context.shared.recorder.packets.take()
    }

    /// Disables look-ahead: from now on every packet is an event when it arrives.
    pub(crate) fn stop_looking_ahead(&mut self) {
        self.context.lookahead.stop(self.flows.iter_mut());
    }

    /// The active flow with this number.
    pub(crate) fn flow(&self, serial: u64) -> Option<&Flow> {
        self.flows.iter().find(|flow| flow.serial == serial)
    }

    /// The plan of the run.
    pub(crate) fn plan(&self) -> &Plan {
        &self.context.shared.plan
    }

    /// Records every packet from now on, for [`crate::pcap::Capture`].
    pub(crate) fn start_trace(&mut self) {
        self.stop_looking_ahead();
        self.context.shared.recorder.start_trace(&self.context.shared.plan);
    }

    /// Takes the trace entries recorded since the last call, for a capture.
    pub(crate) fn take_trace(&mut self) -> Vec<Entry> {
        self.context.shared.recorder.trace.as_mut().map(|trace| trace.take()).unwrap_or_default()
    }

    /// The links' books from the end of the warm-up up to now, or up to the scenario's `duration`.
    ///
    /// Before `duration`, a link that carries only acknowledgments may be ahead of the current time
    /// because of look-ahead. Its books then include acknowledgments sent ahead of time.
    pub fn links(&mut self) -> Links {
        match &self.stage {
            Stage::Counting => {
                self.context.shared.network.table(&self.link_names, self.context.shared.now)
            }
            Stage::Draining(links) | Stage::Done(links) => links.clone(),
        }
    }

    fn deliver(&mut self) {
        let Some(packet) = self.context.shared.network.arriving() else {
            return self.apply_verdicts();
        };
        if !packet.at_last {
            return self.forward();
        }
        let slot = packet.slot as usize;
        let end = packet.end();
        let now = self.context.shared.now;
        let flow = &mut self.flows[slot];
        self.context.shared.recorder.packet(now, flow, packet, PacketEvent::Arrived);
        flow.in_network -= 1;
        flow.end(end).on_segment(&packet.segment, now);
        let link = self.context.shared.network.arriving_link();
        self.context.shared.network.deliver();
        prefetch::before_delivery(&self.flows, &self.context.shared.network, link, |workload| {
            self.context.lookahead.applies_to(workload)
        });
        let flow = &mut self.flows[slot];
        let both_act = flow.is_ahead;
        if end == End::Sender {
            self.context.serve_sender(slot, flow);
        } else {
            flow.read(now);
            self.context.flush_receiver(slot, flow);
        }
        let due = if both_act { flow.next_timeout() } else { flow.next_timeout_at(end) };
        if self.context.shared.update_timer_or_finish(slot, flow, due) {
            self.flows.release(slot);
        }
    }

    /// Puts the arriving packet on the next link of its path.
    #[inline(never)]
    fn forward(&mut self) {
        let Some(mut packet) = self.context.shared.network.deliver() else { return };
        packet.hop += 1;
        let outcome = self.context.shared.network.forward(self.context.shared.now, &packet);
        if outcome != Outcome::Accepted {
            self.on_link_outcome(&packet, outcome);
        }
    }

    /// Handles a deferred verdict, or an outcome other than immediate acceptance of a forwarded
    /// packet.
    fn on_link_outcome(&mut self, packet: &Packet, outcome: Outcome) {
        let slot = packet.slot as usize;
        let flow = &mut self.flows[slot];
        self.context.shared.recorder.on_link_outcome(
            self.context.shared.now,
            flow,
            packet,
            outcome,
        );
        if !outcome.is_accepted() {
            flow.in_network -= 1;
            self.update_timer_or_finish(slot);
        }
    }

    /// Updates a flow's timer after an event that may have changed any of its deadlines, or
    /// releases its slot if it is finished.
    fn update_timer_or_finish(&mut self, slot: usize) {
        let flow = &mut self.flows[slot];
        let due = flow.next_timeout();
        if self.context.shared.update_timer_or_finish(slot, flow, due) {
            self.flows.release(slot);
        }
    }

    /// Applies deferred drop and mark decisions of a link.
    #[cold]
    fn apply_verdicts(&mut self) {
        while let Some((packet, outcome)) =
            self.context.shared.network.poll_verdict(self.context.shared.now)
        {
            self.on_link_outcome(&packet, outcome);
        }
    }

    /// Handles the next timer.
    // Out of line: most events are packets. Inlined, timers and starts of flows take registers from
    // the loop, which costs 0.9 % of all instructions.
    #[inline(never)]
    fn fire(&mut self) {
        let Some(timer) = self.context.shared.timers.pop() else { return };
        prefetch::before_timer(&self.flows, &self.context.shared.timers);
        match timer.class {
            Class::Flow => self.on_flow_timer(&timer),
            Class::Start => self.start(timer.slot as usize),
            Class::WarmUp => self.end_warm_up(),
            Class::Sample => self.sample(),
        }
    }

    /// Handles a flow's timer entry. Its deadline may have moved since the entry was made.
    fn on_flow_timer(&mut self, timer: &Timer) {
        let slot = timer.slot as usize;
        let now = self.context.shared.now;
        let Some(flow) = self.flows.get_mut(slot).filter(|flow| flow.is_current_timer(timer))
        else {
            return;
        };
        flow.scheduled = Instant::NEVER;
        if flow.receiver.next_timeout() <= now {
            flow.receiver.on_timeout(now);
            self.context.flush_receiver(slot, flow);
        }
        let timed_out = flow.sender.next_timeout() <= now;
        if timed_out {
            flow.expire(now);
        }
        if flow.take_deferred(now) {
            flow.active_at = now;
            self.context.flush_sender(slot, flow);
        } else if timed_out {
            self.context.serve_sender(slot, flow);
        }
        self.update_timer_or_finish(slot);
    }

    fn start(&mut self, workload: usize) {
        let shared = &mut self.context.shared;
        let Some((start, index)) = shared.take_start(workload) else { return };
        let Some(endpoints) = shared.endpoints(workload, start.sender) else { return };
        let name = Name {
            serial: self.started,
            index,
            workload: u16::try_from(workload).unwrap_or(u16::MAX),
            identity: flow_identity(&shared.plan.workloads[workload].name, u64::from(index)),
        };
        let slot = self.flows.start(endpoints, name, start);
        self.started += 1;
        let flow = &mut self.flows[slot];
        self.context.lookahead.start(flow);
        self.context.flush_receiver(slot, flow);
        self.context.serve_sender(slot, flow);
        self.update_timer_or_finish(slot);
    }
}
