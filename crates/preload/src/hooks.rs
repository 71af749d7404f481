//! The functions that replace those of the C library. Each has the arguments, the result and the
//! errors of the function with the same name.
//!
//! Four results can differ:
//!
//! - A connection that is reset between two pieces of a write reports this to the next call as
//!   EPIPE in place of ECONNRESET.
//! - A list of parts (`struct iovec`) at an invalid address ends the program with SIGSEGV in place
//!   of EFAULT.
//! - The send buffer is full after fewer bytes, because each segment needs memory of its own.
//! - Processes that write to one connection at once, and threads that do so through different
//!   descriptors, can have their data between the pieces of another.
#![expect(unsafe_code, reason = "functions of the C library")]

use core::ffi::{c_int, c_void};

use crate::next;
use crate::page::Page;
use crate::socket;
use crate::sys::{self, IoVec, MessageHeader, NumberedMessage};
use crate::writes::{self, Data};

/// Replaces `send(2)`.
///
/// # Safety
/// As for that function.
pub unsafe fn send(fd: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize {
    let part = IoVec { base: buffer, len: length };
    // SAFETY: there is one part, and the caller guarantees its data.
    unsafe {
        let data = Data::new(&raw const part, 1);
        writes::send(fd, data, flags, || next::send()(fd, buffer, length, flags))
    }
}

/// Replaces `sendto(2)`. A write with an address is not cut.
///
/// # Safety
/// As for that function.
pub unsafe fn sendto(
    fd: c_int,
    buffer: *const c_void,
    length: usize,
    flags: c_int,
    address: *const c_void,
    address_length: u32,
) -> isize {
    let part = IoVec { base: buffer, len: length };
    // SAFETY: there is one part, and the caller guarantees its data.
    unsafe {
        let data = Data::new(&raw const part, 1).filter(|_| address.is_null());
        let plain = || next::sendto()(fd, buffer, length, flags, address, address_length);
        writes::send(fd, data, flags, plain)
    }
}

/// Replaces `sendmsg(2)`. A message with an address or control data is not cut.
///
/// # Safety
/// As for that function.
pub unsafe fn sendmsg(fd: c_int, message: *const MessageHeader, flags: c_int) -> isize {
    // SAFETY: the caller guarantees the message.
    unsafe { writes::send(fd, plain_data(message), flags, || next::sendmsg()(fd, message, flags)) }
}

/// Returns the data of a message without an address and control data.
///
/// # Safety
/// `message` is null or a message.
unsafe fn plain_data<'a>(message: *const MessageHeader) -> Option<Data<'a>> {
    // SAFETY: the caller guarantees it.
    unsafe {
        let header = message.as_ref()?;
        let is_plain = header.name.is_null() && header.control.is_null();
        Data::new(header.vectors, header.count).filter(|_| is_plain)
    }
}

/// Replaces `sendmmsg(2)`. Each message is a write of its own.
///
/// # Safety
/// As for that function.
pub unsafe fn sendmmsg(
    fd: c_int,
    messages: *mut NumberedMessage,
    count: u32,
    flags: c_int,
) -> c_int {
    let before = sys::errno();
    let may_cut = Page::current().is_some_and(|page| page.cut().is_some())
        && sys::tcp_option(fd, sys::TCP_INFO, &mut [0; 1]).is_some();
    sys::set_errno(before);
    if !may_cut || messages.is_null() {
        // SAFETY: the caller guarantees the messages.
        return unsafe { next::sendmmsg()(fd, messages, count, flags) };
    }
    let mut done = 0;
    while done < count {
        // SAFETY: the caller guarantees `count` messages.
        unsafe {
            let one = messages.add(done as usize);
            let header = &raw const (*one).header;
            let asked = plain_data(header).map(Data::length);
            // The system call permits this flag for each message.
            let own = (*header).flags & sys::MSG_EOR;
            let Ok(sent) = usize::try_from(sendmsg(fd, header, flags | own)) else { break };
            (*one).sent = u32::try_from(sent).unwrap_or(u32::MAX);
            done += 1;
            if asked.is_none_or(|asked| sent < asked) {
                break;
            }
        }
    }
    if done > 0 {
        sys::set_errno(before);
        return c_int::try_from(done).unwrap_or(c_int::MAX);
    }
    if count == 0 { 0 } else { -1 }
}

/// Replaces `write(2)`.
///
/// # Safety
/// As for that function.
pub unsafe fn write(fd: c_int, buffer: *const c_void, length: usize) -> isize {
    let part = IoVec { base: buffer, len: length };
    // SAFETY: there is one part, and the caller guarantees its data.
    unsafe {
        let data = Data::new(&raw const part, 1);
        writes::send(fd, data, 0, || next::write()(fd, buffer, length))
    }
}

/// Replaces `writev(2)`.
///
/// # Safety
/// As for that function.
pub unsafe fn writev(fd: c_int, vectors: *const IoVec, count: c_int) -> isize {
    // SAFETY: the caller guarantees `count` parts.
    unsafe {
        let data = Data::new(vectors, usize::try_from(count).unwrap_or(0));
        writes::send(fd, data, 0, || next::writev()(fd, vectors, count))
    }
}

/// Replaces `listen(2)`. Accepted connections of this port are cut, and have the minimum of the
/// retransmission timeout.
///
/// # Safety
/// As for that function.
pub unsafe fn listen(fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: the caller guarantees the arguments.
    let result = unsafe { next::listen()(fd, backlog) };
    if let Some(page) = Page::current().filter(|_| result == 0) {
        let before = sys::errno();
        socket::prepare_listener(fd, page);
        sys::set_errno(before);
    }
    result
}

/// Prepares the hooks when the library is loaded.
pub fn load() {
    next::find_all();
    Page::map();
}
