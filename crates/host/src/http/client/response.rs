//! Head of a response, and the length of the body that follows it (RFC 9112 §6.3).

use httparse::Status as Parsed;

use super::Outcome;

/// The longest head of a response, in bytes.
const MAX_HEAD: usize = 64 << 10;

/// The most header fields of a response.
const MAX_FIELDS: usize = 128;

/// How the body of the response ends (RFC 9112 §6.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// The head is not complete.
    Head,
    /// The body ends after this many more bytes.
    Length(u64),
    /// The body ends with the connection.
    ToEnd,
}

/// Parses the head of a response: status code, body length and length of the head. `None` while the
/// head is incomplete.
pub(super) fn response_head(bytes: &[u8]) -> Result<Option<(u16, Body, usize)>, Outcome> {
    let mut room = [httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut parsed = httparse::Response::new(&mut room);
    let len = match parsed.parse(bytes) {
        Ok(Parsed::Complete(len)) => len,
        Ok(Parsed::Partial) if bytes.len() < MAX_HEAD => return Ok(None),
        Ok(Parsed::Partial) | Err(_) => return Err(Outcome::Malformed),
    };
    let status = parsed.code.ok_or(Outcome::Malformed)?;
    let mut body = Body::ToEnd;
    for field in parsed.headers.iter() {
        if field.name.eq_ignore_ascii_case("transfer-encoding") {
            // RFC 9112 §6.1: not allowed in a response to HTTP/1.0.
            return Err(Outcome::Malformed);
        }
        if field.name.eq_ignore_ascii_case("content-length") {
            let length = content_length(field.value).ok_or(Outcome::Malformed)?;
            if body != Body::ToEnd && body != Body::Length(length) {
                return Err(Outcome::Malformed);
            }
            body = Body::Length(length);
        }
    }
    // RFC 9112 §6.3, rule 1: these have no body, whatever their fields say.
    if matches!(status, 100..200 | 204 | 304) {
        body = Body::Length(0);
    }
    Ok(Some((status, body, len)))
}

/// Parses a Content-Length (RFC 9110 §8.6): digits only. A list of equal values is not accepted.
fn content_length(value: &[u8]) -> Option<u64> {
    let text = str::from_utf8(value).ok()?;
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(text: &str) -> Result<Option<(u16, Body, usize)>, Outcome> {
        response_head(text.as_bytes())
    }

    #[test]
    fn response_head_determines_the_body_length() {
        let whole = "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n";
        assert_eq!(head(whole), Ok(Some((200, Body::Length(12), whole.len()))));
        assert_eq!(head(&whole[..whole.len() - 1]), Ok(None));
        assert_eq!(head("HTTP/1.0 404 Not Found\r\n\r\n"), Ok(Some((404, Body::ToEnd, 26))));
        assert_eq!(
            head("HTTP/1.1 304 Same\r\nContent-Length: 12\r\n\r\n").unwrap().unwrap().1,
            Body::Length(0)
        );
        for bad in [
            "SSH-2.0-x\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        ] {
            assert_eq!(head(bad), Err(Outcome::Malformed), "{bad}");
        }
        assert_eq!(
            head(&format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(MAX_HEAD))),
            Err(Outcome::Malformed)
        );
    }
}
