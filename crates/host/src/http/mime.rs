//! Media types by file name extension.

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
pub(super) fn of(name: &[u8]) -> &'static str {
    let end = name.rsplit(|&byte| byte == b'.').next().filter(|end| end.len() < name.len());
    end.and_then(|end| TYPES.iter().find(|(known, _)| known.as_bytes().eq_ignore_ascii_case(end)))
        .map_or("application/octet-stream", |(_, media_type)| media_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_follows_the_file_extension() {
        assert_eq!(of(b"a/b.PNG"), "image/png");
        assert_eq!(of(b"archive.tar.gz"), "application/gzip");
        assert_eq!(of(b"png"), "application/octet-stream");
        assert_eq!(of(b""), "application/octet-stream");
    }
}
