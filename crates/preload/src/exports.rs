//! The names under which the dynamic loader finds the hooks.
#![expect(unsafe_code, reason = "functions of the C library")]

use core::ffi::{c_int, c_void};

use crate::hooks;
use crate::sys::{IoVec, MessageHeader, NumberedMessage};

/// Declares functions that call the hook with the same name.
macro_rules! exports {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(#[unsafe(no_mangle)]
        unsafe extern "C" fn $name($($argument: $type),*) -> $result {
            // SAFETY: the program guarantees the arguments, as for the C library.
            unsafe { hooks::$name($($argument),*) }
        })*
    };
}

exports! {
    send(fd: c_int, buffer: *const c_void, length: usize, flags: c_int) -> isize;
    sendto(
        fd: c_int,
        buffer: *const c_void,
        length: usize,
        flags: c_int,
        address: *const c_void,
        address_length: u32
    ) -> isize;
    sendmsg(fd: c_int, message: *const MessageHeader, flags: c_int) -> isize;
    sendmmsg(fd: c_int, messages: *mut NumberedMessage, count: u32, flags: c_int) -> c_int;
    write(fd: c_int, buffer: *const c_void, length: usize) -> isize;
    writev(fd: c_int, vectors: *const IoVec, count: c_int) -> isize;
    listen(fd: c_int, backlog: c_int) -> c_int;
}

extern "C" fn load() {
    hooks::load();
}

/// The loader calls the function before the program's `main`.
#[used]
#[unsafe(link_section = ".init_array")]
static LOAD: extern "C" fn() = load;

#[cfg(exported)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    unsafe extern "C" {
        fn abort() -> !;
    }
    // SAFETY: the function has no argument.
    unsafe { abort() }
}
