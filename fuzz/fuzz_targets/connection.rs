//! Any bytes as what happens to a connection.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| testkit::fuzz::connection::run(bytes));
