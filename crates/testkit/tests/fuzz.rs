//! Replays the initial inputs of the fuzzers, and the inputs that they found, through the same
//! functions.

use std::fs;
use std::path::Path;

/// Each file under `fuzz/seeds/<target>/` is one input.
fn replay(target: &str, run: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    let mut replayed = 0;
    for entry in
        fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
        let path = entry.expect("reading the folder of seeds").path();
        // Visible only if a panic follows.
        eprintln!("{}", path.display());
        run(&fs::read(&path).expect("reading a seed"));
        replayed += 1;
    }
    assert!(replayed > 0, "no seeds under {}: this test checked nothing", folder.display());
}

#[test]
fn connections() {
    replay("connection", testkit::fuzz::connection::run);
}

#[test]
fn captures() {
    replay("capture", testkit::fuzz::capture::run);
}

#[test]
fn scripts() {
    replay("drill", testkit::fuzz::drill::run_bytes);
}

#[test]
fn packets() {
    replay("ip", testkit::fuzz::ip::run);
}

#[test]
fn traces() {
    replay("traces", testkit::fuzz::traces::run);
}
