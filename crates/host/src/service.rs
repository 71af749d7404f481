//! What a host does: the user of a [`Stack`], driven by a [`Driver`](crate::Driver).

use std::os::fd::BorrowedFd;

use units::Instant;

use crate::config::StackConfig;
use crate::event::Event;
use crate::stack::Stack;

/// Something that is done with connections.
pub trait Service {
    /// Sets what this service needs of its stack. It is called before the stack is made.
    fn configure(&self, _config: &mut StackConfig) {}

    /// It begins.
    fn start(&mut self, stack: &mut Stack, now: Instant);

    /// Something happened to a connection.
    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant);

    /// It may be [`next_timeout`](Self::next_timeout), or later.
    fn on_timeout(&mut self, stack: &mut Stack, now: Instant);

    /// When it wants to be called next.
    fn next_timeout(&self) -> Instant;

    /// No new work is taken on; what is under way is finished.
    fn stop(&mut self, stack: &mut Stack, now: Instant);

    /// A descriptor to wait for beside the device, until it can be read. Who has many keeps them
    /// behind one (epoll), so that a wait costs the same however many there are.
    fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// It can be read.
    fn on_ready(&mut self, _stack: &mut Stack, _now: Instant) {}

    /// What it has done so far, by name.
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
