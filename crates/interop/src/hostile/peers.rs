//! Hostile peers: they know what a good peer knows, and keep the rules that they like.

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

/// What they keep open at a time, where they keep anything open …
const MAX_PEERS: usize = 1000;
/// … and where they take what they ask for.
const FEW_PEERS: usize = 10;

/// Attacks at this rate, in packets a second, while it is time to.
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
                // What could not be sent in time is not made up for at once.
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

/// All that attack, and what they know.
pub(super) struct HostilePeers {
    attack: Attack,
    addresses: Addresses,
    pub(super) device: RawDevice,
    peers: HashMap<Tuple, Peer>,
    /// What those ask for who are to get it.
    wanted: Vec<u8>,
    /// Transfers that came right, of those that should …
    pub(super) right: u64,
    /// … and that did not.
    pub(super) wrong: u64,
}

/// One end of a connection that keeps only the rules it likes.
#[derive(Debug, Clone)]
struct Peer {
    /// The next number to send.
    next: SeqNum,
    /// The next number expected, if the server has answered.
    expected: Option<SeqNum>,
    /// The answer so far.
    answer: Vec<u8>,
    acts: u32,
}

const REQUEST: &[u8] = b"GET /big HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const REQUEST_SMALL: &[u8] = b"GET /small HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

impl HostilePeers {
    /// One thing done unasked.
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
            // Few: it is not their transfers that the good client is to notice.
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

    /// The good client's connection, from its end.
    fn good(&self, shared: &SharedState) -> Tuple {
        let Addresses { good, server, .. } = self.addresses;
        let local_port = shared.port.load(Ordering::Relaxed);
        Tuple { local: good, remote: server, local_port, remote_port: PORT }
    }

    /// Something that seems to come from the network, about a connection: a report that quotes
    /// `seq` of the server's, or part of a segment with `seq` of the peer's.
    fn forge(&mut self, tuple: &Tuple, seq: SeqNum, ack: SeqNum) -> Result<()> {
        let draw = self.device.draw();
        match self.attack {
            Attack::TooBig => {
                // A little less than what there is, what is allowed, and what is absurd.
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
                // The first part, one that would lie over the first's header, and ones behind it.
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

    /// A SYN from somebody new; whoever is `kept` goes on.
    fn open(&mut self, kept: bool) -> Result<()> {
        let from = self.device.random_endpoint();
        let tuple = Tuple {
            local: from.ip(),
            remote: self.addresses.server,
            local_port: from.port(),
            remote_port: PORT,
        };
        // Close to the end, so that the request lies across it.
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
                // SYNs that nobody answered.
                self.peers.retain(|_, peer| peer.expected.is_some());
            }
        }
        self.device.send(&tuple, &raw::syn(seq, wraps), &[])
    }

    /// Somebody of the peers does what nobody asked for.
    fn act_on_connection(&mut self) -> Result<()> {
        let skip = usize::try_from(self.device.draw())? % 16;
        let Some((&tuple, peer)) = self.peers.iter_mut().nth(skip) else { return Ok(()) };
        let Some(expected) = peer.expected else {
            self.peers.remove(&tuple);
            return Ok(());
        };
        peer.acts += 1;
        let (next, acts) = (peer.next, peer.acts);
        // HostilePeers have their turn.
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
                // What may be under way by now, and from time to time what cannot be.
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
                // Never the first of them.
                let at = next + 2 + 2 * (device.draw() % 30_000);
                device.send(&tuple, &raw::plain(at, expected, 65_535), b"x")
            }
            Attack::TooBig | Attack::Unreachable => self.forge(&tuple, expected, next),
            Attack::Fragments => self.forge(&tuple, next, expected),
            _ => Ok(()),
        }
    }

    /// Something came for somebody.
    fn answer(&mut self, heard: ReceivedSegment) -> Result<()> {
        let ReceivedSegment { tuple, segment, payload } = heard;
        let Some(mut peer) = self.peers.remove(&tuple) else { return Ok(()) };
        if segment.control == Control::Rst {
            self.wrong += u64::from(peer.expected.is_some() && self.must_succeed());
            return Ok(());
        }
        if segment.control == Control::Syn {
            let first = segment.seq + 1;
            // Only those are of interest whose answer lies across the end of the sequence space.
            let crosses = u32::MAX - first.value() < u32::try_from(BIG / 2)?;
            if self.attack == Attack::Wraps && !crosses {
                return self.device.send(&tuple, &raw::reset(peer.next), &[]);
            }
            peer.expected = Some(first);
            // Its answer is in flight: what is not open yet is the easiest to end.
            self.forge(&tuple, segment.seq, peer.next)?;
            self.request(&tuple, &mut peer)?;
            self.peers.insert(tuple, peer);
            return Ok(());
        }
        let Some(expected) = peer.expected else { return Ok(()) };
        if segment.seq != expected || payload.is_empty() && segment.control != Control::Fin {
            self.peers.insert(tuple, peer);
            // Good ones say what they wait for.
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
                // Enough of it.
                return self.device.send(&tuple, &raw::reset(peer.next), &[]);
            }
            if self.attack != Attack::ShrinkingWindows {
                self.device.send(&tuple, &raw::plain(peer.next, end, 65_535), &[])?;
            }
        }
        self.peers.insert(tuple, peer);
        Ok(())
    }

    /// Whether the transfers of the others should come right.
    fn must_succeed(&self) -> bool {
        let Self { attack, .. } = self;
        matches!(attack, Attack::Wraps | Attack::Overlaps | Attack::TooBig | Attack::Unreachable)
    }

    /// Completes the handshake and asks for the big file, in the manner of the attack.
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
                // The second part, then one that has the middle right and what is there already
                // wrong, then the first.
                let mut other = text[4..30].to_vec();
                other[8..].fill(b'!');
                self.device.send(tuple, &raw::plain(from + 12, ack, 65_535), &text[12..])?;
                self.device.send(tuple, &raw::plain(from + 4, ack, 65_535), &other)?;
                self.device.send(tuple, &raw::plain(from, ack, 65_535), &text[..4])?;
                // And once more what was taken long ago.
                self.device.send(tuple, &raw::plain(from, ack, 65_535), &[b'?'; 20])
            }
            _ => self.device.send(tuple, &raw::plain(from, ack, 65_535), text),
        }
    }
}
