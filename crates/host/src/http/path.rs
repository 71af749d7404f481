//! Translates a request target into a path below the served folder.

/// The path of a target, decoded and relative to the folder; empty for the folder itself. `None` if
/// the target has an invalid escape, a NUL byte, an escaped slash, or leaves the folder.
pub(super) fn of(target: &[u8]) -> Option<Vec<u8>> {
    let path = target.split(|&byte| byte == b'?').next()?;
    let mut parts: Vec<Vec<u8>> = Vec::new();
    for part in path.strip_prefix(b"/")?.split(|&byte| byte == b'/') {
        let part = decoded(part)?;
        if part.contains(&0) || part.contains(&b'/') {
            return None;
        }
        match &part[..] {
            b"" | b"." => {}
            // Unlike RFC 3986 §5.2.4, which stays at the root, a target that leaves the folder is
            // refused.
            b".." => drop(parts.pop()?),
            _ => parts.push(part),
        }
    }
    Some(parts.join(&b'/'))
}

/// Decodes percent escapes (RFC 3986 §2.1).
fn decoded(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let (&[high, low], behind) = rest.split_first_chunk()?;
        bytes.push(digit(high)? << 4 | digit(low)?);
        rest = behind;
    }
    Some(bytes)
}

/// Percent-encodes a file name for a link.
pub(super) fn encoded(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for &byte in name {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            text.push(char::from(byte));
        } else {
            text.push('%');
            text.extend(
                [byte >> 4, byte & 15]
                    .map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)])),
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn targets_are_decoded_within_the_folder() {
        let path =
            |target: &str| of(target.as_bytes()).map(|path| String::from_utf8(path).unwrap());
        for (target, expected) in [
            ("/", Some("")),
            ("/a/b.txt?c=d/../e", Some("a/b.txt")),
            ("/a%20b/%C3%A4", Some("a b/ä")),
            ("//a/./b//", Some("a/b")),
            ("/a/../b", Some("b")),
            ("/..", None),
            ("/a/../../b", None),
            ("/%2e%2e/etc/passwd", None),
            ("/a%2Fb", None),
            ("/a%00", None),
            ("/%", None),
            ("/%g0", None),
            ("a", None),
            ("", None),
        ] {
            assert_eq!(path(target).as_deref(), expected, "{target}");
        }
    }

    proptest! {
        #[test]
        fn no_target_escapes_the_folder(target: Vec<u8>) {
            if let Some(path) = of(&target) {
                prop_assert!(!path.starts_with(b"/") && !path.contains(&0));
                prop_assert!(path.split(|&byte| byte == b'/').all(|part| part != b".." && part != b"."));
            }
        }

        #[test]
        fn encoded_names_are_decoded_back(name in proptest::collection::vec(any::<u8>().prop_filter("", |b| *b != 0 && *b != b'/'), 1..20)) {
            prop_assume!(name != b"." && name != b"..");
            let link = format!("/{}", encoded(&name));
            prop_assert_eq!(of(link.as_bytes()), Some(name));
        }
    }
}
