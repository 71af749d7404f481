//! Copies of the latest packet, which are no retransmissions.
//!
//! A sender, a device or the network may have sent a packet twice, or the capture may have it
//! twice. Most copies have the header of the original (`Data::copies`). A sender that repeats its
//! latest segment as a precaution may give the copy a new identification, and without timestamps
//! the header then says nothing. Such a copy is known by its time: it comes before the sender
//! could know of a loss. A copy may also come after other data.

use wire::SeqNum;

use super::Sender;
use super::episode::Phase;
use super::event::{Data, Role};
use super::outstanding::Sent;
use super::timing::{self, Trigger};
use crate::kind::Has;

impl Sender {
    /// Role of a packet with the data from `start` to `end`, if it is a copy of the one before.
    #[inline]
    pub(super) fn copy_role(&self, data: &Data, start: u64, end: u64) -> Option<Role> {
        let latest = self.latest.as_ref()?;
        if start < self.nxt && self.has_old_timestamp(data, latest, (start, end)) {
            return Some(Role::Duplicate);
        }
        if !data.ends_with(latest) {
            return None;
        }
        let (news, is_rescue) = (self.timing.news_at > latest.at, self.may_be_rescue(data));
        if data.copies(latest, self.kind.ticks(), timing::REACTION, news || is_rescue) {
            Some(Role::Duplicate)
        } else if !(is_rescue || news && self.may_repair(data, latest, start))
            && self.precedes_timers(data, latest, (start, end))
        {
            Some(Role::SenderCopy)
        } else {
            None
        }
    }

    /// Whether a packet has the timestamp of an earlier transmission of its data, although a later
    /// timestamp has been sent. A new transmission would have that one at least (RFC 7323 §4.1).
    fn has_old_timestamp(&self, data: &Data, latest: &Data, (start, end): (u64, u64)) -> bool {
        let (Some(tsval), Some(last)) = (data.tsval, latest.tsval) else { return false };
        SeqNum::new(tsval).before(SeqNum::new(last))
            && self.outstanding.first_in(start, end).is_some_and(|sent| {
                let times = [sent.first_tsval, sent.last_tsval];
                sent.start <= start && end <= sent.end && times.contains(&data.tsval)
            })
    }

    /// Whether a packet may be a rescue retransmission (RFC 6675 §4): in a fast recovery with SACK,
    /// an acknowledgment makes the sender repeat its last data, perhaps directly after it was sent
    /// first. Linux has none. The end of a write is rather taken for a copy.
    fn may_be_rescue(&self, data: &Data) -> bool {
        self.has_sack
            && !data.push
            && !self.kind.is_linux()
            && self.episode.as_ref().is_some_and(|episode| episode.phase == Phase::Fast)
            && self.timing.trigger_at(data.at) == Trigger::Acknowledgment
    }

    /// Whether an acknowledgment since the latest packet may have made the sender repeat it.
    ///
    /// Nothing was sent after it, so no SACK block is above it, and neither the scoreboard (RFC
    /// 6675 §4) nor RACK (RFC 8985 §6.2) marks it as lost. Duplicate acknowledgments repair the
    /// first outstanding data (RFC 5681 §3.2). A recovery repairs any, and the last of all as a
    /// rescue (RFC 6582 §3.2, RFC 6675 §4). All of these act at once; Linux may also pace its
    /// packets.
    fn may_repair(&self, data: &Data, latest: &Data, start: u64) -> bool {
        let at_once = self.timing.trigger_at(data.at) == Trigger::Acknowledgment;
        let ended_at = self.previous.as_ref().and_then(|episode| episode.ended_at);
        let recovers = self.episode.is_some()
            || self.una < self.silent_point
            || ended_at.is_some_and(|at| at > latest.at);
        (at_once || self.kind.is_linux()) && (recovers || self.duplicates > 0 && start <= self.una)
    }

    /// Whether a packet repeats the latest new data as a whole before a timer can have expired.
    ///
    /// Each timer of a sender is longer than its round-trip time: RTO = SRTT + 4 · RTTVAR (RFC
    /// 6298 §2.3), PTO = 2 · SRTT (RFC 8985 §7.2). Nine tenths of the minimum round-trip time
    /// count, because the estimate may differ. A sender whose handshake could not be timed waits
    /// for 3 s (RFC 6298 §5.7); the minimum of a timeout counts then. The timeout repeats the first
    /// outstanding data. A probe repeats the last, but not later than the timeout of the first (RFC
    /// 8985 §7.2), so its timer may be as old as that.
    fn precedes_timers(&self, data: &Data, latest: &Data, (start, end): (u64, u64)) -> bool {
        let head_at = self.outstanding.head().map_or(latest.at, |head| head.last_at);
        let since = match self.tail_loss_probes() {
            Has::No => latest.at,
            Has::Maybe | Has::Yes => latest.at.min(head_at.max(self.timing.advance_at)),
        };
        let waited = data.at.since(since).as_nanos();
        let is_soon = |timer: u64| waited < timer - timer / 10;
        // Of segments that offload has joined, the sender copies the last one.
        let is_whole = data.len == latest.len || latest.payload > self.mss();
        let is_first = |sent: &Sent| sent.copies == 1 && sent.start <= start;
        end == self.nxt
            && is_whole
            && self.timing.shortest().is_some_and(|shortest| is_soon(shortest.as_nanos()))
            && self.outstanding.first_in(start, end).is_some_and(is_first)
    }
}

#[cfg(test)]
mod tests;
