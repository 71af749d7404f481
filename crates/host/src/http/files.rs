//! Opening files below a folder and nowhere else.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags, openat2};
use rustix::io::Errno;

use super::response::Status;
use super::select::Validators;

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
    /// When it is none, cannot be read, or the kernel cannot keep a path below it (before Linux
    /// 5.6).
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
        // The time of the last change in nanoseconds: no two states of a file are likely to share
        // it and the length.
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

/// How the peer is told why something cannot be opened or read.
pub(super) fn status(errno: Errno) -> Status {
    match errno {
        Errno::ACCESS | Errno::PERM => Status::Forbidden,
        Errno::NAMETOOLONG => Status::UriTooLong,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO => Status::InternalError,
        // Not there, or, by a link, outside.
        _ => Status::NotFound,
    }
}
