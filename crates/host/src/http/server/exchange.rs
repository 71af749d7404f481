//! State of the exchange with one client: the request in progress, and the rest of the response.

use std::fs::File;

use units::Instant;

use crate::http::listing::Listing;
use crate::http::multipart::Multipart;
use crate::http::request::Body;

/// The requests and responses of a connection, one after the other.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) phase: Phase,
    /// The head of the response, small contents, and the current piece of a listing.
    pub(super) text: Vec<u8>,
    /// Number of bytes of `text` that have been written.
    pub(super) sent: usize,
    /// The file that follows `text`, with the start and end of the range that is left to send.
    pub(super) file: Option<(File, u64, u64)>,
    /// The parts of a multipart response that follow.
    pub(super) parts: Option<Box<Multipart>>,
    /// The rest of a listing.
    pub(super) listing: Option<Box<Listing>>,
    /// The connection is in the queue of listings that wait for names.
    pub(super) in_names_queue: bool,
    /// The connection is persistent.
    pub(super) persistent: bool,
    /// Deadline of the request in progress; `NEVER` between requests.
    pub(super) due: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// A request is awaited, or a response is being sent.
    Head,
    /// The body of a request is being skipped.
    Body(Body),
    /// The last response has been written.
    Closing,
}

impl Exchange {
    /// The state of a connection that has just been accepted.
    pub(super) fn new() -> Self {
        Self {
            phase: Phase::Head,
            text: Vec::new(),
            sent: 0,
            file: None,
            parts: None,
            listing: None,
            in_names_queue: false,
            persistent: true,
            due: Instant::NEVER,
        }
    }

    /// Starts the next part of a multipart response, if the current range is complete. After the
    /// last part the response is complete.
    pub(super) fn finish_part(&mut self) {
        let Some((_, at, end)) = &mut self.file else { return };
        if at < end {
            return;
        }
        let Some(parts) = &mut self.parts else {
            self.file = None;
            return;
        };
        let (text, next) = parts.advance();
        self.text.extend_from_slice(&text);
        if let Some(range) = next {
            (*at, *end) = (range.start, range.end);
        } else {
            (self.file, self.parts) = (None, None);
        }
    }

    /// Discards the rest of a response.
    pub(super) fn discard_rest(&mut self) {
        (self.file, self.parts, self.listing) = (None, None, None);
        self.phase = Phase::Closing;
    }

    pub(super) fn is_answering(&self) -> bool {
        !self.text.is_empty() || self.file.is_some() || self.listing.is_some()
    }
}
