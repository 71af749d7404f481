//! Captures: files of packets that Wireshark and its relatives read.
//!
//! [`pcapng`] writes them as the packets come, with nanoseconds, several places of capture,
//! comments and names. Reading is not here yet.

pub mod pcapng;
