//! Checks the lengths of Rust source files. A longer file is divided by topic, into modules whose
//! contents one sentence describes.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of lines of a file.
const MAX_LINES: usize = 500;

/// Folders that contain Rust sources, relative to the root of the workspace.
const FOLDERS: [&str; 3] = ["benches/peers", "crates", "fuzz"];

/// Name of the folders with build output, whose sources are generated.
const BUILD: &str = "target";

#[test]
fn no_file_is_too_long() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut sources = Vec::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut sources);
    }
    let mut too_long = Vec::new();
    for path in &sources {
        let source = fs::read_to_string(path).expect("a source is readable");
        let lines = source.lines().count();
        if lines > MAX_LINES {
            let name = path.strip_prefix(&root).unwrap_or(path).display();
            too_long.push(format!("{name}: {lines} lines"));
        }
    }
    assert!(sources.len() > 100, "found only {} files: this test checks nothing", sources.len());
    assert!(too_long.is_empty(), "files above {MAX_LINES} lines: {too_long:#?}");
}

/// Collects the Rust files below a folder.
fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder is readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            if !path.ends_with(BUILD) {
                collect(&path, sources);
            }
        } else if path.extension().is_some_and(|end| end == "rs") {
            sources.push(path);
        }
    }
}
