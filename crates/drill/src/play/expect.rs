//! Packets that must leave.

use units::{Duration, Instant};

use super::{Played, Player, Previous, shown};
use crate::matching::{Differences, Live, Rules, differences, join, joined, notation};
use crate::report::Stop;
use crate::script::{Action, Event, Packet, TcpOption, TcpPacket, When};

/// Time after the latest accepted one for which the player still looks for a packet, to show it.
const LOOK_ON: Duration = Duration::from_secs(2);
/// Limit for a packet at any time.
const ANY_TIME: Duration = Duration::from_secs(100_000);

/// Earliest and latest time of a packet, without the tolerance.
#[derive(Debug, Clone, Copy)]
struct Span {
    from: Instant,
    to: Instant,
    any: bool,
}

impl Player<'_> {
    pub(super) fn expect(&mut self, event: &Event, base: Instant) -> Played {
        let Action::Packet(Packet::Tcp(expected)) = &event.action else { return Ok(()) };
        let span = match event.time.when {
            When::At(offset) => Span { from: base + offset, to: base + offset, any: false },
            When::Range(from, to) => Span { from: base + from, to: base + to, any: false },
            When::Blocking(..) | When::Any => {
                Span { from: base, to: self.machine.now + ANY_TIME, any: true }
            }
        };
        let taken = self.take(event, expected, span)?;
        let Some(live) = joined(&taken) else { return Ok(()) };
        self.learn(expected, &live);
        let smss = self.machine.host.tested().map_or(0, |endpoint| endpoint.connection.smss());
        let rules = Rules { strict_psh: self.options.strict_psh, segments: taken.len(), smss };
        let found = match self.machine.host.tested() {
            Some(endpoint) => differences(expected, &live.segment, &endpoint.numbers, rules),
            None => Differences { failures: Vec::new(), notes: Vec::new() },
        };
        for note in found.notes {
            self.note(event.line, note);
        }
        if !found.failures.is_empty() {
            let problem = found.failures.join("; ");
            return Err(self.mismatch(event, span, &problem, Some(&live)));
        }
        if let Some(problem) = self.wrong_stamp(expected, &live) {
            return Err(self.mismatch(event, span, &problem, Some(&live)));
        }
        self.check_time(event, span, &live)?;
        self.trace_live(&live);
        self.previous = Previous { nominal: span.from, done: live.at, arrived: false };
        Ok(())
    }

    /// Takes the segments of the expected packet from the queue.
    fn take(&mut self, event: &Event, expected: &TcpPacket, span: Span) -> Result<Vec<Live>, Stop> {
        let mut taken: Vec<Live> = Vec::new();
        let mut len = 0;
        loop {
            let Some(next) = self.next_live(span)? else {
                let problem = match taken.len() {
                    0 => "no packet left in time".to_owned(),
                    _ => format!("only {len} of {} bytes left in time", expected.seq.len),
                };
                return Err(self.mismatch(event, span, &problem, joined(&taken).as_ref()));
            };
            if let Err(reason) = join(&taken, &next.segment) {
                let problem = format!("{len} of {} bytes, then {reason}", expected.seq.len);
                return Err(self.mismatch(event, span, &problem, Some(&next)));
            }
            len += next.segment.payload_len;
            if let Some(endpoint) = self.machine.host.tested() {
                endpoint.sent.pop_front();
            }
            taken.push(next);
            // A difference is found by the comparison.
            let is_complete = len >= expected.seq.len || next.segment.payload_len == 0;
            if is_complete || self.settings.strict_segments {
                return Ok(taken);
            }
        }
    }

    /// The oldest segment that left; runs the clock on until there is one.
    fn next_live(&mut self, span: Span) -> Result<Option<Live>, Stop> {
        let latest = span.to + self.tolerance(span.to.since(self.previous.done)) + LOOK_ON;
        loop {
            let queued = self.machine.host.tested().and_then(|each| each.sent.front().copied());
            if queued.is_some() {
                return Ok(queued);
            }
            let Some(next) = self.next_wakeup().filter(|&next| next <= latest) else {
                return Ok(None);
            };
            self.step(next)?;
        }
    }

    /// Learns the initial sequence number and the timestamps of this end.
    fn learn(&mut self, expected: &TcpPacket, live: &Live) {
        let Some(endpoint) = self.machine.host.tested() else { return };
        if expected.has('S') {
            endpoint.numbers.script.get_or_insert(expected.seq.first);
        }
        if let Some(stamp) = live.segment.options.timestamps {
            for option in expected.options.iter().flatten() {
                if let TcpOption::Timestamps(written, _) = option {
                    endpoint.stamps.learn(*written, stamp.val);
                }
            }
        }
    }

    /// Compares the timestamp with the script's clock, if the script gives its tick.
    fn wrong_stamp(&mut self, expected: &TcpPacket, live: &Live) -> Option<String> {
        let tick = self.settings.stamp_tick;
        let stamp = live.segment.options.timestamps.filter(|_| tick > 0)?;
        let written = expected.options.iter().flatten().find_map(|option| match option {
            TcpOption::Timestamps(val, _) => Some(*val),
            _ => None,
        })?;
        let seen = self.machine.host.tested()?.stamps.expected(stamp.val, tick)?;
        let tolerance = self.tolerance(live.at.since(Instant::ZERO)).as_nanos() / 1000 / tick;
        (u64::from(written.abs_diff(seen)) > tolerance)
            .then(|| format!("timestamp value {seen} instead of {written}"))
    }

    fn check_time(&self, event: &Event, span: Span, live: &Live) -> Played {
        if span.any {
            return Ok(());
        }
        let tolerance = self.tolerance(span.to.since(self.previous.done));
        let early = live.at + tolerance < span.from;
        let late = live.at > span.to + tolerance;
        if !early && !late {
            return Ok(());
        }
        let (word, by) = if early {
            ("early", span.from.since(live.at))
        } else {
            ("late", live.at.since(span.to))
        };
        let problem = format!(
            "the packet left {} s too {word} (tolerance {} s)",
            crate::script::seconds(by),
            crate::script::seconds(tolerance)
        );
        Err(self.mismatch(event, span, &problem, Some(live)))
    }

    /// A failure with the expected and the actual packet.
    fn mismatch(&self, event: &Event, span: Span, problem: &str, live: Option<&Live>) -> Stop {
        let at = if span.any {
            "*".to_owned()
        } else if span.from == span.to {
            shown(span.from)
        } else {
            format!("{}~{}", shown(span.from), shown(span.to))
        };
        let actual = live.map(|live| {
            let numbers = self
                .machine
                .host
                .current
                .and_then(|index| Some(self.machine.host.endpoints.get(index)?.numbers));
            let text = notation(&live.segment, &numbers.unwrap_or_default());
            format!("{} {text}", shown(live.at))
        });
        Stop::failed(event.line, problem).between(Some(format!("{at} {}", event.text)), actual)
    }

    fn trace_live(&mut self, live: &Live) {
        if !self.options.trace {
            return;
        }
        if let Some(endpoint) = self.machine.host.tested() {
            let text = notation(&live.segment, &endpoint.numbers);
            self.report.trace.push(format!("{:>10} {text}", shown(live.at)));
        }
    }
}
