//! Directory listings, generated in pieces while they are sent. A connection holds one piece and
//! the last name in it, however large the folder is. Names are sorted, so the next piece starts
//! after that name.
//!
//! The sorted names of the most recently listed folders are cached for all connections and reused
//! until the folder changes. Reading a folder takes far more work than requesting it: 7 ms for 10
//! 000 long names. [`RATE`] therefore limits the reading of all connections together. A listing
//! without cached names waits until it may read them.

use std::collections::VecDeque;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Stat, fstat, statat};
use rustix::io::Errno;
use units::{Duration, Instant};

use super::files::status;
use super::response::Status;
use super::{date, path};

/// Maximum number of entries in a listing.
const MAX_ENTRIES: usize = 10_000;

/// A piece ends with the first row that reaches this length in bytes. The largest row has about 2
/// kB.
const PIECE_LEN: usize = 4 << 10;

/// Limits of the cache: number of folders, and bytes of memory for all names.
const CACHE_LIMITS: (usize, usize) = (64, 24 << 20);

/// Names that may be read per second. On the machine where it was measured, 10 000 names of 120
/// bytes took 7 ms, so this is a fourteenth of the time.
const RATE: u64 = 100_000;

/// Names that may be read at once after a time without reading.
const BURST: u64 = RATE / 2;

/// Cost of reading a folder, beside its names, in names.
const BASE_COST: u64 = 20;

/// Coarsest granularity of modification times, of FAT. Two changes within this time may have the
/// same modification time.
const TIMESTAMP_GRANULARITY: Duration = Duration::from_secs(2);

/// Maximum age of cached names. Some file systems do not update the modification time of a folder.
const MAX_AGE: Duration = Duration::from_secs(10);

/// Age up to which cached names are used regardless of changes, while the rate limit forbids
/// reading.
const MIN_AGE: Duration = Duration::from_secs(1);

const STYLE: &str = "body{font-family:system-ui,sans-serif;margin:1.5em;color-scheme:light dark}\
    th,td{text-align:left;padding:.2em 1.5em .2em 0;white-space:nowrap}\
    td:first-child{white-space:normal;overflow-wrap:anywhere}td:nth-child(2){text-align:right}";

/// Cache of the names in the most recently listed folders.
#[derive(Debug)]
pub(super) struct Names {
    /// Cached folders, the most recently listed last.
    kept: VecDeque<Sorted>,
    /// Memory of all cached names, in bytes.
    kept_bytes: usize,
    /// The time from which on the rate limit allows the next folder to be read.
    next_read_at: Instant,
    read: u64,
}

/// Device and inode number of a folder.
type FolderId = (u64, u64);

/// The sorted names in a folder.
#[derive(Debug)]
struct Sorted {
    folder_id: FolderId,
    /// Modification time of the folder, in nanoseconds since 1970.
    changed_at: u64,
    read_at: Instant,
    names: Vec<Box<[u8]>>,
    /// Memory of the names, in bytes.
    bytes: usize,
    /// The folder has more entries than [`MAX_ENTRIES`].
    is_truncated: bool,
}

/// A listing that is being sent.
#[derive(Debug)]
pub(super) struct Listing {
    folder: OwnedFd,
    folder_id: FolderId,
    /// No piece with names has been generated.
    is_new: bool,
    /// The last name that was written.
    last: Box<[u8]>,
    /// The response uses chunked coding (RFC 9112 §7.1). Otherwise it ends with the connection.
    chunked: bool,
}

impl Names {
    /// An empty cache.
    pub(super) fn new() -> Self {
        Self { kept: VecDeque::new(), kept_bytes: 0, next_read_at: Instant::ZERO, read: 0 }
    }

    /// Number of names read since the start.
    pub(super) fn read_so_far(&self) -> u64 {
        self.read
    }

    /// The time from which on the rate limit allows the next folder to be read.
    pub(super) fn may_read_at(&self) -> Instant {
        self.next_read_at
    }

    /// Returns the names of a listing's folder, from the cache or newly read. `None` if the rate
    /// limit forbids reading.
    fn find(&mut self, listing: &mut Listing, now: Instant) -> Result<Option<&Sorted>, Status> {
        let mut found = self.kept.iter().position(|sorted| sorted.folder_id == listing.folder_id);
        if listing.is_new {
            let metadata = fstat(&listing.folder).map_err(status)?;
            let may_wait = self.next_read_at > now;
            found = found
                .filter(|&index| self.kept[index].is_fresh(changed_at(&metadata), may_wait, now));
        }
        let index = match found {
            Some(index) => index,
            None if self.next_read_at > now => return Ok(None),
            None => {
                self.read(&listing.folder, listing.folder_id, now)?;
                self.kept.len() - 1
            }
        };
        listing.is_new = false;
        // The entry becomes the most recently listed.
        if let Some(sorted) = self.kept.remove(index) {
            self.kept.push_back(sorted);
        }
        Ok(self.kept.back())
    }

    /// Reads the names of a folder and appends them to the cache.
    fn read(&mut self, folder: &OwnedFd, folder_id: FolderId, now: Instant) -> Result<(), Status> {
        if let Some(index) = self.kept.iter().position(|sorted| sorted.folder_id == folder_id) {
            self.drop_names(index);
        }
        // The modification time is taken before the names are read, so that a concurrent change is
        // noticed later.
        let changed_at = changed_at(&fstat(folder).map_err(status)?);
        let mut names: Vec<Box<[u8]>> = Vec::new();
        let mut is_truncated = false;
        for entry in Dir::read_from(folder.as_fd()).map_err(status)? {
            let entry = entry.map_err(|_| Status::InternalError)?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            is_truncated = names.len() == MAX_ENTRIES;
            if is_truncated {
                break;
            }
            names.push(name.into());
        }
        names.sort_unstable();
        names.shrink_to_fit();
        let count = names.len() as u64;
        self.read += count;
        let nanos = |names: u64| Duration::from_nanos(names * (1_000_000_000 / RATE));
        let earliest = Instant::from_nanos(now.as_nanos().saturating_sub(nanos(BURST).as_nanos()));
        self.next_read_at = self.next_read_at.max(earliest) + nanos(count + BASE_COST);
        // The names with the allocator's overhead for each.
        let each = size_of::<Box<[u8]>>() + 16;
        let bytes = names.iter().map(|name| name.len() + each).sum();
        let (max_folders, max_bytes) = CACHE_LIMITS;
        while self.kept.len() >= max_folders
            || self.kept_bytes + bytes > max_bytes && !self.kept.is_empty()
        {
            self.drop_names(0);
        }
        self.kept_bytes += bytes;
        self.kept.push_back(Sorted {
            folder_id,
            changed_at,
            read_at: now,
            names,
            bytes,
            is_truncated,
        });
        Ok(())
    }

    fn drop_names(&mut self, index: usize) {
        let dropped = self.kept.remove(index);
        self.kept_bytes -= dropped.map_or(0, |sorted| sorted.bytes);
    }
}

impl Sorted {
    /// Whether these names are valid for a folder with modification time `changed_at`. With
    /// `may_not_read`, slightly outdated names are valid, too.
    fn is_fresh(&self, changed_at: u64, may_not_read: bool, now: Instant) -> bool {
        let age = now.since(self.read_at);
        let unchanged = changed_at == self.changed_at
            // After a change within this time before the reading, another change could have the
            // same modification time.
            && changed_at.saturating_add(TIMESTAMP_GRANULARITY.as_nanos()) < self.read_at.as_nanos();
        unchanged && age < MAX_AGE || may_not_read && age < MIN_AGE
    }
}

/// Modification time in nanoseconds since 1970.
fn changed_at(metadata: &Stat) -> u64 {
    let seconds = u64::try_from(metadata.st_mtime).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(metadata.st_mtime_nsec)
}

impl Listing {
    /// Starts the listing of a folder. Returns it with its first piece, which has no names.
    pub(super) fn begin(
        folder: OwnedFd,
        path: &[u8],
        chunked: bool,
    ) -> Result<(Self, Vec<u8>), Status> {
        let metadata = fstat(&folder).map_err(status)?;
        let folder_id = (metadata.st_dev, metadata.st_ino);
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
        let listing = Self { folder, folder_id, is_new: true, last: Box::default(), chunked };
        let piece = listing.encode_piece(&text);
        Ok((listing, piece))
    }

    /// Generates the next piece and tells whether it is the last one. `None` if it has to wait for
    /// the names.
    pub(super) fn next_piece(
        &mut self,
        names: &mut Names,
        now: Instant,
    ) -> Result<Option<(Vec<u8>, bool)>, Status> {
        let Some(Sorted { names, is_truncated, .. }) = names.find(self, now)? else {
            return Ok(None);
        };
        let begin = names.partition_point(|name| *name <= self.last);
        let mut text = String::with_capacity(2 * PIECE_LEN);
        let mut last = None;
        for name in &names[begin..] {
            match statat(&self.folder, &**name, AtFlags::SYMLINK_NOFOLLOW) {
                // The entry was removed after the folder was read.
                Err(Errno::NOENT) => {}
                found => write_row(&mut text, name, found.ok().as_ref()),
            }
            last = Some(name);
            if text.len() >= PIECE_LEN {
                break;
            }
        }
        if let Some(last) = last.filter(|_| text.len() >= PIECE_LEN) {
            self.last = last.clone();
            return Ok(Some((self.encode_piece(&text), false)));
        }
        text.push_str("</table>\n");
        if *is_truncated {
            text.push_str("<p>This folder has more entries. They are not listed.\n");
        }
        let mut piece = self.encode_piece(&text);
        if self.chunked {
            piece.extend_from_slice(b"0\r\n\r\n");
        }
        Ok(Some((piece, true)))
    }

    /// Encodes a piece as a chunk, if the response is chunked.
    fn encode_piece(&self, text: &str) -> Vec<u8> {
        if self.chunked {
            [format!("{:x}\r\n", text.len()).as_bytes(), text.as_bytes(), b"\r\n"].concat()
        } else {
            text.as_bytes().to_vec()
        }
    }

    /// Heap memory of the stored name, in bytes.
    pub(super) fn held_bytes(&self) -> usize {
        self.last.len()
    }
}

/// Appends the row of an entry. `metadata` describes a symbolic link itself, since its target may
/// be outside the served folder.
fn write_row(text: &mut String, name: &[u8], metadata: Option<&Stat>) {
    let kind = metadata.map(|metadata| FileType::from_raw_mode(metadata.st_mode));
    let slash = if kind == Some(FileType::Directory) { "/" } else { "" };
    let (link, shown) = (path::encoded(name), escaped(&String::from_utf8_lossy(name)));
    let is_file = kind == Some(FileType::RegularFile);
    let len =
        metadata.filter(|_| is_file).and_then(|metadata| u64::try_from(metadata.st_size).ok());
    let modified = metadata.and_then(|metadata| u64::try_from(metadata.st_mtime).ok());
    let (len, modified) =
        (len.map(size).unwrap_or_default(), modified.map(date::short).unwrap_or_default());
    // The prefix `./` keeps a name with a colon from being parsed as a URI scheme.
    text.extend(["<tr><td><a href=\"./", &link, slash, "\">", &shown, slash, "</a><td>"]);
    text.extend([&*len, "<td>", &modified, "\n"]);
}

/// Formats a number of bytes for people, e.g. `1.5 kB`.
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
