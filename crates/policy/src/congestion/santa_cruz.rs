//! The window of TCP Santa Cruz: so many packets at the bottleneck, found from delays on the way
//! there.
//!
//! C. Parsa, J. J. Garcia-Luna-Aceves, *Improving TCP Congestion Control over Internets with
//! Heterogeneous Transmission Media*, ICNP 1999, section 3.1. Numbers in brackets are its
//! equations. What it leaves open:
//!
//! - *A window* ends with the first report of a transmission that left after the window began, so
//!   that a round trip is one, however many acknowledgments are lost; the pair that joins two
//!   windows belongs to the later one.
//! - *The service time* of (3) is the time from the last arrival of the window before to the last
//!   of this one, over what arrived in between. That is exact on a link that never idles. What
//!   arrived is counted in bytes, so that segments of any length and acknowledgments that got lost
//!   count as they should; a packet is one of SMSS bytes.
//! - *The sum of relative delays* is taken "from the beginning of a session" in the text, and
//!   window by window in (2) and (4). Both are here ([`Translation`]). They differ once the link
//!   has idled, as it does in every slow start: the service time is then long, and an error that
//!   (2) makes stays. The first comes close to the paper's Table 2.
//! - *Adjustments "only at discrete intervals"* ([`Hold`]): every window is judged, as the text has
//!   it. What a change does to the queue is known only once a window that left after it has been
//!   reported; with [`Hold::Window`] none is judged sooner.
//! - *n in slow start* ([`Startup`]) is compared with `N_op`/2 at every report, or at the end of
//!   each window.
//! - *Linearly* ([`Change`]) is one segment a window: a fraction of it with every report, or all at
//!   once.
//! - *A loss* halves the window as Reno does, once a window; the estimate goes on.

use units::Instant;

use crate::congestion::{Classic, CongestionController, PathDelays, Reno};
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

/// By which service time relative delays become packets. On a link that never idles it makes no
/// difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Translation {
    /// All relative delays since the beginning of the session by the last window's.
    Session,
    /// Those of each window by its own: (2) and (4) as they are printed.
    Window,
}

/// Whether a window is judged although the congestion window has been adjusted since before it
/// left. What slow start adds is no adjustment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// A window is judged if the last adjustment was before it left.
    Window,
    /// Every window is judged.
    None,
}

/// When slow start compares n with half of `N_op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Startup {
    /// At every report, by the service time of the window so far; and at the end of each window.
    Report,
    /// At the end of each window.
    Window,
}

/// How a segment is added to the congestion window, or taken from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// In proportion to what arrives during the interval that follows.
    Ramp,
    /// At once.
    Step,
}

/// When the retransmission timer is backed off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackOff {
    /// From the second expiry in a row on: nothing at all has come back that could be timed.
    Repeated,
    /// Never: section 3.2.1 to the letter.
    None,
}

/// How sections 3.1.2 and 3.2.1 are read where their text leaves a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// How relative delays become packets.
    pub translation: Translation,
    /// Which windows are judged.
    pub hold: Hold,
    /// When slow start looks at n.
    pub startup: Startup,
    /// How the window changes.
    pub change: Change,
    /// When the timer is backed off.
    pub back_off: BackOff,
}

impl Reading {
    /// What is taken where nothing is said.
    pub const DEFAULT: Self = Self {
        translation: Translation::Session,
        hold: Hold::None,
        startup: Startup::Report,
        change: Change::Ramp,
        back_off: BackOff::Repeated,
    };
}

/// The operating point, and the reading of the text by which it is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    n_op: Packets,
    delta: Packets,
    reading: Reading,
}

impl Target {
    /// Of the paper's Figure 9; it gives no δ, "some fraction of a packet".
    pub const PAPER: Self =
        Self { n_op: Packets(150), delta: Packets(25), reading: Reading::DEFAULT };

    /// `n_op` packets are to wait at the bottleneck, `delta` more or fewer. `None` unless `n_op` is
    /// above zero and at most 100, and `delta` at most as much.
    pub const fn new(n_op: Packets, delta: Packets, reading: Reading) -> Option<Self> {
        let valid = n_op.0 > 0 && n_op.0 <= 10_000 && delta.0 <= n_op.0;
        if valid { Some(Self { n_op, delta, reading }) } else { None }
    }

    /// `N_op`.
    pub const fn n_op(self) -> Packets {
        self.n_op
    }

    /// δ.
    pub const fn delta(self) -> Packets {
        self.delta
    }

    /// How the text is read.
    pub const fn reading(self) -> Reading {
        self.reading
    }
}

/// What one report says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Point {
    now: Instant,
    sent_at: Instant,
    arrived_us: u32,
    delivered: u64,
}

impl Point {
    /// How much longer than `earlier` it was under way, and how much later it arrived, in
    /// nanoseconds: (1).
    fn since(&self, earlier: &Self) -> (i128, i128) {
        // Less than 2³¹ µs apart, in either order.
        let gap = i128::from(self.arrived_us.wrapping_sub(earlier.arrived_us).cast_signed()) * 1000;
        let spacing = i128::from(self.sent_at.as_nanos()) - i128::from(earlier.sent_at.as_nanos());
        (gap - spacing, gap)
    }

    /// How much longer than `earlier`'s its acknowledgment was under way, in nanoseconds: (1) for
    /// the way back.
    fn back_since(&self, earlier: &Self) -> i128 {
        let (_, gap) = self.since(earlier);
        i128::from(self.now.as_nanos()) - i128::from(earlier.now.as_nanos()) - gap
    }

    /// A delay in millionths of a packet, by the mean service time since `base`: (3), (4). `None`
    /// if nothing has arrived since then.
    fn packets(&self, base: &Self, delay: i128, smss: u32) -> Option<i128> {
        let (_, span) = self.since(base);
        let bytes = i128::from(self.delivered.wrapping_sub(base.delivered));
        let service = span * i128::from(smss);
        (service > 0 && bytes > 0)
            .then(|| delay.saturating_mul(bytes).saturating_mul(1_000_000) / service)
    }
}

/// What is to become of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Widen,
    Keep,
    Narrow,
}

/// A change of the window in proportion to what arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ramp {
    widens: bool,
    /// By how many bytes in all, and by how many so far.
    by: u32,
    done: u32,
    /// The bytes that had arrived when it began, and those that were in flight: the interval is
    /// over when they have arrived.
    from: u64,
    over: u32,
}

impl Ramp {
    /// The bytes that are due once so many have arrived in all.
    fn take(&mut self, delivered: u64) -> u32 {
        let arrived = delivered.saturating_sub(self.from).min(u64::from(self.over));
        let due = u64::from(self.by) * arrived / u64::from(self.over.max(1));
        let due = u32::try_from(due).unwrap_or(self.by);
        let more = due.saturating_sub(self.done);
        self.done += more;
        more
    }
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
    /// What the reports say of the ways there and back, as of the end of the last window.
    path: PathDelays,
    /// The relative delays there and back of the last packet reported against the first, in
    /// nanoseconds; and of the window under way their sums, and over how many reports.
    ways: (i128, i128),
    sums: (i128, i128, i128),
    began: Instant,
    verdict: Verdict,
    /// The window under way has not yet been adjusted.
    due: bool,
    ramp: Option<Ramp>,
    /// When the congestion window last changed otherwise than by slow start, and when the last
    /// acknowledgment came.
    adjusted: Instant,
    now: Instant,
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

    /// n: the packets that wait at the bottleneck, in millionths, at the end of the last window.
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
        // An acknowledgment that has been overtaken adds nothing to the sums, which are between the
        // first report and the last.
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
        // Startup: slow start ends with any relative delay or n beyond half of what is wanted.
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

    /// n at `point` of the window that counts from `base`: (2). `None` if nothing has arrived since
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

    /// The window that ended with `last` is over; returns what the next one counts from.
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
        // The last that is known of the window that is over left before `now`, so its delay shows
        // what was changed before `began`, and nothing of what was changed then or later.
        let stood_still = self.adjusted < began;
        self.verdict = if reading.hold == Hold::Window && !stood_still {
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

    /// Section 3.1.2: the window grows or shrinks linearly, or is maintained, by what the last
    /// window came to.
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

    /// Changes the window by so many bytes; it doesn't grow while something else holds the sender
    /// back.
    fn change(&mut self, widens: bool, bytes: u32, ack: &AckSample) {
        if !widens {
            let least = (2 * ack.smss).min(self.window.cwnd());
            self.window.set_cwnd(self.window.cwnd().saturating_sub(bytes).max(least));
        } else if !ack.app_limited {
            self.window.widen(bytes);
        }
    }

    /// The window changes for another reason than n.
    fn interrupt(&mut self, now: Instant) {
        self.due = false;
        self.ramp = None;
        self.adjusted = now;
        self.now = now;
    }

    /// The bytes known to have arrived.
    fn delivered(&self) -> u64 {
        self.points.map_or(0, |(_, last)| last.delivered)
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
        if self.due
            && let Some(Ramp { widens, by, done, .. }) = self.ramp.take()
        {
            // The acknowledgments that it was to go by were lost. It is no change of the window
            // that begins.
            self.change(widens, by - done, ack);
        }
        let before = self.window.cwnd();
        self.slow_start &= before < self.window.ssthresh();
        let news = self.news(ack);
        if self.slow_start {
            // Unlike RFC 5681 §3.1, by all that has arrived, whatever acknowledgments were lost:
            // section 3.1.2, the window doubles every round trip.
            match growth {
                _ if ack.app_limited => {}
                Growth::Standard { .. } => self.window.widen(news),
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

    fn on_timeout(&mut self, loss: &LossSample, repeated: bool) {
        self.interrupt(loss.now);
        self.slow_start = true;
        self.counted = self.delivered();
        self.window.on_timeout(loss, repeated);
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.interrupt(self.now);
        self.window.set_cwnd(bytes);
    }
}

#[cfg(test)]
mod tests;
