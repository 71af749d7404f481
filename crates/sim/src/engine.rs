//! The event loop.
//!
//! Events have a total order: time, then [`Class`], then the number of the link, flow or workload. Changing it
//! changes every result.
//!
//! What makes it fast: a link is a ring of which only the head waits to be delivered (see [`crate::network`]); a flow
//! has one entry among the timers, which is looked at again when its time comes instead of being moved whenever a
//! deadline moves; and nothing is allocated for a packet.

use link::Outcome;
use tcp::{Event, Repair};
use units::{Duration, Instant};

use crate::alive::Alive;
use crate::flow::{End, Endpoints, Flow, Name};
use crate::network::{Network, Packet, Way, share, wire_bytes};
use crate::plan::Plan;
use crate::prefetch::prefetch;
use crate::record::Recorded;
use crate::scenario::{Scenario, ScenarioError};
use crate::streams::{Seed, Stream, flow_identity};
use crate::tables::{
    Flows, Links, Names, Object, PacketEvent, Packets, Quantity, Recoveries, Samples, names,
};
use crate::timers::{Class, Timer, Timers};
use crate::trace::Entry;
use crate::workload::{FlowStart, Starts};

/// Whether there is more to simulate.
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
/// Call [`advance`](Self::advance) until it says [`Status::Done`], taking rows out in between as memory demands; the
/// rows are the same however the run is divided.
#[derive(Debug)]
pub struct Simulation {
    plan: Plan,
    end: Instant,
    now: Instant,
    events: u64,
    network: Network,
    flows: Alive,
    started: u64,
    timers: Timers,
    sources: Vec<Source>,
    link_names: Names,
    recorded: Recorded,
    done: bool,
}

/// Where the flows of a workload come from.
#[derive(Debug)]
struct Source {
    starts: Starts,
    next: Option<FlowStart>,
    count: u32,
    /// By sender; `None` for those that the workload doesn't use.
    endpoints: Vec<Option<Endpoints>>,
    header: Option<u16>,
    /// Where the way of its data begins, and that of its acknowledgments: the link, and whether it is the only one.
    first_links: [(u32, bool); 2],
    jitter: Option<(Duration, Stream)>,
}

impl Simulation {
    /// A run of `scenario` with the randomness of `seed`.
    ///
    /// # Errors
    /// The first thing wrong with the scenario.
    pub fn new(scenario: &Scenario, seed: u64) -> Result<Self, ScenarioError> {
        let plan = Plan::new(scenario)?;
        let seed = Seed(seed);
        let network = Network::new(&plan, seed);
        let link_names = names(plan.links.iter().map(|link| link.name.as_str()));
        let endless = plan.workloads.iter().map(|workload| workload.demand.endless() as usize).sum();
        let mut simulation = Self {
            end: plan.end(),
            now: Instant::ZERO,
            events: 0,
            flows: Alive::with_room_for(endless),
            started: 0,
            timers: Timers::new(),
            sources: sources(&plan, &network, seed),
            network,
            recorded: Recorded::new(&plan, &link_names),
            link_names,
            done: false,
            plan,
        };
        for number in 0..simulation.sources.len() {
            simulation.schedule_start(number);
        }
        if simulation.plan.warm_up > Instant::ZERO {
            simulation.schedule(simulation.plan.warm_up, Class::WarmUp);
        }
        if let Some(samples) = &simulation.plan.samples {
            simulation.schedule(Instant::ZERO + samples.every, Class::Sample);
        }
        Ok(simulation)
    }

    /// Handles up to `max_events` events.
    // The same code for every driver: what a driver's loop would make of it differs by a few per cent.
    #[inline(never)]
    pub fn advance(&mut self, max_events: u64) -> Status {
        for _ in 0..max_events {
            if self.timers.is_dry() {
                self.refill_timers();
            }
            let delivery = self.network.next_delivery();
            let timer = self.timers.next();
            let next = delivery.min(timer);
            if next > self.end || next == Instant::NEVER {
                self.finish();
                return Status::Done;
            }
            self.now = next;
            self.events += 1;
            if delivery <= timer {
                self.deliver();
            } else {
                self.fire();
            }
        }
        Status::Running
    }

    /// The simulated time reached.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// The simulated time of the whole run.
    pub fn duration(&self) -> Duration {
        self.plan.duration
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Rows that wait to be taken.
    pub fn buffered_rows(&self) -> usize {
        self.recorded.rows()
    }

    /// Flows that are alive.
    pub fn active_flows(&self) -> usize {
        self.flows.len()
    }

    /// Takes the rows about flows recorded since the last call.
    pub fn take_flows(&mut self) -> Flows {
        self.recorded.flows.take()
    }

    /// Takes the rows about recoveries recorded since the last call.
    pub fn take_recoveries(&mut self) -> Recoveries {
        self.recorded.recoveries.take()
    }

    /// Takes the samples recorded since the last call.
    pub fn take_samples(&mut self) -> Samples {
        self.recorded.samples.take()
    }

    /// Takes the packets of traced workloads recorded since the last call.
    pub fn take_packets(&mut self) -> Packets {
        self.recorded.packets.take()
    }

    /// Records every packet from now on, for [`crate::pcap::Capture`].
    pub(crate) fn start_trace(&mut self) {
        self.recorded.start_trace(&self.plan);
    }

    /// Takes what a capture is made of, recorded since the last call.
    pub(crate) fn take_trace(&mut self) -> Vec<Entry> {
        self.recorded.trace.as_mut().map(|trace| trace.take()).unwrap_or_default()
    }

    /// What happened on the links from the end of the warm-up up to now.
    pub fn links(&mut self) -> Links {
        self.network.table(&self.link_names, self.now)
    }

    fn deliver(&mut self) {
        let Some(packet) = self.network.arriving() else { return self.attend() };
        if !packet.at_last {
            return self.forward();
        }
        let slot = packet.slot as usize;
        let end = packet.end();
        let now = self.now;
        let flow = &mut self.flows[slot];
        self.recorded.packet(now, flow, packet, PacketEvent::Arrived);
        flow.in_network -= 1;
        flow.end(end).on_segment(&packet.segment, now);
        let link = self.network.arriving_on();
        self.network.deliver();
        if self.flows.are_beyond_cache() {
            self.fetch_ahead(link);
        }
        if end == End::Sender {
            self.serve_sender(slot);
        } else {
            self.flows[slot].read(now);
            self.drain(slot, End::Receiver);
        }
        let due = self.flows[slot].next_timeout_at(end);
        self.settle(slot, due);
    }

    /// Has what the next packets of this link need fetched, where there is too much of it to be at hand: first the packet, which
    /// says where it arrives, then that end, which says where its queue is, then the queue.
    #[inline]
    fn fetch_ahead(&self, link: u32) {
        const PACKET: usize = 8;
        const END: usize = 4;
        const QUEUE: usize = 2;
        if let Some(packet) = self.network.upcoming(link, PACKET) {
            prefetch(packet, 0..size_of::<Packet>());
        }
        if let Some(packet) = self.network.upcoming(link, END) {
            self.flows.fetch(packet.slot as usize, packet.end());
        }
        if let Some(packet) = self.network.upcoming(link, QUEUE) {
            self.flows.fetch_queue(packet.slot as usize, packet.end());
        }
    }

    /// The same for the timers that are due next: the flow, and when it is the next one, its queue.
    fn fetch_timers(&self) {
        let mut next = self.timers.foremost();
        if let Some(first) = next.next() {
            self.flows.fetch_queue(first.slot as usize, End::Sender);
        }
        next.take(2).for_each(|timer| self.flows.fetch_timers(timer.slot as usize));
    }

    /// A packet goes on to the next link of its way.
    #[inline(never)]
    fn forward(&mut self) {
        let Some(mut packet) = self.network.deliver() else { return };
        packet.hop += 1;
        let outcome = self.network.forward(self.now, &packet);
        if outcome != Outcome::Accepted {
            self.link_did(&packet, outcome);
        }
    }

    /// Something other than accepting a packet as it is, on its way.
    fn link_did(&mut self, packet: &Packet, outcome: Outcome) {
        let slot = packet.slot as usize;
        let flow = &mut self.flows[slot];
        self.recorded.link_did(self.now, flow, packet, outcome);
        if !outcome.is_accepted() {
            flow.in_network -= 1;
            let due = flow.next_timeout();
            self.settle(slot, due);
        }
    }

    /// A link that decides late has decided.
    #[cold]
    fn attend(&mut self) {
        while let Some((packet, outcome)) = self.network.attend(self.now) {
            self.link_did(&packet, outcome);
        }
    }

    fn fire(&mut self) {
        let Some(timer) = self.timers.pop() else { return };
        if self.flows.are_beyond_cache() {
            self.fetch_timers();
        }
        match timer.class {
            Class::Flow => self.flow_due(&timer),
            Class::Start => self.start(timer.slot as usize),
            Class::WarmUp => self.network.reset_statistics(self.now),
            Class::Sample => self.sample(),
        }
    }

    /// Looks at the entries that come next, and puts off those of deadlines that have moved on.
    #[inline(never)]
    fn refill_timers(&mut self) {
        let flows = &mut self.flows;
        self.timers.refill(|timer, soon| {
            if flows.are_beyond_cache()
                && let Some(soon) = soon
            {
                flows.fetch_deadlines(soon.slot as usize);
            }
            if timer.class != Class::Flow {
                return Some(timer.at);
            }
            let flow = flows.get_mut(timer.slot as usize).filter(|flow| flow.awaits(timer))?;
            flow.scheduled = flow.next_timeout();
            (flow.scheduled != Instant::NEVER).then_some(flow.scheduled)
        });
    }

    /// A flow's entry has come up; its deadline may have moved on in the meantime.
    fn flow_due(&mut self, timer: &Timer) {
        let slot = timer.slot as usize;
        let now = self.now;
        let Some(flow) = self.flows.get_mut(slot).filter(|flow| flow.awaits(timer)) else { return };
        flow.scheduled = Instant::NEVER;
        if flow.receiver.next_timeout() <= now {
            flow.receiver.on_timeout(now);
            self.drain(slot, End::Receiver);
        }
        let flow = &mut self.flows[slot];
        let timed_out = flow.sender.next_timeout() <= now;
        if timed_out {
            flow.expire(now);
        }
        if flow.send_at <= now {
            flow.send_at = Instant::NEVER;
            flow.active_at = now;
            self.drain(slot, End::Sender);
        } else if timed_out {
            self.serve_sender(slot);
        }
        let due = self.flows[slot].next_timeout();
        self.settle(slot, due);
    }

    fn start(&mut self, number: usize) {
        let serial = self.started;
        let source = &mut self.sources[number];
        let Some(start) = source.next.take() else { return };
        let index = source.count;
        source.count += 1;
        self.schedule_start(number);
        let identity = flow_identity(&self.plan.workloads[number].name, u64::from(index));
        let Some(endpoints) = &self.sources[number].endpoints[start.sender] else { return };
        let workload = u16::try_from(number).unwrap_or(u16::MAX);
        let slot = self.flows.start(endpoints, Name { serial, index, workload, identity }, start);
        self.started += 1;
        self.drain(slot, End::Receiver);
        self.serve_sender(slot);
        let due = self.flows[slot].next_timeout();
        self.settle(slot, due);
    }

    /// Lets a flow's sender send, now or a little later.
    fn serve_sender(&mut self, slot: usize) {
        let flow = &mut self.flows[slot];
        flow.write();
        flow.active_at = self.now;
        flow.note_acknowledged(self.now);
        let Some((most, stream)) = &mut self.sources[usize::from(flow.workload)].jitter else {
            self.drain(slot, End::Sender);
            return;
        };
        if flow.send_at == Instant::NEVER {
            flow.send_at = self.now + share(*most, stream.u64());
        }
    }

    /// Puts everything that an end has to send on the network, and notes what happened to it.
    fn drain(&mut self, slot: usize, end: End) {
        let now = self.now;
        let flow = &mut self.flows[slot];
        let way = Way { workload: flow.workload, back: end == End::Receiver };
        let source = &self.sources[usize::from(flow.workload)];
        let (header, (link, at_last)) = (source.header, source.first_links[usize::from(way.back)]);
        while let Some(segment) = flow.end(end).poll_transmit(now) {
            let (slot, bytes) = (place(slot), wire_bytes(&segment, header));
            let (identity, serial) = (flow.identity, flow.packets);
            // Made anew for each who asks, so that the one that is sent has no address before it has its place in the
            // link, and goes there from registers.
            let packet = || Packet { segment, bytes, slot, identity, serial, way, hop: 0, at_last };
            flow.packets = flow.packets.wrapping_add(1);
            if self.recorded.is_tracing() {
                self.recorded.packet(now, flow, &packet(), PacketEvent::Sent);
            }
            let outcome = self.network.send(now, link, packet(), Duration::ZERO);
            if outcome != Outcome::Accepted {
                self.recorded.link_did(now, flow, &packet(), outcome);
            }
            flow.in_network += u32::from(outcome.is_accepted());
            if flow.end(end).has_nothing_to_send() {
                break;
            }
        }
        while let Some(event) = flow.end(end).poll_event() {
            match event {
                // Of the end that only receives, a lost SYN is what matters.
                Event::Loss(loss) if end == End::Sender || loss.repair == Repair::SynTimeout => {
                    if loss.at >= self.plan.warm_up {
                        self.recorded.recovery(flow, &loss);
                    }
                }
                Event::PeerClosed => {
                    // The receiver has nothing to say: it closes as soon as the sender has.
                    let _ = flow.end(end).close();
                    return self.drain(slot, end);
                }
                Event::Loss(_) | Event::Connected | Event::Closed(_) => {}
            }
        }
    }

    /// Brings the flow's timer entry up to date, or forgets the flow if it is over. `due` is the earliest of its deadlines
    /// that may have changed: the entry is no later than any other.
    fn settle(&mut self, slot: usize, due: Instant) {
        let flow = &mut self.flows[slot];
        if flow.is_acknowledged() && !flow.recorded {
            flow.recorded = true;
            if flow.start.at >= self.plan.warm_up {
                self.recorded.flow(self.now, flow);
            }
        }
        if flow.is_over() {
            self.recorded.over(self.now, flow);
            self.flows.forget(slot);
            return;
        }
        // A deadline that moved back is left to be found when the old entry fires.
        if due < flow.scheduled {
            flow.scheduled = due;
            let number = flow.serial;
            let slot = place(slot);
            self.timers.push(Timer { at: due, class: Class::Flow, number, slot });
        }
    }

    fn schedule(&mut self, at: Instant, class: Class) {
        self.timers.push(Timer { at, class, number: 0, slot: 0 });
    }

    fn schedule_start(&mut self, number: usize) {
        let source = &mut self.sources[number];
        source.next = source.starts.next();
        if let Some(start) = &source.next {
            let (at, slot) = (start.at, place(number));
            self.timers.push(Timer { at, class: Class::Start, number: number as u64, slot });
        }
    }

    fn sample(&mut self) {
        let Some(plan) = &self.plan.samples else { return };
        let now = self.now;
        let mut push = |object, quantity, value| self.recorded.sample(now, object, quantity, value);
        for &link in &plan.links {
            let queue = self.network.queue(link, self.now);
            let object = Object::Link(u32::try_from(link).unwrap_or(u32::MAX));
            push(object, Quantity::QueueBytes, queue.bytes);
            push(object, Quantity::QueuePackets, queue.packets);
        }
        // Places are used again, so their order is not the order of starting.
        let wanted = |flow: &&Flow| plan.workloads.contains(&usize::from(flow.workload));
        let mut flows: Vec<&Flow> = self.flows.iter().filter(wanted).collect();
        flows.sort_unstable_by_key(|flow| flow.serial);
        for flow in flows {
            let object = Object::Flow { workload: u32::from(flow.workload), flow: flow.index };
            push(object, Quantity::CwndBytes, u64::from(flow.sender.cwnd()));
            push(object, Quantity::SsthreshBytes, u64::from(flow.sender.ssthresh()));
            push(object, Quantity::FlightBytes, u64::from(flow.sender.flight()));
        }
        let next = self.now + plan.every;
        self.schedule(next, Class::Sample);
    }

    /// Records what is unfinished when the time is up.
    fn finish(&mut self) {
        self.now = self.end;
        if std::mem::replace(&mut self.done, true) {
            return;
        }
        let counts = |flow: &Flow| flow.start.at >= self.plan.warm_up || flow.start.size().is_none();
        let mut left: Vec<&Flow> = self.flows.iter().filter(|flow| !flow.recorded && counts(flow)).collect();
        left.sort_unstable_by_key(|flow| flow.serial);
        self.recorded.flows.reserve(left.len());
        for flow in left {
            self.recorded.flow(self.now, flow);
        }
    }
}

/// Memory ends before places do.
fn place(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}

fn sources(plan: &Plan, network: &Network, seed: Seed) -> Vec<Source> {
    (0..)
        .zip(&plan.workloads)
        .map(|(number, workload)| {
            let mut endpoints = vec![None; plan.senders.len()];
            for choice in &workload.choices {
                endpoints[choice.sender] = Some(Endpoints::new(workload, plan.senders[choice.sender]));
            }
            let jitter = workload.tcp.send_jitter;
            Source {
                starts: Starts::new(workload, seed, plan.end()),
                next: None,
                count: 0,
                endpoints,
                header: workload.tcp.header,
                first_links: [false, true].map(|back| network.link_of(Way { workload: number, back }, 0)),
                jitter: (!jitter.is_zero()).then(|| (jitter, seed.stream(&workload.jitter_stream()))),
            }
        })
        .collect()
}
