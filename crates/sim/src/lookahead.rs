//! Receivers that act ahead of time.
//!
//! Where a packet's arrival is known when it is sent, and nothing else can come to its receiver
//! before, the receiver is told at once: its answer is put on the way back for the time at which it
//! is given. That spares an event for every packet of data, and looking for its flow once more.
//! Whoever looks at the run from outside cannot tell.
//!
//! Packets that chance may take are left out: the numbers that decide on them would belong to
//! others.

use link::Buffer;
use units::Instant;
use wire::Segment;

use crate::flow::{End, Flow};
use crate::plan::{Plan, PlannedWorkload};
use crate::scenario::Opener;
use crate::shared::{FirstHop, Shared};

/// Whether the receivers of each workload may: where data takes one link and acknowledgments
/// another, which no others take, and on both only room decides.
pub(crate) fn workloads(plan: &Plan) -> Vec<bool> {
    let follows_flows = plan.samples.as_ref().is_some_and(|samples| !samples.workloads.is_empty());
    let may = |workload: &PlannedWorkload| {
        let mut beside = plan.workloads.iter().filter(|other| other.uses(workload.back[0]));
        plan.traced.is_empty()
            && !follows_flows
            && beside.all(|other| other.takes_the_way_of(workload) && allows_lookahead(plan, other))
    };
    plan.workloads.iter().map(may).collect()
}

fn allows_lookahead(plan: &Plan, workload: &PlannedWorkload) -> bool {
    let ([there], [back]) = (workload.forward.as_slice(), workload.back.as_slice()) else {
        return false;
    };
    let [data, answers] = [there, back].map(|&link| &plan.links[link].config);
    let opens = workload.handshake && workload.opener == Opener::Receiver;
    // At the timeouts of a handshake a receiver sends what may come before what it has answered
    // ahead of time.
    let keeps_order = !workload.handshake;
    let delays_only = answers.rate.is_none() && answers.buffer == Buffer::Unlimited;
    // The link's own time is ahead of the run's, in which samples are taken.
    let is_sampled = plan.samples.as_ref().is_some_and(|samples| samples.links.contains(back));
    // With a rate, no two packets arrive at once: then those that are ahead and those that are not
    // keep their order.
    data.is_plain()
        && data.rate.is_some()
        && answers.is_plain()
        && workload.tcp.ack_every == 1
        && !opens
        && (delays_only || answers.rate.is_some() && keeps_order && !is_sampled)
}

impl Shared {
    /// Puts everything that a sender has to send on the network, and tells its receiver, which
    /// answers.
    pub(crate) fn send_ahead_of_time(&mut self, slot: usize, flow: &mut Flow) {
        let now = self.now;
        let hop = self.first_hop(flow.workload, End::Sender);
        loop {
            // Read where it has been written: a copy would have to wait for that.
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
            if flow.sender.has_nothing_to_send() {
                return;
            }
        }
    }

    /// Whether what arrives beyond `end` has to wait until then. Not for the end of the warm-up:
    /// there it is enough to note what an endless flow had received by then.
    #[cold]
    #[inline(never)]
    fn crosses_stage_end(&mut self, arrival: Instant, flow: &Flow) -> bool {
        let is_warming_up = self.end < self.plan.end() && arrival <= self.plan.end();
        if is_warming_up && flow.start.size().is_none() {
            self.recorder.note_received(flow);
        }
        !is_warming_up
    }

    /// Puts everything that a receiver has to send at this time, which may lie ahead, on its way,
    /// and notes what happened to it.
    pub(crate) fn receiver_send_ahead(&mut self, at: Instant, slot: usize, flow: &mut Flow) {
        let hop = self.first_hop(flow.workload, End::Receiver);
        if let Some(acknowledgment) = flow.receiver.poll_acknowledgment(at) {
            self.receiver_send_segment(at, hop, slot, flow, acknowledgment);
        }
        if !flow.receiver.has_nothing_to_send() || flow.receiver.has_event() {
            self.receiver_send_rest(at, slot, flow);
        }
    }

    /// What is more than an acknowledgment.
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
