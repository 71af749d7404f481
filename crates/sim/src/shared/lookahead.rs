//! Look-ahead: receivers that act ahead of time.
//!
//! Look-ahead applies where a packet's arrival is known when it is sent and no other event of its
//! receiver can come before. The receiver then handles the packet at once, and its acknowledgment
//! is put on the return path for the time of the arrival. This saves an event and a flow look-up
//! for every data packet. The rows of the run are the same.
//!
//! Links with random loss are excluded: their random draws would be assigned to other packets.

use link::Buffer;
use units::Instant;
use wire::Segment;

use super::{FirstHop, Shared};
use crate::flow::{End, Flow};
use crate::plan::{Plan, PlannedWorkload};
use crate::scenario::Opener;

/// Determines for each workload whether its receivers may act ahead of time.
///
/// Data must take one link and acknowledgments another, and on both only the buffer may decide on
/// packets. All workloads that use the return link must have the same paths and meet the same
/// conditions.
pub(crate) fn workloads(plan: &Plan) -> Vec<bool> {
    let follows_flows = plan.samples.as_ref().is_some_and(|samples| !samples.workloads.is_empty());
    let may = |workload: &PlannedWorkload| {
        let mut beside = plan.workloads.iter().filter(|other| other.uses(workload.back[0]));
        plan.traced.is_empty()
            && !follows_flows
            && beside
                .all(|other| other.shares_paths_with(workload) && allows_lookahead(plan, other))
    };
    plan.workloads.iter().map(may).collect()
}

fn allows_lookahead(plan: &Plan, workload: &PlannedWorkload) -> bool {
    let ([there], [back]) = (workload.forward.as_slice(), workload.back.as_slice()) else {
        return false;
    };
    let [data, answers] = [there, back].map(|&link| &plan.links[link].config);
    let opens = workload.handshake && workload.opener == Opener::Receiver;
    // At a handshake timeout a receiver may send a segment that belongs before one it has sent
    // ahead of time.
    let keeps_order = !workload.handshake;
    let delays_only = answers.rate.is_none() && answers.buffer == Buffer::Unlimited;
    // The link's own time is ahead of the time at which samples are taken.
    let is_sampled = plan.samples.as_ref().is_some_and(|samples| samples.links.contains(back));
    // With a rate, no two packets arrive at once. Packets with and without look-ahead then keep
    // their order.
    data.is_plain()
        && data.rate.is_some()
        && answers.is_plain()
        && workload.tcp.ack_every == 1
        && !opens
        && (delays_only || answers.rate.is_some() && keeps_order && !is_sampled)
}

impl Shared {
    /// Sends all segments of a sender. Its receiver handles each of them at once and responds.
    pub(crate) fn send_ahead_of_time(&mut self, slot: usize, flow: &mut Flow) {
        let now = self.now;
        let hop = self.first_hop(flow.workload, End::Sender);
        loop {
            // The segment is read in place: a copy would have to wait for the store.
            let sent = flow.sender.poll_transmit(now);
            let Some(segment) = &sent else { return };
            let name = flow.name_packet();
            if let Ok(reservation) = self.network.reserve(now, hop.link, hop.bytes(segment)) {
                let arrival = reservation.delivery();
                if arrival > self.end && self.crosses_stage_end(arrival, flow)
                    || flow.receiver.next_timeout() < arrival
                {
                    flow.is_ahead = false;
                    self.network.commit(hop.link, reservation, hop.packet(slot, name, *segment));
                    flow.in_network += 1;
                    return self.send(slot, flow, End::Sender);
                }
                self.network.commit_delivered(hop.link, reservation);
                flow.receiver.on_segment(segment, arrival);
                flow.read(arrival);
                self.receiver_send_ahead(arrival, slot, flow);
            }
            if flow.sender.is_idle() {
                return;
            }
        }
    }

    /// Returns true if a packet that arrives after `end` must not be handled ahead of time. At the
    /// end of the warm-up it may: it is sufficient to record the bytes that an endless flow has
    /// received before.
    #[cold]
    #[inline(never)]
    fn crosses_stage_end(&mut self, arrival: Instant, flow: &Flow) -> bool {
        let is_warming_up = self.end < self.plan.end() && arrival <= self.plan.end();
        if is_warming_up && flow.start.size().is_none() {
            self.recorder.note_received(flow);
        }
        !is_warming_up
    }

    /// Sends all segments of a receiver at time `at`, which may lie in the future, and handles its
    /// events.
    pub(crate) fn receiver_send_ahead(&mut self, at: Instant, slot: usize, flow: &mut Flow) {
        let hop = self.first_hop(flow.workload, End::Receiver);
        if let Some(acknowledgment) = flow.receiver.poll_acknowledgment(at) {
            self.receiver_send_segment(at, hop, slot, flow, acknowledgment);
        }
        if !flow.receiver.is_idle() || flow.receiver.has_event() {
            self.receiver_send_rest(at, slot, flow);
        }
    }

    /// Sends segments other than a single acknowledgment.
    #[cold]
    #[inline(never)]
    fn receiver_send_rest(&mut self, at: Instant, slot: usize, flow: &mut Flow) {
        let hop = self.first_hop(flow.workload, End::Receiver);
        loop {
            while let Some(segment) = flow.receiver.poll_transmit(at) {
                self.receiver_send_segment(at, hop, slot, flow, segment);
            }
            if !self.note_events(flow, End::Receiver) {
                return;
            }
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "the segment goes from registers directly into the ring"
    )]
    #[inline(always)]
    fn receiver_send_segment(
        &mut self,
        at: Instant,
        hop: FirstHop,
        slot: usize,
        flow: &mut Flow,
        segment: Segment,
    ) {
        let name = flow.name_packet();
        let outcome = self.network.send_ahead(at, hop.link, || hop.packet(slot, name, segment));
        flow.in_network += u32::from(outcome.is_accepted());
    }
}

#[cfg(test)]
mod tests;
