//! Helpers of the tests: network namespaces, the example programs, and their results.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tun::NetNamespace;

/// The first address that a link uses in a new network namespace.
pub(crate) const OUTSIDE: &str = "100.64.0.1";
pub(crate) const OUTSIDE_6: &str = "fd74:6370:7366::6440:1";
pub(crate) const PORT: &str = "7008";

/// Runs `work` in a network namespace of its own.
pub(crate) fn in_a_network<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let namespace = NetNamespace::new()
        .expect("these tests need root, with the right to make network namespaces");
    namespace.run(work).unwrap()
}

/// An example of this crate, which `cargo test` builds beside the tests.
pub(crate) fn example(name: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples").join(name);
    assert!(path.exists(), "{} is not there: `cargo build -p emulator --examples`", path.display());
    path
}

/// A file name of this process in the temporary folder.
pub(crate) fn scratch(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("tcpsf-emulator-{}-{name}", std::process::id()))
}

/// The command line of the example `traffic`.
pub(crate) fn traffic(arguments: &[&str]) -> Vec<String> {
    let mut words = vec![example("traffic").display().to_string()];
    words.extend(arguments.iter().map(|&word| word.to_owned()));
    words
}

/// The example `link`, in the calling thread's network namespace.
pub(crate) fn link<S: AsRef<str>>(settings: &str, words: &[S], options: &[&str]) -> Command {
    let mut command = Command::new(example("link"));
    command.arg(settings).args(options).arg("--").args(words.iter().map(AsRef::as_ref));
    command.stdin(Stdio::null());
    command
}

/// The result of a command behind a link.
pub(crate) struct Run {
    settings: String,
    words: Vec<String>,
    options: Vec<String>,
    pub(crate) status: i32,
    /// The command's standard output, with the report as the last line.
    pub(crate) output: String,
    pub(crate) errors: String,
    pub(crate) report: Value,
}

impl Run {
    pub(crate) fn of<S: AsRef<str>>(settings: &str, words: &[S]) -> Self {
        let words = words.iter().map(|word| word.as_ref().to_owned()).collect();
        let (output, errors) = (String::new(), String::new());
        Self {
            settings: settings.to_owned(),
            words,
            options: vec![],
            status: -1,
            output,
            errors,
            report: Value::Null,
        }
    }

    pub(crate) fn with(mut self, options: &[&str]) -> Self {
        self.options.extend(options.iter().map(|&word| word.to_owned()));
        self
    }

    /// Runs with the example `traffic` as the server at the other end.
    pub(crate) fn served(self) -> Self {
        let serve = traffic(&["serve", PORT]).join(" ");
        self.with(&["--outside", &serve]).alone()
    }

    pub(crate) fn alone(mut self) -> Self {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        let output = in_a_network(|| link(&self.settings, &self.words, &options).output().unwrap());
        self.status = output.status.code().unwrap_or(-1);
        self.output = String::from_utf8(output.stdout).unwrap();
        self.errors = String::from_utf8(output.stderr).unwrap();
        self.report = self
            .output
            .lines()
            .last()
            .and_then(|line| serde_json::from_str(line).ok())
            .unwrap_or_default();
        self
    }

    pub(crate) fn count(&self, way: &str, column: &str) -> u64 {
        self.report[way][column]
            .as_u64()
            .unwrap_or_else(|| panic!("no {way} {column} in {}", self.report))
    }

    pub(crate) fn number(&self, way: &str, column: &str) -> f64 {
        self.report[way][column]
            .as_f64()
            .unwrap_or_else(|| panic!("no {way} {column} in {}", self.report))
    }

    /// Asserts that offered = delivered + dropped + held, in packets and in bytes.
    pub(crate) fn assert_balanced(&self, way: &str) {
        for unit in ["packets", "bytes"] {
            let count = |what: &str| self.count(way, &format!("{what}_{unit}"));
            let out =
                ["delivered", "dropped_buffer", "dropped_early", "dropped_loss", "held"].map(count);
            assert!(count("offered") > 0);
            assert_eq!(count("offered"), out.iter().sum::<u64>(), "{way} {unit}: {}", self.report);
        }
    }
}

/// A packet of a capture.
pub(crate) struct Captured {
    pub(crate) outbound: bool,
    pub(crate) data: bool,
    pub(crate) len: usize,
    /// The checksums of IP and, in a TCP segment, of TCP are valid.
    pub(crate) checksums_are_good: bool,
    comments: Vec<String>,
}

impl Captured {
    pub(crate) fn says(&self, text: &str) -> bool {
        self.comments.iter().any(|comment| comment == text)
    }
}

/// The enhanced packet blocks of a pcapng file, in order; other blocks are skipped.
pub(crate) fn captured(file: &Path) -> Vec<Captured> {
    let bytes = std::fs::read(file).unwrap();
    let number = |at: usize| {
        usize::try_from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())).unwrap()
    };
    let half = |at: usize| u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap());
    let (mut at, mut found) = (0, Vec::new());
    while at < bytes.len() {
        let (kind, len) = (number(at), number(at + 4));
        if kind == 6 {
            let kept = number(at + 20);
            let packet = wire::ip::View::new(&bytes[at + 28..at + 28 + kept]).unwrap();
            let segment = wire::tcp::View::new(packet.payload())
                .ok()
                .filter(|_| packet.protocol() == wire::ip::TCP);
            let data = segment.is_some_and(|segment| !segment.payload().is_empty());
            let checksums_are_good = packet.checksum_is_good()
                && segment.is_none_or(|segment| segment.checksum_is_good(packet.pseudo_header()));
            let mut one =
                Captured { outbound: false, data, len: kept, checksums_are_good, comments: vec![] };
            let mut option = at + 28 + kept.next_multiple_of(4);
            while option < at + len - 4 && half(option) != 0 {
                let value = &bytes[option + 4..option + 4 + usize::from(half(option + 2))];
                match half(option) {
                    1 => one.comments.push(String::from_utf8(value.to_vec()).unwrap()),
                    2 => one.outbound = value[0] & 3 == 2,
                    _ => {}
                }
                option += 4 + value.len().next_multiple_of(4);
            }
            found.push(one);
        }
        at += len;
    }
    assert!(!found.is_empty(), "an empty capture");
    found
}

pub(crate) fn first_line(output: &mut impl Read) -> String {
    let mut line = String::new();
    BufReader::with_capacity(1, output).read_line(&mut line).unwrap();
    line.trim().to_owned()
}

pub(crate) fn wait_for_line(output: &mut impl Read, wanted: &str) {
    assert_eq!(first_line(output), wanted);
}

/// Returns true if a process exists and is no zombie. Orphaned zombies may remain for a long time.
pub(crate) fn is_alive(process: &Path) -> bool {
    let Ok(stat) = std::fs::read_to_string(process.join("stat")) else { return false };
    !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}
