//! Playing a script in virtual time.
//!
//! The clock jumps from event to event and to the timers between them. Segments that leave wait in
//! a queue, from which each expected packet takes the oldest.

mod applicable;
mod arrive;
mod calls;
mod expect;

use policy::SenderPolicy;
use units::{Duration, Instant};

use crate::expression::{Scope, Variables};
use crate::info;
use crate::profile::Profile;
use crate::report::{Note, Report, Stop, Verdict};
use crate::script::{
    Action, Definitions, Direction, Event, Packet, Script, Setting, When, seconds,
};
use crate::shell;
use crate::sockets::Machine;

use calls::Pending;

/// How scripts are played.
#[derive(Debug, Clone)]
pub struct Options {
    /// Profile of the TCP.
    pub profile: Profile,
    /// Sender instead of the profile's.
    pub sender: Option<SenderPolicy>,
    /// Compare PSH also on packets of several segments.
    pub strict_psh: bool,
    /// Record what happens.
    pub trace: bool,
    /// Replacements for words of the script.
    pub definitions: Definitions,
    /// Settings that override those of the script.
    pub settings: Vec<Setting>,
}

impl Options {
    /// Options without any choice but the profile.
    pub fn of(profile: Profile) -> Self {
        Self {
            profile,
            sender: None,
            strict_psh: false,
            trace: false,
            definitions: Definitions::new(),
            settings: Vec::new(),
        }
    }
}

/// Reads and plays a script. `name` is the name of its file, for messages.
pub fn run(name: &str, text: &str, options: &Options) -> Report {
    match Script::parse(name, text, &options.definitions) {
        Ok(script) => play(&script, options),
        Err(error) => {
            let mut report = Report::new(name, 0);
            report.stop(Stop {
                verdict: Verdict::Unreadable,
                ..Stop::failed(error.line, format!("column {}: {}", error.column, error.problem))
            });
            report
        }
    }
}

/// Plays a script.
pub fn play(script: &Script, options: &Options) -> Report {
    let mut report = Report::new(&script.name, script.events.len());
    let outcome = applicable::check(script, options).and_then(|settings| {
        let machine = Machine::new(options.profile, options.sender);
        let mut player = Player {
            options,
            settings,
            machine,
            previous: Previous::default(),
            pending: None,
            variables: Variables::new(),
            steps: 0,
            line: 1,
            report: &mut report,
        };
        player.play(script)
    });
    if let Err(stop) = outcome {
        report.stop(stop);
    }
    report
}

/// Settings of a script that concern the player.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct PlaySettings {
    tolerance: Duration,
    /// Share of the distance that is accepted, in thousandths of a percent.
    tolerance_percent: u64,
    /// Length of the segments that a device joined into one that arrives.
    unit: Option<u32>,
    strict_segments: bool,
    /// Tick of the script's timestamps in microseconds; 0 if they are not compared.
    stamp_tick: u64,
    /// Whether echoes of timestamps may be counted from the first one.
    scaled_echoes: bool,
}

/// Times of the event before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Previous {
    nominal: Instant,
    done: Instant,
    arrived: bool,
}

struct Player<'a> {
    options: &'a Options,
    settings: PlaySettings,
    machine: Machine,
    previous: Previous,
    /// Call that blocks.
    pending: Option<Pending<'a>>,
    variables: Variables,
    /// Number of timers that expired.
    steps: u32,
    /// Line of the current event.
    line: u32,
    report: &'a mut Report,
}

/// Maximum number of timers that expire in a script. More indicate an endless loop.
const MOST_STEPS: u32 = 1_000_000;

type Played = Result<(), Stop>;

impl<'a> Player<'a> {
    fn play(&mut self, script: &'a Script) -> Played {
        if let Some(init) = &script.init {
            self.command(init.line, &init.text)?;
        }
        for event in &script.events {
            self.event(event)?;
            self.report.events[0] += 1;
        }
        self.finish_pending()?;
        let queues = self.machine.host.endpoints.iter().map(|endpoint| endpoint.sent.len());
        self.report.unmatched = queues.sum();
        Ok(())
    }

    fn event(&mut self, event: &'a Event) -> Played {
        self.line = event.line;
        let arrives = is_direction(event, Direction::Inbound);
        let base = match (event.time.relative, arrives && self.previous.arrived) {
            (false, _) => Instant::ZERO,
            (true, true) => self.previous.nominal,
            (true, false) => self.previous.done,
        };
        if is_direction(event, Direction::Outbound) {
            return self.expect(event, base);
        }
        let (When::At(offset) | When::Range(offset, _) | When::Blocking(offset, _)) =
            event.time.when
        else {
            return Ok(());
        };
        let nominal = base + offset;
        if nominal < self.machine.now && !event.time.relative {
            return Err(Stop::failed(
                event.line,
                format!("the time of the event has passed: it is {} s", self.clock()),
            ));
        }
        let begin = nominal.max(self.machine.now);
        if matches!(event.action, Action::Call(_)) {
            // One call at a time.
            self.finish_pending_before(begin)?;
        }
        self.advance(begin)?;
        let begin = self.machine.now;
        match &event.action {
            Action::Packet(packet) => self.arrive(event, packet)?,
            Action::Call(call) => self.call(event, call, base)?,
            Action::Command(command) => {
                self.trace(&event.text);
                self.command(command.line, &command.text)?;
            }
            Action::Code(code) => self.evaluate(event, code)?,
        }
        let done =
            if matches!(event.time.when, When::Blocking(..)) { begin } else { self.machine.now };
        self.previous = Previous { nominal, done, arrived: arrives };
        Ok(())
    }

    /// Advances the clock, with expiring timers and calls that return.
    fn advance(&mut self, until: Instant) -> Played {
        while let Some(next) = self.next_wakeup().filter(|&next| next <= until) {
            self.step(next)?;
        }
        self.machine.now = self.machine.now.max(until);
        Ok(())
    }

    /// Time of the next timer.
    fn next_wakeup(&self) -> Option<Instant> {
        let call = self.pending.as_ref().map_or(Instant::NEVER, |pending| pending.until);
        let next = self.machine.host.next_timeout().min(call);
        (next < Instant::NEVER).then_some(next)
    }

    /// Advances the clock to a timer and expires it.
    fn step(&mut self, next: Instant) -> Played {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Err(Stop::failed(self.line, "timers expire without an end"));
        }
        self.machine.now = self.machine.now.max(next);
        self.machine.host.on_timeout(self.machine.now);
        self.machine.drain();
        self.retry_pending()
    }

    fn command(&mut self, line: u32, text: &str) -> Played {
        shell::apply(text, &mut self.machine.settings)
            .map_err(|(offset, reason)| Stop::not_applicable(line + offset, reason))
    }

    fn evaluate(&mut self, event: &Event, code: &crate::expression::Code) -> Played {
        let now = self.machine.now;
        let endpoint = self.machine.host.tested();
        let known = |name: &str| {
            let value = endpoint.as_ref().and_then(|endpoint| {
                info::value(name, &endpoint.connection, &endpoint.observed(now))
            });
            value.or_else(|| info::constant(name))
        };
        let mut scope = Scope {
            known: &known,
            variables: &mut self.variables,
            printed: &mut self.report.printed,
        };
        let outcome = code.run(&mut scope);
        self.trace(&event.text);
        outcome.map_err(|failure| {
            let at = format!("at {} s", self.clock());
            Stop::failed(failure.line, failure.problem).between(Some(failure.statement), Some(at))
        })
    }

    fn clock(&self) -> String {
        shown(self.machine.now)
    }

    fn trace(&mut self, text: &str) {
        if self.options.trace {
            let line = format!("{:>10} {text}", self.clock());
            self.report.trace.push(line);
        }
    }

    fn note(&mut self, line: u32, text: String) {
        self.report.notes.push(Note { line, text });
    }

    /// Largest accepted difference of an event at this distance from the event before.
    fn tolerance(&self, distance: Duration) -> Duration {
        let share = distance.as_nanos() / 1000 * self.settings.tolerance_percent / 100_000 * 1000;
        self.settings.tolerance.max(Duration::from_nanos(share))
    }
}

/// Formats a time in seconds.
fn shown(at: Instant) -> String {
    seconds(at.since(Instant::ZERO))
}

fn is_direction(event: &Event, wanted: Direction) -> bool {
    match &event.action {
        Action::Packet(Packet::Tcp(packet)) => packet.direction == wanted,
        Action::Packet(Packet::Icmp(packet)) => packet.direction == wanted,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
