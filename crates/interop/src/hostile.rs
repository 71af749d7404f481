//! A file server among hostile peers: how fast a good client is served while they are at it, and
//! what memory they cost.
//!
//! The server stands on a TUN device in a namespace of its own; the good client is the kernel's TCP
//! there; the others write packets of their own making into a second TUN device, from any address
//! and in any state of mind, at a steady rate. [`hold`] is about those that need few packets,
//! because they hold what their connections cost the server.

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
/// What a server is allowed for the buffers of all its connections …
const BUFFER_LIMIT: usize = 32 << 20;
/// … and how many there may be.
const CONNECTIONS: usize = 4096;
/// Turns of quiet and attack: what else the machine does then falls on both.
const ROUNDS: u32 = 6;

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// What was done.
    pub attack: Attack,
    /// Over which IP: 4 or 6.
    pub ip: u8,
    /// ServedFiles that the good client got, every byte right, while nobody else was at it.
    pub quiet_files: u64,
    /// The same under attack, in the same time.
    pub attacked_files: u64,
    /// ServedFiles that it did not get, or not right.
    pub lost_files: u64,
    /// Packets that the others sent.
    pub hostile_packets: u64,
    /// Packets that they were sent.
    pub drawn_packets: u64,
    /// Of the others' transfers that should have come right, those that did …
    pub right: u64,
    /// … and those that did not.
    pub wrong: u64,
    /// The most connections at a time.
    pub most_connections: usize,
    /// The most bytes in buffers.
    pub most_buffered_bytes: usize,
    /// The limit of that.
    pub allowed_buffered_bytes: usize,
    /// By how much the process grew.
    pub grown_bytes: u64,
    /// SYNs that were answered with a cookie.
    pub cookies_sent: u64,
}

impl Outcome {
    /// The good client's speed under attack, by its speed without.
    #[expect(clippy::cast_precision_loss, reason = "a ratio")]
    pub fn ratio(&self) -> f64 {
        self.attacked_files as f64 / self.quiet_files as f64
    }
}

/// A phase of the run.
const QUIET: u8 = 0;
const ATTACK: u8 = 1;
const OVER: u8 = 2;
/// The good client pauses, and the others reset all connections that they have.
const RESET: u8 = 3;
/// The good client pauses, and the others neither send nor answer.
const SILENT: u8 = 4;

/// What the threads tell each other.
#[derive(Debug, Default)]
struct SharedState {
    phase: AtomicU8,
    files: [AtomicU64; 2],
    lost: AtomicU64,
    /// The good client's port.
    port: AtomicU16,
    served: AtomicBool,
}

/// Who is where.
#[derive(Debug, Clone, Copy)]
struct Addresses {
    server: IpAddr,
    good: IpAddr,
    /// 2²⁴ of nobody's.
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

/// Lets the good client be served for `seconds` without and as many with `rate` packets a second
/// from the others, in turns.
///
/// # Errors
/// When the system refuses, or an end of it panics.
pub fn run(attack: Attack, version: Version, seconds: f64, rate: u32) -> Result<Outcome> {
    NetNamespace::new()?
        .run(|| run_in_namespace(attack, version, Span::from_secs_f64(seconds), rate))?
}

/// A folder that goes with the value.
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
        // Nothing depends on it.
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

/// The server's device and the others', in the calling thread's namespace, and the customary
/// configuration of a server.
fn devices(addresses: Addresses) -> Result<(Tun, RawDevice, StackConfig)> {
    NetNamespace::allow_forwarding()?;
    // What the others write in the good client's name comes from outside.
    fs::write("/proc/sys/net/ipv4/conf/all/accept_local", "1")?;
    fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "0")?;
    let (tun, ours) = host::attach(&[addresses.server], 1500, false)?;
    Ok((tun, RawDevice::new(addresses.others)?, StackConfig::new(ours)))
}

/// Resident memory of this process.
fn resident_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .ok_or("no VmRSS in the status")?;
    Ok(1024 * line.trim().trim_end_matches(" kB").parse::<u64>()?)
}

/// Fetches a file after the other, each over a connection of its own.
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
        // A fetch counts where it ends; one that ends behind the last phase counts nowhere.
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

/// What follows the head of a good answer.
fn body(answer: &[u8]) -> Option<&[u8]> {
    let head = answer.windows(4).position(|window| window == b"\r\n\r\n")?;
    answer.starts_with(b"HTTP/1.1 200 ").then(|| &answer[head + 4..])
}
