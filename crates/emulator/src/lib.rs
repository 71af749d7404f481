//! Links in real time: a command runs in a network namespace whose only way out leads through two
//! [`link::Link`]s, one each way, driven here by a clock and two TUN devices.
//!
//! | decision | module |
//! | --- | --- |
//! | what does each direction do? | [`settings`]: quantities as people write them, each error naming its option |
//! | what becomes of a packet? | [`mod@line`]: the link, then duplication, corruption and reordering; without a clock |
//! | where are the two ends, and who has which address? | [`network`] |
//! | what is cut on the way in, and joined on the way out? | [`mod@line`] sees neither: packets as a wire carries them |
//! | when is what read, written, waited for, ended? | [`run`] |
//! | what happened? | [`report`], [`trace`] |
//!
//! ```no_run
//! use emulator::{Emulation, Job, Settings};
//!
//! let settings = Settings::from_json(r#"{"both": {"delay": "20ms", "rate": "10mbit"}}"#)?;
//! let emulation = Emulation::new(&settings, false)?;
//! let command = ["ping", "-c1", &emulation.ends().outside.to_string()].map(str::to_owned).to_vec();
//! let report = emulation.run(&Job { command, ..Job::default() })?;
//! println!("{}", report.to_json());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chance;
mod histogram;
pub mod line;
pub mod network;
mod offload;
mod packet;
mod program;
mod pump;
pub mod report;
pub mod run;
pub mod settings;
pub mod trace;

pub use network::Ends;
pub use report::Report;
pub use run::{Emulation, EmulationError, Job};
pub use settings::{Settings, SettingsError};
pub use trace::{Capture, VantagePoint};
