//! What a stack is built with.

use std::net::IpAddr;
use std::sync::Arc;

use policy::SenderPolicy;
use tcp::{Config, Patience};
use units::{Duration, Instant};
use wire::Mss;

/// The parameters of a stack.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// The addresses it answers for.
    pub addresses: Vec<IpAddr>,
    /// The largest packet that goes in or out, in bytes.
    pub mtu: u16,
    /// What all connections have in common. The sender and the segment size are set by the stack.
    pub tcp: Config,
    /// Who sends.
    pub senders: Senders,
    /// How much of everything.
    pub limits: Limits,
    /// Whether packets go to a device that completes checksums and cuts what is longer than the
    /// MTU.
    pub offload: bool,
}

impl StackConfig {
    /// A stack for these addresses with the customary values, and one classic sender.
    pub fn new(addresses: Vec<IpAddr>) -> Self {
        let tcp = Config {
            // What Linux has: long enough for a path, and a busy server keeps fewer closed
            // connections.
            msl: Duration::from_secs(30),
            receive_buffer: 1 << 18,
            // RFC 9293 §3.8.3 lets the user choose. A peer that takes nothing for so long has no
            // use for it any more. There is no limit for FIN-WAIT-2: whoever has closed
            // may still read (RFC 9293 §3.6), and a peer that has lost a few
            // segments in a row may well be silent for minutes. Nobody for good: see
            // `Limits::idle`.
            patience: Patience {
                user_timeout: Some(Duration::from_secs(120)),
                ..Patience::ENDLESS
            },
            ..Config::default()
        };
        Self {
            addresses,
            mtu: 1500,
            senders: Senders::one(tcp.sender),
            tcp,
            limits: Limits::default(),
            offload: false,
        }
    }
}

/// One sender policy or several, and which connection gets which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Senders {
    all: Vec<SenderPolicy>,
    alternate: Alternate,
}

/// When the next of several senders has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternate {
    /// With every connection.
    Connection,
    /// After this time.
    Interval(Duration),
}

impl Senders {
    /// The same for all.
    pub fn one(sender: SenderPolicy) -> Self {
        Self { all: vec![sender], alternate: Alternate::Connection }
    }

    /// Several in turns; `None` without any, with more than 65 535, or with turns of no length.
    pub fn alternating(all: Vec<SenderPolicy>, alternate: Alternate) -> Option<Self> {
        let some = !all.is_empty() && u16::try_from(all.len()).is_ok();
        let proper = some && alternate != Alternate::Interval(Duration::ZERO);
        proper.then_some(Self { all, alternate })
    }

    /// All of them.
    pub fn all(&self) -> &[SenderPolicy] {
        &self.all
    }

    /// The place of the one whose turn it is for connection `serial` at `now`.
    pub(crate) fn index_for(&self, serial: u64, now: Instant) -> u16 {
        let count = match self.alternate {
            Alternate::Connection => serial,
            Alternate::Interval(length) => now.as_nanos() / length.as_nanos().max(1),
        };
        // The constructor has seen that there are some, and that their number has 16 bits.
        u16::try_from(count % (self.all.len() as u64).max(1)).unwrap_or(0)
    }
}

/// Limits. What goes beyond is refused and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Connections, those in TIME-WAIT not counted.
    pub connections: usize,
    /// Connections in SYN-RECEIVED; past them a SYN is answered with a cookie.
    pub half_open: usize,
    /// Connections that are open and that no user has taken; past them a SYN is not answered.
    pub accept_queue: usize,
    /// Connections in TIME-WAIT; past them the oldest goes.
    pub time_wait: usize,
    /// Bytes of memory for the buffers and queues of all connections together.
    pub buffered_bytes: usize,
    /// How long a connection may go without a segment that only the peer could have sent, and
    /// without data to the peer.
    pub idle: Duration,
    /// How long a connection may last.
    pub lifetime: Duration,
    /// How far ahead a connection can be of having to make room for others: see
    /// [`MIN_RATE`](Self::MIN_RATE).
    pub evict_after: Duration,
    /// Resets, and answers to pings, each second: between half of these and all, drawn anew each
    /// time. Strangers share them.
    pub replies_per_second: u32,
}

impl Limits {
    /// In bytes a second: a connection that moves fewer, in both directions together, makes room
    /// for others when the buffers are short. A new connection has
    /// [`evict_after`](Self::evict_after) before that, and each byte that the peer acknowledges
    /// or that arrives in order adds the time that it takes at this rate, up to `evict_after` from
    /// then. When there are as many connections as are allowed, the one with the least time
    /// left of some makes room, as soon as it has used [`GRACE`](Self::GRACE) of it.
    pub const MIN_RATE: u64 = 512;

    /// How long a connection may move nothing before it makes room in a full table of connections:
    /// a handshake and a request over a long path.
    pub const GRACE: Duration = Duration::from_secs(1);

    /// The most that is kept for each connection and direction.
    const RESERVE: usize = 4 << 10;

    /// A connection may use this part of the shared memory that is free. So the memory is never
    /// used up, and a newcomer may use as much as those who came first.
    const SHARE_DIVISOR: usize = 8;

    /// The default limits for this number of connections. The buffers include the reserve of each
    /// connection.
    pub fn of_connections(connections: usize) -> Self {
        let customary = Self::default();
        let buffered_bytes =
            customary.buffered_bytes.max(connections.saturating_mul(4 * Self::RESERVE));
        Self { connections, buffered_bytes, ..customary }
    }

    /// The bytes that a connection may hold in each direction, whatever the others hold: half of
    /// the buffers are kept for that, or less.
    pub fn reserve(&self) -> usize {
        (self.buffered_bytes / 4 / self.connections.max(1)).min(Self::RESERVE)
    }

    /// The bytes that are shared by all connections.
    pub(crate) fn shared(&self) -> usize {
        self.buffered_bytes.saturating_sub(2 * self.reserve() * self.connections)
    }

    /// The bytes that a connection may hold in one direction while all connections together use
    /// `used` bytes.
    pub(crate) fn share(&self, used: usize) -> usize {
        (self.shared().saturating_sub(used) / Self::SHARE_DIVISOR).max(self.reserve())
    }

    /// Whether memory is so scarce that a connection may hold only its reserve and as many bytes as
    /// its peer has acknowledged. All connections together use `used` bytes.
    pub(crate) fn is_tight(&self, used: usize) -> bool {
        used > self.shared() / 4
    }

    /// Whether memory is so scarce that data out of order is discarded and slow connections are
    /// evicted. All connections together use `used` bytes.
    pub(crate) fn is_short(&self, used: usize) -> bool {
        used > self.shared() / 4 * 3
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 16_384,
            half_open: 1_024,
            accept_queue: 1_024,
            time_wait: 16_384,
            buffered_bytes: 256 << 20,
            idle: Duration::from_secs(600),
            lifetime: Duration::from_secs(24 * 3600),
            evict_after: Duration::from_secs(10),
            replies_per_second: 1_000,
        }
    }
}

/// The configurations that connections share: one for each sender and IP version.
#[derive(Debug)]
pub(crate) struct Profiles(Vec<[Arc<Config>; 2]>);

impl Profiles {
    pub(crate) fn new(config: &StackConfig) -> Self {
        let profile = |sender: SenderPolicy, headers: u16| {
            // RFC 9293 §3.7.1: what the MTU leaves, options not counted.
            let mss = Mss::new(config.mtu.saturating_sub(headers)).unwrap_or(Mss::DEFAULT_IPV4);
            let santa_cruz = config.tcp.santa_cruz || sender.wants_santa_cruz();
            Arc::new(Config { sender, mss, santa_cruz, ..config.tcp.clone() })
        };
        Self(
            config
                .senders
                .all
                .iter()
                .map(|&sender| [profile(sender, 40), profile(sender, 60)])
                .collect(),
        )
    }

    /// For this sender, with this address.
    pub(crate) fn get(&self, sender: u16, address: IpAddr) -> &Arc<Config> {
        &self.0[usize::from(sender)][usize::from(address.is_ipv6())]
    }
}
