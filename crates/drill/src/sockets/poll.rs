//! `poll` and `epoll`.

use units::{Duration, Instant};

use super::{Answer, Arguments, File, Kind, Machine, Outcome, Progress, Socket};
use crate::host::Endpoint;
use crate::script::{Call, Value};

/// Events as bits.
type Mask = u32;

const IN: Mask = 0x1;
const OUT: Mask = 0x4;
const ERR: Mask = 0x8;
const HUP: Mask = 0x10;
const RDHUP: Mask = 0x2000;
const ONESHOT: Mask = 1 << 30;
const EDGE: Mask = 1 << 31;

/// Names of events without the prefix `POLL` or `EPOLL`.
const NAMES: [(&str, Mask); 11] = [
    ("IN", IN),
    ("PRI", 0x2),
    ("OUT", OUT),
    ("ERR", ERR),
    ("HUP", HUP),
    ("RDNORM", 0x40),
    ("RDBAND", 0x80),
    ("WRNORM", 0x100),
    ("RDHUP", RDHUP),
    ("ONESHOT", ONESHOT),
    ("ET", EDGE),
];

/// A socket that an epoll instance watches.
#[derive(Debug, Clone, Copy)]
pub(super) struct Watch {
    fd: i64,
    events: Mask,
    /// Number of edges that were reported; `None` if none was.
    reported: Option<u64>,
}

/// Reads events such as `POLLIN|POLLOUT`, or 0.
fn mask(value: &Value) -> Option<Mask> {
    if let Value::Integer(bits) = value {
        return Mask::try_from(*bits).ok();
    }
    value.words().iter().try_fold(0, |mask, word| {
        let name = word.strip_prefix("EPOLL").or_else(|| word.strip_prefix("POLL"))?;
        let (_, bit) = NAMES.iter().find(|(known, _)| *known == name)?;
        Some(mask | bit)
    })
}

fn shown(mask: Mask) -> String {
    let names: Vec<&str> =
        NAMES.iter().filter(|(_, bit)| mask & bit != 0).map(|(name, _)| *name).collect();
    if names.is_empty() { "0".to_owned() } else { names.join("|") }
}

impl Machine {
    pub(super) fn poll(&mut self, arguments: Arguments, progress: &Progress) -> Outcome {
        let Some(Value::List(entries)) = arguments.get(0) else {
            return Outcome::unclear(arguments.call);
        };
        let (mut ready, mut differences) = (0, Vec::new());
        for entry in entries {
            let (Some(Value::Integer(fd)), Some(events)) =
                (entry.field("fd"), entry.field("events").and_then(mask))
            else {
                return Outcome::unclear(arguments.call);
            };
            let seen = self.readiness(*fd) & (events | ERR | HUP);
            ready += i64::from(seen != 0);
            if let Some(wanted) = entry.field("revents").and_then(mask)
                && wanted != seen
            {
                differences.push(format!("events {} instead of {}", shown(seen), shown(wanted)));
            }
        }
        let Some(timeout) = arguments.integer(2) else { return Outcome::unclear(arguments.call) };
        if ready == 0
            && let Some(blocked) = self.waiting(timeout, progress)
        {
            return blocked;
        }
        Outcome::Done(Answer { value: ready, error: None, differences })
    }

    /// Blocks a call with a timeout in milliseconds that has not passed yet.
    fn waiting(&self, timeout: i64, progress: &Progress) -> Option<Outcome> {
        let start = progress.started.unwrap_or(self.now);
        // A negative timeout never passes.
        let end = u64::try_from(timeout)
            .map_or(Instant::NEVER, |millis| start + Duration::from_millis(millis));
        (self.now < end).then_some(Outcome::Blocked(end))
    }

    pub(super) fn epoll_create(&mut self, call: &Call) -> Outcome {
        let fd = self.descriptor(call);
        self.files.insert(fd, File::Epoll(Vec::new()));
        Outcome::value(fd)
    }

    pub(super) fn epoll_ctl(&mut self, epoll: i64, arguments: Arguments) -> Outcome {
        let Some(fd) = arguments.integer(2) else { return Outcome::unclear(arguments.call) };
        let Some(File::Epoll(watches)) = self.files.get_mut(&epoll) else {
            return Outcome::error("EBADF");
        };
        let known = watches.iter().position(|watch| watch.fd == fd);
        let events = arguments.get(3).and_then(|event| event.field("events")).and_then(mask);
        let watch = events.map(|events| Watch { fd, events, reported: None });
        match (arguments.words(1).as_slice(), known, watch) {
            (["EPOLL_CTL_ADD"], None, Some(watch)) => watches.push(watch),
            (["EPOLL_CTL_MOD"], Some(index), Some(watch)) => watches[index] = watch,
            (["EPOLL_CTL_DEL"], Some(index), _) => drop(watches.remove(index)),
            (["EPOLL_CTL_ADD"], Some(_), _) => return Outcome::error("EEXIST"),
            (["EPOLL_CTL_MOD" | "EPOLL_CTL_DEL"], None, _) => return Outcome::error("ENOENT"),
            _ => return Outcome::unclear(arguments.call),
        }
        Outcome::value(0)
    }

    pub(super) fn epoll_wait(
        &mut self,
        epoll: i64,
        arguments: Arguments,
        progress: &Progress,
    ) -> Outcome {
        let expected: Vec<&Value> = match arguments.get(1) {
            Some(Value::List(entries)) => entries.iter().collect(),
            Some(entry @ Value::Struct(_)) => vec![entry],
            _ => return Outcome::unclear(arguments.call),
        };
        let (Some(most), Some(timeout)) = (arguments.length(2), arguments.integer(3)) else {
            return Outcome::unclear(arguments.call);
        };
        let Some(File::Epoll(watches)) = self.files.get(&epoll) else {
            return Outcome::error("EBADF");
        };
        let found: Vec<(usize, i64, Mask, u64)> = watches
            .iter()
            .enumerate()
            .filter_map(|(index, watch)| {
                let seen = self.readiness(watch.fd) & (watch.events | ERR | HUP);
                let edges = self.edges(watch.fd);
                let is_off = watch.events & !(ONESHOT | EDGE) == 0;
                let is_new = watch.events & EDGE == 0 || watch.reported != Some(edges);
                (seen != 0 && is_new && !is_off).then_some((index, watch.fd, seen, edges))
            })
            .take(usize::try_from(most).unwrap_or(usize::MAX))
            .collect();
        if found.is_empty()
            && let Some(blocked) = self.waiting(timeout, progress)
        {
            return blocked;
        }
        self.note_reported(epoll, &found);
        let differences = expected
            .iter()
            .enumerate()
            .filter_map(|(index, entry)| {
                let wanted = entry.field("events").and_then(mask)?;
                let seen = found.get(index).map_or(0, |(_, _, seen, _)| *seen);
                (wanted != seen)
                    .then(|| format!("events {} instead of {}", shown(seen), shown(wanted)))
            })
            .collect();
        let value = i64::try_from(found.len()).unwrap_or(i64::MAX);
        Outcome::Done(Answer { value, error: None, differences })
    }

    fn note_reported(&mut self, epoll: i64, found: &[(usize, i64, Mask, u64)]) {
        let Some(File::Epoll(watches)) = self.files.get_mut(&epoll) else { return };
        for &(index, _, _, edges) in found {
            let watch = &mut watches[index];
            watch.reported = Some(edges);
            if watch.events & ONESHOT != 0 {
                watch.events &= ONESHOT | EDGE;
            }
        }
    }

    fn edges(&self, fd: i64) -> u64 {
        let endpoint = |index: usize| self.host.endpoints.get(index).map_or(0, |each| each.edges);
        match self.socket_of(fd).map(|socket| &socket.kind) {
            Some(Kind::Stream(index)) => endpoint(*index),
            Some(Kind::Listener(waiting)) => waiting.iter().map(|&index| endpoint(index)).sum(),
            _ => 0,
        }
    }

    /// Events that are ready on a descriptor.
    fn readiness(&self, fd: i64) -> Mask {
        let Some(socket) = self.socket_of(fd) else { return ERR };
        match &socket.kind {
            Kind::Fresh => OUT | HUP,
            Kind::Listener(waiting) => {
                let opened = waiting.iter().any(|&index| self.host.endpoints[index].opened);
                if opened { IN } else { 0 }
            }
            Kind::Stream(index) => {
                let endpoint = &self.host.endpoints[*index];
                socket.readiness(endpoint, self.settings.notsent_lowat)
            }
        }
    }

    /// Records which sockets became writable, for edges.
    pub(super) fn note_writable(&mut self) {
        let lowat = self.settings.notsent_lowat;
        for file in self.files.values_mut() {
            let File::Socket(socket) = file else { continue };
            let Kind::Stream(index) = socket.kind else { continue };
            let Some(endpoint) = self.host.endpoints.get_mut(index) else { continue };
            let writable = socket.is_writable(endpoint, lowat);
            endpoint.edges += u64::from(writable && !socket.was_writable);
            socket.was_writable = writable;
        }
    }
}

impl Socket {
    fn readiness(&self, endpoint: &Endpoint, lowat: u32) -> Mask {
        let ended = endpoint.closed.is_some();
        let receive_shut = self.receive_shut || endpoint.peer_closed || ended;
        let send_shut = self.send_shut || ended;
        let mut mask = 0;
        if receive_shut && send_shut {
            mask |= HUP;
        }
        if receive_shut {
            mask |= IN | RDHUP;
        }
        if self.pending_error(endpoint).is_some() {
            mask |= ERR;
        }
        if !endpoint.opened && !ended {
            return mask;
        }
        if endpoint.connection.readable() > 0 {
            mask |= IN;
        }
        if send_shut || self.is_writable(endpoint, lowat) {
            mask |= OUT;
        }
        mask
    }

    /// Linux: a third of the buffer must be free, and half of the limit for unsent data.
    fn is_writable(&self, endpoint: &Endpoint, default_lowat: u32) -> bool {
        let queued = endpoint.connection.unacknowledged();
        let unsent = queued.saturating_sub(endpoint.connection.flight());
        let lowat = u64::from(self.notsent_lowat.unwrap_or(default_lowat));
        self.send_buffer.saturating_sub(queued) >= queued / 2 && u64::from(unsent) * 2 < lowat
    }
}
