//! Two endpoints in virtual time, with a path in each direction.
//!
//! Each end has an application that writes and reads by a plan. Invariants are checked after every
//! action of an end ([`watch`]). A run that stalls before its goal, or does not end, is an error
//! that shows the last segments.

mod trace;
mod user;
mod watch;

pub use trace::Trace;
pub use user::Plan;

use std::sync::Arc;

use tcp::{ByteStream, CloseReason, Config, Connection, Event, SendState};
use thiserror::Error;
use units::Instant;
use wire::{SeqNum, WindowScale};

use crate::notation::Origins;
use crate::path::{Fate, Packet, Path, PathConfig};
use user::User;
use watch::Watch;

/// An end of the pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The end that connects.
    A,
    /// The end that listens, or also connects.
    B,
}

impl End {
    /// Both ends.
    pub const BOTH: [Self; 2] = [Self::A, Self::B];

    /// The other end.
    pub const fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }

    const fn index(self) -> usize {
        match self {
            Self::A => 0,
            Self::B => 1,
        }
    }
}

/// Configuration of one end: its TCP and its application.
#[derive(Debug, Clone)]
pub struct EndConfig {
    /// TCP configuration.
    pub tcp: Config,
    /// Initial sequence number.
    pub iss: SeqNum,
    /// Plan of the application.
    pub plan: Plan,
}

/// Configuration of two ends and the paths between them.
#[derive(Debug, Clone)]
pub struct PairConfig {
    /// Ends A and B.
    pub ends: [EndConfig; 2],
    /// Paths from A to B, and from B to A.
    pub paths: [PathConfig; 2],
    /// Whether both ends connect (simultaneous open). Otherwise B listens.
    pub both_connect: bool,
    /// Random seed of the paths.
    pub seed: u64,
}

/// Goal of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// Both ends are synchronized: ESTABLISHED or later.
    Connected,
    /// Each application has read everything that the other wrote.
    Delivered,
    /// All data is delivered, and both connections have ended because both ends closed.
    Closed,
}

/// Result of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Time at which the goal was reached.
    pub at: Instant,
    /// Number of segments sent by both ends.
    pub segments: u64,
}

/// Error of a run, with the last segments.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("at {at}: {problem}\n{history}")]
pub struct Failure {
    at: Instant,
    problem: String,
    history: String,
}

/// A pair of endpoints.
#[derive(Debug)]
pub struct Pair {
    now: Instant,
    sides: [Side; 2],
    segments: u64,
    trace: Trace,
    payload: Vec<u8>,
}

#[derive(Debug)]
struct Side {
    stream: ByteStream,
    user: User,
    watch: Watch,
    origins: Origins,
    path: Path,
    closed: Option<CloseReason>,
    dropped_acknowledgments: u32,
}

impl Pair {
    /// Maximum number of steps of a run. Successful runs have a few thousand.
    const MAX_STEPS: u64 = 300_000;

    /// Creates two endpoints and opens their connections.
    pub fn new(config: &PairConfig) -> Self {
        let side = |end: End| {
            let EndConfig { tcp, iss, plan } = &config.ends[end.index()];
            let other = &config.ends[end.other().index()];
            let scale = if tcp.window_scaling && other.tcp.window_scaling {
                WindowScale::for_buffer(tcp.receive_buffer)
            } else {
                WindowScale::NONE
            };
            Side {
                stream: ByteStream::new(Connection::new(Arc::new(tcp.clone()), *iss)),
                user: User::new(*plan, end.index()),
                watch: Watch::new(tcp, scale, *iss),
                origins: Origins { seq: *iss, ack: other.iss, scale },
                path: Path::new(
                    config.paths[end.index()],
                    config.seed ^ (0x5bd1_e995 << (32 * end.index())),
                ),
                closed: None,
                dropped_acknowledgments: 0,
            }
        };
        let mut pair = Self {
            now: Instant::ZERO,
            sides: [side(End::A), side(End::B)],
            segments: 0,
            trace: Trace::default(),
            payload: Vec::new(),
        };
        let [a, b] = &mut pair.sides;
        // Neither can fail: both are CLOSED.
        let _ = a.stream.connect();
        let _ = if config.both_connect { b.stream.connect() } else { b.stream.listen() };
        pair
    }

    /// Runs until the goal is reached.
    ///
    /// # Errors
    /// Returns an error if the goal is unreachable, or an invariant is violated.
    pub fn drive(&mut self, goal: Goal) -> Result<Outcome, Failure> {
        for end in End::BOTH {
            self.drain(end).map_err(|problem| self.failure(problem))?;
        }
        for _ in 0..Self::MAX_STEPS {
            if self.has_reached(goal) {
                return Ok(Outcome { at: self.now, segments: self.segments });
            }
            if let Err(problem) = self.step() {
                return Err(self.failure(format!("{problem}; the goal was {goal:?}")));
            }
        }
        Err(self.failure(format!("no end after {} steps; the goal was {goal:?}", Self::MAX_STEPS)))
    }

    /// Current virtual time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Last segments. They print as one line each.
    pub const fn trace(&self) -> &Trace {
        &self.trace
    }

    /// Connection of one end.
    pub fn connection(&self, end: End) -> &Connection {
        &self.sides[end.index()].stream
    }

    /// Number of arrived segments whose acknowledgment of new data an end has not processed.
    pub fn dropped_acknowledgments(&self, end: End) -> u32 {
        self.sides[end.index()].dropped_acknowledgments
    }

    /// Processes the next event: an arriving packet, then expired timers, then an action of the
    /// application.
    fn step(&mut self) -> Result<(), String> {
        let arrival = |end: End| self.sides[end.index()].path.next_arrival();
        let timeout = |end: End| self.sides[end.index()].stream.next_timeout();
        let action = |end: End| self.sides[end.index()].next_action(self.now);
        let candidates = [
            (arrival(End::A), 0, End::A),
            (arrival(End::B), 0, End::B),
            (timeout(End::A), 1, End::A),
            (timeout(End::B), 1, End::B),
            (action(End::A), 2, End::A),
            (action(End::B), 2, End::B),
        ];
        let Some((at, kind, end)) = candidates.into_iter().min_by_key(|&(at, kind, _)| (at, kind))
        else {
            return Ok(());
        };
        if at == Instant::NEVER {
            return Err("both ends wait for ever".to_owned());
        }
        if at < self.now {
            return Err(format!("something of {end:?} is due at {at}, in the past"));
        }
        self.now = at;
        match kind {
            0 => {
                let Some(packet) = self.sides[end.index()].path.arrive() else { return Ok(()) };
                let there = end.other();
                self.sides[there.index()].arrived(&packet, self.now);
                self.drain(there)
            }
            1 => {
                self.sides[end.index()].stream.on_timeout(self.now);
                self.drain(end)?;
                if self.connection(end).next_timeout() <= self.now {
                    return Err(format!("{end:?}: the timers that were due are due again"));
                }
                Ok(())
            }
            _ => {
                let side = &mut self.sides[end.index()];
                side.user.act(&mut side.stream, self.now)?;
                self.drain(end)
            }
        }
    }

    /// Drains an end of segments and events. Checks that another drain returns nothing.
    fn drain(&mut self, end: End) -> Result<(), String> {
        let side = &mut self.sides[end.index()];
        loop {
            let (before, silent) = (side.stream.send_state(), side.stream.is_idle());
            let Some(segment) = side.stream.poll_transmit(self.now, &mut self.payload) else {
                break;
            };
            if silent {
                return Err(format!(
                    "{end:?} sent `{}`, which it did not have",
                    side.origins.show(&segment)
                ));
            }
            side.watch.sent(&side.stream, &before, &segment).map_err(|problem| {
                format!("{end:?} sent `{}`: {problem}", side.origins.show(&segment))
            })?;
            let payload = if segment.payload_len > 0 {
                std::mem::take(&mut self.payload)
            } else {
                Vec::new()
            };
            if payload.len() != segment.payload_len as usize {
                return Err(format!(
                    "{end:?} sent {} bytes as {}",
                    payload.len(),
                    segment.payload_len
                ));
            }
            let fate = side.path.send(Packet { segment, payload }, self.now);
            if fate == Fate::TooBig
                && let Some(mss) = side.path.fits()
            {
                // The router's report arrives before the next segment is sent.
                side.stream.on_packet_too_big(mss, segment.seq, self.now);
            }
            self.trace.note(self.now, end, segment, side.origins, fate);
            self.segments += 1;
        }
        while let Some(event) = side.stream.poll_event() {
            if let Event::Closed(reason) = event
                && side.closed.replace(reason).is_some()
            {
                return Err(format!("{end:?} closed twice"));
            }
        }
        if side.stream.poll_transmit(self.now, &mut self.payload).is_some()
            || side.stream.poll_event().is_some()
        {
            return Err(format!("{end:?} has something left after a drain"));
        }
        side.watch.drained(&side.stream, self.now).map_err(|problem| format!("{end:?}: {problem}"))
    }

    fn has_reached(&self, goal: Goal) -> bool {
        let [a, b] = &self.sides;
        let both = |holds: fn(&Side) -> bool| holds(a) && holds(b);
        let delivered = a.user.has_read(b.user.plan()) && b.user.has_read(a.user.plan());
        match goal {
            Goal::Connected => both(|side| side.stream.state().is_synchronized()),
            Goal::Delivered => delivered,
            Goal::Closed => delivered && both(|side| side.closed == Some(CloseReason::Finished)),
        }
    }

    fn failure(&self, problem: String) -> Failure {
        let mut history = self.trace.to_string();
        for (end, side) in End::BOTH.into_iter().zip(&self.sides) {
            history.push_str(&side.describe(end));
        }
        Failure { at: self.now, problem, history }
    }
}

impl Side {
    fn arrived(&mut self, packet: &Packet, now: Instant) {
        self.stream.on_segment(&packet.segment, &packet.payload, now);
        let SendState { una, max, .. } = self.stream.send_state();
        if packet.segment.ack.is_some_and(|ack| ack.after(una) && !ack.after(max)) {
            self.dropped_acknowledgments += 1;
        }
    }

    /// Time of the application's next action. It is the present if it was due while nothing could
    /// be done.
    fn next_action(&self, now: Instant) -> Instant {
        self.user.next_action(&self.stream).max(now)
    }

    fn describe(&self, end: End) -> String {
        let stream = &self.stream;
        let snd = stream.send_state();
        let relative = |n| self.origins.relative_seq(n);
        format!(
            "    {end:?} {} cwnd {} ssthresh {} una {} nxt {} max {} unacknowledged {} peer_window {} mss_c {} \
             readable {} timer {} {} {:?}\n",
            stream.state(),
            stream.cwnd(),
            stream.ssthresh(),
            relative(snd.una),
            relative(snd.nxt),
            relative(snd.max),
            stream.unacknowledged(),
            snd.wnd,
            snd.mss_c,
            stream.readable(),
            stream.next_timeout(),
            self.user,
            self.closed,
        )
    }
}

#[cfg(test)]
mod tests;
