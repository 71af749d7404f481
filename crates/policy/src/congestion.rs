//! How much may be in flight, and when slow start ends.

mod fixed;
mod reno;
mod santa_cruz;
mod vegas;

pub use fixed::Fixed;
pub use reno::Reno;
pub use santa_cruz::{
    BackOff, Change, Hold, Packets, Reading, SantaCruz, Startup, Target, Translation,
};
pub use vegas::{Vegas, VegasThresholds};

use std::fmt;

use crate::facts::{AckSample, Growth, LossSample};

/// The widest window a controller grows to: what RFC 7323 lets a peer advertise.
pub const MAX_WINDOW: u32 = 1 << 30;

/// What acknowledgments that name and time what caused them say of the two ways, each by itself.
/// Parsa and Garcia-Luna-Aceves 1999, sections 3.1.1 and 3.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathDelays {
    /// The relative delay on the way there against the first packet, in nanoseconds: mean over the
    /// last window's reports.
    pub forward_ns: i128,
    /// That of the acknowledgments on the way back.
    pub return_ns: i128,
    /// n: the packets that wait at the bottleneck, in millionths.
    pub waiting_millionths: i128,
    /// Reports of a packet that arrived before one that had left earlier, each beside the report
    /// before it: its Fig. 3(d).
    pub forward_reordered: u64,
    /// Reports that came after a report of a later arrival.
    pub return_reordered: u64,
}

impl PathDelays {
    /// Before there are any reports.
    pub const NONE: Self = Self {
        forward_ns: 0,
        return_ns: 0,
        waiting_millionths: 0,
        forward_reordered: 0,
        return_reordered: 0,
    };
}

/// Keeps the congestion window, in bytes.
pub trait CongestionController: fmt::Debug + Send + Sync {
    /// The congestion window without the inflation of fast recovery.
    fn cwnd(&self) -> u32;

    /// The slow start threshold.
    fn ssthresh(&self) -> u32;

    /// New data was acknowledged outside of recovery; `growth` is how the window may grow.
    fn on_ack(&mut self, ack: &AckSample, growth: Growth);

    /// New data was acknowledged, and the window isn't to grow for it: while a loss is being
    /// repaired, or with the echo of a mark; or nothing new was, but the acknowledgment says
    /// what caused it. For a controller that watches delays.
    fn observe(&mut self, _ack: &AckSample) {}

    /// What it knows of the ways there and back; `None` without reports.
    fn path(&self) -> Option<PathDelays> {
        None
    }

    /// A loss was noticed without a timeout.
    fn on_loss(&mut self, loss: &LossSample);

    /// A router marked a packet instead of dropping it, and the peer echoed that (RFC 3168 §6.1.2).
    /// Returns whether the window was at its least before, so that only waiting makes the
    /// sender slower.
    fn on_mark(&mut self, loss: &LossSample) -> bool;

    /// The retransmission timer expired. `repeated` when it has expired before for the same data.
    fn on_timeout(&mut self, loss: &LossSample, repeated: bool);

    /// Recovery, or a restart after idleness, sets the window to this many bytes.
    fn set_cwnd(&mut self, bytes: u32);
}

/// Says when slow start ends.
pub trait SlowStart: fmt::Debug + Send + Sync {
    /// Whether the window grows exponentially.
    fn is_active(&self, cwnd: u32, ssthresh: u32) -> bool;
}

/// RFC 5681 §3.1: slow start while `cwnd < ssthresh`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Classic;

impl SlowStart for Classic {
    fn is_active(&self, cwnd: u32, ssthresh: u32) -> bool {
        cwnd < ssthresh
    }
}

/// How slow start counts an acknowledgment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Counting {
    /// Each ACK adds a whole step, whatever it covers: the senders of the papers' time.
    Acks,
    /// RFC 5681 §3.1, eq. (2): an ACK adds no more than the bytes it covers.
    #[default]
    Bytes,
    /// RFC 3465 with L = 2: an ACK adds the bytes it covers, at most two steps; one in the slow
    /// start after a timeout. In congestion avoidance all bytes count.
    Appropriate,
}

/// What is halved when something is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Halving {
    /// RFC 5681 §3.1, eq. (4): what is in flight, and only once while the same data keeps timing
    /// out.
    #[default]
    Flight,
    /// The window, at every expiry of the timer: senders of the papers' time (ns-2, and BSD before
    /// RFC 2581).
    Window,
}

/// What a connection's settings say of any window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRules {
    /// How slow start counts an acknowledgment.
    pub counting: Counting,
    /// What is halved when something is lost.
    pub halving: Halving,
    /// The slow start threshold in bytes before anything is lost.
    pub ssthresh: u32,
}

impl WindowRules {
    /// RFC 5681, whose §3.1 has ssthresh start arbitrarily high.
    pub const RFC: Self =
        Self { counting: Counting::Bytes, halving: Halving::Flight, ssthresh: MAX_WINDOW };
}

/// Any of the controllers. The window is asked for several times a packet, so the one that is
/// common stands here, and the others elsewhere.
#[derive(Debug)]
pub enum AnyController {
    /// The window of Tahoe, Reno and NewReno, which differ in recovery only.
    Reno(Reno<Classic>),
    /// Another.
    Other(Box<Boxed<dyn CongestionController>>),
}

/// A controller that stands elsewhere, with its window at hand: asking for it must cost no call,
/// and nothing where the answer isn't needed.
#[derive(Debug)]
pub struct Boxed<C: ?Sized> {
    cwnd: u32,
    controller: C,
}

impl<C: CongestionController> Boxed<C> {
    fn new(controller: C) -> Self {
        Self { cwnd: controller.cwnd(), controller }
    }
}

impl<C: CongestionController + ?Sized> Boxed<C> {
    /// Lets the controller do something, after which its window may be another.
    fn update<T>(&mut self, act: impl FnOnce(&mut C) -> T) -> T {
        let result = act(&mut self.controller);
        self.cwnd = self.controller.cwnd();
        result
    }
}

impl<C: CongestionController + ?Sized> CongestionController for Boxed<C> {
    fn cwnd(&self) -> u32 {
        self.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.controller.ssthresh()
    }

    fn on_ack(&mut self, ack: &AckSample, growth: Growth) {
        self.update(|c| c.on_ack(ack, growth));
    }

    fn observe(&mut self, ack: &AckSample) {
        self.update(|c| c.observe(ack));
    }

    fn path(&self) -> Option<PathDelays> {
        self.controller.path()
    }

    fn on_loss(&mut self, loss: &LossSample) {
        self.update(|c| c.on_loss(loss));
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        self.update(|c| c.on_mark(loss))
    }

    fn on_timeout(&mut self, loss: &LossSample, repeated: bool) {
        self.update(|c| c.on_timeout(loss, repeated));
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.update(|c| c.set_cwnd(bytes));
    }
}

macro_rules! each {
    ($self:ident, $inner:ident => $call:expr) => {
        match $self {
            Self::Reno($inner) => $call,
            Self::Other($inner) => $call,
        }
    };
}

impl AnyController {
    /// This controller, of a kind that is not common.
    pub fn other(controller: impl CongestionController + 'static) -> Self {
        Self::Other(Box::new(Boxed::new(controller)))
    }

    /// Whether it looks at all of an [`AckSample`], and is to be told what gives it no reason to
    /// grow.
    pub fn needs_samples(&self) -> bool {
        matches!(self, Self::Other(_))
    }

    /// New data was acknowledged outside of recovery, as in [`CongestionController::on_ack`]. Who
    /// [`needs_samples`](Self::needs_samples) needs the `sample`; it isn't made for others, since this is
    /// told with every acknowledgment.
    #[inline]
    pub fn acknowledged(
        &mut self,
        acked: u32,
        app_limited: bool,
        growth: Growth,
        sample: Option<&AckSample>,
    ) {
        match self {
            Self::Reno(reno) => reno.grow(acked, app_limited, growth),
            Self::Other(other) => {
                if let Some(sample) = sample {
                    other.on_ack(sample, growth);
                }
            }
        }
    }
}

impl CongestionController for AnyController {
    fn cwnd(&self) -> u32 {
        each!(self, c => c.cwnd())
    }

    fn ssthresh(&self) -> u32 {
        each!(self, c => c.ssthresh())
    }

    fn on_ack(&mut self, ack: &AckSample, growth: Growth) {
        each!(self, c => c.on_ack(ack, growth));
    }

    fn observe(&mut self, ack: &AckSample) {
        each!(self, c => c.observe(ack));
    }

    fn path(&self) -> Option<PathDelays> {
        each!(self, c => c.path())
    }

    fn on_loss(&mut self, loss: &LossSample) {
        each!(self, c => c.on_loss(loss));
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        each!(self, c => c.on_mark(loss))
    }

    fn on_timeout(&mut self, loss: &LossSample, repeated: bool) {
        each!(self, c => c.on_timeout(loss, repeated));
    }

    fn set_cwnd(&mut self, bytes: u32) {
        each!(self, c => c.set_cwnd(bytes));
    }
}
