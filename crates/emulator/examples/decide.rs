//! Decisions of a link in virtual time on the packets of a capture, for
//! `verification/link_laws.py`:
//!
//! ```text
//! decide SETTINGS.json-text <ARRIVALS >DELIVERIES
//! ```
//!
//! An arrival in the direction *up* has 96 bytes: the time in nanoseconds since the start (u64),
//! the length of the packet (u32), the number of bytes that follow (u32), and the first 80 bytes.
//! The other bytes of the packet are zero here. A delivery has 96 bytes as well: the time at which
//! it is due, its length, the number of bytes that follow, and the first 80 bytes. All integers
//! are little-endian.

use std::io::{self, BufReader, BufWriter, Read, Write};

use emulator::Settings;
use emulator::line::Line;
use units::Instant;

/// Stored bytes of a packet, and the bytes of a record.
const KEPT: usize = 80;
const RECORD: usize = 16 + KEPT;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let json = std::env::args().nth(1).ok_or("give settings as JSON")?;
    let settings = Settings::from_json(&json)?;
    let mut line = Line::new(&settings.up, settings.seed, "up");
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
    let mut packet = Vec::new();
    while let Some(record) = next_record(&mut input)? {
        let now = Instant::from_nanos(u64::from_le_bytes(record[..8].try_into()?));
        let len: usize = u32::from_le_bytes(record[8..12].try_into()?).try_into()?;
        let kept: usize = u32::from_le_bytes(record[12..16].try_into()?).try_into()?;
        packet.clear();
        packet.extend_from_slice(record[16..].get(..kept.min(len)).ok_or("too many bytes")?);
        packet.resize(len, 0);
        deliver(&mut line, now, &mut output)?;
        line.offer(now, &packet);
    }
    deliver(&mut line, Instant::NEVER, &mut output)?;
    Ok(output.flush()?)
}

/// Reads an arrival; `None` at the end.
fn next_record(input: &mut impl Read) -> Result<Option<[u8; RECORD]>> {
    let mut record = [0; RECORD];
    if input.read(&mut record[..1])? == 0 {
        return Ok(None);
    }
    input.read_exact(&mut record[1..])?;
    Ok(Some(record))
}

/// Writes the packets that are due at `now`.
fn deliver(line: &mut Line, now: Instant, output: &mut impl Write) -> Result<()> {
    while line.next_delivery().is_some_and(|due| due <= now) {
        // Without a packet, a deferred decision was due.
        let Some(delivery) = line.deliver(now) else { continue };
        let kept = delivery.bytes.len().min(KEPT);
        let mut record = [0; RECORD];
        record[..8].copy_from_slice(&delivery.due.as_nanos().to_le_bytes());
        record[8..12].copy_from_slice(&u32::try_from(delivery.bytes.len())?.to_le_bytes());
        record[12..16].copy_from_slice(&u32::try_from(kept)?.to_le_bytes());
        record[16..16 + kept].copy_from_slice(&delivery.bytes[..kept]);
        output.write_all(&record)?;
        line.recycle(delivery.bytes);
    }
    Ok(())
}
