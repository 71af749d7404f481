//! Entry points of the fuzzers under `fuzz/`, one function per target. Each accepts any bytes and
//! panics on an error. Tests replay the seeds of each target through the same function.

pub mod capture;
pub mod connection;
pub mod drill;
pub mod ip;
pub mod traces;
