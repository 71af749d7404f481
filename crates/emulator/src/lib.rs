//! Links in real time: a command runs in a network namespace whose only exit leads through two
//! [`link::Link`]s, one in each direction. A clock and two TUN devices drive them.
//!
//! | decision | module |
//! | --- | --- |
//! | what does each direction do? | [`settings`]: options and their values, as users write them |
//! | what happens to a packet? | [`mod@line`]: the link, duplication, corruption; without a clock |
//! | which namespaces and addresses do the ends have? | [`network`] |
//! | how does the command reach the networks outside of this machine? | `reach`, `dns` |
//! | how does it reach them without privileges? | `gateway` |
//! | which links does a command with several of them have? | [`several`] |
//! | when are packets read and written, and when does a run end? | [`run`] |
//! | how do settings change during a run? | [`settings::Schedule`], [`changes`], [`control`] |
//! | what are the results? | [`report`], [`series`], [`trace`] |
//!
//! With offload, large segments are split on input and joined on output, so [`mod@line`] sees
//! packets as on a wire.
//!
//! ```no_run
//! use emulator::{Emulation, Job, Settings};
//!
//! let settings = Settings::from_json(r#"{"both": {"delay": "20ms", "rate": "10mbit"}}"#)?;
//! let emulation = Emulation::new(&settings, false)?;
//! let outside = emulation.ends().outside.to_string();
//! let command = ["ping", "-c1", &outside].map(str::to_owned).to_vec();
//! let report = emulation.run(&Job { command, ..Job::default() })?;
//! println!("{}", report.to_json());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod attached;
mod chance;
pub mod changes;
pub mod control;
mod convert;
mod dns;
mod gateway;
mod histogram;
pub mod line;
mod masks;
pub mod network;
mod offload;
mod packet;
mod program;
mod pump;
mod reach;
pub mod report;
pub mod run;
pub mod series;
pub mod settings;
pub mod several;
pub mod trace;

pub use attached::Target;
pub use control::Control;
pub use network::Ends;
pub use report::Report;
pub use run::{Emulation, EmulationError, Job};
pub use settings::{Schedule, Settings, SettingsError, Template, Templates};
pub use several::Several;
pub use trace::{Capture, VantagePoint};
