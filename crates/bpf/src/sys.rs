//! The system call `bpf(2)`, behind safe functions.
#![expect(unsafe_code, reason = "no safe wrapper of bpf(2) exists")]

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Commands (`enum bpf_cmd`).
const MAP_CREATE: libc::c_long = 0;
const MAP_LOOKUP: libc::c_long = 1;
const MAP_UPDATE: libc::c_long = 2;
const PROGRAM_LOAD: libc::c_long = 5;
const PROGRAM_ATTACH: libc::c_long = 8;
const LINK_CREATE: libc::c_long = 28;

/// Bytes of `union bpf_attr` that this module uses. The kernel takes what follows for zero.
const ATTRIBUTE: usize = 72;

/// Bytes of the verifier's log that are kept.
const LOG: usize = 1 << 16;

/// `union bpf_attr`: fields at fixed positions.
#[derive(Debug, Clone, Copy)]
struct Attribute([u8; ATTRIBUTE]);

impl Attribute {
    const fn new() -> Self {
        Self([0; ATTRIBUTE])
    }

    fn word(mut self, at: usize, value: u32) -> Self {
        self.0[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        self
    }

    fn descriptor(self, at: usize, fd: BorrowedFd<'_>) -> Self {
        self.word(at, fd.as_raw_fd().cast_unsigned())
    }

    fn pointer<T>(mut self, at: usize, to: *const T) -> Self {
        self.0[at..at + 8].copy_from_slice(&(to as u64).to_ne_bytes());
        self
    }
}

/// Performs a command.
///
/// # Safety
/// Every pointer in `attribute` must be valid for what the command reads or writes.
unsafe fn bpf(command: libc::c_long, mut attribute: Attribute) -> io::Result<libc::c_long> {
    // SAFETY: the kernel reads and writes at most the given number of bytes of `attribute`, and the
    // caller answers for the pointers in it.
    let result =
        unsafe { libc::syscall(libc::SYS_bpf, command, attribute.0.as_mut_ptr(), ATTRIBUTE) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

/// Takes a descriptor that the kernel returned.
///
/// # Safety
/// `result` must be a new descriptor.
unsafe fn owned(result: libc::c_long) -> io::Result<OwnedFd> {
    let descriptor = libc::c_int::try_from(result).map_err(io::Error::other)?;
    // SAFETY: the caller guarantees that nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Creates a map.
pub(crate) fn create_map(
    kind: u32,
    key: u32,
    value: u32,
    entries: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    let attribute = Attribute::new().word(0, kind).word(4, key).word(8, value);
    let attribute = attribute.word(12, entries).word(16, flags);
    // SAFETY: this command has no pointers, and returns a new descriptor.
    unsafe { owned(bpf(MAP_CREATE, attribute)?) }
}

/// Reads a value. The caller has checked both lengths.
pub(crate) fn look_up(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<()> {
    let attribute = Attribute::new()
        .descriptor(0, map)
        .pointer(8, key.as_ptr())
        .pointer(16, value.as_mut_ptr());
    // SAFETY: the kernel reads a key and writes a value, which have the lengths of the map.
    unsafe { bpf(MAP_LOOKUP, attribute) }.map(drop)
}

/// Changes a value. The caller has checked both lengths.
pub(crate) fn update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    let attribute =
        Attribute::new().descriptor(0, map).pointer(8, key.as_ptr()).pointer(16, value.as_ptr());
    // SAFETY: the kernel reads a key and a value, which have the lengths of the map.
    unsafe { bpf(MAP_UPDATE, attribute) }.map(drop)
}

/// Number of processors that the kernel may have, and of which maps have values.
pub(crate) fn possible_processors() -> usize {
    // SAFETY: this call has no pointers.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// Loads a program of the given type for the given place. The error has the end of the verifier's
/// log if the verifier rejects it.
pub(crate) fn load_program(
    kind: u32,
    place: u32,
    name: &CStr,
    code: &[u8],
) -> Result<OwnedFd, (io::Error, String)> {
    // Some of the helpers are only for programs under the GPL.
    let license = c"Dual MIT/GPL";
    let mut log = vec![0_u8; LOG];
    let words = u32::try_from(code.len() / 8).unwrap_or(u32::MAX);
    let mut attribute = Attribute::new()
        .word(0, kind)
        .word(4, words)
        .pointer(8, code.as_ptr())
        .pointer(16, license.as_ptr())
        .word(24, 1)
        .word(28, u32::try_from(LOG).unwrap_or(u32::MAX))
        .pointer(32, log.as_mut_ptr())
        .word(68, place);
    let shown = name.to_bytes().len().min(15);
    attribute.0[48..48 + shown].copy_from_slice(&name.to_bytes()[..shown]);
    // SAFETY: the kernel reads the code and the license, and writes at most `LOG` bytes of the log.
    // It returns a new descriptor.
    let loaded = unsafe { bpf(PROGRAM_LOAD, attribute).and_then(|result| owned(result)) };
    loaded.map_err(|error| {
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        (error, String::from_utf8_lossy(&log[..end]).trim_end().to_owned())
    })
}

/// Attaches a program to a place of a target: a descriptor or the number of a device. The program
/// is detached when the last descriptor of the link is closed.
pub(crate) fn create_link(program: BorrowedFd<'_>, target: u32, place: u32) -> io::Result<OwnedFd> {
    let attribute = Attribute::new().descriptor(0, program).word(4, target).word(8, place);
    // SAFETY: this command has no pointers, and returns a new descriptor.
    unsafe { owned(bpf(LINK_CREATE, attribute)?) }
}

/// Attaches a program to a map of sockets, which keeps it until the map is freed.
pub(crate) fn attach_to_map(
    program: BorrowedFd<'_>,
    map: BorrowedFd<'_>,
    place: u32,
) -> io::Result<()> {
    let attribute = Attribute::new().descriptor(0, map).descriptor(4, program).word(8, place);
    // SAFETY: this command has no pointers.
    unsafe { bpf(PROGRAM_ATTACH, attribute) }.map(drop)
}

/// Number of a descriptor as a target.
pub(crate) fn target(fd: &impl AsFd) -> u32 {
    fd.as_fd().as_raw_fd().cast_unsigned()
}

/// Opens a socket that sends frames through devices, and receives none.
pub(crate) fn packet_socket() -> io::Result<OwnedFd> {
    // SAFETY: this call has no pointers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, and nothing else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Sends a frame through the device with this number. `protocol` is its type.
pub(crate) fn send_to_device(
    socket: &OwnedFd,
    device: u32,
    protocol: u16,
    frame: &[u8],
) -> io::Result<()> {
    let address = libc::sockaddr_ll {
        sll_family: u16::try_from(libc::AF_PACKET).map_err(io::Error::other)?,
        sll_protocol: protocol.to_be(),
        sll_ifindex: device.cast_signed(),
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    let length = libc::socklen_t::try_from(size_of_val(&address)).map_err(io::Error::other)?;
    // SAFETY: both pointers are valid for the lengths that follow them.
    let sent = unsafe {
        libc::sendto(
            socket.as_raw_fd(),
            frame.as_ptr().cast(),
            frame.len(),
            libc::MSG_DONTWAIT,
            (&raw const address).cast(),
            length,
        )
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Bits of the length of a record: it is not complete, or is to be skipped.
const BUSY: u32 = 1 << 31;
const DISCARDED: u32 = 1 << 30;
/// Bytes before a record.
const RECORD_HEADER: usize = 8;

/// Memory that is shared with the kernel.
#[derive(Debug)]
struct Shared {
    begin: *mut libc::c_void,
    bytes: usize,
}

// SAFETY: the memory is valid in every thread, and only atomic operations and the only owner of a
// `Ring` access it.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

impl Shared {
    fn new(fd: BorrowedFd<'_>, bytes: usize, from: usize, protection: i32) -> io::Result<Self> {
        let from = libc::off_t::try_from(from).map_err(io::Error::other)?;
        // SAFETY: a new mapping at an address that the kernel chooses changes no other memory.
        let begin = unsafe {
            libc::mmap(ptr::null_mut(), bytes, protection, libc::MAP_SHARED, fd.as_raw_fd(), from)
        };
        if begin == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self { begin, bytes })
    }

    /// The number at the beginning.
    fn position(&self) -> &AtomicU64 {
        // SAFETY: a mapping begins at a page and has at least one, and lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.begin.cast()) }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: this is the mapping of `new`, and nothing refers to it any more.
        unsafe { libc::munmap(self.begin, self.bytes) };
    }
}

/// Reader of a ring of records (`BPF_MAP_TYPE_RINGBUF`). The kernel maps the records twice, one
/// behind the other, so that each is in one piece.
#[derive(Debug)]
pub(crate) struct Ring {
    consumer: Shared,
    producer: Shared,
    page: usize,
    bytes: usize,
}

impl Ring {
    /// Maps the ring of a map with this number of bytes.
    pub(crate) fn new(map: BorrowedFd<'_>, bytes: usize) -> io::Result<Self> {
        // SAFETY: this call has no pointers.
        let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) });
        let page = page.map_err(io::Error::other)?;
        let consumer = Shared::new(map, page, 0, libc::PROT_READ | libc::PROT_WRITE)?;
        let producer = Shared::new(map, page + 2 * bytes, page, libc::PROT_READ)?;
        Ok(Self { consumer, producer, page, bytes })
    }

    /// Passes each record to `take`, and frees it.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(&[u8])) {
        let mut at = self.consumer.position().load(Ordering::Relaxed);
        while at < self.producer.position().load(Ordering::Acquire) {
            let offset = usize::try_from(at % self.bytes as u64).unwrap_or(0);
            // SAFETY: positions of records are multiples of eight within the mapped records.
            let header = unsafe { self.producer.begin.byte_add(self.page + offset) };
            // SAFETY: the header of a record begins with its length, which the kernel sets
            // atomically.
            let length = unsafe { AtomicU32::from_ptr(header.cast()) }.load(Ordering::Acquire);
            if length & BUSY != 0 {
                break;
            }
            let bytes = (length & !DISCARDED) as usize;
            if length & DISCARDED == 0 {
                // SAFETY: a record that is not busy is complete, and the kernel does not write
                // there until the position of the consumer has passed it.
                take(unsafe {
                    std::slice::from_raw_parts(header.byte_add(RECORD_HEADER).cast(), bytes)
                });
            }
            at += (bytes + RECORD_HEADER).next_multiple_of(8) as u64;
            self.consumer.position().store(at, Ordering::Release);
        }
    }
}
