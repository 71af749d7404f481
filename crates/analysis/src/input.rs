//! Decompression of capture files: gzip (RFC 1952) and Zstandard (RFC 8878), recognised by their
//! first bytes. Without the feature `compressed`, such files are refused.

#[cfg(feature = "compressed")]
mod zstd;

use std::io::{self, Read};

/// Size of the buffer in front of a decoder, in bytes.
#[cfg(feature = "compressed")]
const BUFFER: usize = 64 * 1024;

/// First bytes of a gzip member (RFC 1952 §2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// First bytes of a Zstandard frame (RFC 8878 §3.1.1).
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Returns the decompressed bytes of `source`, or its bytes if it is not compressed.
///
/// # Errors
/// Returns an error if the first bytes cannot be read.
pub fn decompressed<R: Read + Send + Sync + 'static>(
    source: R,
) -> io::Result<Box<dyn Read + Send + Sync>> {
    let mut source = Prefixed::new(source);
    let start = source.start()?;
    let is_gzip = start.starts_with(&GZIP);
    if is_gzip || start == ZSTD || is_skippable(start) {
        return unpacked(source, is_gzip);
    }
    Ok(Box::new(source))
}

#[cfg(feature = "compressed")]
#[expect(clippy::unnecessary_wraps, reason = "without the feature, the file is refused")]
fn unpacked(
    source: impl Read + Send + Sync + 'static,
    is_gzip: bool,
) -> io::Result<Box<dyn Read + Send + Sync>> {
    let source = io::BufReader::with_capacity(BUFFER, source);
    if is_gzip {
        return Ok(Box::new(flate2::bufread::MultiGzDecoder::new(source)));
    }
    Ok(Box::new(zstd::Zstd::new(source)))
}

#[cfg(not(feature = "compressed"))]
fn unpacked(_source: impl Read, is_gzip: bool) -> io::Result<Box<dyn Read + Send + Sync>> {
    let format = if is_gzip { "gzip" } else { "Zstandard" };
    let error = format!("the file is compressed with {format}");
    Err(io::Error::new(io::ErrorKind::Unsupported, error))
}

/// RFC 8878 §3.1.2: a skippable frame begins with one of sixteen numbers.
fn is_skippable(start: [u8; 4]) -> bool {
    start[0] & 0xf0 == 0x50 && start[1..] == [0x2a, 0x4d, 0x18]
}

/// A source whose first four bytes have been examined.
struct Prefixed<R> {
    source: R,
    start: [u8; 4],
    /// Bytes of `start` that exist, and of those the bytes that have been read.
    len: usize,
    read: usize,
}

impl<R: Read> Prefixed<R> {
    fn new(source: R) -> Self {
        Self { source, start: [0; 4], len: 0, read: 0 }
    }

    /// Reads the first four bytes. They are zeros past the end of the source.
    fn start(&mut self) -> io::Result<[u8; 4]> {
        while self.len < self.start.len() {
            match self.source.read(&mut self.start[self.len..]) {
                Ok(0) => break,
                Ok(count) => self.len += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(self.start)
    }
}

impl<R: Read> Read for Prefixed<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.read == self.len {
            return self.source.read(out);
        }
        let count = (self.len - self.read).min(out.len());
        out[..count].copy_from_slice(&self.start[self.read..self.read + count]);
        self.read += count;
        Ok(count)
    }
}
