//! What flows have in common, and what is done to one of them there.

use link::Outcome;
use tcp::{Event, Repair};
use units::{Duration, Instant};

use crate::flow::{End, Endpoints, Flow};
use crate::network::{Network, Packet, Way, share, wire_bytes};
use crate::plan::Plan;
use crate::record::Recorded;
use crate::streams::{Seed, Stream};
use crate::tables::{Names, PacketEvent};
use crate::timers::{Class, Timer, Timers};
use crate::workload::{FlowStart, Starts};

/// Everything but the flows: the time, the links, the timers, where flows come from, and what is recorded of them.
///
/// A flow that something is done to is lent: so it is looked up once for all that comes of an event.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) plan: Plan,
    pub(crate) now: Instant,
    pub(crate) network: Network,
    pub(crate) timers: Timers,
    sources: Vec<Source>,
    pub(crate) recorded: Recorded,
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

impl World {
    /// At the beginning of a run.
    pub(crate) fn new(plan: Plan, seed: Seed, links: &Names) -> Self {
        let network = Network::new(&plan, seed);
        let mut world = Self {
            now: Instant::ZERO,
            timers: Timers::new(),
            sources: sources(&plan, &network, seed),
            network,
            recorded: Recorded::new(&plan, links),
            plan,
        };
        for number in 0..world.sources.len() {
            world.schedule_start(number);
        }
        if world.plan.warm_up > Instant::ZERO {
            world.schedule(world.plan.warm_up, Class::WarmUp);
        }
        if let Some(samples) = &world.plan.samples {
            world.schedule(Instant::ZERO + samples.every, Class::Sample);
        }
        world
    }

    /// The next flow of a workload, if it has one, is due when it starts.
    fn schedule_start(&mut self, workload: usize) {
        let source = &mut self.sources[workload];
        source.next = source.starts.next();
        if let Some(start) = &source.next {
            let (at, slot) = (start.at, place(workload));
            self.timers.push(Timer { at, class: Class::Start, number: workload as u64, slot });
        }
    }

    /// The flow of a workload that starts now, and its number there; the one after it is scheduled.
    pub(crate) fn take_start(&mut self, workload: usize) -> Option<(FlowStart, u32)> {
        let source = &mut self.sources[workload];
        let start = source.next.take()?;
        let index = source.count;
        source.count += 1;
        self.schedule_start(workload);
        Some((start, index))
    }

    /// What the flows of a workload with this sender are made with.
    pub(crate) fn endpoints(&self, workload: usize, sender: usize) -> Option<&Endpoints> {
        self.sources[workload].endpoints[sender].as_ref()
    }

    /// Lets a flow's sender send, now or a little later.
    pub(crate) fn serve_sender(&mut self, slot: usize, flow: &mut Flow) {
        flow.write();
        flow.active_at = self.now;
        flow.note_acknowledged(self.now);
        let Some((most, stream)) = &mut self.sources[usize::from(flow.workload)].jitter else {
            self.drain(slot, flow, End::Sender);
            return;
        };
        if flow.send_at == Instant::NEVER {
            flow.send_at = self.now + share(*most, stream.u64());
        }
    }

    /// Puts everything that an end has to send on the network, and notes what happened to it.
    pub(crate) fn drain(&mut self, slot: usize, flow: &mut Flow, end: End) {
        let now = self.now;
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
                    return self.drain(slot, flow, end);
                }
                Event::Loss(_) | Event::Connected | Event::Closed(_) => {}
            }
        }
    }

    /// Brings the flow's timer entry up to date, unless the flow is over: then it returns `true`, and the flow is
    /// to be forgotten. `due` is the earliest of its deadlines that may have changed: the entry is no later than any other.
    #[must_use]
    pub(crate) fn settle(&mut self, slot: usize, flow: &mut Flow, due: Instant) -> bool {
        if flow.is_acknowledged() && !flow.recorded {
            flow.recorded = true;
            if flow.start.at >= self.plan.warm_up {
                self.recorded.flow(self.now, flow);
            }
        }
        if flow.is_over() {
            self.recorded.over(self.now, flow);
            return true;
        }
        // A deadline that moved back is left to be found when the old entry fires.
        if due < flow.scheduled {
            flow.scheduled = due;
            let number = flow.serial;
            let slot = place(slot);
            self.timers.push(Timer { at: due, class: Class::Flow, number, slot });
        }
        false
    }

    /// Something that is no flow's is due then.
    pub(crate) fn schedule(&mut self, at: Instant, class: Class) {
        self.timers.push(Timer { at, class, number: 0, slot: 0 });
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
