//! Decompression of capture files: gzip (RFC 1952) and Zstandard (RFC 8878), recognised by their
//! first bytes.

use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// Size of the buffer in front of a decoder, in bytes.
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
    Ok(match start {
        _ if start.starts_with(&GZIP) => {
            Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER, source)))
        }
        _ if start == ZSTD || is_skippable(start) => {
            Box::new(Zstd::new(BufReader::with_capacity(BUFFER, source)))
        }
        _ => Box::new(source),
    })
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

/// Frames of Zstandard, one after the other. The decoder refuses windows above 100 MB.
struct Zstd<R> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Self {
        Self { source, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Begins the next frame. Returns whether there is one.
    fn begin(&mut self) -> io::Result<bool> {
        loop {
            if self.source.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.decoder.reset(&mut self.source) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let skipped = u64::from(length);
                    if io::copy(&mut (&mut self.source).take(skipped), &mut io::sink())? < skipped {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                Err(error) => return Err(io::Error::other(error.to_string())),
            }
        }
    }
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if out.is_empty() {
            return Ok(0);
        }
        loop {
            if self.in_frame {
                while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                    self.decoder
                        .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                        .map_err(|error| io::Error::other(error.to_string()))?;
                }
                let count = self.decoder.read(out)?;
                if count > 0 {
                    return Ok(count);
                }
                self.in_frame = false;
            }
            if !self.begin()? {
                return Ok(0);
            }
        }
    }
}
