//! Plays every script under `scripts/packetdrill/`, also with changed expectations.

use std::path::{Path, PathBuf};

use drill::profile::{PROFILES, Profile};
use drill::{Options, Verdict, run};

/// Profiles of a script. Those in folders `linux-…` show rules of Linux, on which a kernel has
/// agreed. Those in `linux-6.18` are about rules that Linux 6.12 does not have.
fn profiles(name: &str) -> Vec<Profile> {
    if name.starts_with("linux-6.18/") {
        vec![Profile::Linux618]
    } else if name.starts_with("linux-") {
        vec![Profile::Linux618, Profile::Linux612]
    } else {
        PROFILES.to_vec()
    }
}

/// Name and text of each script.
fn scripts() -> Vec<(String, String)> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/packetdrill");
    let mut found = Vec::new();
    for folder in entries(&home) {
        for file in entries(&folder) {
            let text = std::fs::read_to_string(&file).expect("a readable script");
            let name = file.strip_prefix(&home).expect("a file below").display().to_string();
            found.push((name, text));
        }
    }
    assert!(found.len() > 100, "only {} scripts: this test checks nothing", found.len());
    found
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of scripts");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

#[test]
fn all_scripts_pass_with_their_profiles() {
    let mut problems = Vec::new();
    for (name, text) in scripts() {
        if !text.starts_with("// ") {
            problems
                .push(format!("{name}:1: does not open with a comment that says what it shows"));
        }
        for profile in profiles(&name) {
            let report = run(&name, &text, &Options::of(profile));
            if report.verdict != Verdict::Passed {
                problems.push(format!("{profile}: {report:#?}"));
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Changes one expectation in a line: the sequence number of a packet that leaves, or the result of
/// a call. `None` for other lines.
fn changed(line: &str) -> Option<String> {
    let outbound = line.split_once(" > ").filter(|(time, _)| !time.contains('<'));
    if outbound.is_some() {
        let colon = line.find(':')?;
        let start = line[..colon].rfind(' ')? + 1;
        let (seq, end) = (&line[start..colon], line.find('(')?);
        let bump = |text: &str| text.parse::<u32>().map(|number| number + 1).ok();
        let (first, last) = (bump(seq)?, bump(&line[colon + 1..end])?);
        return Some(format!("{}{first}:{last}{}", &line[..start], &line[end..]));
    }
    let (call, result) = line.rsplit_once(") = ")?;
    let number = result.split(' ').next()?;
    let wrong: i64 = number.parse().ok()?;
    // A call that creates a descriptor returns the one that the script names.
    let creates =
        ["socket", "accept", "epoll_create", "open"].iter().any(|name| call.contains(name));
    (!creates).then(|| format!("{call}) = {}", wrong + 1000))
}

/// Every expectation counts: a script with one that is wrong fails in that line.
#[test]
fn a_changed_expectation_fails() {
    let mut tried = 0;
    for (name, text) in scripts() {
        let lines: Vec<&str> = text.lines().collect();
        let profile = if name.starts_with("linux-") { Profile::Linux618 } else { Profile::Rfc };
        for (index, line) in lines.iter().enumerate() {
            let first_syn =
                line.contains(" > S") && !lines[..index].iter().any(|l| l.contains(" > S"));
            // The first SYN defines the sequence numbers.
            let Some(wrong) = changed(line).filter(|_| !first_syn) else { continue };
            let mut lines = lines.clone();
            lines[index] = &wrong;
            let report = run(&name, &lines.join("\n"), &Options::of(profile));
            assert_eq!(report.verdict, Verdict::Failed, "{name}: `{wrong}`: {report:#?}");
            let line = u32::try_from(index + 1).ok();
            assert_eq!(report.line, line, "{name}: `{wrong}`: {report:#?}");
            tried += 1;
        }
    }
    assert!(tried > 600, "only {tried} changes");
}
