//! The window of TCP Santa Cruz: so many packets at the bottleneck, found from delays on the way there.
//!
//! C. Parsa, J. J. Garcia-Luna-Aceves, *Improving TCP Congestion Control over Internets with Heterogeneous Transmission
//! Media*, ICNP 1999, section 3.1. Numbers in brackets are its equations. What it leaves open:
//!
//! - *A window* ends with the first report of a transmission that left after the window began, so that a round trip is
//!   one, however many acknowledgments are lost; the pair that joins two windows belongs to the later one.
//! - *The service time* of (3) is the time from the last arrival of the window before to the last of this one, over what
//!   arrived in between. That is exact on a link that never idles. What arrived is counted in bytes, so that segments of
//!   any length and acknowledgments that got lost count as they should; a packet is one of SMSS bytes.
//! - *The sum of relative delays* is taken "from the beginning of a session" in the text, and window by window in (2) and
//!   (4). Both are here ([`Translation`]). They differ once the link has idled, as it does in every slow start: the service
//!   time is then long, and an error that (2) makes stays. The first comes close to the paper's Table 2.
//! - *Linearly* is one segment a window, all at once.
//! - *A loss* halves the window as Reno does, once a window; the estimate goes on.

use units::Instant;

use crate::congestion::{Classic, CongestionController, Reno};
use crate::facts::{AckSample, ForwardSample, Growth, LossSample};

/// A number of packets in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packets(u16);

impl Packets {
    /// So many hundredths of a packet.
    pub const fn from_hundredths(hundredths: u16) -> Self {
        Self(hundredths)
    }

    /// In hundredths.
    pub const fn hundredths(self) -> u16 {
        self.0
    }

    fn millionths(self) -> i128 {
        i128::from(self.0) * 10_000
    }
}

/// By which service time relative delays become packets. On a link that never idles it makes no difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Translation {
    /// All relative delays since the beginning of the session by the last window's.
    Session,
    /// Those of each window by its own: (2) and (4) as they are printed.
    Window,
}

/// The operating point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    n_op: Packets,
    delta: Packets,
    translation: Translation,
}

impl Target {
    /// Of the paper's Figure 9; it gives no δ, "some fraction of a packet".
    pub const PAPER: Self =
        Self { n_op: Packets(150), delta: Packets(25), translation: Translation::Session };

    /// `n_op` packets are to wait at the bottleneck, `delta` more or fewer. `None` unless `n_op` is above zero and
    /// at most 100, and `delta` at most as much.
    pub const fn new(n_op: Packets, delta: Packets, translation: Translation) -> Option<Self> {
        let valid = n_op.0 > 0 && n_op.0 <= 10_000 && delta.0 <= n_op.0;
        if valid { Some(Self { n_op, delta, translation }) } else { None }
    }

    /// `N_op`.
    pub const fn n_op(self) -> Packets {
        self.n_op
    }

    /// δ.
    pub const fn delta(self) -> Packets {
        self.delta
    }

    /// How relative delays become packets.
    pub const fn translation(self) -> Translation {
        self.translation
    }
}

/// What one report says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    sent_at: Instant,
    arrived_us: u32,
    delivered: u64,
}

impl Point {
    /// How much longer than `earlier` it was under way, and how much later it arrived, in nanoseconds: (1).
    fn since(&self, earlier: &Self) -> (i128, i128) {
        // Less than 2³¹ µs apart, in either order.
        let gap = i128::from(self.arrived_us.wrapping_sub(earlier.arrived_us).cast_signed()) * 1000;
        let spacing = i128::from(self.sent_at.as_nanos()) - i128::from(earlier.sent_at.as_nanos());
        (gap - spacing, gap)
    }

    /// A delay in millionths of a packet, by the mean service time since `base`: (3), (4). `None` if nothing has arrived
    /// since then.
    fn packets(&self, base: &Self, delay: i128, smss: u32) -> Option<i128> {
        let (_, span) = self.since(base);
        let bytes = i128::from(self.delivered.wrapping_sub(base.delivered));
        let service = span * i128::from(smss);
        (service > 0 && bytes > 0).then(|| delay.saturating_mul(bytes).saturating_mul(1_000_000) / service)
    }
}

/// What is to become of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Widen,
    Keep,
    Narrow,
}

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SantaCruz {
    target: Target,
    /// Window and threshold, and what a loss makes of them.
    window: Reno<Classic>,
    slow_start: bool,
    /// n: packets that wait at the bottleneck, in millionths: (2).
    queue: i128,
    /// The relative delays since the beginning, in nanoseconds.
    delays: i128,
    /// The last report of the window before, and the last of all.
    points: Option<(Point, Point)>,
    began: Instant,
    verdict: Verdict,
    /// The window under way has not yet been adjusted.
    due: bool,
    /// What had been delivered when slow start last widened the window.
    counted: u64,
}

impl SantaCruz {
    /// A controller with this window to begin with, in slow start.
    pub const fn new(target: Target, window: Reno<Classic>) -> Self {
        Self {
            target,
            window,
            slow_start: true,
            queue: 0,
            delays: 0,
            points: None,
            began: Instant::ZERO,
            verdict: Verdict::Keep,
            due: false,
            counted: 0,
        }
    }

    /// n: the packets that wait at the bottleneck, in millionths, at the end of the last window.
    pub const fn queue_millionths(&self) -> i128 {
        self.queue
    }

    fn take(&mut self, report: &ForwardSample, smss: u32) {
        let ForwardSample { now, sent_at, arrived_us, delivered, .. } = *report;
        let point = Point { sent_at, arrived_us, delivered };
        let Some((base, last)) = self.points else {
            self.points = Some((point, point));
            self.began = now;
            return;
        };
        let (delay, gap) = point.since(&last);
        // An acknowledgment that has been overtaken tells nothing new.
        if gap < 0 {
            return;
        }
        let base = if sent_at >= self.began { self.close(&base, &last, now, smss) } else { base };
        self.points = Some((base, point));
        // Startup: slow start ends with any relative delay beyond half of what is wanted.
        let enough = self.target.n_op.millionths() / 2;
        if point.packets(&base, delay, smss).is_some_and(|packets| packets > enough) {
            self.end_slow_start();
        }
    }

    /// The window that ended with `last` is over; returns what the next one counts from.
    fn close(&mut self, base: &Point, last: &Point, now: Instant, smss: u32) -> Point {
        self.began = now;
        let (sum, _) = last.since(base);
        let Target { n_op, delta, translation } = self.target;
        let delays = self.delays + sum;
        let found = match translation {
            Translation::Session => last.packets(base, delays, smss),
            // (2)
            Translation::Window => {
                last.packets(base, sum, smss).map(|change| self.queue.saturating_add(change))
            }
        };
        let Some(queue) = found else { return *base };
        (self.queue, self.delays) = (queue, delays);
        if self.queue > n_op.millionths() / 2 {
            self.end_slow_start();
        }
        self.verdict = if queue < n_op.millionths() - delta.millionths() {
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

    /// The bytes that have arrived since slow start last asked.
    fn news(&mut self, ack: &AckSample) -> u32 {
        let Some(report) = ack.forward else { return ack.acked.min(ack.smss) };
        let news = report.delivered.saturating_sub(self.counted);
        self.counted = self.counted.max(report.delivered);
        u32::try_from(news).unwrap_or(u32::MAX)
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
        self.slow_start &= self.window.cwnd() < self.window.ssthresh();
        let news = self.news(ack);
        if self.slow_start {
            // Unlike RFC 5681 §3.1, by all that has arrived, whatever acknowledgments were lost: section 3.1.2, the window
            // doubles every round trip.
            match growth {
                _ if ack.app_limited => {}
                Growth::Standard { .. } => self.window.widen(news),
                Growth::Window(bytes) => self.window.widen_to(bytes),
            }
            return;
        }
        let due = std::mem::take(&mut self.due);
        match (self.verdict, growth) {
            (Verdict::Widen, _) if ack.app_limited => {}
            (Verdict::Widen, Growth::Standard { per_rtt, .. }) if due => self.window.widen(per_rtt),
            (Verdict::Widen, Growth::Window(bytes)) => self.window.widen_to(bytes),
            (Verdict::Narrow, _) if due => {
                let least = (2 * ack.smss).min(self.window.cwnd());
                self.window.set_cwnd(self.window.cwnd().saturating_sub(ack.smss).max(least));
            }
            _ => {}
        }
    }

    fn observe(&mut self, ack: &AckSample) {
        if let Some(report) = &ack.forward {
            self.take(report, ack.smss);
        }
    }

    fn on_loss(&mut self, loss: &LossSample) {
        self.end_slow_start();
        self.due = false;
        self.window.on_loss(loss);
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        self.end_slow_start();
        self.due = false;
        self.window.on_mark(loss)
    }

    fn on_timeout(&mut self, loss: &LossSample, repeated: bool) {
        self.slow_start = true;
        self.counted = self.points.map_or(0, |(_, last)| last.delivered);
        self.due = false;
        self.window.on_timeout(loss, repeated);
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.due = false;
        self.window.set_cwnd(bytes);
    }
}

#[cfg(test)]
mod tests;
