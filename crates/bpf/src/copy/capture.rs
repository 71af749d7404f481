//! The part of the program that passes the last segment of a packet to user space, for a copy with
//! a delay.

use crate::assembler::Arithmetic::{Div, Mul};
use crate::assembler::Condition::{Equal, Greater, Less, NotEqual};
use crate::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use crate::assembler::{Helper, Width};
use crate::delayed::{HEADERS, PREFIX};
use crate::kernel::Map;
use crate::parts;

use super::{BUFFER, BYTES, COPIES, COUNT, DEVICE, KEY, LONGEST, SEGMENT_BYTES, SEGMENTS, SKIPPED};

impl super::Writer<'_> {
    /// Writes a record with the headers of the packet and the payload of its last segment. The
    /// packet leaves unchanged.
    pub(super) fn capture(&mut self, ring: &Map) {
        let (leave, single, network) = (self.leave, self.program.label(), self.network);
        let program = &mut self.program;
        // R4: the bytes before the last segment, (payload - 1) / size * size.
        program.set(R4, 0);
        program.load(Width::Word, R2, R6, SEGMENTS);
        program.store(Width::Word, R10, COUNT, R2);
        program.jump_if(Less, R2, 2, single);
        program.load(Width::Word, R3, R6, SEGMENT_BYTES);
        program.jump_if(Equal, R3, 0, leave);
        program.set(R4, R9);
        program.subtract(R4, 1);
        program.arithmetic(Div, R4, R3);
        program.arithmetic(Mul, R4, R3);
        program.bind(single);
        program.store(Width::Double, R10, SKIPPED, R4);
        program.subtract(R9, R4);
        for (register, most) in [(R9, LONGEST), (R8, i32::from(HEADERS))] {
            program.jump_if(Greater, register, most, leave);
            program.jump_if(Equal, register, 0, leave);
        }
        program.store(Width::Word, R10, KEY, 0);
        program.load_map(R1, self.buffer);
        program.stack_pointer(R2, KEY);
        program.call(Helper::MapLookup);
        program.jump_if(Equal, R0, 0, leave);
        program.store(Width::Double, R10, BUFFER, R0);
        program.load(Width::Word, R1, R6, DEVICE);
        program.load(Width::Double, R2, R10, SKIPPED);
        program.load(Width::Word, R3, R10, COUNT);
        program.set(R4, network);
        for (at, value) in (0..).step_by(4).zip([R1, R4, R7, R8, R9, R2, R3]) {
            program.store(Width::Word, R0, at, value);
        }
        self.copy_to_record();
        let program = &mut self.program;
        program.load_map(R1, ring);
        program.load(Width::Double, R2, R10, BUFFER);
        program.set(R3, R9);
        program.add(R3, i32::from(PREFIX + HEADERS));
        program.set(R4, 0);
        program.call(Helper::RingOutput);
        program.jump_if(NotEqual, R0, 0, leave);
        parts::count(program, self.counters, KEY, COPIES, 1);
        parts::count(program, self.counters, KEY, BYTES, R9);
    }

    /// Copies the headers and the payload to the record.
    fn copy_to_record(&mut self) {
        let (leave, program) = (self.leave, &mut self.program);
        for (is_payload, at, bytes) in [(false, PREFIX, R8), (true, PREFIX + HEADERS, R9)] {
            program.set(R2, 0);
            if is_payload {
                program.load(Width::Double, R2, R10, SKIPPED);
                program.add(R2, R8);
            }
            program.set(R1, R6);
            program.load(Width::Double, R3, R10, BUFFER);
            program.add(R3, i32::from(at));
            program.set(R4, bytes);
            program.call(Helper::SkbLoad);
            program.jump_if(NotEqual, R0, 0, leave);
        }
    }
}
