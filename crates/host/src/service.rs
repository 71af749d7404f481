//! Interface of an application on a [`Stack`], run by a [`Driver`](crate::Driver).

use std::os::fd::BorrowedFd;

use units::Instant;

use crate::config::StackConfig;
use crate::event::Event;
use crate::stack::Stack;

/// An application that handles the connections of a stack.
pub trait Service {
    /// Adjusts the configuration of the stack. Called before the stack is created.
    fn configure(&self, _config: &mut StackConfig) {}

    /// Starts the service. Called once.
    fn start(&mut self, stack: &mut Stack, now: Instant);

    /// Handles an event of a connection.
    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant);

    /// Handles deadlines. Called at [`next_timeout`](Self::next_timeout) or later.
    fn on_timeout(&mut self, stack: &mut Stack, now: Instant);

    /// The time at which [`on_timeout`](Self::on_timeout) should next be called.
    fn next_timeout(&self) -> Instant;

    /// Stops accepting new work and finishes the work in progress.
    fn stop(&mut self, stack: &mut Stack, now: Instant);

    /// A descriptor that the driver waits for, beside the device, to become readable. A service
    /// with many descriptors registers them with one epoll descriptor, so that a wait has constant
    /// cost.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// Called when the descriptor is readable.
    fn on_ready(&mut self, _stack: &mut Stack, _now: Instant) {}

    /// Totals so far, with their names.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}

impl<S: Service + ?Sized> Service for Box<S> {
    fn configure(&self, config: &mut StackConfig) {
        (**self).configure(config);
    }

    fn start(&mut self, stack: &mut Stack, now: Instant) {
        (**self).start(stack, now);
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant) {
        (**self).on_event(stack, event, now);
    }

    fn on_timeout(&mut self, stack: &mut Stack, now: Instant) {
        (**self).on_timeout(stack, now);
    }

    fn next_timeout(&self) -> Instant {
        (**self).next_timeout()
    }

    fn stop(&mut self, stack: &mut Stack, now: Instant) {
        (**self).stop(stack, now);
    }

    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        (**self).descriptor()
    }

    fn on_ready(&mut self, stack: &mut Stack, now: Instant) {
        (**self).on_ready(stack, now);
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        (**self).counts()
    }
}
