//! Response heads (RFC 9112 §4).

use std::fmt::Write;

/// Status codes of the responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are those of RFC 9110 §15")]
pub enum Status {
    Ok = 200,
    PartialContent = 206,
    MovedPermanently = 301,
    NotModified = 304,
    BadRequest = 400,
    Forbidden = 403,
    NotFound = 404,
    MethodNotAllowed = 405,
    RequestTimeout = 408,
    PreconditionFailed = 412,
    ContentTooLarge = 413,
    UriTooLong = 414,
    RangeNotSatisfiable = 416,
    ExpectationFailed = 417,
    FieldsTooLarge = 431,
    InternalError = 500,
    NotImplemented = 501,
    VersionNotSupported = 505,
}

impl Status {
    /// The numeric status code.
    pub const fn code(self) -> u16 {
        self as u16
    }

    /// The reason phrase.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::PartialContent => "Partial Content",
            Self::MovedPermanently => "Moved Permanently",
            Self::NotModified => "Not Modified",
            Self::BadRequest => "Bad Request",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "Not Found",
            Self::MethodNotAllowed => "Method Not Allowed",
            Self::RequestTimeout => "Request Timeout",
            Self::PreconditionFailed => "Precondition Failed",
            Self::ContentTooLarge => "Content Too Large",
            Self::UriTooLong => "URI Too Long",
            Self::RangeNotSatisfiable => "Range Not Satisfiable",
            Self::ExpectationFailed => "Expectation Failed",
            Self::FieldsTooLarge => "Request Header Fields Too Large",
            Self::InternalError => "Internal Server Error",
            Self::NotImplemented => "Not Implemented",
            Self::VersionNotSupported => "HTTP Version Not Supported",
        }
    }
}

/// A response head under construction.
pub(super) struct Head(String);

impl Head {
    pub(super) fn new(status: Status, seconds: u64) -> Self {
        let mut head = Self(String::with_capacity(256));
        let (code, reason) = (status.code(), status.reason());
        head.line(format_args!("HTTP/1.1 {code} {reason}"));
        // RFC 9110 §6.6.1: a server with a clock sends the date.
        head.field("Date", super::date::write(seconds));
        head
    }

    pub(super) fn field(&mut self, name: &str, value: impl std::fmt::Display) {
        self.line(format_args!("{name}: {value}"));
    }

    pub(super) fn finish(mut self, persistent: bool) -> Vec<u8> {
        // RFC 9112 §9.3: HTTP/1.0 clients need `keep-alive`; for others it is redundant.
        self.field("Connection", if persistent { "keep-alive" } else { "close" });
        self.0.push_str("\r\n");
        self.0.into_bytes()
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(line);
        self.0.push_str("\r\n");
    }
}

/// The HTML page of an error status.
pub(super) fn page(status: Status) -> Vec<u8> {
    let (code, reason) = (status.code(), status.reason());
    format!("<!doctype html>\n<title>{code} {reason}</title>\n<h1>{code} {reason}</h1>\n")
        .into_bytes()
}
