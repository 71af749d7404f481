//! Holds the workspace against the crate table of `ARCHITECTURE.md`: the same crates on both sides,
//! no arrow that the table does not list, and every arrow from a higher level to a lower one.
//!
//! What cargo would build is asked of cargo itself, so a dependency renamed, optional or bound to
//! one target is seen too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The header of the one table that this test reads.
const HEADER: [&str; 4] = ["crate", "level", "may depend on", "what"];

/// The level of a crate that only tests may use: above all others, and nothing may be above it.
const DEV: &str = "dev";

/// What stands in a cell that lists nothing.
const NOTHING: &str = "—";

/// Crates from outside that the crates without a clock or a random generator (levels L0 to L2) may
/// build with. A short list, because a longer one is how a clock gets in.
const OUTSIDE_CRATES_OF_THE_CORE: [&str; 1] = ["thiserror"];

/// The crate of these levels that is all system calls. None of the others can build on it: it is on
/// the highest of them.
const SYSTEM: &str = "tun";

/// A row of the table.
struct Row {
    level: String,
    may_depend_on: BTreeSet<String>,
}

/// A dependency as a manifest states it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    inside: bool,
    only_for_tests: bool,
}

type Table = BTreeMap<String, Row>;
type Workspace = BTreeMap<String, BTreeSet<Dependency>>;

#[test]
fn the_table_lists_the_crates_of_the_workspace() {
    let (table, workspace) = (table(), workspace());
    let listed: BTreeSet<_> = table.keys().collect();
    let built: BTreeSet<_> = workspace.keys().collect();
    let not_listed: Vec<_> = built.difference(&listed).collect();
    let not_built: Vec<_> = listed.difference(&built).collect();
    assert!(
        not_listed.is_empty() && not_built.is_empty(),
        "ARCHITECTURE.md and the workspace disagree: not in the table {not_listed:?}, not in the workspace {not_built:?}"
    );
}

#[test]
fn crates_depend_only_as_the_table_says() {
    let table = table();
    let mut arrows = 0;
    let mut wrong = Vec::new();
    for (name, dependencies) in workspace() {
        let row = table
            .get(&name)
            .unwrap_or_else(|| panic!("`{name}` is not in the table of ARCHITECTURE.md"));
        for dependency in dependencies.iter().filter(|dependency| dependency.inside) {
            arrows += 1;
            let for_tests =
                dependency.only_for_tests && table.get(&dependency.name).is_some_and(Row::is_dev);
            if !row.may_depend_on.contains(&dependency.name) && !for_tests {
                wrong.push(format!("{name} → {}", dependency.name));
            }
        }
    }
    assert!(arrows > 0, "found no arrow at all: this test checked nothing");
    assert!(wrong.is_empty(), "arrows that ARCHITECTURE.md does not list: {}", wrong.join(", "));
}

#[test]
fn the_table_points_downwards() {
    let table = table();
    let mut arrows = 0;
    for (name, row) in &table {
        for below in &row.may_depend_on {
            arrows += 1;
            let target = table
                .get(below)
                .unwrap_or_else(|| panic!("`{name}` may depend on `{below}`, which has no row"));
            assert!(
                target.height() < row.height(),
                "`{name}` ({}) → `{below}` ({})",
                row.level,
                target.level
            );
        }
    }
    assert!(arrows > 0, "the table lists no arrow: this test checked nothing");
}

#[test]
fn the_core_builds_with_few_crates_from_outside() {
    let table = table();
    let mut checked = 0;
    for (name, dependencies) in workspace() {
        if name == SYSTEM || !table.get(&name).is_some_and(Row::is_core) {
            continue;
        }
        checked += 1;
        for dependency in dependencies.iter().filter(|d| !d.inside && !d.only_for_tests) {
            assert!(
                OUTSIDE_CRATES_OF_THE_CORE.contains(&dependency.name.as_str()),
                "`{name}` depends on `{}`; the core takes {OUTSIDE_CRATES_OF_THE_CORE:?} only",
                dependency.name
            );
        }
    }
    assert!(checked > 0, "found no crate of levels L0 to L2: this test checked nothing");
}

impl Row {
    fn is_dev(&self) -> bool {
        self.level == DEV
    }

    fn is_core(&self) -> bool {
        self.height() <= 2
    }

    /// `L2` is 2.
    fn height(&self) -> u32 {
        if self.is_dev() {
            return u32::MAX;
        }
        let digits = self.level.strip_prefix('L').and_then(|digits| digits.parse().ok());
        digits.unwrap_or_else(|| panic!("`{}` is not a level such as `L2` or `{DEV}`", self.level))
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn table() -> Table {
    let text =
        std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("reading ARCHITECTURE.md");
    let table = parse_table(&text);
    assert!(!table.is_empty(), "ARCHITECTURE.md has no table `| {} |`", HEADER.join(" | "));
    table
}

/// The rows below the header line, up to the first line that is not a row.
fn parse_table(text: &str) -> Table {
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows = text.lines().skip_while(|line| cells(line) != HEADER).skip(2);
    rows.take_while(|line| line.trim_start().starts_with('|'))
        .map(|line| match cells(line).as_slice() {
            [name, level, below, _] => {
                (bare(name), Row { level: level.clone(), may_depend_on: names(below) })
            }
            other => panic!("a row of {} cells in ARCHITECTURE.md: {line}", other.len()),
        })
        .collect()
}

fn names(cell: &str) -> BTreeSet<String> {
    cell.split([' ', ',']).filter(|word| !word.is_empty() && *word != NOTHING).map(bare).collect()
}

fn bare(word: &str) -> String {
    word.trim_matches('`').to_owned()
}

fn workspace() -> Workspace {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("running cargo metadata");
    assert!(output.status.success(), "cargo metadata: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("reading cargo metadata");
    let packages = list(&metadata, "packages");
    assert!(!packages.is_empty(), "cargo metadata names no crate: this test checked nothing");
    packages.iter().map(|package| (text(package, "name"), dependencies(package))).collect()
}

fn dependencies(package: &Value) -> BTreeSet<Dependency> {
    list(package, "dependencies")
        .iter()
        .map(|dependency| Dependency {
            name: text(dependency, "name"),
            inside: dependency["path"].is_string(),
            only_for_tests: dependency["kind"] == "dev",
        })
        .collect()
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().unwrap_or_else(|| panic!("cargo metadata: `{key}` is not a list"))
}

fn text(value: &Value, key: &str) -> String {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("cargo metadata: `{key}` is not a text"))
        .to_owned()
}
