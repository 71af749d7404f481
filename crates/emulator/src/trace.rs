//! Captures of packets at the two ends in a pcapng file, with comments for facts that a header does
//! not show.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::IpAddr;
use std::path::PathBuf;

use capture::pcapng::{Direction, Interface, InterfaceId, LinkType, Packet, Section, Writer};
use link::{Discipline, DropReason, LinkConfig, LossModel, Outcome};
use units::Instant;

use crate::line::{Delivery, LineConfig, PacketOutcome};
use crate::network::Ends;
use crate::settings::Settings;

/// The file of a capture and its contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capture {
    /// The path of the file.
    pub path: PathBuf,
    /// The end at which packets are captured.
    pub vantage_point: VantagePoint,
    /// The number of bytes stored of each packet.
    pub snap_len: u32,
}

/// The end at which packets are captured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum VantagePoint {
    /// The command's end.
    #[default]
    Inside,
    /// The other end.
    Outside,
    /// Both ends: a packet that arrives is captured twice.
    Both,
}

impl std::str::FromStr for VantagePoint {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "inside" => Ok(Self::Inside),
            "outside" => Ok(Self::Outside),
            "both" => Ok(Self::Both),
            _ => Err(()),
        }
    }
}

/// A direction of the link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkDirection {
    Up,
    Down,
}

/// The capture being written.
#[derive(Debug)]
pub(crate) struct Trace {
    writer: Writer<BufWriter<File>>,
    inside: Option<InterfaceId>,
    outside: Option<InterfaceId>,
    /// The links by direction. They name the causes of drops.
    links: [LinkConfig; 2],
    /// The start of the clock, in nanoseconds since 1970.
    epoch: u64,
}

impl Trace {
    pub(crate) fn create(
        capture: &Capture,
        settings: &Settings,
        ends: &Ends,
        epoch: u64,
    ) -> io::Result<Self> {
        let section =
            Section { application: Some("tcpsf link"), os: Some("Linux"), ..Section::default() };
        let mut writer = Writer::new(BufWriter::new(File::create(&capture.path)?), &section)?;
        let mut interface = |name, description, address: IpAddr, here: bool| {
            let address = match address {
                IpAddr::V4(address) => Some(address),
                IpAddr::V6(_) => None,
            };
            let link_type = LinkType::Raw;
            let interface = Interface {
                name,
                description: Some(description),
                address,
                link_type,
                snap_len: capture.snap_len,
            };
            here.then(|| writer.interface(&interface)).transpose()
        };
        let vantage_point = capture.vantage_point;
        let inside = interface(
            "inside",
            "the command's end",
            ends.inside,
            vantage_point != VantagePoint::Outside,
        )?;
        let outside = interface(
            "outside",
            "the other end",
            ends.outside,
            vantage_point != VantagePoint::Inside,
        )?;
        let links = [&settings.up, &settings.down].map(|line| line.link.clone());
        Ok(Self { writer, inside, outside, links, epoch })
    }

    /// Changes the links, which name the causes of drops.
    pub(crate) fn set_links(&mut self, lines: &[LineConfig; 2]) {
        self.links = lines.each_ref().map(|line| line.link.clone());
    }

    /// Writes a packet that arrived at the near end, with its outcome.
    pub(crate) fn entered(
        &mut self,
        link_direction: LinkDirection,
        at: Instant,
        bytes: &[u8],
        outcomes: &PacketOutcome,
    ) -> io::Result<()> {
        let near = match link_direction {
            LinkDirection::Up => self.inside,
            LinkDirection::Down => self.outside,
        };
        let Some(interface) = near else { return Ok(()) };
        let link = &self.links[link_direction as usize];
        let mut comments = Vec::new();
        comments.extend(outcome(outcomes.outcome, link));
        if let Some(copy) = outcomes.duplicate {
            comments.push("Duplicated".to_owned());
            comments.extend(outcome(copy, link).map(|text| format!("The second copy: {text}")));
        }
        if outcomes.corrupted {
            comments.push("Corrupted: one bit is turned".to_owned());
        }
        if outcomes.reordered {
            comments.push("Late: others may pass it".to_owned());
        }
        self.write(interface, Direction::Outbound, at, bytes, &comments)
    }

    /// Writes a packet that arrived at the near end and exceeded the path MTU.
    pub(crate) fn too_big(
        &mut self,
        link_direction: LinkDirection,
        at: Instant,
        bytes: &[u8],
        mtu: u32,
    ) -> io::Result<()> {
        let near = match link_direction {
            LinkDirection::Up => self.inside,
            LinkDirection::Down => self.outside,
        };
        let Some(interface) = near else { return Ok(()) };
        let comment = format!("Dropped: longer than the {mtu} bytes that the path carries");
        self.write(interface, Direction::Outbound, at, bytes, &[comment])
    }

    /// Writes a packet that was delivered at the far end.
    pub(crate) fn left(
        &mut self,
        link_direction: LinkDirection,
        at: Instant,
        delivery: &Delivery,
    ) -> io::Result<()> {
        let (interface, near) = match link_direction {
            LinkDirection::Up => (self.outside, self.inside),
            LinkDirection::Down => (self.inside, self.outside),
        };
        let Some(interface) = interface else { return Ok(()) };
        let mut comments = Vec::new();
        // CoDel decides after a packet's arrival.
        let discipline = &self.links[link_direction as usize].discipline;
        if near.is_none() || matches!(discipline, Discipline::CoDel(_)) {
            // Otherwise the near end's packet has the comment.
            match delivery.gap {
                0 => {}
                1 => comments.push("Before it, 1 packet was dropped".to_owned()),
                gap => comments.push(format!("Before it, {gap} packets were dropped")),
            }
            if delivery.marked {
                comments.push(MARKED.to_owned());
            }
        }
        self.write(interface, Direction::Inbound, at, &delivery.bytes, &comments)
    }

    fn write(
        &mut self,
        interface: InterfaceId,
        direction: Direction,
        at: Instant,
        bytes: &[u8],
        comments: &[String],
    ) -> io::Result<()> {
        let at = Instant::from_nanos(self.epoch.saturating_add(at.as_nanos()));
        let wire_len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.writer.packet(&Packet { interface, at, direction, bytes, wire_len, comments })
    }

    pub(crate) fn finish(self) -> io::Result<()> {
        self.writer.finish().map(drop)
    }
}

const MARKED: &str = "Marked: congestion experienced";

fn outcome(outcome: Outcome, link: &LinkConfig) -> Option<String> {
    let cause = match outcome {
        Outcome::Accepted | Outcome::Pending => return None,
        Outcome::Marked => return Some(MARKED.to_owned()),
        // The emulator's only custom loss model is a mask for each connection.
        Outcome::Dropped(DropReason::Loss) if matches!(link.loss, LossModel::Custom(_)) => {
            "loss mask"
        }
        Outcome::Dropped(reason) => link.drop_cause(reason),
    };
    Some(format!("Dropped: {cause}"))
}
