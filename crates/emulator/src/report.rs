//! The results of a run as plain data. Column names are those of a simulation's links.

use link::{Books, QueueStatistics};
use serde::Serialize;
use units::Instant;

use crate::changes::ChangeRecord;
use crate::convert::seconds;
use crate::histogram::Histogram;
use crate::line::Line;
use crate::network::Ends;
use crate::series::Series;

/// The results of one run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// The command's exit status, or 128 plus the number of the signal that ended it.
    pub exit_status: i32,
    /// The exit status of the program at the other end, if it ended before the command.
    pub outside_exit_status: Option<i32>,
    /// The duration of the command, in seconds.
    pub duration_s: f64,
    /// The random seed.
    pub seed: u64,
    /// The name of the link for requests; `None` without a control socket.
    pub name: Option<String>,
    /// The addresses of the two ends.
    pub ends: Ends,
    /// Packets between the link and the networks outside of this machine that this machine's
    /// firewall dropped; absent if the command does not reach these networks.
    pub firewall_dropped_packets: Option<u64>,
    /// The direction from the command to the outside.
    pub up: LineReport,
    /// The direction to the command.
    pub down: LineReport,
    /// The counters of both directions over time.
    pub series: Series,
    /// The changes of the settings, in order of time.
    pub changes: Vec<ChangeRecord>,
    /// The number of later changes that were not recorded.
    pub omitted_changes: u64,
}

impl Report {
    /// The report as JSON.
    pub fn to_json(&self) -> String {
        // Serialization of these types cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// The results of one direction: offered = delivered + dropped + held, in packets and in bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineReport {
    /// Packets offered to the link, second copies included.
    pub offered_packets: u64,
    /// Bytes of the packets offered.
    pub offered_bytes: u64,
    /// Packets delivered at the other end.
    pub delivered_packets: u64,
    /// Bytes of the packets delivered.
    pub delivered_bytes: u64,
    /// Packets dropped by a full buffer.
    pub dropped_buffer_packets: u64,
    /// Bytes of the packets dropped by a full buffer.
    pub dropped_buffer_bytes: u64,
    /// Packets dropped by RED, CoDel or balanced discard although there was room.
    pub dropped_early_packets: u64,
    /// Bytes of the packets dropped early.
    pub dropped_early_bytes: u64,
    /// Packets lost by the loss model.
    pub dropped_loss_packets: u64,
    /// Bytes of the packets lost.
    pub dropped_loss_bytes: u64,
    /// Packets still in the link at the end.
    pub held_packets: u64,
    /// Bytes of the packets still in the link.
    pub held_bytes: u64,
    /// Packets marked by RED or CoDel instead of being dropped.
    pub marked_packets: u64,
    /// Second copies of duplicated packets.
    pub duplicated_packets: u64,
    /// Packets with an inverted bit.
    pub corrupted_packets: u64,
    /// Packets with additional delay.
    pub reordered_packets: u64,
    /// Packets that exceeded the path MTU and were not offered.
    pub too_big_packets: u64,
    /// Delivered packets that the kernel at the other end refused, such as those with a corrupted
    /// version field.
    pub refused_packets: u64,
    /// Packets that never reached the link because the emulator was too slow to read them. A run
    /// with any of them is not reliable.
    pub missed_packets: u64,
    /// Share of the time in which the line was sending, 0 to 1.
    pub utilisation: f64,
    /// Mean over time of the packets waiting or in transmission.
    pub mean_queue_packets: f64,
    /// Mean over time of the bytes waiting or in transmission.
    pub mean_queue_bytes: f64,
    /// Maximum number of packets in the queue.
    pub max_queue_packets: u64,
    /// Maximum number of bytes in the queue.
    pub max_queue_bytes: u64,
    /// Median delay of writes beyond the time at which they were due, relative to the time of
    /// reading, in seconds. Absent without packets.
    pub timing_error_median_s: Option<f64>,
    /// The 99th percentile of that delay, in seconds.
    pub timing_error_p99_s: Option<f64>,
    /// The maximum of that delay, in seconds.
    pub timing_error_max_s: Option<f64>,
}

/// Counters of the driver for one direction.
#[derive(Debug)]
pub(crate) struct Counters {
    pub(crate) timing: Histogram,
    pub(crate) refused: u64,
    pub(crate) too_big: u64,
    pub(crate) missed: u64,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Self { timing: Histogram::new(), refused: 0, too_big: 0, missed: 0 }
    }
}

impl LineReport {
    pub(crate) fn new(line: &mut Line, counters: &Counters, now: Instant) -> Self {
        let Books { offered, delivered, dropped_buffer, dropped_early, dropped_loss, held, marked } =
            line.books(now);
        let extras = line.extras();
        let queue = line.queue_statistics(now);
        let percentile = |percent| counters.timing.percentile(percent).map(seconds);
        Self {
            offered_packets: offered.packets,
            offered_bytes: offered.bytes,
            delivered_packets: delivered.packets,
            delivered_bytes: delivered.bytes,
            dropped_buffer_packets: dropped_buffer.packets,
            dropped_buffer_bytes: dropped_buffer.bytes,
            dropped_early_packets: dropped_early.packets,
            dropped_early_bytes: dropped_early.bytes,
            dropped_loss_packets: dropped_loss.packets,
            dropped_loss_bytes: dropped_loss.bytes,
            held_packets: held.packets,
            held_bytes: held.bytes,
            marked_packets: marked.packets,
            duplicated_packets: extras.duplicated.packets,
            corrupted_packets: extras.corrupted.packets,
            reordered_packets: extras.reordered.packets,
            too_big_packets: counters.too_big,
            refused_packets: counters.refused,
            missed_packets: counters.missed,
            utilisation: ratio(u128::from(queue.busy.as_nanos()), &queue),
            mean_queue_packets: ratio(queue.packet_nanos, &queue),
            mean_queue_bytes: ratio(queue.byte_nanos, &queue),
            max_queue_packets: queue.max.packets,
            max_queue_bytes: queue.max.bytes,
            timing_error_median_s: percentile(50),
            timing_error_p99_s: percentile(99),
            timing_error_max_s: counters.timing.max().map(seconds),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "for reading")]
fn ratio(integral: u128, queue: &QueueStatistics) -> f64 {
    let elapsed = queue.elapsed.as_nanos();
    if elapsed == 0 { 0.0 } else { integral as f64 / elapsed as f64 }
}
