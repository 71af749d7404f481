//! A command behind the link, from its start to its end.

use std::io;

use rustix::process::Signal;
use thiserror::Error;
use tun::{Clock, Priority, Signals, TimerSlack};
use units::{Duration, Instant};

use crate::network::{Ends, Network};
use crate::program::{Place, Program};
use crate::pump::Pump;
use crate::report::{Report, seconds};
use crate::settings::Settings;
use crate::trace::{Capture, Trace};

/// Both ends of a link, ready for a command. With the value they are gone.
#[derive(Debug)]
pub struct Emulation {
    settings: Settings,
    network: Network,
}

/// What to run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Job {
    /// The command behind the link, and its arguments.
    pub command: Vec<String>,
    /// A program at the other end, for as long as the command runs.
    pub outside: Option<Vec<String>>,
    /// The packets to keep.
    pub capture: Option<Capture>,
}

/// Why a run could not be made.
#[derive(Debug, Error)]
pub enum EmulationError {
    /// The system refused.
    #[error(transparent)]
    System(#[from] tun::Error),
    /// The command did not start.
    #[error(transparent)]
    Command(tun::Error),
    /// The capture could not be written.
    #[error("cannot write capture `{path}`: {source}")]
    Capture {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
}

impl EmulationError {
    /// What can be done about it.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::System(error) | Self::Command(error) => error.hint(),
            Self::Capture { .. } => Some("name another file"),
        }
    }
}

impl EmulationError {
    /// The exit status that shells, `env` and `timeout` give: 127 when there is no such command and
    /// 126 when it cannot be run; `None` when something else went wrong.
    pub fn exit_status(&self) -> Option<i32> {
        match self {
            Self::Command(error) if error.source().kind() == io::ErrorKind::NotFound => Some(127),
            Self::Command(_) => Some(126),
            Self::System(_) | Self::Capture { .. } => None,
        }
    }
}

/// What goes to the command: a terminal sends the first two to it by itself.
const FOR_THE_COMMAND: [Signal; 4] = [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP];

/// How long packets that are on their way when the command ends have to arrive.
const LINGER: Duration = Duration::from_secs(3);

/// How long the program at the other end has to end when it is asked to.
const PATIENCE: Duration = Duration::from_secs(2);

impl Emulation {
    /// Makes both ends: one in the network namespace of the calling thread, one in a new namespace.
    /// Without the privilege for it and with `own`, both in namespaces of the user's own: then
    /// only what runs there can be reached.
    ///
    /// # Errors
    /// When there are no TUN devices, no privilege or no free addresses.
    pub fn new(settings: &Settings, own: bool) -> Result<Self, EmulationError> {
        let network = Network::new(settings, own)?;
        Ok(Self { settings: settings.clone(), network })
    }

    /// Which addresses the ends have.
    pub fn ends(&self) -> &Ends {
        &self.network.ends
    }

    /// Runs a command behind the link until it ends; then what is on its way arrives. Signals that
    /// ask this process to end go to the command instead.
    ///
    /// # Errors
    /// When the command does not start; when the capture cannot be written, which is noticed before
    /// or told at the end.
    pub fn run(self, job: &Job) -> Result<Report, EmulationError> {
        let clock = Clock::start();
        let trace = self.trace(job.capture.as_ref(), clock)?;
        let network = &self.network;
        let place = |end| Place { end, user: network.user.as_ref(), ends: &network.ends };
        let _exact = TimerSlack::minimal()?;
        let signals = Signals::catch(&FOR_THE_COMMAND)?;
        let mut pump = Pump::new(clock, &self.settings, network, trace);
        let outside = job
            .outside
            .as_deref()
            .map(|words| Program::background(words, &place(&network.outside)));
        let mut outside = outside.transpose()?;
        let mut command = Program::foreground(&job.command, &place(&network.inside))
            .map_err(EmulationError::Command)?;
        // Only now: what is started may inherit it. In real time a thread that never sleeps would
        // leave no time to others.
        let _first =
            if self.settings.spin.is_zero() { Priority::real_time() } else { Priority::highest() };
        let mut outside_exit_status = None;
        let mut deadline = Instant::NEVER;
        let mut ended = clock.now();
        let exit_status = loop {
            pump.turn()?;
            let watched = [
                Some(&signals as _),
                command.watched(),
                outside.as_ref().and_then(Program::watched),
            ];
            // When nothing is on its way any more, only a look at what has just come.
            let over = command.status_known().is_some() && pump.is_empty();
            let until = if over { Instant::ZERO } else { deadline };
            let [signal, end, other_end] = pump.wait(watched, until)?;
            if other_end && let Some(outside) = &mut outside {
                let status = outside.status()?;
                if command.status_known().is_none() {
                    outside_exit_status = status;
                }
            }
            while let Some(caught) = signal.then(|| signals.next()).flatten() {
                if command.watched().is_none() {
                    // It is waited for the packets only.
                    deadline = Instant::ZERO;
                } else if caught.from_process {
                    command.signal(caught.signal);
                }
            }
            if end && command.status()?.is_some() {
                ended = clock.now();
                deadline = ended + LINGER;
            }
            if let Some(status) = command.status_known()
                && ((pump.is_empty() && !pump.is_readable()) || clock.now() >= deadline)
            {
                break status;
            }
        };
        let ([up, down], written) = pump.finish()?;
        if let Some(outside) = outside {
            outside.end(clock, PATIENCE)?;
        }
        written.map_err(|source| unwritable(job.capture.as_ref(), source))?;
        Ok(Report {
            command: job.command.clone(),
            exit_status,
            outside_exit_status,
            duration_s: seconds(ended.since(Instant::ZERO)),
            seed: self.settings.seed,
            ends: network.ends.clone(),
            up,
            down,
        })
    }

    fn trace(
        &self,
        capture: Option<&Capture>,
        clock: Clock,
    ) -> Result<Option<Trace>, EmulationError> {
        let Some(wanted) = capture else { return Ok(None) };
        let epoch = clock.since_1970(Instant::ZERO);
        let trace = Trace::create(wanted, &self.settings, &self.network.ends, epoch);
        trace.map(Some).map_err(|source| unwritable(capture, source))
    }
}

fn unwritable(capture: Option<&Capture>, source: io::Error) -> EmulationError {
    let path = capture.map(|capture| capture.path.display().to_string()).unwrap_or_default();
    EmulationError::Capture { path, source }
}
