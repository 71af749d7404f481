//! Validation of the Host field: `uri-host [ ":" port ]` (RFC 9110 §7.2), with the characters of
//! RFC 3986 §3.2.2.

use std::net::Ipv6Addr;

/// Whether a field value is valid. The empty value is: a client sends it if the target URI has no
/// authority (RFC 9112 §3.2).
pub(super) fn is_valid(value: &[u8]) -> bool {
    let (host, behind) = if value.starts_with(b"[") {
        let Some(end) = value.iter().position(|&byte| byte == b']') else { return false };
        if !is_ip_literal(&value[1..end]) {
            return false;
        }
        (&[][..], &value[end + 1..])
    } else {
        value.split_at(value.iter().position(|&byte| byte == b':').unwrap_or(value.len()))
    };
    // RFC 3986 §3.2.3: the port may be empty.
    let port = behind.strip_prefix(b":").unwrap_or(behind);
    is_name(host)
        && (behind.is_empty() || port.len() < behind.len())
        && port.iter().all(u8::is_ascii_digit)
}

/// Whether `text` is the content of an `IP-literal`, without its brackets (RFC 3986 §3.2.2).
fn is_ip_literal(text: &[u8]) -> bool {
    let Some((b'v' | b'V', future)) = text.split_first() else {
        return std::str::from_utf8(text).is_ok_and(|text| text.parse::<Ipv6Addr>().is_ok());
    };
    let Some(dot) = future.iter().position(|&byte| byte == b'.') else { return false };
    let (version, address) = (&future[..dot], &future[dot + 1..]);
    let is_one = |byte: &u8| is_plain(*byte) || *byte == b':';
    let some = !version.is_empty() && !address.is_empty();
    some && version.iter().all(u8::is_ascii_hexdigit) && address.iter().all(is_one)
}

/// Whether `text` is a registered name. The characters of an IPv4 address are a subset.
fn is_name(mut text: &[u8]) -> bool {
    while let Some((&first, behind)) = text.split_first() {
        text = match (first, behind) {
            (b'%', [high, low, rest @ ..])
                if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                rest
            }
            (byte, rest) if is_plain(byte) => rest,
            _ => return false,
        };
    }
    true
}

/// Whether `byte` is in `unreserved` or `sub-delims` (RFC 3986 §2.2, §2.3).
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_field_accepts_uri_characters_only() {
        for good in [
            "",
            "x",
            "example.org",
            "example.org:80",
            "x:",
            "192.0.2.1:8080",
            "[::1]",
            "[2001:db8::192.0.2.1]:80",
            "[v1.a:b]",
            "%c3%a4",
            "a_b~c!$&'()*+,;=",
        ] {
            assert!(is_valid(good.as_bytes()), "{good}");
        }
        for bad in [
            "a b", "a/b", "user@x", "x?y", "x#y", "<x>", "a\\b", "a\tb", "ä", "x:80:80", "x:http",
            "x:-1", "[::1", "::1", "[::g]", "[]", "[::1]80", "[v.a]", "[v1.]", "%", "%g0", "%a",
            "\"x\"",
        ] {
            assert!(!is_valid(bad.as_bytes()), "{bad}");
        }
        assert!(!is_valid(b"\xff"));
    }
}
