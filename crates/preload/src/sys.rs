//! Functions and constants of the C library and of the kernel. The shared object has no crate
//! `libc`, so they are declared here; a test compares them with those of that crate.
#![expect(unsafe_code, reason = "calls of the C library")]

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr;

// Errors.
pub(crate) const EAGAIN: c_int = 11;
pub(crate) const EPIPE: c_int = 32;

// Flags of `send`.
pub(crate) const MSG_DONTWAIT: c_int = 0x40;
pub(crate) const MSG_EOR: c_int = 0x80;
pub(crate) const MSG_NOSIGNAL: c_int = 0x4000;

// Options of TCP sockets.
pub(crate) const TCP_NODELAY: c_int = 1;
pub(crate) const TCP_CORK: c_int = 3;
pub(crate) const TCP_INFO: c_int = 11;
pub(crate) const TCP_ULP: c_int = 31;
/// Minimum of the retransmission timeout in microseconds (Linux 6.15).
pub(crate) const TCP_RTO_MIN_US: c_int = 45;
const IPPROTO_TCP: c_int = 6;

const AF_INET: u16 = 2;
const AF_INET6: u16 = 10;
const F_GETFL: c_int = 3;
const O_NONBLOCK: c_int = 0x800;
const O_RDWR_CLOEXEC: c_int = 0x8_0002;
const PROT_READ_WRITE: c_int = 3;
const MAP_SHARED: c_int = 1;
const RTLD_NEXT: *mut c_void = ptr::without_provenance_mut(usize::MAX);

/// Bytes of `struct sockaddr_storage`.
const ADDRESS: u32 = 128;

/// A part of a write (`struct iovec`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct IoVec {
    /// First byte.
    pub base: *const c_void,
    /// Number of bytes.
    pub len: usize,
}

impl IoVec {
    pub(crate) const EMPTY: Self = Self { base: ptr::null(), len: 0 };
}

/// A message (`struct msghdr`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MessageHeader {
    /// Address of the receiver, or null.
    pub name: *const c_void,
    /// Its length.
    pub name_len: u32,
    /// Parts of the data.
    pub vectors: *const IoVec,
    /// Number of parts.
    pub count: usize,
    /// Control data, or null.
    pub control: *const c_void,
    /// Its length.
    pub control_len: usize,
    /// Flags. Of these, `sendmmsg` reads `MSG_EOR`.
    pub flags: c_int,
}

/// A message of `sendmmsg` (`struct mmsghdr`).
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct NumberedMessage {
    /// Message.
    pub header: MessageHeader,
    /// Number of bytes that were sent.
    pub sent: u32,
}

impl NumberedMessage {
    pub(crate) const EMPTY: Self = Self {
        header: MessageHeader {
            name: ptr::null(),
            name_len: 0,
            vectors: ptr::null(),
            count: 0,
            control: ptr::null(),
            control_len: 0,
            flags: 0,
        },
        sent: 0,
    };
}

unsafe extern "C" {
    fn __errno_location() -> *mut c_int;
    fn close(fd: c_int) -> c_int;
    fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    fn getenv(name: *const c_char) -> *const c_char;
    fn getsockname(fd: c_int, address: *mut c_void, length: *mut u32) -> c_int;
    fn getsockopt(
        fd: c_int,
        level: c_int,
        name: c_int,
        value: *mut c_void,
        length: *mut u32,
    ) -> c_int;
    fn lseek(fd: c_int, offset: i64, whence: c_int) -> i64;
    fn mmap(
        at: *mut c_void,
        length: usize,
        protection: c_int,
        flags: c_int,
        fd: c_int,
        offset: i64,
    ) -> *mut c_void;
    fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    fn sched_yield() -> c_int;
    fn setsockopt(fd: c_int, level: c_int, name: c_int, value: *const c_void, length: u32)
    -> c_int;
}

/// Returns the number of the last error of this thread.
pub(crate) fn errno() -> c_int {
    // SAFETY: the pointer is to a variable of this thread.
    unsafe { *__errno_location() }
}

/// Sets the number of the last error of this thread.
pub(crate) fn set_errno(number: c_int) {
    // SAFETY: the pointer is to a variable of this thread.
    unsafe { *__errno_location() = number };
}

/// Reads an option of a TCP socket. Returns the number of its bytes, or `None` if the descriptor is
/// no TCP socket, or the kernel does not have the option.
pub(crate) fn tcp_option<const N: usize>(
    fd: c_int,
    name: c_int,
    value: &mut [u8; N],
) -> Option<usize> {
    let mut length = u32::try_from(N).ok()?;
    // SAFETY: the kernel writes at most `length` bytes.
    let result =
        unsafe { getsockopt(fd, IPPROTO_TCP, name, value.as_mut_ptr().cast(), &raw mut length) };
    (result == 0).then_some(length as usize)
}

/// Reads a number that is an option of a TCP socket.
pub(crate) fn tcp_number(fd: c_int, name: c_int) -> Option<c_int> {
    let mut value = [0; 4];
    (tcp_option(fd, name, &mut value)? == 4).then(|| c_int::from_ne_bytes(value))
}

/// Sets a number that is an option of a TCP socket. Returns whether the kernel accepts it.
pub(crate) fn set_tcp_number(fd: c_int, name: c_int, value: c_int) -> bool {
    // SAFETY: the kernel reads four bytes.
    unsafe { setsockopt(fd, IPPROTO_TCP, name, (&raw const value).cast(), 4) == 0 }
}

/// Returns the local port of an IPv4 or IPv6 socket.
pub(crate) fn local_port(fd: c_int) -> Option<u16> {
    let mut address = [0_u8; ADDRESS as usize];
    let mut length = ADDRESS;
    // SAFETY: the kernel writes at most `length` bytes.
    let result = unsafe { getsockname(fd, address.as_mut_ptr().cast(), &raw mut length) };
    let family = u16::from_ne_bytes([address[0], address[1]]);
    let is_internet = result == 0 && (family == AF_INET || family == AF_INET6);
    is_internet.then(|| u16::from_be_bytes([address[2], address[3]]))
}

/// Returns whether calls of a descriptor return at once.
pub(crate) fn is_non_blocking(fd: c_int) -> bool {
    // SAFETY: the command has no argument.
    let flags = unsafe { fcntl(fd, F_GETFL) };
    flags >= 0 && flags & O_NONBLOCK != 0
}

/// Lets another thread run.
pub(crate) fn yield_thread() {
    // SAFETY: the function has no argument.
    unsafe { sched_yield() };
}

/// Returns the function with this name in the libraries after this one, or null.
pub(crate) fn next_function(name: &CStr) -> *mut c_void {
    // SAFETY: the name ends with a zero.
    unsafe { dlsym(RTLD_NEXT, name.as_ptr()) }
}

/// Maps the file that a variable of the environment names, for all processes that do. Returns null
/// if there is none, or if it has another length.
pub(crate) fn mapped_file(variable: &CStr, length: usize) -> *mut c_void {
    // SAFETY: the variable is a string or null, and the file is closed where it was opened. The
    // mapping is not longer than the file.
    unsafe {
        let path = getenv(variable.as_ptr());
        let file = if path.is_null() { -1 } else { open(path, O_RDWR_CLOEXEC) };
        if file < 0 {
            return ptr::null_mut();
        }
        let mut page = ptr::null_mut();
        if usize::try_from(lseek(file, 0, 2)) == Ok(length) {
            page = mmap(ptr::null_mut(), length, PROT_READ_WRITE, MAP_SHARED, file, 0);
        }
        close(file);
        if page.addr() == usize::MAX { ptr::null_mut() } else { page }
    }
}

#[cfg(test)]
mod tests;
