//! Snapshot of a connection for programs that show it step by step.

use units::Instant;

use super::Connection;
use crate::send::{SendSnapshot, TimerName};

impl Connection {
    /// Snapshot of the sending half with its timers and its scoreboard.
    pub fn snapshot(&self, now: Instant) -> SendSnapshot {
        let others = [
            (TimerName::DelayedAck, self.timers.delayed_ack),
            (TimerName::Persist, self.timers.persist),
            (TimerName::State, self.timers.state),
        ];
        self.snd.snapshot(self.timers.retransmit, others, now)
    }
}
