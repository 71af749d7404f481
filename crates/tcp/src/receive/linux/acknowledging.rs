//! Decision when an acknowledgment is sent: at once, after a delay, or with others.
//!
//! Times are counted in jiffies, as there.

use policy::rtt::LinuxRtoConfig;
use units::{Duration, Instant};
use wire::SeqNum;

use super::Facts;
use crate::config::LinuxReceiver;

/// State of the acknowledgments (`icsk_ack`).
#[derive(Debug, Clone, Copy)]
pub(super) struct Acknowledging {
    clock: LinuxRtoConfig,
    /// Length of a jiffy.
    jiffy: Duration,
    /// Number of acknowledgments that are still sent at once.
    quick: u32,
    /// Whether the connection is interactive: data was sent in reply to data.
    interactive: bool,
    /// Delay in jiffies; zero before the first data.
    ato: u64,
    /// Jiffy of the last arrival of in-order data.
    received_at: u64,
    /// Whether data waits for an acknowledgment.
    scheduled: bool,
    /// Whether it is sent at once.
    at_once: bool,
    /// Number of segments that ended a write of the peer, at most two.
    pushed: u8,
    /// Jiffy at which the delayed acknowledgment is sent.
    deadline: Option<u64>,
    /// Acknowledgments of out-of-order data that one acknowledgment will replace.
    compressed: u8,
    /// Duplicates that were sent at once for a value of RCV.NXT.
    duplicates: u8,
    duplicates_at: SeqNum,
}

/// Decision for the acknowledgment of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decision {
    /// Nothing is to be acknowledged, or a timer runs already.
    Nothing,
    Now,
    /// A timer replaces the one before.
    At(Instant),
}

impl Acknowledging {
    /// Largest number of acknowledgments that are sent at once (`TCP_MAX_QUICKACKS`).
    pub(super) const MAX_QUICK: u32 = 16;
    /// Duplicates for each value of RCV.NXT that are sent at once. They start a fast retransmit.
    const DUPLICATES: u8 = 3;
    /// Smallest and largest delay (`TCP_ATO_MIN`, `TCP_DELACK_MIN`, `TCP_DELACK_MAX`).
    const MIN: Duration = Duration::from_millis(40);
    const MAX: Duration = Duration::from_millis(200);

    pub(super) fn new(clock: LinuxRtoConfig, interactive: bool) -> Self {
        // An exact clock has no jiffies. Delays are then counted in microseconds.
        let jiffy = if clock.tick.is_zero() { Duration::from_micros(1) } else { clock.tick };
        Self {
            clock,
            jiffy,
            quick: 0,
            interactive,
            ato: 0,
            received_at: 0,
            scheduled: false,
            at_once: false,
            pushed: 0,
            deadline: None,
            compressed: 0,
            duplicates: 0,
            duplicates_at: SeqNum::default(),
        }
    }

    pub(super) fn start(&mut self, now: Instant) {
        self.received_at = self.jiffy_of(now);
    }

    /// Delay that `TCP_INFO` shows.
    pub(super) fn delay(&self) -> Duration {
        (self.jiffy * self.ato).min(Self::MAX)
    }

    fn jiffy_of(&self, now: Instant) -> u64 {
        self.clock.ticks_at(now)
    }

    fn jiffies(&self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(self.jiffy.as_nanos())
    }

    fn min_ato(&self) -> u64 {
        Self::MIN.as_nanos() / self.jiffy.as_nanos()
    }

    fn max_ato(&self) -> u64 {
        Self::MAX.as_nanos() / self.jiffy.as_nanos()
    }

    pub(super) fn schedule(&mut self) {
        self.scheduled = true;
    }

    pub(super) fn require_now(&mut self) {
        self.at_once = true;
    }

    pub(super) fn note_pushed(&mut self, most: u8) {
        self.pushed = self.pushed.saturating_add(1).min(most.max(self.pushed));
    }

    pub(super) fn raise_quick(&mut self, quick: u32) {
        self.quick = self.quick.max(quick);
    }

    /// A window that grows is reported at least once more at once.
    pub(super) fn keep_quick(&mut self) {
        self.quick |= 1;
    }

    /// A buffer that fills up ends the acknowledgments at once.
    pub(super) fn end_quick(&mut self) {
        self.quick = 0;
    }

    pub(super) fn leave_interactive(&mut self) {
        self.interactive = false;
        self.ato = self.min_ato();
    }

    pub(super) fn become_interactive(&mut self) {
        self.interactive = true;
    }

    /// `TCP_QUICKACK`: unlike a segment that asks for it, the option leaves the delay as it is.
    pub(super) fn set_interactive(&mut self, interactive: bool) {
        self.interactive = interactive;
    }

    /// Records the arrival of in-order data, and adapts the delay to the time since the data
    /// before. Returns whether acknowledgments at once begin: with the first data, and after a
    /// silence in which the sender lost its window.
    pub(super) fn note_data(&mut self, facts: &Facts) -> bool {
        let now = self.jiffy_of(facts.now);
        let since = now.saturating_sub(self.received_at);
        self.received_at = now;
        let rto = self.jiffies(facts.rto);
        if self.ato == 0 {
            self.ato = self.min_ato();
            return true;
        }
        if since <= self.min_ato() / 2 {
            self.ato = self.ato / 2 + self.min_ato() / 2;
        } else if since < self.ato {
            self.ato = (self.ato / 2 + since).min(rto).min(self.max_ato());
        } else {
            return since > rto;
        }
        false
    }

    /// Data is sent: within the delay of an acknowledgment it is a reply.
    pub(super) fn note_reply(&mut self, now: Instant) {
        if self.jiffy_of(now).saturating_sub(self.received_at) < self.ato {
            self.interactive = true;
        }
    }

    /// Returns whether a read of all data is a reason to acknowledge it: the peer may wait for the
    /// acknowledgment of a write.
    pub(super) fn acknowledges_read(&self) -> bool {
        self.pushed > 1 || self.pushed > 0 && !self.interactive
    }

    pub(super) fn is_scheduled(&self) -> bool {
        self.scheduled
    }

    /// Returns whether each segment is acknowledged at once.
    pub(super) fn is_immediate(&self) -> bool {
        self.at_once || self.quick > 0 && !self.interactive
    }

    /// Chooses the delay of an acknowledgment of in-order data (`tcp_send_delayed_ack`).
    pub(super) fn delayed(&mut self, facts: &Facts) -> Decision {
        let mut ato = self.ato;
        if ato > self.min_ato() {
            let mut most = self.jiffies(Duration::from_millis(500));
            if self.interactive || self.pushed > 0 {
                most = self.max_ato();
            }
            if let Some(srtt) = facts.srtt {
                most = most.min(self.jiffies(srtt).max(self.min_ato()));
            }
            ato = ato.min(most);
        }
        let ato = ato.min(self.max_ato());
        let now = self.jiffy_of(facts.now);
        let mut deadline = now + ato;
        if let Some(pending) = self.deadline {
            if pending <= now + ato / 4 {
                return Decision::Now;
            }
            deadline = deadline.min(pending);
            if deadline == pending {
                return Decision::Nothing;
            }
        }
        self.deadline = Some(deadline);
        Decision::At(self.clock.wheel_expiry(facts.now, self.jiffy * (deadline - now)))
    }

    /// Decides when out-of-order data is acknowledged. `nxt` is RCV.NXT, and `rtt` the smaller of
    /// the known round-trip times.
    pub(super) fn of_out_of_order(
        &mut self,
        options: &LinuxReceiver,
        nxt: SeqNum,
        rtt: Duration,
        now: Instant,
    ) -> Decision {
        if self.compressed >= options.compressed_acks {
            return Decision::Now;
        }
        if self.duplicates_at != nxt {
            (self.duplicates, self.duplicates_at) = (0, nxt);
        }
        if self.duplicates < Self::DUPLICATES {
            self.duplicates += 1;
            return Decision::Now;
        }
        self.compressed += 1;
        if self.compressed > 1 {
            return Decision::Nothing;
        }
        let share = rtt.as_nanos() / 100 * u64::from(options.compression_percent);
        Decision::At(now + Duration::from_nanos(share).min(options.compression_delay))
    }

    /// Handles the expiry of the timer. Returns whether an acknowledgment is sent.
    pub(super) fn on_timeout(&mut self, rto: Duration) -> bool {
        if self.compressed > 0 {
            return true;
        }
        if self.deadline.take().is_none() || !self.scheduled {
            return false;
        }
        if self.interactive {
            // The reply did not come in time.
            self.leave_interactive();
        } else {
            self.ato = (self.ato * 2).min(self.jiffies(rto)).min(self.max_ato());
        }
        true
    }

    /// Returns whether acknowledgments wait for the timer of out-of-order data.
    pub(super) fn is_compressing(&self) -> bool {
        self.compressed > 0
    }

    /// An acknowledgment is sent (`tcp_event_ack_sent`).
    pub(super) fn note_sent(&mut self) {
        self.compressed = 0;
        if self.quick > 0 {
            self.quick -= u32::from(self.scheduled);
            if self.quick == 0 {
                self.ato = self.min_ato();
            }
        }
        self.scheduled = false;
        self.at_once = false;
        self.pushed = 0;
        self.deadline = None;
    }
}
