//! Operating point of TCP Santa Cruz, and the readings of the paper where its text leaves a choice.

/// A number of packets, in hundredths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Packets(u16);

impl Packets {
    /// Creates a number of packets from hundredths of a packet.
    pub const fn from_hundredths(hundredths: u16) -> Self {
        Self(hundredths)
    }

    /// Value in hundredths of a packet.
    pub const fn hundredths(self) -> u16 {
        self.0
    }

    pub(super) fn millionths(self) -> i128 {
        i128::from(self.0) * 10_000
    }
}

/// Service time that converts relative delays to packets. On a link that never idles both variants
/// agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Translation {
    /// Converts the sum of relative delays since the beginning of the session with the service time
    /// of the last window.
    Session,
    /// Converts the delays of each window with the service time of that window: (2) and (4) as
    /// printed.
    Window,
}

/// Whether a window is evaluated if the congestion window has been adjusted after that window was
/// sent. Growth in slow start does not count as an adjustment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hold {
    /// A window is evaluated only if the last adjustment was made before it was sent.
    Window,
    /// Every window is evaluated.
    None,
}

/// Times at which slow start compares n with half of `N_op`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Startup {
    /// At every report, with the service time of the window so far, and at the end of each window.
    Report,
    /// At the end of each window.
    Window,
}

/// Way in which a segment is added to or removed from the congestion window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// In proportion to the bytes that arrive during the following interval.
    Ramp,
    /// At once.
    Step,
}

/// Condition for the back-off of the retransmission timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BackOff {
    /// From the second consecutive expiry on: no measurable acknowledgment has arrived in between.
    Repeated,
    /// Never: section 3.2.1 taken literally.
    None,
}

/// Readings of sections 3.1.2 and 3.2.1 where their text leaves a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Conversion of relative delays to packets.
    pub translation: Translation,
    /// Windows that are evaluated.
    pub hold: Hold,
    /// Times at which slow start evaluates n.
    pub startup: Startup,
    /// Way in which the window changes.
    pub change: Change,
    /// Condition for the back-off of the retransmission timer.
    pub back_off: BackOff,
}

impl Reading {
    /// Default assumptions where the paper is silent.
    pub const DEFAULT: Self = Self {
        translation: Translation::Session,
        hold: Hold::None,
        startup: Startup::Report,
        change: Change::Ramp,
        back_off: BackOff::Repeated,
    };
}

/// Operating point, with the reading of the paper's text that controls it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub(super) n_op: Packets,
    pub(super) delta: Packets,
    pub(super) reading: Reading,
}

impl Target {
    /// Operating point of the paper's Figure 9. The paper gives no δ, only "some fraction of a
    /// packet".
    pub const PAPER: Self =
        Self { n_op: Packets(150), delta: Packets(25), reading: Reading::DEFAULT };

    /// Targets `n_op` packets queued at the bottleneck, with a tolerance of `delta`. Returns `None`
    /// unless `0 < n_op ≤ 100` and `delta ≤ n_op`.
    pub const fn new(n_op: Packets, delta: Packets, reading: Reading) -> Option<Self> {
        let valid = n_op.0 > 0 && n_op.0 <= 10_000 && delta.0 <= n_op.0;
        if valid { Some(Self { n_op, delta, reading }) } else { None }
    }

    /// `N_op`, the target number of queued packets.
    pub const fn n_op(self) -> Packets {
        self.n_op
    }

    /// δ, the tolerance around `N_op`.
    pub const fn delta(self) -> Packets {
        self.delta
    }

    /// Reading of the paper's text.
    pub const fn reading(self) -> Reading {
        self.reading
    }
}
