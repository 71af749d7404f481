//! Captures of a run: the packets of every flow, with headers as on a real wire, in a pcapng file.
//!
//! Packets are captured at hosts, each an interface of the file. Comments give facts that a header
//! does not: the flow, the time and cause of a drop, the reason for a retransmission and the loss
//! that it repairs.
//!
//! A packet is kept in memory until its outcome is known, because its comment precedes the packets
//! that follow. Memory therefore holds the packets of one network transit time and a few numbers
//! for each active flow.

mod addresses;
mod story;

use std::collections::{HashMap, VecDeque};
use std::io::{self, Write};

use capture::pcapng::{Direction, Interface, InterfaceId, LinkType, Packet, Section, Writer};
use thiserror::Error;
use units::Instant;
use wire::{Checksum, Ecn, Segment, ipv4, tcp};

use self::addresses::Addresses;
use self::story::{Causes, Loss, Story};
use crate::plan::Plan;
use crate::recorder::trace::{Entry, Sent, TraceEvent};
use crate::scenario::{Scenario, ScenarioError};
use crate::simulation::Simulation;

/// The host at which a flow's packets are captured.
///
/// The default is one of the two hosts, because an analyser takes a packet that it sees twice for
/// one that was sent twice. A packet that is dropped before it reaches the host is not captured, as
/// on a real wire. The next arriving packet of the same end has a comment about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VantagePoint {
    /// The host that sends the data.
    #[default]
    Sender,
    /// The host that receives the data.
    Receiver,
    /// Both hosts: each packet that arrives is captured twice.
    Both,
}

impl VantagePoint {
    /// Returns true if packets are captured at that end.
    fn is_at(self, receiver: bool) -> bool {
        match self {
            Self::Sender => !receiver,
            Self::Receiver => receiver,
            Self::Both => true,
        }
    }
}

/// An error of a capture.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Segments that do not fit in an IPv4 packet.
    #[error(
        "workload `{workload}` has segments of {mss} bytes: with their headers they exceed an IPv4 packet's 65535"
    )]
    SegmentsTooLong {
        /// The workload.
        workload: String,
        /// Its `mss` in bytes.
        mss: u16,
    },
    /// More nodes than addresses.
    #[error("{nodes} nodes are more than 10.0.0.0/8 has addresses")]
    TooManyNodes {
        /// The number of nodes.
        nodes: usize,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl CaptureError {
    /// Advice on how to correct the error.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Scenario(error) => error.hint().map(str::to_owned),
            Self::SegmentsTooLong { .. } => Some(format!(
                "an `mss` of {} is the largest that fits",
                u32::from(u16::MAX) - HEADERS
            )),
            Self::TooManyNodes { .. } | Self::Write(_) => None,
        }
    }
}

/// The largest size of a packet's headers, in bytes.
const HEADERS: u32 = 80;

/// A writer of a run's capture. Call [`start`](Self::start) before the first event,
/// [`drain`](Self::drain) during the run, and [`finish`](Self::finish) at the end.
#[derive(Debug)]
pub struct Capture<W> {
    writer: Writer<W>,
    vantage_point: VantagePoint,
    snap_len: usize,
    addresses: Addresses,
    causes: Causes,
    /// Interfaces by host; none for a host without a vantage point.
    interfaces: Vec<Option<InterfaceId>>,
    /// The number of routers on each workload's forward and return paths.
    routers: Vec<[u8; 2]>,
    stories: HashMap<u64, Story>,
    /// Frames in order of time. A frame is written once its outcome and those of all earlier
    /// frames are known.
    frames: VecDeque<Frame>,
    /// Frames written or skipped so far: the number of the first frame in `frames`.
    frames_done: u64,
    /// The numbers of frames whose packet is in the network, by flow and packet.
    in_flight: HashMap<(u64, u32), u64>,
    bytes: Vec<u8>,
}

/// A packet captured at one host.
#[derive(Debug)]
struct Frame {
    at: Instant,
    flow: u64,
    workload: u16,
    packet: u32,
    /// Sent by the end that receives the data.
    back: bool,
    segment: Segment,
    /// A link marked the packet: it arrives with Congestion Experienced.
    marked: bool,
    /// Captured at the destination, not at the source.
    arrival: bool,
    state: FrameState,
    comments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FrameState {
    /// The packet is in the network.
    Undecided,
    /// The frame is to be written.
    Written,
    /// The frame is not written: the packet is captured at its destination, or not at all.
    Skipped,
}

impl<W: Write> Capture<W> {
    /// Begins the file of a run of `scenario` with `seed`. The first `snap_len` bytes of each
    /// packet are stored.
    ///
    /// # Errors
    /// If the scenario is invalid or has packets or nodes that IPv4 does not allow, or `out` cannot
    /// be written.
    pub fn new(
        out: W,
        scenario: &Scenario,
        seed: u64,
        vantage_point: VantagePoint,
        snap_len: u32,
    ) -> Result<Self, CaptureError> {
        let plan = Plan::new(scenario)?;
        for workload in &plan.workloads {
            let mss = workload.tcp.mss.get().get();
            if u32::from(mss) + HEADERS > u32::from(u16::MAX) {
                return Err(CaptureError::SegmentsTooLong { workload: workload.name.clone(), mss });
            }
        }
        let addresses = Addresses::new(scenario, &plan)?;
        let comment =
            format!("scenario `{}`, seed {seed}; times count from the start of the run", plan.name);
        let section = Section {
            application: Some(concat!("tcpsf ", env!("CARGO_PKG_VERSION"))),
            hardware: Some("simulated"),
            comment: Some(&comment),
            ..Section::default()
        };
        let mut writer = Writer::new(out, &section)?;
        let mut interface = |(host, (address, name))| {
            let interface = Interface {
                name,
                description: Some("simulated host"),
                address: Some(address),
                link_type: LinkType::Raw,
                snap_len,
            };
            addresses.is_seen(host, vantage_point).then(|| writer.interface(&interface)).transpose()
        };
        let interfaces =
            addresses.hosts().enumerate().map(&mut interface).collect::<Result<_, _>>()?;
        writer.names(addresses.hosts())?;
        let routers =
            |path: &[usize]| u8::try_from(path.len().saturating_sub(1)).unwrap_or(u8::MAX);
        Ok(Self {
            writer,
            vantage_point,
            snap_len: usize::try_from(snap_len).unwrap_or(usize::MAX),
            interfaces,
            routers: plan
                .workloads
                .iter()
                .map(|w| [routers(&w.forward), routers(&w.back)])
                .collect(),
            addresses,
            causes: Causes::new(&plan),
            stories: HashMap::new(),
            frames: VecDeque::new(),
            frames_done: 0,
            in_flight: HashMap::new(),
            bytes: Vec::new(),
        })
    }

    /// Enables the trace of a run. Earlier events are not captured.
    pub fn start(&mut self, simulation: &mut Simulation) {
        // The models of the caller are not part of the scenario.
        self.causes = Causes::new(simulation.plan());
        simulation.start_trace();
    }

    /// Takes the events since the last call, and writes the frames whose outcome is known.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn drain(&mut self, simulation: &mut Simulation) -> io::Result<()> {
        self.add_all(&simulation.take_trace())
    }

    /// Adds events in order, and writes the frames whose outcome is known.
    pub(crate) fn add_all(&mut self, entries: &[Entry]) -> io::Result<()> {
        for entry in entries {
            self.add(entry);
            self.write_decided()?;
        }
        Ok(())
    }

    /// Ends the file and returns the flushed output. Packets still in the network count as sent.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        for frame in &mut self.frames {
            if frame.state == FrameState::Undecided {
                frame.state = if self.vantage_point.is_at(frame.back) {
                    FrameState::Written
                } else {
                    FrameState::Skipped
                };
            }
        }
        self.write_decided()?;
        self.writer.finish()
    }

    fn add(&mut self, entry: &Entry) {
        let flow = entry.flow;
        match &entry.event {
            TraceEvent::Started(started) => {
                self.stories.insert(flow, Story::new(*started));
            }
            TraceEvent::Sent(sent) => self.sent(entry.at, flow, sent),
            TraceEvent::Arrived { packet } => self.arrived(entry.at, flow, *packet),
            TraceEvent::Dropped { packet, link, why } => {
                self.dropped(flow, *packet, &self.causes.loss(entry.at, *link, *why));
            }
            TraceEvent::Marked { packet, link } => {
                self.marked(flow, *packet, &self.causes.mark(entry.at, *link));
            }
            TraceEvent::Ended => {
                self.stories.remove(&flow);
            }
        }
    }

    fn sent(&mut self, at: Instant, flow: u64, sent: &Sent) {
        let Some(story) = self.stories.get_mut(&flow) else { return };
        let mut comments = Vec::new();
        if self.vantage_point.is_at(sent.back) {
            comments.extend(story.introduction(flow, &self.causes));
        }
        comments.extend(story.sent(sent, &self.causes));
        self.in_flight.insert((flow, sent.packet), self.frames_done + self.frames.len() as u64);
        self.frames.push_back(Frame {
            at,
            flow,
            workload: story.workload(),
            packet: sent.packet,
            back: sent.back,
            segment: sent.segment,
            marked: false,
            arrival: false,
            state: FrameState::Undecided,
            comments,
        });
    }

    fn arrived(&mut self, at: Instant, flow: u64, packet: u32) {
        let Some(frame) =
            take_in_flight(&mut self.in_flight, &mut self.frames, self.frames_done, (flow, packet))
        else {
            return;
        };
        let seen_at_source = self.vantage_point.is_at(frame.back);
        frame.state = if seen_at_source { FrameState::Written } else { FrameState::Skipped };
        if !self.vantage_point.is_at(!frame.back) {
            return;
        }
        let mut comments = Vec::new();
        if !seen_at_source && let Some(story) = self.stories.get_mut(&flow) {
            comments.extend(story.introduction(flow, &self.causes));
            comments.extend(story.unseen_before(packet, frame.back));
            // Each comment is written once.
            comments.append(&mut frame.comments);
        }
        let arrival = Frame { at, arrival: true, state: FrameState::Written, comments, ..*frame };
        self.frames.push_back(arrival);
    }

    fn dropped(&mut self, flow: u64, packet: u32, loss: &Loss) {
        let Some(frame) =
            take_in_flight(&mut self.in_flight, &mut self.frames, self.frames_done, (flow, packet))
        else {
            return;
        };
        let seen_at_source = self.vantage_point.is_at(frame.back);
        frame.state = if seen_at_source { FrameState::Written } else { FrameState::Skipped };
        if seen_at_source {
            frame.comments.push(format!("Dropped {loss}"));
        }
        let Some(story) = self.stories.get_mut(&flow) else { return };
        story.lost(&frame.segment, frame.back, loss);
        if !seen_at_source {
            story.unseen(packet, frame.back, &frame.segment, loss);
        }
    }

    /// Notes that a packet was marked and continues.
    fn marked(&mut self, flow: u64, packet: u32, comment: &str) {
        let Some(&number) = self.in_flight.get(&(flow, packet)) else { return };
        let Some(frame) = frame_at(&mut self.frames, self.frames_done, number) else { return };
        frame.marked = true;
        frame.comments.push(comment.to_owned());
    }

    /// Writes the leading frames whose outcome is known.
    fn write_decided(&mut self) -> io::Result<()> {
        while let Some(frame) =
            self.frames.pop_front_if(|frame| frame.state != FrameState::Undecided)
        {
            self.frames_done += 1;
            if frame.state == FrameState::Written {
                self.write(&frame)?;
            }
        }
        Ok(())
    }

    fn write(&mut self, frame: &Frame) -> io::Result<()> {
        let packet_addresses =
            self.addresses.packet_addresses(frame.flow, frame.workload, frame.back);
        let tcp =
            tcp::Repr::new(packet_addresses.ports, frame.segment).map_err(io::Error::other)?;
        let (source, destination) = (
            self.addresses.of(packet_addresses.source),
            self.addresses.of(packet_addresses.destination),
        );
        let mut ip =
            ipv4::Repr::new(source, destination, ipv4::TCP, tcp.len()).map_err(io::Error::other)?;
        // Numbers the flow's packets, so that a packet that is captured twice can be identified.
        ip.identification = u16::try_from(frame.packet & 0xffff).unwrap_or(0);
        ip.ecn = frame.segment.flags.ecn();
        if frame.arrival {
            if frame.marked {
                ip.ecn = Ecn::Ce;
            }
            let routers = self.routers[usize::from(frame.workload)][usize::from(frame.back)];
            ip.ttl = ip.ttl.saturating_sub(routers).max(1);
        }
        self.bytes.clear();
        ip.write(&mut self.bytes);
        // The payload is zeros, which do not change a checksum.
        tcp.write(ip.pseudo_header(), Checksum::EMPTY, &mut self.bytes);
        self.bytes.resize(ip.packet_len().min(self.snap_len.max(self.bytes.len())), 0);
        let host =
            if frame.arrival { packet_addresses.destination } else { packet_addresses.source };
        let Some(interface) = self.interfaces[host] else { return Ok(()) };
        self.writer.packet(&Packet {
            interface,
            at: frame.at,
            direction: if frame.arrival { Direction::Inbound } else { Direction::Outbound },
            bytes: &self.bytes,
            wire_len: u32::try_from(ip.packet_len()).unwrap_or(u32::MAX),
            comments: &frame.comments,
        })
    }
}

/// Removes a packet from those in the network and returns its frame.
fn take_in_flight<'a>(
    in_flight: &mut HashMap<(u64, u32), u64>,
    frames: &'a mut VecDeque<Frame>,
    frames_done: u64,
    packet: (u64, u32),
) -> Option<&'a mut Frame> {
    let number = in_flight.remove(&packet)?;
    frame_at(frames, frames_done, number)
}

fn frame_at(frames: &mut VecDeque<Frame>, frames_done: u64, number: u64) -> Option<&mut Frame> {
    frames.get_mut(usize::try_from(number.checked_sub(frames_done)?).ok()?)
}

#[cfg(test)]
mod tests;
