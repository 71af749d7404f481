//! The text of comments: losses of a flow's packets, and reasons for retransmissions.

use std::fmt;

use link::{DropReason, LinkConfig};
use units::Instant;
use wire::{Control, Segment, SeqNum, SeqRange};

use crate::plan::Plan;
use crate::recorder::trace::{History, Sent, Started};

/// Names and reasons used in comments.
#[derive(Debug)]
pub(super) struct Causes {
    links: Vec<(String, LinkConfig)>,
    workloads: Vec<String>,
    /// The name of each sender, and whether it uses SACK.
    senders: Vec<(String, bool)>,
}

/// A loss, as described in comments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loss(String);

impl fmt::Display for Loss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Causes {
    pub(super) fn new(plan: &Plan) -> Self {
        Self {
            links: plan.links.iter().map(|link| (link.name.clone(), link.config.clone())).collect(),
            workloads: plan.workloads.iter().map(|workload| workload.name.clone()).collect(),
            senders: plan
                .senders
                .iter()
                .map(|sender| (sender.to_string(), sender.wants_sack()))
                .collect(),
        }
    }

    pub(super) fn loss(&self, at: Instant, link: u32, why: DropReason) -> Loss {
        match self.links.get(link as usize) {
            Some((name, config)) => {
                Loss(format!("at {at} on link `{name}`: {}", config.drop_cause(why)))
            }
            None => Loss(format!("at {at}")),
        }
    }

    pub(super) fn mark(&self, at: Instant, link: u32) -> String {
        let name = self.links.get(link as usize).map_or("?", |(name, _)| name);
        format!("Marked (congestion experienced) at {at} on link `{name}`")
    }

    /// The description of a flow, with the words of the result tables.
    fn introduction(&self, flow: u64, started: &Started) -> String {
        let workload = &self.workloads[usize::from(started.workload)];
        let size = started.size.map_or("endless".to_owned(), |bytes| format!("{bytes} bytes"));
        let sender = &self.senders[started.sender].0;
        format!("Flow {flow} (`{workload}/{}`, {size}): {sender}", started.index)
    }

    fn uses_sack(&self, started: &Started) -> bool {
        self.senders[started.sender].1
    }
}

/// The history of a flow.
#[derive(Debug)]
pub(super) struct Story {
    started: Started,
    introduced: bool,
    /// The end that sends data, and the end that receives data.
    ends: [End; 2],
}

#[derive(Debug, Default)]
struct End {
    /// The end of the highest sequence number sent.
    max: Option<SeqNum>,
    /// The end's history at its last retransmission.
    history: History,
    /// The reason for the current retransmissions.
    reason: Reason,
    /// Lost ranges that have not been retransmitted since.
    lost: Vec<(SeqRange, Loss)>,
    /// The end's packets that were dropped before the vantage point: numbers and comments.
    unseen: Vec<(u32, String)>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Reason {
    /// The connection has detected no loss.
    #[default]
    None,
    FastRetransmit,
    Timeout,
}

impl Story {
    pub(super) fn new(started: Started) -> Self {
        Self { started, introduced: false, ends: [End::default(), End::default()] }
    }

    pub(super) fn workload(&self) -> u16 {
        self.started.workload
    }

    /// The description of the flow, on the first call only.
    pub(super) fn introduction(&mut self, flow: u64, causes: &Causes) -> Option<String> {
        let first = !std::mem::replace(&mut self.introduced, true);
        first.then(|| causes.introduction(flow, &self.started))
    }

    /// Notes a packet that is sent. Returns the reason if it is a retransmission.
    pub(super) fn sent(&mut self, sent: &Sent, causes: &Causes) -> Option<String> {
        let segment = &sent.segment;
        let sack = causes.uses_sack(&self.started);
        let [data, other] = &mut self.ends;
        let (own, peer) = if sent.back { (other, data) } else { (data, other) };
        if let Some(ack) = segment.ack {
            // The peer has received acknowledged data, from any of the transmissions.
            peer.lost.retain(|(range, _)| range.end().after(ack));
        }
        let range = occupied(segment)?;
        let again = own.max.is_some_and(|max| range.start().before(max));
        own.max = Some(own.max.map_or(range.end(), |max| max.latest(range.end())));
        again.then(|| {
            let reason = own.reason(segment, sent.history, sack);
            let repaired = own.repair(range);
            format!("{reason}; {repaired}")
        })
    }

    /// Notes a packet that was dropped.
    pub(super) fn lost(&mut self, segment: &Segment, back: bool, loss: &Loss) {
        if let Some(range) = occupied(segment) {
            self.ends[usize::from(back)].lost.push((range, loss.clone()));
        }
    }

    /// Notes a packet that was dropped before it reached the vantage point.
    pub(super) fn unseen(&mut self, packet: u32, back: bool, segment: &Segment, loss: &Loss) {
        let what = match (segment.payload_len, segment.control) {
            (0, Control::None) => "ACK".to_owned(),
            (0, Control::Syn) => "SYN".to_owned(),
            (0, Control::Fin) => "FIN".to_owned(),
            (0, Control::Rst) => "RST".to_owned(),
            (bytes, _) => format!("{bytes} bytes"),
        };
        let comment = format!("Before it, packet {packet} of the flow ({what}) was dropped {loss}");
        self.ends[usize::from(back)].unseen.push((packet, comment));
    }

    /// The comments on packets that were sent before this one and never reached the vantage point.
    pub(super) fn unseen_before(
        &mut self,
        packet: u32,
        back: bool,
    ) -> impl Iterator<Item = String> + '_ {
        let unseen = &mut self.ends[usize::from(back)].unseen;
        unseen.extract_if(.., move |(number, _)| *number < packet).map(|(_, comment)| comment)
    }
}

impl End {
    /// The reason for a retransmission. Also updates the end's history.
    fn reason(&mut self, segment: &Segment, now: History, sack: bool) -> &'static str {
        let before = std::mem::replace(&mut self.history, now);
        if segment.control == Control::Syn {
            let timed_out = now.syn_timeouts > before.syn_timeouts;
            return if timed_out { "Retransmission timeout of the SYN" } else { "SYN sent again" };
        }
        if now.copied_segments > before.copied_segments {
            return "Copy of the end of a write (dup-tail), no sign of a loss";
        }
        if now.timeouts > before.timeouts {
            self.reason = Reason::Timeout;
            return "Retransmission timeout";
        }
        if now.fast_retransmits > before.fast_retransmits {
            self.reason = Reason::FastRetransmit;
            return if sack {
                "Fast retransmit (SACK)"
            } else {
                "Fast retransmit (duplicate ACKs)"
            };
        }
        match self.reason {
            Reason::FastRetransmit if now.recovering && sack => {
                "Sent again in fast recovery (SACK)"
            }
            Reason::FastRetransmit if now.recovering => "Sent again in fast recovery (partial ACK)",
            Reason::FastRetransmit => "Sent again after the fast retransmit",
            Reason::Timeout => "Sent again after the timeout",
            Reason::None => "Sent again",
        }
    }

    /// Removes a retransmitted range from the losses. Returns a description of the repaired losses.
    fn repair(&mut self, sent: SeqRange) -> String {
        let mut repaired = Vec::new();
        let mut left = Vec::new();
        for (range, loss) in self.lost.drain(..) {
            let (before, behind) = (
                SeqRange::new(range.start(), sent.start()),
                SeqRange::new(sent.end(), range.end()),
            );
            let apart =
                sent.end().at_or_before(range.start()) || range.end().at_or_before(sent.start());
            if apart {
                left.push((range, loss));
                continue;
            }
            left.extend([before, behind].into_iter().flatten().map(|rest| (rest, loss.clone())));
            repaired.push(loss);
        }
        self.lost = left;
        match &repaired[..] {
            [] => "none of it lost so far".to_owned(),
            [loss] => format!("repairs the loss {loss}"),
            [first, more @ ..] => format!("repairs the loss {first} (and {} more)", more.len()),
        }
    }
}

/// The sequence numbers that a segment occupies, if any.
fn occupied(segment: &Segment) -> Option<SeqRange> {
    SeqRange::new(segment.seq, segment.seq_end())
}

#[cfg(test)]
mod tests;
