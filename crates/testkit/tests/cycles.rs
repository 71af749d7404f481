//! Checks that the modules of a crate do not import each other in a cycle.
//!
//! The unit is a module at the top of the crate with everything below it. A child may use its
//! parent: it is a part of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The imports of each top-level module.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_crate_has_an_import_cycle() {
    let mut cycles = Vec::new();
    let mut imports = 0;
    for folder in crates() {
        let graph = graph(&folder.join("src"));
        imports += graph.values().map(BTreeSet::len).sum::<usize>();
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        cycles.extend(cycle(&graph).map(|cycle| format!("{name}: {}", cycle.join(" → "))));
    }
    assert!(imports > 100, "found only {imports} imports: this test checks nothing");
    assert!(cycles.is_empty(), "import cycles: {cycles:#?}");
}

#[test]
fn imports_are_found() {
    let source = "use crate::a::{B, C};\n/// Like [`crate::d`].\npub use crate::{e, f::G};\n\
                  fn x() -> crate::h::I { crate::j() }\nuse super::k;\n\
                  #[cfg(test)]\nmod tests { use crate::l; }\n";
    let found: Vec<_> = imports(source).into_iter().collect();
    assert_eq!(found, ["a", "e", "f", "h", "j"]);
}

#[test]
fn a_cycle_is_found() {
    let graph = |edges: &[(&str, &str)]| {
        edges.iter().fold(Graph::new(), |mut graph, (from, to)| {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
            graph
        })
    };
    assert_eq!(cycle(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])), None);
    let found = cycle(&graph(&[("a", "b"), ("b", "c"), ("c", "b")])).expect("a cycle");
    assert_eq!(found, ["b", "c", "b"]);
}

/// The folders of the workspace's crates.
fn crates() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
    let entries = fs::read_dir(folder).expect("the folder of the crates is readable");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.filter(|path| path.join("src").is_dir()).collect()
}

/// The imports between the top-level modules below `src`, without tests.
fn graph(src: &Path) -> Graph {
    let mut sources = Vec::new();
    collect(src, &mut sources);
    let top = |path: &Path| {
        let first = path.strip_prefix(src).expect("below src").components().next();
        let name = first.expect("a file").as_os_str().to_string_lossy().into_owned();
        name.strip_suffix(".rs").unwrap_or(&name).to_owned()
    };
    let modules: BTreeSet<String> = sources.iter().map(|path| top(path)).collect();
    let mut graph = Graph::new();
    for path in &sources {
        let name = top(path);
        let source = fs::read_to_string(path).expect("a source is readable");
        let used = imports(&source);
        let others = used.intersection(&modules).filter(|other| **other != name).cloned();
        graph.entry(name.clone()).or_default().extend(others);
    }
    graph.retain(|name, _| !matches!(name.as_str(), "lib" | "main" | "bin"));
    graph
}

/// Collects the Rust files below a folder, without the modules of tests.
fn collect(folder: &Path, sources: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a source folder is readable") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(&path, sources);
        } else if path.extension().is_some_and(|end| end == "rs") && !path.ends_with("tests.rs") {
            sources.push(path);
        }
    }
}

/// The modules that follow `crate::` in a source, also those in the braces of an import.
fn imports(source: &str) -> BTreeSet<String> {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let code: String = lines.flat_map(|line| [line, "\n"]).collect();
    let mut found = BTreeSet::new();
    for after in code.split("crate::").skip(1) {
        match after.strip_prefix('{') {
            Some(list) => found.extend(in_braces(list)),
            None => found.extend(identifier(after)),
        }
    }
    found
}

/// The first identifiers of the items of an import's list, up to its closing brace.
fn in_braces(list: &str) -> BTreeSet<String> {
    let (mut depth, mut start, mut found) = (0u32, 0, BTreeSet::new());
    for (at, character) in list.char_indices() {
        match character {
            '{' => depth += 1,
            '}' if depth == 0 => {
                found.extend(identifier(&list[start..at]));
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                found.extend(identifier(&list[start..at]));
                start = at + 1;
            }
            _ => {}
        }
    }
    found
}

fn identifier(text: &str) -> Option<String> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let name: String = text.trim_start().chars().take_while(|c| is_part(*c)).collect();
    (!name.is_empty()).then_some(name)
}

/// A cycle of the graph, from a module back to itself.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph.keys().find_map(|name| search(name, graph, &mut Vec::new(), &mut done))
}

/// Follows the imports of a module in depth. `path` leads to it, and `done` has no cycle.
fn search(
    name: &str,
    graph: &Graph,
    path: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(first) = path.iter().position(|earlier| earlier == name) {
        return Some(path[first..].iter().cloned().chain([name.to_owned()]).collect());
    }
    if !done.contains(name) {
        path.push(name.to_owned());
        let found = graph.get(name)?.iter().find_map(|next| search(next, graph, path, done));
        path.pop();
        if found.is_some() {
            return found;
        }
        done.insert(name.to_owned());
    }
    None
}
