//! The window of TCP Santa Cruz. It keeps a target number of packets queued at the bottleneck,
//! estimated from delays on the forward path.
//!
//! C. Parsa, J. J. Garcia-Luna-Aceves, *Improving TCP Congestion Control over Internets with
//! Heterogeneous Transmission Media*, ICNP 1999, section 3.1. Numbers in brackets are its
//! equations. The paper leaves these points open:
//!
//! - *A window* ends with the first report of a transmission that was sent after the window began.
//!   It lasts one round trip even if acknowledgments are lost. The pair of reports that joins two
//!   windows belongs to the later one.
//! - *The service time* of (3) is the time from the last arrival of the previous window to the last
//!   arrival of this one, divided by the amount that arrived between them. That is exact on a link
//!   that never idles. The amount is counted in bytes, so that segments of any length and lost
//!   acknowledgments count correctly. A packet is one of SMSS bytes.
//! - *The sum of relative delays* is taken "from the beginning of a session" in the text, and per
//!   window in (2) and (4). Both are implemented ([`Translation`]). They differ once the link has
//!   idled, as it does in every slow start. The service time is then long, and an error of (2)
//!   persists. The first reading comes close to the paper's Table 2.
//! - *Adjustments "only at discrete intervals"* ([`Hold`]): every window is evaluated, as in the
//!   text. The effect of a change on the queue is known only once a window that was sent after the
//!   change has been reported. [`Hold::Window`] waits for that.
//! - *n in slow start* ([`Startup`]) is compared with `N_op`/2 at every report, or at the end of
//!   each window.
//! - *Linearly* ([`Change`]) means one segment per window: a fraction with every report, or all at
//!   once.
//! - *A loss* halves the window as Reno does, once per window. The estimate continues.

use units::Instant;

use crate::congestion::{CongestionController, PathDelays, Reno};
use crate::facts::{AckSample, ForwardSample, Growth, LossSample};

mod reading;

pub use reading::{BackOff, Change, Hold, Packets, Reading, Startup, Target, Translation};

/// Data of one report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    now: Instant,
    sent_at: Instant,
    arrived_us: u32,
    delivered: u64,
}

impl Point {
    /// Returns the increase of the one-way delay over that of `earlier` and the time between the
    /// two arrivals, in nanoseconds: (1).
    fn since(&self, earlier: &Self) -> (i128, i128) {
        // The arrivals are less than 2³¹ µs apart, in either order.
        let gap = i128::from(self.arrived_us.wrapping_sub(earlier.arrived_us).cast_signed()) * 1000;
        let spacing = i128::from(self.sent_at.as_nanos()) - i128::from(earlier.sent_at.as_nanos());
        (gap - spacing, gap)
    }

    /// Returns the increase of the return-path delay over that of `earlier`, in nanoseconds: (1)
    /// applied to the acknowledgments.
    fn back_since(&self, earlier: &Self) -> i128 {
        let (_, gap) = self.since(earlier);
        i128::from(self.now.as_nanos()) - i128::from(earlier.now.as_nanos()) - gap
    }

    /// Converts a delay in nanoseconds to millionths of a packet, with the mean service time since
    /// `base`: (3), (4). Returns `None` if nothing has arrived since then.
    fn packets(&self, base: &Self, delay: i128, smss: u32) -> Option<i128> {
        let (_, span) = self.since(base);
        let bytes = i128::from(self.delivered.wrapping_sub(base.delivered));
        let service = span * i128::from(smss);
        (service > 0 && bytes > 0)
            .then(|| delay.saturating_mul(bytes).saturating_mul(1_000_000) / service)
    }
}

/// Direction of the next adjustment of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Widen,
    Keep,
    Narrow,
}

/// A change of the window in proportion to the bytes that arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ramp {
    widens: bool,
    /// Total change in bytes, and the part of it already applied.
    by: u32,
    done: u32,
    /// Bytes delivered when the ramp began, and bytes in flight at that time. The ramp ends when
    /// the latter have arrived.
    from: u64,
    over: u32,
}

impl Ramp {
    /// Returns the additional bytes to apply once `delivered` bytes have arrived in total.
    fn take(&mut self, delivered: u64) -> u32 {
        let arrived = delivered.saturating_sub(self.from).min(u64::from(self.over));
        let due = u64::from(self.by) * arrived / u64::from(self.over.max(1));
        let due = u32::try_from(due).unwrap_or(self.by);
        let more = due.saturating_sub(self.done);
        self.done += more;
        more
    }
}

/// Congestion controller of TCP Santa Cruz. The module documentation describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SantaCruz {
    target: Target,
    /// Window and threshold, with Reno's response to losses.
    window: Reno,
    slow_start: bool,
    /// n: number of packets queued at the bottleneck, in millionths: (2).
    queue: i128,
    /// Sum of the relative delays since the beginning, in nanoseconds.
    delays: i128,
    /// Last report of the previous window, and last report of all.
    points: Option<(Point, Point)>,
    /// Estimated path delays at the end of the last window.
    path: PathDelays,
    /// Relative delays on the forward and return path of the last reported packet against the
    /// first, in nanoseconds. Then their sums over the current window, with the number of reports.
    ways: (i128, i128),
    sums: (i128, i128, i128),
    began: Instant,
    verdict: Verdict,
    /// Whether the current window has yet to be adjusted.
    due: bool,
    ramp: Option<Ramp>,
    /// Time of the last change of the congestion window outside slow start, and arrival time of the
    /// last acknowledgment.
    adjusted: Instant,
    now: Instant,
    /// Bytes delivered when slow start last widened the window.
    counted: u64,
}

impl SantaCruz {
    /// Creates a controller in slow start with this initial window.
    pub const fn new(target: Target, window: Reno) -> Self {
        Self {
            target,
            window,
            slow_start: true,
            queue: 0,
            delays: 0,
            points: None,
            path: PathDelays::NONE,
            ways: (0, 0),
            sums: (0, 0, 0),
            began: Instant::ZERO,
            verdict: Verdict::Keep,
            due: false,
            ramp: None,
            adjusted: Instant::ZERO,
            now: Instant::ZERO,
            counted: 0,
        }
    }

    /// n: number of packets queued at the bottleneck at the end of the last window, in millionths.
    pub const fn queue_millionths(&self) -> i128 {
        self.queue
    }

    fn take(&mut self, report: &ForwardSample, smss: u32) {
        let ForwardSample { now, sent_at, arrived_us, delivered, .. } = *report;
        let point = Point { now, sent_at, arrived_us, delivered };
        let Some((base, last)) = self.points else {
            self.points = Some((point, point));
            self.began = now;
            return;
        };
        let (delay, gap) = point.since(&last);
        self.path.forward_reordered += u64::from(gap != 0 && (gap < 0) != (sent_at < last.sent_at));
        // A reordered acknowledgment adds nothing to the sums, which run from the first report to
        // the last.
        if gap < 0 {
            self.path.return_reordered += 1;
            return;
        }
        let base = if sent_at >= self.began { self.close(&base, &last, now, smss) } else { base };
        self.points = Some((base, point));
        let (forward, back) = (self.ways.0 + delay, self.ways.1 + point.back_since(&last));
        self.ways = (forward, back);
        let (there, returning, reports) = self.sums;
        self.sums = (there + forward, returning + back, reports + 1);
        // Startup: slow start ends when a relative delay or n exceeds half of the target.
        let enough = self.target.n_op.millionths() / 2;
        let exceeds = |found: Option<i128>| found.is_some_and(|packets| packets > enough);
        let waits = || match self.target.reading.startup {
            Startup::Report => self.queue_at(&base, &point, smss),
            Startup::Window => None,
        };
        if self.slow_start && (exceeds(point.packets(&base, delay, smss)) || exceeds(waits())) {
            self.end_slow_start();
        }
    }

    /// n at `point`, for the window that begins at `base`: (2). `None` if nothing has arrived since
    /// then.
    fn queue_at(&self, base: &Point, point: &Point, smss: u32) -> Option<i128> {
        let (sum, _) = point.since(base);
        match self.target.reading.translation {
            Translation::Session => point.packets(base, self.delays + sum, smss),
            Translation::Window => {
                point.packets(base, sum, smss).map(|change| self.queue.saturating_add(change))
            }
        }
    }

    /// Closes the window that ended with `last`. Returns the base of the next window.
    fn close(&mut self, base: &Point, last: &Point, now: Instant, smss: u32) -> Point {
        let began = std::mem::replace(&mut self.began, now);
        let (forward, back, reports) = std::mem::take(&mut self.sums);
        if reports > 0 {
            (self.path.forward_ns, self.path.return_ns) = (forward / reports, back / reports);
        }
        let Target { n_op, delta, reading } = self.target;
        let Some(queue) = self.queue_at(base, last, smss) else { return *base };
        (self.queue, self.delays) = (queue, self.delays + last.since(base).0);
        self.path.waiting_millionths = queue;
        if self.queue > n_op.millionths() / 2 {
            self.end_slow_start();
        }
        // The last report of the closed window is of a transmission sent before `now`. Its delay
        // shows the effect of changes made before `began`, and of none made later.
        let unchanged = self.adjusted < began;
        self.verdict = if reading.hold == Hold::Window && !unchanged {
            Verdict::Keep
        } else if queue < n_op.millionths() - delta.millionths() {
            Verdict::Widen
        } else if queue > n_op.millionths() + delta.millionths() {
            Verdict::Narrow
        } else {
            Verdict::Keep
        };
        self.due = true;
        *last
    }

    fn end_slow_start(&mut self) {
        if self.slow_start {
            self.slow_start = false;
            self.window.end_slow_start();
        }
    }

    /// Section 3.1.2: widens, narrows or maintains the window linearly, by the verdict on the last
    /// window.
    fn adjust(&mut self, ack: &AckSample, growth: Growth) {
        let due = std::mem::take(&mut self.due);
        let by = match (self.verdict, growth) {
            (Verdict::Keep, _) => return,
            (Verdict::Widen, Growth::Window(bytes)) => {
                if !ack.app_limited {
                    self.window.widen_to(bytes);
                }
                return;
            }
            (Verdict::Widen, Growth::Standard { per_rtt, .. }) => per_rtt,
            (Verdict::Narrow, _) => ack.smss,
        };
        let widens = self.verdict == Verdict::Widen;
        match self.target.reading.change {
            Change::Step if due => self.change(widens, by, ack),
            Change::Step => {}
            Change::Ramp => {
                let delivered = self.delivered();
                if due {
                    self.ramp =
                        Some(Ramp { widens, by, done: 0, from: delivered, over: ack.flight() });
                }
                let more = self.ramp.as_mut().map_or(0, |ramp| ramp.take(delivered));
                self.change(widens, more, ack);
            }
        }
    }

    /// Changes the window by `bytes`. An application-limited sender does not widen it.
    fn change(&mut self, widens: bool, bytes: u32, ack: &AckSample) {
        if !widens {
            let least = (2 * ack.smss).min(self.window.cwnd());
            self.window.set_cwnd(self.window.cwnd().saturating_sub(bytes).max(least));
        } else if !ack.app_limited {
            self.window.widen(bytes);
        }
    }

    /// Cancels the adjustment in progress, because the window changes for a reason other than n.
    fn interrupt(&mut self, now: Instant) {
        self.due = false;
        self.ramp = None;
        self.adjusted = now;
        self.now = now;
    }

    /// Number of bytes known to have arrived.
    fn delivered(&self) -> u64 {
        self.points.map_or(0, |(_, last)| last.delivered)
    }

    /// Number of bytes that have arrived since the last call in slow start.
    fn newly_delivered(&mut self, ack: &AckSample) -> u32 {
        let Some(report) = ack.forward else { return ack.acked.min(ack.smss) };
        let newly_delivered = report.delivered.saturating_sub(self.counted);
        self.counted = self.counted.max(report.delivered);
        u32::try_from(newly_delivered).unwrap_or(u32::MAX)
    }
}

impl CongestionController for SantaCruz {
    fn cwnd(&self) -> u32 {
        self.window.cwnd()
    }

    fn ssthresh(&self) -> u32 {
        self.window.ssthresh()
    }

    fn on_ack(&mut self, ack: &AckSample, growth: Growth) {
        self.observe(ack);
        if self.due
            && let Some(Ramp { widens, by, done, .. }) = self.ramp.take()
        {
            // Acknowledgments that the ramp depended on were lost. Applying the rest of it does not
            // count as a new change of the window.
            self.change(widens, by - done, ack);
        }
        let before = self.window.cwnd();
        self.slow_start &= self.window.is_in_slow_start();
        let newly_delivered = self.newly_delivered(ack);
        if self.slow_start {
            // Unlike RFC 5681 §3.1, by all bytes that have arrived, even if acknowledgments were
            // lost. Section 3.1.2: the window doubles every round trip.
            match growth {
                _ if ack.app_limited => {}
                Growth::Standard { .. } => self.window.widen(newly_delivered),
                Growth::Window(bytes) => self.window.widen_to(bytes),
            }
            return;
        }
        self.adjust(ack, growth);
        if self.window.cwnd() != before {
            self.adjusted = self.now;
        }
    }

    fn observe(&mut self, ack: &AckSample) {
        self.now = ack.now;
        if let Some(report) = &ack.forward {
            self.take(report, ack.smss);
        }
    }

    fn path(&self) -> Option<PathDelays> {
        self.points.map(|_| self.path)
    }

    fn on_loss(&mut self, loss: &LossSample) {
        self.interrupt(loss.now);
        self.end_slow_start();
        self.window.on_loss(loss);
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        self.interrupt(loss.now);
        self.end_slow_start();
        self.window.on_mark(loss)
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        self.interrupt(loss.now);
        self.slow_start = true;
        self.counted = self.delivered();
        self.window.on_timeout(loss);
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.interrupt(self.now);
        self.window.set_cwnd(bytes);
    }
}

#[cfg(test)]
mod tests;
