//! Peers that hold resources of the server with few packets: memory, connection slots or time. The
//! server has the limits of `tcpsf serve`.
//!
//! A genuine client is served in pairs of phases, the first without and the second with the hostile
//! peers. After each pair but the last the peers reset their connections. After the last pair they
//! fall silent, so that the server has to detect it. Each time the server must release everything.

mod holders;

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration as Span, Instant as Moment};

use host::http::{FileServer, Folder, HttpLimits};
use host::{Counters, Driver};
use serde::Serialize;
use tun::NetNamespace;
use units::Duration;
use wire::ip::Version;

use self::holders::holders;
use super::{
    ATTACK, Addresses, OVER, PORT, QUIET, RESET, SILENT, ServedFiles, SharedState, devices,
    good_client, resident_bytes,
};
use crate::Result;

/// Time after the end of the last connection within which the server returns memory to the system.
const TRIM_TIME: Span = Span::from_secs(2);

/// Behaviour of the hostile peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holding {
    /// One byte at the right edge of the window, and nothing else.
    WindowEdge,
    /// Requests for the listing of a folder with 10 000 long names, which are not read: the windows
    /// close after 64 KiB.
    UnreadLists,
    /// Requests whose bodies arrive one byte every four seconds.
    TricklingBodies,
    /// Chunked requests with endless trailers, half of them fast and half of them slow.
    EndlessTrailers,
    /// Requests for a large file. Each time the server's user timeout has nearly expired, half of
    /// the peers acknowledge one byte, and half of them open a closed window by one byte.
    LateBytes,
}

impl Holding {
    /// All variants.
    pub const ALL: [Self; 5] = [
        Self::WindowEdge,
        Self::UnreadLists,
        Self::TricklingBodies,
        Self::EndlessTrailers,
        Self::LateBytes,
    ];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::WindowEdge => "window-edge",
            Self::UnreadLists => "unread-lists",
            Self::TricklingBodies => "trickling-bodies",
            Self::EndlessTrailers => "endless-trailers",
            Self::LateBytes => "late-bytes",
        }
    }

    /// Number of concurrent connections; the server's limit is 16 384.
    fn connections(self) -> usize {
        match self {
            Self::WindowEdge => 3000,
            Self::UnreadLists => 300,
            Self::TricklingBodies | Self::LateBytes => 16_384,
            Self::EndlessTrailers => 1000,
        }
    }

    /// The server's user timeout, for which there is no command-line option.
    fn user_timeout(self) -> Duration {
        match self {
            // A thirtieth of the default, so that it nearly expires several times in a phase.
            Self::LateBytes => Duration::from_secs(4),
            // A sixth of the default: longer than a phase, while the wait for the release stays
            // short.
            _ => Duration::from_secs(20),
        }
    }
}

/// Number and length of the phases.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of pairs of phases.
    pub pairs: u32,
    /// Length of a phase without hostile peers.
    pub quiet: Span,
    /// Length of a phase with hostile peers.
    pub attacked: Span,
}

/// Result of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Held {
    /// Behaviour of the hostile peers.
    pub holding: Holding,
    /// IP version: 4 or 6.
    pub ip: u8,
    /// Results of the genuine client in each pair of phases.
    pub pairs: Vec<Pair>,
    /// Files that it received incorrectly or not at all.
    pub lost_files: u64,
    /// Packets that the hostile peers sent.
    pub hostile_packets: u64,
    /// Number of connections that the hostile peers try to keep open.
    pub wanted_connections: usize,
    /// Maximum number of connections.
    pub most_connections: usize,
    /// Maximum number of bytes in buffers.
    pub most_buffered_bytes: usize,
    /// Limit of the bytes in buffers.
    pub allowed_buffered_bytes: usize,
    /// Growth of the resident memory of the process in bytes, including the peers and the client.
    pub grown_bytes: u64,
    /// Resources held after the resets: the maximum over all pairs but the last.
    pub after_resets: Option<Left>,
    /// Resources held after the peers fell silent.
    pub after_silence: Left,
    /// Connections that were evicted.
    pub evicted: u64,
    /// SYNs and returned SYN cookies refused because a limit was reached.
    pub refused: u64,
}

/// Files that the genuine client received correctly in a pair of phases.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Pair {
    /// Files in the phase without hostile peers.
    pub quiet_files: u64,
    /// Length of that phase, in seconds.
    pub quiet_seconds: f64,
    /// Files in the phase with hostile peers.
    pub attacked_files: u64,
    /// Length of that phase, in seconds.
    pub attacked_seconds: f64,
}

/// Resources that the server still holds although all peers are gone.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Left {
    /// Seconds until no connection was left, or until the wait was given up.
    pub seconds: f64,
    /// Number of connections.
    pub connections: usize,
    /// Bytes in the stack's buffers, including those of connections in TIME-WAIT.
    pub buffered_bytes: usize,
    /// Bytes of requests and responses beside them.
    pub server_bytes: usize,
    /// Growth of the resident memory since before the first phase, in bytes.
    pub grown_bytes: u64,
}

impl Left {
    fn most(self, other: Self) -> Self {
        Self {
            seconds: self.seconds.max(other.seconds),
            connections: self.connections.max(other.connections),
            buffered_bytes: self.buffered_bytes.max(other.buffered_bytes),
            server_bytes: self.server_bytes.max(other.server_bytes),
            grown_bytes: self.grown_bytes.max(other.grown_bytes),
        }
    }
}

/// Measurements of the server's thread.
#[derive(Debug, Default)]
struct Meter {
    connections: AtomicUsize,
    most_connections: AtomicUsize,
    buffered: AtomicUsize,
    most_buffered: AtomicUsize,
    /// Bytes held by the file server; measured only while the genuine client pauses.
    server: AtomicUsize,
    resident: AtomicU64,
    most_resident: AtomicU64,
    /// Number of measurements so far.
    reports: AtomicUsize,
    /// The hostile peers have reset all their connections.
    all_reset: AtomicBool,
    /// The server is running.
    is_served: AtomicBool,
}

/// Serves the genuine client alternately without and with hostile peers.
///
/// # Errors
/// If the system refuses, or a thread panics.
pub fn hold(holding: Holding, version: Version, plan: Plan) -> Result<Held> {
    NetNamespace::new()?.run(|| run_in_namespace(holding, version, plan))?
}

fn run_in_namespace(holding: Holding, version: Version, plan: Plan) -> Result<Held> {
    let addresses = Addresses::of(version)?;
    let files = ServedFiles::new()?;
    if holding == Holding::UnreadLists {
        write_long_names(&files)?;
    }
    let (tun, device, mut config) = devices(addresses)?;
    let user_timeout = holding.user_timeout();
    config.tcp.timeouts.user_timeout = Some(user_timeout);
    let allowed_buffered_bytes = config.limits.buffered_bytes;
    let http = HttpLimits::default();
    // The user timeout for the response, the time limits for the request and for the peer's FIN,
    // and a margin for a busy machine.
    let [user_timeout, request, linger] = [user_timeout, http.request, http.linger].map(span);
    let silence = user_timeout + request + linger + Span::from_secs(10);
    let mut driver =
        Driver::new(tun, config, FileServer::new(Folder::open(&files.0)?, PORT, http))?;
    let (shared, meter) = (SharedState::default(), Meter::default());
    let before = resident_bytes()?;
    thread::scope(|scope| {
        let (shared, meter) = (&shared, &meter);
        meter.is_served.store(true, Ordering::Relaxed);
        let server = scope.spawn(move || {
            let served = serve(&mut driver, shared, meter);
            meter.is_served.store(false, Ordering::Relaxed);
            served
        });
        let good = scope.spawn(move || good_client(addresses.server, shared));
        let others = scope.spawn(move || {
            holders(holding, addresses, device, user_timeout.mul_f64(0.95), shared, meter)
        });
        let phases = run_phases(plan, shared, meter, silence, before);
        shared.phase.store(OVER, Ordering::Relaxed);
        let panicked = |_| "a thread panicked";
        let hostile_packets = others.join().map_err(panicked)??;
        let counters = server.join().map_err(panicked)??;
        good.join().map_err(panicked)?;
        Ok(Held {
            holding,
            ip: if version == Version::V4 { 4 } else { 6 },
            pairs: phases.pairs,
            lost_files: shared.lost.load(Ordering::Relaxed),
            hostile_packets,
            wanted_connections: holding.connections(),
            most_connections: meter.most_connections.load(Ordering::Relaxed),
            most_buffered_bytes: meter.most_buffered.load(Ordering::Relaxed),
            allowed_buffered_bytes,
            grown_bytes: meter.most_resident.load(Ordering::Relaxed).saturating_sub(before),
            after_resets: phases.after_resets,
            after_silence: phases.after_silence,
            evicted: counters.evicted,
            refused: counters.refused,
        })
    })
}

/// Makes a folder whose listing is long: 10 000 files with names of 120 characters.
fn write_long_names(files: &ServedFiles) -> Result<()> {
    let folder = files.0.join("many");
    fs::create_dir(&folder)?;
    for number in 0..10_000 {
        fs::write(folder.join(format!("{number:0>120}")), "")?;
    }
    Ok(())
}

/// Results of all phases.
struct Phases {
    pairs: Vec<Pair>,
    after_resets: Option<Left>,
    after_silence: Left,
}

/// Runs all phases, and waits for the release of the resources after each pair. `silence` limits
/// the last wait. `before` is the resident memory at the start in bytes.
fn run_phases(
    plan: Plan,
    shared: &SharedState,
    meter: &Meter,
    silence: Span,
    before: u64,
) -> Phases {
    let mut phases =
        Phases { pairs: Vec::new(), after_resets: None, after_silence: Left::default() };
    for number in 1..=plan.pairs {
        let (quiet_files, quiet_seconds) = run_turn(shared, QUIET, plan.quiet);
        let (attacked_files, attacked_seconds) = run_turn(shared, ATTACK, plan.attacked);
        phases.pairs.push(Pair { quiet_files, quiet_seconds, attacked_files, attacked_seconds });
        if number < plan.pairs {
            let left = wait_for_release(shared, meter, RESET, Span::from_secs(10), before);
            phases.after_resets = Some(phases.after_resets.map_or(left, |most| most.most(left)));
        } else {
            phases.after_silence = wait_for_release(shared, meter, SILENT, silence, before);
        }
    }
    phases
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(duration.as_nanos())
}

fn serve(driver: &mut Driver<FileServer>, shared: &SharedState, meter: &Meter) -> Result<Counters> {
    loop {
        let phase = shared.phase.load(Ordering::Relaxed);
        if phase == OVER {
            return Ok(*driver.stack().counters());
        }
        driver.run(Duration::from_millis(10))?;
        shared.served.store(true, Ordering::Relaxed);
        let (connections, buffered) =
            (driver.stack().connections(), driver.stack().buffered_bytes());
        let resident = resident_bytes()?;
        meter.connections.store(connections, Ordering::Relaxed);
        meter.most_connections.fetch_max(connections, Ordering::Relaxed);
        meter.buffered.store(buffered, Ordering::Relaxed);
        meter.most_buffered.fetch_max(buffered, Ordering::Relaxed);
        meter.resident.store(resident, Ordering::Relaxed);
        meter.most_resident.fetch_max(resident, Ordering::Relaxed);
        if phase == RESET || phase == SILENT {
            meter.server.store(driver.service().held_bytes(), Ordering::Relaxed);
        }
        meter.reports.fetch_add(1, Ordering::Release);
    }
}

/// Runs one phase. Returns the genuine client's files and the length in seconds.
fn run_turn(shared: &SharedState, phase: u8, span: Span) -> (u64, f64) {
    let files = &shared.files[usize::from(phase)];
    let (begin, before) = (Moment::now(), files.load(Ordering::Relaxed));
    shared.phase.store(phase, Ordering::Relaxed);
    thread::sleep(span);
    (files.load(Ordering::Relaxed) - before, begin.elapsed().as_secs_f64())
}

/// Waits until the server has no connection, for at most `most`.
fn wait_for_release(
    shared: &SharedState,
    meter: &Meter,
    phase: u8,
    most: Span,
    before: u64,
) -> Left {
    meter.all_reset.store(false, Ordering::Relaxed);
    shared.phase.store(phase, Ordering::Relaxed);
    let mut begin = Moment::now();
    while phase == RESET && !meter.all_reset.load(Ordering::Relaxed) && begin.elapsed() < most {
        thread::sleep(Span::from_millis(1));
    }
    if phase == RESET {
        // Only the server's time counts.
        begin = Moment::now();
    }
    while current_connections(meter) > 0 && begin.elapsed() < most {}
    let (seconds, connections) =
        (begin.elapsed().as_secs_f64(), meter.connections.load(Ordering::Relaxed));
    thread::sleep(TRIM_TIME);
    current_connections(meter);
    Left {
        seconds,
        connections,
        buffered_bytes: meter.buffered.load(Ordering::Relaxed),
        server_bytes: meter.server.load(Ordering::Relaxed),
        grown_bytes: meter.resident.load(Ordering::Relaxed).saturating_sub(before),
    }
}

/// The server's current number of connections.
fn current_connections(meter: &Meter) -> usize {
    // Waits for two measurements, because the first may have started earlier.
    let next = meter.reports.load(Ordering::Acquire) + 2;
    while meter.reports.load(Ordering::Acquire) < next && meter.is_served.load(Ordering::Relaxed) {
        thread::sleep(Span::from_millis(1));
    }
    meter.connections.load(Ordering::Relaxed)
}
