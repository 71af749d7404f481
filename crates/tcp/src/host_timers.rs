//! What only a connection on a real wire keeps: how long it waits for its peer, how often it
//! challenges a stranger, what ICMP reported.
//!
//! A simulated connection needs none of it, and few others all of it; so it stands apart. Its
//! deadlines are lazy: what the peer says is noted, and the timer, when it comes up, sees how far
//! the deadline has moved.

use std::collections::VecDeque;

use units::{Duration, Instant};
use wire::{Control, Segment, SeqNum};

use crate::config::{Challenges, Config, KeepAlive};
use crate::connection::{Connection, timestamp_clock};
use crate::event::CloseReason;
use crate::icmp::IcmpError;
use crate::state::State;

/// See the module.
#[derive(Debug)]
pub(crate) struct HostTimers {
    /// When the last challenges left, oldest first: no more than may leave in a period.
    challenges: VecDeque<Instant>,
    /// When the peer was last heard.
    last_received: Instant,
    /// When the last keep-alive left, and how many since the peer was heard.
    last_keepalive: (Instant, u8),
    /// The next acknowledgment is to be one.
    keepalive_due: bool,
    /// Since when the peer has owed progress to what is queued; [`Instant::NEVER`] when nothing
    /// is.
    stalled_since: Instant,
    pub(crate) icmp: Option<IcmpError>,
    /// How many reports of packets that were too big have been believed in the period that began
    /// then.
    pmtu_reductions: (Instant, u8),
    /// By how much the timestamps of this connection are ahead of the clock.
    timestamp_offset: u32,
}

/// How a connection stands before it handles a segment, and whether the segment is one that only
/// the peer could have sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BeforeSegment {
    state: State,
    una: SeqNum,
    credible: bool,
}

impl HostTimers {
    /// What a connection with this configuration begins with.
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

    /// The peer said something that it alone could know to say.
    fn note_received(&mut self, now: Instant) {
        self.last_received = now;
        self.last_keepalive.1 = 0;
        self.keepalive_due = false;
    }

    pub(crate) fn memory(&self) -> usize {
        size_of::<Self>() + self.challenges.capacity() * size_of::<Instant>()
    }

    /// Exact: of any `count + 1` challenges in a row the last leaves `per` after the first, or
    /// later.
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

    /// Whether one more report of a packet that was too big may be believed, of those that come
    /// within `period`; then it counts.
    pub(crate) fn may_reduce_pmtu(&mut self, period: Duration, now: Instant) -> bool {
        /// A path of tunnels in tunnels has so many narrow places, one behind the other.
        const MOST: u8 = 4;
        let (since, count) = self.pmtu_reductions;
        self.pmtu_reductions =
            if now >= since + period { (now, 1) } else { (since, count.saturating_add(1)) };
        self.pmtu_reductions.1 <= MOST
    }

    /// When a peer that owes nothing is asked next, or given up.
    fn keepalive_at(&self, keep_alive: KeepAlive) -> Instant {
        let (last, count) = self.last_keepalive;
        if count == 0 { self.last_received + keep_alive.idle } else { last + keep_alive.interval }
    }
}

impl Connection {
    /// RFC 5961 §7: an answer that a guess has drawn, unless there were too many.
    #[cold]
    #[inline(never)]
    pub(crate) fn challenge(&mut self, now: Instant) {
        let limit = self.config.challenges;
        if self.host_timers_at(now).may_challenge(limit, now) {
            self.rcv.ack_now();
        }
    }

    /// The connection is open, and patience with the peer begins.
    #[cold]
    #[inline(never)]
    pub(crate) fn note_opened(&mut self, now: Instant) {
        if let Some(host) = &mut self.host_timers {
            host.note_received(now);
            host.stalled_since = Instant::NEVER;
            self.rearm_host_timer(now);
        }
    }

    /// RFC 7323 §7.1: adds a number to all timestamps of this connection, so that they do not tell
    /// the clock to the peer. To be called before the first segment leaves.
    pub fn offset_timestamps(&mut self, offset: u32, now: Instant) {
        self.host_timers_at(now).timestamp_offset = offset;
    }

    /// The clock of this connection's timestamps.
    pub(crate) fn timestamp_clock(&self, now: Instant) -> u32 {
        let offset = self.host_timers.as_ref().map_or(0, |host| host.timestamp_offset);
        timestamp_clock(now).wrapping_add(offset)
    }

    /// When the peer last sent a segment that only it could have sent: acceptable in sequence
    /// number, acknowledgment and timestamp. `None` for a connection without limits to its
    /// patience, which does not note it.
    pub fn last_received(&self) -> Option<Instant> {
        Some(self.host_timers.as_ref()?.last_received)
    }

    /// How things stand before a segment is handled, for [`note_handled`](Self::note_handled).
    #[cold]
    #[inline(never)]
    pub(crate) fn before_segment(&self, segment: &Segment, now: Instant) -> BeforeSegment {
        BeforeSegment {
            state: self.state,
            una: self.snd.una,
            credible: self.is_credible(segment, now),
        }
    }

    /// Notes what a segment that has been handled says of the peer.
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

    /// Whether a segment is one that only the peer could have sent: it lies in both windows and is
    /// no reset or SYN, which prove nothing.
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

    /// Something has been sent, or waits for room in the peer's window.
    #[cold]
    pub(crate) fn start_user_timeout(&mut self, now: Instant) {
        let Some(host) = &mut self.host_timers else { return };
        if host.stalled_since == Instant::NEVER {
            host.stalled_since = now;
            // What else is due may come up too early: then it is looked at again.
            let timeouts = self.config.timeouts.user_timeout;
            self.timers.state =
                self.timers.state.min(timeouts.map_or(Instant::NEVER, |span| now + span));
        }
    }

    /// Whether the acknowledgment that leaves now is to be a keep-alive.
    #[cold]
    #[inline(never)]
    pub(crate) fn take_keepalive(&mut self) -> bool {
        self.host_timers.as_mut().is_some_and(|host| std::mem::take(&mut host.keepalive_due))
    }

    /// Sets the timer to what is due next.
    #[cold]
    pub(crate) fn rearm_host_timer(&mut self, now: Instant) {
        if self.state == State::TimeWait {
            return;
        }
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
        // What has been noted lately may be due already.
        self.timers.state = user.min(keepalive).min(fin_wait_2).max(now);
    }

    /// The timer has come up.
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
        let Some(host) = &mut self.host_timers else { return };
        // RFC 9293 §3.10.8, USER TIMEOUT: the user is told; the peer is not.
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

    /// RFC 9293 §3.8.4: only with nothing to be acknowledged; otherwise the retransmission timer
    /// asks.
    fn may_send_keepalive(&self) -> bool {
        let open = matches!(self.state, State::Established | State::CloseWait | State::FinWait2);
        open && self.snd.flight() == 0 && self.snd.nxt == self.snd.end()
    }

    pub(crate) fn host_timers_at(&mut self, now: Instant) -> &mut HostTimers {
        self.host_timers.get_or_insert_with(|| Box::new(HostTimers::new(now)))
    }
}
