//! A capture file that the page has passed: connections, loss episodes, and the packets of one
//! connection.

use std::fmt;
use std::io::{Cursor, Read};
use std::sync::Arc;

use analysis::{
    Analysis, Cause, Choice, End, Ending, EpisodeOf, Flow, KeptPacket, Limits, Records, Spurious,
    Watch, decompressed,
};
use schemars::JsonSchema;
use serde::Serialize;
use sim::tables::span_s;
use units::{Duration, Instant};
use wire::SeqNum;
use wire::tcp::Flags;

use crate::error::Refusal;

/// Maximum number of connections and episodes that an answer lists.
const LISTED: usize = 200;

/// Maximum number of packets of a connection that an answer has.
const MOST_PACKETS: usize = 100_000;

/// The result of the analysis so far.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CaptureAnswer {
    /// Whether the file has been read.
    pub is_done: bool,
    /// Number of packets read.
    pub packets: u64,
    /// Number of these with TCP.
    pub tcp_packets: u64,
    /// Position in the decompressed file in bytes.
    pub offset_bytes: u64,
    /// Time from the first packet to the last one in seconds.
    pub duration_s: f64,
    /// Position and reason of damage.
    pub damage: Option<String>,
    /// Number of connections.
    pub connections: u64,
    /// Payload bytes, with those sent again.
    pub payload_bytes: u64,
    /// Payload bytes sent again.
    pub retransmitted_bytes: u64,
    /// Causes of first repairs with their episodes.
    pub causes: Vec<CauseAnswer>,
    /// The longest episodes, longest first; only when the file has been read.
    pub episodes: Vec<EpisodeRow>,
    /// The connections with the longest episodes, then those with the most bytes; only when the
    /// file has been read.
    pub flows: Vec<ConnectionRow>,
}

/// Episodes whose first repair has one cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CauseAnswer {
    /// Name of the cause.
    pub cause: &'static str,
    /// Number of episodes.
    pub episodes: usize,
    /// Number of episodes in which no segment followed the lost one.
    pub at_the_tail: usize,
    /// Number of episodes in which no retransmission was necessary.
    pub spurious: usize,
    /// Median of the delays of the other episodes in seconds.
    pub median_s: Option<f64>,
    /// 99th percentile of these delays.
    pub p99_s: Option<f64>,
    /// Maximum of these delays.
    pub max_s: Option<f64>,
    /// Sum of these delays.
    pub total_s: f64,
}

/// A loss episode.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct EpisodeRow {
    /// Number of the connection.
    pub flow: u64,
    /// Time of the first transmission of the lost data in seconds.
    pub lost_s: f64,
    /// Delay of the lost data in seconds.
    pub delay_s: f64,
    /// Name of the cause of the first repair.
    pub cause: &'static str,
    /// Number of segments after the lost one.
    pub following: u32,
    /// Number of the packet of the first repair.
    pub repaired_frame: u64,
}

/// A connection.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ConnectionRow {
    /// Number of the connection.
    pub flow: u64,
    /// Address and port of the end that sent the most data.
    pub source: String,
    /// Address and port of the other end.
    pub destination: String,
    /// Time of the first packet in seconds.
    pub start_s: f64,
    /// Duration in seconds.
    pub duration_s: f64,
    /// Payload bytes of the direction with the most data.
    pub payload_bytes: u64,
    /// Payload bytes of this direction that were sent again.
    pub retransmitted_bytes: u64,
    /// Longest delay by a loss in seconds.
    pub delay_s: Option<f64>,
}

/// Packets of one connection, in the direction with the most data. Times are in seconds since its
/// first packet, positions in bytes since its first byte.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ConnectionAnswer {
    /// Number of the connection.
    pub flow: u64,
    /// Segments: time, position of the first byte, position after the last one.
    pub segments: Vec<[f64; 3]>,
    /// Acknowledgments: time, position, end of the advertised window.
    pub acknowledgments: Vec<[f64; 3]>,
    /// SACK blocks: time, position of the first byte, position after the last one.
    pub sack: Vec<[f64; 3]>,
    /// Segments sent again.
    pub again: Vec<RepeatedSegment>,
    /// Number of packets that are left out.
    pub left_out: u64,
}

/// A segment sent again.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RepeatedSegment {
    /// Time in seconds.
    pub at_s: f64,
    /// Position of the first byte.
    pub first: f64,
    /// Position after the last byte.
    pub last: f64,
    /// Name of the cause.
    pub cause: &'static str,
}

/// The bytes of a file, which two passes share.
#[derive(Debug, Clone)]
struct Bytes(Arc<Vec<u8>>);

impl AsRef<[u8]> for Bytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

type Source = Box<dyn Read + Send + Sync>;

/// A capture in analysis.
pub(crate) struct OpenCapture {
    bytes: Bytes,
    analysis: Analysis<Source>,
    is_done: bool,
    flows: Vec<Flow>,
    episodes: Vec<EpisodeOf>,
}

impl fmt::Debug for OpenCapture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenCapture").field("is_done", &self.is_done).finish_non_exhaustive()
    }
}

fn begun(bytes: &Bytes) -> Result<Analysis<Source>, Refusal> {
    let refuse = |error: &dyn fmt::Display| {
        let hint = "give a pcap or pcapng file, which may be compressed with gzip or zstd";
        Refusal::new(format!("cannot read the capture: {error}"), hint)
    };
    let source = decompressed(Cursor::new(bytes.clone())).map_err(|error| refuse(&error))?;
    let records = Records::new(source).map_err(|error| refuse(&error))?;
    Ok(Analysis::new(records, Limits::default()))
}

impl OpenCapture {
    pub(crate) fn new(bytes: Vec<u8>) -> Result<Self, Refusal> {
        let bytes = Bytes(Arc::new(bytes));
        let analysis = begun(&bytes)?;
        Ok(Self { bytes, analysis, is_done: false, flows: Vec::new(), episodes: Vec::new() })
    }

    /// Reads up to `packets` packets.
    pub(crate) fn advance(&mut self, packets: u64) -> CaptureAnswer {
        if packets > 0 && !self.is_done {
            self.is_done = !self.analysis.advance(packets);
            self.flows.append(&mut self.analysis.take_flows());
            self.episodes.append(&mut self.analysis.take_episodes());
            self.analysis.take_transfers();
            self.analysis.take_outcomes();
        }
        let counts = self.analysis.counts();
        let halves = || self.flows.iter().flat_map(|flow| &flow.halves);
        CaptureAnswer {
            is_done: self.is_done,
            packets: self.analysis.frames(),
            tcp_packets: counts.tcp,
            offset_bytes: self.analysis.offset(),
            duration_s: counts.first_at.map_or(0.0, |at| span_s(counts.last_at.since(at))),
            damage: match self.analysis.ending() {
                Some(Ending::Damaged { offset, reason }) => {
                    Some(format!("Reading ended at byte {offset}: {reason}"))
                }
                Some(Ending::Complete) | None => None,
            },
            connections: self.flows.len() as u64,
            payload_bytes: halves().map(|half| half.facts.payload_bytes).sum(),
            retransmitted_bytes: halves().map(|half| half.facts.retransmitted_bytes).sum(),
            causes: self.causes(),
            episodes: if self.is_done { self.longest() } else { Vec::new() },
            flows: if self.is_done { self.listed() } else { Vec::new() },
        }
    }

    fn causes(&self) -> Vec<CauseAnswer> {
        let of = |cause: &Cause| {
            let own: Vec<&EpisodeOf> =
                self.episodes.iter().filter(|of| of.episode.cause == *cause).collect();
            let (spurious, needed): (Vec<&EpisodeOf>, Vec<&EpisodeOf>) =
                own.iter().copied().partition(|of| is_spurious(of));
            let mut delays: Vec<Duration> =
                needed.iter().map(|of: &&EpisodeOf| of.episode.delay).collect();
            delays.sort_unstable();
            (!own.is_empty()).then(|| CauseAnswer {
                cause: cause.name(),
                episodes: own.len(),
                at_the_tail: own.iter().filter(|of| of.episode.following == 0).count(),
                spurious: spurious.len(),
                median_s: quantile(&delays, 50),
                p99_s: quantile(&delays, 99),
                max_s: delays.last().copied().map(span_s),
                total_s: delays.iter().copied().map(span_s).sum(),
            })
        };
        Cause::ALL.iter().filter_map(of).collect()
    }

    fn start(&self) -> Instant {
        self.analysis.counts().first_at.unwrap_or_default()
    }

    fn longest(&self) -> Vec<EpisodeRow> {
        let mut order: Vec<_> = self.episodes.iter().collect();
        order.sort_by_key(|of| std::cmp::Reverse(of.episode.delay));
        let row = |of: &&EpisodeOf| EpisodeRow {
            flow: of.flow,
            lost_s: span_s(of.episode.lost_at.since(self.start())),
            delay_s: span_s(of.episode.delay),
            cause: of.episode.cause.name(),
            following: of.episode.following,
            repaired_frame: of.episode.repaired_frame,
        };
        order.iter().take(LISTED).map(row).collect()
    }

    fn listed(&self) -> Vec<ConnectionRow> {
        let mut worst = std::collections::BTreeMap::new();
        for of in &self.episodes {
            let delay = worst.entry(of.flow).or_insert(of.episode.delay);
            *delay = of.episode.delay.max(*delay);
        }
        let mut order: Vec<_> = self
            .flows
            .iter()
            .map(|flow| (worst.get(&flow.number).copied(), direction(flow), flow))
            .collect();
        order.sort_by_key(|(delay, direction, flow)| {
            std::cmp::Reverse((*delay, flow.halves[*direction].facts.payload_bytes))
        });
        let row = |&(delay, direction, flow): &(Option<Duration>, usize, &Flow)| {
            let (half, other) = (&flow.halves[direction], &flow.halves[1 - direction]);
            ConnectionRow {
                flow: flow.number,
                source: name(half.endpoint.ip(), half.endpoint.port),
                destination: name(other.endpoint.ip(), other.endpoint.port),
                start_s: span_s(flow.start.since(self.start())),
                duration_s: span_s(flow.end.since(flow.start)),
                payload_bytes: half.facts.payload_bytes,
                retransmitted_bytes: half.facts.retransmitted_bytes,
                delay_s: delay.map(span_s),
            }
        };
        order.iter().take(LISTED).map(row).collect()
    }

    /// Reads the file again for the packets of one connection.
    pub(crate) fn connection(&self, number: u64) -> Result<ConnectionAnswer, Refusal> {
        let flow = self.flows.iter().find(|flow| flow.number == number).ok_or_else(|| {
            Refusal::new(
                format!("connection {number}: the capture has no such connection"),
                "choose one of the list",
            )
        })?;
        let direction = direction(flow);
        let half = &flow.halves[direction];
        let end = |index: usize| {
            let endpoint = flow.halves[index].endpoint;
            End { address: Some(endpoint.address), port: Some(endpoint.port) }
        };
        let choice = Choice {
            ends: [end(0), end(1)],
            interface: Some(flow.interface),
            between: [flow.start, flow.end],
            around: 0,
        };
        let mut again = begun(&self.bytes)?;
        again.watch(Watch::new(vec![choice], MOST_PACKETS));
        while again.advance(MOST_PACKETS as u64) {}
        let mut answer = ConnectionAnswer {
            flow: number,
            segments: Vec::new(),
            acknowledgments: Vec::new(),
            sack: Vec::new(),
            again: Vec::new(),
            left_out: 0,
        };
        let Some(watched) = again.watched().watched().first() else { return Ok(answer) };
        answer.left_out = watched.left_out;
        let is_first = watched.source == half.endpoint;
        let scale = flow.halves[1 - direction]
            .facts
            .window_scale
            .filter(|_| half.facts.window_scale.is_some());
        let mut sequence = Sequence::new(flow.start, scale.unwrap_or(0).min(14));
        for packet in watched.packets() {
            sequence.add(packet, packet.is_forward == is_first, &mut answer);
        }
        let own = self.episodes.iter().filter(|of| of.flow == number && of.direction == direction);
        for each in own.flat_map(|of| &of.episode.retransmissions) {
            let first = sequence.position(SeqNum::new(each.seq));
            answer.again.push(RepeatedSegment {
                at_s: span_s(each.at.since(flow.start)),
                first: number_of(first),
                last: number_of(first + i64::from(each.len)),
                cause: each.cause.name(),
            });
        }
        Ok(answer)
    }
}

/// Positions of sequence numbers, by their distance from the last one.
struct Sequence {
    start: Instant,
    scale: u8,
    /// The first sequence number of data, and the last known one with its position.
    last: Option<(SeqNum, i64)>,
}

impl Sequence {
    fn new(start: Instant, scale: u8) -> Self {
        Self { start, scale, last: None }
    }

    /// Position of a sequence number near the last one.
    fn position(&mut self, seq: SeqNum) -> i64 {
        let Some((last, position)) = self.last else {
            self.last = Some((seq, 0));
            return 0;
        };
        let found = position + signed_distance(last, seq);
        self.last = Some((seq, found));
        found
    }

    fn add(&mut self, packet: &KeptPacket, is_data: bool, answer: &mut ConnectionAnswer) {
        let at_s = span_s(packet.at.since(self.start));
        let has = |flag: Flags| packet.flags.has(flag);
        if is_data {
            let mut seq = packet.seq;
            if has(Flags::SYN) {
                seq += 1;
            }
            let first = self.position(seq);
            if packet.payload_len > 0 {
                let last = first + i64::from(packet.payload_len);
                answer.segments.push([at_s, number_of(first), number_of(last)]);
            }
        } else if has(Flags::ACK) && self.last.is_some() {
            let ack = self.position(packet.ack);
            let scale = if has(Flags::SYN) { 0 } else { self.scale };
            let window = i64::from(u32::from(packet.window) << scale);
            answer.acknowledgments.push([at_s, number_of(ack), number_of(ack + window)]);
            for block in packet.sack.iter() {
                let first = ack + signed_distance(packet.ack, block.start());
                let length = i64::from(block.end().distance_from(block.start()));
                answer.sack.push([at_s, number_of(first), number_of(first + length)]);
            }
        }
    }
}

/// Distance of sequence numbers, which may be negative (RFC 9293 §3.4).
fn signed_distance(from: SeqNum, to: SeqNum) -> i64 {
    i64::from(to.value().wrapping_sub(from.value()).cast_signed())
}

#[expect(clippy::cast_precision_loss, reason = "positions below 2⁵³ bytes are exact")]
fn number_of(position: i64) -> f64 {
    position as f64
}

/// Direction with the most data.
fn direction(flow: &Flow) -> usize {
    let [first, second] = &flow.halves;
    usize::from(second.facts.payload_bytes > first.facts.payload_bytes)
}

fn is_spurious(of: &EpisodeOf) -> bool {
    of.episode.retransmissions.iter().all(|each| each.spurious != Spurious::No)
}

/// Quantile of sorted delays in per cent: the smallest delay that this share does not exceed.
fn quantile(delays: &[Duration], per_cent: usize) -> Option<f64> {
    let rank = (delays.len() * per_cent).div_ceil(100).max(1);
    delays.get(rank - 1).copied().map(span_s)
}

fn name(address: std::net::IpAddr, port: u16) -> String {
    std::net::SocketAddr::new(address, port).to_string()
}
