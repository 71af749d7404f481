//! Plays scripts: `cargo run -p drill --example drill -- FILE.pkt…`. Prints a verdict for each.

#![expect(clippy::print_stdout, reason = "a program that prints verdicts")]

use drill::profile::Profile;
use drill::{Options, run};

fn main() {
    let mut passed = 0;
    let files: Vec<String> = std::env::args().skip(1).collect();
    for file in &files {
        let Ok(text) = std::fs::read_to_string(file) else {
            println!("{file}: cannot be read");
            continue;
        };
        let report = run(file, &text, &Options::of(Profile::Linux618));
        passed += u32::from(report.verdict == drill::Verdict::Passed);
        println!("{file}: {:?}", report.verdict);
        if report.verdict != drill::Verdict::Passed {
            println!("{report:#?}");
        }
        for text in &report.printed {
            println!("    {text}");
        }
        for note in &report.notes {
            println!("    {note:?}");
        }
    }
    println!("{passed} of {} pass", files.len());
}
