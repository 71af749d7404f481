//! The remedy `dup-tail`: a program at the egress of a device that sends the last segment of a
//! write a second time.
//!
//! A packet is the end of a write if nothing is queued behind it: it ends at `write_seq` of the
//! socket. PSH does not tell, because Linux sets it on every packet of joined segments. A packet is
//! a first transmission if it begins at SND.NXT, which advances after the transmission.
//!
//! The packet leaves as a clone, and the packet itself becomes the copy: it is cut to its last
//! segment, if offload has joined several, and follows. The order matters. A copy before the packet
//! would look like reordering, and RACK would then wait longer.
//!
//! A copy with a delay is sent by a thread of this process ([`delayed`](crate::delayed)), and the
//! packet leaves as it is.
//!
//! The kernel does not know the copy. Its congestion window, timers and estimates are unchanged,
//! and it ignores the DSACK for it.

mod capture;

use tun::Error;
use units::Duration;

use crate::assembler::Arithmetic::{And, Div, Mul, ShiftLeft, ShiftRight};
use crate::assembler::Condition::{AtMostSigned, Equal, Greater, Less, NotEqual};
use crate::assembler::Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use crate::assembler::{Assembler, Helper, Label, Operand, Width};
use crate::btf;
use crate::delayed::{DelayedCopies, HEADERS, PREFIX};
use crate::kernel::{Link, Map, Place, Program};
use crate::parts;
use crate::selection::{Device, Selection};
use crate::trial::Arm;

/// Result of a program at egress: the next program decides (`TCX_NEXT`), or the packet is dropped
/// (`TCX_DROP`).
const NEXT: i32 = -1;
const DROP: i32 = 2;

// Positions in `struct __sk_buff`.
const LEN: i16 = 0;
const PROTOCOL: i16 = 16;
const DEVICE: i16 = 40;
const INDEX: i16 = 44;
const SEGMENTS: i16 = 164;
const SOCKET: i16 = 168;
const SEGMENT_BYTES: i16 = 176;
/// Position of the local port in `struct bpf_sock`.
const LOCAL_PORT: i16 = 44;

/// Value of `tc_index` of the clone, which passes the program again. It is reset there.
const CLONED: i32 = 0x7c5f;

/// Longest segment of which a copy is made, in bytes: that of a jumbo frame.
const LONGEST: i32 = 9216;

/// Positions on the stack, downwards from the frame pointer.
const SKIPPED: i16 = -8;
const KEY: i16 = -12;
const SCRATCH: i16 = -16;
const BUFFER: i16 = -24;
/// IP header, up to 40 bytes.
const NETWORK: i16 = -64;
/// TCP header without options, 20 bytes.
const TRANSPORT: i16 = -88;
/// Number of segments in the packet.
const COUNT: i16 = -68;

/// Protocol number of TCP.
const TCP: i32 = 6;
const FIN: i32 = 1;

/// Numbers of the counters: copies, and bytes of their payload.
const COPIES: u32 = 0;
const BYTES: u32 = 1;

/// The remedy, at the egress of devices.
#[derive(Debug)]
pub struct TailCopies {
    counters: Map,
    links: Vec<Link>,
    delayed: Option<DelayedCopies>,
}

/// Copies that were sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copies {
    /// Packets.
    pub packets: u64,
    /// Bytes of their payload.
    pub bytes: u64,
}

impl TailCopies {
    /// Attaches the remedy to devices. In a trial, it is for the connections of one arm. Copies
    /// leave after the delay, if there is one.
    ///
    /// # Errors
    /// Returns an error without privileges, and with a kernel that has no TCX.
    pub fn attach(
        devices: &[Device],
        selection: &Selection,
        arm: Option<Arm<'_>>,
        delay: Option<Duration>,
    ) -> Result<Self, Error> {
        let counters = Map::array(8, 2)?;
        let longest = LONGEST + i32::from(PREFIX + HEADERS);
        let buffer = Map::array(longest.unsigned_abs(), 1)?;
        let records = delay.map(|_| DelayedCopies::records()).transpose()?;
        let members = ["snd_nxt", "write_seq", "snd_una"];
        let [next, end, acknowledged] = btf::positions("tcp_sock", members)?;
        let peer = if selection.peers.is_empty() { 0 } else { btf::peer()? };
        let socket = [next, end, peer, acknowledged];
        let mut links = Vec::new();
        for device in devices {
            let maps = [&counters, &buffer];
            let writer = Writer::new(*device, selection, arm, maps, socket);
            let code = writer.write(records.as_ref());
            let program = Program::load(Place::Egress, c"tcpsf_dup_tail", &code)?;
            links.push(program.attach_to_device(device.index)?);
        }
        let delayed =
            delay.zip(records).map(|(delay, records)| DelayedCopies::start(records, delay));
        Ok(Self { counters, links, delayed: delayed.transpose()? })
    }

    /// Ends the remedy. Copies that wait are not sent. The counts remain.
    pub fn detach(&mut self) {
        self.links.clear();
        self.delayed = None;
    }

    /// Copies that were sent so far, over all devices.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn copies(&self) -> Result<Copies, Error> {
        let sum = |index| self.counters.sum(index);
        Ok(Copies { packets: sum(COPIES)?, bytes: sum(BYTES)? })
    }

    /// Number of devices.
    pub fn devices(&self) -> usize {
        self.links.len()
    }
}

/// Writer of the program of a device.
struct Writer<'a> {
    program: Assembler,
    /// Position of the IP header in a packet.
    network: i32,
    selection: &'a Selection,
    arm: Option<Arm<'a>>,
    counters: &'a Map,
    buffer: &'a Map,
    /// Positions of SND.NXT, of the end of the queued data, of the peer's address and of SND.UNA in
    /// `struct tcp_sock`.
    socket: [i16; 4],
    /// Ends of the program: the packet leaves, or is dropped.
    leave: Label,
    drop: Label,
}

/// The packet's type as the kernel has it: in the network's order of bytes.
fn ether_type(value: u16) -> i32 {
    i32::from(value.to_be())
}

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;

impl<'a> Writer<'a> {
    fn new(
        device: Device,
        selection: &'a Selection,
        arm: Option<Arm<'a>>,
        [counters, buffer]: [&'a Map; 2],
        socket: [i16; 4],
    ) -> Self {
        let mut program = Assembler::default();
        let (leave, drop) = (program.label(), program.label());
        let network = i32::from(device.header);
        Self { program, network, selection, arm, counters, buffer, socket, leave, drop }
    }

    /// Writes the program. With records, it only captures the segments that are to be copied.
    fn write(mut self, records: Option<&Map>) -> Vec<u8> {
        let cloned = self.program.label();
        self.program.set(R6, R1);
        self.program.load(Width::Word, R2, R6, INDEX);
        self.program.jump_if(Equal, R2, CLONED, cloned);
        self.select_port();
        self.select_cgroup();
        self.read_headers();
        self.select_tail();
        if let Some(records) = records {
            self.capture(records);
        } else {
            self.clone_packet();
            parts::count(&mut self.program, self.counters, KEY, COPIES, 1);
            self.cut();
        }
        self.program.bind(self.leave);
        self.program.exit_with(NEXT);
        self.program.bind(cloned);
        self.program.store(Width::Word, R6, INDEX, 0);
        self.program.exit_with(NEXT);
        if records.is_none() {
            // The verifier refuses code that nothing reaches.
            self.program.bind(self.drop);
            self.program.exit_with(DROP);
        }
        self.program.finish()
    }

    /// Leaves packets of sockets with other local ports alone. It precedes everything that calls a
    /// helper, because most packets of a device may be those of other programs.
    fn select_port(&mut self) {
        let ports = self.selection.ports.iter().map(|port| i32::from(*port));
        if ports.len() > 0 {
            let (leave, program) = (self.leave, &mut self.program);
            program.load(Width::Double, R2, R6, SOCKET);
            program.jump_if(Equal, R2, 0, leave);
            program.load(Width::Word, R2, R2, LOCAL_PORT);
            parts::require_one_of(program, R2, ports, leave);
        }
    }

    /// Leaves packets of other cgroups alone.
    fn select_cgroup(&mut self) {
        let Some(cgroup) = &self.selection.cgroup else { return };
        let (leave, program) = (self.leave, &mut self.program);
        program.set(R1, R6);
        program.set(R2, i32::from(cgroup.level));
        program.call(Helper::SkbAncestorCgroup);
        program.set_wide(R1, cgroup.id);
        program.jump_if(NotEqual, R0, R1, leave);
    }

    /// Copies the headers to the stack. Then `R7` is the position of the TCP header, `R8` that of
    /// the payload, and `R9` the length of the payload.
    fn read_headers(&mut self) {
        let (leave, network) = (self.leave, self.network);
        let (second, transport) = (self.program.label(), self.program.label());
        let program = &mut self.program;
        program.load(Width::Word, R2, R6, PROTOCOL);
        program.jump_if(NotEqual, R2, ether_type(IPV4), second);
        load_packet(program, network, NETWORK, 20, leave);
        program.load(Width::Byte, R2, R10, NETWORK + 9);
        program.jump_if(NotEqual, R2, TCP, leave);
        program.load(Width::Byte, R7, R10, NETWORK);
        program.arithmetic(And, R7, 0xf);
        program.arithmetic(ShiftLeft, R7, 2);
        program.add(R7, network);
        program.jump(transport);
        program.bind(second);
        program.jump_if(NotEqual, R2, ether_type(IPV6), leave);
        load_packet(program, network, NETWORK, 40, leave);
        // A packet with extension headers is left alone.
        program.load(Width::Byte, R2, R10, NETWORK + 6);
        program.jump_if(NotEqual, R2, TCP, leave);
        program.set(R7, network + 40);
        program.bind(transport);
        load_packet(program, R7, TRANSPORT, 20, leave);
        program.load(Width::Byte, R8, R10, TRANSPORT + 12);
        program.arithmetic(ShiftRight, R8, 4);
        program.arithmetic(ShiftLeft, R8, 2);
        program.add(R8, R7);
        program.load(Width::Word, R9, R6, LEN);
        program.subtract(R9, R8);
        program.jump_if(AtMostSigned, R9, 0, leave);
    }

    /// Leaves all packets alone but the first transmission of the end of a write to a selected
    /// peer.
    fn select_tail(&mut self) {
        let (leave, [snd_nxt, write_seq, peer, acknowledged]) = (self.leave, self.socket);
        let is_first = self.program.label();
        let program = &mut self.program;
        if let Some(arm) = self.arm {
            arm.require_remedied(program, BUFFER, leave);
        }
        parts::load_tcp_socket(program, SOCKET, leave);
        parts::require_peer(program, R0, peer, &self.selection.peers, leave);
        program.load(Width::Word, R3, R10, TRANSPORT + 4);
        program.network_order(R3, 32);
        program.load(Width::Word, R2, R0, snd_nxt);
        program.jump_if(Equal, R2, R3, is_first);
        program.jump(leave);
        program.bind(is_first);
        program.add(R3, R9);
        if let Some(most) = self.selection.most_data() {
            program.set(R4, R3);
            program.load(Width::Word, R2, R0, acknowledged);
            program.subtract(R4, R2);
            parts::take_32_bits(program, R4);
            program.jump_if(Greater, R4, most, leave);
        }
        program.load(Width::Byte, R2, R10, TRANSPORT + 13);
        program.arithmetic(And, R2, FIN);
        program.add(R3, R2);
        parts::take_32_bits(program, R3);
        program.load(Width::Word, R2, R0, write_seq);
        program.jump_if(NotEqual, R2, R3, leave);
    }

    /// Sends a clone of the packet. If that fails, the packet leaves and has no copy.
    fn clone_packet(&mut self) {
        let (leave, program) = (self.leave, &mut self.program);
        program.set(R2, CLONED);
        program.store(Width::Word, R6, INDEX, R2);
        program.set(R1, R6);
        program.load(Width::Word, R2, R6, DEVICE);
        program.set(R3, 0);
        program.call(Helper::CloneRedirect);
        program.set(R2, 0);
        program.store(Width::Word, R6, INDEX, R2);
        program.jump_if(NotEqual, R0, 0, leave);
    }

    /// Cuts the packet to its last segment, if it has several.
    fn cut(&mut self) {
        let (leave, drop, single) = (self.leave, self.drop, self.program.label());
        self.program.load(Width::Word, R2, R6, SEGMENTS);
        self.program.jump_if(Less, R2, 2, single);
        self.program.store(Width::Word, R10, COUNT, R2);
        let program = &mut self.program;
        program.load(Width::Word, R3, R6, SEGMENT_BYTES);
        program.jump_if(Equal, R3, 0, drop);
        // The bytes before the last segment: (payload - 1) / size * size.
        program.set(R4, R9);
        program.subtract(R4, 1);
        program.arithmetic(Div, R4, R3);
        program.arithmetic(Mul, R4, R3);
        program.store(Width::Double, R10, SKIPPED, R4);
        program.subtract(R9, R4);
        program.jump_if(Greater, R9, LONGEST, drop);
        program.jump_if(Equal, R9, 0, drop);
        self.move_payload();
        self.write_sequence_number();
        self.write_lengths();
        self.program.bind(single);
        parts::count(&mut self.program, self.counters, KEY, BYTES, R9);
        self.program.jump(leave);
    }

    /// Moves the last segment to the beginning of the payload, and cuts the packet behind it.
    fn move_payload(&mut self) {
        let (drop, program) = (self.drop, &mut self.program);
        program.store(Width::Word, R10, KEY, 0);
        program.load_map(R1, self.buffer);
        program.stack_pointer(R2, KEY);
        program.call(Helper::MapLookup);
        program.jump_if(Equal, R0, 0, drop);
        program.store(Width::Double, R10, BUFFER, R0);
        program.set(R1, R6);
        program.load(Width::Double, R2, R10, SKIPPED);
        program.add(R2, R8);
        program.set(R3, R0);
        program.set(R4, R9);
        program.call(Helper::SkbLoad);
        program.jump_if(NotEqual, R0, 0, drop);
        program.set(R1, R6);
        program.set(R2, R8);
        program.load(Width::Double, R3, R10, BUFFER);
        program.set(R4, R9);
        program.set(R5, 0);
        program.call(Helper::SkbStore);
        program.jump_if(NotEqual, R0, 0, drop);
        program.set(R1, R6);
        program.set(R2, R8);
        program.add(R2, R9);
        program.set(R3, 0);
        program.call(Helper::SkbChangeTail);
        program.jump_if(NotEqual, R0, 0, drop);
    }

    fn write_sequence_number(&mut self) {
        let (drop, program) = (self.drop, &mut self.program);
        program.load(Width::Word, R2, R10, TRANSPORT + 4);
        program.network_order(R2, 32);
        program.load(Width::Double, R3, R10, SKIPPED);
        program.add(R2, R3);
        program.network_order(R2, 32);
        program.store(Width::Word, R10, SCRATCH, R2);
        program.set(R2, R7);
        program.add(R2, 4);
        store_packet(program, R2, SCRATCH, 4, drop);
    }

    /// Writes the length of the IP header, and changes the checksums. That of TCP is a partial one
    /// of the pseudo-header: the device or the kernel completes it.
    fn write_lengths(&mut self) {
        let (drop, network) = (self.drop, self.network);
        let (second, done) = (self.program.label(), self.program.label());
        let program = &mut self.program;
        program.set(R2, R8);
        program.add(R2, R9);
        program.load(Width::Word, R3, R6, PROTOCOL);
        program.jump_if(NotEqual, R3, ether_type(IPV4), second);
        program.subtract(R2, network);
        program.network_order(R2, 16);
        replace_half(program, network, 2, drop);
        // Offload gives the segments of a packet successive identifications.
        program.load(Width::Half, R2, R10, NETWORK + 4);
        program.network_order(R2, 16);
        program.load(Width::Word, R3, R10, COUNT);
        program.add(R2, R3);
        program.subtract(R2, 1);
        program.network_order(R2, 16);
        replace_half(program, network, 4, drop);
        program.jump(done);
        program.bind(second);
        program.subtract(R2, network + 40);
        program.network_order(R2, 16);
        program.store(Width::Half, R10, SCRATCH, R2);
        store_packet(program, network + 4, SCRATCH, 2, drop);
        program.bind(done);
        // Lengths of the segment before and after, in the network's order of bytes.
        program.set(R4, R8);
        program.subtract(R4, R7);
        program.add(R4, R9);
        program.set(R3, R4);
        program.load(Width::Double, R2, R10, SKIPPED);
        program.add(R3, R2);
        program.network_order(R3, 16);
        program.network_order(R4, 16);
        program.set(R1, R6);
        program.set(R2, R7);
        program.add(R2, 16);
        program.set(R5, PSEUDO_HEADER | 2);
        program.call(Helper::TransportChecksum);
        program.jump_if(NotEqual, R0, 0, drop);
    }
}

/// Flag of `bpf_l4_csum_replace` for a change of the pseudo-header (`BPF_F_PSEUDO_HDR`).
const PSEUDO_HEADER: i32 = 0x10;

/// Copies bytes of the packet to the stack, or jumps.
fn load_packet(
    program: &mut Assembler,
    from: impl Into<Operand>,
    to: i16,
    bytes: i32,
    otherwise: Label,
) {
    program.set(R1, R6);
    program.set(R2, from);
    program.stack_pointer(R3, to);
    program.set(R4, bytes);
    program.call(Helper::SkbLoad);
    program.jump_if(NotEqual, R0, 0, otherwise);
}

/// Replaces two bytes of the IPv4 header by the value in `R2`, with the header's checksum, or
/// jumps.
fn replace_half(program: &mut Assembler, network: i32, at: i16, otherwise: Label) {
    program.store(Width::Half, R10, SCRATCH, R2);
    program.set(R1, R6);
    program.set(R2, network + 10);
    program.load(Width::Half, R3, R10, NETWORK + at);
    program.load(Width::Half, R4, R10, SCRATCH);
    program.set(R5, 2);
    program.call(Helper::NetworkChecksum);
    program.jump_if(NotEqual, R0, 0, otherwise);
    store_packet(program, network + i32::from(at), SCRATCH, 2, otherwise);
}

/// Copies bytes of the stack to the packet, or jumps.
fn store_packet(
    program: &mut Assembler,
    to: impl Into<Operand>,
    from: i16,
    bytes: i32,
    otherwise: Label,
) {
    program.set(R2, to);
    program.set(R1, R6);
    program.stack_pointer(R3, from);
    program.set(R4, bytes);
    program.set(R5, 0);
    program.call(Helper::SkbStore);
    program.jump_if(NotEqual, R0, 0, otherwise);
}
