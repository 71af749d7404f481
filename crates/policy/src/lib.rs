//! Pure sender decisions. A TCP sender answers four questions, one module each:
//!
//! | question | module | trait |
//! | --- | --- | --- |
//! | how is the stream divided into segments? | [`segment`] | [`Segmenter`] |
//! | how much may be in flight? | [`congestion`] | [`CongestionController`] |
//! | which segments are lost? | [`loss`] | [`LossDetector`] |
//! | how much is sent during recovery? | [`recovery`] | [`Recovery`] |
//!
//! A policy receives facts ([`SendView`], [`AckSample`], [`LossSample`]) and returns a decision. It
//! holds no reference to the connection, reads no clock and draws no random number. The type
//! [`SenderPolicy`] names a combination of policies in text. [`rtt`] estimates the round-trip time
//! for the retransmission timer. [`packets`] is the congestion control of Linux, which counts
//! packets and not bytes.
//!
//! The example `framing` shows the segment sizes of a slow start:
//! `cargo run -p policy --example framing`.

pub mod congestion;
pub mod loss;
pub mod packets;
pub mod recovery;
pub mod rtt;
pub mod segment;

mod facts;
mod sender;

pub use congestion::CongestionController;
pub use facts::{AckSample, ForwardSample, Growth, LossSample, SendView};
pub use loss::LossDetector;
pub use recovery::Recovery;
pub use segment::Segmenter;
pub use sender::{
    Congestion, Feedback, Framing, InitialWindow, LossResponse, ParseSenderError, RackOptions,
    SenderPolicy,
};
