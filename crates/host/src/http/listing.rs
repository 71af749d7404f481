//! The page of a folder, made in pieces while it is sent: a connection holds one piece and the last name in it, however
//! large the folder is. Names come in their order, so the next piece begins behind that name.
//!
//! The sorted names of the few folders that were read last are kept for all connections together. Without that, each
//! piece would read the folder again.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Stat, fstat, statat};
use rustix::io::Errno;

use super::files::status;
use super::response::Status;
use super::{date, path};

/// The most entries of a folder that are listed.
const MOST_ENTRIES: usize = 10_000;

/// A piece ends with the first row that reaches this length in bytes. Its largest row has some 2 kB.
const PIECE: usize = 4 << 10;

/// How many folders are kept; their names take 3 MB each at the most.
const KEPT: usize = 8;

const STYLE: &str = "body{font-family:system-ui,sans-serif;margin:1.5em;color-scheme:light dark}\
    th,td{text-align:left;padding:.2em 1.5em .2em 0;white-space:nowrap}\
    td:first-child{white-space:normal;overflow-wrap:anywhere}td:nth-child(2){text-align:right}";

/// The names of the folders that were read last, oldest first.
#[derive(Debug, Default)]
pub(super) struct Names {
    kept: VecDeque<(Place, Sorted)>,
}

/// Device and inode of a folder.
type Place = (u64, u64);

/// The names in a folder.
#[derive(Debug)]
struct Sorted {
    names: Vec<Box<[u8]>>,
    /// There are more.
    is_cut: bool,
}

/// A page that is being sent.
#[derive(Debug)]
pub(super) struct Listing {
    folder: OwnedFd,
    place: Place,
    /// The last name that was written.
    last: Box<[u8]>,
    /// The peer is told by chunks where the page ends (RFC 9112 §7.1), and not by the end of the connection.
    chunked: bool,
}

impl Names {
    /// Reads a folder, and begins a page of it: the page, and its first piece.
    pub(super) fn begin(
        &mut self,
        folder: OwnedFd,
        path: &[u8],
        chunked: bool,
    ) -> Result<(Listing, Vec<u8>), Status> {
        let metadata = fstat(&folder).map_err(status)?;
        let place = (metadata.st_dev, metadata.st_ino);
        self.read(&folder, place)?;
        let title = escaped(&format!("/{}", String::from_utf8_lossy(path)));
        let mut text = format!(
            "<!doctype html>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>{STYLE}</style>\n<h1>{title}</h1>\n\
             <table>\n<tr><th>Name<th>Size<th>Modified (UTC)\n"
        );
        if !path.is_empty() {
            text.push_str("<tr><td><a href=\"../\">../</a><td><td>\n");
        }
        let listing = Listing { folder, place, last: Box::default(), chunked };
        let piece = listing.coded(&text);
        Ok((listing, piece))
    }

    /// Keeps the names of a folder as they are now.
    fn read(&mut self, folder: &OwnedFd, place: Place) -> Result<(), Status> {
        self.kept.retain(|(other, _)| *other != place);
        let mut names: Vec<Box<[u8]>> = Vec::new();
        let mut is_cut = false;
        for entry in Dir::read_from(folder.as_fd()).map_err(status)? {
            let entry = entry.map_err(|_| Status::InternalError)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            is_cut = names.len() == MOST_ENTRIES;
            if is_cut {
                break;
            }
            names.push(name.into());
        }
        names.sort_unstable();
        if self.kept.len() == KEPT {
            self.kept.pop_front();
        }
        self.kept.push_back((place, Sorted { names, is_cut }));
        Ok(())
    }

    /// The names of the folder of a page.
    fn of(&mut self, listing: &Listing) -> Result<&Sorted, Status> {
        if !self.kept.iter().any(|(place, _)| *place == listing.place) {
            self.read(&listing.folder, listing.place)?;
        }
        let found = self.kept.iter().find(|(place, _)| *place == listing.place);
        found.map(|(_, sorted)| sorted).ok_or(Status::InternalError)
    }
}

impl Listing {
    /// The next piece, and whether it is the last one.
    pub(super) fn next_piece(&mut self, names: &mut Names) -> Result<(Vec<u8>, bool), Status> {
        let Sorted { names, is_cut } = names.of(self)?;
        let begin = names.partition_point(|name| *name <= self.last);
        let mut text = String::with_capacity(2 * PIECE);
        let mut last = None;
        for name in &names[begin..] {
            match statat(&self.folder, &**name, AtFlags::SYMLINK_NOFOLLOW) {
                // It was removed after the folder was read.
                Err(Errno::NOENT) => {}
                found => write_row(&mut text, name, found.ok().as_ref()),
            }
            last = Some(name);
            if text.len() >= PIECE {
                break;
            }
        }
        if let Some(last) = last.filter(|_| text.len() >= PIECE) {
            self.last = last.clone();
            return Ok((self.coded(&text), false));
        }
        text.push_str("</table>\n");
        if *is_cut {
            text.push_str("<p>This folder has more entries. They are not listed.\n");
        }
        let mut piece = self.coded(&text);
        if self.chunked {
            piece.extend_from_slice(b"0\r\n\r\n");
        }
        Ok((piece, true))
    }

    /// As it is sent.
    fn coded(&self, text: &str) -> Vec<u8> {
        if self.chunked {
            [format!("{:x}\r\n", text.len()).as_bytes(), text.as_bytes(), b"\r\n"].concat()
        } else {
            text.as_bytes().to_vec()
        }
    }

    /// Bytes of memory that depend on names.
    pub(super) fn held_bytes(&self) -> usize {
        self.last.len()
    }
}

/// `metadata` is that of a symbolic link itself, since what it leads to may lie outside of the folder that is served.
fn write_row(text: &mut String, name: &[u8], metadata: Option<&Stat>) {
    let kind = metadata.map(|metadata| FileType::from_raw_mode(metadata.st_mode));
    let slash = if kind == Some(FileType::Directory) { "/" } else { "" };
    let (link, shown) = (path::encoded(name), escaped(&String::from_utf8_lossy(name)));
    let is_file = kind == Some(FileType::RegularFile);
    let len = metadata.filter(|_| is_file).and_then(|metadata| u64::try_from(metadata.st_size).ok());
    let modified = metadata.and_then(|metadata| u64::try_from(metadata.st_mtime).ok());
    let (len, modified) = (len.map(size).unwrap_or_default(), modified.map(date::short).unwrap_or_default());
    // A name with a colon would be taken for a scheme.
    text.extend(["<tr><td><a href=\"./", &link, slash, "\">", &shown, slash, "</a><td>"]);
    text.extend([&*len, "<td>", &modified, "\n"]);
}

/// A number of bytes for people, e.g. `1.5 kB`.
fn size(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut unit = 1000;
    let mut tenths = 0;
    for name in ["kB", "MB", "GB"] {
        tenths = (bytes.saturating_add(unit / 20)) / (unit / 10);
        if tenths < 10_000 {
            return format!("{}.{} {name}", tenths / 10, tenths % 10);
        }
        unit *= 1000;
    }
    format!("{} TB", tenths / 10_000)
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_one_decimal() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "1.0 kB"),
            (1549, "1.5 kB"),
            (999_949, "999.9 kB"),
            (999_950, "1.0 MB"),
            (12_345_678, "12.3 MB"),
            (5_000_000_000, "5.0 GB"),
            (7_000_000_000_000, "7 TB"),
        ] {
            assert_eq!(size(bytes), text);
        }
        assert_eq!(size(u64::MAX), "18446744 TB");
    }
}
