//! Look-ahead: receivers that act ahead of time.
//!
//! Look-ahead applies where a packet's arrival is known when it is sent and no other event of its
//! receiver can come before. The receiver then handles the packet at once, and its acknowledgment
//! is put on the return path for the time of the arrival. This saves an event and a flow look-up
//! for every data packet. The rows of the run are the same.
//!
//! Links with random loss are excluded: their random draws would be assigned to other packets.

use std::collections::BTreeMap;

use units::{Duration, Instant};
use wire::Segment;

use crate::flows::Flow;
use crate::network::{End, Network};
use crate::plan::Plan;
use crate::shared::{FirstHop, Shared};

mod conditions;

use conditions::{ReturnLink, return_links};

/// The sending of segments ahead of time, where the scenario permits it.
///
/// # Driving
/// Call [`start`](Self::start) for every flow that starts. For a flow that `is_ahead`, send with
/// [`send_data`](Self::send_data). Where look-ahead [applies](Self::applies_to), let a receiver
/// send with [`respond`](Self::respond). Call [`end_warm_up`](Self::end_warm_up) at the end of the
/// warm-up, and [`stop`](Self::stop) when every packet has to be an event from then on.
#[derive(Debug)]
pub(crate) struct LookAhead {
    /// By workload: the return link, if receivers may act ahead of time.
    return_links: Vec<Option<ReturnLink>>,
    /// The end of the warm-up; [`Instant::NEVER`] once it has passed.
    warm_up: Instant,
    past_warm_up: PastWarmUp,
}

/// The links and receivers that have passed the end of the warm-up before the run.
#[derive(Debug, Default)]
pub(crate) struct PastWarmUp {
    /// Whether each link has passed it, and has reset its statistics at that time.
    pub(crate) links: Vec<bool>,
    /// Bytes that endless flows had received at that time, by flow number.
    pub(crate) received: BTreeMap<u64, u64>,
}

impl LookAhead {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self {
            return_links: return_links(plan),
            warm_up: if plan.warm_up == Instant::ZERO { Instant::NEVER } else { plan.warm_up },
            past_warm_up: PastWarmUp {
                links: vec![false; plan.links.len()],
                received: BTreeMap::new(),
            },
        }
    }

    /// Returns true if the receivers of a workload may act ahead of time.
    #[inline]
    pub(crate) fn applies_to(&self, workload: u16) -> bool {
        self.return_links[usize::from(workload)].is_some()
    }

    /// Notes whether the receiver of a new flow acts ahead of time.
    pub(crate) fn start(&self, flow: &mut Flow) {
        flow.is_ahead = self.applies_to(flow.workload);
    }

    /// Disables look-ahead for these flows and all later ones. No flow may be ahead of time when
    /// this is called.
    pub(crate) fn stop<'a>(&mut self, flows: impl Iterator<Item = &'a mut Flow>) {
        self.return_links.fill(None);
        flows.for_each(|flow| flow.is_ahead = false);
    }

    /// Ends the warm-up. Returns the links and receivers that have passed its end already.
    pub(crate) fn end_warm_up(&mut self) -> PastWarmUp {
        self.warm_up = Instant::NEVER;
        std::mem::take(&mut self.past_warm_up)
    }

    /// Sends all segments of a sender. Its receiver handles each of them at once and responds.
    pub(crate) fn send_data(&mut self, shared: &mut Shared, slot: usize, flow: &mut Flow) {
        let now = shared.now;
        let hop = shared.first_hop(flow.workload, End::Sender);
        loop {
            // The segment is read in place: a copy would have to wait for the store.
            let sent = flow.sender.poll_transmit(now);
            let Some(segment) = &sent else { return };
            let name = flow.name_packet();
            if let Ok(reservation) = shared.network.reserve(now, hop.link, hop.bytes(segment)) {
                let arrival = reservation.delivery();
                if arrival > shared.end && self.crosses_stage_end(shared, arrival, flow)
                    || flow.receiver.next_timeout() < arrival
                {
                    flow.is_ahead = false;
                    shared.network.commit(hop.link, reservation, hop.packet(slot, name, *segment));
                    flow.in_network += 1;
                    return shared.send(slot, flow, End::Sender);
                }
                shared.network.commit_delivered(hop.link, reservation);
                flow.receiver.on_segment(segment, arrival);
                flow.read(arrival);
                self.respond(shared, arrival, slot, flow);
            }
            if flow.sender.is_idle() || flow.sender.has_ended_burst() {
                return;
            }
        }
    }

    /// Returns true if a packet that arrives after the end of the stage must not be handled ahead
    /// of time. At the end of the warm-up it may: it is sufficient to record the bytes that an
    /// endless flow has received before.
    #[cold]
    #[inline(never)]
    fn crosses_stage_end(&mut self, shared: &Shared, arrival: Instant, flow: &Flow) -> bool {
        let end = shared.plan.end();
        let is_warming_up = shared.end < end && arrival <= end;
        if is_warming_up && flow.start.size().is_none() {
            self.past_warm_up.received.entry(flow.serial).or_insert_with(|| flow.received());
        }
        !is_warming_up
    }

    /// Sends all segments of a receiver at time `at`, which may lie in the future, and handles its
    /// events.
    pub(crate) fn respond(
        &mut self,
        shared: &mut Shared,
        at: Instant,
        slot: usize,
        flow: &mut Flow,
    ) {
        let hop = shared.first_hop(flow.workload, End::Receiver);
        if let Some(acknowledgment) = flow.receiver.poll_acknowledgment(at) {
            self.send_response(shared, at, hop, slot, flow, acknowledgment);
        }
        if !flow.receiver.is_idle() || flow.receiver.has_event() {
            self.respond_further(shared, at, slot, flow);
        }
    }

    /// Sends segments other than a single acknowledgment.
    #[cold]
    #[inline(never)]
    fn respond_further(&mut self, shared: &mut Shared, at: Instant, slot: usize, flow: &mut Flow) {
        let hop = shared.first_hop(flow.workload, End::Receiver);
        loop {
            while let Some(segment) = flow.receiver.poll_transmit(at) {
                self.send_response(shared, at, hop, slot, flow, segment);
            }
            if !shared.note_events(flow, End::Receiver) {
                return;
            }
        }
    }

    /// Puts a segment of a receiver on the return link.
    #[expect(
        clippy::inline_always,
        reason = "the segment goes from registers directly into the ring"
    )]
    #[inline(always)]
    fn send_response(
        &mut self,
        shared: &mut Shared,
        at: Instant,
        hop: FirstHop,
        slot: usize,
        flow: &mut Flow,
        segment: Segment,
    ) {
        let name = flow.name_packet();
        let network = &mut shared.network;
        let return_link = self.return_links[usize::from(flow.workload)];
        let is_accepted = if let Some(ReturnLink::WithRate) = return_link {
            if at > self.warm_up {
                self.pass_warm_up(network, hop.link);
            }
            let packet = hop.packet(slot, name, segment);
            network.send(at, hop.link, packet, Duration::ZERO).is_accepted()
        } else {
            network.offer_ahead(at, hop.link, hop.packet(slot, name, segment));
            true
        };
        flow.in_network += u32::from(is_accepted);
    }

    /// Resets the statistics of a link whose time passes the end of the warm-up.
    #[cold]
    #[inline(never)]
    fn pass_warm_up(&mut self, network: &mut Network, link: u32) {
        if !std::mem::replace(&mut self.past_warm_up.links[link as usize], true) {
            network.reset_statistics_ahead(link, self.warm_up);
        }
    }
}

#[cfg(test)]
mod tests;
