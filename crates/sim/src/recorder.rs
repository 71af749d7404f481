//! The recorder: rows of results, kept until the caller takes them.

use std::collections::BTreeMap;

use link::{DropReason, Outcome};
use tcp::{LossEvent, Repair};
use units::Instant;
use wire::Control;

use crate::flows::Flow;
use crate::network::Packet;
use crate::plan::Plan;
use crate::tables::{
    Cause, FlowRow, Flows, Names, Object, PacketEvent, PacketRow, Packets, Quantity, Recoveries,
    RecoveryRow, SampleRow, Samples, names, span_s, time_s,
};

pub(crate) mod trace;

use trace::Trace;

/// The tables of a run in progress.
#[derive(Debug)]
pub(crate) struct Recorder {
    pub(crate) flows: Flows,
    pub(crate) recoveries: Recoveries,
    pub(crate) samples: Samples,
    pub(crate) packets: Packets,
    /// The rows of endless flows at the end of the warm-up, in order of their numbers.
    before: Vec<FlowRow>,
    /// Whether a workload's packets are recorded, by its index.
    traced: Vec<bool>,
    /// The trace of every packet, for a capture.
    pub(crate) trace: Option<Box<Trace>>,
    /// Packets are recorded, in a table or for a capture.
    tracing: bool,
}

impl Recorder {
    pub(crate) fn new(plan: &Plan, links: &Names) -> Self {
        let workloads = names(plan.workloads.iter().map(|workload| workload.name.as_str()));
        let senders = names(plan.senders.iter().map(ToString::to_string));
        Self {
            flows: Flows::new(&workloads, &senders),
            recoveries: Recoveries::new(&workloads, &senders),
            samples: Samples::new(&workloads, links),
            packets: Packets::new(&workloads),
            before: Vec::new(),
            traced: (0..plan.workloads.len()).map(|number| plan.traced.contains(&number)).collect(),
            trace: None,
            tracing: !plan.traced.is_empty(),
        }
    }

    /// Records every packet from now on, for a capture.
    pub(crate) fn start_trace(&mut self, plan: &Plan) {
        self.trace = Some(Box::new(Trace::new(plan)));
        self.tracing = true;
    }

    /// The number of rows that have not been taken.
    pub(crate) fn rows(&self) -> usize {
        self.flows.len() + self.recoveries.len() + self.samples.len() + self.packets.len()
    }

    #[inline(never)]
    pub(crate) fn flow(&mut self, now: Instant, flow: &Flow) {
        let mut row = flow_row(now, flow);
        if let Ok(index) = self.before.binary_search_by_key(&row.flow, |before| before.flow) {
            row = difference(&self.before[index], row);
        }
        self.flows.push(row);
    }

    /// Ends the warm-up: the counts of endless flows restart. `received` has the bytes received by
    /// flows whose receivers are past it, by flow number.
    pub(crate) fn end_warm_up<'a>(
        &mut self,
        now: Instant,
        flows: impl Iterator<Item = &'a Flow>,
        received: &BTreeMap<u64, u64>,
    ) {
        let row = |flow: &Flow| {
            let mut row = flow_row(now, flow);
            row.received_bytes = received.get(&row.flow).copied().unwrap_or(row.received_bytes);
            row
        };
        self.before = flows.filter(|flow| flow.start.size().is_none()).map(row).collect();
        self.before.sort_unstable_by_key(|before| before.flow);
    }

    #[inline(never)]
    pub(crate) fn recovery(&mut self, flow: &Flow, loss: &LossEvent) {
        self.recoveries.push(recovery_row(flow, loss));
    }

    pub(crate) fn sample(&mut self, now: Instant, object: Object, quantity: Quantity, value: f64) {
        let row = SampleRow { time_s: time_s(now), object, quantity: quantity.code(), value };
        self.samples.push(row);
    }

    /// Returns true if any packets are recorded.
    #[inline]
    pub(crate) fn is_tracing(&self) -> bool {
        self.tracing
    }

    /// Records an outcome other than immediate acceptance.
    #[inline]
    pub(crate) fn on_link_outcome(
        &mut self,
        now: Instant,
        flow: &Flow,
        packet: &Packet,
        outcome: Outcome,
    ) {
        match outcome {
            Outcome::Accepted | Outcome::Pending => {}
            Outcome::Marked => self.packet(now, flow, packet, PacketEvent::Marked),
            Outcome::Dropped(DropReason::Buffer) => {
                self.packet(now, flow, packet, PacketEvent::DroppedBuffer);
            }
            Outcome::Dropped(DropReason::Early) => {
                self.packet(now, flow, packet, PacketEvent::DroppedEarly);
            }
            Outcome::Dropped(DropReason::Loss) => {
                self.packet(now, flow, packet, PacketEvent::DroppedLoss);
            }
        }
    }

    #[inline]
    pub(crate) fn packet(
        &mut self,
        now: Instant,
        flow: &Flow,
        packet: &Packet,
        event: PacketEvent,
    ) {
        if self.tracing {
            self.traced_packet(now, flow, packet, event);
        }
    }

    pub(crate) fn flow_ended(&mut self, now: Instant, flow: &Flow) {
        if let Some(trace) = &mut self.trace {
            trace.flow_ended(now, flow);
        }
    }

    // Out of line: few runs trace packets, and the conversions would burden the path of every
    // packet.
    #[cold]
    #[inline(never)]
    fn traced_packet(&mut self, now: Instant, flow: &Flow, packet: &Packet, event: PacketEvent) {
        if self.traced[usize::from(flow.workload)] {
            self.packets.push(packet_row(now, flow, packet, event));
        }
        if let Some(trace) = &mut self.trace {
            trace.packet(now, flow, packet, event);
        }
    }
}

fn flow_row(now: Instant, flow: &Flow) -> FlowRow {
    let statistics = flow.sender.statistics();
    let since_start = |at: Instant| (at != Instant::NEVER).then(|| span_s(at.since(flow.start.at)));
    FlowRow {
        flow: flow.serial,
        workload: u32::from(flow.workload),
        variant: variant(flow),
        class: flow.start.class(),
        size_bytes: flow.start.size(),
        start_s: time_s(flow.start.at),
        sender_s: since_start(flow.all_acknowledged),
        receiver_s: since_start(flow.all_received),
        segments: statistics.segments,
        sent_bytes: statistics.bytes,
        retransmitted_segments: statistics.retransmitted_segments,
        retransmitted_bytes: statistics.retransmitted_bytes,
        fast_retransmits: statistics.fast_retransmits,
        timeouts: statistics.timeouts,
        syn_timeouts: statistics.syn_timeouts + flow.receiver.statistics().syn_timeouts,
        received_bytes: flow.received(),
        waited_s: span_s(flow.waited(now)),
        srtt_s: flow.sender.srtt().map(span_s),
        rto_s: span_s(flow.sender.rto()),
    }
}

/// The counts of a flow since an earlier row.
fn difference(before: &FlowRow, row: FlowRow) -> FlowRow {
    FlowRow {
        segments: row.segments - before.segments,
        sent_bytes: row.sent_bytes - before.sent_bytes,
        retransmitted_segments: row.retransmitted_segments - before.retransmitted_segments,
        retransmitted_bytes: row.retransmitted_bytes - before.retransmitted_bytes,
        fast_retransmits: row.fast_retransmits - before.fast_retransmits,
        timeouts: row.timeouts - before.timeouts,
        syn_timeouts: row.syn_timeouts - before.syn_timeouts,
        received_bytes: row.received_bytes - before.received_bytes,
        waited_s: row.waited_s - before.waited_s,
        ..row
    }
}

fn recovery_row(flow: &Flow, loss: &LossEvent) -> RecoveryRow {
    let cause = match loss.repair {
        Repair::FastRetransmit => Cause::FastRetransmit,
        Repair::Timeout => Cause::Timeout,
        Repair::SynTimeout => Cause::SynTimeout,
        Repair::Mark => Cause::Ecn,
        Repair::LossProbe => Cause::LossProbe,
        Repair::TailCopy => Cause::TailCopy,
    };
    RecoveryRow {
        time_s: time_s(loss.at),
        flow: flow.serial,
        workload: u32::from(flow.workload),
        variant: variant(flow),
        class: flow.start.class(),
        cause: cause.code(),
        cwnd_bytes: u64::from(loss.cwnd),
        flight_bytes: u64::from(loss.flight),
    }
}

fn packet_row(now: Instant, flow: &Flow, packet: &Packet, event: PacketEvent) -> PacketRow {
    let segment = &packet.segment;
    let back = packet.path_id.back;
    let (own, other) = if back { (flow.irs(), flow.iss()) } else { (flow.iss(), flow.irs()) };
    PacketRow {
        time_s: time_s(now),
        flow: flow.serial,
        workload: u32::from(flow.workload),
        packet: packet.serial,
        event: event.code(),
        from: u32::from(back),
        control: match segment.control {
            Control::None => 0,
            Control::Syn => 1,
            Control::Fin => 2,
            Control::Rst => 3,
        },
        seq: segment.seq.distance_from(own),
        payload_bytes: segment.payload_len,
        ack: segment.ack.map(|ack| ack.distance_from(other)),
        sack_blocks: u32::try_from(segment.options.sack_blocks().len()).unwrap_or(0),
        cwnd_bytes: flow.sender.cwnd(),
    }
}

fn variant(flow: &Flow) -> u32 {
    flow.start.sender
}
