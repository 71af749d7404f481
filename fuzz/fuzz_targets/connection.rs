//! Fuzz target: arbitrary bytes as the inputs of a connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| testkit::fuzz::connection::run(bytes));
