//! Test helpers: one connection against a transcript, two against each other.
//!
//! | module | holds |
//! | --- | --- |
//! | [`script`] | transcripts: exact behaviour, a line an event |
//! | [`notation`] | segments as text |
//! | [`random`] | what a seed stands for |

pub mod notation;
pub mod random;
pub mod script;
