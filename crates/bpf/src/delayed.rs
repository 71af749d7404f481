//! Copies with a delay: a program at the egress passes segments to a thread, which sends them when
//! the delay is over.
//!
//! The kernel has no delay for single packets without the queueing disciplines `fq` and `netem`,
//! which few systems use. The thread sends by a packet socket (`AF_PACKET`), so a copy passes the
//! egress of the device like any packet. It belongs to no TCP socket, and has no copy itself.

use std::collections::VecDeque;
use std::io::{self, PipeReader, PipeWriter};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{self, JoinHandle};

use tun::{Clock, Error, PollFd, PollFlags, TimerSlack};
use units::{Duration, Instant};
use wire::Checksum;

use crate::kernel::Map;
use crate::sys::{self, Ring};

/// Bytes of the numbers at the beginning of a record, each of 32 bits:
///
/// - the device;
/// - positions of the IP header, of the TCP header and of the payload;
/// - length of the payload;
/// - bytes of the packet's payload before the segment, and number of segments in the packet.
pub(crate) const PREFIX: i16 = 32;

/// Bytes for headers, which follow.
pub(crate) const HEADERS: i16 = 192;

/// Bytes of the ring of segments.
const RING: u32 = 1 << 22;

/// Most copies that wait. Further ones are not sent.
const MOST: usize = 1 << 14;

/// Congestion window reduced (CWR): only the first segment of a packet has it.
const CWR: u8 = 0x80;

/// A thread that sends copies. It ends with this value.
#[derive(Debug)]
pub(crate) struct DelayedCopies {
    /// The thread ends when it is closed.
    stop: Option<PipeWriter>,
    thread: Option<JoinHandle<()>>,
}

impl DelayedCopies {
    /// Creates the map for records.
    pub(crate) fn records() -> Result<Map, Error> {
        Map::ring(RING)
    }

    /// Starts the thread, which reads the records of the map.
    ///
    /// # Errors
    /// Returns an error without the capability `CAP_NET_RAW`.
    pub(crate) fn start(records: Map, delay: Duration) -> Result<Self, Error> {
        let failed = |error| Error::new("send delayed copies", error);
        let ring = Ring::new(records.as_fd(), RING as usize).map_err(failed)?;
        let socket = sys::packet_socket().map_err(|error| {
            failed(error).with_hint("run the command as root, or also give it CAP_NET_RAW")
        })?;
        let (reader, writer) = io::pipe().map_err(failed)?;
        let sender = Sender { records, ring, socket, stop: reader, delay };
        let thread = thread::Builder::new().name("tcpsf-copies".to_owned());
        let thread = thread.spawn(move || sender.run()).map_err(failed)?;
        Ok(Self { stop: Some(writer), thread: Some(thread) })
    }
}

impl Drop for DelayedCopies {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // A thread that has panicked sends nothing more.
            let _ = thread.join();
        }
    }
}

struct Sender {
    records: Map,
    ring: Ring,
    socket: OwnedFd,
    stop: PipeReader,
    delay: Duration,
}

impl Sender {
    fn run(mut self) {
        let clock = Clock::start();
        // Without it, copies leave 50 µs later.
        let _slack = TimerSlack::minimal();
        let mut waiting: VecDeque<(Instant, Copy)> = VecDeque::new();
        loop {
            let until = waiting.front().map_or(Instant::NEVER, |(due, _)| *due);
            let mut ready =
                [PollFd::new(&self.records, PollFlags::IN), PollFd::new(&self.stop, PollFlags::IN)];
            let waited = clock.wait(&mut ready, until, Duration::ZERO);
            if waited.is_err() || !ready[1].revents().is_empty() {
                return;
            }
            let due = clock.now() + self.delay;
            self.ring.drain(|record| {
                if waiting.len() < MOST
                    && let Some(copy) = Copy::read(record)
                {
                    waiting.push_back((due, copy));
                }
            });
            while let Some((due, copy)) = waiting.pop_front() {
                if due > clock.now() {
                    waiting.push_front((due, copy));
                    break;
                }
                // A device that is down or has a full queue loses copies, as other packets.
                let _ = sys::send_to_device(&self.socket, copy.device, copy.protocol, &copy.frame);
            }
        }
    }
}

/// A copy as it leaves.
#[derive(Debug, PartialEq, Eq)]
struct Copy {
    device: u32,
    /// Type of the protocol, as in the header of Ethernet.
    protocol: u16,
    frame: Vec<u8>,
}

impl Copy {
    /// Makes the packet of the segment in a record.
    fn read(record: &[u8]) -> Option<Self> {
        let mut words = [0; 7];
        for (word, bytes) in words.iter_mut().zip(record.as_chunks::<4>().0) {
            *word = u32::from_ne_bytes(*bytes);
        }
        let [device, .., skipped, segments] = words;
        let at = |index: usize| usize::try_from(words[index]).ok();
        let (network, transport, payload, length) = (at(1)?, at(2)?, at(3)?, at(4)?);
        let (_, rest) = record.split_at_checked(usize::try_from(PREFIX).ok()?)?;
        let (headers, data) = rest.split_at_checked(usize::try_from(HEADERS).ok()?)?;
        let frame = [headers.get(..payload)?, data.get(..length)?].concat();
        let mut copy = Self { device, protocol: 0, frame };
        copy.write_segment(transport, skipped)?;
        copy.write_packet(network, transport, segments)?;
        Some(copy)
    }

    /// Moves the sequence number to the last segment.
    fn write_segment(&mut self, transport: usize, skipped: u32) -> Option<()> {
        let header = self.frame.get_mut(transport..)?;
        let seq: &mut [u8; 4] = header.get_mut(4..)?.first_chunk_mut()?;
        *seq = u32::from_be_bytes(*seq).wrapping_add(skipped).to_be_bytes();
        if skipped > 0 {
            *header.get_mut(13)? &= !CWR;
        }
        Some(())
    }

    /// Writes lengths and checksums. In the kernel's packet, a device was to compute them.
    fn write_packet(&mut self, network: usize, transport: usize, segments: u32) -> Option<()> {
        let bytes = u16::try_from(self.frame.len().checked_sub(network)?).ok()?;
        let segment = u16::try_from(self.frame.len().checked_sub(transport)?).ok()?;
        let header = self.frame.get_mut(network..transport)?;
        let addresses = match header.first()? >> 4 {
            4 => {
                self.protocol = 0x0800;
                put(header, 2, bytes)?;
                // Offload gives the segments of a packet successive identifications.
                let id = u16::from_be_bytes(*header.get(4..)?.first_chunk()?);
                let behind = u16::try_from(segments.saturating_sub(1)).unwrap_or(0);
                put(header, 4, id.wrapping_add(behind))?;
                put(header, 10, 0)?;
                let sum = Checksum::of(header).field();
                put(header, 10, sum)?;
                Checksum::of(header.get(12..20)?)
            }
            6 => {
                self.protocol = 0x86dd;
                put(header, 4, bytes.checked_sub(40)?)?;
                Checksum::of(header.get(8..40)?)
            }
            _ => return None,
        };
        let pseudo = addresses.with(&[0, 6]).with(&segment.to_be_bytes());
        let tcp = self.frame.get_mut(transport..)?;
        put(tcp, 16, 0)?;
        let sum = pseudo.with(tcp).field();
        put(tcp, 16, sum)
    }
}

/// Writes 16 bits in the network's order.
fn put(bytes: &mut [u8], at: usize, value: u16) -> Option<()> {
    *bytes.get_mut(at..)?.first_chunk_mut()? = value.to_be_bytes();
    Some(())
}

#[cfg(test)]
mod tests;
