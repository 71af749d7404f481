//! The TCP sockets of a network namespace (`proc_net_tcp(5)`).

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Seek as _};
use std::os::fd::OwnedFd;

use crate::Error;

/// The files of a namespace. The second does not exist without IPv6.
const TABLES: [&str; 2] = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];

/// The column with the state of a socket.
const STATE: usize = 3;
/// FIN-WAIT-1, LAST-ACK and CLOSING, as the kernel numbers the states.
const CLOSING: [&str; 3] = ["04", "09", "0B"];

/// The tables of the TCP sockets of a network namespace.
#[derive(Debug)]
pub struct TcpSockets {
    tables: Vec<File>,
}

impl TcpSockets {
    /// The tables of the calling thread's namespace. They stay those of this namespace when the
    /// thread leaves it.
    ///
    /// # Errors
    /// If `/proc` is not mounted.
    pub fn of_this_namespace() -> Result<Self, Error> {
        let mut tables = Vec::new();
        for path in TABLES {
            match File::open(path) {
                Ok(table) => tables.push(table),
                Err(error) if error.kind() == io::ErrorKind::NotFound && !tables.is_empty() => {}
                Err(error) => return Err(Error::new(format!("open `{path}`"), error)),
            }
        }
        Ok(Self { tables })
    }

    /// The tables of descriptors from [`into_fds`](Self::into_fds).
    pub fn from_fds(fds: Vec<OwnedFd>) -> Self {
        Self { tables: fds.into_iter().map(File::from).collect() }
    }

    /// Converts the tables to their descriptors.
    pub fn into_fds(self) -> Vec<OwnedFd> {
        self.tables.into_iter().map(OwnedFd::from).collect()
    }

    /// Returns true if a socket was closed and its FIN has not been acknowledged (states
    /// FIN-WAIT-1, LAST-ACK and CLOSING of RFC 9293). The kernel retransmits its data after the
    /// program that sent them has ended.
    ///
    /// # Errors
    /// If a table cannot be read.
    pub fn any_is_closing(&mut self) -> Result<bool, Error> {
        for table in &mut self.tables {
            if has_closing(table).map_err(|e| Error::new("read the table of TCP sockets", e))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn has_closing(table: &mut File) -> io::Result<bool> {
    table.rewind()?;
    for line in BufReader::new(table).lines() {
        if line?.split_whitespace().nth(STATE).is_some_and(|state| CLOSING.contains(&state)) {
            return Ok(true);
        }
    }
    Ok(false)
}
