//! Times of transfers.
//!
//! A transfer begins with the first packet of new data while nothing is in flight, and ends when
//! all data that the server has written is acknowledged. The time between both is measured in the
//! kernel: a program at the egress of the devices sees the beginning, and one at the sockets the
//! end (`BPF_SOCK_OPS_RTT_CB`).
//!
//! The kernel has this event once in a round trip, with the first acknowledgment that has news. If
//! a later one completes the transfer, there is no event. The end is then found when the next
//! transfer begins or the connection ends, at the time of the last delivery (`delivered_mstamp`).

use crate::assembler::Arithmetic::{Mul, ShiftLeft};
use crate::assembler::Condition::{Equal, GreaterSigned, NotEqual};
use crate::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use crate::assembler::{Assembler, Helper, Label, Register, Width};
use crate::measured::{ABORTED, COMPLETE, CONNECTION, RECORD_BYTES};
use crate::parts;

use super::{
    BEGAN, COOKIE, COUNTER, DSACKS, END, FIRST, GROUP, LOST, RETRANSMITTED, Trial, VALUE,
    load_socket,
};

/// Result of a program at egress: the next program decides (`TCX_NEXT`).
const NEXT: i32 = -1;

/// Position of the socket in `struct __sk_buff`.
const PACKET_SOCKET: i16 = 168;

/// Position of the new state in `struct bpf_sock_ops`.
const NEW_STATE: i16 = 8;

/// `TCP_CLOSE`.
const CLOSED: i32 = 7;

/// `BPF_SOCK_OPS_STATE_CB` and `BPF_SOCK_OPS_RTT_CB`.
const STATE_EVENT: i32 = 10;
const RTT_EVENT: i32 = 12;

/// Position of a record on the stack.
const RECORD: i16 = -104;

/// Time at which a transfer or a connection has ended.
#[derive(Debug, Clone, Copy)]
enum Time {
    Now,
    /// The time of the last acknowledgment that delivered data.
    Delivered,
}

impl Trial {
    /// The program at egress, which stores the beginning of a transfer. SND.NXT advances after the
    /// transmission: nothing is in flight if it equals SND.UNA.
    pub(super) fn beginning(&self) -> Vec<u8> {
        let mut program = Assembler::default();
        let (end, begins) = (program.label(), program.label());
        program.set(R6, R1);
        parts::load_tcp_socket(&mut program, PACKET_SOCKET, end);
        program.set(R7, R0);
        program.load(Width::Word, R2, R7, self.socket.unacknowledged);
        program.load(Width::Word, R8, R7, self.socket.next);
        program.jump_if(NotEqual, R2, R8, end);
        program.load(Width::Word, R2, R7, self.socket.end);
        program.jump_if(Equal, R2, R8, end);
        self.look_up(&mut program, COOKIE, end);
        program.set(R9, R0);
        // A copy of the first packet does not begin anew.
        program.load(Width::Double, R2, R9, BEGAN);
        program.jump_if(Equal, R2, 0, begins);
        program.load(Width::Word, R2, R9, FIRST);
        program.jump_if(Equal, R2, R8, end);
        // Data that was queued before, and waited for the window, belongs to the same transfer. The
        // difference of sequence numbers has 32 bits and a sign.
        program.load(Width::Word, R2, R9, END);
        program.load(Width::Word, R3, R7, self.socket.end);
        program.store(Width::Word, R9, END, R3);
        program.subtract(R2, R8);
        program.arithmetic(ShiftLeft, R2, 32);
        program.jump_if(GreaterSigned, R2, 0, end);
        program.set(R0, R9);
        copy_value(&mut program);
        program.set(R6, COMPLETE.cast_signed());
        self.write_record(&mut program, R6, Time::Delivered);
        program.bind(begins);
        program.call(Helper::Nanoseconds);
        program.store(Width::Double, R9, BEGAN, R0);
        program.store(Width::Word, R9, FIRST, R8);
        program.load(Width::Word, R2, R7, self.socket.end);
        program.store(Width::Word, R9, END, R2);
        program.load(Width::Word, R2, R7, self.socket.retransmitted);
        program.store(Width::Word, R9, RETRANSMITTED, R2);
        program.load(Width::Word, R2, R7, self.socket.dsacks);
        program.store(Width::Word, R9, DSACKS, R2);
        program.bind(end);
        program.exit_with(NEXT);
        program.finish()
    }

    /// Handles the events of measured sockets, of which the number is in `R2`. The context is in
    /// `R6`. Other events follow.
    pub(super) fn handle_ends(&self, program: &mut Assembler, end: Label) {
        let (is_state, is_rtt, others) = (program.label(), program.label(), program.label());
        let write = program.label();
        program.jump_if(Equal, R2, RTT_EVENT, is_rtt);
        program.jump_if(Equal, R2, STATE_EVENT, is_state);
        program.jump(others);

        program.bind(is_state);
        program.load(Width::Word, R2, R6, NEW_STATE);
        program.jump_if(NotEqual, R2, CLOSED, end);
        self.handle_close(program, write, end);

        program.bind(is_rtt);
        self.look_up(program, COOKIE, end);
        program.set(R9, R0);
        copy_value(program);
        load_socket(program, end);
        program.load(Width::Word, R2, R7, self.socket.unacknowledged);
        program.load(Width::Word, R3, R7, self.socket.end);
        program.jump_if(NotEqual, R2, R3, end);
        program.set(R2, 0);
        program.store(Width::Double, R9, BEGAN, R2);
        program.load(Width::Double, R2, R10, VALUE + BEGAN);
        program.jump_if(Equal, R2, 0, end);
        program.set(R8, COMPLETE.cast_signed());

        program.bind(write);
        self.write_record(program, R8, Time::Now);
        program.jump(end);
        program.bind(others);
    }

    /// Removes a connection that has ended. Writes a record if its last transfer is complete, and
    /// jumps to `write` for that of the connection.
    fn handle_close(&self, program: &mut Assembler, write: Label, end: Label) {
        let (idle, connection) = (program.label(), program.label());
        self.look_up(program, COOKIE, end);
        copy_value(program);
        program.load_map(R1, &self.connections);
        program.stack_pointer(R2, COOKIE);
        program.call(Helper::MapDelete);
        load_socket(program, end);
        program.load(Width::Double, R2, R10, VALUE + BEGAN);
        program.jump_if(Equal, R2, 0, idle);
        program.set(R8, ABORTED.cast_signed());
        program.load(Width::Word, R2, R7, self.socket.unacknowledged);
        program.load(Width::Word, R3, R7, self.socket.end);
        program.jump_if(NotEqual, R2, R3, connection);
        program.set(R8, COMPLETE.cast_signed());
        self.write_record(program, R8, Time::Delivered);
        program.bind(idle);
        program.set(R8, CONNECTION.cast_signed());
        program.bind(connection);
        // The record has the counts of the whole connection.
        program.set(R2, 0);
        program.store(Width::Double, R10, VALUE + RETRANSMITTED, R2);
        program.jump(write);
    }

    /// Writes a record for the value on the stack. `R7` is the socket, and `kind` has the end that
    /// the record is for.
    fn write_record(&self, program: &mut Assembler, kind: Register, time: Time) {
        let written = program.label();
        match time {
            Time::Now => program.call(Helper::Nanoseconds),
            Time::Delivered => {
                program.load(Width::Double, R0, R7, self.socket.delivered_us);
                program.arithmetic(Mul, R0, 1000);
            }
        }
        program.load(Width::Double, R2, R10, VALUE + BEGAN);
        program.subtract(R0, R2);
        program.store(Width::Double, R10, RECORD + 8, R0);
        program.load(Width::Double, R2, R10, COOKIE);
        program.store(Width::Double, R10, RECORD, R2);
        program.load(Width::Word, R2, R10, VALUE + GROUP);
        program.store(Width::Word, R10, RECORD + 16, R2);
        let differences = [
            (self.socket.unacknowledged, FIRST, 20),
            (self.socket.retransmitted, RETRANSMITTED, 24),
            (self.socket.dsacks, DSACKS, 28),
        ];
        for (member, before, to) in differences {
            program.load(Width::Word, R2, R7, member);
            program.load(Width::Word, R3, R10, VALUE + before);
            program.subtract(R2, R3);
            program.store(Width::Word, R10, RECORD + to, R2);
        }
        program.load(Width::Word, R2, R7, self.socket.least_rtt);
        program.store(Width::Word, R10, RECORD + 32, R2);
        program.store(Width::Word, R10, RECORD + 36, kind);
        self.copy_peer(program, RECORD + 40);
        program.load_map(R1, &self.records);
        program.stack_pointer(R2, RECORD);
        program.set(R3, i32::from(RECORD_BYTES));
        program.set(R4, 0);
        program.call(Helper::RingOutput);
        program.jump_if(Equal, R0, 0, written);
        parts::count(program, &self.counters, COUNTER, LOST, 1);
        program.bind(written);
    }
}

/// Copies the value that `R0` points to to the stack.
fn copy_value(program: &mut Assembler) {
    for at in [0, 8, 16] {
        program.load(Width::Double, R2, R0, at);
        program.store(Width::Double, R10, VALUE + at, R2);
    }
}
