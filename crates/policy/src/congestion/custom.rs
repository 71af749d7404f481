//! Congestion controllers that the user of a connection implements.

use std::fmt;
use std::sync::Arc;

use crate::congestion::{AnyController, WindowRules};

/// Facts with which a [`ControllerFactory`] makes a controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerStart {
    /// Sender maximum segment size in bytes.
    pub smss: u32,
    /// Initial window in bytes.
    pub initial_window: u32,
    /// Rules of the connection's window.
    pub rules: WindowRules,
}

/// Function that makes the controller of each connection that shares a configuration.
///
/// Two factories are equal if they are clones of one factory.
#[derive(Clone)]
pub struct ControllerFactory(Arc<dyn Fn(&ControllerStart) -> AnyController + Send + Sync>);

impl ControllerFactory {
    /// Creates a factory that calls `make`.
    pub fn new(make: impl Fn(&ControllerStart) -> AnyController + Send + Sync + 'static) -> Self {
        Self(Arc::new(make))
    }

    /// Makes the controller of a connection.
    pub fn make(&self, start: &ControllerStart) -> AnyController {
        (self.0)(start)
    }
}

impl fmt::Debug for ControllerFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ControllerFactory")
    }
}

impl PartialEq for ControllerFactory {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ControllerFactory {}
