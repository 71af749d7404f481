//! `fcntl` and `ioctl`.

use units::Instant;

use super::{Arguments, Kind, Machine, Outcome};
use crate::script::Value;

/// `O_RDWR` and `O_NONBLOCK`.
const READ_WRITE: i64 = 0x2;
const NONBLOCK: i64 = 0x800;

impl Machine {
    pub(super) fn fcntl(&mut self, fd: i64, arguments: Arguments) -> Outcome {
        let Some(socket) = self.socket_mut(fd) else { return Outcome::error("EBADF") };
        match arguments.words(1).as_slice() {
            ["F_GETFL"] => {
                Outcome::value(READ_WRITE | if socket.nonblocking { NONBLOCK } else { 0 })
            }
            ["F_SETFL"] => {
                socket.nonblocking = arguments.has(2, "O_NONBLOCK")
                    || arguments.integer(2).is_some_and(|flags| flags & NONBLOCK != 0);
                Outcome::value(0)
            }
            _ => Outcome::unclear(arguments.call),
        }
    }

    pub(super) fn ioctl(&mut self, fd: i64, arguments: Arguments) -> Outcome {
        let Some((_, endpoint)) = self.stream(fd) else { return Outcome::error("EINVAL") };
        let value = match arguments.words(1).as_slice() {
            ["SIOCINQ" | "FIONREAD"] => endpoint.connection.readable(),
            ["SIOCOUTQ" | "TIOCOUTQ"] => endpoint.connection.unacknowledged(),
            _ => return Outcome::unclear(arguments.call),
        };
        compared(arguments.get(2), i64::from(value))
    }

    /// Blocks the call, or fails at once without blocking.
    pub(super) fn wait_or_again(&self, fd: i64) -> Outcome {
        let waits = self.socket_of(fd).is_some_and(|socket| !socket.nonblocking);
        if waits { Outcome::Blocked(Instant::NEVER) } else { Outcome::error("EAGAIN") }
    }

    /// Returns whether a descriptor is a listening socket.
    pub(super) fn is_listener(&self, fd: i64) -> bool {
        self.socket_of(fd).is_some_and(|socket| matches!(socket.kind, Kind::Listener(_)))
    }
}

/// Compares a value that a call wrote with the expected one.
pub(super) fn compared(expected: Option<&Value>, value: i64) -> Outcome {
    let wanted = match expected.map(|expected| (expected, expected.pointee())) {
        Some((_, Some(Value::Integer(wanted))) | (Value::Integer(wanted), _)) => *wanted,
        _ => return Outcome::value(0),
    };
    // Unsigned values of 32 bits may be written either way.
    let same = wanted == value || wanted & 0xffff_ffff == value & 0xffff_ffff;
    let difference = (!same).then(|| format!("the value {value} instead of {wanted}"));
    Outcome::with_differences(0, difference.into_iter().collect())
}
