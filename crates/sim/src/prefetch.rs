//! Memory asked for before it is needed.

#![expect(unsafe_code, reason = "the instruction takes an address")]

/// Has the processor fetch a value, from this byte of it on, into its cache, and waits for nothing.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) fn prefetch<T>(value: &T, from: usize) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    const LINE: usize = 64;
    let start = std::ptr::from_ref(value).cast::<i8>();
    let mut at = from;
    while at < size_of::<T>() {
        // SAFETY: the address lies within `value`, and fetching changes nothing that a program can see.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(start.add(at)) };
        at += LINE;
    }
}

/// Nothing: what there is for other processors is not stable Rust.
#[cfg(not(target_arch = "x86_64"))]
#[inline]
pub(crate) fn prefetch<T>(_: &T, _: usize) {}
