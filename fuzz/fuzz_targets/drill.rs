//! Fuzz target: arbitrary bytes as a script in the packetdrill language.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| testkit::fuzz::drill::run_bytes(bytes));
