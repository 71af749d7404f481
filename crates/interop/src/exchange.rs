//! Our endpoint and the kernel's, through an emulated link: every byte of every connection
//! compared, at both ends.
//!
//! The host stands on a TUN device beside the outer end of the link, and the kernel of that
//! namespace passes its packets on; the kernel's TCP that it talks to is that of the namespace
//! behind the link.

use std::collections::BTreeMap;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use emulator::report::LineReport;
use emulator::{Emulation, Ends, Job, Settings};
use host::{Counters, Driver, Senders, StackConfig};
use policy::rtt::RtoConfig;
use serde::{Deserialize, Serialize};
use tun::NetNamespace;
use units::Duration;

use crate::Result;
use crate::kernel::Done;
use crate::ours::{Ours, Tally};
pub use crate::request::Sizes;

pub(crate) const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 127, 0, 2));
pub(crate) const OURS_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd74, 0x6370, 0x7366, 1, 0, 0, 0, 2));
pub(crate) const PORT: u16 = 7;

/// How long our end may take for its connections when the other has ended its own. The kernel may
/// still have FINs to send then, and have doubled its timeout more than once for each.
const FINISH_TIMEOUT: std::time::Duration = std::time::Duration::from_mins(5);

/// Which end is ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The kernel opens.
    Server,
    /// We do.
    Client,
}

/// A series of connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// Which end is ours.
    pub ours: Role,
    /// 4 or 6.
    pub ip: u8,
    /// As for [`Settings::from_json`].
    #[serde(default)]
    pub link: serde_json::Value,
    /// The kernel's settings below `net.ipv4`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// The kernel's congestion control; by default what it has.
    #[serde(default)]
    pub congestion: Option<String>,
    /// The kernel acknowledges every segment at once.
    #[serde(default)]
    pub quick_ack: bool,
    /// Our device cuts and sums.
    #[serde(default)]
    pub offload: bool,
    /// Our sender policy.
    pub sender: String,
    /// Options that we do without: `sack`, `timestamps`, `scaling`.
    #[serde(default)]
    pub without: Vec<String>,
    /// SYNs past so many half-open connections are answered with cookies; by default none are.
    #[serde(default)]
    pub half_open: Option<usize>,
    /// How many in all.
    pub connections: u64,
    /// How many at a time.
    pub concurrency: usize,
    /// Bytes from the client.
    pub up: Sizes,
    /// Bytes from the server.
    pub down: Sizes,
    /// Where chance begins.
    #[serde(default)]
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// What our end has seen.
    pub ours: Tally,
    /// What the kernel's has.
    pub kernel: Tally,
    /// Connections of ours that had not ended.
    pub open: usize,
    /// How long it took.
    pub seconds: f64,
    /// What the link did, up (towards us) and down.
    pub up: LineReport,
    /// The other way.
    pub down: LineReport,
    /// Fast retransmissions of ours.
    pub fast_retransmits: u64,
    /// Timeouts of ours.
    pub timeouts: u64,
    /// Fast retransmissions of the kernel's.
    pub kernel_fast_retransmits: u64,
    /// Timeouts of the kernel's.
    pub kernel_timeouts: u64,
    /// Packets that came to us damaged.
    pub damaged: u64,
    /// Connections of ours that came out of a cookie.
    pub cookies: u64,
}

impl Outcome {
    /// Connections that were good at both ends, of as many as were asked for.
    pub fn good(&self) -> u64 {
        self.ours.good.min(self.kernel.good)
    }
}

/// Runs a case. `program` is this crate's program, which plays the kernel's part.
///
/// # Errors
/// When the case makes no sense, or the system refuses.
pub fn run(case: &Case, program: &Path) -> Result<Outcome> {
    NetNamespace::new()?.run(|| run_in_namespace(case, program))?
}

/// Files for the two programs to talk by, gone with the value.
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
        // Nothing depends on it.
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
            _ => return Err(format!("`{option}` is no option of ours").into()),
        }
    }
    // As short as the kernel's, or a line that loses a fifth would take the tests' time.
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

/// Drives our end until the other one has ended, and then what is still open.
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
            // What is on its last round trips may finish.
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
