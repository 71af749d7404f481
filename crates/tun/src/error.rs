//! What the system refused.

use std::io;

use thiserror::Error;

/// A request that the system refused: what was wanted of what, why not, and if something can be
/// done about it, what.
#[derive(Debug, Error)]
#[error("cannot {operation}: {source}")]
pub struct Error {
    operation: String,
    hint: Option<String>,
    source: io::Error,
}

impl Error {
    /// `operation` reads on from "cannot", with the value that it was about.
    pub fn new(operation: impl Into<String>, source: impl Into<io::Error>) -> Self {
        Self { operation: operation.into(), hint: None, source: source.into() }
    }

    /// With a way out.
    #[must_use]
    pub fn with_hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// What was wanted.
    pub fn operation(&self) -> &str {
        &self.operation
    }

    /// What can be done about it.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// What the system said.
    pub fn source(&self) -> &io::Error {
        &self.source
    }

    /// Whether the system wants a capability for it, as one has in a namespace of one's own. A file
    /// that one may not open is something else: that may be so there, too.
    pub fn is_permission_denied(&self) -> bool {
        self.source.raw_os_error() == Some(libc::EPERM)
    }
}
