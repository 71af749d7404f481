//! Configuration of a stack.

use std::net::IpAddr;
use std::sync::Arc;

use policy::SenderPolicy;
use tcp::{Config, Timeouts};
use units::{Duration, Instant};
use wire::Mss;

/// Parameters of a stack.
#[derive(Debug, Clone)]
pub struct StackConfig {
    /// The addresses of the host.
    pub addresses: Vec<IpAddr>,
    /// Largest packet sent or received, in bytes.
    pub mtu: u16,
    /// Settings that all connections share. The stack sets the sender policy and the MSS.
    pub tcp: Config,
    /// Sender policies of the connections.
    pub senders: Senders,
    /// Resource limits.
    pub limits: Limits,
    /// Whether the device completes checksums and segments packets that exceed the MTU.
    pub offload: bool,
}

impl StackConfig {
    /// A configuration for these addresses with default values and one sender policy, that of
    /// [`tcp::Config::default`].
    pub fn new(addresses: Vec<IpAddr>) -> Self {
        Self::with_tcp(addresses, Config { receive_buffer: 1 << 18, ..Config::default() })
    }

    /// A configuration for these addresses whose connections have the settings `tcp`, such as those
    /// of a [`tcp::Profile`], and its sender policy. The limits of hosts replace the maximum
    /// segment lifetime and the timeouts.
    pub fn with_tcp(addresses: Vec<IpAddr>, tcp: Config) -> Self {
        let tcp = Config {
            // Linux uses the same TIME-WAIT of 60 s. It is long enough for any path. It is shorter
            // than the four minutes of RFC 9293 §3.4.2, so that a busy server keeps fewer closed
            // connections.
            msl: Duration::from_secs(30),
            // RFC 9293 §3.8.3 leaves the user timeout to the application: a peer that acknowledges
            // nothing for this long is considered gone. FIN-WAIT-2 has no timeout of its own. A
            // half-closed application may still read (RFC 9293 §3.6), and a peer may be silent for
            // minutes after several losses in a row. `Limits::idle` bounds both.
            timeouts: Timeouts { user_timeout: Some(Duration::from_secs(120)), ..Timeouts::NONE },
            ..tcp
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

/// One or several sender policies and the rule that assigns them to connections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Senders {
    all: Vec<SenderPolicy>,
    alternate: Alternate,
}

/// Rule for the alternation between several sender policies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alternate {
    /// Each connection uses the next policy.
    Connection,
    /// The policy changes after each interval of this length.
    Interval(Duration),
}

impl Senders {
    /// One policy for all connections.
    pub fn one(sender: SenderPolicy) -> Self {
        Self { all: vec![sender], alternate: Alternate::Connection }
    }

    /// Several policies that alternate. Returns `None` for an empty list, for more than 65 535
    /// policies, or for an interval of zero.
    pub fn alternating(all: Vec<SenderPolicy>, alternate: Alternate) -> Option<Self> {
        let some = !all.is_empty() && u16::try_from(all.len()).is_ok();
        let proper = some && alternate != Alternate::Interval(Duration::ZERO);
        proper.then_some(Self { all, alternate })
    }

    /// All sender policies, in configuration order.
    pub fn all(&self) -> &[SenderPolicy] {
        &self.all
    }

    /// The index of the policy for connection number `serial`, opened at `now`.
    pub(crate) fn index_for(&self, serial: u64, now: Instant) -> u16 {
        let count = match self.alternate {
            Alternate::Connection => serial,
            Alternate::Interval(length) => now.as_nanos() / length.as_nanos().max(1),
        };
        // The constructor ensures that the list is not empty and that its length fits in 16 bits.
        u16::try_from(count % (self.all.len() as u64).max(1)).unwrap_or(0)
    }
}

/// Resource limits. Requests beyond them are refused and counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of connections, without those in TIME-WAIT.
    pub connections: usize,
    /// Maximum number of connections in SYN-RECEIVED. Beyond it, SYNs are answered with SYN
    /// cookies.
    pub half_open: usize,
    /// Maximum number of open connections that the application has not accepted. Beyond it, SYNs
    /// are dropped.
    pub accept_queue: usize,
    /// Maximum number of connections in TIME-WAIT. Beyond it, the oldest is removed.
    pub time_wait: usize,
    /// Memory for the buffers and queues of all connections together, in bytes.
    pub buffered_bytes: usize,
    /// Maximum time without an acceptable segment from the peer and without data sent to it.
    pub idle: Duration,
    /// Maximum age of a connection.
    pub lifetime: Duration,
    /// Maximum time by which progress can postpone the eviction of a connection; see
    /// [`MIN_RATE`](Self::MIN_RATE).
    pub evict_after: Duration,
    /// Maximum rate of resets and echo replies per second. The actual limit of each second is drawn
    /// at random between half of this value and all of it, since the budget is shared between
    /// peers.
    pub replies_per_second: u32,
}

impl Limits {
    /// Minimum rate of a connection in bytes per second, over both directions together. Slower
    /// connections may be evicted while the buffers are short.
    ///
    /// A new connection may be evicted after [`evict_after`](Self::evict_after). Each byte that the
    /// peer acknowledges, or that arrives in order, postpones this by its transmission time at this
    /// rate, to at most `evict_after` from then.
    ///
    /// If the connection limit is reached, the connection with the least remaining time among a few
    /// candidates is evicted, provided it has used [`GRACE`](Self::GRACE) of its time.
    pub const MIN_RATE: u64 = 512;

    /// Time without progress after which a connection may be evicted from a full table. It covers a
    /// handshake and a request over a long path.
    pub const GRACE: Duration = Duration::from_secs(1);

    /// Largest memory reserve per connection and direction, in bytes.
    const RESERVE: usize = 4 << 10;

    /// Divisor of the free shared memory that one connection may use. Memory is thus never
    /// exhausted, and a new connection may use as much as the older ones.
    const SHARE_DIVISOR: usize = 8;

    /// Default limits for this number of connections. The buffers include the reserve of each
    /// connection.
    pub fn of_connections(connections: usize) -> Self {
        let customary = Self::default();
        let buffered_bytes =
            customary.buffered_bytes.max(connections.saturating_mul(4 * Self::RESERVE));
        Self { connections, buffered_bytes, ..customary }
    }

    /// Bytes that a connection may always hold in each direction. The reserves of all connections
    /// take at most half of the buffers.
    pub fn reserve(&self) -> usize {
        (self.buffered_bytes / 4 / self.connections.max(1)).min(Self::RESERVE)
    }

    /// Bytes of the buffers that all connections share.
    pub(crate) fn shared(&self) -> usize {
        self.buffered_bytes.saturating_sub(2 * self.reserve() * self.connections)
    }

    /// Bytes that a connection may hold in one direction while all connections together use `used`
    /// bytes.
    pub(crate) fn share(&self, used: usize) -> usize {
        (self.shared().saturating_sub(used) / Self::SHARE_DIVISOR).max(self.reserve())
    }

    /// Whether memory is so scarce that a connection may hold only its reserve and as many bytes as
    /// its peer has acknowledged. All connections together use `used` bytes.
    pub(crate) fn is_tight(&self, used: usize) -> bool {
        used > self.shared() / 4
    }

    /// Whether memory is so scarce that out-of-order data is discarded and slow connections are
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

/// Configurations shared by connections: one for each sender policy and IP version.
#[derive(Debug)]
pub(crate) struct Profiles(Vec<[Arc<Config>; 2]>);

impl Profiles {
    pub(crate) fn new(config: &StackConfig) -> Self {
        let profile = |sender: SenderPolicy, headers: u16| {
            // RFC 9293 §3.7.1: the MSS is the MTU minus the headers, without options.
            let mss = Mss::new(config.mtu.saturating_sub(headers)).unwrap_or(Mss::DEFAULT_IPV4);
            let santa_cruz = config.tcp.santa_cruz || sender.wants_santa_cruz();
            let rto = sender.rto(config.tcp.rto);
            // A sender that needs SACK offers it with every profile.
            let sack = config.tcp.sack || sender.wants_sack();
            Arc::new(Config { sender, mss, santa_cruz, rto, sack, ..config.tcp.clone() })
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

    /// The configuration for this sender policy and the IP version of `address`.
    pub(crate) fn get(&self, sender: u16, address: IpAddr) -> &Arc<Config> {
        &self.0[usize::from(sender)][usize::from(address.is_ipv6())]
    }
}
