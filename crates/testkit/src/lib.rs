//! Test helpers: one connection against a transcript, two against each other.
//!
//! | module | contents |
//! | --- | --- |
//! | [`script`] | transcripts: exact behaviour, one line per event |
//! | [`pair`] | two endpoints in virtual time, with goals and a time limit |
//! | [`generate`] | random settings of all of these |
//! | [`hostile`] | one connection against arbitrary input |
//! | [`path`] | paths between endpoints: delay, loss, duplication, reordering |
//! | [`notation`] | segments as text |
//! | [`random`] | random numbers from a seed |
//! | [`fuzz`] | entry points of the fuzzers |

pub mod fuzz;
pub mod generate;
pub mod hostile;
pub mod notation;
pub mod pair;
pub mod path;
pub mod random;
pub mod script;
