//! Rates that change during a run, from a file.
//!
//! One column is the format of mahimahi (R. Netravali et al., "Mahimahi: Accurate Record-and-Replay
//! for HTTP", USENIX ATC 2015; manual page mm-link(1)): a line is a time in milliseconds, at which
//! the link can deliver 1504 bytes. Two columns are times and rates.

use std::sync::Arc;

use units::{Duration, Instant, Rate};

use crate::text::{TextError, lines};

/// The bytes that an opportunity of mahimahi carries, and those that it counts for each packet in
/// addition to the IP packet: its TUN devices put a header of four bytes in front of a packet.
const OPPORTUNITY: u64 = 1504;
const OVERHEAD: u64 = 4;

const NANOS_PER_MS: u64 = 1_000_000;
/// Bits times nanoseconds per second in a byte.
const SCALE: u128 = 8_000_000_000;

/// The course of a link's rate. Copies share the entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateTrace(Course);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Course {
    /// Times of opportunities in milliseconds, in order. The last is above zero and is the period.
    Opportunities(Arc<[u32]>),
    Steps(Arc<Steps>),
}

/// Rates by time of their beginning. The first begins at zero.
#[derive(Debug, PartialEq, Eq)]
struct Steps {
    /// Begin in nanoseconds, and rate in bits per second.
    begins: Vec<(u64, u64)>,
    /// The time in nanoseconds after which the steps begin again.
    period: Option<u64>,
    /// The capacity of a period in bits times nanoseconds per second.
    per_period: u128,
}

impl RateTrace {
    /// Parses a trace.
    ///
    /// With one column, a line is the time of an opportunity in whole milliseconds, as in mahimahi.
    /// The times do not decrease, and the trace begins again at the last one. With two columns, a
    /// line is a time and the rate from then on: `2.5s 10mbit`. The times increase from `0s`. The
    /// rate `0` is an outage. The last line may be a time and the word `repeat`. Otherwise the last
    /// rate, which is above zero, remains.
    ///
    /// # Errors
    /// If a line is not valid, or if the trace can deliver nothing.
    pub fn parse(text: &str) -> Result<Self, TextError> {
        match lines(text).next() {
            None => Err(TextError::new(1, "there is no entry")),
            Some((_, line)) if line.split_whitespace().count() == 1 => opportunities(text),
            Some(_) => steps(text),
        }
        .map(Self)
    }

    /// The mean rate of a trace that repeats, and the last rate of another one.
    pub fn mean_rate(&self) -> Rate {
        let bits = match &self.0 {
            Course::Opportunities(times) => {
                let bits = u128::from(8 * OPPORTUNITY) * times.len() as u128 * 1000;
                bits / u128::from(times.last().copied().unwrap_or(1).max(1))
            }
            Course::Steps(course) => match course.period {
                Some(period) => course.per_period / u128::from(period),
                None => u128::from(course.begins.last().map_or(1, |(_, rate)| *rate)),
            },
        };
        let bits = u64::try_from(bits).unwrap_or(u64::MAX).clamp(1, Rate::MAX.bits_per_sec());
        Rate::from_bits_per_sec(bits).unwrap_or(Rate::MAX)
    }
}

fn opportunities(text: &str) -> Result<Course, TextError> {
    let mut times: Vec<u32> = Vec::new();
    let mut end = 1;
    for (number, line) in lines(text) {
        let time: u32 = line.parse().map_err(|_| {
            TextError::new(number, format!("`{line}` is not a whole number of milliseconds"))
        })?;
        if let Some(&before) = times.last().filter(|before| **before > time) {
            let problem = format!("{time} is before {before}, and times must not decrease");
            return Err(TextError::new(number, problem));
        }
        times.push(time);
        end = number;
    }
    if times.last() == Some(&0) {
        let problem = "the last time is 0, and a trace must last for some time";
        return Err(TextError::new(end, problem));
    }
    Ok(Course::Opportunities(times.into()))
}

fn steps(text: &str) -> Result<Course, TextError> {
    let mut steps: Vec<(u64, u64)> = Vec::new();
    let (mut period, mut end) = (None, 1);
    for (number, line) in lines(text) {
        let refused = |problem: String| Err(TextError::new(number, problem));
        let mut words = line.split_whitespace();
        let (Some(time), Some(rate), None) = (words.next(), words.next(), words.next()) else {
            return refused(format!("`{line}` is not a time and a rate, such as `2.5s 10mbit`"));
        };
        if period.is_some() {
            return refused("`repeat` must be on the last line".to_owned());
        }
        let at: Duration =
            time.parse().map_err(|e: units::ParseError| TextError::new(number, e.to_string()))?;
        let at = at.as_nanos();
        match steps.last() {
            None if at != 0 => return refused(format!("{time} is not 0s, the first time")),
            Some(&(before, _)) if at <= before => {
                return refused(format!("{time} is not after the time before it"));
            }
            _ => {}
        }
        end = number;
        match rate {
            "repeat" if steps.is_empty() => {
                return refused("there is nothing to repeat".to_owned());
            }
            "repeat" => period = Some(at),
            "0" => steps.push((at, 0)),
            _ => match rate.parse::<Rate>() {
                Ok(rate) => steps.push((at, rate.bits_per_sec())),
                Err(error) => return refused(error.to_string()),
            },
        }
    }
    let course = Steps::new(steps, period);
    match period {
        Some(_) if course.per_period == 0 => Err(TextError::new(end, "the rate is always 0")),
        None if course.begins.last().is_none_or(|(_, rate)| *rate == 0) => Err(TextError::new(
            end,
            "the last rate is 0 and would remain; add a line with `repeat`",
        )),
        _ => Ok(Course::Steps(Arc::new(course))),
    }
}

impl Steps {
    fn new(steps: Vec<(u64, u64)>, period: Option<u64>) -> Self {
        let ends = steps.iter().skip(1).map(|(at, _)| *at).chain(period);
        let capacity =
            |((begin, rate), end): (&(u64, u64), u64)| u128::from(end - begin) * u128::from(*rate);
        let per_period = steps.iter().zip(ends).map(capacity).sum();
        Self { begins: steps, period, per_period }
    }

    /// The rate at a time, and the end of the step in which it lies, on a clock without end.
    fn step(&self, at: u128) -> (u128, u128) {
        let (base, within) = match self.period {
            Some(period) => (at - at % u128::from(period), at % u128::from(period)),
            None => (0, at),
        };
        let next = self.begins.partition_point(|(begin, _)| u128::from(*begin) <= within);
        let rate = next.checked_sub(1).and_then(|at| self.begins.get(at)).map_or(0, |step| step.1);
        let end = self.begins.get(next).map(|step| step.0).or(self.period);
        (u128::from(rate), end.map_or(u128::MAX, |end| base + u128::from(end)))
    }
}

/// A line whose rate follows a trace.
#[derive(Debug)]
pub(crate) enum TraceLine {
    Opportunities(OpportunityLine),
    Steps(StepLine),
}

impl TraceLine {
    pub(crate) fn new(trace: &RateTrace) -> Self {
        match &trace.0 {
            Course::Opportunities(times) => Self::Opportunities(OpportunityLine {
                times: Arc::clone(times),
                cycle: 0,
                next: 0,
                at: Instant::ZERO,
                left: 0,
            }),
            Course::Steps(course) => Self::Steps(StepLine {
                course: Arc::clone(course),
                free_at: Instant::ZERO,
                spare: 0,
            }),
        }
    }

    /// The time at which the last bit sent so far leaves.
    pub(crate) fn free_at(&self) -> Instant {
        match self {
            Self::Opportunities(line) => line.at,
            Self::Steps(line) => line.free_at,
        }
    }

    /// Sends a packet that the line can take at `now` and that has waited since `since`. Returns
    /// the time at which its last bit leaves.
    pub(crate) fn send(&mut self, now: Instant, since: Instant, bytes: u32) -> Instant {
        match self {
            Self::Opportunities(line) => line.send(now, since, bytes),
            Self::Steps(line) => line.send(now, bytes),
        }
    }
}

/// A line with mahimahi's opportunities.
///
/// An opportunity carries packets that arrived before it. Several packets may share it, and a
/// packet may continue in the next one. What remains when no packet waits is lost.
#[derive(Debug)]
pub(crate) struct OpportunityLine {
    times: Arc<[u32]>,
    /// The next opportunity: the number of the repetition and the index.
    cycle: u64,
    next: usize,
    /// The opportunity used last, and the bytes that remain in it.
    at: Instant,
    left: u64,
}

impl OpportunityLine {
    fn send(&mut self, now: Instant, since: Instant, bytes: u32) -> Instant {
        let mut owed = u64::from(bytes) + OVERHEAD;
        if since >= self.at || now > self.at {
            self.left = 0;
        }
        if self.left == 0 {
            self.skip_to(now, since);
        }
        loop {
            let part = owed.min(self.left);
            self.left -= part;
            owed -= part;
            if owed == 0 {
                return self.at;
            }
            self.take();
        }
    }

    fn period(&self) -> u64 {
        self.times.last().map_or(1, |last| u64::from(*last))
    }

    /// Moves to the first opportunity that is after `since` and not before `now`.
    fn skip_to(&mut self, now: Instant, since: Instant) {
        let least =
            (since.as_nanos() / NANOS_PER_MS + 1).max(now.as_nanos().div_ceil(NANOS_PER_MS));
        let cycle = (least - 1) / self.period();
        if cycle > self.cycle {
            (self.cycle, self.next) = (cycle, 0);
        }
        let within = least.saturating_sub(self.cycle.saturating_mul(self.period()));
        let index = self.times.partition_point(|time| u64::from(*time) < within);
        self.next = self.next.max(index);
    }

    /// Takes the next opportunity.
    fn take(&mut self) {
        let time = self.times.get(self.next).map_or(0, |time| u64::from(*time));
        let millis = self.cycle.saturating_mul(self.period()).saturating_add(time);
        self.at = Instant::from_nanos(millis.saturating_mul(NANOS_PER_MS));
        self.left = OPPORTUNITY;
        self.next += 1;
        if self.next >= self.times.len() {
            (self.cycle, self.next) = (self.cycle.saturating_add(1), 0);
        }
    }
}

/// A line with a rate that is constant between the changes.
#[derive(Debug)]
pub(crate) struct StepLine {
    course: Arc<Steps>,
    free_at: Instant,
    /// The capacity in the last nanosecond before `free_at` that the last packet did not need, in
    /// bits times nanoseconds per second. A line that stays busy uses it, so it does not drift.
    spare: u128,
}

impl StepLine {
    fn send(&mut self, now: Instant, bytes: u32) -> Instant {
        if now > self.free_at {
            (self.free_at, self.spare) = (now, 0);
        }
        let mut owed = u128::from(bytes) * SCALE;
        let used = owed.min(self.spare);
        owed -= used;
        self.spare -= used;
        let mut at = u128::from(self.free_at.as_nanos());
        if let (Some(period), true) = (self.course.period, owed > self.course.per_period) {
            let whole = (owed - 1) / self.course.per_period;
            owed -= whole * self.course.per_period;
            at += whole * u128::from(period);
        }
        while owed > 0 {
            let (rate, end) = self.course.step(at);
            let needed = if rate == 0 { u128::MAX } else { owed.div_ceil(rate) };
            if needed <= end - at {
                self.spare = needed * rate - owed;
                at += needed;
                break;
            }
            owed -= rate * (end - at);
            at = end;
        }
        self.free_at = Instant::from_nanos(u64::try_from(at).unwrap_or(u64::MAX));
        self.free_at
    }
}

#[cfg(test)]
mod tests;
