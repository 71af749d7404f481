//! Capture files, as read by Wireshark and similar tools.
//!
//! [`pcapng`] writes packets one by one, with nanosecond timestamps, several interfaces, comments
//! and names. This crate does not read captures.
//!
//! The example `write` shows a file with one packet: `cargo run -p capture --example write`.

pub mod pcapng;
