//! Prefetching of memory into the processor's cache, for runs with many flows.
//!
//! All decisions on prefetching are made here. The event loop calls [`before_delivery`] and
//! [`before_timer`] once per event; [`FlowTable`] calls [`before_check`] for the entries of a slice
//! of time. Prefetching changes no result. `benches/NOTES.md` ("Memory") has the measurements.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes an address")
)]

use std::ops::Range;

use super::flow::Flow;
use super::layout::LINE;
use super::table::FlowTable;
use crate::network::{End, Network};
use crate::timers::{Behind, Timers};

/// Packets before a packet at whose delivery the ends that it needs are prefetched. An end holds
/// the addresses of its queues.
const ENDS: usize = 4;

/// Packets before a packet at whose delivery the queues that it needs are prefetched.
const QUEUES: usize = 2;

/// Entries before a timer entry at whose check the deadlines of its flow are prefetched.
const DEADLINES: usize = 4;

/// Prefetches the memory that the next deliveries of a link need. `looks_ahead` tells for a
/// workload whether its receivers may act ahead of time. Then a sender's packet needs both ends.
///
/// Packets are adjacent in memory, so the processor prefetches them itself.
#[inline]
pub(crate) fn before_delivery(
    flows: &FlowTable,
    network: &Network,
    link: u32,
    looks_ahead: impl Fn(u16) -> bool,
) {
    if !exceed_cache(flows) {
        return;
    }
    if let Some(packet) = network.upcoming(link, ENDS)
        && let Some(flow) = flows.slots.get(packet.slot as usize)
    {
        match packet.end() {
            End::Receiver => prefetch_parts(flow, [Flow::RECEIVING]),
            End::Sender if looks_ahead(packet.path_id.workload) => {
                prefetch_parts(flow, [Flow::SENDING, Flow::RECEIVING]);
            }
            End::Sender => prefetch_parts(flow, [Flow::SENDING]),
        }
    }
    if let Some(packet) = network.upcoming(link, QUEUES)
        && let Some(flow) = flows.slots.get(packet.slot as usize)
    {
        prefetch_queues(flow, packet.end());
    }
}

/// Prefetches the memory that the next timers need: the queues of the first, and the fields of the
/// two that most likely follow.
#[inline]
pub(crate) fn before_timer(flows: &FlowTable, timers: &Timers) {
    if !exceed_cache(flows) {
        return;
    }
    let mut next = timers.foremost().map(|timer| flows.slots.get(timer.slot as usize));
    if let Some(first) = next.next().flatten() {
        prefetch_queues(first, End::Sender);
    }
    next.take(2).flatten().for_each(|flow| prefetch_parts(flow, Flow::EXPIRING));
}

/// Prefetches the deadlines of a flow whose timer entry will be checked soon.
#[inline]
pub(super) fn before_check(flows: &FlowTable, entries: Behind<'_>) {
    if exceed_cache(flows)
        && let Some(timer) = entries.get(DEADLINES)
        && let Some(flow) = flows.slots.get(timer.slot as usize)
    {
        prefetch_parts(flow, Flow::DEADLINES);
    }
}

/// Returns true if the flows exceed a core's own cache, about 1 MB, of which other data needs a
/// part.
#[inline]
const fn exceed_cache(flows: &FlowTable) -> bool {
    flows.slots.len() > (1 << 19) / size_of::<Flow>()
}

/// Prefetches these parts of a flow and the fields that every packet needs.
#[inline]
fn prefetch_parts<const PARTS: usize>(flow: &Flow, parts: [Range<usize>; PARTS]) {
    prefetch(flow, Flow::USUAL);
    for bytes in parts {
        prefetch(flow, bytes);
    }
}

/// Prefetches the queues that a packet for this end of a flow needs, including that of a receiver
/// that acts ahead of time.
#[inline]
fn prefetch_queues(flow: &Flow, end: End) {
    if end == End::Sender {
        flow.sender.sending_queue().into_iter().for_each(prefetch_line);
    }
    if end == End::Receiver || flow.is_ahead {
        prefetch_line(flow.receiver.receiving_queue());
    }
}

/// Prefetches the cache lines of a range of bytes of a value, without waiting. The value must
/// consist of whole cache lines.
#[inline]
fn prefetch<T>(value: &T, bytes: Range<usize>) {
    const { assert!(align_of::<T>() >= LINE, "it may end in one line more") };
    let start = std::ptr::from_ref(value).cast::<u8>();
    let mut at = bytes.start / LINE * LINE;
    while at < bytes.end {
        prefetch_line(start.wrapping_add(at));
        at += LINE;
    }
}

/// Prefetches the cache line at this address. An invalid address has no effect.
#[cfg(target_arch = "x86_64")]
#[inline]
fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: any address is allowed, and a prefetch has no effect that a program can observe.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Does nothing: prefetch instructions of other processors are not in stable Rust.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
fn prefetch_line(_: *const u8) {}
