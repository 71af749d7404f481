//! Plays every transcript under `scripts/`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use testkit::script::Script;

/// Folder of the transcripts in the workspace.
const HOME: &str = "scripts";

#[test]
fn all_transcripts_pass() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let files = scripts_under(&root.join(HOME));
    // Each behaviour has a folder, and none is empty: a check without cases must fail.
    let mut played: BTreeMap<String, u32> = BTreeMap::new();
    let mut problems = Vec::new();
    for file in &files {
        let name = file.strip_prefix(&root).unwrap_or(file).display().to_string();
        let behaviour =
            file.parent().and_then(Path::file_name).unwrap_or_default().display().to_string();
        let text = std::fs::read_to_string(file).unwrap();
        if !text.starts_with("# ") {
            problems.push(format!("{name}:1: doesn't open with a comment that says what it shows"));
        }
        match Script::parse(&name, &text).and_then(|script| script.play()) {
            Ok(times) => *played.entry(behaviour).or_default() += times,
            Err(error) => problems.push(error.to_string()),
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {} transcripts:\n{}",
        problems.len(),
        files.len(),
        problems.join("\n")
    );
    assert!(!files.is_empty(), "no transcript in {HOME}");
    println!("{} transcripts, played by behaviour: {played:?}", files.len());
}

fn scripts_under(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder of transcripts") {
            let path = entry.expect("an entry of that folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == "script") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}
