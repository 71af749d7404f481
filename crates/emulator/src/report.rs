//! What happened, as plain data. Column names are those of a simulation's links.

use link::{Books, QueueStatistics};
use serde::Serialize;
use units::{Duration, Instant};

use crate::histogram::Histogram;
use crate::line::Line;
use crate::network::Ends;

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// The command and its arguments.
    pub command: Vec<String>,
    /// Its exit status, or 128 and the number of the signal that ended it.
    pub exit_status: i32,
    /// That of the program at the other end, when it ended before the command did.
    pub outside_exit_status: Option<i32>,
    /// From its start to its end.
    pub duration_s: f64,
    /// Where chance began.
    pub seed: u64,
    /// The two ends.
    pub ends: Ends,
    /// From the command outwards.
    pub up: LineReport,
    /// Towards it.
    pub down: LineReport,
}

impl Report {
    /// As JSON.
    pub fn to_json(&self) -> String {
        // Nothing in it can fail to be written.
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// One direction. offered = delivered + dropped + held, in packets and in bytes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LineReport {
    /// What came to the link, second copies included.
    pub offered_packets: u64,
    /// The same in bytes.
    pub offered_bytes: u64,
    /// What was handed on at the other end.
    pub delivered_packets: u64,
    /// The same in bytes.
    pub delivered_bytes: u64,
    /// What found the buffer full.
    pub dropped_buffer_packets: u64,
    /// The same in bytes.
    pub dropped_buffer_bytes: u64,
    /// What RED, CoDel or balanced discard dropped although there was room.
    pub dropped_early_packets: u64,
    /// The same in bytes.
    pub dropped_early_bytes: u64,
    /// What the loss model took.
    pub dropped_loss_packets: u64,
    /// The same in bytes.
    pub dropped_loss_bytes: u64,
    /// What was still on its way at the end.
    pub held_packets: u64,
    /// The same in bytes.
    pub held_bytes: u64,
    /// What RED or CoDel marked instead of dropping it.
    pub marked_packets: u64,
    /// Second copies.
    pub duplicated_packets: u64,
    /// What had a bit turned.
    pub corrupted_packets: u64,
    /// What came late.
    pub reordered_packets: u64,
    /// What was too long for the path, and never offered.
    pub too_big_packets: u64,
    /// Of what was delivered: what the kernel at the other end did not take, such as packets whose
    /// version was turned.
    pub refused_packets: u64,
    /// What was sent and never came to the link, because the emulator was too slow to read it.
    /// Zero, or don't trust the run.
    pub missed_packets: u64,
    /// Share of the time in which the line was sending, 0 to 1.
    pub utilisation: f64,
    /// Mean over time of what waits or is being sent.
    pub mean_queue_packets: f64,
    /// The same in bytes.
    pub mean_queue_bytes: f64,
    /// Its maximum.
    pub max_queue_packets: u64,
    /// The same in bytes.
    pub max_queue_bytes: u64,
    /// By how much packets were handed on too late, counted from when they were read: the median.
    /// Absent without packets.
    pub timing_error_median_s: Option<f64>,
    /// The 99th percentile.
    pub timing_error_p99_s: Option<f64>,
    /// The most.
    pub timing_error_max_s: Option<f64>,
}

/// What only the driver knows of a direction.
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
pub(crate) fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "for reading")]
fn ratio(integral: u128, queue: &QueueStatistics) -> f64 {
    let elapsed = queue.elapsed.as_nanos();
    if elapsed == 0 { 0.0 } else { integral as f64 / elapsed as f64 }
}
