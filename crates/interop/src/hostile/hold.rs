//! Peers that hold what their connections cost the server, with few packets: memory, places in the
//! table of connections, or its time. The server has the limits of `tcpsf serve`.
//!
//! A good client is served in pairs of turns, the first without the others and the second with
//! them. In between the others reset what they hold; behind the last pair they fall silent, so that
//! the server has to find out by itself. Each time it must release everything.

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

/// When the last connection has gone: until the server has given its memory back.
const TRIM_TIME: Span = Span::from_secs(2);

/// What the others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Holding {
    /// One byte at the right edge of the window, and nothing else.
    WindowEdge,
    /// They ask for the list of a folder with 10 000 long names, and read nothing: their windows
    /// close after 64 KiB.
    UnreadLists,
    /// Requests whose bodies come a byte at a time, every four seconds.
    TricklingBodies,
    /// Requests in chunks with trailers that never end, half of them fast and half of them slow.
    EndlessTrailers,
    /// They ask for a big file. Each time the server's patience with a peer that takes nothing is
    /// nearly over, half of them acknowledge one byte of what they were sent, and half of them
    /// open a closed window by one byte.
    LateBytes,
}

impl Holding {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::WindowEdge,
        Self::UnreadLists,
        Self::TricklingBodies,
        Self::EndlessTrailers,
        Self::LateBytes,
    ];

    /// As it is called on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::WindowEdge => "window-edge",
            Self::UnreadLists => "unread-lists",
            Self::TricklingBodies => "trickling-bodies",
            Self::EndlessTrailers => "endless-trailers",
            Self::LateBytes => "late-bytes",
        }
    }

    /// The connections that they keep open at a time, where the table of the server has room for 16
    /// 384.
    fn connections(self) -> usize {
        match self {
            Self::WindowEdge => 3000,
            Self::UnreadLists => 300,
            Self::TricklingBodies | Self::LateBytes => 16_384,
            Self::EndlessTrailers => 1000,
        }
    }

    /// The server's patience with a peer that takes nothing. There is no option of the command line
    /// for it.
    fn user_timeout(self) -> Duration {
        match self {
            // A thirtieth of the customary one, so that it nearly runs out several times in a turn.
            Self::LateBytes => Duration::from_secs(4),
            // A sixth: longer than a turn, and what is released behind it is not waited for so
            // long.
            _ => Duration::from_secs(20),
        }
    }
}

/// How long, and how often.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Pairs of turns.
    pub pairs: u32,
    /// How long a turn without the others takes …
    pub quiet: Span,
    /// … and one with them.
    pub attacked: Span,
}

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Held {
    /// What was done.
    pub holding: Holding,
    /// Over which IP: 4 or 6.
    pub ip: u8,
    /// What the good client got in each pair of turns.
    pub pairs: Vec<Pair>,
    /// ServedFiles that it did not get, or not right.
    pub lost_files: u64,
    /// Packets that the others sent.
    pub hostile_packets: u64,
    /// The connections that the others keep open, as far as the server lets them.
    pub wanted_connections: usize,
    /// The most connections at a time.
    pub most_connections: usize,
    /// The most bytes in buffers.
    pub most_buffered_bytes: usize,
    /// The limit of that.
    pub allowed_buffered_bytes: usize,
    /// By how much the process grew, the others and the good client included.
    pub grown_bytes: u64,
    /// What was left when the others had reset their connections: the most of all pairs but the
    /// last.
    pub after_resets: Option<Left>,
    /// What was left when they had fallen silent.
    pub after_silence: Left,
    /// Connections that made room for others.
    pub evicted: u64,
    /// SYNs, and cookies come back, for which there was no room.
    pub refused: u64,
}

/// ServedFiles that the good client got, every byte right, in a pair of turns.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Pair {
    /// While nobody else was at it.
    pub quiet_files: u64,
    /// The seconds of that.
    pub quiet_seconds: f64,
    /// Among the others.
    pub attacked_files: u64,
    /// The seconds of that.
    pub attacked_seconds: f64,
}

/// What a server holds when it should hold nothing.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Left {
    /// The seconds that passed until there were no connections, or until that was given up.
    pub seconds: f64,
    /// Connections.
    pub connections: usize,
    /// Bytes in the stack's buffers, those of connections in TIME-WAIT included.
    pub buffered_bytes: usize,
    /// Bytes of requests and answers beside them.
    pub server_bytes: usize,
    /// By how much the process is larger than before the first turn.
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

/// What the server's thread tells.
#[derive(Debug, Default)]
struct Meter {
    connections: AtomicUsize,
    most_connections: AtomicUsize,
    buffered: AtomicUsize,
    most_buffered: AtomicUsize,
    /// Told only while the good client pauses.
    server: AtomicUsize,
    resident: AtomicU64,
    most_resident: AtomicU64,
    /// How often all of this was told.
    reports: AtomicUsize,
    /// The others have reset all their connections.
    all_reset: AtomicBool,
    /// The server runs.
    is_served: AtomicBool,
}

/// Lets the good client be served without the others and among them, in turns.
///
/// # Errors
/// When the system refuses, or an end of it panics.
pub fn hold(holding: Holding, version: Version, plan: Plan) -> Result<Held> {
    NetNamespace::new()?.run(|| run_in_namespace(holding, version, plan))?
}

fn run_in_namespace(holding: Holding, version: Version, plan: Plan) -> Result<Held> {
    let addresses = Addresses::of(version)?;
    let files = ServedFiles::new()?;
    if holding == Holding::UnreadLists {
        let folder = files.0.join("many");
        fs::create_dir(&folder)?;
        for number in 0..10_000 {
            fs::write(folder.join(format!("{number:0>120}")), "")?;
        }
    }
    let (tun, device, mut config) = devices(addresses)?;
    let user_timeout = holding.user_timeout();
    config.tcp.patience.user_timeout = Some(user_timeout);
    let allowed_buffered_bytes = config.limits.buffered_bytes;
    let http = HttpLimits::default();
    // An answer that is not taken, behind it a FIN that is not, and a while for a busy machine.
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
        let (mut pairs, mut after_resets, mut after_silence) = (Vec::new(), None, Left::default());
        for number in 1..=plan.pairs {
            let (quiet_files, quiet_seconds) = run_turn(shared, QUIET, plan.quiet);
            let (attacked_files, attacked_seconds) = run_turn(shared, ATTACK, plan.attacked);
            pairs.push(Pair { quiet_files, quiet_seconds, attacked_files, attacked_seconds });
            if number < plan.pairs {
                let left = wait_for_release(shared, meter, RESET, Span::from_secs(10), before);
                after_resets = Some(after_resets.map_or(left, |most: Left| most.most(left)));
            } else {
                after_silence = wait_for_release(shared, meter, SILENT, silence, before);
            }
        }
        shared.phase.store(OVER, Ordering::Relaxed);
        let panicked = |_| "a thread panicked";
        let hostile_packets = others.join().map_err(panicked)??;
        let counters = server.join().map_err(panicked)??;
        good.join().map_err(panicked)?;
        Ok(Held {
            holding,
            ip: if version == Version::V4 { 4 } else { 6 },
            pairs,
            lost_files: shared.lost.load(Ordering::Relaxed),
            hostile_packets,
            wanted_connections: holding.connections(),
            most_connections: meter.most_connections.load(Ordering::Relaxed),
            most_buffered_bytes: meter.most_buffered.load(Ordering::Relaxed),
            allowed_buffered_bytes,
            grown_bytes: meter.most_resident.load(Ordering::Relaxed).saturating_sub(before),
            after_resets,
            after_silence,
            evicted: counters.evicted,
            refused: counters.refused,
        })
    })
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

/// One turn: the files of the good client, and its seconds.
fn run_turn(shared: &SharedState, phase: u8, span: Span) -> (u64, f64) {
    let files = &shared.files[usize::from(phase)];
    let (begin, before) = (Moment::now(), files.load(Ordering::Relaxed));
    shared.phase.store(phase, Ordering::Relaxed);
    thread::sleep(span);
    (files.load(Ordering::Relaxed) - before, begin.elapsed().as_secs_f64())
}

/// Waits until the server has no connection any more, for so long at most.
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
        // What is judged is the server.
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

/// How many connections the server has now.
fn current_connections(meter: &Meter) -> usize {
    // Two more reports: the first may have been begun before.
    let next = meter.reports.load(Ordering::Acquire) + 2;
    while meter.reports.load(Ordering::Acquire) < next && meter.is_served.load(Ordering::Relaxed) {
        thread::sleep(Span::from_millis(1));
    }
    meter.connections.load(Ordering::Relaxed)
}
