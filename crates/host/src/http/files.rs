//! Opening files below a folder and nowhere else.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Dir, FileType, Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::path;
use super::response::Status;
use super::select::Validators;

/// The most entries of a folder that are listed.
const MOST_ENTRIES: usize = 10_000;

/// A folder whose files are served.
#[derive(Debug)]
pub struct Folder {
    fd: OwnedFd,
}

/// What a path leads to.
#[derive(Debug)]
pub(super) enum Found {
    File(Opened),
    /// A folder; `true` if its path says so.
    Folder(OwnedFd),
}

/// A file that can be read.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) len: u64,
    pub(super) validators: Validators,
}

impl Folder {
    /// Opens a folder.
    ///
    /// # Errors
    /// When it is none, cannot be read, or the kernel cannot keep a path below it (before Linux 5.6).
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path.as_os_str().as_bytes(), flags, Mode::empty())?;
        let folder = Self { fd };
        folder.below(b".")?;
        Ok(folder)
    }

    /// What a path leads to, links followed as long as they stay below the folder.
    pub(super) fn find(&self, path: &[u8]) -> Result<Found, Status> {
        let path = if path.is_empty() { b"." } else { path };
        let fd = self.below(path).map_err(status)?;
        let file = File::from(fd);
        let metadata = file.metadata().map_err(|_| Status::InternalError)?;
        if metadata.is_dir() {
            return Ok(Found::Folder(file.into()));
        }
        if !metadata.is_file() {
            return Err(Status::NotFound);
        }
        let (len, modified) = (metadata.len(), u64::try_from(metadata.mtime()).unwrap_or(0));
        // The time of the last change in nanoseconds: no two states of a file are likely to share it and the length.
        let etag = format!("\"{:x}-{:x}-{len:x}\"", metadata.mtime(), metadata.mtime_nsec());
        Ok(Found::File(Opened { file, len, validators: Validators { etag, modified } }))
    }

    fn below(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        // Without waiting for the other end of a pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let stay = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        openat2(&self.fd, path, flags, Mode::empty(), stay)
    }
}

fn status(errno: Errno) -> Status {
    match errno {
        Errno::ACCESS | Errno::PERM => Status::Forbidden,
        Errno::NAMETOOLONG => Status::UriTooLong,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO => Status::InternalError,
        // Not there, or, by a link, outside.
        _ => Status::NotFound,
    }
}

/// A page with links to what is in a folder.
pub(super) fn listing(folder: &OwnedFd, path: &[u8]) -> Result<Vec<u8>, Status> {
    let entries = Dir::read_from(folder.as_fd()).map_err(status)?;
    let mut names: Vec<(Vec<u8>, bool)> = Vec::new();
    for entry in entries.take(MOST_ENTRIES) {
        let Ok(entry) = entry else { return Err(Status::InternalError) };
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push((name.to_vec(), entry.file_type() == FileType::Directory));
        }
    }
    names.sort();
    let title = escaped(&format!("/{}", String::from_utf8_lossy(path)));
    let mut page = format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>{title}</title>\n<h1>{title}</h1>\n<ul>\n"
    );
    if !path.is_empty() {
        page.push_str("<li><a href=\"../\">../</a>\n");
    }
    for (name, is_folder) in names {
        let slash = if is_folder { "/" } else { "" };
        let (link, text) = (path::encoded(&name), escaped(&String::from_utf8_lossy(&name)));
        // A name with a colon would be taken for a scheme.
        page.extend(["<li><a href=\"./", &link, slash, "\">", &text, slash, "</a>\n"]);
    }
    page.push_str("</ul>\n");
    Ok(page.into_bytes())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
