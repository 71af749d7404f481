//! The simulator and the analysis of captures for a web page.
//!
//! [`Session`] answers requests, each of them JSON ([`Request`]), with JSON or with the bytes of a
//! file. Compiled for `wasm32-unknown-unknown` the crate exports six functions (`exports`) by which
//! a page passes bytes in and out.
//!
//! The interface is made by hand. `wasm-bindgen` needs a second program of exactly its version to
//! process the module, and every call would pass text as here. The types of requests and answers
//! derive a JSON Schema, from which the example `types` writes the TypeScript types.

mod captured;
mod edits;
mod error;
#[cfg(target_arch = "wasm32")]
mod exports;
mod flow;
mod live;
mod moment;
mod request;
mod run;
mod scenario;
mod session;

pub use self::captured::{
    CaptureAnswer, CauseAnswer, ConnectionAnswer, ConnectionRow, EpisodeRow, RepeatedSegment,
};
pub use self::edits::{Delayed, Edits, PacketPlace};
pub use self::error::Refusal;
pub use self::flow::{FlowAnswer, PacketAnswer, RepairAnswer, RepetitionAnswer};
pub use self::live::{LiveAnswer, LiveLink, StartedAnswer};
pub use self::moment::{MomentAnswer, QueuedAnswer, RackAnswer, TimerAnswer};
pub use self::request::{Answers, Request};
pub use self::run::RunAnswer;
pub use self::scenario::TomlAnswer;
pub use self::session::Session;
