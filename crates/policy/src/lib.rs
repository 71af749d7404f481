//! Pure sender decisions. A TCP sender is five questions, a module each:
//!
//! | question | module | trait |
//! | --- | --- | --- |
//! | where to cut the stream? | [`segment`] | [`Segmenter`] |
//! | how much may be in flight? | [`congestion`] | [`CongestionController`] |
//! | when does slow start end? | [`congestion`] | [`SlowStart`] |
//! | what is lost? | [`loss`] | [`LossDetector`] |
//! | how fast while recovering? | [`recovery`] | [`Recovery`] |
//!
//! A policy is shown facts ([`SendView`], [`AckSample`], [`LossSample`]) and returns a decision; it
//! holds no reference to the connection, reads no clock and draws no random number.
//! [`SenderPolicy`] names a combination in text, and [`rtt`] keeps the retransmission timer's
//! estimate.

pub mod congestion;
pub mod loss;
pub mod recovery;
pub mod rtt;
pub mod segment;

mod facts;
mod sender;

pub use congestion::{CongestionController, SlowStart};
pub use facts::{AckSample, ForwardSample, Growth, LossSample, SendView};
pub use loss::LossDetector;
pub use recovery::Recovery;
pub use segment::Segmenter;
pub use sender::{
    Congestion, Feedback, Framing, InitialWindow, LossResponse, ParseSenderError, SenderPolicy,
};
