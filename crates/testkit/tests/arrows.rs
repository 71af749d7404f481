//! Compares the workspace with the crate table of `ARCHITECTURE.md`. Both have the same crates.
//! Every dependency is in the table, and leads from a higher level to a lower one.
//!
//! The dependencies are those that cargo reports, so renamed, optional and target-specific ones are
//! included.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Header of the table.
const HEADER: [&str; 4] = ["crate", "level", "may depend on", "what"];

/// Level of a crate that only tests may use. It is above all others.
const DEV: &str = "dev";

/// Content of an empty cell.
const NOTHING: &str = "—";

/// External crates that the crates without a clock or a random generator (levels L0 to L2) may
/// build with. The list is short, to keep clocks out. `enum_dispatch` is a procedural macro without
/// run-time code.
const OUTSIDE_CRATES_OF_THE_CORE: [&str; 2] = ["enum_dispatch", "thiserror"];

/// Crate of these levels that consists of system calls. It has the highest of these levels, so none
/// of the others can depend on it.
const SYSTEM: &str = "tun";

/// A row of the table.
struct Row {
    level: String,
    may_depend_on: BTreeSet<String>,
}

/// A dependency in a manifest.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    inside: bool,
    only_for_tests: bool,
}

type Table = BTreeMap<String, Row>;
type Workspace = BTreeMap<String, BTreeSet<Dependency>>;

#[test]
fn table_lists_the_crates_of_the_workspace() {
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
fn dependencies_are_in_the_table() {
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
fn dependencies_lead_to_lower_levels() {
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
fn core_has_few_external_dependencies() {
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

    /// Level as a number: `L2` is 2.
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

/// Parses the rows below the header line, up to the first line that is not a row.
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
