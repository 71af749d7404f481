//! What a host does: the user of a [`Stack`], driven by a [`Driver`](crate::Driver).

use std::os::fd::BorrowedFd;

use units::Instant;

use crate::event::Event;
use crate::stack::Stack;

/// A descriptor of the kernel's to be waited for.
#[derive(Debug, Clone, Copy)]
pub struct Wanted<'a> {
    /// Which.
    pub fd: BorrowedFd<'a>,
    /// Until it can be read.
    pub read: bool,
    /// Until it can be written.
    pub write: bool,
}

/// Something that is done with connections.
pub trait Service {
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

    /// Descriptors to wait for beside the device. [`on_ready`](Self::on_ready) gets one answer for each.
    fn wanted<'a>(&'a self, _wanted: &mut Vec<Wanted<'a>>) {}

    /// Which of them are ready, or broken.
    fn on_ready(&mut self, _stack: &mut Stack, _ready: &[bool], _now: Instant) {}

    /// What it has done so far, by name.
    fn counts(&self) -> Vec<(&'static str, u64)>;
}

impl<S: Service + ?Sized> Service for Box<S> {
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

    fn wanted<'a>(&'a self, wanted: &mut Vec<Wanted<'a>>) {
        (**self).wanted(wanted);
    }

    fn on_ready(&mut self, stack: &mut Stack, ready: &[bool], now: Instant) {
        (**self).on_ready(stack, ready, now);
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        (**self).counts()
    }
}
