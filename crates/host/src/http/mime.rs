//! Media types by file name extension.
//!
//! The crate `mime_guess` 2.0.5 names no character set, and has other types for 4 of these
//! extensions, of which two are obsolete (RFC 8081 §4.4.5, RFC 9239 §6).

const TYPES: [(&str, &str); 32] = [
    ("html", "text/html; charset=utf-8"),
    ("htm", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("mjs", "text/javascript; charset=utf-8"),
    ("json", "application/json"),
    ("xml", "application/xml"),
    ("txt", "text/plain; charset=utf-8"),
    ("md", "text/markdown; charset=utf-8"),
    ("csv", "text/csv; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("avif", "image/avif"),
    ("ico", "image/vnd.microsoft.icon"),
    ("woff", "font/woff"),
    ("woff2", "font/woff2"),
    ("ttf", "font/ttf"),
    ("pdf", "application/pdf"),
    ("wasm", "application/wasm"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("tar", "application/x-tar"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("wav", "audio/wav"),
    ("mp4", "video/mp4"),
    ("webm", "video/webm"),
    ("webmanifest", "application/manifest+json"),
];

/// The media type of a file with this name.
pub(super) fn media_type(name: &[u8]) -> &'static str {
    let end = name.rsplit(|&byte| byte == b'.').next().filter(|end| end.len() < name.len());
    end.and_then(|end| TYPES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(end)))
        .map_or("application/octet-stream", |(_, media_type)| media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_follows_the_file_extension() {
        assert_eq!(media_type(b"a/b.PNG"), "image/png");
        assert_eq!(media_type(b"archive.tar.gz"), "application/gzip");
        assert_eq!(media_type(b"png"), "application/octet-stream");
        assert_eq!(media_type(b""), "application/octet-stream");
    }
}
