//! Memory asked for before it is needed.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes an address")
)]

use std::ops::Range;

/// What a processor fetches at once, in bytes.
const LINE: usize = 64;

/// Has the processor fetch these bytes of a value, which lies in whole lines, into its cache, and
/// waits for nothing.
#[inline]
pub(crate) fn prefetch<T>(value: &T, bytes: Range<usize>) {
    const { assert!(align_of::<T>() >= LINE, "it may end in one line more") };
    let start = std::ptr::from_ref(value).cast::<u8>();
    let mut at = bytes.start / LINE * LINE;
    while at < bytes.end {
        prefetch_line(start.wrapping_add(at));
        at += LINE;
    }
}

/// Has the processor fetch the line at this address. Where there is no memory, nothing happens.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: any address will do, and fetching changes nothing that a program can see.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Nothing: what there is for other processors is not stable Rust.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn prefetch_line(_: *const u8) {}
