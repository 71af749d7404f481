//! Calls that read and write.

use tcp::WriteFlags;
use units::Instant;

use super::{Answer, Arguments, Machine, Outcome, Progress, Socket};
use crate::host::Endpoint;
use crate::profile::counts_memory;
use crate::script::Value;

/// A request to read or write.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transfer {
    len: u32,
    is_null: bool,
    /// `MSG_DONTWAIT`.
    at_once: bool,
    /// `MSG_MORE` and `MSG_EOR`.
    flags: WriteFlags,
}

impl Transfer {
    /// A plain transfer of `len` bytes.
    pub(super) fn plain(len: u32, at_once: bool) -> Self {
        Self { len, is_null: false, at_once, flags: WriteFlags::default() }
    }

    /// Reads the arguments of any of these calls.
    fn of(arguments: Arguments) -> Option<Self> {
        let name = arguments.call.name.as_str();
        let flags = if name.ends_with("msg") { 2 } else { 3 };
        let at_once = arguments.has(flags, "MSG_DONTWAIT");
        let write = WriteFlags {
            more: arguments.has(flags, "MSG_MORE"),
            end_of_record: arguments.has(flags, "MSG_EOR"),
        };
        let (len, is_null) = match name {
            "sendmsg" | "recvmsg" => (vector(arguments.get(1)?.field("msg_iov")?)?, false),
            "readv" | "writev" => (vector(arguments.get(1)?)?, false),
            _ => (arguments.length(2)?, arguments.is_null(1)),
        };
        Some(Self { len, is_null, at_once, flags: write })
    }
}

/// Number of bytes in a vector `[{..., 10}, {..., 20}]`.
fn vector(value: &Value) -> Option<u32> {
    let Value::List(parts) = value else { return None };
    parts.iter().try_fold(0_u32, |sum, part| {
        let Value::Struct(fields) = part else { return None };
        match fields.get(1).map(|field| &field.value) {
            Some(Value::Integer(len)) => sum.checked_add(u32::try_from(*len).ok()?),
            _ => None,
        }
    })
}

impl Machine {
    pub(super) fn receive(&mut self, fd: i64, arguments: Arguments) -> Outcome {
        match Transfer::of(arguments) {
            Some(wanted) => self.receive_as(fd, wanted, arguments),
            None => Outcome::unclear(arguments.call),
        }
    }

    pub(super) fn receive_as(
        &mut self,
        fd: i64,
        wanted: Transfer,
        arguments: Arguments,
    ) -> Outcome {
        let now = self.now;
        let Some((socket, endpoint)) = self.stream(fd) else { return Outcome::error("ENOTCONN") };
        let readable = endpoint.connection.readable();
        if readable > 0 && wanted.len > 0 {
            if wanted.is_null {
                return Outcome::error("EFAULT");
            }
            let taken = endpoint.connection.read(wanted.len);
            endpoint.drain(now);
            return Outcome::Done(received(taken, socket, endpoint, arguments));
        }
        if endpoint.peer_closed || wanted.len == 0 {
            return Outcome::value(0);
        }
        if let Some(error) = socket.pending_error(endpoint) {
            socket.error_taken = true;
            return Outcome::error(error);
        }
        if socket.receive_shut || endpoint.closed.is_some() {
            return Outcome::value(0);
        }
        if socket.nonblocking || wanted.at_once {
            return Outcome::error("EAGAIN");
        }
        Outcome::Blocked(Instant::NEVER)
    }

    pub(super) fn send(
        &mut self,
        fd: i64,
        arguments: Arguments,
        progress: &mut Progress,
    ) -> Outcome {
        match Transfer::of(arguments) {
            Some(wanted) => self.send_as(fd, wanted, progress),
            None => Outcome::unclear(arguments.call),
        }
    }

    pub(super) fn send_as(
        &mut self,
        fd: i64,
        wanted: Transfer,
        progress: &mut Progress,
    ) -> Outcome {
        let now = self.now;
        let (counts_memory, lowat) = (counts_memory(self.profile), self.settings.notsent_lowat);
        let Some((socket, endpoint)) = self.stream(fd) else { return Outcome::error("EPIPE") };
        // As in Linux, bytes that were taken precede an error.
        let so_far = i64::from(progress.written);
        let failed =
            |error| if so_far > 0 { Outcome::value(so_far) } else { Outcome::error(error) };
        if let Some(error) = socket.pending_error(endpoint) {
            socket.error_taken = true;
            return failed(error);
        }
        if socket.send_shut || endpoint.closed.is_some() {
            return failed("EPIPE");
        }
        let waits = !(socket.nonblocking || wanted.at_once);
        if !endpoint.opened {
            return if waits { Outcome::Blocked(Instant::NEVER) } else { failed("EAGAIN") };
        }
        if wanted.is_null && wanted.len > 0 {
            return Outcome::error("EFAULT");
        }
        let left = wanted.len - progress.written;
        let room = socket.room(endpoint, lowat);
        if room < left && room > 0 && counts_memory {
            return Outcome::NotApplicable(format!(
                "the room for {left} bytes in a send buffer of {} follows the kernel's memory \
                 accounting",
                socket.send_buffer
            ));
        }
        // Writing cannot fail, because the connection is open and this end has not closed it.
        let taken = endpoint.connection.write_with(left.min(room), wanted.flags).unwrap_or(0);
        endpoint.drain(now);
        progress.written += taken;
        match progress.written {
            all if all == wanted.len => Outcome::value(all.into()),
            _ if waits => Outcome::Blocked(Instant::NEVER),
            0 => Outcome::error("EAGAIN"),
            some => Outcome::value(some.into()),
        }
    }
}

impl Socket {
    /// Number of bytes that a write would take.
    pub(super) fn room(&self, endpoint: &Endpoint, default_lowat: u32) -> u32 {
        let queued = endpoint.connection.unacknowledged();
        let unsent = queued.saturating_sub(endpoint.connection.flight());
        if unsent >= self.notsent_lowat.unwrap_or(default_lowat) {
            return 0;
        }
        self.send_buffer.saturating_sub(queued)
    }
}

/// Result of a read, with the comparison of what `recvmsg` reports.
fn received(taken: u32, socket: &Socket, endpoint: &Endpoint, arguments: Arguments) -> Answer {
    let mut differences = Vec::new();
    let control = arguments.get(1).and_then(|message| message.field("msg_control"));
    if let (true, Some(Value::List(messages))) = (socket.reports_inq, control) {
        let unread = endpoint.connection.readable();
        // Linux counts the end of the stream as a byte.
        let inq = if unread == 0 { u32::from(endpoint.peer_closed) } else { unread };
        for message in messages {
            if let Some(Value::Integer(wanted)) = message.field("cmsg_data")
                && *wanted != i64::from(inq)
            {
                differences.push(format!("{inq} readable bytes instead of {wanted}"));
            }
        }
    }
    Answer { value: taken.into(), error: None, differences }
}
