//! Opens files below a folder and nowhere else.

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

/// Result of a path lookup.
#[derive(Debug)]
pub(super) enum Found {
    File(Opened),
    /// A folder.
    Folder(OwnedFd),
}

/// An open regular file.
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
    /// If the path is no folder, cannot be read, or the kernel does not support `RESOLVE_BENEATH`
    /// (before Linux 5.6).
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path.as_os_str().as_bytes(), flags, Mode::empty())?;
        let folder = Self { fd };
        folder.below(b".")?;
        Ok(folder)
    }

    /// Looks up a path. Symbolic links are followed as long as they stay below the folder.
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
        // The modification time in nanoseconds: two versions of a file are unlikely to share it and
        // the length.
        let etag = format!("\"{:x}-{:x}-{len:x}\"", metadata.mtime(), metadata.mtime_nsec());
        Ok(Found::File(Opened { file, len, validators: Validators { etag, modified } }))
    }

    fn below(&self, path: &[u8]) -> Result<OwnedFd, Errno> {
        // `NONBLOCK` avoids waiting for the other end of a named pipe.
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let stay = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
        openat2(&self.fd, path, flags, Mode::empty(), stay)
    }
}

/// The HTTP status for an error of opening or reading.
pub(super) fn status(errno: Errno) -> Status {
    match errno {
        Errno::ACCESS | Errno::PERM => Status::Forbidden,
        Errno::NAMETOOLONG => Status::UriTooLong,
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::IO => Status::InternalError,
        // The path does not exist, or a symbolic link leads outside.
        _ => Status::NotFound,
    }
}
