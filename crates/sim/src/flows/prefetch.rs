//! Prefetching of memory into the processor's cache.

#![cfg_attr(
    target_arch = "x86_64",
    expect(unsafe_code, reason = "the instruction takes an address")
)]

use std::ops::Range;

/// The size of a cache line, in bytes.
const LINE: usize = 64;

/// Prefetches the cache lines of a range of bytes of a value, without waiting. The value must
/// consist of whole cache lines.
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

/// Prefetches the cache line at this address. An invalid address has no effect.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn prefetch_line(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: any address is allowed, and a prefetch has no effect that a program can observe.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

/// Does nothing: prefetch instructions of other processors are not in stable Rust.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn prefetch_line(_: *const u8) {}
