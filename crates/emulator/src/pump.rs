//! The driver of both directions: packets are read from one device, offered to a line, and written
//! to the other device when they are due.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use link::Tally;
use tun::{Clock, Error, PollFd, PollFlags, Tun};
use units::{Duration, Instant};

use crate::changes::{ChangeRecord, ChangeSource, Changes};
use crate::line::Line;
use crate::network::{End, Network};
use crate::offload::{self, Intake, Outlet};
use crate::packet;
use crate::report::{Counters, LineReport};
use crate::series::{LineSample, Sampler, Series};
use crate::settings::{Overlay, Schedule, Settings, SettingsError, Texts};
use crate::trace::{LinkDirection, Trace};

/// The number of packets read from one device before the other is served and due packets are
/// written.
const BATCH: usize = 32;

/// The maximum time for which parts of one segment wait for each other. Without it, each of them
/// would cost a wake-up on a fast line. Network cards have a similar default, within a factor of
/// two or three.
const MAX_WAIT: Duration = Duration::from_micros(50);

/// The state of both directions.
pub(crate) struct Pump<'a> {
    clock: Clock,
    lanes: [Lane<'a>; 2],
    /// The reader of packets.
    intake: Intake,
    /// A buffer for ICMP reports.
    message: Vec<u8>,
    /// The time for which the driver busy-waits before a packet is due.
    spin: Duration,
    /// The maximum time for which packets wait for other parts of their segment.
    max_wait: Duration,
    recorder: Recorder,
    sampler: Sampler,
    changes: Changes,
}

/// The results of both directions, up and down.
pub(crate) struct Finished {
    pub(crate) reports: [LineReport; 2],
    pub(crate) series: Series,
    /// The changes of the settings, and the number of those not recorded.
    pub(crate) changes: (Vec<ChangeRecord>, u64),
    /// The result of the capture.
    pub(crate) written: io::Result<()>,
}

/// The writer of the capture, if one was requested.
struct Recorder {
    trace: Option<Trace>,
    /// The error that ended the capture.
    failed: Option<io::Error>,
}

struct Lane<'a> {
    direction: LinkDirection,
    from: &'a End,
    to: &'a Tun,
    line: Line,
    outlet: Outlet,
    counters: Counters,
    /// There may be more to read.
    readable: bool,
    /// The path MTU, in bytes.
    path_mtu: Option<u32>,
    /// The source addresses of ICMP reports: those of the other end.
    router: Vec<IpAddr>,
}

impl<'a> Pump<'a> {
    pub(crate) fn new(
        clock: Clock,
        settings: &Settings,
        network: &'a Network,
        trace: Option<Trace>,
        schedule: Schedule,
    ) -> Self {
        let (inside, outside) = (&network.inside, &network.outside);
        let lane =
            |direction, from: &'a End, to: &'a End, line, path_mtu, router: [Option<IpAddr>; 2]| {
                Lane {
                    direction,
                    from,
                    to: &to.tun,
                    line,
                    outlet: Outlet::default(),
                    counters: Counters::new(),
                    readable: true,
                    path_mtu,
                    router: router.into_iter().flatten().collect(),
                }
            };
        let ends = &network.ends;
        let beyond = [Some(ends.outside), ends.outside_v6];
        let here = [Some(ends.inside), ends.inside_v6];
        let lanes = [
            lane(
                LinkDirection::Up,
                inside,
                outside,
                Line::new(&settings.up, settings.seed, "up"),
                settings.up.path_mtu,
                beyond,
            ),
            lane(
                LinkDirection::Down,
                outside,
                inside,
                Line::new(&settings.down, settings.seed, "down"),
                settings.down.path_mtu,
                here,
            ),
        ];
        let intake = Intake::new(settings.mtu, settings.offload);
        let recorder = Recorder { trace, failed: None };
        let mut pump = Self {
            clock,
            lanes,
            intake,
            message: Vec::new(),
            spin: settings.spin,
            max_wait: max_wait(settings),
            recorder,
            sampler: Sampler::new(),
            changes: Changes::new(schedule, [settings.up.clone(), settings.down.clone()]),
        };
        // The schedule may begin with a change.
        pump.apply_changes(Instant::ZERO);
        pump
    }

    /// Makes a change on request.
    ///
    /// # Errors
    /// If an option is invalid or the link cannot make the change.
    pub(crate) fn change(&mut self, options: Overlay) -> Result<(), SettingsError> {
        let now = self.clock.now();
        self.changes.add(now, options)?;
        self.apply_changes(now);
        Ok(())
    }

    /// The options in force, up and down, and the number of changes so far.
    pub(crate) fn settings(&self) -> (&[Texts; 2], u64) {
        (self.changes.options(), self.changes.count())
    }

    /// The statistics of both directions up to now, and the time.
    pub(crate) fn statistics(&mut self) -> (Instant, [LineReport; 2], [Tally; 2]) {
        let now = self.clock.now();
        let reports =
            self.lanes.each_mut().map(|lane| LineReport::new(&mut lane.line, &lane.counters, now));
        (now, reports, self.lanes.each_mut().map(|lane| lane.line.queue(now)))
    }

    /// Applies the configurations in force to both directions.
    fn apply_changes(&mut self, now: Instant) {
        let lines = self.changes.lines();
        for (lane, config) in self.lanes.iter_mut().zip(lines) {
            // The schedule has checked that the link can make the change.
            let made = lane.line.reconfigure(now, config);
            debug_assert!(made.is_ok());
            lane.path_mtu = config.path_mtu;
        }
        if let Some(trace) = &mut self.recorder.trace {
            trace.set_links(lines);
        }
    }

    /// Writes due packets and reads new ones, up to a batch in each direction. Then takes a sample
    /// if it is due.
    pub(crate) fn process_ready(&mut self) -> Result<(), Error> {
        let now = self.clock.now();
        if now >= self.changes.next() {
            // The first combinations were checked before the start. One that is invalid has no
            // effect.
            let _ = self.changes.advance_to(now, ChangeSource::Schedule);
            self.apply_changes(now);
        }
        for lane in 0..2 {
            self.write_due(lane);
        }
        for lane in 0..2 {
            if self.lanes[lane].readable {
                self.read_packets(lane)?;
            }
        }
        let now = self.clock.now();
        if now >= self.sampler.next() {
            let samples = self.lanes.each_mut().map(|lane| lane.sample(now));
            self.sampler.add(now, &samples);
        }
        Ok(())
    }

    /// Waits until a packet is due or readable, one of `others` is ready, a sample is due, or the
    /// time is `until`.
    /// Returns which of `others` are ready.
    pub(crate) fn wait(
        &mut self,
        others: [Option<&dyn AsFd>; 4],
        until: Instant,
    ) -> Result<[bool; 4], Error> {
        let next = self.lanes.iter().filter_map(|lane| lane.line.next_write(self.max_wait)).min();
        let until = if self.is_readable() {
            Instant::ZERO
        } else {
            let next = next.unwrap_or(Instant::NEVER).min(self.changes.next());
            until.min(next).min(self.sampler.next())
        };
        let devices = self.lanes.each_ref().map(|lane| lane.from.tun.as_fd());
        let look = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        // A missing descriptor is replaced by a device without requested events.
        let [first, second, third, fourth] = others.map(|other| match other {
            Some(other) => look(other.as_fd()),
            None => PollFd::from_borrowed_fd(devices[0], PollFlags::empty()),
        });
        let mut fds = [look(devices[0]), look(devices[1]), first, second, third, fourth];
        self.clock.wait(&mut fds, until, self.spin)?;
        let [up, down, rest @ ..] = fds.map(|fd| !fd.revents().is_empty());
        for (lane, ready) in self.lanes.iter_mut().zip([up, down]) {
            lane.readable = ready;
        }
        Ok(rest)
    }

    /// Returns true if both links are empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.line.is_empty())
    }

    /// Returns true if a device was readable at the last check.
    pub(crate) fn is_readable(&self) -> bool {
        self.lanes.iter().any(|lane| lane.readable)
    }

    /// Writes the packets of a direction that are due.
    fn write_due(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        let now = self.clock.now();
        if lane.line.next_write(self.max_wait).is_none_or(|at| at > now) {
            return;
        }
        while let Some(delivery) = lane.line.deliver(now) {
            if let Err(delivery) = lane.outlet.push(delivery) {
                lane.write(self.clock, &mut self.recorder);
                // The list is empty now, so it accepts the packet.
                let _ = lane.outlet.push(delivery);
            }
        }
        lane.write(self.clock, &mut self.recorder);
    }

    fn read_packets(&mut self, lane: usize) -> Result<(), Error> {
        let Self { clock, lanes, intake, message, recorder, .. } = self;
        let Lane { direction, from, line, counters, readable, path_mtu, router, .. } =
            &mut lanes[lane];
        let (direction, mut count) = (*direction, 0);
        while count < BATCH {
            let mut now = None;
            let read = intake.read(&from.tun, |bytes, is_part| {
                // Packets of one read have the same arrival time.
                let now = *now.get_or_insert_with(|| clock.now());
                if let Some(mtu) = *path_mtu
                    && packet::too_big(bytes, mtu, router, message)
                {
                    counters.too_big += 1;
                    if !message.is_empty() {
                        // A report that the kernel refuses is dropped, like any packet.
                        let _ = offload::write(&from.tun, message);
                    }
                    recorder.write(|trace| trace.too_big(direction, now, bytes, mtu));
                    return;
                }
                let outcomes = line.offer_part(now, bytes, is_part);
                recorder.write(|trace| trace.entered(direction, now, bytes, &outcomes));
            })?;
            let Some(packets) = read else {
                *readable = false;
                return Ok(());
            };
            // A segment that could not be split does not reach the link.
            counters.missed += u64::from(packets == 0);
            count += packets.max(1);
        }
        Ok(())
    }

    /// Ends both directions, up and down, the series and the capture.
    pub(crate) fn finish(mut self) -> Result<Finished, Error> {
        let now = self.clock.now();
        for lane in &mut self.lanes {
            lane.counters.missed += lane.from.interface.statistics()?.not_sent_packets;
        }
        let reports =
            self.lanes.each_mut().map(|lane| LineReport::new(&mut lane.line, &lane.counters, now));
        let samples = self.lanes.each_mut().map(|lane| lane.sample(now));
        let series = self.sampler.finish(now, &samples);
        let Recorder { trace, failed } = self.recorder;
        let written = match (failed, trace) {
            (Some(error), _) => Err(error),
            (None, Some(trace)) => trace.finish(),
            (None, None) => Ok(()),
        };
        let changes = self.changes.into_records();
        Ok(Finished { reports, series, changes, written })
    }
}

/// The maximum time for which packets wait for other parts of their segment. With busy-waiting,
/// each packet is written exactly when it is due.
fn max_wait(settings: &Settings) -> Duration {
    if settings.offload && settings.spin.is_zero() { MAX_WAIT } else { Duration::ZERO }
}

impl Lane<'_> {
    /// The counters at `now`.
    fn sample(&mut self, now: Instant) -> LineSample {
        let (reading, max_queue) = self.line.read(now);
        let Counters { too_big, refused, .. } = self.counters;
        LineSample { reading, max_queue, too_big, refused }
    }

    /// Writes the collected packets.
    fn write(&mut self, clock: Clock, recorder: &mut Recorder) {
        if self.outlet.packets().is_empty() {
            return;
        }
        let now = clock.now();
        for packet in self.outlet.packets() {
            self.counters.timing.add(now.since(packet.due));
        }
        let taken = self.outlet.write(self.to);
        for delivery in self.outlet.drain() {
            self.counters.refused += u64::from(!taken);
            recorder.write(|trace| trace.left(self.direction, now, &delivery));
            self.line.recycle(delivery.bytes);
        }
    }
}

impl Recorder {
    /// Writes to the capture. An error ends the capture, but not the run.
    fn write(&mut self, write: impl FnOnce(&mut Trace) -> io::Result<()>) {
        if let Some(open) = &mut self.trace
            && let Err(error) = write(open)
        {
            self.failed = Some(error);
            self.trace = None;
        }
    }
}
