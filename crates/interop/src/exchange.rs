//! Exchanges between the host and the kernel's TCP through an emulated link. Every byte of every
//! connection is compared at both ends.
//!
//! The host is on a TUN device beside the outer end of the link, and the kernel of that namespace
//! forwards its packets. The kernel's TCP under test is in the namespace behind the link.

use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use emulator::report::LineReport;
use emulator::{Emulation, Ends, Job, Settings};
use host::{Counters, Driver, Senders, StackConfig};
use policy::rtt::RtoConfig;
use serde::Serialize;
use tun::NetNamespace;
use units::Duration;

use crate::Result;
pub use crate::case::{Case, Role};
use crate::case::{OURS, OURS_6, PORT};
use crate::kernel::Done;
use crate::ours::{Ours, Tally};
pub use crate::request::Sizes;

/// Maximum time for the host's connections to end after the kernel's have. The kernel may still
/// have FINs to send, with a retransmission timeout that has doubled several times.
const FINISH_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(5);

/// Result of a case.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Connections as seen by the host.
    pub ours: Tally,
    /// Connections as seen by the kernel's end.
    pub kernel: Tally,
    /// Connections of the host that had not ended.
    pub open: usize,
    /// Duration in seconds.
    pub seconds: f64,
    /// Statistics of the link towards the host.
    pub up: LineReport,
    /// Statistics of the link towards the kernel's end.
    pub down: LineReport,
    /// Fast retransmissions of the host.
    pub fast_retransmits: u64,
    /// Retransmission timeouts of the host.
    pub timeouts: u64,
    /// Fast retransmissions of the kernel.
    pub kernel_fast_retransmits: u64,
    /// Retransmission timeouts of the kernel.
    pub kernel_timeouts: u64,
    /// Damaged packets received by the host.
    pub damaged: u64,
    /// Connections that the host established from a SYN cookie.
    pub cookies: u64,
}

impl Outcome {
    /// The smaller number of correct connections of the two ends.
    pub fn good(&self) -> u64 {
        self.ours.good.min(self.kernel.good)
    }
}

/// Runs a case. `program` is the binary of this crate, which runs the kernel's end.
///
/// # Errors
/// If the case is invalid, or the system refuses.
pub fn run(case: &Case, program: &Path) -> Result<Outcome> {
    NetNamespace::new()?.run(|| run_in_namespace(case, program))?
}

/// A folder with files by which the two processes communicate. It is removed when the value is
/// dropped.
struct SharedFiles(PathBuf);

impl SharedFiles {
    fn new() -> Result<Self> {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("tcpsf-interop-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        Ok(Self(path))
    }

    fn out(&self) -> PathBuf {
        self.0.join("kernel.json")
    }
}

impl Drop for SharedFiles {
    fn drop(&mut self) {
        // An error is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn run_in_namespace(case: &Case, program: &Path) -> Result<Outcome> {
    let files = SharedFiles::new()?;
    NetNamespace::allow_forwarding()?;
    let (tun, addresses) = host::attach(&[OURS, OURS_6], 1500, case.offload)?;
    let text = if case.link.is_null() { "{}".to_owned() } else { case.link.to_string() };
    let settings = Settings::from_json(&text).map_err(|e| e.to_string())?;
    let emulation = Emulation::new(&settings, false)?;
    let config = config(case, addresses)?;
    let over = AtomicBool::new(false);
    let begin = Instant::now();
    let (report, driver) = std::thread::scope(|scope| -> Result<_> {
        let (over, ends, out) = (&over, emulation.ends().clone(), files.out());
        let ours = scope.spawn(move || drive(case, config, tun, &ends, &out, over));
        let command = [
            program.as_os_str(),
            "kernel".as_ref(),
            case_text(case)?.as_ref(),
            files.out().as_os_str(),
        ]
        .map(|word| word.to_string_lossy().into_owned());
        let job = Job { command: command.to_vec(), ..Job::default() };
        let report = emulation.run(&job);
        over.store(true, Ordering::Relaxed);
        let driver = ours.join().map_err(|_| "our end panicked")??;
        Ok((report?, driver))
    })?;
    if report.exit_status != 0 {
        return Err(format!("the kernel's end failed with status {}", report.exit_status).into());
    }
    let &Counters { fast_retransmits, timeouts, damaged, cookies_taken: cookies, .. } =
        driver.stack().counters();
    let kernel: Done = serde_json::from_str(&fs::read_to_string(files.out())?)?;
    Ok(Outcome {
        ours: driver.service().tally().clone(),
        kernel: kernel.tally,
        open: driver.service().open(),
        seconds: begin.elapsed().as_secs_f64(),
        up: report.up,
        down: report.down,
        fast_retransmits,
        timeouts,
        kernel_fast_retransmits: kernel.fast_retransmits,
        kernel_timeouts: kernel.timeouts,
        damaged,
        cookies,
    })
}

fn case_text(case: &Case) -> Result<String> {
    Ok(serde_json::to_string(case)?)
}

fn config(case: &Case, addresses: Vec<IpAddr>) -> Result<StackConfig> {
    let mut config = StackConfig::new(addresses);
    config.senders = Senders::one(case.sender.parse()?);
    for option in &case.without {
        match &option[..] {
            "sack" => config.tcp.sack = false,
            "timestamps" => config.tcp.timestamps = false,
            "scaling" => config.tcp.window_scaling = false,
            _ => return Err(format!("`{option}` is not an option of the host").into()),
        }
    }
    // The kernel's minimum, since a line that loses a fifth of its packets would otherwise take too
    // long.
    let second = Duration::from_secs(1);
    let shortest = Duration::from_millis(200);
    config.tcp.rto = RtoConfig::new(second, shortest, second * 60, Duration::from_millis(1), false)
        .ok_or("no such timer")?;
    config.limits.half_open =
        case.half_open.unwrap_or_else(|| config.limits.half_open.max(2 * case.concurrency));
    config.limits.accept_queue = config.limits.accept_queue.max(2 * case.concurrency);
    config.limits.connections = config.limits.connections.max(4 * case.concurrency);
    Ok(config)
}

/// Runs the host until the kernel's end has finished, and then until its own connections have
/// ended.
fn drive(
    case: &Case,
    config: StackConfig,
    tun: tun::Tun,
    ends: &Ends,
    out: &Path,
    over: &AtomicBool,
) -> Result<Driver<Ours>> {
    let slice = Duration::from_millis(20);
    let service = match case.ours {
        Role::Server => Ours::server(PORT),
        Role::Client => {
            while !out.with_extension("ready").exists() {
                if over.load(Ordering::Relaxed) {
                    return Err("the kernel's end did not start".into());
                }
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
            let (local, remote) = if case.ip == 6 {
                (OURS_6, ends.inside_v6.ok_or("no IPv6 here")?)
            } else {
                (OURS, ends.inside)
            };
            Ours::clients(local, (remote, PORT).into(), case.clone())
        }
    };
    let mut driver = Driver::new(tun, config, service)?;
    let mut done = None;
    while !over.load(Ordering::Relaxed) {
        driver.run(slice)?;
        if driver.service().is_done() || out.with_extension("done").exists() {
            // Connections in their last round trips may finish.
            let since = *done.get_or_insert_with(Instant::now);
            if driver.service().open() == 0 || since.elapsed() > FINISH_TIMEOUT {
                fs::write(out.with_extension("stop"), "")?;
            }
        }
    }
    driver.stop();
    driver.run(Duration::from_secs(1))?;
    Ok(driver)
}
