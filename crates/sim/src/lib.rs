//! A simulated run: the scenario as written, the plan it resolves to, the event loop, and result
//! tables.
//!
//! A [`Scenario`] is data. [`Plan::new`] checks it and resolves names to indexes, profiles to
//! settings and loads to rates; code that uses a [`Plan`] need not check again. Randomness comes
//! from named streams ([`Seed::stream`]). Results go into columnar tables ([`tables`]).
//!
//! | modules | content |
//! | --- | --- |
//! | [`scenario`], `plan`, `routes` | the scenario as written, and the plan that it resolves to |
//! | `workload`, `sizes`, `streams` | starts and sizes of flows; random numbers |
//! | `simulation` | the event loop, the stages of a run, samples |
//! | `shared` | the state that all flows share, and the operations on a flow that use it |
//! | `flows` | flows and their table, their layout in memory, prefetching |
//! | [`CustomModels`] | loss models, disciplines and controllers that the caller implements |
//! | `network`, `timers` | the next events: packets on links, and timers |
//! | `lookahead` | receivers that act ahead of time, without events |
//! | `recorder`, [`tables`], [`pcap`] | results: rows, their columns, and captures |
//! | [`watched`] | one flow step by step: its packets, and its sender after every event |
//!
//! Floating point appears in this crate (sizes, arrivals, results) and nowhere below it. Only the
//! basic operations, which IEEE 754 defines to the last bit, and `libm`'s portable functions are
//! used. The same scenario and seed therefore give the same bytes on any machine.

mod convert;
mod custom;
mod flows;
mod lookahead;
mod network;
pub mod pcap;
mod plan;
mod recorder;
mod routes;
pub mod scenario;
mod shared;
mod simulation;
mod sizes;
mod streams;
pub mod tables;
mod timers;
pub mod watched;
mod workload;

pub use custom::{CustomModels, PacketName, PacketNames};
pub use plan::{Choice, Demand, Plan, PlannedLink, PlannedSamples, PlannedWorkload};
pub use scenario::{Scenario, ScenarioError};
pub use simulation::{Simulation, Status};
pub use sizes::{SizeError, SizeSampler};
pub use streams::{LinkDraws, Seed, Stream, flow_identity};
pub use workload::{FlowStart, Starts};
