//! One flow of a run, step by step: its packets, and the state of its sender after every event.
//!
//! The run is driven event by event from outside, so other runs do not pay for it. Its rows are
//! those of any run of the scenario.

use std::collections::{HashMap, HashSet};

use link::DropReason;
use tcp::{SendSnapshot, TimerName};
use units::{Duration, Instant};
use wire::{Segment, SeqNum};

use crate::flows::Flow;
use crate::pcap::{Capture, CaptureError, VantagePoint};
use crate::plan::Plan;
use crate::recorder::trace::{Entry, Sent, TraceEvent};
use crate::scenario::Scenario;
use crate::simulation::{Simulation, Status};
use crate::tables::Flows;

/// Bytes of each packet in the capture: all headers, and no payload to speak of.
const SNAP_LEN: u32 = 128;

/// The name of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowName {
    /// The flow's number in its workload, from 0, in order of starting.
    InWorkload {
        /// Index of the workload in the scenario.
        workload: usize,
        /// Number of the flow.
        index: u32,
    },
    /// The flow's number in the run, as in the rows of flows.
    InRun(u64),
}

/// The flow to watch, and the limit of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowChoice {
    /// The flow.
    pub flow: FlowName,
    /// Maximum number of events of the run.
    pub max_events: u64,
}

/// The end of a packet's way through the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The packet arrived at the other end.
    Arrived,
    /// A link dropped the packet.
    Dropped(DropReason),
}

/// A packet of the watched flow.
#[derive(Debug, Clone, Copy)]
pub struct WatchedPacket {
    /// Number of the packet in its flow, from 0; both directions count together.
    pub number: u32,
    /// The end that sends the flow's data has sent the packet.
    pub is_forward: bool,
    /// The segment in the packet.
    pub segment: Segment,
    /// Index of the first link of the packet's path.
    pub link: usize,
    /// Number of the packet among all packets offered to this link as their first, from 0.
    pub position: u32,
    /// Time of the transmission.
    pub sent_at: Instant,
    /// Time and kind of the end; `None` while the packet is in the network.
    pub ended: Option<(Instant, Fate)>,
    /// A link marked the packet: it arrives with Congestion Experienced.
    pub marked: bool,
    /// Number of the packet in the capture, from 1; `None` if the capture does not have it.
    pub frame: Option<u64>,
}

/// The state of the watched flow from a time on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The time of the event that led to this state.
    pub at: Instant,
    /// The end that sends data.
    pub sender: SendSnapshot,
    /// Running timers of the end that receives data.
    pub receiver_timers: Vec<(TimerName, Instant)>,
}

/// The watched flow of a run.
#[derive(Debug)]
pub struct WatchedFlow {
    /// Packets in the order of transmission.
    pub packets: Vec<WatchedPacket>,
    /// States in order of time; each differs from the one before.
    pub moments: Vec<Moment>,
    /// Initial sequence numbers of the sender and of the receiver.
    pub first: [SeqNum; 2],
    /// Delays of the links, in the scenario's order.
    pub delays: Vec<Duration>,
    /// Name of the flow's sender.
    pub sender: String,
    /// Number of the flow in the run; `None` if it did not start.
    pub number: Option<u64>,
    /// Index of the flow's workload, and the flow's number in it; `None` if the flow did not start.
    pub place: Option<(usize, u32)>,
    /// Rows of the flows that were complete, or incomplete at the end of the run.
    pub rows: Flows,
    /// Capture of the run in the pcapng format, made at the hosts that send data.
    pub capture: Vec<u8>,
    /// The run ended because of its maximum number of events.
    pub is_cut: bool,
}

impl WatchedFlow {
    /// Runs `scenario` until the chosen flow has ended. A flow that does not start has no packet.
    ///
    /// # Errors
    /// If the scenario is invalid, or has packets or nodes that a capture does not allow.
    pub fn run(scenario: &Scenario, seed: u64, choice: FlowChoice) -> Result<Self, CaptureError> {
        let mut simulation = Simulation::new(scenario, seed)?;
        let mut capture = Capture::new(Vec::new(), scenario, seed, VantagePoint::Sender, SNAP_LEN)?;
        capture.start(&mut simulation);
        let mut watch = Watch::new(simulation.plan(), choice);
        let mut is_cut = true;
        while simulation.events() < choice.max_events && !watch.has_ended {
            let status = simulation.advance(1);
            let entries = simulation.take_trace();
            capture.add_all(&entries)?;
            watch.take(&simulation, &entries);
            if status == Status::Done {
                is_cut = false;
                break;
            }
        }
        is_cut &= !watch.has_ended;
        Ok(Self {
            number: watch.flow,
            place: watch.place,
            rows: simulation.take_flows(),
            packets: watch.packets,
            moments: watch.moments,
            first: watch.first,
            delays: simulation.plan().links.iter().map(|link| link.config.delay).collect(),
            sender: watch.sender,
            capture: capture.finish()?,
            is_cut,
        })
    }
}

/// The flow during the run.
#[derive(Debug)]
struct Watch {
    choice: FlowChoice,
    /// First links of each workload's data and acknowledgments, and each flow's workload.
    first_links: Vec<[usize; 2]>,
    workloads: HashMap<u64, u16>,
    senders: Vec<String>,
    /// Packets offered to each link as their first.
    offered: Vec<u32>,
    /// Packets that the receivers have sent and that are in the network.
    returning: HashSet<(u64, u32)>,
    /// Packets in the capture so far.
    frames: u64,
    /// The flow's number in the run, once it has started.
    flow: Option<u64>,
    /// Its workload, and its number there.
    place: Option<(usize, u32)>,
    sender: String,
    first: [SeqNum; 2],
    packets: Vec<WatchedPacket>,
    /// Ends of packets: the place in `packets` by number.
    places: HashMap<u32, usize>,
    moments: Vec<Moment>,
    has_ended: bool,
}

impl Watch {
    fn new(plan: &Plan, choice: FlowChoice) -> Self {
        let first = |path: &[usize]| path.first().copied().unwrap_or(usize::MAX);
        let links = plan.workloads.iter().map(|each| [first(&each.forward), first(&each.back)]);
        Self {
            choice,
            first_links: links.collect(),
            workloads: HashMap::new(),
            senders: plan.senders.iter().map(ToString::to_string).collect(),
            offered: vec![0; plan.links.len()],
            returning: HashSet::new(),
            frames: 0,
            flow: None,
            place: None,
            sender: String::new(),
            first: [SeqNum::default(); 2],
            packets: Vec::new(),
            places: HashMap::new(),
            moments: Vec::new(),
            has_ended: false,
        }
    }

    /// Takes the events of one step, and the state after them.
    fn take(&mut self, simulation: &Simulation, entries: &[Entry]) {
        for entry in entries {
            self.add(entry);
        }
        let Some(flow) = self.flow.and_then(|number| simulation.flow(number)) else { return };
        self.first = [flow.iss(), flow.irs()];
        self.note(simulation.now(), flow);
    }

    fn note(&mut self, now: Instant, flow: &Flow) {
        let moment = Moment {
            at: now,
            sender: flow.sender.snapshot(now),
            receiver_timers: flow.receiver.snapshot(now).timers,
        };
        match self.moments.last_mut() {
            Some(last)
                if last.sender == moment.sender
                    && last.receiver_timers == moment.receiver_timers => {}
            Some(last) if last.at == now => *last = moment,
            _ => self.moments.push(moment),
        }
    }

    fn add(&mut self, entry: &Entry) {
        let is_own = self.flow == Some(entry.flow);
        match &entry.event {
            TraceEvent::Started(started) => {
                self.workloads.insert(entry.flow, started.workload);
                let place = (usize::from(started.workload), started.index);
                let is_chosen = match self.choice.flow {
                    FlowName::InWorkload { workload, index } => place == (workload, index),
                    FlowName::InRun(number) => entry.flow == number,
                };
                if is_chosen {
                    self.flow = Some(entry.flow);
                    self.place = Some(place);
                    self.sender = self.senders.get(started.sender).cloned().unwrap_or_default();
                }
            }
            TraceEvent::Sent(sent) => self.sent(entry, sent, is_own),
            TraceEvent::Arrived { packet } => {
                if self.returning.remove(&(entry.flow, *packet)) {
                    self.frames += 1;
                }
                if is_own {
                    let frames = self.frames;
                    self.end(*packet, entry.at, Fate::Arrived, Some(frames));
                }
            }
            TraceEvent::Dropped { packet, why, .. } => {
                self.returning.remove(&(entry.flow, *packet));
                if is_own {
                    self.end(*packet, entry.at, Fate::Dropped(*why), None);
                }
            }
            TraceEvent::Marked { packet, .. } => {
                if is_own && let Some(packet) = self.packet(*packet) {
                    packet.marked = true;
                }
            }
            TraceEvent::Ended => self.has_ended |= is_own,
        }
    }

    fn sent(&mut self, entry: &Entry, sent: &Sent, is_own: bool) {
        let workload = self.workloads.get(&entry.flow).copied().unwrap_or_default();
        let links = self.first_links.get(usize::from(workload));
        let link = links.map_or(usize::MAX, |links| links[usize::from(sent.back)]);
        let mut position = 0;
        if let Some(offered) = self.offered.get_mut(link) {
            position = *offered;
            *offered += 1;
        }
        // A capture at the sender has its packets when they leave.
        if sent.back {
            self.returning.insert((entry.flow, sent.packet));
        } else {
            self.frames += 1;
        }
        if is_own {
            self.places.insert(sent.packet, self.packets.len());
            self.packets.push(WatchedPacket {
                number: sent.packet,
                is_forward: !sent.back,
                segment: sent.segment,
                link,
                position,
                sent_at: entry.at,
                ended: None,
                marked: false,
                frame: (!sent.back).then_some(self.frames),
            });
        }
    }

    /// Notes the end of an own packet. A packet that arrives at the sender is in the capture then.
    fn end(&mut self, packet: u32, at: Instant, fate: Fate, frame: Option<u64>) {
        let Some(packet) = self.packet(packet) else { return };
        packet.ended = Some((at, fate));
        packet.frame = packet.frame.or(frame);
    }

    fn packet(&mut self, number: u32) -> Option<&mut WatchedPacket> {
        self.packets.get_mut(*self.places.get(&number)?)
    }
}
