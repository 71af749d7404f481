//! One flow of a run: its packets, what repaired each loss, and its completion.

use std::collections::BTreeMap;
use std::io::Cursor;

use analysis::{Analysis, EpisodeOf, Limits, Records, Spurious};
use link::DropReason;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sim::scenario::Workload;
use sim::tables::{span_s, time_s};
use sim::watched::{Fate, FlowChoice, FlowName, WatchedFlow, WatchedPacket};
use sim::{Plan, Scenario};
use wire::Control;

use crate::edits::{self, Edits};
use crate::error::Refusal;
use crate::moment::MomentAnswer;
use crate::scenario::value_of;

/// Maximum number of events of the run of a flow.
const MOST_EVENTS: u64 = 200_000;

/// A flow of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FlowAnswer {
    /// The scenario with the drops and delays. A simulation of it gives this flow.
    pub scenario: Value,
    /// Name of the flow's workload; null if the flow did not start.
    pub workload: Option<String>,
    /// Number of the flow in its workload, from 0.
    pub index: Option<u32>,
    /// Name of the flow's sender.
    pub sender: String,
    /// Size in bytes; null for an endless flow, or if the flow did not start.
    pub size_bytes: Option<u64>,
    /// Time of the start in seconds.
    pub start_s: Option<f64>,
    /// Time from the start until all data was acknowledged, in seconds.
    pub sender_s: Option<f64>,
    /// Time from the start until the receiver had all data, in seconds.
    pub receiver_s: Option<f64>,
    /// Number of data segments, with retransmissions and copies.
    pub segments: u32,
    /// Number of data segments sent again.
    pub retransmitted_segments: u32,
    /// Number of expiries of the retransmission timer, of the SYN too.
    pub timeouts: u32,
    /// Packets in the order of transmission.
    pub packets: Vec<PacketAnswer>,
    /// Loss episodes as the analysis of the sender's capture finds them.
    pub repairs: Vec<RepairAnswer>,
    /// Times in seconds at which the state of an end changed.
    pub moments_s: Vec<f64>,
    /// Whether the run was ended by its maximum number of events.
    pub is_cut: bool,
}

/// A packet. Sequence numbers are relative to the initial one of the end that counts them.
#[derive(Debug, Serialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a packet")]
pub struct PacketAnswer {
    /// Number in the flow, from 0; both directions count together.
    pub number: u32,
    /// Whether the end that sends the flow's data has sent the packet.
    pub is_forward: bool,
    /// Name of the first link.
    pub link: String,
    /// Number of the packet on this link, from 0.
    pub position: u32,
    /// Whether the first link is the only one.
    pub is_single_hop: bool,
    /// Time of the transmission in seconds.
    pub sent_s: f64,
    /// Time of the arrival or drop in seconds; null while in the network.
    pub ended_s: Option<f64>,
    /// `arrived`, `dropped-buffer`, `dropped-early`, `dropped-loss` or `in-network`.
    pub fate: &'static str,
    /// Whether a link marked the packet (ECN).
    pub marked: bool,
    /// `SYN`, `FIN`, `RST` or empty.
    pub control: &'static str,
    /// Sequence number.
    pub seq: u32,
    /// Number of payload bytes.
    pub payload_bytes: u32,
    /// Acknowledgment number.
    pub ack: Option<u32>,
    /// SACK blocks: sequence numbers of the first byte, and after the last one.
    pub sack: Vec<[u32; 2]>,
    /// Whether the packet carries sequence numbers that were sent before.
    pub is_again: bool,
    /// Number of the packet in the capture, from 1.
    pub frame: Option<u64>,
}

/// A loss episode: the loss, and what repaired it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RepairAnswer {
    /// Number of the lost packet in the flow; null if it is not known.
    pub lost: Option<u32>,
    /// Number of the packet of the first repair.
    pub repaired: Option<u32>,
    /// Time of the first transmission of the lost data in seconds.
    pub lost_s: f64,
    /// Time of the first repair in seconds.
    pub repaired_s: f64,
    /// Time of the end of the recovery in seconds.
    pub ended_s: Option<f64>,
    /// Longest time from the first transmission of lost data to the one that arrived, in seconds.
    pub delay_s: f64,
    /// Name of the cause of the first repair, as in `tcpsf analyze --json`.
    pub cause: &'static str,
    /// Number of segments sent after the lost one and before its repair.
    pub following: u32,
    /// Whether all retransmissions were unnecessary.
    pub is_spurious: bool,
    /// Retransmissions in their order.
    pub retransmissions: Vec<RepetitionAnswer>,
}

/// A retransmission with its cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RepetitionAnswer {
    /// Number of the packet in the flow.
    pub packet: Option<u32>,
    /// Time in seconds.
    pub at_s: f64,
    /// Name of the cause.
    pub cause: &'static str,
    /// Whether there is evidence that it was not necessary.
    pub is_spurious: bool,
}

/// A flow that the page shows.
#[derive(Debug)]
pub(crate) struct KeptFlow {
    scenario: Scenario,
    links: Vec<String>,
    /// Number of links of the forward and return path of each workload.
    hops: Vec<[usize; 2]>,
    watched: WatchedFlow,
}

impl KeptFlow {
    /// Runs the scenario until the flow has ended.
    pub(crate) fn new(
        scenario: Scenario,
        seed: u64,
        flow: FlowName,
        edits: &Edits,
    ) -> Result<Self, Refusal> {
        let plan = Plan::new(&scenario)?;
        let choice = FlowChoice { flow, max_events: MOST_EVENTS };
        let hops = plan.workloads.iter().map(|each| [each.forward.len(), each.back.len()]);
        let hops = hops.collect();
        let links = plan.links.into_iter().map(|link| link.name).collect();
        let (scenario, watched) = edits::run(scenario, seed, choice, edits)?;
        Ok(Self { scenario, links, hops, watched })
    }

    pub(crate) fn answer(&self) -> Result<FlowAnswer, Refusal> {
        let found = &self.watched;
        let rows = &found.rows;
        let row = found.number.and_then(|number| rows.flow.iter().position(|each| *each == number));
        let count = |column: &[u32]| row.and_then(|row| column.get(row).copied()).unwrap_or(0);
        let workload = found.place.and_then(|(workload, _)| self.scenario.workloads.get(workload));
        Ok(FlowAnswer {
            scenario: value_of(&self.scenario)?,
            workload: workload.map(|workload| workload.name().to_owned()),
            index: found.place.map(|(_, index)| index),
            sender: found.sender.clone(),
            size_bytes: row.and_then(|row| rows.size_bytes.get(row)),
            start_s: row.and_then(|row| rows.start_s.get(row).copied()),
            sender_s: row.and_then(|row| rows.sender_s.get(row)),
            receiver_s: row.and_then(|row| rows.receiver_s.get(row)),
            segments: count(&rows.segments),
            retransmitted_segments: count(&rows.retransmitted_segments),
            timeouts: count(&rows.timeouts) + count(&rows.syn_timeouts),
            packets: self.packets(),
            repairs: self.repairs()?,
            moments_s: found.moments.iter().map(|moment| time_s(moment.at)).collect(),
            is_cut: found.is_cut,
        })
    }

    /// The state at a time, in seconds: that of the last moment before.
    pub(crate) fn moment(&self, at_s: f64) -> Result<MomentAnswer, Refusal> {
        let moments = &self.watched.moments;
        // A time that was printed and read again may be a rounding error early.
        let after = moments.partition_point(|moment| time_s(moment.at) <= at_s + 1e-12);
        let moment = moments.get(after.saturating_sub(1)).ok_or_else(|| {
            Refusal::new("moment: the flow has not started", "choose a flow of the scenario")
        })?;
        Ok(MomentAnswer::new(moment, self.watched.first[0]))
    }

    pub(crate) fn capture(&self) -> &[u8] {
        &self.watched.capture
    }

    fn packets(&self) -> Vec<PacketAnswer> {
        // Sequence numbers after the last one sent by each end.
        let mut highest = [0, 0];
        let mut answer = |packet: &WatchedPacket| {
            let place = usize::from(!packet.is_forward);
            let found = self.packet(packet, highest[place]);
            let end = packet.segment.seq_end().distance_from(self.watched.first[place]);
            highest[place] = highest[place].max(end);
            found
        };
        self.watched.packets.iter().map(&mut answer).collect()
    }

    fn packet(&self, packet: &WatchedPacket, highest: u32) -> PacketAnswer {
        let [data, other] = self.watched.first;
        let (own, peer) = if packet.is_forward { (data, other) } else { (other, data) };
        let segment = &packet.segment;
        let blocks = segment.options.sack_blocks();
        let workload = self.watched.place.map_or(0, |(workload, _)| workload);
        let hops = self.hops.get(workload).copied().unwrap_or_default();
        let relative = |seq: wire::SeqNum| seq.distance_from(peer);
        let seq = segment.seq.distance_from(own);
        PacketAnswer {
            number: packet.number,
            is_forward: packet.is_forward,
            link: self.links.get(packet.link).cloned().unwrap_or_default(),
            position: packet.position,
            is_single_hop: hops[usize::from(!packet.is_forward)] == 1,
            sent_s: time_s(packet.sent_at),
            ended_s: packet.ended.map(|(at, _)| time_s(at)),
            fate: fate(packet),
            marked: packet.marked,
            control: match segment.control {
                Control::None => "",
                Control::Syn => "SYN",
                Control::Fin => "FIN",
                Control::Rst => "RST",
            },
            seq,
            payload_bytes: segment.payload_len,
            ack: segment.ack.map(relative),
            sack: blocks.iter().map(|b| [relative(b.start()), relative(b.end())]).collect(),
            is_again: segment.seq_len() > 0 && seq < highest,
            frame: packet.frame,
        }
    }

    /// Loss episodes of the flow, from the capture of the run.
    fn repairs(&self) -> Result<Vec<RepairAnswer>, Refusal> {
        let by_frame: BTreeMap<u64, u32> = self
            .watched
            .packets
            .iter()
            .filter_map(|packet| packet.frame.map(|frame| (frame, packet.number)))
            .collect();
        let records = Records::new(Cursor::new(self.watched.capture.as_slice()))
            .map_err(|error| Refusal { error: format!("capture: {error}"), hint: None })?;
        let mut analysis = Analysis::new(records, Limits::default());
        let mut found = Vec::new();
        let mut more = true;
        while more {
            more = analysis.advance(u64::MAX);
            found.append(&mut analysis.take_episodes());
        }
        let own = |of: &EpisodeOf| by_frame.contains_key(&of.episode.repaired_frame);
        let mut repairs: Vec<_> =
            found.iter().filter(|of| own(of)).map(|of| repair(of, &by_frame)).collect();
        repairs.sort_by(|a, b| a.repaired_s.total_cmp(&b.repaired_s));
        Ok(repairs)
    }
}

/// The flow of a workload, which is the first one without a name.
pub(crate) fn flow_of_workload(
    scenario: &Scenario,
    workload: Option<&str>,
    index: u32,
) -> Result<FlowName, Refusal> {
    let names = || scenario.workloads.iter().map(Workload::name);
    let found = names().position(|each| workload.is_none_or(|name| name == each));
    let workload = found.ok_or_else(|| {
        let name = workload.unwrap_or_default();
        Refusal::new(
            format!("flow: there is no workload `{name}`"),
            "name a workload of the scenario",
        )
    })?;
    Ok(FlowName::InWorkload { workload, index })
}

/// The name of a packet's end.
fn fate(packet: &WatchedPacket) -> &'static str {
    match packet.ended {
        None => "in-network",
        Some((_, Fate::Arrived)) => "arrived",
        Some((_, Fate::Dropped(DropReason::Buffer))) => "dropped-buffer",
        Some((_, Fate::Dropped(DropReason::Early))) => "dropped-early",
        Some((_, Fate::Dropped(DropReason::Loss))) => "dropped-loss",
    }
}

fn repair(of: &EpisodeOf, packets: &BTreeMap<u64, u32>) -> RepairAnswer {
    let episode = &of.episode;
    // Times of a simulated capture count from the start of the run.
    let unneeded = |each: &analysis::Retransmission| each.spurious != Spurious::No;
    RepairAnswer {
        lost: packets.get(&episode.lost_frame).copied(),
        repaired: packets.get(&episode.repaired_frame).copied(),
        lost_s: time_s(episode.lost_at),
        repaired_s: time_s(episode.repaired_at),
        ended_s: episode.ended_at.map(time_s),
        delay_s: span_s(episode.delay),
        cause: episode.cause.name(),
        following: episode.following,
        is_spurious: episode.retransmissions.iter().all(unneeded),
        retransmissions: episode
            .retransmissions
            .iter()
            .map(|each| RepetitionAnswer {
                packet: packets.get(&each.frame).copied(),
                at_s: time_s(each.at),
                cause: each.cause.name(),
                is_spurious: unneeded(each),
            })
            .collect(),
    }
}
