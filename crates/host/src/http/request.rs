//! Parsing and framing of requests (RFC 9112).
//!
//! The end of a request must be unambiguous; otherwise a proxy in front of the server could see a
//! different one. Ambiguous requests are refused and the connection is closed.

use httparse::{Error, Status as Parsed};

use super::authority;
use super::response::Status;

/// Maximum length of a request head in bytes, and of all trailers together. RFC 9112 §3 recommends
/// support for request lines of 8000 bytes.
pub(super) const MAX_HEAD: usize = 16 << 10;

/// Maximum length of the request target, in bytes.
const MAX_TARGET: usize = 8_000;

/// Maximum number of header fields.
const MAX_FIELDS: usize = 64;

/// Maximum length of a request body that is skipped, in bytes. GET and HEAD do not use one.
const MAX_BODY: u64 = 64 << 10;

/// Supported request methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Get,
    Head,
}

/// A request with a complete head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) method: Method,
    /// The request target, starting with its path.
    pub(super) target: Vec<u8>,
    /// The peer wants a persistent connection (RFC 9112 §9.3).
    pub(super) persistent: bool,
    /// The peer supports chunked coding (RFC 9112 §7.1), which HTTP/1.0 lacks.
    pub(super) chunked: bool,
    pub(super) body: Body,
    pub(super) fields: Fields,
}

/// The fields of conditional and range requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) range: Option<String>,
    pub(super) if_range: Option<String>,
    pub(super) if_match: Option<String>,
    pub(super) if_none_match: Option<String>,
    pub(super) if_modified_since: Option<String>,
    pub(super) if_unmodified_since: Option<String>,
}

/// The unread rest of a request after its head (RFC 9112 §6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// A body with this many bytes left.
    Length(u64),
    /// A chunked body, at the start of a chunk, with the number of body bytes in the chunks before.
    Chunks(u64),
    /// The trailer section of a chunked body, with the length of the lines read.
    Trailer(usize),
}

impl Body {
    pub(super) const NONE: Self = Self::Length(0);
}

/// An error response to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: Status,
    /// The connection is closed after the response: the start of the next request is unknown, or
    /// finding it is not worth the work.
    pub(super) close: bool,
}

const fn fatal(status: Status) -> Refusal {
    Refusal { status, close: true }
}

/// Parses a request at the start of `bytes`. Returns the request and the length of its head, or
/// `None` if the head is incomplete.
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
    match interpret(&parsed) {
        Ok(request) => Ok(Some((request, len))),
        Err(refusal) => Err((refusal, len)),
    }
}

fn interpret(parsed: &httparse::Request<'_, '_>) -> Result<Request, Refusal> {
    let minor = parsed.version.unwrap_or(0);
    let all = &*parsed.headers;
    let framing = framing(all, minor)?;
    // After a refusal from here on the connection remains usable, unless a body would have to be
    // skipped.
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

/// Determines the end of the request and whether the connection is persistent. All errors close the
/// connection.
fn framing(all: &[httparse::Header<'_>], minor: u8) -> Result<Framing, Refusal> {
    let bad = fatal(Status::BadRequest);
    // RFC 9112 §3.2: exactly one valid Host field from HTTP/1.1 on.
    let hosts = fields(all, "host").count();
    if hosts > 1 || hosts == 0 && minor >= 1 || !fields(all, "host").all(authority::is_valid) {
        return Err(bad);
    }
    let mut lengths = fields(all, "content-length");
    let mut encodings = fields(all, "transfer-encoding");
    let body = match (lengths.next(), encodings.next()) {
        (None, None) => Body::NONE,
        (Some(length), None) => {
            // RFC 9112 §6.3 (5): anything but one number is an error.
            let digits = !length.is_empty() && length.iter().all(u8::is_ascii_digit);
            let number = std::str::from_utf8(length).ok().and_then(|length| length.parse().ok());
            Body::Length(number.filter(|_| digits && lengths.next().is_none()).ok_or(bad)?)
        }
        (None, Some(encoding)) => {
            // RFC 9112 §6.1: HTTP/1.0 has no transfer coding.
            if minor == 0 || encodings.next().is_some() {
                return Err(bad);
            }
            if !encoding.eq_ignore_ascii_case(b"chunked") {
                return Err(fatal(Status::NotImplemented));
            }
            Body::Chunks(0)
        }
        // RFC 9112 §6.1: both fields together may be an attempt at request smuggling.
        (Some(_), Some(_)) => return Err(bad),
    };
    // RFC 9110 §10.1.1: an unknown expectation cannot be met.
    let expects = field(all, "expect");
    if expects.is_some_and(|expect| !expect.eq_ignore_ascii_case(b"100-continue")) {
        return Err(fatal(Status::ExpectationFailed));
    }
    let option = |name: &'static str| {
        fields(all, "connection")
            .flat_map(|value| value.split(|&byte| byte == b','))
            .any(|option| option.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    };
    // RFC 9112 §9.3. A peer that waits for `100 Continue` gets a final response instead, and may
    // never send the body.
    let persistent = !option("close") && (minor >= 1 || option("keep-alive"));
    let waits = expects.is_some() && body != Body::NONE;
    Ok(Framing { body, persistent: persistent && !waits })
}

/// The request target from its path on (RFC 9112 §3.2). `None` for the forms that do not name
/// files.
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

/// Skips the part of a body at the start of `bytes`. Returns the number of bytes and the rest of
/// the body. `None` if the body is too long or malformed.
pub(super) fn skip(body: Body, bytes: &[u8]) -> Option<(usize, Body)> {
    match body {
        Body::Length(left) => {
            let here = usize::try_from(left).unwrap_or(usize::MAX).min(bytes.len());
            Some((here, Body::Length(left - here as u64)))
        }
        // The parser accepts a line without a number as the last chunk.
        Body::Chunks(_) if bytes.first().is_some_and(|byte| !byte.is_ascii_hexdigit()) => None,
        Body::Chunks(before) => match httparse::parse_chunk_size(bytes) {
            Ok(Parsed::Complete((line, 0))) => Some((line, Body::Trailer(0))),
            Ok(Parsed::Complete((line, len))) => {
                let total = before.saturating_add(len);
                if total > MAX_BODY {
                    return None;
                }
                // Chunks are small, so the function waits for the whole chunk with its line break.
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
            // One limit applies to all lines together, including an incomplete one.
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
