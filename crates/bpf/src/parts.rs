//! Parts that several programs have.

use std::os::fd::AsFd;

use crate::assembler::Arithmetic::{And, ShiftLeft, ShiftRight};
use crate::assembler::Condition::{Equal, NotEqual};
use crate::assembler::Register::{R0, R1, R2, R3, R6, R10};
use crate::assembler::{Assembler, Helper, Label, Operand, Register, Width};
use crate::selection::{Prefix, Selection};

/// Positions in `struct bpf_sock_ops`. The peer's address has 16 bytes, also if it is an IPv4
/// address.
pub(crate) const EVENT: i16 = 0;
const PEER: i16 = 32;
const LOCAL_PORT: i16 = 68;

/// `BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB`.
const PASSIVE_ESTABLISHED: i32 = 5;

/// Adds to a counter of this processor. `slot` is a position of four bytes on the stack. It
/// overwrites `R0` to `R5`.
pub(crate) fn count(
    program: &mut Assembler,
    counters: &impl AsFd,
    slot: i16,
    counter: u32,
    by: impl Into<Operand>,
) {
    let none = program.label();
    program.store(Width::Word, R10, slot, counter.cast_signed());
    program.load_map(R1, counters);
    program.stack_pointer(R2, slot);
    program.call(Helper::MapLookup);
    program.jump_if(Equal, R0, 0, none);
    program.load(Width::Double, R1, R0, 0);
    program.add(R1, by);
    program.store(Width::Double, R0, 0, R1);
    program.bind(none);
}

/// Clears the upper half of a register: the difference of sequence numbers has 32 bits.
pub(crate) fn take_32_bits(program: &mut Assembler, register: Register) {
    program.arithmetic(ShiftLeft, register, 32);
    program.arithmetic(ShiftRight, register, 32);
}

/// Jumps unless a register has one of the values, if there are any.
pub(crate) fn require_one_of(
    program: &mut Assembler,
    register: Register,
    values: impl ExactSizeIterator<Item = i32>,
    otherwise: Label,
) {
    if values.len() == 0 {
        return;
    }
    let selected = program.label();
    for value in values {
        program.jump_if(Equal, register, value, selected);
    }
    program.jump(otherwise);
    program.bind(selected);
}

/// Jumps unless an address has one of the prefixes, if there are any. The address is at the
/// position `at` behind `base`, in the network's order of bytes. It overwrites `R2` and `R3`.
pub(crate) fn require_peer(
    program: &mut Assembler,
    base: Register,
    at: i16,
    prefixes: &[Prefix],
    otherwise: Label,
) {
    if prefixes.is_empty() {
        return;
    }
    let selected = program.label();
    for prefix in prefixes {
        let next = program.label();
        for (position, (value, mask)) in (at..).step_by(4).zip(prefix.words()) {
            program.load(Width::Word, R2, base, position);
            if mask != u32::MAX {
                // The constant has a sign, and the upper half of the register is zero.
                program.arithmetic(And, R2, mask.cast_signed());
            }
            // A comparison with a constant would extend its sign.
            program.set_wide(R3, u64::from(value));
            program.jump_if(NotEqual, R2, R3, next);
        }
        program.jump(selected);
        program.bind(next);
    }
    program.jump(otherwise);
    program.bind(selected);
}

/// Jumps unless the event of a socket, whose number is in `R2`, is that a selected connection was
/// accepted. The context is in `R6`. It overwrites `R2` and `R3`.
pub(crate) fn require_accepted(program: &mut Assembler, selection: &Selection, otherwise: Label) {
    program.jump_if(NotEqual, R2, PASSIVE_ESTABLISHED, otherwise);
    program.load(Width::Word, R2, R6, LOCAL_PORT);
    let ports = selection.ports.iter().map(|port| i32::from(*port));
    require_one_of(program, R2, ports, otherwise);
    require_peer(program, R6, PEER, &selection.peers, otherwise);
}

/// Puts a pointer to `struct tcp_sock` into `R0`, or jumps. The context in `R6` has the socket at
/// the position `socket`. It overwrites `R1` to `R5`.
pub(crate) fn load_tcp_socket(program: &mut Assembler, socket: i16, otherwise: Label) {
    program.load(Width::Double, R1, R6, socket);
    program.jump_if(Equal, R1, 0, otherwise);
    program.call(Helper::TcpSocket);
    program.jump_if(Equal, R0, 0, otherwise);
}

/// Stores the cookie of the socket at `slot`, a position of eight bytes on the stack. The
/// context is in `R6`. It overwrites `R0` to `R5`.
pub(crate) fn store_cookie(program: &mut Assembler, slot: i16) {
    program.set(R1, R6);
    program.call(Helper::SocketCookie);
    program.store(Width::Double, R10, slot, R0);
}
