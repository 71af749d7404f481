//! Command line of this crate. Results are JSON on standard output, one per line.
//!
//! ```text
//! interop exchange CASE…                  the host against the kernel's TCP
//! interop one-tcp SENDER SIZE MASK …      a live transfer beside the simulated one
//! interop hostile 4|6 SECONDS RATE [ATTACK]…
//!                                         throughput of a genuine client under attack
//! interop hold 4|6 PAIRS QUIET ATTACKED [HOLDING]…
//!                                         the same with peers that hold connections
//! interop kernel CASE FILE                the kernel's end of an exchange
//! interop fetch SENDER FILE               the client of a transfer
//! ```
//!
//! QUIET and ATTACKED are in seconds. The runs of one command are sequential, because a link needs
//! a process of its own.
#![expect(clippy::print_stdout, reason = "a program")]

use std::env;
use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use interop::Result;
use interop::exchange::{self, Case};
use interop::hostile::{self, Attack, Holding, Plan};
use interop::one_tcp::{Comparison, Transfer};
use serde_json::json;
use wire::ip::Version;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<()> {
    let words: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let program = env::current_exe()?;
    match words[..] {
        ["kernel", case, file] => interop::kernel(&serde_json::from_str(case)?, Path::new(file)),
        ["fetch", sender, file] => interop::fetch(sender, Path::new(file)),
        ["exchange", ref cases @ ..] if !cases.is_empty() => {
            for case in cases {
                println!(
                    "{}",
                    json!(exchange::run(&serde_json::from_str::<Case>(case)?, &program)?)
                );
            }
            Ok(())
        }
        ["one-tcp", ref rest @ ..] if !rest.is_empty() && rest.len() % 3 == 0 => {
            for words in rest.chunks_exact(3) {
                let (sender, size, mask) =
                    (words[0].to_owned(), words[1].parse()?, words[2].to_owned());
                println!("{}", json!(Comparison::of(&Transfer { sender, size, mask }, &program)?));
            }
            Ok(())
        }
        ["hostile", version @ ("4" | "6"), seconds, rate, ref names @ ..] => {
            let version = if version == "4" { Version::V4 } else { Version::V6 };
            let attacks = if names.is_empty() {
                Attack::ALL.to_vec()
            } else {
                names.iter().map(|name| name.parse()).collect::<Result<Vec<_>>>()?
            };
            for attack in attacks {
                println!(
                    "{}",
                    json!(hostile::run(attack, version, seconds.parse()?, rate.parse()?)?)
                );
            }
            Ok(())
        }
        ["hold", version @ ("4" | "6"), pairs, quiet, attacked, ref names @ ..] => {
            let version = if version == "4" { Version::V4 } else { Version::V6 };
            let span = |text: &str| {
                Ok::<_, Box<dyn Error + Send + Sync>>(Duration::try_from_secs_f64(text.parse()?)?)
            };
            let plan =
                Plan { pairs: pairs.parse()?, quiet: span(quiet)?, attacked: span(attacked)? };
            for &holding in Holding::ALL
                .iter()
                .filter(|holding| names.is_empty() || names.contains(&holding.name()))
            {
                println!("{}", json!(hostile::hold(holding, version, plan)?));
            }
            Ok(())
        }
        _ => Err("interop exchange|one-tcp|hostile|hold …".into()),
    }
}
