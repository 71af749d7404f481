//! Segmentation of the stream: full-sized segments and TCP Smart Framing.
//!
//! Source: Mellia, Meo, Casetti, *TCP Smart Framing*, IEEE/ACM ToN 13(2), 2005, §III (the journal),
//! and `draft-mellia-tsvwg-tcp-smartframing-00`, 2001, §6 (the draft). Both send more and smaller
//! segments while `cwnd < cwnd_min` (the *small-window regime*). A loss is then followed by enough
//! segments for its detection.
//!
//! The two variants keep a different quantity constant in the small-window regime. Fixed-size
//! framing keeps the *size* of a segment, variable-size framing the *number* of segments.
//!
//! [`Tail`] is another framing: it cuts only the end of a write, at any window. It is a part of
//! [`FullSized`], which has the rules for the window.

mod fixed_size;
mod full_sized;
mod tail;
mod variable_size;

pub use fixed_size::{Avoidance, FixedSize};
pub use full_sized::FullSized;
pub use tail::{Cut, Tail, TailSegment, TailView};
pub use variable_size::{Alpha, VariableSize};

use enum_dispatch::enum_dispatch;

use crate::facts::{Growth, SendView};

/// Decides the size of the next segment, and the step by which the window grows.
#[enum_dispatch]
pub trait Segmenter {
    /// Begins a slow start with a window of `cwnd0` bytes: the initial window, or the loss window
    /// after a timeout.
    fn on_slow_start(&mut self, cwnd0: u32, view: &SendView);

    /// Handles an acknowledgment of new data. `view` is the state of the sender after it.
    fn on_ack(&mut self, view: &SendView);

    /// Handles a reduction of the window without a timeout. `view.cwnd` is the reduced window.
    fn on_reduction(&mut self, view: &SendView);

    /// Maximum payload of the next segment in bytes, the paper's `MSS_c`. Window growth, Nagle's
    /// rule and silly-window avoidance compare with it.
    fn mss_c(&self, view: &SendView) -> u32;

    /// Maximum number of segments in flight; `None` if unlimited.
    fn max_segments(&self, view: &SendView) -> Option<u32>;

    /// Growth that an acknowledgment allows the window.
    fn growth(&self, view: &SendView) -> Growth;

    /// Whether segments may be shorter than SMSS although enough data waits.
    fn reduces_segments(&self) -> bool {
        true
    }
}

/// Any segmenter, without a heap allocation per connection.
#[enum_dispatch(Segmenter)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnySegmenter {
    /// Segments of up to the sender maximum segment size, with or without a cut in the end of a
    /// write.
    FullSized(FullSized),
    /// Fixed-size Smart Framing, FS-TCP-SF.
    FixedSize(FixedSize),
    /// Variable-size Smart Framing, VS-TCP-SF.
    VariableSize(VariableSize),
}

impl AnySegmenter {
    /// Returns whether all segments are full-sized, and no end of a write is cut.
    #[inline]
    pub const fn is_plain(&self) -> bool {
        matches!(self, Self::FullSized(FullSized { tail: None }))
    }

    /// Returns whether the framing cuts the end of a write. The sender then asks
    /// [`tail_mut`](Self::tail_mut) for the payload of each segment.
    #[inline]
    pub const fn is_tail(&self) -> bool {
        matches!(self, Self::FullSized(FullSized { tail: Some(_) }))
    }

    /// The framing of the end of a write, if it is one.
    #[inline]
    pub const fn tail_mut(&mut self) -> Option<&mut Tail> {
        match self {
            Self::FullSized(FullSized { tail }) => tail.as_mut(),
            _ => None,
        }
    }
}

/// Parameters of both framings: the small-window regime.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Regime {
    segments: u8,
    threshold: u8,
}

impl Regime {
    /// Parameters of the papers: four segments, below a window of four.
    pub const PAPER: Self = Self { segments: 4, threshold: 4 };

    /// Creates the parameters. `segments` is `N_sf`, the number of segments of an initial window (2
    /// to 64). `threshold` is `cwnd_min` in full-sized segments (1 to 64). Returns `None` outside
    /// those ranges.
    pub const fn new(segments: u8, threshold: u8) -> Option<Self> {
        if segments < 2 || segments > 64 || threshold < 1 || threshold > 64 {
            return None;
        }
        Some(Self { segments, threshold })
    }

    /// `N_sf`: number of segments of a small window.
    pub const fn segments(self) -> u32 {
        self.segments as u32
    }

    /// `cwnd_min` in full-sized segments.
    pub const fn threshold(self) -> u32 {
        self.threshold as u32
    }

    /// `cwnd_min` in bytes.
    pub const fn cwnd_min(self, smss: u32) -> u32 {
        self.threshold as u32 * smss
    }

    /// Returns the parameters with a threshold of at most `N_sf` full-sized segments.
    const fn up_to_its_segments(self) -> Self {
        let Self { segments, threshold } = self;
        Self { segments, threshold: if threshold < segments { threshold } else { segments } }
    }

    /// Returns whether the window is small: `cwnd < cwnd_min`.
    pub const fn holds(self, view: &SendView) -> bool {
        view.cwnd < self.cwnd_min(view.smss)
    }

    /// Reduced segment size in bytes for a slow start from `cwnd0`: `N_sf` segments fill the
    /// window. With `N_sf = cwnd_min / MSS`, as in both papers, it equals the journal's `MSS ·
    /// cwnd_0 / cwnd_min`.
    fn reduced(self, cwnd0: u32, smss: u32) -> u32 {
        (cwnd0 / self.segments()).clamp(1, smss)
    }
}
