//! Packets and captures for tests, with headers written by `wire` and files by `capture`.

use std::io::Cursor;
use std::net::IpAddr;

use capture::pcapng::{Direction, Interface, LinkType, Packet, Section, Writer};
use units::Instant;
use wire::tcp::{Ports, Repr};
use wire::{Checksum, Control, SackBlocks, Segment, SeqNum, SeqRange, Timestamps, ip};

use crate::{Analysis, Block, EpisodeOf, Flow, Limits, Loss, Records, TransferOf};

/// Ends of the connection in tests: the client opens it, the server sends.
pub(crate) const CLIENT: ([u8; 4], u16) = ([10, 0, 0, 1], 40_000);
pub(crate) const SERVER: ([u8; 4], u16) = ([10, 0, 0, 2], 80);

/// Initial sequence numbers of both ends.
const CLIENT_ISN: u32 = 1_000;
const SERVER_ISN: u32 = u32::MAX - 20_000;

/// Bytes of an IP packet with a segment whose payload is zeros.
pub(crate) fn packet(from: ([u8; 4], u16), to: ([u8; 4], u16), segment: &Segment) -> Vec<u8> {
    let ports = Ports { source: from.1, destination: to.1 };
    let tcp = Repr::new(ports, *segment).expect("a segment that can be written");
    let (source, destination): (IpAddr, IpAddr) = (from.0.into(), to.0.into());
    let header = ip::Repr::new(source, destination, ip::TCP, tcp.len()).expect("addresses");
    let mut bytes = Vec::new();
    header.write(&mut bytes);
    tcp.write(header.pseudo_header(), Checksum::EMPTY, &mut bytes);
    bytes.resize(bytes.len() + segment.payload_len as usize, 0);
    bytes
}

/// A capture of one connection, written packet by packet with times in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    packets: Vec<(f64, Vec<u8>)>,
    timestamps: bool,
}

impl Trace {
    /// A capture at the server whose handshake takes 100 ms. The server's SYN is that of a current
    /// Linux, or of one without tail loss probes and RACK.
    pub(crate) fn at_server(current: bool) -> Self {
        Self::opened(current, |_| {})
    }

    /// A capture at the server, a current Linux whose peer does not permit SACK.
    pub(crate) fn without_sack() -> Self {
        Self::opened(true, |segment| segment.options.sack_permitted = false)
    }

    /// A capture at the server, a system whose options have another order.
    pub(crate) fn of_other_system() -> Self {
        Self::opened(true, |segment| segment.options.is_compact = false)
    }

    /// The handshake, whose SYNs are changed.
    fn opened(current: bool, change: impl Fn(&mut Segment)) -> Self {
        let mut trace = Self { timestamps: current, ..Self::default() };
        let window = if current { 65_160 } else { 5_840 };
        trace.client(0.0, |segment| {
            as_syn(segment);
            change(segment);
        });
        trace.server(0.05, |segment| {
            as_syn_ack(segment);
            segment.window = wire::UnscaledWindow::new(window);
            change(segment);
        });
        trace.ack(100.0, 0, &[]);
        trace
    }

    /// A handshake at the server: times of SYNs (true) and SYN-ACKs (false).
    pub(crate) fn handshake(packets: &[(bool, f64)]) -> Self {
        let mut trace = Self { timestamps: true, ..Self::default() };
        for &(is_syn, at) in packets {
            if is_syn { trace.client(at, as_syn) } else { trace.server(at, as_syn_ack) }
        }
        trace
    }

    /// Data of the server: `len` bytes from `start`, counted from 0.
    pub(crate) fn data(&mut self, at: f64, start: u32, len: u32) {
        self.server(at, |segment| {
            segment.seq = SeqNum::new(SERVER_ISN.wrapping_add(1 + start));
            segment.payload_len = len;
        });
    }

    /// The packet before once more, with its header.
    pub(crate) fn copy(&mut self, at: f64) {
        let (_, bytes) = self.packets.last().expect("a packet").clone();
        self.packets.push((at, bytes));
    }

    /// Changes the time of the last packet, but not its timestamps option.
    pub(crate) fn delay_last(&mut self, at: f64) {
        self.packets.last_mut().expect("a packet").0 = at;
    }

    /// An acknowledgment of the client, with SACK blocks.
    pub(crate) fn ack(&mut self, at: f64, ack: u32, blocks: &[(u32, u32)]) {
        let position = |at: u32| SeqNum::new(SERVER_ISN.wrapping_add(1 + at));
        let ranges =
            blocks.iter().filter_map(|&(start, end)| SeqRange::new(position(start), position(end)));
        let mut sack = SackBlocks::default();
        for range in ranges {
            sack.push(range);
        }
        self.client(at, |segment| {
            segment.ack = Some(position(ack));
            segment.options.reports = sack.into();
        });
    }

    /// A request of the client: `len` bytes from `start`. It acknowledges `ack` bytes.
    pub(crate) fn request(&mut self, at: f64, start: u32, len: u32, ack: u32) {
        self.client(at, |segment| {
            segment.seq = SeqNum::new(CLIENT_ISN.wrapping_add(1 + start));
            segment.ack = Some(SeqNum::new(SERVER_ISN.wrapping_add(1 + ack)));
            segment.payload_len = len;
        });
    }

    /// Data of the client, which echoes the timestamp of a packet of the server at `echoed`.
    pub(crate) fn upload(&mut self, at: f64, start: u32, len: u32, echoed: f64) {
        let echo = self.segment(0, 0, echoed).options.timestamps.map(|stamps| stamps.val);
        self.client(at, |segment| {
            segment.seq = SeqNum::new(CLIENT_ISN.wrapping_add(1 + start));
            segment.payload_len = len;
            if let (Some(stamps), Some(ecr)) = (&mut segment.options.timestamps, echo) {
                stamps.ecr = ecr;
            }
        });
    }

    /// An acknowledgment of the server, with a SACK block.
    pub(crate) fn server_ack(&mut self, at: f64, ack: u32, block: (u32, u32)) {
        let position = |at: u32| SeqNum::new(CLIENT_ISN.wrapping_add(1 + at));
        let mut sack = SackBlocks::default();
        if let Some(range) = SeqRange::new(position(block.0), position(block.1)) {
            sack.push(range);
        }
        self.server(at, |segment| {
            segment.ack = Some(position(ack));
            segment.options.reports = sack.into();
        });
    }

    fn client(&mut self, at: f64, change: impl FnOnce(&mut Segment)) {
        let mut segment = self.segment(CLIENT_ISN.wrapping_add(1), SERVER_ISN.wrapping_add(1), at);
        change(&mut segment);
        self.packets.push((at, packet(CLIENT, SERVER, &segment)));
    }

    fn server(&mut self, at: f64, change: impl FnOnce(&mut Segment)) {
        let mut segment = self.segment(SERVER_ISN.wrapping_add(1), CLIENT_ISN.wrapping_add(1), at);
        change(&mut segment);
        self.packets.push((at, packet(SERVER, CLIENT, &segment)));
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "milliseconds of a short test"
    )]
    fn segment(&self, seq: u32, ack: u32, at: f64) -> Segment {
        let mut segment = Segment {
            seq: SeqNum::new(seq),
            ack: Some(SeqNum::new(ack)),
            control: Control::None,
            flags: wire::Flags::NONE,
            window: wire::UnscaledWindow::new(60_000),
            payload_len: 0,
            options: wire::Options::default(),
        };
        if self.timestamps {
            // The echo is not used by a capture at the sender, except for late originals.
            let val = 1 + at as u32;
            segment.options.timestamps = Some(Timestamps { val, ecr: val });
        }
        segment
    }

    /// The capture as a pcapng file.
    pub(crate) fn file(&self) -> Vec<u8> {
        let packets = self.packets.iter().map(|(at, bytes)| (*at, bytes.as_slice()));
        pcapng(packets)
    }

    /// Transfers of the server.
    pub(crate) fn transfers(&self) -> Vec<TransferOf> {
        let records = Records::new(Cursor::new(self.file())).expect("a capture");
        let mut analysis = Analysis::new(records, Limits::default());
        while analysis.advance(1000) {}
        let mut found = analysis.take_transfers();
        found.retain(|each| each.direction == 1);
        found
    }

    /// Outcomes of the server's first transmissions: blocks, and losses.
    pub(crate) fn outcomes(&self) -> (Vec<Block>, Vec<Loss>) {
        let records = Records::new(Cursor::new(self.file())).expect("a capture");
        let mut analysis = Analysis::new(records, Limits::default());
        while analysis.advance(1000) {}
        let (blocks, losses) = analysis.take_outcomes();
        let blocks = blocks.into_iter().filter(|of| of.direction == 1).map(|of| of.block);
        (blocks.collect(), losses.iter().map(|of| of.loss).collect())
    }

    /// Analyses the capture.
    pub(crate) fn analyse(&self) -> (Vec<Flow>, Vec<EpisodeOf>) {
        analyse(&self.file())
    }
}

fn as_syn(segment: &mut Segment) {
    (segment.seq, segment.ack) = (SeqNum::new(CLIENT_ISN), None);
    with_syn(segment);
}

fn as_syn_ack(segment: &mut Segment) {
    segment.seq = SeqNum::new(SERVER_ISN);
    with_syn(segment);
}

fn with_syn(segment: &mut Segment) {
    segment.control = Control::Syn;
    segment.options.is_compact = true;
    segment.options.mss = wire::Mss::new(1460);
    segment.options.sack_permitted = true;
    segment.options.window_scale = Some(wire::WindowScale::NONE);
}

/// A pcapng file of IP packets with times in milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds of a short test"
)]
pub(crate) fn pcapng<'a>(packets: impl Iterator<Item = (f64, &'a [u8])>) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &Section::default()).expect("memory");
    let interface = Interface {
        name: "test",
        description: None,
        address: None,
        link_type: LinkType::Raw,
        snap_len: 65_535,
    };
    let interface = writer.interface(&interface).expect("memory");
    for (at, bytes) in packets {
        let packet = Packet {
            interface,
            at: Instant::from_nanos(1_000_000_000_000_000_000 + (at * 1e6).round() as u64),
            direction: Direction::Inbound,
            bytes,
            wire_len: u32::try_from(bytes.len()).expect("a short packet"),
            comments: &[],
        };
        writer.packet(&packet).expect("memory");
    }
    writer.finish().expect("memory")
}

/// Analyses the bytes of a file.
pub(crate) fn analyse(file: &[u8]) -> (Vec<Flow>, Vec<EpisodeOf>) {
    let records = Records::new(Cursor::new(file.to_vec())).expect("a capture");
    let mut analysis = Analysis::new(records, Limits::default());
    while analysis.advance(1000) {}
    (analysis.take_flows(), analysis.take_episodes())
}
