//! `tcpsf link` without Python, for tests and measurements:
//!
//! ```text
//! link SETTINGS.json-text [--outside PROGRAM] [--pcap FILE] [--pcap-at PLACE] -- COMMAND…
//! ```
//!
//! The command's output comes first; the report is the last line. `PROGRAM` is split at spaces.
#![expect(clippy::print_stdout, reason = "an example")]

use std::process::ExitCode;

use emulator::{Capture, Emulation, EmulationError, Job, Settings};

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(u8::MAX)),
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) =
                error.downcast_ref::<EmulationError>().and_then(EmulationError::hint)
            {
                eprintln!("hint: {hint}");
            }
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<i32, Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let settings = Settings::from_json(&words.next().ok_or("give settings as JSON")?)?;
    let mut job = Job::default();
    let (mut pcap, mut vantage_point) = (None, emulator::VantagePoint::default());
    while let Some(word) = words.next().filter(|word| word != "--") {
        let value = words.next().ok_or("an option without a value")?;
        match word.as_str() {
            "--outside" => job.outside = Some(value.split(' ').map(str::to_owned).collect()),
            "--pcap" => pcap = Some(value),
            "--pcap-at" => vantage_point = value.parse().map_err(|()| "no such vantage point")?,
            _ => return Err("no such option".into()),
        }
    }
    job.command = words.collect();
    job.capture = pcap.map(|path| Capture { path: path.into(), vantage_point, snap_len: 65_535 });
    let emulation = Emulation::new(&settings, job.outside.is_some())?;
    let report = emulation.run(&job)?;
    println!("{}", report.to_json());
    Ok(report.exit_status)
}
