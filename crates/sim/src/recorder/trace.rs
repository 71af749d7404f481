//! The trace from which a capture is written: every packet with its whole header, and its outcome.

use link::DropReason;
use units::Instant;
use wire::Segment;

use crate::flows::Flow;
use crate::network::Packet;
use crate::plan::Plan;
use crate::tables::PacketEvent;

/// An event of a flow or of one of its packets.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) at: Instant,
    /// The flow's number in the run.
    pub(crate) flow: u64,
    pub(crate) event: TraceEvent,
}

/// A traced event. Packets are identified by their number in their flow.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TraceEvent {
    /// The flow is about to send its first packet.
    Started(Started),
    /// An end sent a packet.
    Sent(Sent),
    /// The other end received the packet.
    Arrived { packet: u32 },
    /// The link with this index dropped the packet.
    Dropped { packet: u32, link: u32, why: DropReason },
    /// The link with this index marked the packet: it continues with Congestion Experienced.
    Marked { packet: u32, link: u32 },
    /// The flow has ended and has no further events.
    Ended,
}

/// A flow that starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Started {
    pub(crate) workload: u16,
    /// The flow's number in its workload.
    pub(crate) index: u32,
    /// Size in bytes; `None` for an endless flow.
    pub(crate) size: Option<u64>,
    /// Index in [`Plan::senders`].
    pub(crate) sender: usize,
}

/// A packet, and the history of the end that sent it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    pub(crate) packet: u32,
    pub(crate) back: bool,
    pub(crate) segment: Segment,
    pub(crate) history: History,
}

/// Counts of an end. Their change between two packets tells the cause of a retransmission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct History {
    pub(crate) fast_retransmits: u32,
    pub(crate) timeouts: u32,
    pub(crate) syn_timeouts: u32,
    /// Segments sent a second time as a precaution.
    pub(crate) copied_segments: u32,
    /// The end is in fast recovery.
    pub(crate) recovering: bool,
}

/// Entries of a run in progress, kept until the caller takes them.
#[derive(Debug)]
pub(crate) struct Trace {
    entries: Vec<Entry>,
    /// The links of each workload's forward and return paths.
    paths: Vec<[Vec<usize>; 2]>,
}

impl Trace {
    pub(crate) fn new(plan: &Plan) -> Self {
        let paths =
            plan.workloads.iter().map(|workload| [workload.forward.clone(), workload.back.clone()]);
        Self { entries: Vec::new(), paths: paths.collect() }
    }

    pub(crate) fn take(&mut self) -> Vec<Entry> {
        std::mem::take(&mut self.entries)
    }

    pub(crate) fn packet(&mut self, at: Instant, flow: &Flow, packet: &Packet, event: PacketEvent) {
        let serial = packet.serial;
        let event = match event {
            PacketEvent::Sent => {
                if serial == 0 {
                    self.push(at, flow, TraceEvent::Started(started(flow)));
                }
                let (back, segment) = (packet.path_id.back, packet.segment);
                TraceEvent::Sent(Sent {
                    packet: serial,
                    back,
                    segment,
                    history: history(flow, packet),
                })
            }
            PacketEvent::Arrived => TraceEvent::Arrived { packet: serial },
            PacketEvent::DroppedBuffer => self.drop(packet, DropReason::Buffer),
            PacketEvent::DroppedEarly => self.drop(packet, DropReason::Early),
            PacketEvent::DroppedLoss => self.drop(packet, DropReason::Loss),
            PacketEvent::Marked => TraceEvent::Marked { packet: serial, link: self.link(packet) },
        };
        self.push(at, flow, event);
    }

    pub(crate) fn flow_ended(&mut self, at: Instant, flow: &Flow) {
        self.push(at, flow, TraceEvent::Ended);
    }

    fn push(&mut self, at: Instant, flow: &Flow, event: TraceEvent) {
        self.entries.push(Entry { at, flow: flow.serial, event });
    }

    fn drop(&self, packet: &Packet, why: DropReason) -> TraceEvent {
        TraceEvent::Dropped { packet: packet.serial, link: self.link(packet), why }
    }

    fn link(&self, packet: &Packet) -> u32 {
        let path =
            &self.paths[usize::from(packet.path_id.workload)][usize::from(packet.path_id.back)];
        // A scenario has at most a few thousand links.
        let link = path.get(usize::from(packet.hop)).and_then(|&link| u32::try_from(link).ok());
        link.unwrap_or(u32::MAX)
    }
}

fn started(flow: &Flow) -> Started {
    let start = &flow.start;
    Started {
        workload: flow.workload,
        index: flow.index,
        size: start.size(),
        sender: start.sender as usize,
    }
}

fn history(flow: &Flow, packet: &Packet) -> History {
    let end = if packet.path_id.back { &flow.receiver } else { &flow.sender };
    let statistics = end.statistics();
    History {
        fast_retransmits: statistics.fast_retransmits,
        timeouts: statistics.timeouts,
        syn_timeouts: statistics.syn_timeouts,
        copied_segments: end.copied_segments(),
        recovering: end.send_state().recovering,
    }
}
