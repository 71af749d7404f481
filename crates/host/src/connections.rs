//! State of a service for each of its connections, with one deadline each and a backlog.

use std::collections::VecDeque;
use std::ops::{Deref, DerefMut};

use units::Instant;

use crate::event::ConnectionId;
use crate::timers::Timers;

/// The connections of a service.
#[derive(Debug)]
pub(crate) struct Connections<T> {
    /// Entries by [`ConnectionId::index`].
    entries: Vec<Option<Box<Entry<T>>>>,
    /// Number of entries.
    len: usize,
    timers: Timers,
    /// Connections that have more work to do, in the order of their turns.
    backlog: VecDeque<ConnectionId>,
}

/// The state of one connection.
#[derive(Debug)]
pub(crate) struct Entry<T> {
    pub(crate) id: ConnectionId,
    /// The time at which [`Connections::next_due`] returns the connection.
    pub(crate) deadline: Instant,
    /// Time of the valid timer entry.
    timer: Instant,
    in_backlog: bool,
    state: T,
}

impl<T> Deref for Entry<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T> DerefMut for Entry<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.state
    }
}

impl<T> Default for Connections<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), len: 0, timers: Timers::default(), backlog: VecDeque::new() }
    }
}

impl<T> Connections<T> {
    /// Adds a new connection.
    pub(crate) fn insert(&mut self, id: ConnectionId, deadline: Instant, state: T) {
        if self.entries.len() <= id.index() {
            self.entries.resize_with(id.index() + 1, || None);
        }
        let timer = Instant::NEVER;
        self.put(Box::new(Entry { id, deadline, timer, in_backlog: false, state }));
    }

    /// The entries of all connections, except those that are taken.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Entry<T>> {
        self.entries.iter().flatten().map(|entry| &**entry)
    }

    /// The entry of a connection, unless it is taken or has ended.
    pub(crate) fn get_mut(&mut self, id: ConnectionId) -> Option<&mut Entry<T>> {
        self.get_at_mut(id.index()).filter(|entry| entry.id == id)
    }

    /// The entry at a [`ConnectionId::index`].
    pub(crate) fn get_at_mut(&mut self, index: usize) -> Option<&mut Entry<T>> {
        self.entries.get_mut(index)?.as_deref_mut()
    }

    /// Takes the entry of a connection out, so that the service and the entry can be changed
    /// together. A connection whose entry is not [`put`](Self::put) back has ended.
    pub(crate) fn take(&mut self, id: ConnectionId) -> Option<Box<Entry<T>>> {
        let entry = self.entries.get_mut(id.index())?.take_if(|entry| entry.id == id)?;
        self.len -= 1;
        Some(entry)
    }

    /// Puts an entry back. Its deadline may have changed.
    pub(crate) fn put(&mut self, mut entry: Box<Entry<T>>) {
        self.timers.set(entry.id, &mut entry.timer, entry.deadline);
        let index = entry.id.index();
        self.entries[index] = Some(entry);
        self.len += 1;
    }

    /// Returns the next connection whose deadline is due at `now`; `None` if there is no other.
    /// The caller sets a new deadline.
    pub(crate) fn next_due(&mut self, now: Instant) -> Option<ConnectionId> {
        while let Some((at, id)) = self.timers.pop(now) {
            let entry = self.entries.get_mut(id.index()).and_then(Option::as_mut);
            let Some(entry) = entry.filter(|entry| entry.id == id && entry.timer == at) else {
                continue;
            };
            entry.timer = Instant::NEVER;
            if entry.deadline <= now {
                return Some(id);
            }
            self.timers.set(id, &mut entry.timer, entry.deadline);
        }
        let entries = &self.entries;
        self.timers.sweep(self.len, |at, id| {
            let entry = entries.get(id.index()).and_then(Option::as_ref);
            entry.is_some_and(|entry| entry.id == id && entry.timer == at)
        });
        None
    }

    /// Gives the connection another turn in the backlog, unless it waits for one already.
    pub(crate) fn defer(&mut self, entry: &mut Entry<T>) {
        if !std::mem::replace(&mut entry.in_backlog, true) {
            self.backlog.push_back(entry.id);
        }
    }

    /// Number of turns in the backlog, including those of connections that have ended.
    pub(crate) fn turns(&self) -> usize {
        self.backlog.len()
    }

    /// Removes the next turn from the backlog. Returns its connection, unless that has ended.
    pub(crate) fn next_turn(&mut self) -> Option<ConnectionId> {
        let id = self.backlog.pop_front()?;
        self.get_mut(id)?.in_backlog = false;
        Some(id)
    }

    /// The time of the next turn or deadline. It may be too early, but never too late.
    pub(crate) fn next_timeout(&self) -> Instant {
        if self.backlog.is_empty() { self.timers.next() } else { Instant::ZERO }
    }
}

#[cfg(test)]
mod tests;
