//! Runs a stack on a TUN device in real time.

use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use capture::pcapng::{Direction, Interface, InterfaceId, LinkType, Packet, Section, Writer};
use rustix::rand::{GetRandomFlags, getrandom};
use tun::{Clock, Error, KernelTicks, Offload, PollFd, PollFlags, Tun};
use units::{Duration, Instant};

use crate::config::StackConfig;
use crate::packet::Outgoing;
use crate::secret::Secret;
use crate::service::Service;
use crate::stack::{Checksums, Stack};

/// Maximum number of packets received before the service handles events.
const BATCH: usize = 64;

/// Maximum length of a packet with the header of the device, in bytes.
const MAX_PACKET_BYTES: usize = 65_535 + Tun::HEADER_LEN;

/// Runs a [`Stack`] and its service on a device. Times are nanoseconds since 1970, from a monotonic
/// clock that is unaffected by changes of the system time. The service can thus write dates, and
/// timestamps continue across a restart.
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

/// Decides when freed memory is returned to the operating system: after most of the buffered bytes
/// have been released. The allocator does not return free memory between blocks in use; after 16
/// 384 connections it returned none.
#[derive(Debug)]
struct MemoryTrimmer {
    /// Maximum number of buffered bytes since memory was last returned.
    peak: usize,
    /// The time at which the buffered bytes fell below a quarter of `peak`; [`Instant::NEVER`]
    /// while they are above it.
    low_since: Instant,
}

/// Writes packets to the capture file, if there is one.
#[derive(Debug, Default)]
struct Recorder {
    capture: Option<Capture>,
    /// The error that ended the capture early.
    error: Option<Error>,
}

#[derive(Debug)]
struct Capture {
    writer: Writer<BufWriter<File>>,
    interface: InterfaceId,
    path: PathBuf,
}

impl<S: Service> Driver<S> {
    /// Creates a driver for a stack with this configuration. `config.offload` is set according to
    /// the device.
    ///
    /// # Errors
    /// If the system provides no random numbers.
    pub fn new(tun: Tun, mut config: StackConfig, mut service: S) -> Result<Self, Error> {
        config.offload = tun.offload() == Offload::Segmentation;
        service.configure(&mut config);
        let mut random = [0; 16];
        getrandom(&mut random, GetRandomFlags::empty())
            .map_err(|errno| Error::new("draw a random key", errno))?;
        let clock = Clock::start();
        let origin = Duration::from_nanos(clock.since_1970(Instant::ZERO));
        follow_kernel_ticks(&mut config, &clock, origin);
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

    /// Records all packets from now on in a pcapng file, each truncated to `snap_len` bytes. If a
    /// later write fails, the capture stops and serving continues;
    /// [`take_capture_error`](Self::take_capture_error) returns the error.
    ///
    /// # Errors
    /// If the file cannot be created or written.
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

    /// Ends the capture, if there is one, and completes the file.
    ///
    /// # Errors
    /// If the last bytes cannot be written.
    pub fn finish_capture(&mut self) -> Result<(), Error> {
        let Some(capture) = self.capture.capture.take() else { return Ok(()) };
        let ended = capture.writer.finish().map(drop);
        ended.map_err(|error| cannot_write(&capture.path, error))
    }

    /// Takes the error that ended the capture early, if there was one.
    pub fn take_capture_error(&mut self) -> Option<Error> {
        self.capture.error.take()
    }

    /// Processes each packet completely, including the application's reads, before the next is
    /// read. The simulator does the same. By default a batch of packets is received first. This
    /// mode is slower, but the packets sent do not depend on the load of the machine.
    pub fn process_in_lockstep(&mut self) {
        self.lockstep = true;
    }

    /// The current time, in nanoseconds since 1970.
    pub fn now(&self) -> Instant {
        self.clock.now() + self.origin
    }

    /// Runs for `span`, and sleeps while there is nothing to do. Returns early on a signal.
    ///
    /// # Errors
    /// If the device is down or was removed.
    pub fn run(&mut self, span: Duration) -> Result<(), Error> {
        let end = self.now() + span;
        loop {
            let more = self.work()?;
            let now = self.now();
            if self.trimmer.should_trim(self.stack.buffered_bytes(), now) {
                tun::trim_heap();
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

    /// Receives a bounded number of packets and handles their consequences. Returns whether more
    /// packets may be waiting.
    fn work(&mut self) -> Result<bool, Error> {
        let mut count = 0;
        let mut now = self.now();
        // Each packet gets its own time; otherwise round trips on this machine would be measured as
        // zero.
        while count < BATCH && self.receive_packet(now)? {
            count += 1;
            if self.lockstep {
                self.serve(now)?;
                now = self.now();
                if self.service.next_timeout() <= now {
                    self.service.on_timeout(&mut self.stack, now);
                }
                self.flush(now)?;
            } else {
                self.flush_urgent(now)?;
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

    /// Delivers events to the service and sends packets until there are none left.
    fn serve(&mut self, mut now: Instant) -> Result<(), Error> {
        // Events come first, so that a response carries the acknowledgment.
        while let Some(event) = self.stack.poll_event() {
            self.service.on_event(&mut self.stack, event, now);
            // The response leaves now. Otherwise its round-trip time would contain the time in
            // which the service read a file, and exceed those of later segments.
            now = self.now();
            self.flush_urgent(now)?;
        }
        self.flush(now)
    }

    fn receive_packet(&mut self, now: Instant) -> Result<bool, Error> {
        let Some(len) = self.tun.read(&mut self.buffer)? else { return Ok(false) };
        let mut packet = &self.buffer[..len];
        let mut checksums = Checksums::Verify;
        if self.tun.offload() == Offload::Segmentation {
            let Some((header, rest)) = packet.split_first_chunk() else { return Ok(true) };
            // Segmentation headers of other protocols than TCP are ignored.
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

    fn flush_urgent(&mut self, now: Instant) -> Result<(), Error> {
        while self.stack.poll_urgent(now, &mut self.out) {
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
        // Header and packet are one slice: for small packets a vectored write is noticeably slower.
        let offload = self.tun.offload() == Offload::Segmentation;
        let written = self.tun.write(if offload { self.out.frame() } else { self.out.bytes() })?;
        // A packet that the device does not accept is lost; TCP retransmits it.
        self.dropped += u64::from(!written);
        Ok(())
    }

    fn next_timeout(&self) -> Instant {
        self.stack.next_timeout().min(self.service.next_timeout())
    }

    /// Waits for packets and for the service's descriptor. Returns `false` on a signal.
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
        // No descriptor is ready and time remains, so a signal arrived.
        Ok(count > 0 || self.clock.now() >= until)
    }

    /// Stops accepting connections and lets the open ones finish. [`run`](Self::run) then returns
    /// once none are left.
    pub fn stop(&mut self) {
        let now = self.now();
        self.stopping = true;
        self.service.stop(&mut self.stack, now);
    }

    /// Whether [`stop`](Self::stop) was called and no connection is left.
    pub fn is_stopped(&self) -> bool {
        self.stopping && self.stack.open_connections().is_empty()
    }

    /// Resets all connections.
    ///
    /// # Errors
    /// If the device is down or was removed.
    pub fn abort(&mut self) -> Result<(), Error> {
        let now = self.now();
        self.stack.abort_all(now);
        self.serve(now)
    }

    /// The stack.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The stack, mutable, to take its records.
    pub fn stack_mut(&mut self) -> &mut Stack {
        &mut self.stack
    }

    /// The service.
    pub fn service(&self) -> &S {
        &self.service
    }

    /// The service, mutable, to take its results.
    pub fn service_mut(&mut self) -> &mut S {
        &mut self.service
    }

    /// The device.
    pub fn tun(&self) -> &Tun {
        &self.tun
    }

    /// The time at which the driver was created.
    pub fn origin(&self) -> Instant {
        Instant::ZERO + self.origin
    }

    /// Number of packets that the device did not accept for lack of room.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }
}

/// Lets timers that expire on ticks do so on those of the kernel, if these have the same period.
/// The timers of the host then have the same phase as those of the kernel's TCP.
fn follow_kernel_ticks(config: &mut StackConfig, clock: &Clock, origin: Duration) {
    /// Number of ticks after which the slots of all levels of Linux's timer wheel repeat.
    const REPEAT: u64 = 1 << 24;
    let tick = config.tcp.rto.expiry_tick();
    if tick.is_zero() || !config.tcp.receiver.is_linux() {
        return;
    }
    let Some(ticks) = KernelTicks::observe(clock).filter(|ticks| ticks.period() == tick) else {
        return;
    };
    // The stack counts time since 1970.
    let period = tick.as_nanos().saturating_mul(REPEAT);
    let [phase, origin] = [ticks.phase(), origin].map(|span| span.as_nanos() % period);
    let phase = Duration::from_nanos((phase + period - origin) % period);
    config.tcp.rto = config.tcp.rto.with_phase(phase);
}

impl MemoryTrimmer {
    /// Memory is returned only if the buffers held at least this many bytes …
    const MIN_PEAK: usize = 16 << 20;

    /// … and have held less than a quarter of that for this long.
    const LOW_TIME: Duration = Duration::from_secs(1);

    /// Whether memory should be returned now. The buffers hold `buffered` bytes.
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
        // MiB in buffers, one value per half second: low for less than a second twice, low for
        // long, full and low again, and never more than the minimum peak.
        let levels = [0, 100, 20, 100, 20, 20, 20, 20, 0, 0, 0, 40, 5, 5, 5, 5, 15, 0, 0, 0, 0];
        let times: Vec<usize> = (0..levels.len())
            .filter(|&at| {
                let now =
                    Instant::ZERO + Duration::from_millis(500) * u64::try_from(at).unwrap_or(0);
                trimmer.should_trim(levels[at] << 20, now)
            })
            .collect();
        // The fall from 20 MiB to zero triggers a trim of its own.
        assert_eq!(times, [6, 10, 14]);
    }
}
