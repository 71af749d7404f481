//! Generates responses: a file, ranges of it, a listing, a redirect or an error.

use std::hash::BuildHasher;
use std::os::fd::OwnedFd;

use units::Instant;

use super::{Entry, Exchange, FileServer};
use crate::http::files::{Found, Opened};
use crate::http::listing::Listing;
use crate::http::multipart::Multipart;
use crate::http::request::{Method, Refusal, Request};
use crate::http::response::{Head, Status, page};
use crate::http::select::{Selection, select};
use crate::http::{date, mime, path};

const HTML: &str = "text/html; charset=utf-8";

impl FileServer {
    pub(super) fn answer(
        &mut self,
        exchange: &mut Entry<Exchange>,
        request: &Request,
        now: Instant,
    ) {
        exchange.persistent = request.persistent && !self.stopping;
        let refusal = |status| Refusal { status, close: !request.persistent };
        let Some(path) = path::from_target(&request.target) else {
            return self.refuse(exchange, request.method, refusal(Status::NotFound), now);
        };
        let has_trailing_slash =
            request.target.split(|&byte| byte == b'?').next().is_some_and(|t| t.ends_with(b"/"));
        match self.folder.find(&path) {
            // A file name with a trailing slash names no resource.
            Ok(Found::File(_)) if has_trailing_slash => {
                self.refuse(exchange, request.method, refusal(Status::NotFound), now);
            }
            Ok(Found::File(opened)) => self.send_file(exchange, request, opened, &path, now),
            Ok(Found::Folder(_)) if !has_trailing_slash => {
                self.redirect(exchange, request, &path, now);
            }
            Ok(Found::Folder(folder)) => {
                let index: Vec<u8> = [&path[..], b"index.html"].join(&b'/');
                let index = index.strip_prefix(b"/").unwrap_or(&index);
                if let Ok(Found::File(opened)) = self.folder.find(index) {
                    return self.send_file(exchange, request, opened, index, now);
                }
                self.send_listing_head(exchange, request, folder, &path, now);
            }
            Err(status) => self.refuse(exchange, request.method, refusal(status), now),
        }
    }

    /// Sends a file, or the requested ranges of it.
    fn send_file(
        &mut self,
        exchange: &mut Entry<Exchange>,
        request: &Request,
        opened: Opened,
        name: &[u8],
        now: Instant,
    ) {
        let Opened { file, len, validators } = opened;
        let selection = select(request.method, &request.fields, &validators, len, seconds(now));
        let status = match selection {
            Selection::All => Status::Ok,
            Selection::Part(_) | Selection::Parts(_) => Status::PartialContent,
            Selection::NotModified => Status::NotModified,
            Selection::PreconditionFailed => Status::PreconditionFailed,
            Selection::NotSatisfiable => Status::RangeNotSatisfiable,
        };
        let mut head = Head::new(status, seconds(now));
        let media_type = mime::media_type(name);
        let range = match selection {
            Selection::All => 0..len,
            Selection::Part(range) => {
                head.field(
                    "Content-Range",
                    format_args!("bytes {}-{}/{len}", range.start, range.end - 1),
                );
                range
            }
            Selection::Parts(ranges) => {
                let boundary_key = self.boundary_keys.hash_one((now.as_nanos(), exchange.id));
                exchange.parts =
                    Some(Box::new(Multipart::new(ranges, boundary_key, media_type, len)));
                0..0
            }
            Selection::NotModified => 0..0,
            Selection::PreconditionFailed | Selection::NotSatisfiable => {
                if selection == Selection::NotSatisfiable {
                    head.field("Content-Range", format_args!("bytes */{len}"));
                }
                return self.send_page(exchange, request.method, head, status, &page(status));
            }
        };
        head.field("ETag", &validators.etag);
        head.field("Last-Modified", date::write(validators.modified));
        // RFC 9110 §15.4.5: a 304 response has no content.
        if status != Status::NotModified {
            head.field("Accept-Ranges", "bytes");
            if let Some(parts) = &exchange.parts {
                head.field("Content-Type", parts.media_type());
                head.field("Content-Length", parts.content_len());
            } else {
                head.field("Content-Type", media_type);
                head.field("Content-Length", range.end - range.start);
            }
        }
        self.begin(exchange, status, head.finish(exchange.persistent));
        exchange.file = (request.method == Method::Get).then_some((file, range.start, range.end));
        exchange.finish_part();
    }

    /// Sends the head of a listing, whose length is not known before its end.
    fn send_listing_head(
        &mut self,
        exchange: &mut Entry<Exchange>,
        request: &Request,
        folder: OwnedFd,
        path: &[u8],
        now: Instant,
    ) {
        let (listing, first) = match Listing::begin(folder, path, request.chunked) {
            Ok(begun) => begun,
            Err(status) => {
                let refusal = Refusal { status, close: !request.persistent };
                return self.refuse(exchange, request.method, refusal, now);
            }
        };
        let mut head = Head::new(Status::Ok, seconds(now));
        head.field("Content-Type", HTML);
        if request.chunked {
            head.field("Transfer-Encoding", "chunked");
        } else {
            // RFC 9112 §6.3 (8): the response ends with the connection.
            exchange.persistent = false;
        }
        let mut text = head.finish(exchange.persistent);
        if request.method == Method::Get {
            text.extend_from_slice(&first);
            exchange.listing = Some(Box::new(listing));
        }
        self.begin(exchange, Status::Ok, text);
    }

    fn redirect(
        &mut self,
        exchange: &mut Entry<Exchange>,
        request: &Request,
        path: &[u8],
        now: Instant,
    ) {
        let link: Vec<_> = path.split(|&byte| byte == b'/').map(path::percent_encode).collect();
        let mut head = Head::new(Status::MovedPermanently, seconds(now));
        head.field("Location", format_args!("/{}/", link.join("/")));
        let status = Status::MovedPermanently;
        self.send_page(exchange, request.method, head, status, &page(status));
    }

    pub(super) fn refuse(
        &mut self,
        exchange: &mut Entry<Exchange>,
        method: Method,
        refusal: Refusal,
        now: Instant,
    ) {
        let Refusal { status, close } = refusal;
        exchange.persistent = !close && !self.stopping;
        let mut head = Head::new(status, seconds(now));
        if status == Status::MethodNotAllowed {
            // RFC 9110 §15.5.6: a 405 response lists the allowed methods.
            head.field("Allow", "GET, HEAD");
        }
        self.send_page(exchange, method, head, status, &page(status));
    }

    fn send_page(
        &mut self,
        exchange: &mut Entry<Exchange>,
        method: Method,
        mut head: Head,
        status: Status,
        page: &[u8],
    ) {
        head.field("Content-Type", HTML);
        head.field("Content-Length", page.len());
        let mut text = head.finish(exchange.persistent);
        if method == Method::Get {
            text.extend_from_slice(page);
        }
        self.begin(exchange, status, text);
    }

    fn begin(&mut self, exchange: &mut Entry<Exchange>, status: Status, text: Vec<u8>) {
        exchange.text = text;
        // TCP's user timeout ends a connection whose peer acknowledges nothing.
        exchange.deadline = Instant::NEVER;
        self.served.answers[usize::from(status.code() / 100)] += 1;
    }
}

fn seconds(now: Instant) -> u64 {
    now.as_nanos() / 1_000_000_000
}
