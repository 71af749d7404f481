//! Both directions driven by a clock: packets read from one device, offered to a line, and written
//! to the other when they are due.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use tun::{Clock, Error, PollFd, PollFlags, Tun};
use units::{Duration, Instant};

use crate::line::Line;
use crate::network::{End, Network};
use crate::offload::{self, Intake, Outlet};
use crate::packet;
use crate::report::{Counters, LineReport};
use crate::settings::Settings;
use crate::trace::{LinkDirection, Trace};

/// After how many packets from one device the other has its turn, and what is due is written.
const BATCH: usize = 32;

/// How long parts of one packet wait for each other, so that on a fast line not each of them costs
/// a wake-up: what network cards do by default, within a factor of two or three.
const MAX_WAIT: Duration = Duration::from_micros(50);

/// Both directions at work.
pub(crate) struct Pump<'a> {
    clock: Clock,
    lanes: [Lane<'a>; 2],
    /// What is being read.
    intake: Intake,
    /// What the source of a packet is told of it.
    message: Vec<u8>,
    /// How long before a packet is due not to sleep any more.
    spin: Duration,
    /// How long packets wait for what belongs to them.
    max_wait: Duration,
    recorder: Recorder,
}

/// The file, if there is to be one.
struct Recorder {
    trace: Option<Trace>,
    /// Why there is no more of it.
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
    /// The longest packet that passes.
    path_mtu: Option<u32>,
    /// In whose name its source is told of a longer one: the other end.
    router: Vec<IpAddr>,
}

impl<'a> Pump<'a> {
    pub(crate) fn new(
        clock: Clock,
        settings: &Settings,
        network: &'a Network,
        trace: Option<Trace>,
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
        // Who has a core spent on it wants each packet at its time.
        let max_wait =
            if settings.offload && settings.spin.is_zero() { MAX_WAIT } else { Duration::ZERO };
        Self { clock, lanes, intake, message: Vec::new(), spin: settings.spin, max_wait, recorder }
    }

    /// Hands on what is due and takes what has come, up to a batch each way.
    pub(crate) fn process_ready(&mut self) -> Result<(), Error> {
        for lane in 0..2 {
            self.write_due(lane);
        }
        for lane in 0..2 {
            if self.lanes[lane].readable {
                self.read_packets(lane)?;
            }
        }
        Ok(())
    }

    /// Waits until there is something to do, or one of `others` is ready, or it is `until`; returns
    /// which of them are.
    pub(crate) fn wait(
        &mut self,
        others: [Option<&dyn AsFd>; 3],
        until: Instant,
    ) -> Result<[bool; 3], Error> {
        let next = self.lanes.iter().filter_map(|lane| lane.line.next_write(self.max_wait)).min();
        let until = if self.is_readable() {
            Instant::ZERO
        } else {
            until.min(next.unwrap_or(Instant::NEVER))
        };
        let devices = self.lanes.each_ref().map(|lane| lane.from.tun.as_fd());
        let look = |fd| PollFd::from_borrowed_fd(fd, PollFlags::IN);
        // In place of one that isn't there: a device, asked for nothing.
        let [first, second, third] = others.map(|other| match other {
            Some(other) => look(other.as_fd()),
            None => PollFd::from_borrowed_fd(devices[0], PollFlags::empty()),
        });
        let mut fds = [look(devices[0]), look(devices[1]), first, second, third];
        self.clock.wait(&mut fds, until, self.spin)?;
        let [up, down, rest @ ..] = fds.map(|fd| !fd.revents().is_empty());
        for (lane, ready) in self.lanes.iter_mut().zip([up, down]) {
            lane.readable = ready;
        }
        Ok(rest)
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.lanes.iter().all(|lane| lane.line.is_empty())
    }

    /// Whether something waited to be read when this was last looked at.
    pub(crate) fn is_readable(&self) -> bool {
        self.lanes.iter().any(|lane| lane.readable)
    }

    /// Writes what is due by now.
    fn write_due(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        let now = self.clock.now();
        if lane.line.next_write(self.max_wait).is_none_or(|at| at > now) {
            return;
        }
        while let Some(delivery) = lane.line.deliver(now) {
            if let Err(delivery) = lane.outlet.push(delivery) {
                lane.write(self.clock, &mut self.recorder);
                // There is room for it now.
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
                // What was handed over together came at one time.
                let now = *now.get_or_insert_with(|| clock.now());
                if let Some(mtu) = *path_mtu
                    && packet::too_big(bytes, mtu, router, message)
                {
                    counters.too_big += 1;
                    if !message.is_empty() {
                        // As for any packet: a kernel that does not take it drops it.
                        let _ = offload::write(&from.tun, message);
                    }
                    recorder.write(|trace| trace.too_big(direction, now, bytes, mtu));
                    return;
                }
                let fate = line.offer_part(now, bytes, is_part);
                recorder.write(|trace| trace.entered(direction, now, bytes, &fate));
            })?;
            let Some(packets) = read else {
                *readable = false;
                return Ok(());
            };
            // One that could not be made out does not come to the link.
            counters.missed += u64::from(packets == 0);
            count += packets.max(1);
        }
        Ok(())
    }

    /// Ends both directions, up and down, and the file.
    pub(crate) fn finish(mut self) -> Result<([LineReport; 2], io::Result<()>), Error> {
        let now = self.clock.now();
        for lane in &mut self.lanes {
            lane.counters.missed += lane.from.interface.statistics()?.not_sent_packets;
        }
        let reports =
            self.lanes.each_mut().map(|lane| LineReport::new(&mut lane.line, &lane.counters, now));
        let Recorder { trace, failed } = self.recorder;
        let written = match (failed, trace) {
            (Some(error), _) => Err(error),
            (None, Some(trace)) => trace.finish(),
            (None, None) => Ok(()),
        };
        Ok((reports, written))
    }
}

impl Lane<'_> {
    /// Writes the packets that are next.
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
    /// A file that cannot be written ends, and not the run.
    fn write(&mut self, write: impl FnOnce(&mut Trace) -> io::Result<()>) {
        if let Some(open) = &mut self.trace
            && let Err(error) = write(open)
        {
            self.failed = Some(error);
            self.trace = None;
        }
    }
}
