//! Fuzz target: arbitrary bytes as a text file of a link.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| testkit::fuzz::traces::run(bytes));
