//! A stack on a TUN device, in real time.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use capture::pcapng::{Direction, Interface, InterfaceId, LinkType, Packet, Section, Writer};
use rustix::rand::{GetRandomFlags, getrandom};
use tun::{Clock, Error, Offload, PollFd, PollFlags, Tun};
use units::{Duration, Instant};

use crate::config::StackConfig;
use crate::packet::Outgoing;
use crate::secret::Secret;
use crate::service::Service;
use crate::stack::{Checksums, Stack};

/// Packets that are taken in before connections are served.
const BATCH: usize = 64;

/// The longest packet, and the header before it.
const MAX_PACKET_BYTES: usize = 65_535 + Tun::HEADER_LEN;

/// Drives a [`Stack`] and its user on a device. Times are nanoseconds since 1970, by a clock that
/// nobody sets while it runs: so dates can be told, and timestamps go on where they were before a
/// restart.
#[derive(Debug)]
pub struct Driver<S> {
    tun: Tun,
    clock: Clock,
    origin: Duration,
    stack: Stack,
    service: S,
    capture: Recorder,
    buffer: Vec<u8>,
    out: Outgoing,
    dropped: u64,
    stopping: bool,
    lockstep: bool,
    trimmer: MemoryTrimmer,
}

/// Decides when freed memory is returned to the operating system: when most of what was in buffers
/// has been released. The allocator does not return free memory that lies between blocks in use;
/// after 16 384 connections it returned none.
#[derive(Debug)]
struct MemoryTrimmer {
    /// The largest number of bytes in buffers since memory was last returned.
    peak: usize,
    /// The time at which the buffers fell below a quarter of `peak`; [`Instant::NEVER`] while they
    /// hold more.
    low_since: Instant,
}

/// Writes packets to a capture, as long as there is one.
#[derive(Debug, Default)]
struct Recorder {
    capture: Option<Capture>,
    /// Why the capture stopped before its end.
    error: Option<Error>,
}

#[derive(Debug)]
struct Capture {
    writer: Writer<BufWriter<File>>,
    interface: InterfaceId,
    path: PathBuf,
}

impl<S: Service> Driver<S> {
    /// Drives a stack with this configuration. Whether packets are cut by the device is the
    /// device's to say.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn new(tun: Tun, mut config: StackConfig, mut service: S) -> Result<Self, Error> {
        config.offload = tun.offload() == Offload::Segmentation;
        service.configure(&mut config);
        let mut random = [0; 16];
        getrandom(&mut random, GetRandomFlags::empty())
            .map_err(|errno| Error::new("draw a random key", errno))?;
        let clock = Clock::start();
        let origin = Duration::from_nanos(clock.since_1970(Instant::ZERO));
        let mut stack = Stack::new(config, Secret::new(random));
        service.start(&mut stack, clock.now() + origin);
        Ok(Self {
            tun,
            clock,
            origin,
            stack,
            service,
            capture: Recorder::default(),
            buffer: vec![0; MAX_PACKET_BYTES],
            out: Outgoing::default(),
            dropped: 0,
            stopping: false,
            lockstep: false,
            trimmer: MemoryTrimmer { peak: 0, low_since: Instant::NEVER },
        })
    }

    /// Writes all packets from now on to a pcapng file, of each the first `snap_len` bytes. When
    /// that fails later on, the capture stops and serving goes on:
    /// [`take_capture_error`](Self::take_capture_error) tells why.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn capture(&mut self, path: &Path, snap_len: u32) -> Result<(), Error> {
        let fail = |error| cannot_write(path, error);
        let file = BufWriter::new(File::create(path).map_err(fail)?);
        let section = Section { application: Some("tcpsf"), ..Section::default() };
        let mut writer = Writer::new(file, &section).map_err(fail)?;
        let interface = Interface {
            name: self.tun.name(),
            description: None,
            address: None,
            link_type: LinkType::Raw,
            snap_len,
        };
        let interface = writer.interface(&interface).map_err(fail)?;
        self.capture.capture = Some(Capture { writer, interface, path: path.to_owned() });
        Ok(())
    }

    /// Ends the capture, if there is one: the file is complete.
    ///
    /// # Errors
    /// When its last bytes cannot be written.
    pub fn finish_capture(&mut self) -> Result<(), Error> {
        let Some(capture) = self.capture.capture.take() else { return Ok(()) };
        let ended = capture.writer.finish().map(drop);
        ended.map_err(|error| cannot_write(&capture.path, error))
    }

    /// Why the capture stopped before its end, if it did; told once.
    pub fn take_capture_error(&mut self) -> Option<Error> {
        self.capture.error.take()
    }

    /// Serves every packet before it looks at the next, and has the user read before it is
    /// acknowledged, as the simulator does; otherwise a batch of packets is taken in first.
    /// Slower, and the same packets whatever else the machine does.
    pub fn process_in_lockstep(&mut self) {
        self.lockstep = true;
    }

    /// The time.
    pub fn now(&self) -> Instant {
        self.clock.now() + self.origin
    }

    /// Works for so long, waiting where there is nothing to do; ends early when a signal comes.
    ///
    /// # Errors
    /// When the device is down or gone.
    pub fn run(&mut self, span: Duration) -> Result<(), Error> {
        let end = self.now() + span;
        loop {
            let more = self.work()?;
            let now = self.now();
            if self.trimmer.should_trim(self.stack.buffered_bytes(), now) {
                tun::give_memory_back();
            }
            if now >= end || self.is_stopped() {
                return Ok(());
            }
            let until = if more { now } else { end.min(self.next_timeout()) };
            if !self.wait(until)? {
                return Ok(());
            }
        }
    }

    /// Takes in packets, a bounded number, and does what follows from them. Returns whether there
    /// may be more.
    fn work(&mut self) -> Result<bool, Error> {
        let mut count = 0;
        let mut now = self.now();
        // Each has a time of its own, or round trips on this machine would be measured as nothing.
        while count < BATCH && self.take_packet(now)? {
            count += 1;
            if self.lockstep {
                self.serve(now)?;
                if self.service.next_timeout() <= now {
                    self.service.on_timeout(&mut self.stack, now);
                }
                self.flush(now)?;
            } else {
                self.flush_pressing(now)?;
            }
            now = self.now();
        }
        if self.stack.next_timeout() <= now {
            self.stack.on_timeout(now);
        }
        if self.service.next_timeout() <= now {
            self.service.on_timeout(&mut self.stack, now);
        }
        self.serve(now)?;
        Ok(count == BATCH)
    }

    /// Sends what there is to send and tells the service what there is to tell, until there is
    /// neither.
    fn serve(&mut self, now: Instant) -> Result<(), Error> {
        // First what there is to tell: an answer takes the acknowledgment along.
        while let Some(event) = self.stack.poll_event() {
            self.service.on_event(&mut self.stack, event, now);
            self.flush_pressing(now)?;
        }
        self.flush(now)
    }

    fn take_packet(&mut self, now: Instant) -> Result<bool, Error> {
        let Some(len) = self.tun.read(&mut self.buffer)? else { return Ok(false) };
        let mut packet = &self.buffer[..len];
        let mut checksums = Checksums::Verify;
        if self.tun.offload() == Offload::Segmentation {
            let Some((header, rest)) = packet.split_first_chunk() else { return Ok(true) };
            // Segmentation of something else than TCP is of no concern here.
            let Ok(offload) = wire::gso::Offload::from_bytes(header) else { return Ok(true) };
            if offload.checksum.is_some() || offload.checked {
                checksums = Checksums::Offloaded;
            }
            packet = rest;
        }
        self.capture.record(packet, Direction::Inbound, now);
        self.stack.receive(packet, checksums, now);
        Ok(true)
    }

    fn flush_pressing(&mut self, now: Instant) -> Result<(), Error> {
        while self.stack.poll_pressing(now, &mut self.out) {
            self.send(now)?;
        }
        Ok(())
    }

    fn flush(&mut self, now: Instant) -> Result<(), Error> {
        while self.stack.poll_transmit(now, &mut self.out) {
            self.send(now)?;
        }
        Ok(())
    }

    /// Sends the packet in `out`.
    fn send(&mut self, now: Instant) -> Result<(), Error> {
        self.capture.record(self.out.bytes(), Direction::Outbound, now);
        // One piece: for small packets the kernel takes two noticeably slower.
        let offload = self.tun.offload() == Offload::Segmentation;
        let written = self.tun.write(if offload { self.out.frame() } else { self.out.bytes() })?;
        // TCP sends it again.
        self.dropped += u64::from(!written);
        Ok(())
    }

    fn next_timeout(&self) -> Instant {
        self.stack.next_timeout().min(self.service.next_timeout())
    }

    /// Waits for packets and for the service's descriptor; `false` when a signal came.
    fn wait(&mut self, until: Instant) -> Result<bool, Error> {
        let until = Instant::ZERO + until.since(Instant::ZERO + self.origin);
        let tun = PollFd::from_borrowed_fd(self.tun.as_fd(), PollFlags::IN);
        let (count, ready) = match self.service.descriptor() {
            Some(fd) => {
                let mut fds = [tun, PollFd::from_borrowed_fd(fd, PollFlags::IN)];
                (self.clock.wait(&mut fds, until, Duration::ZERO)?, !fds[1].revents().is_empty())
            }
            None => (self.clock.wait(&mut [tun], until, Duration::ZERO)?, false),
        };
        if ready {
            let now = self.now();
            self.service.on_ready(&mut self.stack, now);
        }
        // Nothing ready and time left: a signal.
        Ok(count > 0 || self.clock.now() >= until)
    }

    /// Takes no new connections in, and has those that are open finish. [`run`](Self::run) then
    /// ends when there are none left.
    pub fn stop(&mut self) {
        let now = self.now();
        self.stopping = true;
        self.service.stop(&mut self.stack, now);
    }

    /// Whether [`stop`](Self::stop) was called and nothing is left to be done.
    pub fn is_stopped(&self) -> bool {
        self.stopping && self.stack.living().is_empty()
    }

    /// Resets all connections that are there.
    ///
    /// # Errors
    /// When the device is down or gone.
    pub fn abort(&mut self) -> Result<(), Error> {
        let now = self.now();
        self.stack.abort_all(now);
        self.serve(now)
    }

    /// The stack.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The stack, to take its records.
    pub fn stack_mut(&mut self) -> &mut Stack {
        &mut self.stack
    }

    /// The service.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// The service, to take its results.
    pub fn service_mut(&mut self) -> &mut S {
        &mut self.service
    }

    /// The device.
    pub fn tun(&self) -> &Tun {
        &self.tun
    }

    /// When it was made.
    pub fn origin(&self) -> Instant {
        Instant::ZERO + self.origin
    }

    /// Packets for which the device had no room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

impl MemoryTrimmer {
    /// Memory is returned only if the buffers held at least this many bytes …
    const MIN_PEAK: usize = 16 << 20;

    /// … and have held less than a quarter of that for this long.
    const LOW_TIME: Duration = Duration::from_secs(1);

    /// Whether memory is to be returned now. The buffers hold `buffered` bytes.
    fn should_trim(&mut self, buffered: usize, now: Instant) -> bool {
        self.peak = self.peak.max(buffered);
        if self.peak < Self::MIN_PEAK || buffered > self.peak / 4 {
            self.low_since = Instant::NEVER;
        } else if self.low_since == Instant::NEVER {
            self.low_since = now;
        } else if self.low_since + Self::LOW_TIME <= now {
            *self = Self { peak: buffered, low_since: Instant::NEVER };
            return true;
        }
        false
    }
}

impl Recorder {
    fn record(&mut self, bytes: &[u8], direction: Direction, at: Instant) {
        let Some(capture) = &mut self.capture else { return };
        let wire_len = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        let packet =
            Packet { interface: capture.interface, at, direction, bytes, wire_len, comments: &[] };
        if let Err(error) = capture.writer.packet(&packet) {
            self.error = Some(cannot_write(&capture.path, error));
            self.capture = None;
        }
    }
}

fn cannot_write(path: &Path, error: io::Error) -> Error {
    Error::new(format!("write capture `{}`", path.display()), error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_trimmed_once_after_a_second_of_low_use() {
        let mut trimmer = MemoryTrimmer { peak: 0, low_since: Instant::NEVER };
        // MiB in buffers, each half a second: low again and again, low for good, full and low
        // again, and never much.
        let levels = [0, 100, 20, 100, 20, 20, 20, 20, 0, 0, 0, 40, 5, 5, 5, 5, 15, 0, 0, 0, 0];
        let times: Vec<usize> = (0..levels.len())
            .filter(|&at| {
                let now =
                    Instant::ZERO + Duration::from_millis(500) * u64::try_from(at).unwrap_or(0);
                trimmer.should_trim(levels[at] << 20, now)
            })
            .collect();
        // From 20 MiB to none is an trimmer of its own.
        assert_eq!(times, [6, 10, 14]);
    }
}
