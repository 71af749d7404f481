//! `multipart/byteranges` responses (RFC 9110 §14.6, RFC 2046 §5.1.1): the delimiters before,
//! between and after the parts.

use std::collections::VecDeque;
use std::fmt::Write;
use std::ops::Range;

/// The unsent rest of a multipart response.
#[derive(Debug)]
pub(super) struct Multipart {
    boundary: String,
    /// Media type of the file.
    media_type: &'static str,
    /// Length of the file, in bytes.
    len: u64,
    ranges: VecDeque<Range<u64>>,
    begun: bool,
}

impl Multipart {
    /// A response with these ranges of a file of `len` bytes. `boundary_key` makes the boundary
    /// unpredictable, so that an author of the file cannot imitate it.
    pub(super) fn new(
        ranges: Vec<Range<u64>>,
        boundary_key: u64,
        media_type: &'static str,
        len: u64,
    ) -> Self {
        Self {
            boundary: format!("part-{boundary_key:016x}"),
            media_type,
            len,
            ranges: ranges.into(),
            begun: false,
        }
    }

    /// The media type of the whole response, with its boundary.
    pub(super) fn media_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// Length of the whole response body in bytes. Valid only before the first call of
    /// [`advance`](Self::advance).
    pub(super) fn content_len(&self) -> u64 {
        let part = |(index, range): (usize, &Range<u64>)| {
            self.delimiter(index > 0, Some(range)).len() as u64 + (range.end - range.start)
        };
        let parts: u64 = self.ranges.iter().enumerate().map(part).sum();
        parts + self.delimiter(true, None).len() as u64
    }

    /// Returns the next delimiter and the range that follows it, which is `None` after the closing
    /// delimiter.
    pub(super) fn advance(&mut self) -> (Vec<u8>, Option<Range<u64>>) {
        let next = self.ranges.pop_front();
        let text = self.delimiter(self.begun, next.as_ref());
        self.begun = true;
        (text.into_bytes(), next)
    }

    /// RFC 2046 §5.1.1: the line break before a delimiter belongs to it. The closing delimiter ends
    /// in two more hyphens.
    fn delimiter(&self, behind: bool, part: Option<&Range<u64>>) -> String {
        let Self { boundary, media_type, len, .. } = self;
        let mut text = String::with_capacity(160);
        if behind {
            text.push_str("\r\n");
        }
        // Writing to a string cannot fail.
        let _ = match part {
            Some(Range { start, end }) => write!(
                text,
                "--{boundary}\r\nContent-Type: {media_type}\r\nContent-Range: bytes {start}-{last}/{len}\r\n\r\n",
                last = end - 1
            ),
            None => write!(text, "--{boundary}--\r\n"),
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9110 §14.6
    #[test]
    fn multipart_example_of_rfc_9110() {
        let mut parts = Multipart::new(vec![500..1000, 7000..8000], 1, "application/pdf", 8000);
        assert_eq!(parts.media_type(), "multipart/byteranges; boundary=part-0000000000000001");
        let promised = parts.content_len();
        let mut written = 0;
        let mut text = String::new();
        loop {
            let (delimiter, part) = parts.advance();
            written += delimiter.len() as u64;
            text.push_str(std::str::from_utf8(&delimiter).unwrap());
            let Some(part) = part else { break };
            written += part.end - part.start;
            text.push('…');
        }
        assert_eq!(written, promised);
        assert_eq!(
            text,
            "--part-0000000000000001\r\nContent-Type: application/pdf\r\nContent-Range: bytes 500-999/8000\r\n\r\n…\r\n\
             --part-0000000000000001\r\nContent-Type: application/pdf\r\nContent-Range: bytes 7000-7999/8000\r\n\r\n…\r\n\
             --part-0000000000000001--\r\n"
        );
    }
}
