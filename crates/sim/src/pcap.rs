//! A run as a capture: the packets of every flow, with headers as on a real wire, in a pcapng file.
//!
//! Packets are seen at hosts, each an interface of the file. Comments say what a header cannot:
//! which flow this is, where and why a packet was dropped, what made a sender send something again
//! and which loss that repairs.
//!
//! A packet stays here until its fate is known, since its comment comes before the packets that
//! follow. So memory holds what is seen in the time that a packet takes through the network, and a
//! few numbers for each flow alive.

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
use crate::engine::Simulation;
use crate::plan::Plan;
use crate::scenario::{Scenario, ScenarioError};
use crate::trace::{Entry, Sent, TraceEvent};

/// At which host a flow's packets are seen.
///
/// At one of the two, unless it is asked for both: an analyser takes a packet that it sees twice
/// for one that was sent twice. A packet that is dropped on its way there is not seen, as on a real
/// wire; the next of its end that arrives has a comment about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VantagePoint {
    /// At the one that sends the data.
    #[default]
    Sender,
    /// At the one that receives them.
    Receiver,
    /// At both: each packet that arrives is there twice.
    Both,
}

impl VantagePoint {
    /// Whether packets are seen at that end.
    fn is_at(self, receiver: bool) -> bool {
        match self {
            Self::Sender => !receiver,
            Self::Receiver => receiver,
            Self::Both => true,
        }
    }
}

/// Why a run cannot be captured.
#[derive(Debug, Error)]
pub enum CaptureError {
    /// Something is wrong with the scenario.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Segments that no IPv4 packet carries.
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
        /// How many.
        nodes: usize,
    },
    /// The file could not be written.
    #[error(transparent)]
    Write(#[from] io::Error),
}

impl CaptureError {
    /// What to do about it.
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

/// What a packet's headers take at the most, in bytes.
const HEADERS: u32 = 80;

/// Writes a run as it goes on: [`start`](Self::start) before its first event,
/// [`drain`](Self::drain) now and then, [`finish`](Self::finish) at the end.
#[derive(Debug)]
pub struct Capture<W> {
    writer: Writer<W>,
    vantage_point: VantagePoint,
    snap_len: usize,
    addresses: Addresses,
    causes: Causes,
    /// By host; none for one that sees nothing.
    interfaces: Vec<Option<InterfaceId>>,
    /// How many routers the packets of each workload pass, there and back.
    routers: Vec<[u8; 2]>,
    stories: HashMap<u64, Story>,
    /// In order of time: a packet is written when it and all before it have met their fate.
    frames: VecDeque<Frame>,
    /// Frames written or left out so far: the number of the first of those that wait.
    gone: u64,
    /// The numbers of frames whose packet is on its way, by flow and packet.
    on_the_way: HashMap<(u64, u32), u64>,
    bytes: Vec<u8>,
}

/// A packet seen at one host.
#[derive(Debug)]
struct Frame {
    at: Instant,
    flow: u64,
    workload: u16,
    packet: u32,
    /// Sent by the end that receives the data.
    back: bool,
    segment: Segment,
    /// A link marked it: it arrives as one that experienced congestion.
    marked: bool,
    /// Seen where it arrives, not where it was sent.
    arrival: bool,
    fate: Fate,
    comments: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is on its way.
    Open,
    /// It is to be written.
    Kept,
    /// It is not: it is seen where it arrived, or nowhere.
    LeftOut,
}

impl<W: Write> Capture<W> {
    /// Begins a file about a run of `scenario` with `seed`. Of each packet the first `snap_len`
    /// bytes are kept.
    ///
    /// # Errors
    /// When the scenario makes no sense or has packets that do not exist, or `out` takes nothing.
    pub fn new(
        out: W,
        scenario: &Scenario,
        seed: u64,
        vantage_point: VantagePoint,
        snap_len: u32,
    ) -> Result<Self, CaptureError> {
        let plan = Plan::new(scenario)?;
        for workload in &plan.workloads {
            let mss = workload.tcp.mss.get();
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
            gone: 0,
            on_the_way: HashMap::new(),
            bytes: Vec::new(),
        })
    }

    /// Makes the run keep what a capture needs. What happened before is not in it.
    pub fn start(&self, simulation: &mut Simulation) {
        simulation.start_trace();
    }

    /// Takes what happened since the last call, and writes what is ready.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn drain(&mut self, simulation: &mut Simulation) -> io::Result<()> {
        for entry in simulation.take_trace() {
            self.add(&entry);
            self.write_settled()?;
        }
        Ok(())
    }

    /// Ends the file and gives back what it was written to, flushed. Packets still on their way
    /// have been sent.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        for frame in &mut self.frames {
            if frame.fate == Fate::Open {
                frame.fate =
                    if self.vantage_point.is_at(frame.back) { Fate::Kept } else { Fate::LeftOut };
            }
        }
        self.write_settled()?;
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
                self.marked(flow, *packet, &self.causes.mark(entry.at, *link))
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
        self.on_the_way.insert((flow, sent.packet), self.gone + self.frames.len() as u64);
        self.frames.push_back(Frame {
            at,
            flow,
            workload: story.workload(),
            packet: sent.packet,
            back: sent.back,
            segment: sent.segment,
            marked: false,
            arrival: false,
            fate: Fate::Open,
            comments,
        });
    }

    fn arrived(&mut self, at: Instant, flow: u64, packet: u32) {
        let Some(frame) =
            settled(&mut self.on_the_way, &mut self.frames, self.gone, (flow, packet))
        else {
            return;
        };
        let seen_leaving = self.vantage_point.is_at(frame.back);
        frame.fate = if seen_leaving { Fate::Kept } else { Fate::LeftOut };
        if !self.vantage_point.is_at(!frame.back) {
            return;
        }
        let mut comments = Vec::new();
        if !seen_leaving && let Some(story) = self.stories.get_mut(&flow) {
            comments.extend(story.introduction(flow, &self.causes));
            comments.extend(story.unseen_before(packet, frame.back));
            // What there is to say is said once.
            comments.append(&mut frame.comments);
        }
        let arrival = Frame { at, arrival: true, fate: Fate::Kept, comments, ..*frame };
        self.frames.push_back(arrival);
    }

    fn dropped(&mut self, flow: u64, packet: u32, loss: &Loss) {
        let Some(frame) =
            settled(&mut self.on_the_way, &mut self.frames, self.gone, (flow, packet))
        else {
            return;
        };
        let seen_leaving = self.vantage_point.is_at(frame.back);
        frame.fate = if seen_leaving { Fate::Kept } else { Fate::LeftOut };
        if seen_leaving {
            frame.comments.push(format!("Dropped {loss}"));
        }
        let Some(story) = self.stories.get_mut(&flow) else { return };
        story.lost(&frame.segment, frame.back, loss);
        if !seen_leaving {
            story.unseen(packet, frame.back, &frame.segment, loss);
        }
    }

    /// A packet that was marked goes on, and arrives with the mark.
    fn marked(&mut self, flow: u64, packet: u32, comment: &str) {
        let Some(&number) = self.on_the_way.get(&(flow, packet)) else { return };
        let Some(frame) = frame_at(&mut self.frames, self.gone, number) else { return };
        frame.marked = true;
        frame.comments.push(comment.to_owned());
    }

    /// Writes the frames in front whose fate is known.
    fn write_settled(&mut self) -> io::Result<()> {
        while let Some(frame) = self.frames.pop_front_if(|frame| frame.fate != Fate::Open) {
            self.gone += 1;
            if frame.fate == Fate::Kept {
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
        // Numbers the flow's packets, so that one that is seen twice is known again.
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
        // The payload is zeros, which no checksum feels.
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

/// The frame of a packet that is no longer on its way.
fn settled<'a>(
    on_the_way: &mut HashMap<(u64, u32), u64>,
    frames: &'a mut VecDeque<Frame>,
    gone: u64,
    packet: (u64, u32),
) -> Option<&'a mut Frame> {
    let number = on_the_way.remove(&packet)?;
    frame_at(frames, gone, number)
}

fn frame_at(frames: &mut VecDeque<Frame>, gone: u64, number: u64) -> Option<&mut Frame> {
    frames.get_mut(usize::try_from(number.checked_sub(gone)?).ok()?)
}

#[cfg(test)]
mod tests;
