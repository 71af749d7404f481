//! A session: the files of the library in a folder, and its counts.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::mem::offset_of;
use std::os::unix::fs::{FileExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::cuts::Cut;
use crate::page::{self, COUNTERS, Counts, Page};

/// The shared object.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libtcpsf_preload.so"));

/// Remedies of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Cuts in writes.
    pub cut: Option<Cut>,
    /// Minimum of the retransmission timeout in microseconds.
    pub rto_min_us: Option<u32>,
    /// Ports at which the program listens; all if there is none.
    pub ports: Vec<u16>,
}

/// Files of a session. The caller removes their folder.
#[derive(Debug)]
pub struct Session {
    page: File,
    environment: [(&'static str, PathBuf); 2],
}

impl Session {
    /// Writes the library and its settings to a folder.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn create(folder: &Path, settings: &Settings) -> io::Result<Self> {
        let (library, page) = (folder.join("libtcpsf_preload.so"), folder.join("page"));
        fs::write(&library, LIBRARY)?;
        fs::set_permissions(&library, Permissions::from_mode(0o755))?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).mode(0o600).open(&page)?;
        file.write_all_at(&content(settings), 0)?;
        let variable = page::VARIABLE.to_str().unwrap_or_default();
        Ok(Self { page: file, environment: [("LD_PRELOAD", library), (variable, page)] })
    }

    /// Variables of the environment with which a program loads the library.
    pub fn environment(&self) -> &[(&'static str, PathBuf)] {
        &self.environment
    }

    /// Effects so far.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn counts(&self) -> io::Result<Counts> {
        let mut bytes = [0; 8 * COUNTERS];
        self.page.read_exact_at(&mut bytes, offset_of!(Page, counters) as u64)?;
        let mut words = bytes.chunks_exact(8).map(|word| word.first_chunk().copied());
        let mut next = || words.next().flatten().map_or(0, u64::from_ne_bytes);
        Ok(Counts::from([(); COUNTERS].map(|()| next())))
    }

    /// Ends the remedy. Programs that run continue without it.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn detach(&self) -> io::Result<()> {
        self.page.write_all_at(&0_u32.to_ne_bytes(), offset_of!(Page, enabled) as u64)
    }
}

/// Returns the bytes of a new page.
fn content(settings: &Settings) -> Vec<u8> {
    let mut bytes = vec![0; size_of::<Page>()];
    let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
    put(offset_of!(Page, magic), &page::MAGIC.to_ne_bytes());
    put(offset_of!(Page, enabled), &1_u32.to_ne_bytes());
    let (cut, parameters) = match settings.cut {
        None => (page::NO_CUT, [0; 3]),
        Some(Cut::Tail(pieces)) => (page::TAIL, [pieces, 0, 0]),
        Some(Cut::LastByte) => (page::LAST_BYTE, [0; 3]),
        Some(Cut::FixedSize { segments, window, below }) => {
            (page::FIXED_SIZE, [segments, window, below])
        }
    };
    put(offset_of!(Page, cut), &cut.to_ne_bytes());
    for (index, value) in parameters.into_iter().enumerate() {
        put(offset_of!(Page, parameters) + 4 * index, &u32::from(value).to_ne_bytes());
    }
    put(offset_of!(Page, rto_min_us), &settings.rto_min_us.unwrap_or(0).to_ne_bytes());
    let mut selected = [if settings.ports.is_empty() { u64::MAX } else { 0 }; 65_536 / 64];
    for port in &settings.ports {
        let (word, bit) = page::place(*port);
        selected[word] |= bit;
    }
    for (index, word) in selected.into_iter().enumerate() {
        put(offset_of!(Page, selected) + 8 * index, &word.to_ne_bytes());
    }
    bytes
}
