//! The host around the connections of a script: one listener at a time, the connection under test,
//! and earlier connections, which live on.

use std::collections::VecDeque;
use std::sync::Arc;

use tcp::{CloseReason, Config, Connection, Event, State};
use units::Instant;
use wire::{Segment, SeqNum};

use crate::info::Observed;
use crate::matching::{Live, Numbers, Stamps};

/// Maximum number of segments that one input may cause. More indicate an endless loop.
const MAX_AT_ONCE: usize = 100_000;

/// First of our initial sequence numbers. They wrap within the first connection.
const FIRST_ISS: u32 = u32::MAX - 5000;

/// A connection with the state that the script and the sockets need.
#[derive(Debug)]
pub(crate) struct Endpoint {
    pub(crate) connection: Connection,
    pub(crate) numbers: Numbers,
    pub(crate) stamps: Stamps,
    /// Segments that left and no event has taken.
    pub(crate) sent: VecDeque<Live>,
    /// Whether the handshake was completed.
    pub(crate) opened: bool,
    /// Whether the peer's FIN was received.
    pub(crate) peer_closed: bool,
    /// Reason for the end of the connection.
    pub(crate) closed: Option<CloseReason>,
    /// State before the end of the connection.
    pub(crate) last_state: State,
    /// Number of changes that a waiting application is woken for.
    pub(crate) edges: u64,
    announced_mss: u32,
    longest_segment: u32,
    bytes_received: u64,
    data_received: Instant,
    data_sent: Instant,
    ack_received: Instant,
}

/// All connections of a script.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) endpoints: Vec<Endpoint>,
    /// Connection under test.
    pub(crate) current: Option<usize>,
}

impl Endpoint {
    fn new(connection: Connection, numbers: Numbers, config: &Config) -> Self {
        Self {
            last_state: connection.state(),
            connection,
            numbers,
            stamps: Stamps::default(),
            sent: VecDeque::new(),
            opened: false,
            peer_closed: false,
            closed: None,
            edges: 0,
            announced_mss: config.mss.bytes(),
            longest_segment: 0,
            bytes_received: 0,
            data_received: Instant::ZERO,
            data_sent: Instant::ZERO,
            ack_received: Instant::ZERO,
        }
    }

    /// Observations for `TCP_INFO`.
    pub(crate) fn observed(&self, now: Instant) -> Observed {
        Observed {
            now,
            announced_mss: self.announced_mss,
            longest_segment: self.longest_segment,
            bytes_received: self.bytes_received,
            data_received: self.data_received,
            data_sent: self.data_sent,
            ack_received: self.ack_received,
        }
    }

    /// Delivers a segment. `unit` is the length of the segments that a network device joined into
    /// it.
    pub(crate) fn deliver(&mut self, segment: &Segment, unit: Option<u32>, now: Instant) {
        let readable = self.connection.readable();
        if segment.ack.is_some() {
            self.ack_received = now;
        }
        if segment.payload_len > 0 {
            let longest = unit.map_or(segment.payload_len, |unit| unit.min(segment.payload_len));
            self.longest_segment = self.longest_segment.max(longest).min(self.announced_mss);
            self.data_received = now;
        }
        match unit {
            Some(unit) => self.connection.on_joined_segment(segment, unit, now),
            None => self.connection.on_segment(segment, now),
        };
        let received = self.connection.readable().saturating_sub(readable);
        self.bytes_received += u64::from(received);
        self.edges += u64::from(received > 0);
        self.drain(now);
    }

    /// Takes what the connection sends and reports.
    pub(crate) fn drain(&mut self, now: Instant) {
        for _ in 0..MAX_AT_ONCE {
            let Some(segment) = self.connection.poll_transmit(now) else { break };
            if segment.payload_len > 0 {
                self.data_sent = now;
            }
            self.sent.push_back(Live { at: now, segment });
        }
        while let Some(event) = self.connection.poll_event() {
            match event {
                Event::Connected => {
                    self.opened = true;
                    (self.data_received, self.data_sent) = (now, now);
                    self.edges += 1;
                }
                Event::PeerClosed => {
                    self.peer_closed = true;
                    self.edges += 1;
                }
                Event::Closed(reason) => {
                    self.closed = Some(reason);
                    self.edges += 1;
                }
                Event::Loss(_) => {}
            }
        }
        if self.closed.is_none() {
            self.last_state = self.connection.state();
        }
    }
}

impl Host {
    /// Adds a closed connection, which becomes the one under test. It answers with resets until it
    /// is opened.
    pub(crate) fn add(&mut self, config: Config) -> usize {
        let iss = self.next_iss();
        let config = Arc::new(config);
        let connection = Connection::new(Arc::clone(&config), iss);
        let numbers = Numbers { ours: iss, ..Numbers::default() };
        self.push(Endpoint::new(connection, numbers, &config))
    }

    /// Adds a connection that answers a SYN, and becomes the one under test.
    pub(crate) fn accept(&mut self, config: Config, syn: &Segment, now: Instant) -> Option<usize> {
        let iss = self.next_iss();
        let config = Arc::new(config);
        let connection = Connection::accept(Arc::clone(&config), syn, iss, now)?;
        let numbers = Numbers { ours: iss, script: None, theirs: syn.seq };
        Some(self.push(Endpoint::new(connection, numbers, &config)))
    }

    fn push(&mut self, endpoint: Endpoint) -> usize {
        self.endpoints.push(endpoint);
        let index = self.endpoints.len() - 1;
        self.current = Some(index);
        index
    }

    fn next_iss(&self) -> SeqNum {
        let count = u32::try_from(self.endpoints.len()).unwrap_or(u32::MAX);
        SeqNum::new(FIRST_ISS.wrapping_add(count.wrapping_mul(0x1000_0001)))
    }

    /// Connection under test.
    pub(crate) fn tested(&mut self) -> Option<&mut Endpoint> {
        self.current.and_then(|index| self.endpoints.get_mut(index))
    }

    /// Time of the next timer of any connection.
    pub(crate) fn next_timeout(&self) -> Instant {
        let timeouts = self.endpoints.iter().map(|each| each.connection.next_timeout());
        timeouts.min().unwrap_or(Instant::NEVER)
    }

    /// Expires the timers that are due.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        for endpoint in &mut self.endpoints {
            if endpoint.connection.next_timeout() <= now {
                endpoint.connection.on_timeout(now);
                endpoint.drain(now);
            }
        }
    }
}
