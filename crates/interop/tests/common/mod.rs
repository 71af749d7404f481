//! Runs this crate's binary for tests, because a link needs a process of its own.

use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// Starts a run.
pub(crate) fn start(words: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interop"));
    command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the program of this crate")
}

/// Waits for a run and parses its results.
pub(crate) fn results(run: Child) -> Vec<Value> {
    let output = run.wait_with_output().expect("a program that was started");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "this needs root and /dev/net/tun: {errors}");
    let text = String::from_utf8_lossy(&output.stdout);
    let found: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(!found.is_empty(), "no result: {errors}");
    found
}
