//! Functions of the C library that the hooks replace.
#![expect(unsafe_code, reason = "a pointer of the dynamic loader becomes a function")]

use core::ffi::{c_int, c_void};
use core::mem;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::sys::{self, IoVec, MessageHeader, NumberedMessage};

/// Declares functions that return the next function with the same name, as the loader orders
/// libraries. Each looks for it once.
macro_rules! next_functions {
    ($($name:ident: $type:ty, $text:literal;)*) => {
        $(pub(crate) fn $name() -> $type {
            static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
            let mut found = FOUND.load(Relaxed);
            if found.is_null() {
                found = sys::next_function($text);
                FOUND.store(found, Relaxed);
            }
            // SAFETY: the C library always has the function, and it has this type.
            unsafe { mem::transmute::<*mut c_void, $type>(found) }
        })*

        /// Finds all functions, so that no later call does it.
        pub(crate) fn find_all() {
            $($name();)*
        }
    };
}

next_functions! {
    send: unsafe extern "C" fn(c_int, *const c_void, usize, c_int) -> isize, c"send";
    sendto: unsafe extern "C" fn(c_int, *const c_void, usize, c_int, *const c_void, u32) -> isize,
        c"sendto";
    sendmsg: unsafe extern "C" fn(c_int, *const MessageHeader, c_int) -> isize, c"sendmsg";
    sendmmsg: unsafe extern "C" fn(c_int, *mut NumberedMessage, u32, c_int) -> c_int, c"sendmmsg";
    write: unsafe extern "C" fn(c_int, *const c_void, usize) -> isize, c"write";
    writev: unsafe extern "C" fn(c_int, *const IoVec, c_int) -> isize, c"writev";
    listen: unsafe extern "C" fn(c_int, c_int) -> c_int, c"listen";
}
