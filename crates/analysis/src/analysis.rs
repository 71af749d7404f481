//! Analysis of a capture, driven in steps.

use std::io::Read;

use units::Instant;

use crate::explanation::{ExplainedPacket, Explanation};
use crate::flow::{Assumptions, BlockOf, Flow, LossOf, Transfer};
use crate::packet::{Other, decode};
use crate::records::{Ending, Records};
use crate::sender::Episode;
use crate::table::{Limits, Table, Unlisted};
use crate::watch::Watch;

/// Counts of the packets of a capture.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// TCP segments that were analysed.
    pub tcp: u64,
    /// Packets with a link type that is not supported.
    pub link_type: u64,
    /// Packets without IP.
    pub not_ip: u64,
    /// IP packets of other protocols.
    pub not_tcp: u64,
    /// IP fragments.
    pub fragments: u64,
    /// Packets that were captured only in part, without a TCP header.
    pub cut_short: u64,
    /// Packets with contradictory lengths.
    pub malformed: u64,
    /// Time of the first packet.
    pub first_at: Option<Instant>,
    /// Time of the last packet.
    pub last_at: Instant,
}

impl Counts {
    fn add(&mut self, other: Other) {
        let count = match other {
            Other::LinkType => &mut self.link_type,
            Other::NotIp => &mut self.not_ip,
            Other::NotTcp => &mut self.not_tcp,
            Other::Fragment => &mut self.fragments,
            Other::CutShort => &mut self.cut_short,
            Other::Malformed => &mut self.malformed,
        };
        *count += 1;
    }
}

/// A loss episode with its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EpisodeOf {
    /// Number of the connection.
    pub flow: u64,
    /// Direction of the data: 0 from the end that opened the connection.
    pub direction: usize,
    /// Episode.
    pub episode: Episode,
}

/// A transfer with its connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransferOf {
    /// Number of the connection.
    pub flow: u64,
    /// Direction of the data: 0 from the end that opened the connection.
    pub direction: usize,
    /// Transfer.
    pub transfer: Transfer,
}

/// Rows that will not change.
#[derive(Debug, Default)]
struct Found {
    episodes: Vec<EpisodeOf>,
    blocks: Vec<BlockOf>,
    losses: Vec<LossOf>,
    transfers: Vec<TransferOf>,
}

/// Analysis of one source.
#[derive(Debug)]
pub struct Analysis<R> {
    records: Records<R>,
    table: Table,
    counts: Counts,
    flows: Vec<Flow>,
    found: Found,
    is_finished: bool,
    watch: Watch,
    /// Packet that the caller asked about, and its explanation.
    asked: Option<u64>,
    explanation: Option<Explanation>,
}

impl<R: Read> Analysis<R> {
    /// Begins an analysis.
    pub fn new(records: Records<R>, limits: Limits) -> Self {
        let (table, counts) = (Table::new(limits), Counts::default());
        Self {
            records,
            table,
            counts,
            flows: Vec::new(),
            found: Found::default(),
            is_finished: false,
            watch: Watch::default(),
            asked: None,
            explanation: None,
        }
    }

    /// States facts about every connection, before the first packet.
    #[must_use]
    pub fn assuming(mut self, assumptions: Assumptions) -> Self {
        self.table.assume(assumptions);
        self
    }

    /// Asks for an explanation of the packet with this number, from 1.
    pub fn explain(&mut self, frame: u64) {
        self.asked = Some(frame);
    }

    /// Explanation of the packet that was asked for, once it has been read.
    pub fn explanation(&self) -> Option<&Explanation> {
        self.explanation.as_ref()
    }

    /// Keeps packets of chosen connections from now on.
    pub fn watch(&mut self, watch: Watch) {
        self.watch = watch;
    }

    /// Packets of chosen connections, so far.
    pub fn watched(&self) -> &Watch {
        &self.watch
    }

    /// Analyses at most `packets` further packets. Returns whether there may be more.
    pub fn advance(&mut self, packets: u64) -> bool {
        for _ in 0..packets {
            let Some(record) = self.records.next() else {
                self.finish();
                return false;
            };
            self.counts.first_at.get_or_insert(record.at);
            self.counts.last_at = self.counts.last_at.max(record.at);
            match decode(&record) {
                Ok(packet) => {
                    self.counts.tcp += 1;
                    let flow = self.table.take(&packet);
                    if self.asked == Some(packet.frame) {
                        let explained = ExplainedPacket::new(&packet, flow.as_deref());
                        self.explanation = Some(Explanation::Tcp(Box::new(explained)));
                    }
                    let flow = flow.map(|flow| {
                        if flow.has_rows() {
                            self.found.collect(flow, false);
                        }
                        flow.number
                    });
                    self.watch.take(&packet, flow);
                }
                Err(other) => {
                    self.counts.add(other);
                    if self.asked == Some(self.records.frames()) {
                        self.explanation = Some(Explanation::Other(other));
                    }
                }
            }
        }
        self.collect_ended();
        true
    }

    fn finish(&mut self) {
        if !self.is_finished {
            self.is_finished = true;
            self.table.finish();
            self.collect_ended();
        }
    }

    fn collect_ended(&mut self) {
        let mut ended = self.table.take_ended();
        for flow in &mut ended {
            self.found.collect(flow, true);
        }
        if self.flows.is_empty() {
            self.flows = ended;
        } else {
            self.flows.append(&mut ended);
        }
    }

    /// Counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Packets of no listed connection, so far.
    pub fn unlisted(&self) -> Unlisted {
        self.table.unlisted()
    }

    /// Number of packets read.
    pub fn frames(&self) -> u64 {
        self.records.frames()
    }

    /// Position in the decompressed file, in bytes.
    pub fn offset(&self) -> u64 {
        self.records.offset()
    }

    /// Place and reason of the end of reading; `None` before it.
    pub fn ending(&self) -> Option<&Ending> {
        self.records.ending()
    }

    /// Connections that have ended since the last call.
    pub fn take_flows(&mut self) -> Vec<Flow> {
        std::mem::take(&mut self.flows)
    }

    /// Episodes that have ended since the last call.
    pub fn take_episodes(&mut self) -> Vec<EpisodeOf> {
        std::mem::take(&mut self.found.episodes)
    }

    /// Transfers that have ended since the last call.
    pub fn take_transfers(&mut self) -> Vec<TransferOf> {
        std::mem::take(&mut self.found.transfers)
    }

    /// Outcomes of first transmissions since the last call: counts in blocks, and losses.
    pub fn take_outcomes(&mut self) -> (Vec<BlockOf>, Vec<LossOf>) {
        (std::mem::take(&mut self.found.blocks), std::mem::take(&mut self.found.losses))
    }
}

impl Found {
    /// Moves the rows of a connection that will not change.
    fn collect(&mut self, flow: &mut Flow, at_end: bool) {
        for direction in 0..2 {
            if at_end || flow.has_episodes(direction) {
                let number = flow.number;
                let ended = flow.take_episodes(direction, at_end).into_iter();
                let ended = ended.map(|episode| EpisodeOf { flow: number, direction, episode });
                self.episodes.extend(ended);
            }
            if at_end || flow.has_outcomes(direction) {
                flow.move_outcomes(direction, &mut self.blocks, &mut self.losses);
            }
            if at_end || flow.has_transfers(direction) {
                let number = flow.number;
                let ended = flow.take_transfers(direction, at_end).into_iter();
                let of = |transfer| TransferOf { flow: number, direction, transfer };
                self.transfers.extend(ended.map(of));
            }
        }
    }
}

#[cfg(test)]
mod tests;
