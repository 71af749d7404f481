//! Hostile peers: they know what a good peer knows, and keep the rules that they like.

use std::collections::HashMap;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration as Span, Instant as Moment};

use host::Tuple;
use wire::icmp::{TimeExceeded, Unreachable, answer::Report};
use wire::{Control, SackBlocks, SeqNum, SeqRange};

use super::{ATTACK, Addresses, Attack, BIG, Board, OVER, PORT, SMALL, body, content};
use crate::Result;
use crate::raw::{self, Air, Heard};

/// What they keep open at a time, where they keep anything open …
const CROWD: usize = 1000;
/// … and where they take what they ask for.
const FEW: usize = 10;

/// Attacks at this rate, in packets a second, while it is time to.
pub(super) fn others(
    attack: Attack,
    addresses: Addresses,
    air: Air,
    rate: u32,
    board: &Board,
) -> Result<Others> {
    let wanted = content(if attack == Attack::Wraps { BIG } else { SMALL });
    let mut others =
        Others { attack, addresses, air, crowd: HashMap::new(), wanted, right: 0, wrong: 0 };
    let (mut begin, mut due) = (Moment::now(), 0.0);
    while !board.served.load(Ordering::Relaxed) {
        thread::sleep(Span::from_millis(1));
    }
    loop {
        match board.phase.load(Ordering::Relaxed) {
            OVER => return Ok(others),
            ATTACK => {
                let now = Moment::now();
                // What could not be sent in time is not made up for at once.
                due = (due + now.duration_since(begin).as_secs_f64() * f64::from(rate))
                    .min(f64::from(rate) / 50.0);
                begin = now;
                while due >= 1.0 {
                    let before = others.air.sent;
                    others.act(board)?;
                    #[expect(clippy::cast_precision_loss, reason = "few packets")]
                    let sent = (others.air.sent - before).max(1) as f64;
                    due -= sent;
                }
            }
            _ => (begin, due) = (Moment::now(), 0.0),
        }
        while let Some(heard) = others.air.hear()? {
            others.answer(heard)?;
        }
        thread::sleep(Span::from_micros(500));
    }
}

/// All that attack, and what they know.
pub(super) struct Others {
    attack: Attack,
    addresses: Addresses,
    pub(super) air: Air,
    crowd: HashMap<Tuple, Peer>,
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

impl Others {
    /// One thing done unasked.
    fn act(&mut self, board: &Board) -> Result<()> {
        match self.attack {
            Attack::SynFlood => self.open(false).map(drop),
            Attack::Resets | Attack::Injection => {
                let tuple = self.good(board);
                let (seq, ack) = (SeqNum::new(self.air.draw()), SeqNum::new(self.air.draw()));
                if self.attack == Attack::Resets {
                    self.air.send(&tuple, &raw::reset(seq), &[])
                } else {
                    self.air.send(&tuple, &raw::plain(seq, ack, 65_535), b"GET /big HTTP/1.1\r\n")
                }
            }
            Attack::Wraps => self.open(true),
            Attack::Overlaps if self.crowd.len() >= FEW => Ok(()),
            // Few: it is not their transfers that the good client is to notice.
            Attack::TooBig | Attack::Unreachable
                if self.crowd.len() < FEW && self.air.draw().is_multiple_of(64) =>
            {
                self.open(true)
            }
            Attack::TooBig | Attack::Unreachable | Attack::Fragments
                if self.air.draw().is_multiple_of(2) =>
            {
                let tuple = self.good(board);
                let (seq, ack) = (SeqNum::new(self.air.draw()), SeqNum::new(self.air.draw()));
                self.forge(&tuple, seq, ack)
            }
            Attack::TooBig | Attack::Unreachable => self.pester(),
            _ if self.crowd.len() < CROWD => self.open(true),
            _ => self.pester(),
        }
    }

    /// The good client's connection, from its end.
    fn good(&self, board: &Board) -> Tuple {
        let Addresses { good, server, .. } = self.addresses;
        let local_port = board.port.load(Ordering::Relaxed);
        Tuple { local: good, remote: server, local_port, remote_port: PORT }
    }

    /// Something that seems to come from the network, about a connection: a report that quotes
    /// `seq` of the server's, or part of a segment with `seq` of the peer's.
    fn forge(&mut self, tuple: &Tuple, seq: SeqNum, ack: SeqNum) -> Result<()> {
        let draw = self.air.draw();
        match self.attack {
            Attack::TooBig => {
                // A little less than what there is, what is allowed, and what is absurd.
                let mtu = [1499 - draw % 900, 1280, 576, 68, draw % 68, 0]
                    [usize::try_from(draw >> 16)? % 6];
                self.air.report(tuple, seq, Report::TooBig { mtu })
            }
            Attack::Unreachable => {
                let reports = [
                    Report::Unreachable(Unreachable::Port),
                    Report::Unreachable(Unreachable::Prohibited),
                    Report::Unreachable(Unreachable::Network),
                    Report::Unreachable(Unreachable::Host),
                    Report::TimeExceeded(TimeExceeded::Transit),
                ];
                self.air.report(tuple, seq, reports[usize::try_from(draw)? % reports.len()])
            }
            Attack::Fragments => {
                // The first part, one that would lie over the first's header, and ones behind it.
                let (offset, more) = [(0, true), (1, true), (1, false), (3, true), (180, false)]
                    [usize::try_from(draw)? % 5];
                self.air.send_part(tuple, &raw::plain(seq, ack, 65_535), REQUEST, offset, more)
            }
            _ => Ok(()),
        }
    }

    /// A SYN from somebody new; whoever is `kept` goes on.
    fn open(&mut self, kept: bool) -> Result<()> {
        let from = self.air.somebody();
        let tuple = Tuple {
            local: from.ip(),
            remote: self.addresses.server,
            local_port: from.port(),
            remote_port: PORT,
        };
        // Close to the end, so that the request lies across it.
        let wraps = self.attack == Attack::Wraps;
        let seq = if self.is_judged() {
            SeqNum::new(u32::MAX - 20)
        } else {
            SeqNum::new(self.air.draw())
        };
        if kept {
            let peer = Peer { next: seq + 1, expected: None, answer: Vec::new(), acts: 0 };
            self.crowd.insert(tuple, peer);
            if self.crowd.len() > 4 * CROWD {
                // SYNs that nobody answered.
                self.crowd.retain(|_, peer| peer.expected.is_some());
            }
        }
        self.air.send(&tuple, &raw::syn(seq, wraps), &[])
    }

    /// Somebody of the crowd does what nobody asked for.
    fn pester(&mut self) -> Result<()> {
        let skip = usize::try_from(self.air.draw())? % 16;
        let Some((&tuple, peer)) = self.crowd.iter_mut().nth(skip) else { return Ok(()) };
        let Some(expected) = peer.expected else {
            self.crowd.remove(&tuple);
            return Ok(());
        };
        peer.acts += 1;
        let (next, acts) = (peer.next, peer.acts);
        // Others have their turn.
        if acts > 200 && !self.is_judged() {
            self.crowd.remove(&tuple);
            return self.air.send(&tuple, &raw::reset(next), &[]);
        }
        let air = &mut self.air;
        match self.attack {
            Attack::Garbage => {
                let near = next + air.draw() % 4;
                let segment = raw::plain(near, expected + air.draw() % 4, 65_535);
                air.send_mangled(&tuple, &segment, &REQUEST[..20])
            }
            Attack::SackLies => {
                let mut blocks = SackBlocks::EMPTY;
                for _ in 0..3 {
                    let from = expected + (air.draw() % 200_000).wrapping_sub(100_000);
                    let block = SeqRange::new(from, from + 1 + air.draw() % 50_000);
                    blocks = block.map_or(blocks, |block| {
                        let mut more = blocks;
                        more.push(block);
                        more
                    });
                }
                air.send(&tuple, &raw::sacking(next, expected, 65_535, blocks), &[])
            }
            Attack::OptimisticAcks => {
                // What may be under way by now, and from time to time what cannot be.
                let ahead = if acts.is_multiple_of(5) { 1 << 30 } else { 1460 };
                if let Some(peer) = self.crowd.get_mut(&tuple) {
                    peer.expected = Some(if ahead == 1460 { expected + ahead } else { expected });
                }
                self.air.send(&tuple, &raw::plain(next, expected + ahead, 65_535), &[])
            }
            Attack::ZeroWindows => air.send(&tuple, &raw::plain(next, expected, 0), &[]),
            Attack::ShrinkingWindows => {
                let window = [65_535, 3000, 100, 0, 20_000][usize::try_from(acts)? % 5];
                air.send(&tuple, &raw::plain(next, expected, window), &[])
            }
            Attack::Scattered => {
                // Never the first of them.
                let at = next + 2 + 2 * (air.draw() % 30_000);
                air.send(&tuple, &raw::plain(at, expected, 65_535), b"x")
            }
            Attack::TooBig | Attack::Unreachable => self.forge(&tuple, expected, next),
            Attack::Fragments => self.forge(&tuple, next, expected),
            _ => Ok(()),
        }
    }

    /// Something came for somebody.
    fn answer(&mut self, heard: Heard) -> Result<()> {
        let Heard { tuple, segment, payload } = heard;
        let Some(mut peer) = self.crowd.remove(&tuple) else { return Ok(()) };
        if segment.control == Control::Rst {
            self.wrong += u64::from(peer.expected.is_some() && self.is_judged());
            return Ok(());
        }
        if segment.control == Control::Syn {
            let first = segment.seq + 1;
            // Only those are of interest whose answer lies across the end of the sequence space.
            let crosses = u32::MAX - first.value() < u32::try_from(BIG / 2)?;
            if self.attack == Attack::Wraps && !crosses {
                return self.air.send(&tuple, &raw::reset(peer.next), &[]);
            }
            peer.expected = Some(first);
            // Its answer is in flight: what is not open yet is the easiest to end.
            self.forge(&tuple, segment.seq, peer.next)?;
            self.request(&tuple, &mut peer)?;
            self.crowd.insert(tuple, peer);
            return Ok(());
        }
        let Some(expected) = peer.expected else { return Ok(()) };
        if segment.seq != expected || payload.is_empty() && segment.control != Control::Fin {
            self.crowd.insert(tuple, peer);
            // Good ones say what they wait for.
            return if self.is_judged() && !payload.is_empty() {
                self.air.send(&tuple, &raw::plain(self.crowd[&tuple].next, expected, 65_535), &[])
            } else {
                Ok(())
            };
        }
        if self.is_judged() || self.attack == Attack::ShrinkingWindows {
            let end = expected + segment.seq_len();
            peer.expected = Some(end);
            peer.answer.extend_from_slice(&payload);
            if segment.control == Control::Fin {
                let right = body(&peer.answer) == Some(&self.wanted);
                self.right += u64::from(right);
                self.wrong += u64::from(!right);
                // Enough of it.
                return self.air.send(&tuple, &raw::reset(peer.next), &[]);
            }
            if self.attack != Attack::ShrinkingWindows {
                self.air.send(&tuple, &raw::plain(peer.next, end, 65_535), &[])?;
            }
        }
        self.crowd.insert(tuple, peer);
        Ok(())
    }

    /// Whether the transfers of the others should come right.
    fn is_judged(&self) -> bool {
        let Self { attack, .. } = self;
        matches!(attack, Attack::Wraps | Attack::Overlaps | Attack::TooBig | Attack::Unreachable)
    }

    /// Completes the handshake and asks for the big file, in the manner of the attack.
    fn request(&mut self, tuple: &Tuple, peer: &mut Peer) -> Result<()> {
        let (from, ack) = (peer.next, peer.expected.unwrap_or(peer.next));
        let small = self.is_judged() && self.attack != Attack::Wraps;
        let text = if small { REQUEST_SMALL } else { REQUEST };
        peer.next = from + u32::try_from(text.len())?;
        match self.attack {
            Attack::Scattered => {
                peer.next = from;
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &[])
            }
            Attack::ZeroWindows => self.air.send(tuple, &raw::plain(from, ack, 0), text),
            Attack::Overlaps => {
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &[])?;
                // The second part, then one that has the middle right and what is there already
                // wrong, then the first.
                let mut other = text[4..30].to_vec();
                other[8..].fill(b'!');
                self.air.send(tuple, &raw::plain(from + 12, ack, 65_535), &text[12..])?;
                self.air.send(tuple, &raw::plain(from + 4, ack, 65_535), &other)?;
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &text[..4])?;
                // And once more what was taken long ago.
                self.air.send(tuple, &raw::plain(from, ack, 65_535), &[b'?'; 20])
            }
            _ => self.air.send(tuple, &raw::plain(from, ack, 65_535), text),
        }
    }
}
