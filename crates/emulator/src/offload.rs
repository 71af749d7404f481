//! What crosses devices that have offload: the kernel hands over up to 64 kB of a TCP stream at
//! once, which become the packets that a wire would carry; and of those, what follows each other
//! and is due together is handed on joined.
//!
//! Only what was cut here is joined. A packet that came alone leaves alone, so what a sender cut
//! small stays as it was cut; and the checksums of what is joined are known to be good, for they
//! were written here.

use std::io::IoSlice;

use tun::{Error, Offload, Tun};
use wire::gso::{self, Cutter, Joiner};

use crate::line::Delivery;

/// The packets of one write, so that the list of their places fits on the stack: 64 kB in
/// full-sized segments are 45.
const MAX_PACKETS: usize = 61;

/// Reads from devices.
#[derive(Debug)]
pub(crate) struct Intake {
    buffer: Vec<u8>,
    /// Cut from it.
    segment: Vec<u8>,
}

impl Intake {
    /// For devices that carry so many bytes.
    pub(crate) fn new(mtu: u32, offload: bool) -> Self {
        const LONGEST: usize = 65_535;
        let most = if offload { Tun::HEADER_LEN + LONGEST } else { mtu as usize };
        // One byte more, which would show if there were a longer one.
        Self { buffer: vec![0; most + 1], segment: Vec::new() }
    }

    /// Reads once and shows each packet that it is, and whether it was cut from a longer one.
    /// Returns how many there were; zero for what cannot be cut, `None` when there is nothing
    /// to read.
    ///
    /// # Errors
    /// When the device is down or gone.
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

/// Shows the packets that one, behind its offload header, stands for, and returns how many there
/// are. `segment` is room for them.
fn split_segments(
    read: &mut [u8],
    segment: &mut Vec<u8>,
    mut show: impl FnMut(&[u8], bool),
) -> usize {
    let Some((header, packet)) = read.split_first_chunk_mut() else { return 0 };
    // The kernel was told that it is to cut itself what isn't TCP.
    let Ok(asked) = gso::Offload::from_bytes(header) else { return 0 };
    let Some(segmentation) = asked.segmentation else {
        if let Some(checksum) = asked.checksum {
            // A field that is not in the packet: then it has none, and passes as it is.
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

/// Packets that are to be written next, as one.
#[derive(Debug, Default)]
pub(crate) struct Outlet {
    packets: Vec<Delivery>,
    /// Has all of them, if there can be more than one.
    joiner: Option<Joiner>,
}

impl Outlet {
    /// The packets.
    pub(crate) fn packets(&self) -> &[Delivery] {
        &self.packets
    }

    /// Takes a packet in that can be written together with those that are there, or when there are
    /// none; otherwise it comes back.
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

    /// Writes what is there; `false` when the kernel does not take it. It stays there until it is
    /// taken out.
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

    /// Takes the packets out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = Delivery> {
        self.packets.drain(..)
    }
}

/// Writes a packet as it is; `false` when the kernel does not take it, but drops it, as a host does
/// with what it cannot make out.
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
