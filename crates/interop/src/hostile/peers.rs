//! Hostile peers with the knowledge of a genuine peer. Each attack breaks certain rules of TCP.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration as Span, Instant as Moment};

use host::Tuple;
use wire::icmp::{TimeExceeded, Unreachable, answer::Report};
use wire::{Control, SackBlocks, SeqNum, SeqRange};

use super::{ATTACK, Addresses, Attack, BIG, OVER, PORT, SMALL, SharedState, body, content};
use crate::Result;
use crate::raw::{self, RawDevice, ReceivedSegment};

/// Maximum number of peers with open connections …
const MAX_PEERS: usize = 1000;
/// … and for attacks whose peers read their response.
const FEW_PEERS: usize = 10;

/// Runs an attack at `rate` packets per second in the attacked phases.
pub(super) fn attack_with(
    attack: Attack,
    addresses: Addresses,
    device: RawDevice,
    rate: u32,
    shared: &SharedState,
) -> Result<HostilePeers> {
    let wanted = content(if attack == Attack::Wraps { BIG } else { SMALL });
    let mut others = HostilePeers {
        attack,
        addresses,
        device,
        peers: HashMap::new(),
        wanted,
        right: 0,
        wrong: 0,
    };
    let (mut begin, mut due) = (Moment::now(), 0.0);
    while !shared.served.load(Ordering::Relaxed) {
        thread::sleep(Span::from_millis(1));
    }
    loop {
        match shared.phase.load(Ordering::Relaxed) {
            OVER => return Ok(others),
            ATTACK => {
                let now = Moment::now();
                // A backlog of packets is limited, so that it is not sent in one burst.
                due = (due + now.duration_since(begin).as_secs_f64() * f64::from(rate))
                    .min(f64::from(rate) / 50.0);
                begin = now;
                while due >= 1.0 {
                    let before = others.device.sent;
                    others.act(shared)?;
                    #[expect(clippy::cast_precision_loss, reason = "few packets")]
                    let sent = (others.device.sent - before).max(1) as f64;
                    due -= sent;
                }
            }
            _ => (begin, due) = (Moment::now(), 0.0),
        }
        while let Some(heard) = others.device.receive()? {
            others.answer(heard)?;
        }
        thread::sleep(Span::from_micros(500));
    }
}

/// All hostile peers of an attack.
pub(super) struct HostilePeers {
    attack: Attack,
    addresses: Addresses,
    pub(super) device: RawDevice,
    peers: HashMap<Tuple, Peer>,
    /// The expected response of transfers that must be correct.
    wanted: Vec<u8>,
    /// Correct transfers, of those that must be correct.
    pub(super) right: u64,
    /// Incorrect transfers, of those that must be correct.
    pub(super) wrong: u64,
}

/// A hostile peer of one connection.
#[derive(Debug, Clone)]
struct Peer {
    /// The next sequence number to send (SND.NXT).
    next: SeqNum,
    /// The next sequence number expected (RCV.NXT); `None` before the server's SYN-ACK.
    expected: Option<SeqNum>,
    /// The response received so far.
    answer: Vec<u8>,
    acts: u32,
}

const REQUEST: &[u8] = b"GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const REQUEST_SMALL: &[u8] = b"GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

impl HostilePeers {
    /// Sends the next unsolicited packets.
    fn act(&mut self, shared: &SharedState) -> Result<()> {
        match self.attack {
            Attack::SynFlood => self.open(false).map(drop),
            Attack::Resets | Attack::Injection => {
                let tuple = self.good(shared);
                let (seq, ack) = (SeqNum::new(self.device.draw()), SeqNum::new(self.device.draw()));
                if self.attack == Attack::Resets {
                    self.device.send(&tuple, &raw::reset(seq), &[])
                } else {
                    self.device.send(
                        &tuple,
                        &raw::plain(seq, ack, 65_535),
                        b"GET /big HTTP/1.1\r\n",
                    )
                }
            }
            Attack::Wraps => self.open(true),
            Attack::Overlaps if self.peers.len() >= FEW_PEERS => Ok(()),
            // Few connections, so that their transfers do not slow the genuine client.
            Attack::TooBig | Attack::Unreachable
                if self.peers.len() < FEW_PEERS && self.device.draw().is_multiple_of(64) =>
            {
                self.open(true)
            }
            Attack::TooBig | Attack::Unreachable | Attack::Fragments
                if self.device.draw().is_multiple_of(2) =>
            {
                let tuple = self.good(shared);
                let (seq, ack) = (SeqNum::new(self.device.draw()), SeqNum::new(self.device.draw()));
                self.forge(&tuple, seq, ack)
            }
            Attack::TooBig | Attack::Unreachable => self.act_on_connection(),
            _ if self.peers.len() < MAX_PEERS => self.open(true),
            _ => self.act_on_connection(),
        }
    }

    /// The genuine client's tuple, from its end.
    fn good(&self, shared: &SharedState) -> Tuple {
        let Addresses { good, server, .. } = self.addresses;
        let local_port = shared.port.load(Ordering::Relaxed);
        Tuple { local: good, remote: server, local_port, remote_port: PORT }
    }

    /// Forges a packet of the network for a connection: an ICMP report that quotes `seq` of the
    /// server, or a fragment with `seq` of the peer.
    fn forge(&mut self, tuple: &Tuple, seq: SeqNum, ack: SeqNum) -> Result<()> {
        let draw = self.device.draw();
        match self.attack {
            Attack::TooBig => {
                // Slightly reduced, valid and absurd values.
                let mtu = [1499 - draw % 900, 1280, 576, 68, draw % 68, 0]
                    [usize::try_from(draw >> 16)? % 6];
                self.device.report(tuple, seq, Report::TooBig { mtu })
            }
            Attack::Unreachable => {
                let reports = [
                    Report::Unreachable(Unreachable::Port),
                    Report::Unreachable(Unreachable::Prohibited),
                    Report::Unreachable(Unreachable::Network),
                    Report::Unreachable(Unreachable::Host),
                    Report::TimeExceeded(TimeExceeded::Transit),
                ];
                self.device.report(tuple, seq, reports[usize::try_from(draw)? % reports.len()])
            }
            Attack::Fragments => {
                // A first fragment, ones that overlap its header, and later ones.
                let (offset, more) = [(0, true), (1, true), (1, false), (3, true), (180, false)]
                    [usize::try_from(draw)? % 5];
                self.device.send_fragment(
                    tuple,
                    &raw::plain(seq, ack, 65_535),
                    REQUEST,
                    offset,
                    more,
                )
            }
            _ => Ok(()),
        }
    }

    /// Sends a SYN from a random endpoint. With `kept`, the peer continues after the handshake.
    fn open(&mut self, kept: bool) -> Result<()> {
        let from = self.device.random_endpoint();
        let tuple = Tuple {
            local: from.ip(),
            remote: self.addresses.server,
            local_port: from.port(),
            remote_port: PORT,
        };
        // Close to the wrap, so that the request crosses it.
        let wraps = self.attack == Attack::Wraps;
        let seq = if self.must_succeed() {
            SeqNum::new(u32::MAX - 20)
        } else {
            SeqNum::new(self.device.draw())
        };
        if kept {
            let peer = Peer { next: seq + 1, expected: None, answer: Vec::new(), acts: 0 };
            self.peers.insert(tuple, peer);
            if self.peers.len() > 4 * MAX_PEERS {
                // SYNs without an answer.
                self.peers.retain(|_, peer| peer.expected.is_some());
            }
        }
        self.device.send(&tuple, &raw::syn(seq, wraps), &[])
    }

    /// Lets a connected peer send an unsolicited packet.
    fn act_on_connection(&mut self) -> Result<()> {
        let skip = usize::try_from(self.device.draw())? % 16;
        let Some((&tuple, peer)) = self.peers.iter_mut().nth(skip) else { return Ok(()) };
        let Some(expected) = peer.expected else {
            self.peers.remove(&tuple);
            return Ok(());
        };
        peer.acts += 1;
        let (next, acts) = (peer.next, peer.acts);
        // The connection is replaced by a new one.
        if acts > 200 && !self.must_succeed() {
            self.peers.remove(&tuple);
            return self.device.send(&tuple, &raw::reset(next), &[]);
        }
        let device = &mut self.device;
        match self.attack {
            Attack::Garbage => {
                let near = next + device.draw() % 4;
                let segment = raw::plain(near, expected + device.draw() % 4, 65_535);
                device.send_mangled(&tuple, &segment, &REQUEST[..20])
            }
            Attack::SackLies => {
                let mut blocks = SackBlocks::EMPTY;
                for _ in 0..3 {
                    let from = expected + (device.draw() % 200_000).wrapping_sub(100_000);
                    let block = SeqRange::new(from, from + 1 + device.draw() % 50_000);
                    blocks = block.map_or(blocks, |block| {
                        let mut more = blocks;
                        more.push(block);
                        more
                    });
                }
                device.send(&tuple, &raw::sacking(next, expected, 65_535, blocks), &[])
            }
            Attack::OptimisticAcks => {
                // Data that may be in flight, and occasionally data that cannot be.
                let ahead = if acts.is_multiple_of(5) { 1 << 30 } else { 1460 };
                if let Some(peer) = self.peers.get_mut(&tuple) {
                    peer.expected = Some(if ahead == 1460 { expected + ahead } else { expected });
                }
                self.device.send(&tuple, &raw::plain(next, expected + ahead, 65_535), &[])
            }
            Attack::ZeroWindows => device.send(&tuple, &raw::plain(next, expected, 0), &[]),
            Attack::ShrinkingWindows => {
                let window = [65_535, 3000, 100, 0, 20_000][usize::try_from(acts)? % 5];
                device.send(&tuple, &raw::plain(next, expected, window), &[])
            }
            Attack::Scattered => {
                // Never the first missing byte.
                let at = next + 2 + 2 * (device.draw() % 30_000);
                device.send(&tuple, &raw::plain(at, expected, 65_535), b"x")
            }
            Attack::TooBig | Attack::Unreachable => self.forge(&tuple, expected, next),
            Attack::Fragments => self.forge(&tuple, next, expected),
            _ => Ok(()),
        }
    }

    /// Handles a segment for a peer.
    fn answer(&mut self, heard: ReceivedSegment) -> Result<()> {
        let ReceivedSegment { tuple, segment, payload } = heard;
        let Some(mut peer) = self.peers.remove(&tuple) else { return Ok(()) };
        if segment.control == Control::Rst {
            self.wrong += u64::from(peer.expected.is_some() && self.must_succeed());
            return Ok(());
        }
        if segment.control == Control::Syn {
            let first = segment.seq + 1;
            // Only responses that cross the wrap of the sequence space are of interest.
            let crosses = u32::MAX - first.value() < u32::try_from(BIG / 2)?;
            if self.attack == Attack::Wraps && !crosses {
                return self.device.send(&tuple, &raw::reset(peer.next), &[]);
            }
            peer.expected = Some(first);
            // The server's SYN-ACK is in flight: a connection is most vulnerable before it is open.
            self.forge(&tuple, segment.seq, peer.next)?;
            self.request(&tuple, &mut peer)?;
            self.peers.insert(tuple, peer);
            return Ok(());
        }
        let Some(expected) = peer.expected else { return Ok(()) };
        if segment.seq != expected || payload.is_empty() && segment.control != Control::Fin {
            self.peers.insert(tuple, peer);
            // Peers whose transfer must be correct acknowledge out-of-order data.
            return if self.must_succeed() && !payload.is_empty() {
                self.device.send(
                    &tuple,
                    &raw::plain(self.peers[&tuple].next, expected, 65_535),
                    &[],
                )
            } else {
                Ok(())
            };
        }
        if self.must_succeed() || self.attack == Attack::ShrinkingWindows {
            let end = expected + segment.seq_len();
            peer.expected = Some(end);
            peer.answer.extend_from_slice(&payload);
            if segment.control == Control::Fin {
                let right = body(&peer.answer) == Some(&self.wanted);
                self.right += u64::from(right);
                self.wrong += u64::from(!right);
                // The transfer is complete.
                return self.device.send(&tuple, &raw::reset(peer.next), &[]);
            }
            if self.attack != Attack::ShrinkingWindows {
                self.device.send(&tuple, &raw::plain(peer.next, end, 65_535), &[])?;
            }
        }
        self.peers.insert(tuple, peer);
        Ok(())
    }

    /// Whether the transfers to hostile peers must be correct.
    fn must_succeed(&self) -> bool {
        let Self { attack, .. } = self;
        matches!(attack, Attack::Wraps | Attack::Overlaps | Attack::TooBig | Attack::Unreachable)
    }

    /// Completes the handshake and requests a file in the manner of the attack.
    fn request(&mut self, tuple: &Tuple, peer: &mut Peer) -> Result<()> {
        let (from, ack) = (peer.next, peer.expected.unwrap_or(peer.next));
        let small = self.must_succeed() && self.attack != Attack::Wraps;
        let text = if small { REQUEST_SMALL } else { REQUEST };
        peer.next = from + u32::try_from(text.len())?;
        match self.attack {
            Attack::Scattered => {
                peer.next = from;
                self.device.send(tuple, &raw::plain(from, ack, 65_535), &[])
            }
            Attack::ZeroWindows => self.device.send(tuple, &raw::plain(from, ack, 0), text),
            Attack::Overlaps => {
                self.device.send(tuple, &raw::plain(from, ack, 65_535), &[])?;
                // First the second part, then a segment with a correct middle that overlaps it with
                // wrong bytes, then the first part.
                let mut other = text[4..30].to_vec();
                other[8..].fill(b'!');
                self.device.send(tuple, &raw::plain(from + 12, ack, 65_535), &text[12..])?;
                self.device.send(tuple, &raw::plain(from + 4, ack, 65_535), &other)?;
                self.device.send(tuple, &raw::plain(from, ack, 65_535), &text[..4])?;
                // Finally, different bytes for data that was accepted long ago.
                self.device.send(tuple, &raw::plain(from, ack, 65_535), &[b'?'; 20])
            }
            _ => self.device.send(tuple, &raw::plain(from, ack, 65_535), text),
        }
    }
}
