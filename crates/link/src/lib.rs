//! A link without a clock: a buffer, a line with a rate, a delay, and a loss process.
//!
//! | decision | type |
//! | --- | --- |
//! | is there room for the packet? | [`Buffer`]: unlimited, bytes, packets, or chunks of bytes |
//! | is it dropped or marked? | [`Red`], [`CoDel`], [`FqCoDel`] or [`Balanced`] |
//! | does it travel in cells? | [`atm`]: AAL5, and a switch's output port that discards cells |
//! | does it exceed a rate and a burst? | [`TokenBucket`]: a policer drops it, a shaper delays it |
//! | when does it leave and arrive? | [`Link`], over [`units::Serializer`] or [`RateTrace`] |
//! | does the configuration change? | [`LinkChanges`], [`Link::reconfigure`] |
//! | is its delay random? | [`Jitter`]: uniform, normal, Pareto, or measured delays |
//! | can later packets overtake it? | [`DelayChanges`], [`Jitter`], [`Reorder`] |
//! | is it lost? | [`LossModel`]: by packet, byte or size, bursts, two states, a mask, a trace |
//! | how many packets went where? | [`Books`] and [`QueueStatistics`] |
//!
//! A [`Link`] reads no clock and owns no random generator. The driver passes the time and one
//! uniform number for each random decision on a packet. The same link therefore serves a simulator
//! and a real-time emulator. All state is integers; a [`Probability`] is converted from floating
//! point once.
//!
//! ```
//! use link::{Buffer, Link, LinkConfig, Offered, Outcome};
//! use units::{Duration, Instant, Rate};
//!
//! let mut link = Link::new(LinkConfig {
//!     rate: Rate::from_bits_per_sec(10_000_000),
//!     delay: Duration::from_millis(50),
//!     buffer: Buffer::bytes(150_000)?,
//!     ..LinkConfig::default()
//! });
//! let packet = Offered { bytes: 1500, data: true, ..Offered::default() };
//! let no_draw = |_| unreachable!("there is no random loss");
//! let outcome = link.offer(Instant::ZERO, packet, "hello", no_draw);
//! assert_eq!(outcome, Outcome::Accepted);
//!
//! // Transmission takes 1.2 ms, propagation 50 ms.
//! let arrives = Instant::ZERO + Duration::from_micros(51_200);
//! assert_eq!(link.next_delivery(), Some(arrives));
//! assert_eq!(link.deliver(arrives), Some("hello"));
//! # Ok::<(), link::ConfigError>(())
//! ```

pub mod atm;
mod balanced;
mod books;
mod buffer;
mod codel;
mod config;
mod custom;
mod decision;
mod deferred;
mod error;
mod fq_codel;
mod jitter;
mod link;
mod loss;
mod meter;
mod packet;
mod path;
mod probability;
mod quantiles;
mod queue;
mod rate_trace;
mod red;
mod scheduled;
mod statistics;
mod text;
mod token_bucket;
mod transmitter;

pub use balanced::Balanced;
pub use books::{Books, Tally};
pub use buffer::{Buffer, Chunks};
pub use codel::CoDel;
pub use config::{Discipline, LinkChanges, LinkConfig, LossPoint};
pub use custom::{Admission, CustomDiscipline, CustomLoss, Factory, LossFacts, QueueFacts};
pub use deferred::Verdict;
pub use error::ConfigError;
pub use fq_codel::FqCoDel;
pub use jitter::Jitter;
pub use link::{Link, Reading, reserved};
pub use loss::{Burst, GilbertElliott, Linear, LossModel, LossTrace};
pub use packet::{Chance, DropReason, Offered, Outcome};
pub use path::{DelayChange, DelayChanges, Reorder};
pub use probability::Probability;
pub use rate_trace::RateTrace;
pub use red::{Measure, Red};
pub use statistics::QueueStatistics;
pub use text::{MAX_TEXT_BYTES, TextError, parse_delays, parse_mask};
pub use token_bucket::TokenBucket;
