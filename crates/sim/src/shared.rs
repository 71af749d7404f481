//! Simulation state that all flows share, and the operations on one flow that use it.

use link::Outcome;
use tcp::{Event, LossEvent, Repair};
use units::{Duration, Instant};
use wire::Segment;

use crate::flows::{Endpoints, Flow, PacketName};
use crate::network::{End, Network, Packet, PathId, share, wire_bytes};
use crate::plan::{Plan, PlannedWorkload};
use crate::recorder::Recorder;
use crate::scenario::Header;
use crate::streams::{Seed, Stream};
use crate::tables::{Names, PacketEvent};
use crate::timers::{Class, Timer, Timers};
use crate::workload::{FlowStart, Starts};

/// Time between the return of a write that waited for memory and the call that closes the
/// connection. Linux handles the acknowledgments of a burst before: both took 20 to 60 µs where it
/// was measured.
const CALL: Duration = Duration::from_micros(50);

/// Shared simulation state: time, links, timers, flow sources and the recorder.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plan: Plan,
    pub(crate) now: Instant,
    /// The end of the current stage: of the warm-up, of the statistics, or of the run. Look-ahead
    /// stops there.
    pub(crate) end: Instant,
    /// The number of flows that must complete before a draining run ends.
    pub(crate) awaited: usize,
    pub(crate) network: Network,
    pub(crate) timers: Timers,
    /// The number of timers armed whose last one is the first of those at one time.
    armed: u64,
    sources: Vec<FlowSource>,
    pub(crate) recorder: Recorder,
}

/// The source of a workload's flows.
#[derive(Debug)]
struct FlowSource {
    starts: Starts,
    next: Option<FlowStart>,
    count: u32,
    /// By sender; `None` for senders that the workload does not use.
    endpoints: Vec<Option<Endpoints>>,
    /// The lengths of the records that the application writes; empty if it writes all at once.
    records: Vec<u32>,
    /// The first hops of its data and of its acknowledgments.
    first_hops: [FirstHop; 2],
    /// Timers of the same time expire in the reverse order of their arming, not that of the flows.
    last_armed_first: bool,
    jitter: Option<(Duration, Stream)>,
}

/// The first hop of a workload's packets in one direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FirstHop {
    pub(crate) link: u32,
    /// The first hop is also the last.
    at_last: bool,
    path_id: PathId,
    header: Option<u16>,
}

impl FirstHop {
    fn new(workload: &PlannedWorkload, path_id: PathId, network: &Network) -> Self {
        let (link, at_last) = network.link_of(path_id, 0);
        Self { link, at_last, path_id, header: workload.tcp.header.map(Header::get) }
    }

    /// Makes a packet of the flow in this slot.
    #[expect(
        clippy::inline_always,
        reason = "the packet goes from registers directly into the ring"
    )]
    #[inline(always)]
    pub(crate) fn packet(&self, slot: usize, name: PacketName, segment: Segment) -> Packet {
        let Self { at_last, path_id, .. } = *self;
        let PacketName { identity, serial } = name;
        Packet {
            segment,
            bytes: self.bytes(&segment),
            slot: to_u32(slot),
            identity,
            serial,
            path_id,
            hop: 0,
            at_last,
        }
    }

    /// The size of a segment on the wire, in bytes.
    #[inline]
    pub(crate) fn bytes(&self, segment: &Segment) -> u32 {
        wire_bytes(segment, self.header)
    }
}

impl Shared {
    /// The state at the beginning of a run.
    pub(crate) fn new(plan: Plan, seed: Seed, links: &Names) -> Self {
        let network = Network::new(&plan, seed);
        let mut shared = Self {
            now: Instant::ZERO,
            end: if plan.warm_up == Instant::ZERO { plan.end() } else { plan.warm_up },
            awaited: 0,
            timers: Timers::new(),
            armed: 0,
            sources: sources(&plan, &network, seed),
            network,
            recorder: Recorder::new(&plan, links),
            plan,
        };
        for number in 0..shared.sources.len() {
            shared.schedule_start(number);
        }
        if shared.plan.warm_up > Instant::ZERO {
            shared.schedule(shared.plan.warm_up, Class::WarmUp);
        }
        if let Some(samples) = &shared.plan.samples {
            shared.schedule(Instant::ZERO + samples.every, Class::Sample);
        }
        shared
    }

    /// Schedules the start of a workload's next flow, if there is one.
    fn schedule_start(&mut self, workload: usize) {
        let source = &mut self.sources[workload];
        source.next = source.starts.next();
        if let Some(start) = &source.next {
            let (at, slot) = (start.at, to_u32(workload));
            self.timers.push(Timer { at, class: Class::Start, number: workload as u64, slot });
        }
    }

    /// Takes the flow of a workload that starts now, with its number, and schedules the next one.
    pub(crate) fn take_start(&mut self, workload: usize) -> Option<(FlowStart, u32)> {
        let source = &mut self.sources[workload];
        let start = source.next.take()?;
        let index = source.count;
        source.count += 1;
        self.schedule_start(workload);
        Some((start, index))
    }

    /// The configuration of a workload's flows with this sender.
    pub(crate) fn endpoints(&self, workload: usize, sender: usize) -> Option<&Endpoints> {
        self.sources[workload].endpoints[sender].as_ref()
    }

    /// Lets the application of a flow write. Returns true if the sender may send now, and false if
    /// it may send after its send jitter.
    pub(crate) fn prepare_sender(&mut self, flow: &mut Flow) -> bool {
        if flow.has_to_write() {
            flow.write(&self.sources[usize::from(flow.workload)].records);
        }
        flow.active_at = self.now;
        flow.note_acknowledged(self.now);
        let Some((most, stream)) = &mut self.sources[usize::from(flow.workload)].jitter else {
            return true;
        };
        flow.defer_send(|| self.now + share(*most, stream.u64()));
        false
    }

    /// Lets an application write whose writes are limited by memory, after everything was sent.
    /// Returns true if it wrote, so that there may be more to send.
    #[cold]
    #[inline(never)]
    pub(crate) fn writes_on(&mut self, flow: &mut Flow) -> bool {
        if flow.sender.waits_for_memory() && !flow.sender.wakes_writer(self.now) {
            return false;
        }
        let wrote = flow.writes_on(&self.sources[usize::from(flow.workload)].records);
        if wrote && flow.closes_next() {
            flow.defer_send(|| self.now + CALL);
        }
        wrote
    }

    /// Sends all segments of an end.
    // Not inlined: both ends share the same code.
    #[inline(never)]
    pub(crate) fn send(&mut self, slot: usize, flow: &mut Flow, end: End) {
        let now = self.now;
        let hop = self.first_hop(flow.workload, end);
        while let Some(segment) = flow.end(end).poll_transmit(now) {
            let name = flow.name_packet();
            // The closure builds the packet anew for each use. The packet that is sent then has no
            // address before it is in the ring, and goes there from registers.
            let packet = || hop.packet(slot, name, segment);
            if self.recorder.is_tracing() {
                self.recorder.packet(now, flow, &packet(), PacketEvent::Sent);
            }
            let outcome = self.network.send(now, hop.link, packet(), Duration::ZERO);
            if outcome != Outcome::Accepted {
                self.recorder.on_link_outcome(now, flow, &packet(), outcome);
            }
            flow.in_network += u32::from(outcome.is_accepted());
            let connection = flow.end(end);
            if connection.is_idle() || connection.has_ended_burst() {
                break;
            }
        }
    }

    /// Handles the events of an end. Returns true if the end may have something to send as a
    /// result.
    #[inline]
    pub(crate) fn note_events(&mut self, flow: &mut Flow, end: End) -> bool {
        flow.end(end).has_event() && self.take_events(flow, end)
    }

    // Out of line: an end is checked after every packet and seldom has an event. Inlined, this
    // costs 1.3 % of all instructions.
    #[inline(never)]
    fn take_events(&mut self, flow: &mut Flow, end: End) -> bool {
        while let Some(event) = flow.end(end).poll_event() {
            match event {
                // At the receiving end, only a lost SYN counts as a recovery.
                Event::Loss(loss) if end == End::Sender || loss.repair == Repair::SynTimeout => {
                    if self.counts_recovery(flow, &loss) {
                        self.recorder.recovery(flow, &loss);
                    }
                }
                Event::PeerClosed => {
                    // The receiver has no data to send: it closes as soon as the sender has closed.
                    let _ = flow.end(end).close();
                    return true;
                }
                Event::Loss(_) | Event::Connected | Event::Closed(_) => {}
            }
        }
        false
    }

    /// Returns true if a recovery has a row. After the end of the statistics, only recoveries of
    /// flows that will still have a row count.
    fn counts_recovery(&self, flow: &Flow, loss: &LossEvent) -> bool {
        let is_late = || loss.at > self.plan.end();
        loss.at >= self.plan.warm_up
            && (!is_late() || self.plan.counts(flow.start.at) && !flow.recorded)
    }

    /// The first hop of the segments that an end sends.
    #[inline]
    pub(crate) fn first_hop(&self, workload: u16, end: End) -> FirstHop {
        self.sources[usize::from(workload)].first_hops[usize::from(end == End::Receiver)]
    }

    /// Updates the flow's timer entry. If the flow is finished, returns true instead, and the
    /// caller must release its slot.
    ///
    /// `due` is the earliest of the deadlines that may have changed. The entry is no later than any
    /// other deadline.
    #[must_use]
    pub(crate) fn update_timer_or_finish(
        &mut self,
        slot: usize,
        flow: &mut Flow,
        due: Instant,
    ) -> bool {
        if flow.is_acknowledged() && !flow.recorded {
            flow.recorded = true;
            if self.plan.counts(flow.start.at) {
                self.recorder.flow(self.now, flow);
                self.on_awaited_flow_complete();
            }
        }
        if flow.is_over() {
            self.recorder.flow_ended(self.now, flow);
            return true;
        }
        // A deadline that moved back is found when the old entry is due.
        if due < flow.scheduled {
            flow.scheduled = due;
            let number = if self.sources[usize::from(flow.workload)].last_armed_first {
                self.armed += 1;
                Timer::last_armed_first(self.armed)
            } else {
                flow.serial
            };
            let slot = to_u32(slot);
            self.timers.push(Timer { at: due, class: Class::Flow, number, slot });
        }
        false
    }

    /// Counts a completed flow. A draining run ends with the last flow that it awaits.
    fn on_awaited_flow_complete(&mut self) {
        if self.awaited > 0 {
            self.awaited -= 1;
            if self.awaited == 0 {
                self.end = self.now;
            }
        }
    }

    /// Schedules an event that belongs to no flow.
    pub(crate) fn schedule(&mut self, at: Instant, class: Class) {
        self.timers.push(Timer { at, class, number: 0, slot: 0 });
    }
}

/// Memory is exhausted before numbers of slots are.
fn to_u32(slot: usize) -> u32 {
    u32::try_from(slot).unwrap_or(u32::MAX)
}

fn sources(plan: &Plan, network: &Network, seed: Seed) -> Vec<FlowSource> {
    (0..)
        .zip(&plan.workloads)
        .map(|(number, workload)| {
            let mut endpoints = vec![None; plan.senders.len()];
            for choice in &workload.choices {
                endpoints[choice.sender] =
                    Some(Endpoints::new(workload, plan.senders[choice.sender]));
            }
            let jitter = workload.tcp.send_jitter.0;
            FlowSource {
                starts: Starts::new(workload, seed, plan.end_of_starts(workload)),
                next: None,
                count: 0,
                endpoints,
                records: workload.demand.records().to_vec(),
                first_hops: [false, true].map(|back| {
                    FirstHop::new(workload, PathId { workload: number, back }, network)
                }),
                last_armed_first: workload.tcp.has_timer_wheel(),
                jitter: (!jitter.is_zero())
                    .then(|| (jitter, seed.stream(&workload.jitter_stream()))),
            }
        })
        .collect()
}
