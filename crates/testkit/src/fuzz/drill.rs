//! Interprets any bytes as a script in the packetdrill language, and plays it.

use drill::profile::Profile;
use drill::{Options, Verdict, run};

/// Plays the script.
///
/// # Panics
/// Panics if the verdict contradicts the rest of the report.
pub fn run_bytes(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for profile in [Profile::Linux618, Profile::Rfc] {
        let report = run("fuzz", &text, &Options { trace: true, ..Options::of(profile) });
        let passed = report.verdict == Verdict::Passed;
        assert_eq!(passed, report.problem.is_none(), "{report:?}");
        assert_eq!(passed, report.line.is_none(), "{report:?}");
        assert!(report.events[0] <= report.events[1], "{report:?}");
    }
}
