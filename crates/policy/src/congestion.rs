//! Congestion control: how much may be in flight, and when slow start ends.

mod custom;
mod fixed;
mod reno;
mod santa_cruz;
mod vegas;

pub use custom::{ControllerFactory, ControllerStart};
pub use fixed::Fixed;
pub use reno::Reno;
pub use santa_cruz::{
    BackOff, Change, Hold, Packets, Reading, SantaCruz, Startup, Target, Translation,
};
pub use vegas::{Vegas, VegasThresholds};

use std::fmt;

use enum_dispatch::enum_dispatch;

use crate::facts::{AckSample, Growth, LossSample};

/// Maximum window of a controller, in bytes: the largest that RFC 7323 lets a peer advertise.
pub const MAX_WINDOW: u32 = 1 << 30;

/// Delays of the forward path and the return path, measured separately. They need acknowledgments
/// that identify and time the transmission that caused them. Parsa and Garcia-Luna-Aceves 1999,
/// sections 3.1.1 and 3.1.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathDelays {
    /// Delay on the forward path relative to the first packet, in nanoseconds: mean over the
    /// reports of the last window.
    pub forward_ns: i128,
    /// Relative delay of the acknowledgments on the return path, in nanoseconds: mean over the
    /// reports of the last window.
    pub return_ns: i128,
    /// n: number of packets queued at the bottleneck, in millionths.
    pub waiting_millionths: i128,
    /// Number of reports of a packet that arrived before one that had been sent earlier. Each
    /// report is compared with the report before it: the paper's Fig. 3(d).
    pub forward_reordered: u64,
    /// Number of reports that arrived after a report of a later arrival.
    pub return_reordered: u64,
}

impl PathDelays {
    /// Value before the first report.
    pub const NONE: Self = Self {
        forward_ns: 0,
        return_ns: 0,
        waiting_millionths: 0,
        forward_reordered: 0,
        return_reordered: 0,
    };
}

/// Maintains the congestion window, in bytes.
#[enum_dispatch]
pub trait CongestionController: fmt::Debug + Send + Sync {
    /// Congestion window in bytes, without the inflation of fast recovery.
    fn cwnd(&self) -> u32;

    /// Slow start threshold in bytes.
    fn ssthresh(&self) -> u32;

    /// Handles an acknowledgment of new data outside recovery. `growth` says how the window may
    /// grow.
    fn on_ack(&mut self, ack: &AckSample, growth: Growth);

    /// Handles an acknowledgment for which the window must not grow. It acknowledges new data
    /// during recovery or with an ECN echo, or it acknowledges nothing new but identifies the
    /// transmission that caused it. Controllers that measure delays use it.
    fn observe(&mut self, _ack: &AckSample) {}

    /// Estimated delays of the forward path and the return path; `None` without reports.
    fn path(&self) -> Option<PathDelays> {
        None
    }

    /// Handles a loss that was detected without a timeout.
    fn on_loss(&mut self, loss: &LossSample);

    /// Handles an echoed mark, set by a router instead of dropping the packet (RFC 3168 §6.1.2).
    /// Returns whether the window was already at its minimum. Then only waiting for the
    /// retransmission timer makes the sender slower.
    fn on_mark(&mut self, loss: &LossSample) -> bool;

    /// Handles an expiry of the retransmission timer, or a loss after which a sender without fast
    /// recovery restarts as after an expiry.
    fn on_timeout(&mut self, loss: &LossSample);

    /// Sets the window, in bytes, at the end of recovery or after an idle period.
    fn set_cwnd(&mut self, bytes: u32);
}

/// Number of bytes that slow start counts for an acknowledgment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Counting {
    /// Each ACK adds a whole step, regardless of the bytes it covers. Senders of the papers' time
    /// did this.
    Acks,
    /// RFC 5681 §3.1, eq. (2): an ACK adds no more than the bytes it covers.
    #[default]
    Bytes,
    /// RFC 3465 with L = 2: an ACK adds the bytes it covers, at most two steps. In the slow start
    /// after a timeout it adds at most one step. In congestion avoidance all bytes count.
    Appropriate,
}

/// Quantity that is halved after a loss.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Halving {
    /// RFC 5681 §3.1, eq. (4): `FlightSize`, and only once while the same data keeps timing out.
    #[default]
    Flight,
    /// The window, at every expiry of the timer: senders of the papers' time (ns-2, and BSD before
    /// RFC 2581).
    Window,
}

/// Rules of a connection that hold for every kind of window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WindowRules {
    /// Number of bytes that slow start counts for an acknowledgment.
    pub counting: Counting,
    /// Quantity that is halved after a loss.
    pub halving: Halving,
    /// Initial slow start threshold in bytes.
    pub ssthresh: u32,
}

impl WindowRules {
    /// RFC 5681. Its §3.1 sets the initial ssthresh arbitrarily high.
    pub const RFC: Self =
        Self { counting: Counting::Bytes, halving: Halving::Flight, ssthresh: MAX_WINDOW };
}

/// Any congestion controller. The window is read several times per packet, so the common controller
/// is stored inline and the others are boxed.
#[enum_dispatch(CongestionController)]
#[derive(Debug)]
pub enum AnyController {
    /// The window of Tahoe, Reno and NewReno, which differ only in recovery.
    Reno(Reno),
    /// Any other controller.
    Other(Boxed),
}

/// A controller on the heap with a copy of its window, so that reading the window needs no virtual
/// call.
#[derive(Debug)]
pub struct Boxed(Box<Cached<dyn CongestionController>>);

#[derive(Debug)]
struct Cached<C: ?Sized> {
    cwnd: u32,
    controller: C,
}

impl Boxed {
    fn new(controller: impl CongestionController + 'static) -> Self {
        Self(Box::new(Cached { cwnd: controller.cwnd(), controller }))
    }

    /// Applies a change to the controller and refreshes the cached window.
    fn update<T>(&mut self, act: impl FnOnce(&mut dyn CongestionController) -> T) -> T {
        let result = act(&mut self.0.controller);
        self.0.cwnd = self.0.controller.cwnd();
        result
    }
}

impl CongestionController for Boxed {
    fn cwnd(&self) -> u32 {
        self.0.cwnd
    }

    fn ssthresh(&self) -> u32 {
        self.0.controller.ssthresh()
    }

    #[inline]
    fn on_ack(&mut self, ack: &AckSample, growth: Growth) {
        // A virtual call takes the address of its facts. With a copy only these controllers need
        // them in memory, and the facts for Reno remain in registers.
        let ack = *ack;
        self.update(|c| c.on_ack(&ack, growth));
    }

    fn observe(&mut self, ack: &AckSample) {
        self.update(|c| c.observe(ack));
    }

    fn path(&self) -> Option<PathDelays> {
        self.0.controller.path()
    }

    fn on_loss(&mut self, loss: &LossSample) {
        self.update(|c| c.on_loss(loss));
    }

    fn on_mark(&mut self, loss: &LossSample) -> bool {
        self.update(|c| c.on_mark(loss))
    }

    fn on_timeout(&mut self, loss: &LossSample) {
        self.update(|c| c.on_timeout(loss));
    }

    fn set_cwnd(&mut self, bytes: u32) {
        self.update(|c| c.set_cwnd(bytes));
    }
}

impl AnyController {
    /// Boxes a controller other than Reno.
    pub fn other(controller: impl CongestionController + 'static) -> Self {
        Self::Other(Boxed::new(controller))
    }
}
