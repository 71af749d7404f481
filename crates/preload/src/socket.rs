//! State of a connection, which decides whether a write is cut.

use core::ffi::c_int;

use crate::cuts::{Pieces, WindowFacts};
use crate::page::Page;
use crate::sys;

// States of a connection (`enum` in `include/net/tcp_states.h`).
const ESTABLISHED: u8 = 1;
const CLOSE_WAIT: u8 = 8;

// Positions in `struct tcp_info`.
const STATE: usize = 0;
const SEND_MSS: usize = 16;
const UNACKNOWLEDGED: usize = 24;
const CONGESTION_WINDOW: usize = 80;
const NOT_SENT: usize = 144;
const INFO: usize = 148;

/// Returns the pieces of a write of `length` bytes to a descriptor, or `None` if it is not cut. The
/// pieces can leave at once: `TCP_NODELAY` is set.
pub(crate) fn pieces(fd: c_int, length: usize, page: &Page) -> Option<Pieces> {
    let cut = page.cut()?;
    let pieces = cut.pieces(length, &window(fd)?)?;
    let is_accepted = sys::local_port(fd).is_some_and(|port| page.listens_at(port));
    let is_corked = sys::tcp_number(fd, sys::TCP_CORK) != Some(0);
    (is_accepted && !is_corked && !has_upper_protocol(fd) && sends_at_once(fd)).then_some(pieces)
}

/// Returns the facts of an open connection without data that waits to be sent.
fn window(fd: c_int) -> Option<WindowFacts> {
    let mut info = [0_u8; INFO];
    let found = sys::tcp_option(fd, sys::TCP_INFO, &mut info)?;
    let word = |at: usize| {
        info[at..].first_chunk().map_or(0, |bytes: &[u8; 4]| u32::from_ne_bytes(*bytes))
    };
    let is_open = info[STATE] == ESTABLISHED || info[STATE] == CLOSE_WAIT;
    (found == INFO && is_open && word(NOT_SENT) == 0).then(|| WindowFacts {
        mss: word(SEND_MSS),
        window: word(CONGESTION_WINDOW),
        in_flight: word(UNACKNOWLEDGED),
    })
}

/// Returns whether the kernel encrypts what is written: each write is then a record of TLS.
fn has_upper_protocol(fd: c_int) -> bool {
    sys::tcp_option(fd, sys::TCP_ULP, &mut [0; 16]).is_some_and(|length| length > 0)
}

/// Turns Nagle's algorithm off, which would join the pieces.
fn sends_at_once(fd: c_int) -> bool {
    sys::tcp_number(fd, sys::TCP_NODELAY) == Some(1) || sys::set_tcp_number(fd, sys::TCP_NODELAY, 1)
}

/// Prepares a socket that listens now.
pub(crate) fn prepare_listener(fd: c_int, page: &Page) {
    let is_tcp = sys::tcp_option(fd, sys::TCP_INFO, &mut [0; 1]).is_some();
    let Some(port) = sys::local_port(fd).filter(|port| is_tcp && page.selects(*port)) else {
        return;
    };
    page.add_listener(port);
    if let Some(minimum) = page.rto_min_us() {
        // Accepted sockets inherit it.
        if !sys::set_tcp_number(fd, sys::TCP_RTO_MIN_US, minimum) {
            page.add(crate::page::Counter::Refused, 1);
        }
    }
}
