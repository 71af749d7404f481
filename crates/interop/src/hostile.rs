//! A file server among hostile peers: how fast a good client is served while they are at it, and what memory they cost.
//!
//! The server stands on a TUN device in a namespace of its own; the good client is the kernel's TCP there; the others write
//! packets of their own making into a second TUN device, from any address and in any state of mind, at a steady rate.

use std::collections::HashMap;
use std::fmt;
use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU16, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration as Span, Instant as Moment};

use host::http::{FileServer, Folder, HttpLimits};
use host::{Driver, Limits, StackConfig, Tuple};
use serde::Serialize;
use tun::{NetNamespace, Prefix};
use units::Duration;
use wire::{Control, SackBlocks, SeqNum, SeqRange};

use crate::Result;
use crate::raw::{self, Air, Heard};
use crate::request::Request;

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 127, 0, 2));
const GOOD: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 127, 0, 1));
const PORT: u16 = 80;
const SMALL: u64 = 100_000;
const BIG: u64 = 4_000_000;
/// What a server is allowed for the buffers of all its connections.
const BUDGET: usize = 32 << 20;
/// What the others keep open at a time, where they keep anything open …
const CROWD: usize = 1000;
/// … and where they take what they ask for.
const FEW: usize = 10;
/// Turns of quiet and attack: what else the machine does then falls on both.
const TURNS: u32 = 6;

/// What the others do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Attack {
    /// SYNs from addresses that never answer.
    SynFlood,
    /// Resets for the good client's connection, at any sequence number.
    Resets,
    /// Data for the good client's connection, at any sequence number.
    Injection,
    /// Segments cut short and with bytes changed, on open connections and others.
    Garbage,
    /// SACK blocks for what was never sent, for what was acknowledged, and taken back.
    SackLies,
    /// Acknowledgments of what has not arrived, and of what has not been sent.
    OptimisticAcks,
    /// A big file is asked for, and no window given for it.
    ZeroWindows,
    /// Windows whose right edge moves to the left.
    ShrinkingWindows,
    /// Single bytes with gaps between them.
    Scattered,
    /// Requests in segments that overlap and differ: the server must go by the first.
    Overlaps,
    /// Good transfers across the end of the sequence space, both ways; every byte compared.
    Wraps,
}

impl Attack {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::SynFlood,
        Self::Resets,
        Self::Injection,
        Self::Garbage,
        Self::SackLies,
        Self::OptimisticAcks,
        Self::ZeroWindows,
        Self::ShrinkingWindows,
        Self::Scattered,
        Self::Overlaps,
        Self::Wraps,
    ];
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SynFlood => "syn-flood",
            Self::Resets => "resets",
            Self::Injection => "injection",
            Self::Garbage => "garbage",
            Self::SackLies => "sack-lies",
            Self::OptimisticAcks => "optimistic-acks",
            Self::ZeroWindows => "zero-windows",
            Self::ShrinkingWindows => "shrinking-windows",
            Self::Scattered => "scattered",
            Self::Overlaps => "overlaps",
            Self::Wraps => "wraps",
        })
    }
}

impl FromStr for Attack {
    type Err = Box<dyn std::error::Error + Send + Sync>;
    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|attack| attack.to_string() == text);
        found.ok_or_else(|| format!("`{text}` is no attack").into())
    }
}

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// What was done.
    pub attack: Attack,
    /// Files that the good client got, every byte right, while nobody else was at it.
    pub quiet_files: u64,
    /// The same under attack, in the same time.
    pub attacked_files: u64,
    /// Files that it did not get, or not right.
    pub lost_files: u64,
    /// Packets that the others sent.
    pub hostile_packets: u64,
    /// Of the others' transfers that should have come right, those that did …
    pub right: u64,
    /// … and those that did not.
    pub wrong: u64,
    /// The most connections at a time.
    pub most_connections: usize,
    /// The most bytes in buffers.
    pub most_buffered_bytes: usize,
    /// What may be in buffers with so many connections.
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

/// What the threads tell each other.
#[derive(Debug, Default)]
struct Board {
    phase: AtomicU8,
    files: [AtomicU64; 2],
    lost: AtomicU64,
    /// The good client's port.
    port: AtomicU16,
    served: AtomicBool,
}

/// Lets the good client be served for `seconds` without and as many with `rate` packets a second from the others, in
/// turns.
///
/// # Errors
/// When the system refuses, or an end of it panics.
pub fn run(attack: Attack, seconds: f64, rate: u32) -> Result<Outcome> {
    NetNamespace::new()?.run(|| in_a_network(attack, Span::from_secs_f64(seconds), rate))?
}

/// A folder that goes with the value.
struct Files(std::path::PathBuf);

impl Files {
    fn new() -> Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tcpsf-hostile-{}-{number}", std::process::id()));
        fs::create_dir(&path)?;
        let files = Self(path);
        for (name, size) in [("small", SMALL), ("big", BIG)] {
            fs::write(files.0.join(name), content(size))?;
        }
        Ok(files)
    }
}

impl Drop for Files {
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

fn in_a_network(attack: Attack, span: Span, rate: u32) -> Result<Outcome> {
    let files = Files::new()?;
    NetNamespace::allow_forwarding()?;
    // What the others write in the good client's name comes from outside.
    fs::write("/proc/sys/net/ipv4/conf/all/accept_local", "1")?;
    fs::write("/proc/sys/net/ipv4/conf/all/rp_filter", "0")?;
    let (tun, addresses) = host::attach(&[SERVER], 1500, false)?;
    let air = Air::new(Prefix::new(Ipv4Addr::new(10, 0, 0, 0).into(), 8).ok_or("a prefix has 8 bits")?)?;
    let mut config = StackConfig::new(addresses);
    config.limits.buffered_bytes = BUDGET;
    let server = FileServer::new(Folder::open(&files.0)?, PORT, HttpLimits::default());
    let mut driver = Driver::new(tun, config, server)?;
    let board = Board::default();
    let before = resident_bytes()?;
    thread::scope(|scope| {
        let board = &board;
        let watch = scope.spawn(move || -> Result<_> {
            let (mut connections, mut buffered, mut resident) = (0, 0, 0);
            while board.phase.load(Ordering::Relaxed) != OVER {
                driver.run(Duration::from_millis(10))?;
                board.served.store(true, Ordering::Relaxed);
                connections = connections.max(driver.stack().connections());
                buffered = buffered.max(driver.stack().buffered_bytes());
                resident = resident.max(resident_bytes()?);
            }
            Ok((connections, buffered, resident, *driver.stack().counters()))
        });
        let good = scope.spawn(move || good_client(board));
        let others = scope.spawn(move || others(attack, air, rate, board));
        for _ in 0..TURNS {
            for phase in [QUIET, ATTACK] {
                board.phase.store(phase, Ordering::Relaxed);
                thread::sleep(span / TURNS);
            }
        }
        board.phase.store(OVER, Ordering::Relaxed);
        let panicked = |_| "a thread panicked";
        let others = others.join().map_err(panicked)??;
        let (most_connections, most_buffered_bytes, resident, counters) =
            watch.join().map_err(panicked)??;
        good.join().map_err(panicked)?;
        Ok(Outcome {
            attack,
            quiet_files: board.files[0].load(Ordering::Relaxed),
            attacked_files: board.files[1].load(Ordering::Relaxed),
            lost_files: board.lost.load(Ordering::Relaxed),
            hostile_packets: others.air.sent,
            right: others.right,
            wrong: others.wrong,
            most_connections,
            most_buffered_bytes,
            allowed_buffered_bytes: BUDGET + most_connections * Limits::RESERVE,
            grown_bytes: resident.saturating_sub(before),
            cookies_sent: counters.cookies_sent,
        })
    })
}

fn resident_bytes() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no VmRSS in the status")?;
    Ok(1024 * line.trim().trim_end_matches(" kB").parse::<u64>()?)
}

/// Fetches a file after the other, each over a connection of its own.
fn good_client(board: &Board) {
    let expected = content(SMALL);
    loop {
        let phase = board.phase.load(Ordering::Relaxed);
        if phase == OVER {
            return;
        }
        let fetched = fetch(board, &expected);
        // A fetch counts where it ends; one that ends behind the last phase counts nowhere.
        match board.phase.load(Ordering::Relaxed) {
            OVER => return,
            phase if fetched.is_ok() => _ = board.files[usize::from(phase)].fetch_add(1, Ordering::Relaxed),
            _ => _ = board.lost.fetch_add(1, Ordering::Relaxed),
        }
    }
}

fn fetch(board: &Board, expected: &[u8]) -> Result<()> {
    let mut stream = TcpStream::connect_timeout(&SocketAddr::new(SERVER, PORT), Span::from_secs(20))?;
    board.port.store(stream.local_addr()?.port(), Ordering::Relaxed);
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

fn others(attack: Attack, air: Air, rate: u32, board: &Board) -> Result<Others> {
    let wanted = content(if attack == Attack::Overlaps { SMALL } else { BIG });
    let mut others = Others { attack, air, crowd: HashMap::new(), wanted, right: 0, wrong: 0 };
    let (mut begin, mut due) = (Moment::now(), 0.0);
    while !board.served.load(Ordering::Relaxed) {
        thread::sleep(Span::from_millis(1));
    }
    loop {
        match board.phase.load(Ordering::Relaxed) {
            OVER => return Ok(others),
            ATTACK => {
                let now = Moment::now();
                // What could not be sent in time is not made up for at once.
                due = (due + now.duration_since(begin).as_secs_f64() * f64::from(rate))
                    .min(f64::from(rate) / 50.0);
                begin = now;
                while due >= 1.0 {
                    let before = others.air.sent;
                    others.act(board)?;
                    #[expect(clippy::cast_precision_loss, reason = "few packets")]
                    let sent = (others.air.sent - before).max(1) as f64;
                    due -= sent;
                }
            }
            _ => (begin, due) = (Moment::now(), 0.0),
        }
        while let Some(heard) = others.air.hear()? {
            others.answer(heard)?;
        }
        thread::sleep(Span::from_micros(500));
    }
}

/// All that attack, and what they know.
struct Others {
    attack: Attack,
    air: Air,
    crowd: HashMap<Tuple, Peer>,
    /// What they ask for.
    wanted: Vec<u8>,
    right: u64,
    wrong: u64,
}

/// One end of a connection that keeps only the rules it likes.
#[derive(Debug, Clone)]
struct Peer {
    /// The next number to send.
    next: SeqNum,
    /// The next number expected, if the server has answered.
    expected: Option<SeqNum>,
    /// The answer so far.
    answer: Vec<u8>,
    acts: u32,
}

const REQUEST: &[u8] = b"GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const REQUEST_SMALL: &[u8] = b"GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

impl Others {
    /// One thing done unasked.
    fn act(&mut self, board: &Board) -> Result<()> {
        match self.attack {
            Attack::SynFlood => self.open(false).map(drop),
            Attack::Resets | Attack::Injection => {
                let tuple = Tuple {
                    local: GOOD,
                    remote: SERVER,
                    local_port: board.port.load(Ordering::Relaxed),
                    remote_port: PORT,
                };
                let (seq, ack) = (SeqNum::new(self.air.draw()), SeqNum::new(self.air.draw()));
                if self.attack == Attack::Resets {
                    self.air.send(&tuple, &raw::reset(seq), &[])
                } else {
                    self.air.send(&tuple, &raw::plain(seq, ack, 65_535), b"GET /big HTTP/1.1\r\n")
                }
            }
            Attack::Wraps => self.open(true),
            Attack::Overlaps if self.crowd.len() >= FEW => Ok(()),
            _ if self.crowd.len() < CROWD => self.open(true),
            _ => self.pester(),
        }
    }

    /// A SYN from somebody new; whoever is `kept` goes on.
    fn open(&mut self, kept: bool) -> Result<()> {
        let from = self.air.somebody();
        let tuple = Tuple { local: from.ip(), remote: SERVER, local_port: from.port(), remote_port: PORT };
        // Close to the end, so that the request lies across it.
        let wraps = self.attack == Attack::Wraps;
        let seq = if self.is_judged() { SeqNum::new(u32::MAX - 20) } else { SeqNum::new(self.air.draw()) };
        if kept {
            let peer = Peer { next: seq + 1, expected: None, answer: Vec::new(), acts: 0 };
            self.crowd.insert(tuple, peer);
            if self.crowd.len() > 4 * CROWD {
                // SYNs that nobody answered.
                self.crowd.retain(|_, peer| peer.expected.is_some());
            }
        }
        self.air.send(&tuple, &raw::syn(seq, wraps), &[])
    }

    /// Somebody of the crowd does what nobody asked for.
    fn pester(&mut self) -> Result<()> {
        let skip = usize::try_from(self.air.draw())? % 16;
        let Some((&tuple, peer)) = self.crowd.iter_mut().nth(skip) else { return Ok(()) };
        let Some(expected) = peer.expected else {
            self.crowd.remove(&tuple);
            return Ok(());
        };
        peer.acts += 1;
        let (next, acts) = (peer.next, peer.acts);
        // Others have their turn.
        if acts > 200 {
            self.crowd.remove(&tuple);
            return self.air.send(&tuple, &raw::reset(next), &[]);
        }
        let air = &mut self.air;
        match self.attack {
            Attack::Garbage => {
                let near = next + air.draw() % 4;
                let segment = raw::plain(near, expected + air.draw() % 4, 65_535);
                air.send_mangled(&tuple, &segment, &REQUEST[..20])
            }
            Attack::SackLies => {
                let mut blocks = SackBlocks::EMPTY;
                for _ in 0..3 {
                    let from = expected + (air.draw() % 200_000).wrapping_sub(100_000);
                    let block = SeqRange::new(from, from + 1 + air.draw() % 50_000);
                    blocks = block.map_or(blocks, |block| {
                        let mut more = blocks;
                        more.push(block);
                        more
                    });
                }
                air.send(&tuple, &raw::sacking(next, expected, 65_535, blocks), &[])
            }
            Attack::OptimisticAcks => {
                // What may be under way by now, and from time to time what cannot be.
                let ahead = if acts.is_multiple_of(5) { 1 << 30 } else { 1460 };
                if let Some(peer) = self.crowd.get_mut(&tuple) {
                    peer.expected = Some(if ahead == 1460 { expected + ahead } else { expected });
                }
                self.air.send(&tuple, &raw::plain(next, expected + ahead, 65_535), &[])
            }
            Attack::ZeroWindows => air.send(&tuple, &raw::plain(next, expected, 0), &[]),
            Attack::ShrinkingWindows => {
                let window = [65_535, 3000, 100, 0, 20_000][usize::try_from(acts)? % 5];
                air.send(&tuple, &raw::plain(next, expected, window), &[])
            }
            Attack::Scattered => {
                // Never the first of them.
                let at = next + 2 + 2 * (air.draw() % 30_000);
                air.send(&tuple, &raw::plain(at, expected, 65_535), b"x")
            }
            _ => Ok(()),
        }
    }

    /// Something came for somebody.
    fn answer(&mut self, heard: Heard) -> Result<()> {
        let Heard { tuple, segment, payload } = heard;
        let Some(mut peer) = self.crowd.remove(&tuple) else { return Ok(()) };
        if segment.control == Control::Rst {
            self.wrong += u64::from(peer.expected.is_some() && self.is_judged());
            return Ok(());
        }
        if segment.control == Control::Syn {
            let first = segment.seq + 1;
            // Only those are of interest whose answer lies across the end of the sequence space.
            let crosses = u32::MAX - first.value() < u32::try_from(BIG / 2)?;
            if self.attack == Attack::Wraps && !crosses {
                return self.air.send(&tuple, &raw::reset(peer.next), &[]);
            }
            peer.expected = Some(first);
            self.request(&tuple, &mut peer)?;
            self.crowd.insert(tuple, peer);
            return Ok(());
        }
        let Some(expected) = peer.expected else { return Ok(()) };
        if segment.seq != expected || payload.is_empty() && segment.control != Control::Fin {
            self.crowd.insert(tuple, peer);
            // Good ones say what they wait for.
            return if self.is_judged() && !payload.is_empty() {
                self.air.send(&tuple, &raw::plain(self.crowd[&tuple].next, expected, 65_535), &[])
            } else {
                Ok(())
            };
        }
        if self.is_judged() || self.attack == Attack::ShrinkingWindows {
            let end = expected + segment.seq_len();
            peer.expected = Some(end);
            peer.answer.extend_from_slice(&payload);
            if segment.control == Control::Fin {
                let right = body(&peer.answer) == Some(&self.wanted);
                self.right += u64::from(right);
                self.wrong += u64::from(!right);
                // Enough of it.
                return self.air.send(&tuple, &raw::reset(peer.next), &[]);
            }
            if self.attack != Attack::ShrinkingWindows {
                self.air.send(&tuple, &raw::plain(peer.next, end, 65_535), &[])?;
            }
        }
        self.crowd.insert(tuple, peer);
        Ok(())
    }

    /// Whether the transfers of the others should come right.
    fn is_judged(&self) -> bool {
        matches!(self.attack, Attack::Wraps | Attack::Overlaps)
    }

    /// Completes the handshake and asks for the big file, in the manner of the attack.
    fn request(&mut self, tuple: &Tuple, peer: &mut Peer) -> Result<()> {
        let (from, ack) = (peer.next, peer.expected.unwrap_or(peer.next));
        let text = if self.attack == Attack::Overlaps { REQUEST_SMALL } else { REQUEST };
        peer.next = from + u32::try_from(text.len())?;
        match self.attack {
            Attack::Scattered => {
                peer.next = from;
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &[])
            }
            Attack::ZeroWindows => self.air.send(tuple, &raw::plain(from, ack, 0), text),
            Attack::Overlaps => {
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &[])?;
                // The second part, then one that has the middle right and what is there already wrong, then the first.
                let mut other = text[4..30].to_vec();
                other[8..].fill(b'!');
                self.air.send(tuple, &raw::plain(from + 12, ack, 65_535), &text[12..])?;
                self.air.send(tuple, &raw::plain(from + 4, ack, 65_535), &other)?;
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &text[..4])?;
                // And once more what was taken long ago.
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &[b'?'; 20])
            }
            _ => self.air.send(tuple, &raw::plain(from, ack, 65_535), text),
        }
    }
}
