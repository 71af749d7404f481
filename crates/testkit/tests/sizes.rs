//! Checks the lengths of Rust source files and of their functions. A longer file is divided by
//! topic, into modules whose contents one sentence describes; a longer function by its steps.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum number of lines of a file.
const MAX_LINES: usize = 500;

/// Maximum number of lines of a function, from `fn` to the closing brace, with comments.
const MAX_FUNCTION_LINES: usize = 60;

/// Folders that contain Rust sources, relative to the root of the workspace.
const FOLDERS: [&str; 3] = ["benches/peers", "crates", "fuzz"];

/// Name of the folders with build output, whose sources are generated.
const BUILD: &str = "target";

#[test]
fn no_file_is_too_long() {
    let mut too_long = Vec::new();
    for (name, source) in sources() {
        let lines = source.lines().count();
        if lines > MAX_LINES {
            too_long.push(format!("{name}: {lines} lines"));
        }
    }
    assert!(too_long.is_empty(), "files above {MAX_LINES} lines: {too_long:#?}");
}

#[test]
fn no_function_is_too_long() {
    let mut count = 0;
    let mut too_long = Vec::new();
    for (name, source) in sources() {
        for function in functions(&source) {
            count += 1;
            if function.lines > MAX_FUNCTION_LINES {
                too_long.push(format!("{name}: `{}`, {} lines", function.name, function.lines));
            }
        }
    }
    assert!(count > 1000, "found only {count} functions: this test checks nothing");
    assert!(too_long.is_empty(), "functions above {MAX_FUNCTION_LINES} lines: {too_long:#?}");
}

#[test]
fn lengths_of_functions() {
    let source = "\
fn one_line() {}
pub(crate) const fn outer(
    argument: u8,
) -> u8 {
    unsafe fn inner() {
        // A brace in a comment: }
    }
    argument
}
trait Declares {
    fn declared(&self);
    fn provided(
        &self,
    ) {
    }
}
proptest! {
    #[test]
    fn in_a_macro(x in any::<u8>()) {
        check(x);
    }
}
fn generic<T>()
where
    T: Copy,
{
    let not_a_function = \"fn\";
}
";
    let found: Vec<_> =
        functions(source).iter().map(|function| (function.name, function.lines)).collect();
    let expected = [
        ("one_line", 1),
        ("outer", 8),
        ("inner", 3),
        ("declared", 1),
        ("provided", 4),
        ("in_a_macro", 3),
        ("generic", 6),
    ];
    assert_eq!(found, expected);
}

/// A function in a source file.
struct Function<'a> {
    name: &'a str,
    lines: usize,
}

/// Finds the functions of a source that `cargo fmt` has formatted. The function ends at the first
/// closing brace with the indentation of `fn`, or with the `;` of a declaration.
fn functions(source: &str) -> Vec<Function<'_>> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found = Vec::new();
    for (first, line) in lines.iter().enumerate() {
        let Some(name) = declared_name(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let is_at_indent = |line: &str| line.len() - line.trim_start().len() == indent;
        let ends_here =
            |line: &&str| is_at_indent(line) && (line.trim_start() == "}" || line.ends_with(';'));
        let is_one_line = line.ends_with(['}', ';']);
        let rest = if is_one_line { Some(0) } else { lines[first..].iter().position(ends_here) };
        let rest = rest.unwrap_or_else(|| panic!("the end of `{name}` is not found"));
        found.push(Function { name, lines: rest + 1 });
    }
    found
}

/// The name of the function that begins on this line, if one does.
fn declared_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_qualifier = |word: &str| {
        ["", "const", "unsafe", "async", "extern", "\"C\""].contains(&word)
            || word.starts_with("pub")
    };
    let is_declaration = before.split(' ').all(is_qualifier);
    let end = after.find(|letter: char| !letter.is_alphanumeric() && letter != '_')?;
    is_declaration.then(|| &after[..end])
}

/// Reads the Rust sources. Returns their paths and contents.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut paths = Vec::new();
    for folder in FOLDERS {
        collect(&root.join(folder), &mut paths);
    }
    assert!(paths.len() > 100, "found only {} files: this test checks nothing", paths.len());
    let read = |path: PathBuf| {
        let source = fs::read_to_string(&path).expect("a source is readable");
        (path.strip_prefix(&root).unwrap_or(&path).display().to_string(), source)
    };
    paths.into_iter().map(read).collect()
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
