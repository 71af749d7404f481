//! Files and pipes, as far as their data enters or leaves a connection.

use super::transfer::Transfer;
use super::{Answer, Arguments, File, Machine, Outcome, Progress};
use crate::script::{Call, Value};

/// Capacity of a pipe in bytes, as in Linux.
const PIPE: u32 = 65_536;

impl Machine {
    pub(super) fn open_file(&mut self, call: &Call) -> Outcome {
        let fd = self.descriptor(call);
        self.files.insert(fd, File::Regular);
        Outcome::value(fd)
    }

    /// `pipe([read, write])`. The descriptors are those of the script, unless they are in use.
    pub(super) fn pipe(&mut self, arguments: Arguments) -> Outcome {
        let Some(Value::List(ends)) = arguments.get(0) else {
            return Outcome::unclear(arguments.call);
        };
        let [Value::Integer(read), Value::Integer(write)] = ends.as_slice() else {
            return Outcome::unclear(arguments.call);
        };
        if self.files.contains_key(read) || self.files.contains_key(write) || read == write {
            return Outcome::unclear(arguments.call);
        }
        let index = self.pipes.len();
        self.pipes.push(0);
        self.files.insert(*read, File::Pipe(index));
        self.files.insert(*write, File::Pipe(index));
        Outcome::value(0)
    }

    /// `sendfile(to, from, offset, count)`: the data of a file is written as by `write`.
    pub(super) fn send_file(
        &mut self,
        to: i64,
        arguments: Arguments,
        progress: &mut Progress,
    ) -> Outcome {
        let (Some(from), Some(count)) = (arguments.integer(1), arguments.length(3)) else {
            return Outcome::unclear(arguments.call);
        };
        match self.files.get(&from) {
            Some(File::Regular) => self.send_as(to, Transfer::plain(count, false), progress),
            Some(_) => Outcome::error("EINVAL"),
            None => Outcome::error("EBADF"),
        }
    }

    /// `splice(from, NULL, to, NULL, count, flags)` between a connection and a pipe.
    pub(super) fn splice(&mut self, arguments: Arguments, progress: &mut Progress) -> Outcome {
        let (Some(from), Some(to), Some(count)) =
            (arguments.integer(0), arguments.integer(2), arguments.length(4))
        else {
            return Outcome::unclear(arguments.call);
        };
        let at_once = arguments.has(5, "SPLICE_F_NONBLOCK");
        match (self.files.get(&from), self.files.get(&to)) {
            (Some(File::Socket(_)), Some(&File::Pipe(pipe))) => {
                let wanted = Transfer::plain(count.min(PIPE - self.pipes[pipe]), at_once);
                let outcome = self.receive_as(from, wanted, arguments);
                self.pipes[pipe] += moved(&outcome);
                outcome
            }
            (Some(&File::Pipe(pipe)), Some(File::Socket(_))) => {
                let wanted = Transfer::plain(count.min(self.pipes[pipe]), at_once);
                let outcome = self.send_as(to, wanted, progress);
                self.pipes[pipe] -= moved(&outcome).min(self.pipes[pipe]);
                outcome
            }
            (Some(_), Some(_)) => Outcome::error("EINVAL"),
            _ => Outcome::error("EBADF"),
        }
    }
}

/// Number of bytes that a call has moved.
fn moved(outcome: &Outcome) -> u32 {
    match outcome {
        Outcome::Done(Answer { value, .. }) => u32::try_from(*value).unwrap_or(0),
        Outcome::Blocked(_) | Outcome::NotApplicable(_) => 0,
    }
}
