//! System calls, those that block included.

use units::{Duration, Instant};

use super::{Played, Player, shown};
use crate::report::Stop;
use crate::script::{Call, Event, When};
use crate::sockets::{Answer, Outcome, Progress};

/// Time after the expected end of a call for which the player waits for its return.
const LOOK_ON: Duration = Duration::from_secs(2);

/// A call that blocks.
#[derive(Debug, Clone)]
pub(super) struct Pending<'a> {
    event: &'a Event,
    call: &'a Call,
    progress: Progress,
    begin: Instant,
    /// Expected time of the return.
    end: Instant,
    /// Time at which the call returns in any case.
    pub(super) until: Instant,
}

impl<'a> Player<'a> {
    /// Makes a call. One that blocks although its event has no second time must return before the
    /// next event.
    pub(super) fn call(&mut self, event: &'a Event, call: &'a Call, base: Instant) -> Played {
        self.trace(&event.text);
        let (begin, until) = (self.machine.now, Instant::NEVER);
        let end = match event.time.when {
            When::Blocking(_, end) => base + end,
            _ => begin,
        };
        let progress = Progress::default();
        self.pending = Some(Pending { event, call, progress, begin, end, until });
        self.retry_pending()?;
        if matches!(event.time.when, When::Blocking(..)) { Ok(()) } else { self.finish_pending() }
    }

    /// Attempts the pending call again.
    pub(super) fn retry_pending(&mut self) -> Played {
        let Some(mut pending) = self.pending.take() else { return Ok(()) };
        match self.machine.call(pending.call, &mut pending.progress) {
            Outcome::Done(answer) => self.returned(&pending, &answer),
            Outcome::NotApplicable(reason) => Err(Stop::not_applicable(pending.event.line, reason)),
            Outcome::Blocked(until) => {
                pending.until = until;
                self.pending = Some(pending);
                Ok(())
            }
        }
    }

    /// Runs the clock on until the pending call returns.
    pub(super) fn finish_pending(&mut self) -> Played {
        while let Some(pending) = &self.pending {
            let latest = pending.end + LOOK_ON;
            match self.next_wakeup().filter(|&next| next <= latest) {
                Some(next) => self.step(next)?,
                None => return Err(self.still_blocked()),
            }
        }
        Ok(())
    }

    /// Runs the clock on until the pending call returns, which must be before another one.
    pub(super) fn finish_pending_before(&mut self, begin: Instant) -> Played {
        self.advance(begin)?;
        self.finish_pending()
    }

    fn still_blocked(&self) -> Stop {
        let Some(pending) = &self.pending else { return Stop::failed(0, "no call blocks") };
        let expected = format!("{} {}", shown(pending.end), pending.event.text);
        Stop::failed(pending.event.line, "the call does not return").between(Some(expected), None)
    }

    /// Compares the result of a call and the time of its return.
    fn returned(&mut self, pending: &Pending, answer: &Answer) -> Played {
        let Pending { event, call, begin, end, .. } = pending;
        let wanted = &call.result;
        let mut problems = answer.differences.clone();
        if wanted.value.is_some_and(|value| value != answer.value) {
            problems.push(format!("result {} instead of {wanted}", result(answer)));
        } else if let Some(error) = &wanted.error
            && answer.error != Some(error.as_str())
        {
            problems.push(format!("error {} instead of {error}", answer.error.unwrap_or("0")));
        }
        let now = self.machine.now;
        let distance = Duration::from_nanos(now.as_nanos().abs_diff(end.as_nanos()));
        let tolerance = self.tolerance(end.since(*begin));
        if distance > tolerance {
            let word = if now < *end { "early" } else { "late" };
            problems.push(format!(
                "the call returned {} s too {word} (tolerance {} s)",
                crate::script::seconds(distance),
                crate::script::seconds(tolerance)
            ));
        }
        if problems.is_empty() {
            return Ok(());
        }
        let expected = format!("{} {}", shown(*end), event.text);
        let actual = format!("{} {} = {}", shown(now), call.name, result(answer));
        Err(Stop::failed(event.line, problems.join("; ")).between(Some(expected), Some(actual)))
    }
}

fn result(answer: &Answer) -> String {
    match answer.error {
        Some(error) => format!("{} {error}", answer.value),
        None => answer.value.to_string(),
    }
}
