//! Functions that the WebAssembly module exports. All data is in two buffers of the module and one
//! result, whose addresses and lengths a page asks for, so no function takes a pointer.
//!
//! A page calls `request(length)`, writes the request at the address that it returns, does the
//! same with `file(length)` for a file, and calls `answer()`. The answer has `result_length()`
//! bytes at `result_address()` until the next call.

#![expect(unsafe_code, reason = "an exported symbol needs the attribute `no_mangle`")]
#![expect(unreachable_pub, reason = "the page calls the functions by their symbols")]

use std::cell::RefCell;

use crate::session::Session;

#[derive(Default)]
struct Page {
    session: Session,
    request: Vec<u8>,
    file: Vec<u8>,
    result: Vec<u8>,
}

thread_local! {
    static PAGE: RefCell<Page> = RefCell::default();
}

/// Makes the buffer of the request `length` bytes long. Returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn request(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| resized(&mut page.request, length))
}

/// Makes the buffer of the file `length` bytes long. Returns its address.
#[unsafe(no_mangle)]
pub extern "C" fn file(length: usize) -> *mut u8 {
    PAGE.with_borrow_mut(|page| resized(&mut page.file, length))
}

fn resized(buffer: &mut Vec<u8>, length: usize) -> *mut u8 {
    buffer.clear();
    buffer.shrink_to(length);
    buffer.resize(length, 0);
    buffer.as_mut_ptr()
}

/// Answers the request in the buffer, and empties the buffer of the file.
#[unsafe(no_mangle)]
pub extern "C" fn answer() {
    PAGE.with_borrow_mut(|page| {
        let file = std::mem::take(&mut page.file);
        page.result = page.session.answer(&page.request, file);
    });
}

/// Address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn result_address() -> *const u8 {
    PAGE.with_borrow(|page| page.result.as_ptr())
}

/// Length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn result_length() -> usize {
    PAGE.with_borrow(|page| page.result.len())
}
