//! What the fuzzers under `fuzz/` run: a function a target, of any bytes, that panics when
//! something is wrong. Tests replay the seeds of each target through the same function.

pub mod connection;
pub mod ip;
