//! Packets as somebody writes them who keeps no rule: a TUN device as the way in, and any source address.

use std::net::{IpAddr, SocketAddr};

use host::Tuple;
use tun::{Offload, Prefix, Tun};
use wire::{Checksum, Control, Ecn, Mss, Options, SackBlocks, Segment, SeqNum, UnscaledWindow, ip, tcp};

use crate::Result;
use crate::request::mixed;

/// A device from which packets come, with whatever stands in them.
pub(crate) struct Air {
    tun: Tun,
    buffer: Vec<u8>,
    out: Vec<u8>,
    random: u64,
    pub(crate) sent: u64,
}

/// A segment as it came.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    /// Whom it is for: `local` is one of the many names of this end.
    pub(crate) tuple: Tuple,
    pub(crate) segment: Segment,
    pub(crate) payload: Vec<u8>,
}

impl Air {
    /// A device in the calling thread's namespace; what is for `home` goes to it.
    pub(crate) fn new(home: Prefix) -> Result<Self> {
        let tun = Tun::open("hostile%d", Offload::None)?;
        let interface = tun.interface()?;
        interface.set_no_link_local()?;
        interface.set_queue_len(4096)?;
        interface.set_up()?;
        interface.add_route(home)?;
        Ok(Self { tun, buffer: vec![0; 65_536], out: Vec::new(), random: 1, sent: 0 })
    }

    /// A number out of 2³².
    pub(crate) fn draw(&mut self) -> u32 {
        self.random += 1;
        u32::try_from(mixed(self.random) >> 32).unwrap_or(0)
    }

    /// One of 2²⁴ addresses and 60 000 ports of nobody's.
    pub(crate) fn somebody(&mut self) -> SocketAddr {
        let [_, b, c, d] = self.draw().to_be_bytes();
        let port = 1024 + u16::try_from(self.draw() % 60_000).unwrap_or(0);
        SocketAddr::new(IpAddr::from([10, b, c, d]), port)
    }

    /// Puts a segment into `out`, from `tuple.local` to `tuple.remote`.
    fn write(&mut self, tuple: &Tuple, segment: &Segment, payload: &[u8]) -> Result<()> {
        let ports = tcp::Ports { source: tuple.local_port, destination: tuple.remote_port };
        let segment = Segment { payload_len: u32::try_from(payload.len())?, ..*segment };
        let repr = tcp::Repr::new(ports, segment)?;
        let ip = ip::Repr::new(tuple.local, tuple.remote, ip::TCP, repr.len())?;
        self.out.clear();
        ip.write(&mut self.out);
        repr.write(ip.pseudo_header(), Checksum::of(payload), &mut self.out);
        self.out.extend_from_slice(payload);
        Ok(())
    }

    /// Sends a segment.
    pub(crate) fn send(&mut self, tuple: &Tuple, segment: &Segment, payload: &[u8]) -> Result<()> {
        self.write(tuple, segment, payload)?;
        self.sent += 1;
        // A full queue loses it, as any other.
        self.tun.write(&self.out)?;
        Ok(())
    }

    /// Sends what was a segment before some of its bytes behind the IP header, or its end, were changed.
    pub(crate) fn send_mangled(&mut self, tuple: &Tuple, segment: &Segment, payload: &[u8]) -> Result<()> {
        self.write(tuple, segment, payload)?;
        let (header, changes) = (if tuple.remote.is_ipv4() { 20 } else { 40 }, self.draw() % 8);
        for _ in 0..changes {
            let (at, value) = (self.draw(), self.draw().to_be_bytes()[0]);
            let behind = self.out.len() - header;
            self.out[header + usize::try_from(at)? % behind] = value;
        }
        if self.draw().is_multiple_of(2) {
            let most = u32::try_from(self.out.len() - header)?;
            let kept = header + usize::try_from(self.draw() % most)?;
            self.out.truncate(kept);
        }
        // Lengths and IP's checksum are made right, or the kernel in between would drop it; TCP's as often as not.
        let len = u16::try_from(self.out.len())?;
        if tuple.remote.is_ipv4() {
            self.out[2..4].copy_from_slice(&len.to_be_bytes());
            self.out[10..12].fill(0);
            let field = Checksum::of(&self.out[..20]).field();
            self.out[10..12].copy_from_slice(&field.to_be_bytes());
        }
        if self.out.len() >= header + 18 && !self.draw().is_multiple_of(4) {
            self.out[header + 16..header + 18].fill(0);
            let pseudo = ip::View::new(&self.out)?.pseudo_header();
            let field = pseudo.with(&self.out[header..]).field();
            self.out[header + 16..header + 18].copy_from_slice(&field.to_be_bytes());
        }
        self.sent += 1;
        self.tun.write(&self.out)?;
        Ok(())
    }

    /// The next segment that came.
    pub(crate) fn hear(&mut self) -> Result<Option<Heard>> {
        while let Some(len) = self.tun.read(&mut self.buffer)? {
            let Ok(view) = ip::View::new(&self.buffer[..len]) else { continue };
            let Some(tcp) = tcp::View::new(view.payload()).ok().filter(|_| view.protocol() == ip::TCP) else {
                continue;
            };
            let Some(repr) = tcp.repr(Ecn::NotEct) else { continue };
            let tuple = Tuple {
                local: view.destination(),
                remote: view.source(),
                local_port: repr.ports().destination,
                remote_port: repr.ports().source,
            };
            return Ok(Some(Heard { tuple, segment: *repr.segment(), payload: tcp.payload().to_vec() }));
        }
        Ok(None)
    }
}

/// A SYN with the customary options, or without any.
pub(crate) fn syn(seq: SeqNum, plain: bool) -> Segment {
    let options = Options { mss: Mss::new(1460), sack_permitted: !plain, ..Options::default() };
    Segment { control: Control::Syn, ..segment(seq, None, 65_535, options) }
}

/// A segment that does nothing special.
pub(crate) fn plain(seq: SeqNum, ack: SeqNum, window: u16) -> Segment {
    segment(seq, Some(ack), window, Options::default())
}

/// The same with these SACK blocks.
pub(crate) fn sacking(seq: SeqNum, ack: SeqNum, window: u16, sack: SackBlocks) -> Segment {
    segment(seq, Some(ack), window, Options { reports: sack.into(), ..Options::default() })
}

pub(crate) fn reset(seq: SeqNum) -> Segment {
    Segment { control: Control::Rst, ..segment(seq, None, 0, Options::default()) }
}

fn segment(seq: SeqNum, ack: Option<SeqNum>, window: u16, options: Options) -> Segment {
    Segment {
        seq,
        ack,
        control: Control::None,
        flags: wire::Flags::NONE,
        window: UnscaledWindow::new(window),
        payload_len: 0,
        options,
    }
}
