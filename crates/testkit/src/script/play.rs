//! Execution of a script.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use tcp::{CallError, CloseReason, Config, Connection, Event, Negotiated, Repair, Timeouts};
use units::Instant;
use wire::{Control, Segment, WindowScale};

use super::pattern::{Pattern, Peer};
use super::setup::Setup;
use super::{Action, Report, Step};
use crate::notation::Origins;

/// Number of last segments in an error.
const SHOWN: usize = 12;
/// Maximum number of segments at one time; more indicate an endless loop.
const MAX_AT_ONCE: usize = 10_000;

/// Plays the steps. An error contains the line where it occurred.
pub(super) fn play(setup: &Setup, steps: &[Step]) -> Result<(), (u32, String)> {
    let mut player = Player::new(setup);
    let mut last = 0;
    for step in steps {
        last = step.line;
        player.step(step).map_err(|problem| (step.line, player.with_history(&problem)))?;
    }
    player.nothing_left().map_err(|problem| (last, player.with_history(&problem)))
}

struct Player<'a> {
    setup: &'a Setup,
    connection: Connection,
    now: Instant,
    /// Sent segments that have not been expected yet.
    sent: VecDeque<(Instant, Segment)>,
    events: VecDeque<Event>,
    peer: Peer,
    ours: Origins,
    theirs: Origins,
    history: VecDeque<String>,
}

impl<'a> Player<'a> {
    fn new(setup: &'a Setup) -> Self {
        let rto = setup.config.sender.rto(setup.config.rto);
        let config = Arc::new(Config { rto, ..setup.config.clone() });
        let negotiated = Negotiated {
            peer_mss: setup.peer_mss,
            send_scale: if setup.config.window_scaling {
                setup.peer_scale
            } else {
                WindowScale::NONE
            },
            ..Negotiated::between_equals(&config)
        };
        let first = u32::from(setup.established);
        let connection = if setup.established {
            Connection::established(config, setup.iss, setup.irs, negotiated, setup.window)
        } else {
            Connection::new(config, setup.iss)
        };
        let (mine, other) = (negotiated.receive_scale, negotiated.send_scale);
        // Windows are not scaled before the handshake.
        let scale = |scale| if setup.established { scale } else { WindowScale::NONE };
        Self {
            setup,
            connection,
            now: Instant::ZERO,
            sent: VecDeque::new(),
            events: VecDeque::new(),
            peer: Peer { nxt: first, ack: first, window: setup.window },
            ours: Origins { seq: setup.iss, ack: setup.irs, scale: scale(mine) },
            theirs: Origins { seq: setup.irs, ack: setup.iss, scale: scale(other) },
            history: VecDeque::new(),
        }
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        self.advance(self.now + step.after)?;
        if let Action::Expect(patterns) = &step.action {
            return patterns.iter().try_for_each(|pattern| self.expect(pattern));
        }
        self.nothing_left()?;
        match &step.action {
            Action::Expect(_) | Action::Quiet => {}
            Action::Arrive(pattern) => self.arrive(pattern)?,
            Action::Connect { refused } => called(&self.connection.connect(), *refused)?,
            Action::Listen { refused } => called(&self.connection.listen(), *refused)?,
            Action::Close { refused } => called(&self.connection.close(), *refused)?,
            Action::Abort => self.connection.abort(),
            Action::RefuseData => self.connection.refuse_data(),
            Action::UserTimeout(span) => {
                let timeouts = Timeouts { user_timeout: Some(*span), ..self.setup.config.timeouts };
                self.connection.set_timeouts(timeouts, self.now);
            }
            Action::Write { bytes, taken } => {
                let seen = self.connection.write(*bytes).map_err(|error| error.to_string())?;
                if seen != *taken {
                    return Err(format!("expected {taken} bytes to be taken, seen {seen}"));
                }
            }
            Action::Read { bytes, taken } => {
                let seen = self.connection.read(*bytes);
                if seen != *taken {
                    return Err(format!("expected {taken} bytes to be read, seen {seen}"));
                }
            }
            Action::Icmp { report, seq, ignored } => {
                let seq = self.setup.iss + *seq;
                let believed = match report {
                    Report::TooBig(mss) => self.connection.on_packet_too_big(*mss, seq, self.now),
                    Report::Error(error) => self.connection.on_icmp_error(*error, seq, self.now),
                };
                if believed == *ignored {
                    let seen = if believed { "believed" } else { "ignored" };
                    return Err(format!("the report was {seen}"));
                }
            }
            Action::Assert(claims) => {
                return claims
                    .iter()
                    .try_for_each(|claim| claim.check(&self.connection, self.setup, self.now));
            }
            Action::Event(name) => return self.event(name),
        }
        self.drain()
    }

    /// Advances the time, with expiring timers.
    fn advance(&mut self, until: Instant) -> Result<(), String> {
        while self.connection.next_timeout() <= until {
            self.now = self.now.max(self.connection.next_timeout());
            self.connection.on_timeout(self.now);
            self.drain()?;
        }
        self.now = until;
        Ok(())
    }

    fn drain(&mut self) -> Result<(), String> {
        let before = self.sent.len();
        while let Some(segment) = self.connection.poll_transmit(self.now) {
            self.remember('>', &segment, self.ours);
            self.sent.push_back((self.now, segment));
            if self.sent.len() > before + MAX_AT_ONCE {
                return Err("expected silence at some point, and it never comes".to_owned());
            }
        }
        while let Some(event) = self.connection.poll_event() {
            self.events.push_back(event);
        }
        Ok(())
    }

    fn expect(&mut self, pattern: &Pattern) -> Result<(), String> {
        let Some((at, segment)) = self.sent.pop_front() else {
            return Err(format!("expected `{}`, seen nothing", pattern.text()));
        };
        if segment.control == Control::Syn {
            // Windows are scaled from now on if both ends negotiated it.
            self.ours.scale = segment.options.window_scale.unwrap_or_default();
        }
        let shown = self.ours.show(&segment).to_string();
        if at != self.now {
            return Err(format!(
                "expected `{}`, seen `{shown}` at {at} instead of {}",
                pattern.text(),
                self.now
            ));
        }
        if pattern.matches(&segment, &self.ours) {
            return Ok(());
        }
        Err(format!("expected `{}`, seen `{shown}`", pattern.text()))
    }

    fn arrive(&mut self, pattern: &Pattern) -> Result<(), String> {
        let (segment, after) = pattern.build(self.peer, &self.theirs)?;
        self.remember('<', &segment, self.theirs);
        if segment.control == Control::Syn {
            let offered = self.setup.config.window_scaling;
            if let Some(scale) = segment.options.window_scale.filter(|_| offered) {
                self.theirs.scale = scale;
            } else {
                (self.theirs.scale, self.ours.scale) = (WindowScale::NONE, WindowScale::NONE);
            }
        }
        self.peer = after;
        self.connection.on_segment(&segment, self.now);
        Ok(())
    }

    fn event(&mut self, name: &str) -> Result<(), String> {
        let seen: Vec<String> = self.events.iter().map(event_name).collect();
        let Some(index) = seen.iter().position(|event| event == name) else {
            let shown = if seen.is_empty() { "none".to_owned() } else { seen.join("`, `") };
            return Err(format!("expected the event `{name}`, seen `{shown}`"));
        };
        self.events.drain(..=index);
        Ok(())
    }

    fn nothing_left(&self) -> Result<(), String> {
        match self.sent.front() {
            None => Ok(()),
            Some((at, segment)) => {
                Err(format!("expected nothing, seen `{}` at {at}", self.ours.show(segment)))
            }
        }
    }

    fn remember(&mut self, direction: char, segment: &Segment, origins: Origins) {
        if self.history.len() == SHOWN {
            self.history.pop_front();
        }
        self.history.push_back(format!("{} {direction} {}", self.now, origins.show(segment)));
    }

    fn with_history(&self, problem: &str) -> String {
        let mut text = problem.to_owned();
        let snd = self.connection.send_state();
        let _ = write!(
            text,
            "\n    at {}: {} cwnd {} ssthresh {} flight {} in_flight {} mss_c {} peer_window {} rto {}",
            self.now,
            self.connection.state(),
            self.connection.cwnd(),
            self.connection.ssthresh(),
            self.connection.flight(),
            snd.segments,
            snd.mss_c,
            snd.wnd,
            self.connection.rto(),
        );
        for line in &self.history {
            let _ = write!(text, "\n    {line}");
        }
        text
    }
}

fn called(answer: &Result<(), CallError>, refused: bool) -> Result<(), String> {
    match (answer, refused) {
        (Ok(()), false) | (Err(_), true) => Ok(()),
        (Ok(()), true) => Err("expected the call to fail, and it did not".to_owned()),
        (Err(error), false) => Err(error.to_string()),
    }
}

fn event_name(event: &Event) -> String {
    match event {
        Event::Connected => "connected",
        Event::PeerClosed => "peer-closed",
        Event::Closed(CloseReason::Finished) => "closed finished",
        Event::Closed(CloseReason::ResetByPeer) => "closed reset-by-peer",
        Event::Closed(CloseReason::Refused) => "closed refused",
        Event::Closed(CloseReason::TimedOut) => "closed timed-out",
        Event::Closed(CloseReason::Aborted) => "closed aborted",
        Event::Closed(CloseReason::KeepAlive) => "closed keep-alive",
        Event::Closed(CloseReason::FinWait2) => "closed fin-wait-2",
        Event::Closed(CloseReason::Unreachable) => "closed unreachable",
        Event::Loss(loss) => match loss.repair {
            Repair::FastRetransmit => "loss fast-retransmit",
            Repair::Timeout => "loss timeout",
            Repair::SynTimeout => "loss syn-timeout",
            Repair::LossProbe => "loss-probe",
            Repair::TailCopy => "tail-copy",
            Repair::Mark => "mark",
        },
    }
    .to_owned()
}
