//! A run of a command behind an emulated link.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::Signal;
use thiserror::Error;
use tun::{Clock, Priority, Signals, TcpSockets, TimerSlack};
use units::{Duration, Instant};

use crate::attached::{Attachment, Target};
use crate::control::{Control, Server};
use crate::convert::seconds;
use crate::network::{Ends, Network, WithoutPrivilege};
use crate::program::{Environment, Program};
use crate::pump::{Finished, Pump};
use crate::reach::{Reach, needs_forwarder};
use crate::report::Report;
use crate::settings::{Schedule, Settings};
use crate::trace::{Capture, Trace};

/// Both ends of a link, ready for a command. They are removed when the value is dropped.
#[derive(Debug)]
pub struct Emulation {
    settings: Settings,
    network: Network,
    /// Whether the inner end is in an existing namespace.
    attached: bool,
    /// The networks outside of this machine, if the command reaches them.
    reach: Option<Reach>,
}

/// The programs and the capture of a run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Job {
    /// The command behind the link, and its arguments. It may be empty for a link to an existing
    /// namespace.
    pub command: Vec<String>,
    /// A program at the other end, which runs as long as the command.
    pub outside: Option<Vec<String>>,
    /// The capture to write.
    pub capture: Option<Capture>,
    /// The settings over time. The default keeps the settings of the start.
    pub schedule: Schedule,
    /// The control socket, for requests during the run.
    pub control: Option<Control>,
}

/// An error of a run.
#[derive(Debug, Error)]
pub enum EmulationError {
    /// A system call failed.
    #[error(transparent)]
    System(#[from] tun::Error),
    /// The command did not start.
    #[error(transparent)]
    Command(tun::Error),
    /// The control socket could not be made.
    #[error("cannot make link `{name}`: {source}")]
    Control {
        /// The name of the link.
        name: String,
        /// The cause.
        source: io::Error,
    },
    /// The capture could not be written.
    #[error("cannot write capture `{path}`: {source}")]
    Capture {
        /// The path of the file.
        path: String,
        /// The cause.
        source: io::Error,
    },
}

impl EmulationError {
    /// Advice on how to correct the error.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::System(error) | Self::Command(error) => error.hint(),
            Self::Control { .. } => Some("choose another name"),
            Self::Capture { .. } => Some("name another file"),
        }
    }
}

impl EmulationError {
    /// The exit status that shells, `env` and `timeout` use: 127 if the command does not exist, 126
    /// if it cannot be executed; `None` for other errors.
    pub fn exit_status(&self) -> Option<i32> {
        match self {
            Self::Command(error) if error.source().kind() == io::ErrorKind::NotFound => Some(127),
            Self::Command(_) => Some(126),
            Self::System(_) | Self::Control { .. } | Self::Capture { .. } => None,
        }
    }
}

/// Signals that are forwarded to the command. A terminal sends the first two to the command itself.
pub(crate) const FORWARDED_SIGNALS: [Signal; 4] =
    [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP];

/// The maximum time for which packets of the command may still arrive after it has ended.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(3);

/// The time between two looks at the sockets of a command that has ended.
const SOCKETS_PERIOD: Duration = Duration::from_millis(10);

/// The time for which the program at the other end may continue after SIGTERM.
const TERMINATION_TIMEOUT: Duration = Duration::from_secs(2);

impl Emulation {
    /// Makes both ends: one in the network namespace of the calling thread, one in a new namespace.
    /// Without the privilege, `own` selects two namespaces of the user's own, and only programs in
    /// them can be reached.
    ///
    /// # Errors
    /// If there are no TUN devices, no privilege or no free addresses.
    pub fn new(settings: &Settings, own: bool) -> Result<Self, EmulationError> {
        let own = if own { WithoutPrivilege::OwnNamespaces } else { WithoutPrivilege::Refused };
        let network = Network::new(settings, own)?;
        Ok(Self { settings: settings.clone(), network, attached: false, reach: None })
    }

    /// Makes both ends as [`new`](Self::new) does, and connects the link to the networks outside of
    /// this machine. Without the privilege, the outer end is in a namespace of the user's own with
    /// a gateway, whose connections are those of this process.
    ///
    /// # Errors
    /// The errors of [`new`](Self::new) and [`reach_outside`](Self::reach_outside).
    pub fn reaching_outside(settings: &Settings) -> Result<Self, EmulationError> {
        let needs_dns = needs_forwarder()?;
        let network = Network::new(settings, WithoutPrivilege::Gateway { needs_dns })?;
        let mut made = Self { settings: settings.clone(), network, attached: false, reach: None };
        made.reach_outside()?;
        Ok(made)
    }

    /// Makes both ends: one in the network namespace of the calling thread, one in an existing
    /// namespace. A job for this link may have an empty command: it ends with a termination signal,
    /// or with the target's process.
    ///
    /// # Errors
    /// If the namespace does not exist or is the caller's; the errors of [`new`](Self::new).
    pub fn attached(settings: &Settings, target: &Target) -> Result<Self, EmulationError> {
        let network = Network::attached(settings, Attachment::open(target)?)?;
        Ok(Self { settings: settings.clone(), network, attached: true, reach: None })
    }

    /// Connects the link to the networks outside of this machine, by address translation, with the
    /// DNS servers of this machine. A link in a namespace of the user's own has the gateway of the
    /// first link.
    ///
    /// # Errors
    /// If there is no default route, no privilege, or no nftables in the kernel.
    pub fn reach_outside(&mut self) -> Result<(), EmulationError> {
        self.reach = Some(Reach::new(&mut self.network, self.settings.mtu)?);
        Ok(())
    }

    /// Whether connections of the link to the networks outside end at a gateway, because there is
    /// no privilege for address translation.
    pub fn has_gateway(&self) -> bool {
        self.reach.as_ref().is_some_and(Reach::is_gateway)
    }

    /// The addresses of the ends.
    pub fn ends(&self) -> &Ends {
        &self.network.ends
    }

    /// Makes a further link for the command: both ends, one in the network namespace of the calling
    /// thread, one in that of the inside end of `first`. It ends when `end` is readable.
    pub(crate) fn beside(
        settings: &Settings,
        first: &Self,
        number: u8,
        end: OwnedFd,
    ) -> Result<Self, EmulationError> {
        let network = Network::beside(settings, &first.network, number, end)?;
        Ok(Self { settings: settings.clone(), network, attached: true, reach: None })
    }

    /// Runs a command behind the link until it ends, and then until the packets in the link and
    /// the data of its closed sockets have arrived, for 3 s at most. Termination signals to this
    /// process are forwarded to the command.
    ///
    /// # Errors
    /// If the command does not start or the capture cannot be written. An error of the capture is
    /// detected before the start or reported at the end.
    pub fn run(self, job: &Job) -> Result<Report, EmulationError> {
        let clock = Clock::start();
        let files = self.files(job, clock)?;
        let signals = Signals::catch(&FORWARDED_SIGNALS)?;
        let ends = [self.network.ends.clone()];
        self.run_with(job, files, clock, Some(&signals), &ends)
    }

    /// Makes what a run writes to, before any program starts.
    pub(crate) fn files(&self, job: &Job, clock: Clock) -> Result<Files, EmulationError> {
        Ok(Files { trace: self.trace(job.capture.as_ref(), clock)?, server: self.server(job)? })
    }

    /// Runs a command as [`run`](Self::run) does. Without `signals`, another thread runs the
    /// command, and this link ends when its network says so. `all` are the addresses of all links
    /// of the command.
    pub(crate) fn run_with(
        self,
        job: &Job,
        files: Files,
        clock: Clock,
        signals: Option<&Signals>,
        all: &[Ends],
    ) -> Result<Report, EmulationError> {
        let Files { trace, mut server } = files;
        let network = &self.network;
        let _exact = TimerSlack::minimal()?;
        let schedule = job.schedule.clone();
        let mut pump = Pump::new(clock, &self.settings, network, trace, schedule);
        let mut programs = self.start_programs(job, all, signals.is_none())?;
        // Set after the start of programs, which would inherit it. With real-time priority, a
        // thread that never sleeps would block all others.
        let _first =
            if self.settings.spin.is_zero() { Priority::real_time() } else { Priority::highest() };
        let (exit_status, ended) = programs.run(&mut pump, signals, clock, server.as_mut())?;
        let Programs { outside, outside_exit_status, .. } = programs;
        // Requests end before the results are computed.
        drop(server);
        let Finished { reports: [up, down], series, changes, written } = pump.finish()?;
        let (changes, omitted_changes) = changes;
        if let Some(outside) = outside {
            outside.end(clock, TERMINATION_TIMEOUT)?;
        }
        written.map_err(|source| unwritable(job.capture.as_ref(), source))?;
        let dropped = self.reach.as_ref().map(Reach::dropped_packets).transpose()?.flatten();
        Ok(Report {
            command: job.command.clone(),
            exit_status,
            outside_exit_status,
            duration_s: seconds(ended.since(Instant::ZERO)),
            seed: self.settings.seed,
            name: job.control.as_ref().map(|control| control.name.clone()),
            ends: network.ends.clone(),
            firewall_dropped_packets: dropped,
            up,
            down,
            series,
            changes,
            omitted_changes,
        })
    }

    /// Starts the programs of a job. A link beside others has none.
    fn start_programs(
        &self,
        job: &Job,
        all: &[Ends],
        is_beside: bool,
    ) -> Result<Programs, EmulationError> {
        let network = &self.network;
        let resolv_conf = self.reach.as_ref().and_then(Reach::resolv_conf);
        let environment = |end| Environment {
            end,
            user: network.user.as_ref(),
            ends: all,
            resolv_conf: resolv_conf.filter(|_| std::ptr::eq(end, &raw const network.inside)),
        };
        let outside = job
            .outside
            .as_deref()
            .map(|words| Program::background(words, &environment(&network.outside)));
        let outside = outside.transpose()?;
        // Of an existing namespace, most sockets are those of other programs.
        let sockets = if self.attached { None } else { Some(network.inside_sockets()?) };
        let command = if is_beside || job.command.is_empty() && self.attached {
            self.process()?
        } else {
            Program::foreground(&job.command, &environment(&network.inside))
                .map_err(EmulationError::Command)?
        };
        Ok(Programs { command, outside, outside_exit_status: None, sockets })
    }

    /// The server of requests, if the link has a name.
    fn server(&self, job: &Job) -> Result<Option<Server>, EmulationError> {
        let Some(control) = &job.control else { return Ok(None) };
        let server = Server::new(control, &job.command, &self.network.ends);
        server
            .map(Some)
            .map_err(|source| EmulationError::Control { name: control.name.clone(), source })
    }

    /// The process of the network namespace, if one was named, in place of a command.
    fn process(&self) -> Result<Program, EmulationError> {
        let process = self.network.process.as_ref().map(OwnedFd::try_clone).transpose();
        let process = process
            .map_err(|e| tun::Error::new("watch the process in the network namespace", e))?;
        Ok(Program::other(process))
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

/// The capture and the control socket of a run.
pub(crate) struct Files {
    trace: Option<Trace>,
    server: Option<Server>,
}

/// The programs of a run.
struct Programs {
    command: Program,
    outside: Option<Program>,
    /// The exit status of the program at the other end, if it ended before the command.
    outside_exit_status: Option<i32>,
    /// The sockets of the command, if its namespace is new.
    sockets: Option<TcpSockets>,
}

impl Programs {
    /// Forwards packets and signals until the command has ended, the packets in the link have
    /// arrived, and no closed socket waits for an acknowledgment. Returns the exit status of the
    /// command and the time of its end.
    fn run(
        &mut self,
        pump: &mut Pump,
        signals: Option<&Signals>,
        clock: Clock,
        mut server: Option<&mut Server>,
    ) -> Result<(i32, Instant), EmulationError> {
        let mut deadline = Instant::NEVER;
        let mut ended = clock.now();
        loop {
            pump.process_ready()?;
            let is_over = self.command.known_status().is_some() && pump.is_empty();
            let is_sending = is_over && self.is_sending()?;
            let until = match (is_over, is_sending) {
                // Only check for packets that have just arrived.
                (true, false) => Instant::ZERO,
                (true, true) => deadline.min(clock.now() + SOCKETS_PERIOD),
                (false, _) => deadline,
            };
            let to_poll = [
                signals.map(|signals| signals as _),
                self.command.pidfd_to_poll(),
                self.outside.as_ref().and_then(Program::pidfd_to_poll),
                server.as_deref().map(|server| server as _),
            ];
            let [signal, end, other_end, request] = pump.wait(to_poll, until)?;
            if let Some(server) = server.as_deref_mut().filter(|_| request) {
                server.serve(pump);
            }
            if other_end {
                self.take_outside_status()?;
            }
            while let Some(caught) = signals.filter(|_| signal).and_then(Signals::next) {
                if self.command.known_status().is_some() {
                    // The command has ended, so the run only waits for packets: stop waiting.
                    deadline = Instant::ZERO;
                } else {
                    self.command.pass_on(caught);
                }
            }
            let is_new = self.command.known_status().is_none();
            if (end || signal) && is_new && self.command.status()?.is_some() {
                ended = clock.now();
                deadline = ended + DRAIN_TIMEOUT;
            }
            if let Some(status) = self.command.known_status()
                && ((is_over && !is_sending && !pump.is_readable()) || clock.now() >= deadline)
            {
                return Ok((status, ended));
            }
        }
    }

    /// Whether the kernel has data or a FIN of the command that may have been lost.
    fn is_sending(&mut self) -> Result<bool, EmulationError> {
        Ok(self.sockets.as_mut().map_or(Ok(false), TcpSockets::any_is_closing)?)
    }

    /// Takes the exit status of the program at the other end. It counts while the command runs.
    fn take_outside_status(&mut self) -> Result<(), EmulationError> {
        let Some(outside) = &mut self.outside else { return Ok(()) };
        let status = outside.status()?;
        if self.command.known_status().is_none() {
            self.outside_exit_status = status;
        }
        Ok(())
    }
}

fn unwritable(capture: Option<&Capture>, source: io::Error) -> EmulationError {
    let path = capture.map(|capture| capture.path.display().to_string()).unwrap_or_default();
    EmulationError::Capture { path, source }
}
