//! A file server under attack: the throughput of a genuine client, and the memory that the attack
//! costs.
//!
//! The server is on a TUN device in a namespace of its own. The genuine client is the kernel's TCP
//! there. Hostile peers write arbitrary packets, from any address and in any connection state, into
//! a second TUN device at a steady rate. [`hold()`] covers peers that need few packets because they
//! hold resources of the server.

mod attack;
mod hold;
mod peers;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::thread;
use std::time::Duration as Span;

use host::http::{FileServer, Folder, HttpLimits};
use host::{Driver, Limits, StackConfig};
use serde::Serialize;
use tun::{NetNamespace, Prefix, Tun};
use units::Duration;
use wire::ip::Version;

pub use self::attack::Attack;
pub use self::hold::{Held, Holding, Left, Pair, Plan, hold};
use self::peers::attack_with;
use crate::Result;
use crate::raw::RawDevice;
use crate::request::Request;

const PORT: u16 = 80;
const SMALL: u64 = 100_000;
const BIG: u64 = 4_000_000;
/// The server's limit for the buffers of all connections, in bytes.
const BUFFER_LIMIT: usize = 32 << 20;
/// The server's limit of connections.
const CONNECTIONS: usize = 4096;
/// Rounds of a quiet and an attacked phase. Other load of the machine thus affects both alike.
const ROUNDS: u32 = 6;

/// Result of a run.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The attack.
    pub attack: Attack,
    /// IP version: 4 or 6.
    pub ip: u8,
    /// Files that the genuine client received correctly in the quiet phases.
    pub quiet_files: u64,
    /// Files that it received correctly in the attacked phases, which are as long.
    pub attacked_files: u64,
    /// Files that it received incorrectly or not at all.
    pub lost_files: u64,
    /// Packets that the hostile peers sent.
    pub hostile_packets: u64,
    /// Packets that the hostile peers received.
    pub drawn_packets: u64,
    /// Transfers to hostile peers that must be correct and were.
    pub right: u64,
    /// Transfers to hostile peers that must be correct and were not.
    pub wrong: u64,
    /// Maximum number of connections.
    pub most_connections: usize,
    /// Maximum number of bytes in buffers.
    pub most_buffered_bytes: usize,
    /// Limit of the bytes in buffers.
    pub allowed_buffered_bytes: usize,
    /// Growth of the resident memory of the process, in bytes.
    pub grown_bytes: u64,
    /// SYNs answered with a SYN cookie.
    pub cookies_sent: u64,
}

impl Outcome {
    /// The genuine client's throughput under attack, relative to that of the quiet phases.
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    pub fn ratio(&self) -> f64 {
        self.attacked_files as f64 / self.quiet_files as f64
    }
}

/// Phase of a run: the genuine client alone.
const QUIET: u8 = 0;
const ATTACK: u8 = 1;
const OVER: u8 = 2;
/// The genuine client pauses, and the hostile peers reset all their connections.
const RESET: u8 = 3;
/// The genuine client pauses, and the hostile peers neither send nor answer.
const SILENT: u8 = 4;

/// State shared by the threads.
#[derive(Debug, Default)]
struct SharedState {
    phase: AtomicU8,
    files: [AtomicU64; 2],
    lost: AtomicU64,
    /// The genuine client's current port.
    port: AtomicU16,
    served: AtomicBool,
}

/// Addresses of the participants.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    server: IpAddr,
    good: IpAddr,
    /// The hostile peers' prefix of 2²⁴ otherwise unused addresses.
    others: Prefix,
}

impl Addresses {
    fn of(version: Version) -> Result<Self> {
        let (server, good, net, len) = match version {
            Version::V4 => {
                let of = |last| IpAddr::from(Ipv4Addr::new(100, 127, 0, last));
                (of(2), of(1), Ipv4Addr::new(10, 0, 0, 0).into(), 8)
            }
            Version::V6 => {
                let of = |net, last| {
                    IpAddr::from(Ipv6Addr::new(0xfd74, 0x6370, 0x7366, net, 0, 0, 0, last))
                };
                (of(1, 2), of(1, 1), of(2, 0), 104)
            }
        };
        let others = Prefix::new(net, len).ok_or("a prefix is no longer than an address")?;
        Ok(Self { server, good, others })
    }
}

/// Serves the genuine client for `seconds` without attack, and for as long with `rate` hostile
/// packets per second, alternately.
///
/// # Errors
/// If the system refuses, or a thread panics.
pub fn run(attack: Attack, version: Version, seconds: f64, rate: u32) -> Result<Outcome> {
    NetNamespace::new()?
        .run(|| run_in_namespace(attack, version, Span::from_secs_f64(seconds), rate))?
}

/// A folder with the served files, which is removed when the value is dropped.
struct ServedFiles(std::path::PathBuf);

impl ServedFiles {
    fn new() -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("tcpsf-hostile-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let files = Self(path);
        for (name, size) in [("small", SMALL), ("big", BIG)] {
            fs::write(files.0.join(name), content(size))?;
        }
        Ok(files)
    }
}

impl Drop for ServedFiles {
    fn drop(&mut self) {
        // An error is harmless.
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn content(size: u64) -> Vec<u8> {
    let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
    Request { number: size, up: 0, down: 0 }.upload(0, &mut bytes);
    bytes
}

fn run_in_namespace(attack: Attack, version: Version, span: Span, rate: u32) -> Result<Outcome> {
    let addresses = Addresses::of(version)?;
    let files = ServedFiles::new()?;
    let (tun, device, mut config) = devices(addresses)?;
    config.limits =
        Limits { buffered_bytes: BUFFER_LIMIT, connections: CONNECTIONS, ..Limits::default() };
    let server = FileServer::new(Folder::open(&files.0)?, PORT, HttpLimits::default());
    let mut driver = Driver::new(tun, config, server)?;
    let shared = SharedState::default();
    let before = resident_bytes()?;
    thread::scope(|scope| {
        let shared = &shared;
        let watch = scope.spawn(move || -> Result<_> {
            let (mut connections, mut buffered, mut resident) = (0, 0, 0);
            while shared.phase.load(Ordering::Relaxed) != OVER {
                driver.run(Duration::from_millis(10))?;
                shared.served.store(true, Ordering::Relaxed);
                connections = connections.max(driver.stack().connections());
                buffered = buffered.max(driver.stack().buffered_bytes());
                resident = resident.max(resident_bytes()?);
            }
            Ok((connections, buffered, resident, *driver.stack().counters()))
        });
        let good = scope.spawn(move || good_client(addresses.server, shared));
        let others = scope.spawn(move || attack_with(attack, addresses, device, rate, shared));
        for _ in 0..ROUNDS {
            for phase in [QUIET, ATTACK] {
                shared.phase.store(phase, Ordering::Relaxed);
                thread::sleep(span / ROUNDS);
            }
        }
        shared.phase.store(OVER, Ordering::Relaxed);
        let panicked = |_| "a thread panicked";
        let others = others.join().map_err(panicked)??;
        let (most_connections, most_buffered_bytes, resident, counters) =
            watch.join().map_err(panicked)??;
        good.join().map_err(panicked)?;
        Ok(Outcome {
            attack,
            ip: if version == Version::V4 { 4 } else { 6 },
            quiet_files: shared.files[0].load(Ordering::Relaxed),
            attacked_files: shared.files[1].load(Ordering::Relaxed),
            lost_files: shared.lost.load(Ordering::Relaxed),
            hostile_packets: others.device.sent,
            drawn_packets: others.device.received,
            right: others.right,
            wrong: others.wrong,
            most_connections,
            most_buffered_bytes,
            allowed_buffered_bytes: BUFFER_LIMIT,
            grown_bytes: resident.saturating_sub(before),
            cookies_sent: counters.cookies_sent,
        })
    })
}

/// Creates the devices of the server and of the hostile peers in the calling thread's namespace,
/// and the default server configuration.
fn devices(addresses: Addresses) -> Result<(Tun, RawDevice, StackConfig)> {
    NetNamespace::allow_forwarding()?;
    // Packets that the hostile peers send with the genuine client's address arrive from outside.
    fs::write("/proc/sys/net/ipv4/conf/all/accept_local", "1")?;
    fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "0")?;
    let (tun, ours) = host::attach(&[addresses.server], 1500, false)?;
    Ok((tun, RawDevice::new(addresses.others)?, StackConfig::new(ours)))
}

/// Resident memory of this process, in bytes.
fn resident_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS in the status")?;
    Ok(1024 * line.trim().trim_end_matches(" kB").parse::<u64>()?)
}

/// Fetches one file after the other, each over a new connection.
fn good_client(server: IpAddr, shared: &SharedState) {
    let expected = content(SMALL);
    loop {
        let phase = shared.phase.load(Ordering::Relaxed);
        if phase == OVER {
            return;
        }
        if phase != QUIET && phase != ATTACK {
            thread::sleep(Span::from_millis(1));
            continue;
        }
        let fetched = fetch(server, shared, &expected);
        // A fetch counts in the phase in which it ends. One that ends after the last phase is not
        // counted.
        match (shared.phase.load(Ordering::Relaxed), fetched) {
            (OVER, _) => return,
            (_, Err(_)) => _ = shared.lost.fetch_add(1, Ordering::Relaxed),
            (phase @ (QUIET | ATTACK), Ok(())) => {
                shared.files[usize::from(phase)].fetch_add(1, Ordering::Relaxed);
            }
            _ => {}
        }
    }
}

fn fetch(server: IpAddr, shared: &SharedState, expected: &[u8]) -> Result<()> {
    let mut stream =
        TcpStream::connect_timeout(&SocketAddr::new(server, PORT), Span::from_secs(20))?;
    shared.port.store(stream.local_addr()?.port(), Ordering::Relaxed);
    stream.set_read_timeout(Some(Span::from_secs(20)))?;
    stream.write_all(b"GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")?;
    let mut answer = Vec::with_capacity(expected.len() + 1000);
    stream.read_to_end(&mut answer)?;
    if body(&answer) == Some(expected) { Ok(()) } else { Err("wrong bytes".into()) }
}

/// The body of a response with status 200.
fn body(answer: &[u8]) -> Option<&[u8]> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    answer.starts_with(b"HTTP/1.1 200 ").then(|| &answer[head + 4..])
}
