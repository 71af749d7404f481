//! Assembler for BPF (RFC 9669).
//!
//! The programs of this crate are short and are specialised when they are loaded: constants such as
//! ports are part of the code. An assembler of this size needs no compiler with a BPF backend,
//! which few machines have.

use std::os::fd::{AsFd, AsRawFd};

/// A register (RFC 9669 §4.1). `R10` is the frame pointer, which is read only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Register {
    /// Result of a function and of the program.
    R0,
    /// First argument of a function, and the context at the beginning.
    R1,
    /// Second argument.
    R2,
    /// Third argument.
    R3,
    /// Fourth argument.
    R4,
    /// Fifth argument.
    R5,
    /// Preserved by calls, as are the following ones.
    R6,
    /// Preserved by calls.
    R7,
    /// Preserved by calls.
    R8,
    /// Preserved by calls.
    R9,
    /// End of the stack of 512 bytes.
    R10,
}

/// Second operand of an instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Register(Register),
    /// A constant, with sign extension.
    Constant(i32),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

impl From<i32> for Operand {
    fn from(value: i32) -> Self {
        Self::Constant(value)
    }
}

/// Arithmetic on 64 bits (RFC 9669 §4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Arithmetic {
    /// Addition.
    Add = 0x00,
    /// Subtraction.
    Sub = 0x10,
    /// Multiplication.
    Mul = 0x20,
    /// Unsigned division; zero for a divisor of zero.
    Div = 0x30,
    /// Disjunction of bits.
    Or = 0x40,
    /// Conjunction of bits.
    And = 0x50,
    /// Shift to the left.
    ShiftLeft = 0x60,
    /// Shift to the right, with zeros.
    ShiftRight = 0x70,
    /// Copy of the second operand.
    Move = 0xb0,
}

/// Condition of a jump (RFC 9669 §4.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Condition {
    /// Equal.
    Equal = 0x10,
    /// Greater, unsigned.
    Greater = 0x20,
    /// Not equal.
    NotEqual = 0x50,
    /// Less, unsigned.
    Less = 0xa0,
    /// Less or equal, unsigned.
    AtMost = 0xb0,
    /// Greater, signed.
    GreaterSigned = 0x60,
    /// Less or equal, signed.
    AtMostSigned = 0xd0,
}

/// Width of an access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Width {
    /// Four bytes.
    Word = 0x00,
    /// Two bytes.
    Half = 0x08,
    /// One byte.
    Byte = 0x10,
    /// Eight bytes.
    Double = 0x18,
}

/// Functions of the kernel, by the numbers of `enum bpf_func_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Helper {
    /// `bpf_map_lookup_elem`.
    MapLookup = 1,
    /// `bpf_map_update_elem`.
    MapUpdate = 2,
    /// `bpf_map_delete_elem`.
    MapDelete = 3,
    /// `bpf_ktime_get_ns`.
    Nanoseconds = 5,
    /// `bpf_get_prandom_u32`.
    Random = 7,
    /// `bpf_skb_store_bytes`.
    SkbStore = 9,
    /// `bpf_l3_csum_replace`.
    NetworkChecksum = 10,
    /// `bpf_l4_csum_replace`.
    TransportChecksum = 11,
    /// `bpf_clone_redirect`.
    CloneRedirect = 13,
    /// `bpf_skb_load_bytes`.
    SkbLoad = 26,
    /// `bpf_skb_change_tail`.
    SkbChangeTail = 38,
    /// `bpf_get_socket_cookie`.
    SocketCookie = 46,
    /// `bpf_setsockopt`.
    SetSocketOption = 49,
    /// `bpf_sock_ops_cb_flags_set`.
    SetSocketEvents = 59,
    /// `bpf_msg_pull_data`.
    MessagePull = 63,
    /// `bpf_sock_hash_update`.
    SocketHashUpdate = 70,
    /// `bpf_skb_ancestor_cgroup_id`.
    SkbAncestorCgroup = 83,
    /// `bpf_msg_push_data`.
    MessagePush = 90,
    /// `bpf_msg_pop_data`.
    MessagePop = 91,
    /// `bpf_ringbuf_output`.
    RingOutput = 130,
    /// `bpf_skc_to_tcp_sock`.
    TcpSocket = 137,
}

/// A position in the code that jumps lead to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

const LOAD_CONSTANT: u8 = 0x18;
const LOAD: u8 = 0x61;
const STORE_CONSTANT: u8 = 0x62;
const STORE: u8 = 0x63;
const ARITHMETIC: u8 = 0x07;
const JUMP: u8 = 0x05;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const BYTE_SWAP: u8 = 0xdc;
/// Bit of an opcode whose second operand is a register.
const FROM_REGISTER: u8 = 0x08;
/// Source of `LOAD_CONSTANT` whose constant is the descriptor of a map.
const MAP_DESCRIPTOR: u8 = 1;

/// A program under construction.
#[derive(Debug, Default)]
pub struct Assembler {
    code: Vec<[u8; 8]>,
    /// Positions of the labels.
    labels: Vec<Option<usize>>,
    jumps: Vec<(usize, Label)>,
}

impl Assembler {
    /// A label without a position.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Gives a label the position of the next instruction.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0] = Some(self.code.len());
    }

    /// Arithmetic, whose result replaces `to`.
    pub fn arithmetic(&mut self, operation: Arithmetic, to: Register, operand: impl Into<Operand>) {
        self.emit(ARITHMETIC | operation as u8, to, 0, operand.into());
    }

    /// Copies a register or a constant.
    pub fn set(&mut self, to: Register, value: impl Into<Operand>) {
        self.arithmetic(Arithmetic::Move, to, value);
    }

    /// Adds a register or a constant.
    pub fn add(&mut self, to: Register, value: impl Into<Operand>) {
        self.arithmetic(Arithmetic::Add, to, value);
    }

    /// Subtracts a register or a constant.
    pub fn subtract(&mut self, to: Register, value: impl Into<Operand>) {
        self.arithmetic(Arithmetic::Sub, to, value);
    }

    /// Converts the lower `bits` bits, 16 or 32, between the host's order of bytes and the
    /// network's.
    pub fn network_order(&mut self, register: Register, bits: i32) {
        self.push(BYTE_SWAP, register as u8, 0, bits);
    }

    /// Loads from the address in `base` plus `offset`.
    pub fn load(&mut self, width: Width, to: Register, base: Register, offset: i16) {
        self.push(LOAD | width as u8, to as u8 | (base as u8) << 4, offset, 0);
    }

    /// Stores at the address in `base` plus `offset`.
    pub fn store(&mut self, width: Width, base: Register, offset: i16, value: impl Into<Operand>) {
        match value.into() {
            Operand::Register(from) => {
                self.push(STORE | width as u8, base as u8 | (from as u8) << 4, offset, 0);
            }
            Operand::Constant(value) => {
                self.push(STORE_CONSTANT | width as u8, base as u8, offset, value);
            }
        }
    }

    /// Puts a pointer to the stack, `offset` bytes from its end, into a register.
    pub fn stack_pointer(&mut self, to: Register, offset: i16) {
        self.set(to, Register::R10);
        self.add(to, i32::from(offset));
    }

    /// Puts a constant of 64 bits into a register.
    pub fn set_wide(&mut self, to: Register, value: u64) {
        let bytes = value.to_le_bytes();
        let half = |at: usize| {
            i32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        self.push(LOAD_CONSTANT, to as u8, 0, half(0));
        self.push(0, 0, 0, half(4));
    }

    /// Loads a pointer to a map.
    pub fn load_map(&mut self, to: Register, map: impl AsFd) {
        let descriptor = map.as_fd().as_raw_fd();
        self.push(LOAD_CONSTANT, to as u8 | MAP_DESCRIPTOR << 4, 0, descriptor);
        self.push(0, 0, 0, 0);
    }

    /// Jumps.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.code.len(), to));
        self.push(JUMP, 0, 0, 0);
    }

    /// Jumps if the condition holds for a register and an operand.
    pub fn jump_if(
        &mut self,
        condition: Condition,
        register: Register,
        operand: impl Into<Operand>,
        to: Label,
    ) {
        self.jumps.push((self.code.len(), to));
        self.emit(JUMP | condition as u8, register, 0, operand.into());
    }

    /// Calls a function of the kernel. It overwrites `R0` to `R5`.
    pub fn call(&mut self, helper: Helper) {
        self.push(CALL, 0, 0, i32::from(helper as u8));
    }

    /// Ends the program with a constant.
    pub fn exit_with(&mut self, value: i32) {
        self.set(Register::R0, value);
        self.push(EXIT, 0, 0, 0);
    }

    /// Number of instructions so far.
    pub fn len(&self) -> usize {
        self.code.len()
    }

    /// Whether there is no instruction so far.
    pub fn is_empty(&self) -> bool {
        self.code.is_empty()
    }

    /// Returns the code.
    ///
    /// # Panics
    /// A label without a position, or a jump too far, is an error of the program's author.
    pub fn finish(mut self) -> Vec<u8> {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("a label with a position");
            let distance = i64::try_from(target).expect("a short program")
                - i64::try_from(at).expect("a short program")
                - 1;
            let distance = i16::try_from(distance).expect("a jump within a short program");
            self.code[at][2..4].copy_from_slice(&distance.to_ne_bytes());
        }
        self.code.concat()
    }

    fn emit(&mut self, opcode: u8, to: Register, offset: i16, operand: Operand) {
        match operand {
            Operand::Register(from) => {
                self.push(opcode | FROM_REGISTER, to as u8 | (from as u8) << 4, offset, 0);
            }
            Operand::Constant(value) => self.push(opcode, to as u8, offset, value),
        }
    }

    /// RFC 9669 §3.1: opcode, registers, offset and constant.
    fn push(&mut self, opcode: u8, registers: u8, offset: i16, constant: i32) {
        let mut bytes = [opcode, registers, 0, 0, 0, 0, 0, 0];
        bytes[2..4].copy_from_slice(&offset.to_ne_bytes());
        bytes[4..].copy_from_slice(&constant.to_ne_bytes());
        self.code.push(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_have_the_layout_of_the_standard() {
        let mut program = Assembler::default();
        program.set(Register::R6, Register::R1);
        program.load(Width::Half, Register::R2, Register::R6, 16);
        program.store(Width::Byte, Register::R10, -4, 7);
        program.network_order(Register::R2, 16);
        program.call(Helper::SkbLoad);
        program.exit_with(-1);
        let expected: [[u8; 8]; 7] = [
            [0xbf, 0x16, 0, 0, 0, 0, 0, 0],
            [0x69, 0x62, 16, 0, 0, 0, 0, 0],
            [0x72, 0x0a, 0xfc, 0xff, 7, 0, 0, 0],
            [0xdc, 0x02, 0, 0, 16, 0, 0, 0],
            [0x85, 0, 0, 0, 26, 0, 0, 0],
            [0xb7, 0, 0, 0, 0xff, 0xff, 0xff, 0xff],
            [0x95, 0, 0, 0, 0, 0, 0, 0],
        ];
        assert_eq!(program.finish(), expected.concat());
    }

    #[test]
    fn a_jump_counts_from_the_next_instruction() {
        let mut program = Assembler::default();
        let (end, begin) = (program.label(), program.label());
        program.bind(begin);
        program.jump_if(Condition::Equal, Register::R1, 5, end);
        program.jump(begin);
        program.bind(end);
        program.exit_with(0);
        let code = program.finish();
        assert_eq!(code[..8], [0x15, 1, 1, 0, 5, 0, 0, 0]);
        assert_eq!(code[8..16], [0x05, 0, 0xfe, 0xff, 0, 0, 0, 0]);
    }
}
