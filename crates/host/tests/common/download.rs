//! Downloads between two stacks in virtual time.

use std::collections::HashMap;

use host::{ConnectionId, EndReason, Event, EventKind, Stack};
use units::{Duration, Instant};

use super::{Fate, World, byte, config};

/// A server that sends `size` bytes on each connection and closes, and clients that read until the
/// end.
pub struct Download {
    size: usize,
    sent: HashMap<ConnectionId, usize>,
    pub got: HashMap<ConnectionId, usize>,
    pub endings: [HashMap<ConnectionId, EndReason>; 2],
}

impl Download {
    pub fn new(size: usize) -> Self {
        Self { size, sent: HashMap::new(), got: HashMap::new(), endings: Default::default() }
    }

    pub fn on_event(&mut self, stack: &mut Stack, host: usize, event: Event, now: Instant) {
        let id = event.id;
        match (host, event.kind) {
            (0, EventKind::Accepted(80) | EventKind::Writable) => self.send(stack, id, now),
            (_, EventKind::Readable) => {
                let mut buffer = [0; 4096];
                loop {
                    let count = stack.read(id, &mut buffer);
                    if count == 0 {
                        break;
                    }
                    let start = self.got.entry(id).or_default();
                    for (offset, &found) in buffer[..count].iter().enumerate() {
                        assert_eq!(found, byte(*start + offset), "byte {}", *start + offset);
                    }
                    *start += count;
                }
                if stack.is_at_end(id) {
                    stack.close(id, now);
                }
            }
            (_, EventKind::Closed(ending)) => {
                assert_eq!(self.endings[host].insert(id, ending), None, "closed twice");
            }
            _ => {}
        }
    }

    fn send(&mut self, stack: &mut Stack, id: ConnectionId, now: Instant) {
        let start = self.sent.entry(id).or_default();
        while *start < self.size {
            let chunk: Vec<u8> = (*start..self.size.min(*start + 5000)).map(byte).collect();
            let Ok(taken) = stack.write(id, &chunk, now) else { return };
            *start += taken;
            if taken < chunk.len() {
                return;
            }
        }
        stack.close(id, now);
    }
}

pub fn run(
    world: &mut World,
    download: &mut Download,
    seconds: u64,
    fate: impl FnMut(usize, &[u8]) -> Fate,
) {
    let end = world.now + Duration::from_secs(seconds);
    world.run(end, fate, |stack, host, event, now| download.on_event(stack, host, event, now));
}

pub fn world() -> World {
    let mut world = World::new(config(1), config(2));
    world.server().listen(80);
    world.server().keep_records();
    world
}
