//! Errors of system calls.

use std::io;

use thiserror::Error;

/// A failed system call: the operation with its object, the cause, and possibly a remedy.
#[derive(Debug, Error)]
#[error("cannot {operation}: {source}")]
pub struct Error {
    operation: String,
    hint: Option<String>,
    source: io::Error,
}

impl Error {
    /// Creates an error. `operation` continues the sentence "cannot …" and quotes the value
    /// concerned.
    pub fn new(operation: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self { operation: operation.into(), hint: None, source: source.into() }
    }

    /// Adds a remedy.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// The operation that failed.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// The remedy, if one is known.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// The error of the system.
    pub fn source(&self) -> &io::Error {
        &self.source
    }

    /// Whether the system has no IPv6, or it is disabled.
    pub fn is_without_ipv6(&self) -> bool {
        const WITHOUT: [libc::c_int; 3] = [libc::EAFNOSUPPORT, libc::EOPNOTSUPP, libc::EACCES];
        self.source.raw_os_error().is_some_and(|code| WITHOUT.contains(&code))
    }

    /// Whether a capability is missing (`EPERM`), which a user has in a user namespace. A file that
    /// may not be opened (`EACCES`) does not count, because a user namespace does not help there.
    pub fn is_permission_denied(&self) -> bool {
        self.source.raw_os_error() == Some(libc::EPERM)
    }
}
