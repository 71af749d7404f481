//! Peers that send arbitrary segments to a stack, without a network.

use host::{Checksums, Outgoing, Stack, Tuple};
use units::Instant;
use wire::{
    Checksum, Control, Ecn, Flags, Mss, Options, Segment, SeqNum, UnscaledWindow, WindowScale, ip,
    tcp,
};

use super::address;

/// A peer of host 1 under the control of the test.
#[derive(Debug, Clone, Copy)]
pub struct Peer {
    pub tuple: Tuple,
    /// The next sequence number to send (SND.NXT).
    pub next: SeqNum,
    /// The next sequence number expected (RCV.NXT).
    pub expected: SeqNum,
    /// The announced window, unscaled.
    pub window: u16,
}

impl Peer {
    /// Opens the peer with this number by a handshake with port 80. It offers window scaling by 2⁷
    /// and SACK.
    pub fn open(stack: &mut Stack, number: u16, now: Instant) -> Self {
        let local = address(2 + u8::try_from(number / 50_000).expect("few"));
        let tuple = Tuple {
            local,
            remote: address(1),
            local_port: 1024 + number % 50_000,
            remote_port: 80,
        };
        let mut peer =
            Self { tuple, next: SeqNum::new(5), expected: SeqNum::new(0), window: u16::MAX };
        let options = Options {
            mss: Mss::new(1460),
            sack_permitted: true,
            window_scale: Some(WindowScale::clamped(7)),
            ..Options::default()
        };
        let syn = Segment { control: Control::Syn, ack: None, options, ..peer.segment(0) };
        peer.send(stack, &syn, &[], now);
        let answer = replies(stack, now).pop().expect("an answer to the SYN");
        assert_eq!(answer.1.control, Control::Syn);
        peer.expected = answer.1.seq + 1;
        peer.next += 1;
        peer.send(stack, &peer.segment(0), &[], now);
        peer
    }

    /// A segment whose sequence number is `beyond` bytes above the next to send.
    pub fn segment(&self, beyond: u32) -> Segment {
        Segment {
            seq: self.next + beyond,
            ack: Some(self.expected),
            control: Control::None,
            flags: Flags::NONE,
            window: UnscaledWindow::new(self.window),
            payload_len: 0,
            options: Options::default(),
        }
    }

    /// Delivers a segment to the stack.
    pub fn send(&self, stack: &mut Stack, segment: &Segment, payload: &[u8], now: Instant) {
        let payload_len = u32::try_from(payload.len()).expect("a small payload");
        let ports =
            tcp::Ports { source: self.tuple.local_port, destination: self.tuple.remote_port };
        let repr = tcp::Repr::new(ports, Segment { payload_len, ..*segment }).expect("a segment");
        let ip = ip::Repr::new(self.tuple.local, self.tuple.remote, ip::TCP, repr.len())
            .expect("a packet");
        let mut packet = Vec::new();
        ip.write(&mut packet);
        repr.write(ip.pseudo_header(), Checksum::of(payload), &mut packet);
        packet.extend_from_slice(payload);
        stack.receive(&packet, Checksums::Verify, now);
    }

    /// Sends the next bytes in order.
    pub fn say(&mut self, stack: &mut Stack, bytes: &[u8], now: Instant) {
        self.send(stack, &self.segment(0), bytes, now);
        self.next += u32::try_from(bytes.len()).expect("few bytes");
    }
}

/// Drains the packets of a stack: the peer's port, segment and payload of each.
pub fn replies(stack: &mut Stack, now: Instant) -> Vec<(u16, Segment, Vec<u8>)> {
    let mut out = Outgoing::default();
    let mut all = Vec::new();
    while stack.poll_transmit(now, &mut out) {
        let view = ip::View::new(out.bytes()).expect("a packet");
        let tcp = tcp::View::new(view.payload()).expect("a segment");
        let repr = tcp.repr(Ecn::NotEct).expect("a segment");
        all.push((repr.ports().destination, *repr.segment(), tcp.payload().to_vec()));
    }
    all
}
