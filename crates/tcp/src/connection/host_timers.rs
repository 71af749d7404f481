//! State that only a connection on a real wire needs: user timeout, keep-alive and FIN-WAIT-2
//! timer, challenge limit, ICMP errors.
//!
//! Simulated connections need none of it, so it is boxed. Its deadlines are lazy: a segment only
//! records the time, and the expired timer computes the new deadline.

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Duration, Instant};
use wire::{Control, Segment, SeqNum};

use crate::config::{Challenges, Config, KeepAlive, Timeouts};
use crate::connection::{Connection, IcmpError, timestamp_clock};
use crate::event::CloseReason;
use crate::state::State;

/// Host timers, rate limits and ICMP state of a connection.
#[derive(Debug)]
pub(crate) struct HostTimers {
    /// Transmission times of the last challenges, oldest first; at most as many as a period allows.
    challenges: VecDeque<Instant>,
    /// Arrival time of the last segment that only the peer could have sent.
    last_received: Instant,
    /// Transmission time of the last keep-alive, and the number of keep-alives since
    /// `last_received`.
    last_keepalive: (Instant, u8),
    /// Whether the next acknowledgment is to be a keep-alive.
    keepalive_due: bool,
    /// Time since which queued data has made no progress; [`Instant::NEVER`] if nothing is queued.
    stalled_since: Instant,
    pub(crate) icmp: Option<IcmpError>,
    /// Begin of the current period, and the number of path MTU reductions accepted in it.
    pmtu_reductions: (Instant, u8),
    /// Offset of this connection's timestamps from the clock, in ticks.
    timestamp_offset: u32,
}

/// State of a connection before it handles a segment, and whether only the peer could have sent the
/// segment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BeforeSegment {
    state: State,
    una: SeqNum,
    credible: bool,
}

impl HostTimers {
    /// Creates the state for this configuration; `None` if it has no timeouts.
    pub(crate) fn of(config: &Config) -> Option<Box<Self>> {
        if config.timeouts.is_none() { None } else { Some(Box::new(Self::new(Instant::ZERO))) }
    }

    fn new(now: Instant) -> Self {
        Self {
            challenges: VecDeque::new(),
            last_received: now,
            last_keepalive: (now, 0),
            keepalive_due: false,
            stalled_since: Instant::NEVER,
            icmp: None,
            pmtu_reductions: (now, 0),
            timestamp_offset: 0,
        }
    }

    /// Records a segment that only the peer could have sent.
    fn note_received(&mut self, now: Instant) {
        self.last_received = now;
        self.last_keepalive.1 = 0;
        self.keepalive_due = false;
    }

    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.challenges.capacity() * size_of::<Instant>()
    }

    /// Returns whether a challenge may be sent, and records it. The limit is exact: of any `count +
    /// 1` consecutive challenges the last is sent at least `per` after the first.
    fn may_challenge(&mut self, limit: Challenges, now: Instant) -> bool {
        if self.challenges.len() < usize::from(limit.count) {
            self.challenges.push_back(now);
            return true;
        }
        if self.challenges.front().is_none_or(|&first| now < first + limit.per) {
            return false;
        }
        self.challenges.rotate_left(1);
        self.challenges.pop_back();
        self.challenges.push_back(now);
        true
    }

    /// Returns whether another path MTU reduction is acceptable within `period`, and counts it.
    pub(crate) fn may_reduce_pmtu(&mut self, period: Duration, now: Instant) -> bool {
        /// Nested tunnels cause several reductions in sequence.
        const MOST: u8 = 4;
        let (since, count) = self.pmtu_reductions;
        self.pmtu_reductions =
            if now >= since + period { (now, 1) } else { (since, count.saturating_add(1)) };
        self.pmtu_reductions.1 <= MOST
    }

    /// Time of the next keep-alive, or of the end of the connection if all were unanswered.
    fn keepalive_at(&self, keep_alive: KeepAlive) -> Instant {
        let (last, count) = self.last_keepalive;
        if count == 0 { self.last_received + keep_alive.idle } else { last + keep_alive.interval }
    }
}

impl Connection {
    /// RFC 5961 §7: schedules a challenge ACK unless the rate limit is reached.
    #[cold]
    #[inline(never)]
    pub(crate) fn challenge(&mut self, now: Instant) {
        let limit = self.config.challenges;
        if self.host_timers_at(now).may_challenge(limit, now) {
            self.rcv.ack_now();
        }
    }

    /// Starts the host timers when the connection opens.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_opened(&mut self, now: Instant) {
        if let Some(host) = &mut self.host_timers {
            host.note_received(now);
            host.stalled_since = Instant::NEVER;
            self.rearm_host_timer(now);
        }
    }

    /// Replaces the time limits of an open connection (RFC 9293 §3.9.1.2: a call may change the
    /// user timeout). A limit counts from the event that it would have counted from.
    pub fn set_timeouts(&mut self, timeouts: Timeouts, now: Instant) {
        Arc::make_mut(&mut self.config).timeouts = timeouts;
        if timeouts.is_none() || self.state == State::Closed {
            return;
        }
        let waits = self.snd.flight() > 0 || self.timers.persist != Instant::NEVER;
        let host = self.host_timers_at(now);
        if waits && host.stalled_since == Instant::NEVER {
            host.stalled_since = now;
        }
        self.rearm_host_timer(now);
    }

    /// RFC 7323 §7.1: adds an offset to all timestamps of this connection, so that they do not
    /// reveal the clock. Must be called before the first segment is sent.
    pub fn offset_timestamps(&mut self, offset: u32, now: Instant) {
        self.host_timers_at(now).timestamp_offset = offset;
    }

    /// Timestamp clock of this connection, in milliseconds.
    pub(crate) fn timestamp_clock(&self, now: Instant) -> u32 {
        let offset = self.host_timers.as_ref().map_or(0, |host| host.timestamp_offset);
        timestamp_clock(now).wrapping_add(offset)
    }

    /// Arrival time of the last segment that only the peer could have sent: acceptable in sequence
    /// number, acknowledgment and timestamp. `None` for a connection without timeouts, which does
    /// not record it.
    pub fn last_received(&self) -> Option<Instant> {
        Some(self.host_timers.as_ref()?.last_received)
    }

    /// Captures the state before a segment is handled, for [`note_handled`](Self::note_handled).
    #[cold]
    #[inline(never)]
    pub(crate) fn before_segment(&self, segment: &Segment, now: Instant) -> BeforeSegment {
        BeforeSegment {
            state: self.state,
            una: self.snd.una,
            credible: self.is_credible(segment, now),
        }
    }

    /// Updates the host timers after a segment was handled.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_handled(&mut self, before: BeforeSegment, now: Instant) {
        let BeforeSegment { state, una, credible } = before;
        let Some(host) = &mut self.host_timers else { return };
        if credible || self.snd.una != una {
            host.note_received(now);
        }
        if self.snd.una != una {
            let done = self.snd.una == self.snd.end();
            host.stalled_since = if done { Instant::NEVER } else { now };
        }
        if self.state != state {
            match self.state {
                State::Listen => host.stalled_since = Instant::NEVER,
                State::FinWait2 => self.rearm_host_timer(now),
                next if next.is_synchronized() && !state.is_synchronized() => self.note_opened(now),
                _ => {}
            }
        }
    }

    /// Returns whether only the peer could have sent a segment: it lies in both windows and is not
    /// a reset or SYN, which prove nothing.
    fn is_credible(&self, segment: &Segment, now: Instant) -> bool {
        let acknowledges = |ack: SeqNum| {
            ack.at_or_before(self.snd.max)
                && (ack.at_or_after(self.snd.una) || !self.snd.is_too_old(ack))
        };
        let timely = match segment.options.timestamps {
            _ if !self.negotiated.timestamps => true,
            Some(stamp) => !self.rcv.is_stale(stamp.val, now),
            None => false,
        };
        self.state.is_synchronized()
            && matches!(segment.control, Control::None | Control::Fin)
            && self.rcv.accepts(segment.seq, segment.seq_len())
            && segment.ack.is_some_and(acknowledges)
            && timely
    }

    /// Starts the user timeout, if it is not running: data was sent, or waits for room in the
    /// peer's window.
    #[cold]
    pub(crate) fn start_user_timeout(&mut self, now: Instant) {
        let Some(host) = &mut self.host_timers else { return };
        if host.stalled_since == Instant::NEVER {
            host.stalled_since = now;
            // Another deadline may make the timer expire too early. The expiry then computes it
            // again.
            let timeouts = self.config.timeouts.user_timeout;
            self.timers.state =
                self.timers.state.min(timeouts.map_or(Instant::NEVER, |span| now + span));
        }
    }

    /// Returns whether the acknowledgment that is sent now is to be a keep-alive, and clears the
    /// flag.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_keepalive(&mut self) -> bool {
        self.host_timers.as_mut().is_some_and(|host| std::mem::take(&mut host.keepalive_due))
    }

    /// Sets the state timer to the earliest deadline.
    #[cold]
    pub(crate) fn rearm_host_timer(&mut self, now: Instant) {
        if self.state == State::TimeWait {
            return;
        }
        let copy = self.snd.special.copies().and_then(|copies| copies.next_after(now));
        self.timers.state = copy.unwrap_or(Instant::NEVER);
        let Some(host) = &self.host_timers else { return };
        let timeouts = self.config.timeouts;
        let user = timeouts.user_timeout.map_or(Instant::NEVER, |span| host.stalled_since + span);
        let keepalive = match timeouts.keep_alive {
            Some(keep_alive) if self.may_send_keepalive() => host.keepalive_at(keep_alive),
            Some(keep_alive) if self.state.is_synchronized() => now + keep_alive.idle,
            _ => Instant::NEVER,
        };
        let fin_wait_2 = match timeouts.fin_wait_2 {
            Some(span) if self.state == State::FinWait2 => host.last_received + span,
            _ => Instant::NEVER,
        };
        // A deadline may have passed already.
        self.timers.state = self.timers.state.min(user.min(keepalive).min(fin_wait_2).max(now));
    }

    /// Handles an expiry of the state timer.
    #[cold]
    #[inline(never)]
    pub(crate) fn on_host_timer(&mut self, now: Instant) {
        if self.state == State::TimeWait {
            self.enter_closed(CloseReason::Finished);
            return;
        }
        self.timers.state = Instant::NEVER;
        let timeouts = self.config.timeouts;
        let may_send_keepalive = self.may_send_keepalive();
        let half_closed = self.state == State::FinWait2;
        let Some(host) = &mut self.host_timers else { return self.rearm_host_timer(now) };
        // RFC 9293 §3.10.8, USER TIMEOUT: the application is informed, the peer is not.
        if timeouts.user_timeout.is_some_and(|span| host.stalled_since + span <= now) {
            return self.enter_closed(CloseReason::TimedOut);
        }
        if half_closed && timeouts.fin_wait_2.is_some_and(|span| host.last_received + span <= now) {
            return self.enter_closed(CloseReason::FinWait2);
        }
        if let Some(keep_alive) = timeouts.keep_alive
            && may_send_keepalive
            && host.keepalive_at(keep_alive) <= now
        {
            if host.last_keepalive.1 >= keep_alive.count {
                return self.enter_closed(CloseReason::KeepAlive);
            }
            host.last_keepalive = (now, host.last_keepalive.1 + 1);
            host.keepalive_due = true;
            self.rcv.ack_now();
        }
        self.rearm_host_timer(now);
    }

    /// RFC 9293 §3.8.4: only if nothing is unacknowledged. Otherwise the retransmission timer
    /// probes the peer.
    fn may_send_keepalive(&self) -> bool {
        let open = matches!(self.state, State::Established | State::CloseWait | State::FinWait2);
        open && self.snd.flight() == 0 && self.snd.nxt == self.snd.end()
    }

    pub(crate) fn host_timers_at(&mut self, now: Instant) -> &mut HostTimers {
        self.host_timers.get_or_insert_with(|| Box::new(HostTimers::new(now)))
    }
}
