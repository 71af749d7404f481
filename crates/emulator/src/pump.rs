//! Both directions driven by a clock: packets read from one device, offered to a line, and written to the other when
//! they are due.

use std::io;
use std::net::IpAddr;
use std::os::fd::AsFd;

use tun::{Clock, Error, PollFd, PollFlags, Tun};
use units::{Duration, Instant};

use crate::line::Line;
use crate::network::{End, Network};
use crate::packet;
use crate::report::{Driven, LineReport};
use crate::settings::Settings;
use crate::trace::{Trace, Way};

/// How many packets are read from one device before the other has its turn, and what is due is written.
const BATCH: usize = 32;

/// Both directions at work.
pub(crate) struct Pump<'a> {
    clock: Clock,
    lanes: [Lane<'a>; 2],
    /// The packet being read.
    buffer: Vec<u8>,
    /// What its source is told of it.
    message: Vec<u8>,
    /// How long before a packet is due not to sleep any more.
    spin: Duration,
    trace: Option<Trace>,
    /// Why there is no more of it.
    trace_error: Option<io::Error>,
}

struct Lane<'a> {
    way: Way,
    from: &'a End,
    to: &'a Tun,
    line: Line,
    driven: Driven,
    /// There may be more to read.
    readable: bool,
    /// The longest packet that passes.
    path_mtu: Option<u32>,
    /// In whose name its source is told of a longer one: the other end.
    router: Vec<IpAddr>,
}

impl<'a> Pump<'a> {
    pub(crate) fn new(clock: Clock, settings: &Settings, network: &'a Network, trace: Option<Trace>) -> Self {
        let (inside, outside) = (&network.inside, &network.outside);
        let lane = |way, from: &'a End, to: &'a End, line, path_mtu, router: [Option<IpAddr>; 2]| Lane {
            way,
            from,
            to: &to.tun,
            line,
            driven: Driven::new(),
            readable: true,
            path_mtu,
            router: router.into_iter().flatten().collect(),
        };
        let ends = &network.ends;
        let beyond = [Some(ends.outside), ends.outside_v6];
        let here = [Some(ends.inside), ends.inside_v6];
        let lanes = [
            lane(
                Way::Up,
                inside,
                outside,
                Line::new(&settings.up, settings.seed, "up"),
                settings.up.path_mtu,
                beyond,
            ),
            lane(
                Way::Down,
                outside,
                inside,
                Line::new(&settings.down, settings.seed, "down"),
                settings.down.path_mtu,
                here,
            ),
        ];
        // One byte more than the longest packet, which would show if there were a longer one.
        let buffer = vec![0; settings.mtu as usize + 1];
        Self { clock, lanes, buffer, message: Vec::new(), spin: settings.spin, trace, trace_error: None }
    }

    /// Hands on what is due and takes what has come, up to a batch each way.
    pub(crate) fn turn(&mut self) -> Result<(), Error> {
        for lane in 0..2 {
            self.hand_on(lane);
        }
        for lane in 0..2 {
            if self.lanes[lane].readable {
                self.take(lane)?;
            }
        }
        Ok(())
    }

    /// Waits until there is something to do, or one of `others` is ready, or it is `until`; returns which of them are.
    pub(crate) fn wait(
        &mut self,
        others: [Option<&dyn AsFd>; 3],
        until: Instant,
    ) -> Result<[bool; 3], Error> {
        let next = self.lanes.iter().filter_map(|lane| lane.line.next_delivery()).min();
        let until =
            if self.is_readable() { Instant::ZERO } else { until.min(next.unwrap_or(Instant::NEVER)) };
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

    fn hand_on(&mut self, lane: usize) {
        let lane = &mut self.lanes[lane];
        loop {
            let now = self.clock.now();
            if lane.line.next_delivery().is_none_or(|due| due > now) {
                return;
            }
            let Some(delivery) = lane.line.deliver(now) else { return };
            lane.driven.timing.add(now.since(delivery.due));
            // A kernel that does not take it drops it, as a host does with what it cannot make out.
            let taken = lane.to.write(&delivery.bytes).unwrap_or(false);
            lane.driven.refused += u64::from(!taken);
            let way = lane.way;
            record(&mut self.trace, &mut self.trace_error, |trace| trace.left(way, now, &delivery));
            lane.line.recycle(delivery.bytes);
        }
    }

    fn take(&mut self, lane: usize) -> Result<(), Error> {
        let lane = &mut self.lanes[lane];
        for _ in 0..BATCH {
            let Some(len) = lane.from.tun.read(&mut self.buffer)? else {
                lane.readable = false;
                return Ok(());
            };
            let now = self.clock.now();
            let bytes = &self.buffer[..len];
            let way = lane.way;
            if let Some(mtu) = lane.path_mtu
                && packet::too_big(bytes, mtu, &lane.router, &mut self.message)
            {
                lane.driven.too_big += 1;
                if !self.message.is_empty() {
                    // As for any packet: a kernel that does not take it drops it.
                    let _ = lane.from.tun.write(&self.message);
                }
                record(&mut self.trace, &mut self.trace_error, |trace| trace.too_big(way, now, bytes, mtu));
                continue;
            }
            let fate = lane.line.offer(now, bytes);
            record(&mut self.trace, &mut self.trace_error, |trace| trace.entered(way, now, bytes, &fate));
        }
        Ok(())
    }

    /// Ends both directions, up and down, and the file.
    pub(crate) fn finish(mut self) -> Result<([LineReport; 2], io::Result<()>), Error> {
        let now = self.clock.now();
        for lane in &mut self.lanes {
            lane.driven.missed = lane.from.interface.statistics()?.not_sent_packets;
        }
        let reports = self.lanes.each_mut().map(|lane| LineReport::new(&mut lane.line, &lane.driven, now));
        let written = match (self.trace_error, self.trace) {
            (Some(error), _) => Err(error),
            (None, Some(trace)) => trace.finish(),
            (None, None) => Ok(()),
        };
        Ok((reports, written))
    }
}

/// A file that cannot be written ends, and not the run.
fn record(
    trace: &mut Option<Trace>,
    failed: &mut Option<io::Error>,
    write: impl FnOnce(&mut Trace) -> io::Result<()>,
) {
    if let Some(open) = trace
        && let Err(error) = write(open)
    {
        *failed = Some(error);
        *trace = None;
    }
}
