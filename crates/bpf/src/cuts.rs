//! The remedies `tail`, `tiny-tail` and `fs`: a program that cuts what a server writes into
//! segments of their own.
//!
//! The kernel runs the program for each write to a socket of a map (`BPF_PROG_TYPE_SK_MSG`), also
//! for `sendfile`. A byte that is inserted at a position and removed again leaves the data as it
//! was, in two elements of a list. The kernel sends each element as a write of its own, and with
//! `TCP_NODELAY` a write that the window admits leaves at once.
//!
//! The data of a write is in several elements also where a block of memory ended. Without the
//! program that joins them, some 40 % of the writes of 14 kB have one segment more, which may
//! exceed the initial window.
//!
//! The number of pieces never exceeds the number of segments that the congestion window admits. The
//! kernel joins a write to data that waits in its queue, so a write behind such data is not cut.

use std::os::fd::AsFd;

use tun::Error;

use crate::assembler::Arithmetic::{Div, Mul};
use crate::assembler::Condition::{AtMost, AtMostSigned, Equal, Greater, Less, NotEqual};
use crate::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use crate::assembler::{Assembler, Helper, Label, Width};
use crate::btf;
use crate::kernel::{Map, Place, Program};
use crate::parts;

// Positions in `struct sk_msg_md`.
const SIZE: i16 = 68;
const SOCKET: i16 = 72;

/// Result of the program: the data is sent (`SK_PASS`), or the write fails (`SK_DROP`).
const PASS: i32 = 1;
const FAIL: i32 = 0;

/// Largest number of pieces of a write. The kernel's list has 17 elements, and data that has just
/// been written fills some of them.
pub const MOST_PIECES: u8 = 14;

/// Longest write whose elements are joined, in bytes: a block of memory of the kernel. Longer ones
/// would be copied each time.
const LONGEST_JOINED: i32 = 32_768;

/// Most sockets that have the remedy at a time.
const SOCKETS: u32 = 1 << 17;

/// Positions on the stack.
const KEY: i16 = -8;
const ROOM: i16 = -16;
const STEP: i16 = -24;

/// Numbers of the counters: writes that were cut, and cuts.
const WRITES: u32 = 0;
const CUTS: u32 = 1;

/// Positions at which a write is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The last segment of a write leaves in this number of pieces (2 to [`MOST_PIECES`]).
    Tail(u8),
    /// The last byte of a write leaves in a segment of its own.
    LastByte,
    /// The initial window leaves in this number of segments, as long as the congestion window has
    /// fewer segments than `below` (fixed-size Smart Framing).
    FixedSize {
        /// Number of segments of reduced size to an initial window.
        segments: u8,
        /// Initial window in full-sized segments.
        window: u8,
        /// First congestion window in segments with which writes are not cut.
        below: u8,
    },
}

/// Writes that were cut.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cuts {
    /// Writes.
    pub writes: u64,
    /// Cuts in them.
    pub cuts: u64,
}

/// A map of sockets whose writes are cut. Sockets leave it when they are closed.
#[derive(Debug)]
pub(crate) struct CutSockets {
    sockets: Option<Map>,
    counters: Map,
}

impl CutSockets {
    /// Creates the map, and attaches the program to it. With `most_data`, a write is not cut if
    /// more bytes than this are not acknowledged behind it.
    ///
    /// # Errors
    /// Returns an error without privileges.
    pub(crate) fn new(cut: Cut, most_data: Option<i32>) -> Result<Self, Error> {
        let counters = Map::array(8, 2)?;
        let sockets = Map::sockets(SOCKETS)?;
        let members = ["mss_cache", "snd_cwnd", "packets_out", "snd_nxt", "write_seq", "snd_una"];
        let positions = btf::positions("tcp_sock", members)?;
        let code = Writer::new(&counters, positions, most_data).write(cut);
        let program = Program::load(Place::Messages, c"tcpsf_cuts", &code)?;
        program.attach_to_sockets(&sockets)?;
        Ok(Self { sockets: Some(sockets), counters })
    }

    /// The map, until the remedy ends.
    pub(crate) fn sockets(&self) -> Option<impl AsFd> {
        self.sockets.as_ref().map(AsFd::as_fd)
    }

    /// Ends the remedy. The kernel frees the map, and its sockets are as before.
    pub(crate) fn detach(&mut self) {
        self.sockets = None;
    }

    /// Cuts so far.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub(crate) fn cuts(&self) -> Result<Cuts, Error> {
        let sum = |index| self.counters.sum(index);
        Ok(Cuts { writes: sum(WRITES)?, cuts: sum(CUTS)? })
    }
}

/// Writer of the program. `R6` is the context, `R7` the length of the write, `R8` the position of
/// the next cut, and `R9` the segment size.
struct Writer<'a> {
    program: Assembler,
    counters: &'a Map,
    /// Positions of members of `struct tcp_sock`.
    socket: [i16; 6],
    /// Largest amount of data in bytes that is not acknowledged behind the write.
    most_data: Option<i32>,
    /// Ends of the program: the data is sent, or the write fails.
    end: Label,
    fail: Label,
}

impl<'a> Writer<'a> {
    fn new(counters: &'a Map, socket: [i16; 6], most_data: Option<i32>) -> Self {
        let mut program = Assembler::default();
        let (end, fail) = (program.label(), program.label());
        Self { program, counters, socket, most_data, end, fail }
    }

    fn write(mut self, cut: Cut) -> Vec<u8> {
        self.read_socket(cut);
        match cut {
            Cut::Tail(pieces) => self.begin_tail(pieces),
            Cut::LastByte => self.begin_last_byte(),
            Cut::FixedSize { segments, window, .. } => self.begin_fixed_size(segments, window),
        }
        let most = match cut {
            // The cut before the tail is one more than those in it.
            Cut::Tail(pieces) => pieces,
            Cut::LastByte => 1,
            Cut::FixedSize { .. } => MOST_PIECES - 1,
        };
        for index in 0..most {
            self.program.jump_if(AtMost, R7, R8, self.end);
            if matches!(cut, Cut::FixedSize { .. }) {
                self.take_room();
            }
            if index == 0 {
                parts::count(&mut self.program, self.counters, KEY, WRITES, 1);
            }
            self.cut();
        }
        self.program.bind(self.end);
        self.program.exit_with(PASS);
        self.program.bind(self.fail);
        self.program.exit_with(FAIL);
        self.program.finish()
    }

    /// Joins the elements of the write. Reads the segment size, and the room of the congestion
    /// window in segments. Leaves a write behind queued data as it is, and any write if the window
    /// has room for one segment only.
    fn read_socket(&mut self, cut: Cut) {
        let [mss, window, packets, next, end_of_data, acknowledged] = self.socket;
        let (end, joined, program) = (self.end, self.program.label(), &mut self.program);
        program.set(R6, R1);
        program.load(Width::Word, R7, R6, SIZE);
        program.jump_if(Greater, R7, LONGEST_JOINED, joined);
        program.set(R2, 0);
        program.set(R3, R7);
        program.set(R4, 0);
        program.call(Helper::MessagePull);
        program.bind(joined);
        parts::load_tcp_socket(program, SOCKET, end);
        program.load(Width::Word, R2, R0, next);
        program.load(Width::Word, R3, R0, end_of_data);
        program.jump_if(NotEqual, R2, R3, end);
        if let Some(most) = self.most_data {
            program.load(Width::Word, R2, R0, acknowledged);
            program.subtract(R3, R2);
            program.add(R3, R7);
            parts::take_32_bits(program, R3);
            program.jump_if(Greater, R3, most, end);
        }
        program.load(Width::Word, R2, R0, window);
        if let Cut::FixedSize { below, .. } = cut {
            program.jump_if(Greater, R2, i32::from(below) - 1, end);
        }
        program.load(Width::Word, R3, R0, packets);
        program.subtract(R2, R3);
        program.jump_if(AtMostSigned, R2, 1, end);
        program.store(Width::Double, R10, ROOM, R2);
        program.load(Width::Word, R9, R0, mss);
        program.jump_if(Equal, R9, 0, end);
    }

    /// The tail has at most a full segment. The first cut is before it, or in it if the write is
    /// not longer.
    fn begin_tail(&mut self, pieces: u8) {
        let begun = self.program.label();
        let program = &mut self.program;
        // R8: bytes before the tail. R4: bytes of the tail.
        program.set(R8, 0);
        program.set(R4, R7);
        program.jump_if(AtMost, R7, R9, begun);
        program.set(R8, R7);
        program.subtract(R8, R9);
        program.set(R4, R9);
        program.bind(begun);
        self.number_of_pieces(pieces);
        let (positioned, program) = (self.program.label(), &mut self.program);
        program.add(R4, R2);
        program.subtract(R4, 1);
        program.arithmetic(Div, R4, R2);
        program.store(Width::Double, R10, STEP, R4);
        program.jump_if(NotEqual, R8, 0, positioned);
        program.set(R8, R4);
        program.bind(positioned);
    }

    /// The only cut is before the last byte.
    fn begin_last_byte(&mut self) {
        self.program.jump_if(Less, R7, 2, self.end);
        self.program.set(R8, R7);
        self.program.subtract(R8, 1);
        self.number_of_pieces(2);
        self.program.store(Width::Double, R10, STEP, R7);
    }

    /// Puts a number of pieces, at most `most`, into `R2`: the segments that the window admits
    /// after those before `R8`. Leaves the write as it is if they are fewer than two.
    fn number_of_pieces(&mut self, most: u8) {
        let (few, end, program) = (self.program.label(), self.end, &mut self.program);
        program.set(R3, R8);
        program.add(R3, R9);
        program.subtract(R3, 1);
        program.arithmetic(Div, R3, R9);
        program.load(Width::Double, R2, R10, ROOM);
        program.subtract(R2, R3);
        program.jump_if(AtMostSigned, R2, 1, end);
        program.jump_if(Less, R2, i32::from(most), few);
        program.set(R2, i32::from(most));
        program.bind(few);
    }

    /// The first cut is after a reduced segment.
    fn begin_fixed_size(&mut self, segments: u8, window: u8) {
        let (reduced, positive) = (self.program.label(), self.program.label());
        let program = &mut self.program;
        program.set(R8, R9);
        program.arithmetic(Mul, R8, i32::from(window));
        program.arithmetic(Div, R8, i32::from(segments));
        program.jump_if(Less, R8, R9, reduced);
        program.set(R8, R9);
        program.bind(reduced);
        program.jump_if(NotEqual, R8, 0, positive);
        program.set(R8, 1);
        program.bind(positive);
        program.store(Width::Double, R10, STEP, R8);
    }

    /// Counts a segment before a cut. The last segment that the window admits is not cut.
    fn take_room(&mut self) {
        let program = &mut self.program;
        program.load(Width::Double, R2, R10, ROOM);
        program.jump_if(AtMostSigned, R2, 1, self.end);
        program.subtract(R2, 1);
        program.store(Width::Double, R10, ROOM, R2);
    }

    /// Cuts at `R8`, and adds the step to it.
    fn cut(&mut self) {
        let (end, fail) = (self.end, self.fail);
        for (helper, otherwise) in [(Helper::MessagePush, end), (Helper::MessagePop, fail)] {
            let program = &mut self.program;
            program.set(R1, R6);
            program.set(R2, R8);
            program.set(R3, 1);
            program.set(R4, 0);
            program.call(helper);
            program.jump_if(NotEqual, R0, 0, otherwise);
        }
        parts::count(&mut self.program, self.counters, KEY, CUTS, 1);
        self.program.load(Width::Double, R2, R10, STEP);
        self.program.add(R8, R2);
    }
}
