//! Sends arbitrary packets, with any source address, through a TUN device.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use host::Tuple;
use tun::{Offload, Prefix, Tun};
use wire::icmp::answer::Report;
use wire::{
    Checksum, Control, Ecn, Mss, Options, SackBlocks, Segment, SeqNum, UnscaledWindow, icmp, ip,
    tcp,
};

use crate::Result;
use crate::request::splitmix;

/// A TUN device that injects arbitrary packets.
pub(crate) struct RawDevice {
    tun: Tun,
    buffer: Vec<u8>,
    out: Vec<u8>,
    random: u64,
    prefix: IpAddr,
    pub(crate) sent: u64,
    pub(crate) received: u64,
}

/// A received segment.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedSegment {
    /// Its tuple; `local` is one of the hostile addresses.
    pub(crate) tuple: Tuple,
    pub(crate) segment: Segment,
    pub(crate) payload: Vec<u8>,
}

impl RawDevice {
    /// Creates a device in the calling thread's namespace and routes `prefix`, which has 2²⁴
    /// addresses, to it.
    pub(crate) fn new(prefix: Prefix) -> Result<Self> {
        let tun = Tun::open("hostile%d", Offload::None)?;
        let interface = tun.interface()?;
        interface.set_no_link_local()?;
        interface.set_queue_len(4096)?;
        interface.set_up()?;
        interface.add_route(prefix)?;
        let buffer = vec![0; 65_536];
        Ok(Self {
            tun,
            buffer,
            out: Vec::new(),
            random: 1,
            prefix: prefix.address(),
            sent: 0,
            received: 0,
        })
    }

    /// A pseudorandom 32-bit number.
    pub(crate) fn draw(&mut self) -> u32 {
        self.random += 1;
        u32::try_from(splitmix(self.random) >> 32).unwrap_or(0)
    }

    /// A pseudorandom endpoint: one of 2²⁴ addresses and of 60 000 ports.
    pub(crate) fn random_endpoint(&mut self) -> SocketAddr {
        let host = self.draw() >> 8;
        let address = match self.prefix {
            IpAddr::V4(net) => Ipv4Addr::from_bits(net.to_bits() | host).into(),
            IpAddr::V6(net) => Ipv6Addr::from_bits(net.to_bits() | u128::from(host)).into(),
        };
        let port = 1024 + u16::try_from(self.draw() % 60_000).unwrap_or(0);
        SocketAddr::new(address, port)
    }

    /// Writes a segment from `tuple.local` to `tuple.remote` into `out`.
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
        self.dispatch()
    }

    /// Sends an ICMP error to the remote end of `tuple`, from a random router address. It quotes a
    /// segment of that end with sequence number `seq`.
    pub(crate) fn report(&mut self, tuple: &Tuple, seq: SeqNum, report: Report) -> Result<()> {
        let Tuple { local, remote, local_port, remote_port } = *tuple;
        let back = Tuple {
            local: remote,
            remote: local,
            local_port: remote_port,
            remote_port: local_port,
        };
        self.write(&back, &plain(seq, SeqNum::new(0), 65_535), &[])?;
        let about = std::mem::take(&mut self.out);
        let router = self.random_endpoint().ip();
        icmp::answer::report(report, &about, router, &mut self.out)?;
        self.dispatch()
    }

    /// Sends a segment as a fragment at `offset`, in units of eight bytes. `more` sets the
    /// more-fragments flag.
    pub(crate) fn send_fragment(
        &mut self,
        tuple: &Tuple,
        segment: &Segment,
        payload: &[u8],
        offset: u16,
        more: bool,
    ) -> Result<()> {
        self.write(tuple, segment, payload)?;
        let identification = self.draw();
        if tuple.remote.is_ipv4() {
            let [.., high, low] = identification.to_be_bytes();
            self.out[4..6].copy_from_slice(&[high, low]);
            // RFC 791 §3.1: the more-fragments flag and the offset.
            let field = u16::from(more) << 13 | offset;
            self.out[6..8].copy_from_slice(&field.to_be_bytes());
        } else {
            // RFC 8200 §4.5: the fragment header.
            let [high, low] = (offset << 3 | u16::from(more)).to_be_bytes();
            let [a, b, c, d] = identification.to_be_bytes();
            let header = [self.out[6], 0, high, low, a, b, c, d];
            self.out.splice(40..40, header);
            self.out[6] = 44;
        }
        self.fix_lengths()?;
        self.dispatch()
    }

    /// Corrects the IP length and header checksum; otherwise the forwarding kernel would drop the
    /// packet.
    fn fix_lengths(&mut self) -> Result<()> {
        let out = &mut self.out;
        if out[0] >> 4 == 4 {
            let len = u16::try_from(out.len())?;
            out[2..4].copy_from_slice(&len.to_be_bytes());
            out[10..12].fill(0);
            let field = Checksum::of(&out[..20]).field();
            out[10..12].copy_from_slice(&field.to_be_bytes());
        } else {
            let len = u16::try_from(out.len() - 40)?;
            out[4..6].copy_from_slice(&len.to_be_bytes());
        }
        Ok(())
    }

    fn dispatch(&mut self) -> Result<()> {
        self.sent += 1;
        // A packet that exceeds the queue is lost, like any other.
        self.tun.write(&self.out)?;
        Ok(())
    }

    /// Sends a segment with random changes after the IP header, or truncated.
    pub(crate) fn send_mangled(
        &mut self,
        tuple: &Tuple,
        segment: &Segment,
        payload: &[u8],
    ) -> Result<()> {
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
        // In three of four packets the TCP checksum is corrected.
        self.fix_lengths()?;
        if self.out.len() >= header + 18 && !self.draw().is_multiple_of(4) {
            self.out[header + 16..header + 18].fill(0);
            let pseudo = ip::View::new(&self.out)?.pseudo_header();
            let field = pseudo.with(&self.out[header..]).field();
            self.out[header + 16..header + 18].copy_from_slice(&field.to_be_bytes());
        }
        self.dispatch()
    }

    /// Receives the next segment, if there is one.
    pub(crate) fn receive(&mut self) -> Result<Option<ReceivedSegment>> {
        while let Some(len) = self.tun.read(&mut self.buffer)? {
            self.received += 1;
            let Ok(view) = ip::View::new(&self.buffer[..len]) else { continue };
            let Some(tcp) =
                tcp::View::new(view.payload()).ok().filter(|_| view.protocol() == ip::TCP)
            else {
                continue;
            };
            let Some(repr) = tcp.repr(Ecn::NotEct) else { continue };
            let tuple = Tuple {
                local: view.destination(),
                remote: view.source(),
                local_port: repr.ports().destination,
                remote_port: repr.ports().source,
            };
            return Ok(Some(ReceivedSegment {
                tuple,
                segment: *repr.segment(),
                payload: tcp.payload().to_vec(),
            }));
        }
        Ok(None)
    }
}

/// A SYN with common options, or with the MSS option only.
pub(crate) fn syn(seq: SeqNum, plain: bool) -> Segment {
    let options = Options { mss: Mss::new(1460), sack_permitted: !plain, ..Options::default() };
    Segment { control: Control::Syn, ..segment(seq, None, 65_535, options) }
}

/// A segment without options.
pub(crate) fn plain(seq: SeqNum, ack: SeqNum, window: u16) -> Segment {
    segment(seq, Some(ack), window, Options::default())
}

/// A segment with these SACK blocks.
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
