//! Part of a file that is in memory.

use std::io::{self, Read};

/// Initial size of the buffer in bytes.
const CAPACITY: usize = 256 * 1024;

/// A buffer over a source. Bytes are consumed from its start, and it is filled again at its end.
#[derive(Debug)]
pub(super) struct Window<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    /// Position of `start` in the source.
    offset: u64,
    /// Position of the current record in the source.
    record: u64,
    ended: bool,
}

impl<R: Read> Window<R> {
    pub(super) fn new(source: R) -> Self {
        let (start, end, offset, record, ended) = (0, 0, 0, 0, false);
        Self { source, buffer: vec![0; CAPACITY], start, end, offset, record, ended }
    }

    /// Bytes in memory that have not been consumed.
    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Size of the buffer in bytes.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// Position in the source.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// States that a record begins here.
    #[inline]
    pub(super) fn begin_record(&mut self) {
        self.record = self.offset;
    }

    /// Position of the current record in the source.
    pub(super) fn record(&self) -> u64 {
        self.record
    }

    /// Returns whether `count` bytes are in memory, after filling the buffer. The error is the text
    /// of an error of the source.
    #[inline]
    pub(super) fn has(&mut self, count: usize) -> Result<bool, String> {
        if self.end - self.start >= count {
            return Ok(true);
        }
        self.has_after_filling(count)
    }

    #[cold]
    #[inline(never)]
    fn has_after_filling(&mut self, count: usize) -> Result<bool, String> {
        self.fill(count).map_err(|error| error.to_string())?;
        Ok(self.end - self.start >= count)
    }

    /// Fills the buffer until it has `count` bytes or the source ends.
    pub(super) fn fill(&mut self, count: usize) -> io::Result<()> {
        self.buffer.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        while self.end < count && !self.ended {
            if self.end == self.buffer.len() {
                // Twice the size, so that a false length costs no more than the bytes that exist.
                self.buffer.resize((2 * self.end).min(count.max(self.end + 1)), 0);
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Consumes bytes in memory.
    pub(super) fn consume(&mut self, count: usize) {
        self.start = (self.start + count).min(self.end);
        self.offset += count as u64;
    }

    /// Consumes a record in memory and returns the packet in it.
    #[inline]
    pub(super) fn take(&mut self, consumed: usize, start: usize, len: usize) -> &[u8] {
        let from = self.start + start;
        self.consume(consumed);
        &self.buffer[from..from + len]
    }

    /// Consumes bytes that need not be in memory. Returns whether there were as many.
    pub(super) fn skip(&mut self, mut count: u64) -> Result<bool, String> {
        loop {
            let here = (self.end - self.start).min(usize::try_from(count).unwrap_or(usize::MAX));
            self.consume(here);
            count -= here as u64;
            if count == 0 {
                return Ok(true);
            }
            if !self.has(1)? {
                return Ok(false);
            }
        }
    }

    /// Result for a source that has no further complete record: the end of the file, or the reason
    /// if it ends within `what`.
    pub(super) fn at_end<T>(&self, what: &str) -> Result<Option<T>, String> {
        match self.end - self.start {
            0 => Ok(None),
            left => Err(format!("the file ends within {what}, {left} bytes after its start")),
        }
    }
}
