//! Fuzz target: arbitrary bytes as an IP packet.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| testkit::fuzz::ip::run(bytes));
