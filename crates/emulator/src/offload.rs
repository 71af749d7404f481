//! Segmentation offload at the devices. The kernel passes up to 64 kB of a TCP stream at once,
//! which are split into packets as on a wire. Packets that follow each other and are due together
//! are joined again.
//!
//! Only parts of a segment that was split here are joined. A packet that arrived alone also leaves
//! alone, so a sender's small segments are preserved. The checksums of joined packets are known to
//! be valid, because they were computed here.

use std::io::IoSlice;

use tun::{Error, Offload, Tun};
use wire::gso::{self, Cutter, Joiner};

use crate::line::Delivery;

/// The maximum number of packets in one write, so that the array of slices fits on the stack: 64 kB
/// in full-sized segments are 45.
const MAX_PACKETS: usize = 61;

/// A reader of packets from devices.
#[derive(Debug)]
pub(crate) struct Intake {
    buffer: Vec<u8>,
    /// The packet that was split off last.
    segment: Vec<u8>,
}

impl Intake {
    /// A reader for devices with this MTU in bytes.
    pub(crate) fn new(mtu: u32, offload: bool) -> Self {
        const LONGEST: usize = 65_535;
        let most = if offload { Tun::HEADER_LEN + LONGEST } else { mtu as usize };
        // One extra byte reveals a packet that is too long.
        Self { buffer: vec![0; most + 1], segment: Vec::new() }
    }

    /// Reads once from a device. Calls `show` for each packet, with whether it was part of a larger
    /// segment.
    ///
    /// Returns the number of packets: zero if the input cannot be split, and `None` if there is
    /// nothing to read.
    ///
    /// # Errors
    /// If the device is down or has been removed.
    pub(crate) fn read(
        &mut self,
        tun: &Tun,
        mut show: impl FnMut(&[u8], bool),
    ) -> Result<Option<usize>, Error> {
        let Some(len) = tun.read(&mut self.buffer)? else { return Ok(None) };
        let read = &mut self.buffer[..len];
        Ok(Some(match tun.offload() {
            Offload::None => {
                show(read, false);
                1
            }
            Offload::Segmentation => split_segments(read, &mut self.segment, show),
        }))
    }
}

/// Splits a segment with its offload header and calls `show` for each packet. Returns their number.
/// `segment` is a buffer for them.
fn split_segments(
    read: &mut [u8],
    segment: &mut Vec<u8>,
    mut show: impl FnMut(&[u8], bool),
) -> usize {
    let Some((header, packet)) = read.split_first_chunk_mut() else { return 0 };
    // The device is configured so that the kernel itself segments protocols other than TCP.
    let Ok(asked) = gso::Offload::from_bytes(header) else { return 0 };
    let Some(segmentation) = asked.segmentation else {
        if let Some(checksum) = asked.checksum {
            // If the checksum field is outside the packet, the packet passes unchanged.
            let _ = gso::complete(packet, checksum);
        }
        show(packet, false);
        return 1;
    };
    let Ok(mut cutter) = Cutter::new(packet, segmentation.size) else { return 0 };
    let count = cutter.remaining();
    segment.clear();
    while cutter.write_next(segment) {
        show(segment, count > 1);
        segment.clear();
    }
    count
}

/// Packets that are to be written next, as one segment.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    packets: Vec<Delivery>,
    /// Joins all of the packets, if there can be more than one.
    joiner: Option<Joiner>,
}

impl Outlet {
    /// The packets.
    pub(crate) fn packets(&self) -> &[Delivery] {
        &self.packets
    }

    /// Adds a packet if the list is empty or the packet can be joined with the others. Otherwise
    /// returns it.
    pub(crate) fn push(&mut self, delivery: Delivery) -> Result<(), Delivery> {
        if self.packets.is_empty() {
            self.joiner = if delivery.is_part { Joiner::new(&delivery.bytes) } else { None };
        } else if !delivery.is_part
            || self.packets.len() == MAX_PACKETS
            || !self.joiner.as_mut().is_some_and(|joiner| joiner.push(&delivery.bytes))
        {
            return Err(delivery);
        }
        self.packets.push(delivery);
        Ok(())
    }

    /// Writes the packets; returns `false` if the kernel refuses them. They stay in the list until
    /// [`drain`](Self::drain).
    pub(crate) fn write(&mut self, tun: &Tun) -> bool {
        self.write_to(tun.offload(), |parts| tun.write_vectored(parts).unwrap_or(false))
    }

    fn write_to(&mut self, offload: Offload, write: impl FnOnce(&[IoSlice<'_>]) -> bool) -> bool {
        let Some(first) = self.packets.first() else { return true };
        let Some(joiner) = self.joiner.take().filter(|joiner| joiner.segments() > 1) else {
            return write_single(&first.bytes, offload, write);
        };
        let headers_len = joiner.headers_len();
        let (offload, [ip, tcp]) = joiner.finish();
        let header = offload.to_bytes();
        let mut parts = [IoSlice::new(&[]); 3 + MAX_PACKETS];
        parts[..3].copy_from_slice(&[&header, &*ip, &*tcp].map(IoSlice::new));
        for (part, packet) in parts[3..].iter_mut().zip(&self.packets) {
            *part = IoSlice::new(packet.bytes.get(headers_len..).unwrap_or_default());
        }
        write(&parts[..3 + self.packets.len()])
    }

    /// Removes and returns the packets.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Delivery> {
        self.packets.drain(..)
    }
}

/// Writes one packet. Returns `false` if the kernel refuses it, as a host drops packets that it
/// cannot parse.
pub(crate) fn write(tun: &Tun, packet: &[u8]) -> bool {
    write_single(packet, tun.offload(), |parts| tun.write_vectored(parts).unwrap_or(false))
}

fn write_single(
    packet: &[u8],
    offload: Offload,
    write: impl FnOnce(&[IoSlice<'_>]) -> bool,
) -> bool {
    let header = gso::Offload::NONE.to_bytes();
    let parts = [&header, packet].map(IoSlice::new);
    write(if offload == Offload::None { &parts[1..] } else { &parts })
}

#[cfg(test)]
mod tests;
