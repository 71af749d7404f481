//! Several links of one command, as of a host with several networks: each has a device and an
//! address of its own inside, and an address of its own outside.
//!
//! The source address of a packet selects its link. A program selects it by binding its socket to
//! an address, as Multipath TCP does for its subflows (RFC 8684). All other packets pass the first
//! link. A thread for each link forwards its packets.

use std::io::{PipeWriter, Write as _};

use tun::{Clock, Signals};

use crate::network::Ends;
use crate::report::Report;
use crate::run::{Emulation, EmulationError, FORWARDED_SIGNALS, Job};
use crate::settings::Settings;

/// Links of one command. They are removed when the value is dropped.
#[derive(Debug)]
pub struct Several {
    first: Emulation,
    others: Vec<Emulation>,
    /// Pipes that end the others.
    stops: Vec<PipeWriter>,
}

/// The maximum number of links of a command.
const MAX_LINKS: usize = 8;

impl Several {
    /// Begins with one link.
    pub fn new(first: Emulation) -> Self {
        Self { first, others: Vec::new(), stops: Vec::new() }
    }

    /// Adds a link, and returns its addresses.
    ///
    /// # Errors
    /// If there are eight links, and if the first link has an existing namespace
    /// whose rules use the number of the link.
    pub fn add(&mut self, settings: &Settings) -> Result<&mut Emulation, EmulationError> {
        let number = self.others.len() + 2;
        let number =
            u8::try_from(number).ok().filter(|_| number <= MAX_LINKS).ok_or_else(|| {
                tun::Error::new(
                    format!("make link {number} of the command"),
                    std::io::ErrorKind::QuotaExceeded,
                )
                .with_hint("a command has at most eight links")
            })?;
        let (end, stop) = std::io::pipe().map_err(|e| tun::Error::new("make a pipe", e))?;
        let added = Emulation::beside(settings, &self.first, number, end.into())?;
        self.stops.push(stop);
        self.others.push(added);
        let last = self.others.len() - 1;
        Ok(&mut self.others[last])
    }

    /// The links, in order.
    pub fn links(&self) -> impl Iterator<Item = &Emulation> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Runs the command of `job` behind the links until it ends, and then until its packets have
    /// arrived, as [`Emulation::run`] does. `others` are the captures, schedules and names of the
    /// other links; their programs are not used. Returns a report for each link, in order.
    ///
    /// # Errors
    /// The errors of [`Emulation::run`]. Those that concern files and names are found before the
    /// command starts.
    pub fn run(self, job: &Job, others: &[Job]) -> Result<Vec<Report>, EmulationError> {
        let Self { first, others: links, stops } = self;
        let clock = Clock::start();
        let ends: Vec<Ends> =
            std::iter::once(&first).chain(&links).map(|link| link.ends().clone()).collect();
        let files = first.files(job, clock)?;
        let mut started = Vec::new();
        for (link, other) in links.into_iter().zip(others) {
            let job = Job { command: job.command.clone(), ..other.clone() };
            let files = link.files(&job, clock)?;
            started.push((link, job, files));
        }
        let signals = Signals::catch(&FORWARDED_SIGNALS)?;
        std::thread::scope(|scope| {
            let ends = &ends;
            let threads: Vec<_> = started
                .into_iter()
                .map(|(link, job, files)| {
                    scope.spawn(move || link.run_with(&job, files, clock, None, ends))
                })
                .collect();
            let found = first.run_with(job, files, clock, Some(&signals), ends);
            for mut stop in stops {
                // A byte, because a copy of the pipe's end in another process would keep it open.
                let _ = stop.write_all(&[0]);
            }
            let rest: Vec<_> = threads
                .into_iter()
                .map(|thread| match thread.join() {
                    Ok(result) => result,
                    Err(panic) => std::panic::resume_unwind(panic),
                })
                .collect();
            let mut reports = vec![found?];
            for report in rest {
                let exit_status = reports[0].exit_status;
                let report = Report { exit_status, ..report? };
                reports.push(report);
            }
            Ok(reports)
        })
    }
}
