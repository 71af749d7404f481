//! Test helpers: one connection against a transcript, two against each other.
//!
//! | module | holds |
//! | --- | --- |
//! | [`script`] | transcripts: exact behaviour, a line an event |
//! | [`pair`] | two endpoints in virtual time, with goals and a bound |
//! | [`generate`] | random settings of all of these |
//! | [`hostile`] | one connection against anything |
//! | [`path`] | what lies between them: delay, loss, duplication, reordering |
//! | [`notation`] | segments as text |
//! | [`random`] | what a seed stands for |
//! | [`fuzz`] | what the fuzzers run |

pub mod fuzz;
pub mod generate;
pub mod hostile;
pub mod notation;
pub mod pair;
pub mod path;
pub mod random;
pub mod script;
