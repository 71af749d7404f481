//! A request: what a peer asks for, and where it ends (RFC 9112).
//!
//! Where a request ends must have one answer, or a proxy before us sees another one than we do.
//! What leaves room for two is refused, and the connection closed.

use httparse::{Error, Status as Parsed};

use super::authority;
use super::response::Status;

/// The longest head of a request, in bytes, and the most bytes of all trailers together; RFC 9112
/// §3 asks for targets of 8000.
pub(super) const MAX_HEAD: usize = 16 << 10;

/// The longest target.
const MAX_TARGET: usize = 8_000;

/// The most header fields.
const MAX_FIELDS: usize = 64;

/// The longest body that is read past. GET and HEAD have no use for one.
const MAX_BODY: u64 = 64 << 10;

/// What is to be done with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
}

/// A request whose head has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// The target, from its path on.
    pub(super) target: Vec<u8>,
    /// The peer wants more than one answer from this connection.
    pub(super) persistent: bool,
    /// The peer understands an answer in chunks (RFC 9112 §7.1), which HTTP/1.0 does not.
    pub(super) chunked: bool,
    pub(super) body: Body,
    pub(super) fields: Fields,
}

/// The fields that choose a part of a file, or none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) range: Option<String>,
    pub(super) if_range: Option<String>,
    pub(super) if_match: Option<String>,
    pub(super) if_none_match: Option<String>,
    pub(super) if_modified_since: Option<String>,
    pub(super) if_unmodified_since: Option<String>,
}

/// What follows a head (RFC 9112 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// So many bytes.
    Length(u64),
    /// Chunks. In a chunk, or behind one, with so many bytes of body before.
    Chunks(u64),
    /// The lines behind the last chunk, with so many bytes of them before.
    Trailer(usize),
}

impl Body {
    pub(super) const NONE: Self = Self::Length(0);
}

/// A request that gets no file, and how the peer is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: Status,
    /// Nobody knows where the next request would begin, or it isn't worth finding out.
    pub(super) close: bool,
}

const fn fatal(status: Status) -> Refusal {
    Refusal { status, close: true }
}

/// Reads a request at the start of `bytes`: the request and the bytes of its head, or `None` while
/// some are missing.
pub(super) fn read(bytes: &[u8]) -> Result<Option<(Request, usize)>, (Refusal, usize)> {
    let bytes = bytes.get(..MAX_HEAD).unwrap_or(bytes);
    let mut room = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Request::new(&mut room);
    let len = match parsed.parse(bytes) {
        Ok(Parsed::Complete(len)) => len,
        Ok(Parsed::Partial) if bytes.len() < MAX_HEAD => return Ok(None),
        Ok(Parsed::Partial) => {
            let in_first_line = !bytes.contains(&b'\n');
            let status = if in_first_line { Status::UriTooLong } else { Status::FieldsTooLarge };
            return Err((fatal(status), 0));
        }
        Err(Error::TooManyHeaders) => return Err((fatal(Status::FieldsTooLarge), 0)),
        Err(Error::Version) => return Err((fatal(Status::VersionNotSupported), 0)),
        Err(_) => return Err((fatal(Status::BadRequest), 0)),
    };
    match understood(&parsed) {
        Ok(request) => Ok(Some((request, len))),
        Err(refusal) => Err((refusal, len)),
    }
}

fn understood(parsed: &httparse::Request<'_, '_>) -> Result<Request, Refusal> {
    let minor = parsed.version.unwrap_or(0);
    let all = &*parsed.headers;
    let framing = framing(all, minor)?;
    // What is refused after this leaves the connection usable, as long as no body has to be read
    // past.
    let refuse =
        |status| Refusal { status, close: framing.body != Body::NONE || !framing.persistent };
    let target = target(parsed.path.unwrap_or_default()).ok_or(refuse(Status::BadRequest))?;
    if target.len() > MAX_TARGET {
        return Err(refuse(Status::UriTooLong));
    }
    let method = match parsed.method.unwrap_or_default() {
        "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" | "PUT" | "DELETE" | "CONNECT" | "OPTIONS" | "TRACE" | "PATCH" => {
            return Err(refuse(Status::MethodNotAllowed));
        }
        _ => return Err(refuse(Status::NotImplemented)),
    };
    if matches!(framing.body, Body::Length(len) if len > MAX_BODY) {
        return Err(fatal(Status::ContentTooLarge));
    }
    let text = |name: &'static str| {
        field(all, name).and_then(|value| Some(std::str::from_utf8(value).ok()?.to_owned()))
    };
    let fields = Fields {
        range: text("range"),
        if_range: text("if-range"),
        if_match: text("if-match"),
        if_none_match: text("if-none-match"),
        if_modified_since: text("if-modified-since"),
        if_unmodified_since: text("if-unmodified-since"),
    };
    Ok(Request {
        method,
        target: target.to_vec(),
        persistent: framing.persistent,
        chunked: parsed.version.is_some_and(|minor| minor >= 1),
        body: framing.body,
        fields,
    })
}

struct Framing {
    body: Body,
    persistent: bool,
}

/// Where the request ends and whether another one may follow: wrong answers to that are never
/// forgiven.
fn framing(all: &[httparse::Header<'_>], minor: u8) -> Result<Framing, Refusal> {
    let bad = fatal(Status::BadRequest);
    // RFC 9112 §3.2: one valid Host, from HTTP/1.1 on.
    let hosts = fields(all, "host").count();
    if hosts > 1 || hosts == 0 && minor >= 1 || !fields(all, "host").all(authority::is_valid) {
        return Err(bad);
    }
    let mut lengths = fields(all, "content-length");
    let mut encodings = fields(all, "transfer-encoding");
    let body = match (lengths.next(), encodings.next()) {
        (None, None) => Body::NONE,
        (Some(length), None) => {
            // RFC 9112 §6.3 (5): anything but one number.
            let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            let number = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok());
            Body::Length(number.filter(|_| digits && lengths.next().is_none()).ok_or(bad)?)
        }
        (None, Some(encoding)) => {
            // RFC 9112 §6.1: HTTP/1.0 does not know it.
            if minor == 0 || encodings.next().is_some() {
                return Err(bad);
            }
            if !encoding.eq_ignore_ascii_case(b"chunked") {
                return Err(fatal(Status::NotImplemented));
            }
            Body::Chunks(0)
        }
        // RFC 9112 §6.1: an attempt at smuggling, or as good as one.
        (Some(_), Some(_)) => return Err(bad),
    };
    // RFC 9110 §10.1.1: what we do not know we cannot meet.
    let expects = field(all, "expect");
    if expects.is_some_and(|expect| !expect.eq_ignore_ascii_case(b"100-continue")) {
        return Err(fatal(Status::ExpectationFailed));
    }
    let option = |name: &'static str| {
        fields(all, "connection")
            .flat_map(|value| value.split(|&byte| byte == b','))
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    };
    // RFC 9112 §9.3. A peer that waits for leave to send a body gets an answer instead, and may
    // never send it.
    let persistent = !option("close") && (minor >= 1 || option("keep-alive"));
    let waits = expects.is_some() && body != Body::NONE;
    Ok(Framing { body, persistent: persistent && !waits })
}

/// RFC 9112 §3.2: the target from its path on; `None` for the forms that are not for files.
fn target(target: &str) -> Option<&[u8]> {
    let bytes = target.as_bytes();
    if bytes.starts_with(b"/") {
        return Some(bytes);
    }
    let scheme = bytes.get(..7).filter(|start| start.eq_ignore_ascii_case(b"http://"))?;
    let rest = &bytes[scheme.len()..];
    match rest.iter().position(|&byte| byte == b'/' || byte == b'?') {
        Some(at) if rest[at] == b'/' => Some(&rest[at..]),
        _ => Some(b"/"),
    }
}

fn fields<'a>(
    all: &'a [httparse::Header<'a>],
    name: &'static str,
) -> impl Iterator<Item = &'a [u8]> {
    all.iter().filter(move |field| field.name.eq_ignore_ascii_case(name)).map(|field| field.value)
}

fn field<'a>(all: &'a [httparse::Header<'a>], name: &'static str) -> Option<&'a [u8]> {
    fields(all, name).next()
}

/// Reads past as much of a body as there is at the start of `bytes`: how many bytes, and what is
/// still to come. `None` when it is longer than allowed or its end cannot be told.
pub(super) fn skip(body: Body, bytes: &[u8]) -> Option<(usize, Body)> {
    match body {
        Body::Length(left) => {
            let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            Some((here, Body::Length(left - here as u64)))
        }
        // The parser takes a line without a number for the last chunk.
        Body::Chunks(_) if bytes.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => None,
        Body::Chunks(before) => match httparse::parse_chunk_size(bytes) {
            Ok(Parsed::Complete((line, 0))) => Some((line, Body::Trailer(0))),
            Ok(Parsed::Complete((line, len))) => {
                let total = before.saturating_add(len);
                if total > MAX_BODY {
                    return None;
                }
                // A chunk is small, so it is waited for with the line end behind it.
                let end = line + usize::try_from(len).unwrap_or(usize::MAX);
                match bytes.get(end..end + 2) {
                    Some(b"\r\n") => Some((end + 2, Body::Chunks(total))),
                    Some(_) => None,
                    None => Some((0, body)),
                }
            }
            Ok(Parsed::Partial) if bytes.len() < 256 => Some((0, body)),
            _ => None,
        },
        Body::Trailer(before) => {
            let line = bytes.iter().position(|&byte| byte == b'\n').map(|at| at + 1);
            // One limit for all lines together, and for the beginning of one.
            let total = before.saturating_add(line.unwrap_or(bytes.len()));
            match line {
                _ if total > MAX_HEAD => None,
                Some(len) if bytes[..len].trim_ascii_end().is_empty() => Some((len, Body::NONE)),
                Some(len) => Some((len, Body::Trailer(total))),
                None => Some((0, body)),
            }
        }
    }
}

#[cfg(test)]
mod tests;
