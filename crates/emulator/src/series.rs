//! Counters of both directions over time, in bounded memory and without allocation during a run.
//!
//! The counters are sampled at an interval. When there are 1000 samples, every second one is
//! removed and the interval doubles. Counters are sums since the start, so this loses no packet.

use link::{Reading, Tally};
use serde::Serialize;
use units::{Duration, Instant};

use crate::convert::seconds;

/// The maximum number of samples: enough for a chart, and few enough to thin them between two
/// packets.
const LIMIT: usize = 1000;

/// The sampling interval at the start of a run.
const FIRST_INTERVAL: Duration = Duration::from_millis(1);

/// The counters of one direction at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineSample {
    /// The counters of the link.
    pub(crate) reading: Reading,
    /// The maximum of the queue since the previous sample.
    pub(crate) max_queue: Tally,
    /// Packets that exceeded the path MTU.
    pub(crate) too_big: u64,
    /// Delivered packets that the kernel refused.
    pub(crate) refused: u64,
}

/// The counters of both directions at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sample {
    at: Instant,
    lines: [LineSample; 2],
}

impl Sample {
    /// Adds the queue maxima of an earlier sample, which is then removed.
    fn join(&mut self, earlier: &Self) {
        for (line, before) in self.lines.iter_mut().zip(&earlier.lines) {
            line.max_queue.packets = line.max_queue.packets.max(before.max_queue.packets);
            line.max_queue.bytes = line.max_queue.bytes.max(before.max_queue.bytes);
        }
    }
}

/// The samples of a run.
#[derive(Debug)]
pub(crate) struct Sampler {
    interval: Duration,
    next: Instant,
    samples: Vec<Sample>,
}

impl Sampler {
    /// A sampler of a run that starts at zero. It allocates the memory of all samples.
    pub(crate) fn new() -> Self {
        let next = Instant::ZERO + FIRST_INTERVAL;
        Self { interval: FIRST_INTERVAL, next, samples: Vec::with_capacity(LIMIT) }
    }

    /// The time of the next sample.
    pub(crate) fn next(&self) -> Instant {
        self.next
    }

    /// Adds the sample of `now`. A late sample does not delay those after it.
    pub(crate) fn add(&mut self, now: Instant, lines: &[LineSample; 2]) {
        self.samples.push(Sample { at: now, lines: *lines });
        if self.samples.len() == LIMIT {
            self.thin();
        }
        self.next = (now + Duration::from_nanos(1)).ceil_to(self.interval);
    }

    /// Removes every second sample, and doubles the interval.
    fn thin(&mut self) {
        for number in 0..self.samples.len() / 2 {
            let mut later = self.samples[2 * number + 1];
            later.join(&self.samples[2 * number]);
            self.samples[number] = later;
        }
        self.samples.truncate(self.samples.len() / 2);
        self.interval = self.interval * 2;
    }

    /// Ends the series with the sample of `now`. It replaces the previous one if that is less than
    /// half an interval old, because rates over a short time are inexact.
    pub(crate) fn finish(mut self, now: Instant, lines: &[LineSample; 2]) -> Series {
        let mut last = Sample { at: now, lines: *lines };
        let half = Duration::from_nanos(self.interval.as_nanos() / 2);
        if let Some(previous) = self.samples.pop_if(|sample| now < sample.at + half) {
            last.join(&previous);
        }
        self.samples.push(last);
        let line = |of: usize| LineSeries::new(self.samples.iter().map(|sample| &sample.lines[of]));
        Series {
            interval_s: seconds(self.interval),
            time_s: self.samples.iter().map(|s| seconds(s.at.since(Instant::ZERO))).collect(),
            up: line(0),
            down: line(1),
        }
    }
}

/// The counters of a run over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The sampling interval in seconds. Samples may be a little late, and the last interval may
    /// be shorter or longer.
    pub interval_s: f64,
    /// The times of the samples since the start, in seconds. The last one is the end of the run.
    pub time_s: Vec<f64>,
    /// The direction from the command to the outside.
    pub up: LineSeries,
    /// The direction to the command.
    pub down: LineSeries,
}

/// The counters of one direction at the times of the samples. Except for the queue, all of them
/// count from the start of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LineSeries {
    /// Packets offered to the link, second copies included.
    pub offered_packets: Vec<u64>,
    /// Bytes of the packets offered.
    pub offered_bytes: Vec<u64>,
    /// Packets delivered at the other end.
    pub delivered_packets: Vec<u64>,
    /// Bytes of the packets delivered.
    pub delivered_bytes: Vec<u64>,
    /// Packets dropped by a full buffer.
    pub dropped_buffer_packets: Vec<u64>,
    /// Packets dropped early by a discipline.
    pub dropped_early_packets: Vec<u64>,
    /// Packets lost by the loss model.
    pub dropped_loss_packets: Vec<u64>,
    /// Packets that exceeded the path MTU.
    pub too_big_packets: Vec<u64>,
    /// Delivered packets that the kernel at the other end refused.
    pub refused_packets: Vec<u64>,
    /// Packets marked instead of being dropped.
    pub marked_packets: Vec<u64>,
    /// The time during which the line was sending, in seconds.
    pub busy_s: Vec<f64>,
    /// Packets in the queue at the time of the sample.
    pub queue_packets: Vec<u64>,
    /// Bytes in the queue at the time of the sample.
    pub queue_bytes: Vec<u64>,
    /// Maximum number of packets in the queue since the previous sample.
    pub max_queue_packets: Vec<u64>,
    /// Maximum number of bytes in the queue since the previous sample.
    pub max_queue_bytes: Vec<u64>,
}

impl LineSeries {
    fn new<'a>(samples: impl Iterator<Item = &'a LineSample>) -> Self {
        let mut series = Self::default();
        for LineSample { reading, max_queue, too_big, refused } in samples {
            series.offered_packets.push(reading.offered.packets);
            series.offered_bytes.push(reading.offered.bytes);
            series.delivered_packets.push(reading.delivered.packets);
            series.delivered_bytes.push(reading.delivered.bytes);
            series.dropped_buffer_packets.push(reading.dropped_buffer.packets);
            series.dropped_early_packets.push(reading.dropped_early.packets);
            series.dropped_loss_packets.push(reading.dropped_loss.packets);
            series.too_big_packets.push(*too_big);
            series.refused_packets.push(*refused);
            series.marked_packets.push(reading.marked.packets);
            series.busy_s.push(seconds(reading.busy));
            series.queue_packets.push(reading.queue.packets);
            series.queue_bytes.push(reading.queue.bytes);
            series.max_queue_packets.push(max_queue.packets);
            series.max_queue_bytes.push(max_queue.bytes);
        }
        series
    }
}

#[cfg(test)]
mod tests;
