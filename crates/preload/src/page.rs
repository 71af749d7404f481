//! The file that the processes of a session have mapped: settings, ports and counts.

use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering::Relaxed};

use crate::cuts::Cut;
use crate::sys;

/// Name of the variable that has the path of the file.
pub(crate) const VARIABLE: &core::ffi::CStr = c"TCPSF_PRELOAD_PAGE";

/// First number of a file with this layout.
pub(crate) const MAGIC: u64 = 0x7463_7073_6670_0001;

// Kinds of cuts.
pub(crate) const NO_CUT: u32 = 0;
pub(crate) const TAIL: u32 = 1;
pub(crate) const LAST_BYTE: u32 = 2;
pub(crate) const FIXED_SIZE: u32 = 3;

const WORDS: usize = 65_536 / 64;

/// Settings and counts, which several processes share. All numbers are in the order of the machine.
#[repr(C)]
#[derive(Debug)]
pub struct Page {
    pub(crate) magic: AtomicU64,
    /// 0 after the end of the remedy.
    pub(crate) enabled: AtomicU32,
    pub(crate) cut: AtomicU32,
    /// Parameters of the cut, in the order of [`Cut`].
    pub(crate) parameters: [AtomicU32; 3],
    /// Minimum of the retransmission timeout in microseconds, or 0.
    pub(crate) rto_min_us: AtomicU32,
    pub(crate) counters: [AtomicU64; COUNTERS],
    /// Ports that are selected.
    pub(crate) selected: [AtomicU64; WORDS],
    /// Ports at which one of the processes listens. Only connections to these are cut.
    pub(crate) listening: [AtomicU64; WORDS],
}

/// Number of counters.
pub(crate) const COUNTERS: usize = 5;

/// A counter of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    Processes,
    Listeners,
    Refused,
    CutWrites,
    Cuts,
}

/// Effects of a session so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Programs that have loaded the library. A process that forks counts once.
    pub processes: u64,
    /// Sockets that listen at a selected port.
    pub listeners: u64,
    /// Settings that the kernel refused.
    pub refused: u64,
    /// Writes that were cut.
    pub cut_writes: u64,
    /// Cuts in them.
    pub cuts: u64,
}

impl From<[u64; COUNTERS]> for Counts {
    fn from([processes, listeners, refused, cut_writes, cuts]: [u64; COUNTERS]) -> Self {
        Self { processes, listeners, refused, cut_writes, cuts }
    }
}

static PAGE: AtomicPtr<c_void> = AtomicPtr::new(core::ptr::null_mut());

impl Page {
    /// Maps the file of the session, if the environment names one.
    #[expect(unsafe_code, reason = "a mapped file becomes a value")]
    pub fn map() {
        let found = sys::mapped_file(VARIABLE, size_of::<Self>());
        if found.is_null() {
            return;
        }
        // SAFETY: the mapping has the length of a page and is never removed. Its fields are atomic
        // numbers, for which any bytes are valid.
        let page = unsafe { &*found.cast::<Self>() };
        if page.magic.load(Relaxed) == MAGIC {
            page.add(Counter::Processes, 1);
            PAGE.store(found, Relaxed);
        }
    }

    /// Returns the mapped file, as long as the remedy has not ended.
    #[expect(unsafe_code, reason = "a mapped file becomes a value")]
    pub(crate) fn current() -> Option<&'static Self> {
        let page = PAGE.load(Relaxed);
        // SAFETY: `map` has checked it, and nothing removes it.
        let page = unsafe { page.cast::<Self>().as_ref() }?;
        (page.enabled.load(Relaxed) != 0).then_some(page)
    }

    pub(crate) fn cut(&self) -> Option<Cut> {
        let [a, b, c] = &self.parameters;
        let byte = |value: &AtomicU32| u8::try_from(value.load(Relaxed)).unwrap_or(u8::MAX);
        match self.cut.load(Relaxed) {
            TAIL => Some(Cut::Tail(byte(a))),
            LAST_BYTE => Some(Cut::LastByte),
            FIXED_SIZE => {
                Some(Cut::FixedSize { segments: byte(a), window: byte(b), below: byte(c) })
            }
            _ => None,
        }
    }

    pub(crate) fn rto_min_us(&self) -> Option<i32> {
        i32::try_from(self.rto_min_us.load(Relaxed)).ok().filter(|value| *value > 0)
    }

    pub(crate) fn selects(&self, port: u16) -> bool {
        has(&self.selected, port)
    }

    pub(crate) fn listens_at(&self, port: u16) -> bool {
        has(&self.listening, port)
    }

    pub(crate) fn add_listener(&self, port: u16) {
        let (word, bit) = place(port);
        self.listening[word].fetch_or(bit, Relaxed);
        self.add(Counter::Listeners, 1);
    }

    pub(crate) fn add(&self, counter: Counter, by: u64) {
        self.counters[counter as usize].fetch_add(by, Relaxed);
    }
}

/// Returns the word of a port in a set of ports, and the bit in it.
pub(crate) fn place(port: u16) -> (usize, u64) {
    (usize::from(port) / 64, 1 << (port % 64))
}

fn has(ports: &[AtomicU64; WORDS], port: u16) -> bool {
    let (word, bit) = place(port);
    ports[word].load(Relaxed) & bit != 0
}
