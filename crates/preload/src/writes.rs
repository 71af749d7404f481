//! Sending of a write in pieces.
#![expect(unsafe_code, reason = "calls of the C library with the data of the program")]

use core::ffi::c_int;
use core::slice;

use crate::cuts::{MOST_PIECES, Pieces};
use crate::exclusion::Turn;
use crate::next;
use crate::page::{Counter, Page};
use crate::socket;
use crate::sys::{self, EAGAIN, EPIPE, IoVec, MSG_DONTWAIT, MSG_EOR, MSG_NOSIGNAL};
use crate::sys::{MessageHeader, NumberedMessage};

/// Largest number of parts of a write that is cut.
const MOST_PARTS: usize = 64;

/// Flags of a write that is cut. The others change how or whether data is sent.
const FLAGS: c_int = MSG_DONTWAIT | MSG_EOR | MSG_NOSIGNAL;

/// Data of a write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Data<'a> {
    parts: &'a [IoVec],
    length: usize,
}

impl Data<'_> {
    /// Returns data, unless it has more parts than a write that is cut.
    ///
    /// # Safety
    /// There are `count` parts at `parts`, or `count` is 0.
    pub(crate) unsafe fn new(parts: *const IoVec, count: usize) -> Option<Self> {
        if parts.is_null() || count == 0 || count > MOST_PARTS {
            return None;
        }
        // SAFETY: the caller guarantees it.
        let parts = unsafe { slice::from_raw_parts(parts, count) };
        let length = parts.iter().try_fold(0_usize, |sum, part| sum.checked_add(part.len))?;
        Some(Self { parts, length })
    }

    /// Number of bytes.
    pub(crate) fn length(self) -> usize {
        self.length
    }
}

/// Sends a write in pieces, or as `plain` does. The result is that of one call: a number of bytes,
/// or -1 and an error. Returns with `errno` as before, unless there is an error.
///
/// # Safety
/// `data` is that of a call of the program with these flags.
pub(crate) unsafe fn send(
    fd: c_int,
    data: Option<Data<'_>>,
    flags: c_int,
    plain: impl Fn() -> isize,
) -> isize {
    let Some(page) = Page::current().filter(|page| page.cut().is_some()) else { return plain() };
    let before = sys::errno();
    let turn = Turn::begin(fd);
    let data = data.filter(|_| flags & !FLAGS == 0);
    let cut = data.and_then(|data| Some((data, socket::pieces(fd, data.length, page)?)));
    sys::set_errno(before);
    let Some((data, pieces)) = cut else { return plain() };
    let only = match turn.alone() {
        Ok(only) => only,
        Err(_turn) => return plain(),
    };
    // SAFETY: the caller guarantees it.
    let sent = unsafe { send_pieces(fd, data, flags, &pieces, page) };
    drop(only);
    // SAFETY: the caller guarantees it.
    unsafe { finish(fd, data, flags, sent, before, plain) }
}

/// Sends pieces without blocking. Returns the number of bytes that were sent, or an error.
///
/// # Safety
/// As for [`send`].
#[inline(never)] // the arrays are on the stack, which other writes may not have
unsafe fn send_pieces(
    fd: c_int,
    data: Data<'_>,
    flags: c_int,
    pieces: &Pieces,
    page: &Page,
) -> Result<usize, c_int> {
    let mut vectors = [IoVec::EMPTY; MOST_PARTS + MOST_PIECES];
    let mut messages = [NumberedMessage::EMPTY; MOST_PIECES];
    let mut used = 0;
    let mut begin = 0;
    for (index, message) in messages.iter_mut().enumerate().take(pieces.count()) {
        let count = copy_parts(data.parts, begin..pieces.end(index), &mut vectors[used..]);
        message.header.vectors = vectors[used..].as_ptr();
        message.header.count = count;
        message.header.flags = if index + 1 < pieces.count() { MSG_EOR } else { 0 };
        used += count;
        begin = pieces.end(index);
    }
    let count = u32::try_from(pieces.count()).unwrap_or(0);
    let flags = flags | MSG_DONTWAIT | MSG_NOSIGNAL;
    // SAFETY: the messages are parts of the program's data.
    let found = unsafe { next::sendmmsg()(fd, messages.as_mut_ptr(), count, flags) };
    let Ok(found) = usize::try_from(found) else { return Err(sys::errno()) };
    page.add(Counter::CutWrites, 1);
    page.add(Counter::Cuts, found.saturating_sub(1) as u64);
    Ok(messages.iter().take(found).map(|message| message.sent as usize).sum())
}

/// Copies the parts of a range of bytes. Returns their number.
fn copy_parts(parts: &[IoVec], range: core::ops::Range<usize>, to: &mut [IoVec]) -> usize {
    let (mut begin, mut count) = (0, 0);
    for part in parts {
        let end = begin + part.len;
        let (from, until) = (range.start.max(begin), range.end.min(end));
        if let Some(slot) = to.get_mut(count).filter(|_| from < until) {
            *slot = IoVec { base: part.base.wrapping_byte_add(from - begin), len: until - from };
            count += 1;
        }
        begin = end;
    }
    count
}

/// Returns the result of a write whose pieces were sent, as one blocking or non-blocking call
/// would.
///
/// # Safety
/// As for [`send`].
unsafe fn finish(
    fd: c_int,
    data: Data<'_>,
    flags: c_int,
    sent: Result<usize, c_int>,
    before: c_int,
    plain: impl Fn() -> isize,
) -> isize {
    let blocks = || flags & MSG_DONTWAIT == 0 && !sys::is_non_blocking(fd);
    let sent = match sent {
        Ok(sent) => sent,
        // The plain call waits, or sends the signal SIGPIPE.
        Err(EAGAIN) if blocks() => return plain_again(before, plain),
        Err(EPIPE) if flags & MSG_NOSIGNAL == 0 => return plain_again(before, plain),
        Err(error) => {
            sys::set_errno(error);
            return -1;
        }
    };
    let mut result = sent;
    if sent < data.length && blocks() {
        let mut vectors = [IoVec::EMPTY; MOST_PARTS];
        let count = copy_parts(data.parts, sent..data.length, &mut vectors);
        let rest =
            MessageHeader { vectors: vectors.as_ptr(), count, ..NumberedMessage::EMPTY.header };
        // SAFETY: the message is a part of the program's data.
        let more = unsafe { next::sendmsg()(fd, &raw const rest, flags | MSG_NOSIGNAL) };
        result += usize::try_from(more).unwrap_or(0);
    }
    sys::set_errno(before);
    isize::try_from(result).unwrap_or(isize::MAX)
}

fn plain_again(before: c_int, plain: impl Fn() -> isize) -> isize {
    sys::set_errno(before);
    plain()
}
