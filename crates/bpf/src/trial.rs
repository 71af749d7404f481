//! Trials of remedies: connections are assigned at random, and the transfers of all are measured.
//!
//! The assignment is by the peer's address: the longest prefix of it in a map has the remedy (an
//! [`Arm`]), the share of the connections that get it, and the number of the trial. So the clients
//! of each network can have a trial and a remedy of their own. At first there is one prefix of all
//! addresses.
//!
//! [`transfers`] measures the times. Its event at the end of a transfer needs a sample of the
//! round-trip time. Without timestamps (RFC 7323) there is none for retransmitted data, and exactly
//! the slow transfers would be missing. Connections without timestamps are therefore left out.
//!
//! With a share of zero, connections belong to a third group: those before the trial. A comparison
//! with them shows whether the remedy also changes the path for connections without it.

mod transfers;

use std::os::fd::AsFd;

use tun::Error;

use crate::assembler::Arithmetic::{And, Or, ShiftRight};
use crate::assembler::Condition::{AtMost, Equal, NotEqual};
use crate::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use crate::assembler::{Assembler, Helper, Label, Width};
use crate::btf::{self, Flag};
use crate::kernel::{Link, Map, Place, Program};
use crate::measured::{BEFORE, Measured, REMEDIED, WITHOUT};
use crate::parts;
use crate::selection::{Device, Prefix, Selection};
use crate::sys::Ring;

/// Most connections that are measured at a time.
const CONNECTIONS: u32 = 1 << 17;

/// Most prefixes with an assignment of their own.
const PREFIXES: u32 = 4096;

/// Trials that end separately: the others have the numbers of earlier ones.
const TRIALS: u32 = 1 << 16;

/// Most arms: their numbers have six bits.
const ARMS: u8 = 64;

/// Bytes of the ring of transfers.
const RING: u32 = 1 << 20;

// Positions in `struct bpf_sock_ops`.
const EVENTS: i16 = 84;
const SOCKET: i16 = 184;

/// Flags that enable `BPF_SOCK_OPS_STATE_CB` and `BPF_SOCK_OPS_RTT_CB`.
const EVENT_FLAGS: i32 = 1 << 2 | 1 << 3;

// Value of a connection: its group with the arm and the trial (see `measured`), and numbers of the
// transfer that is under way. These are the first sequence number, the beginning in nanoseconds (0:
// none), the retransmissions and DSACKs before it, and the end of the data that is known so far.
const VALUE_BYTES: u32 = 32;
const GROUP: i16 = 0;
const FIRST: i16 = 4;
const BEGAN: i16 = 8;
const RETRANSMITTED: i16 = 16;
const DSACKS: i16 = 20;
const END: i16 = 24;

/// Positions on the stack.
const COUNTER: i16 = -8;
const COOKIE: i16 = -16;
const VALUE: i16 = -48;
const KEY: i16 = -128;

/// Numbers of further counters: connections that are left out, and transfers that found the ring
/// full.
const LEFT_OUT: u32 = 3;
const LOST: u32 = 4;
const COUNTERS: u32 = 5;

/// Connections of a trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Assigned {
    /// Connections without the remedy.
    pub without: u64,
    /// Connections with the remedy.
    pub remedied: u64,
    /// Connections before the trial.
    pub before: u64,
    /// Connections without timestamps, and those beyond the limit. They have no remedy.
    pub left_out: u64,
    /// Transfers that were not read in time.
    pub lost: u64,
}

/// Assignment of the connections with a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assignment {
    /// Share of the connections, in 256ths, that get the remedy. With a share of zero, connections
    /// belong to the group before the trial.
    pub share: u32,
    /// Number of the remedy, up to 63.
    pub arm: u8,
    /// Number of the trial in the records, of 24 bits.
    pub trial: u32,
}

/// A remedy of a trial.
#[derive(Debug, Clone, Copy)]
pub struct Arm<'a> {
    /// The trial, whose program sees an accepted connection before that of the remedy.
    pub trial: &'a Trial,
    /// Number of the remedy, up to 63.
    pub number: u8,
}

/// Trials. They are needed when the remedies are attached, and end with this value.
#[derive(Debug)]
pub struct Trial {
    connections: Map,
    records: Map,
    counters: Map,
    assignments: Map,
    /// By the number of a trial: whether its connections have no remedy any more.
    ended: Map,
    ring: Ring,
    links: Vec<Link>,
    socket: Socket,
}

/// Positions of members of `struct tcp_sock`.
#[derive(Debug, Clone, Copy)]
struct Socket {
    unacknowledged: i16,
    next: i16,
    end: i16,
    retransmitted: i16,
    dsacks: i16,
    timestamps: Flag,
    peer: i16,
    delivered_us: i16,
    least_rtt: i16,
}

impl Trial {
    /// Measures the connections that are accepted by the sockets of a cgroup, the descriptor of its
    /// folder, and the beginnings of their transfers at devices. The cgroup of the selection does
    /// not count. No connection gets a remedy until [`assign`](Self::assign).
    ///
    /// # Errors
    /// Returns an error without privileges, and with a kernel that has no TCX.
    pub fn new(
        devices: &[Device],
        cgroup: &impl AsFd,
        selection: &Selection,
    ) -> Result<Self, Error> {
        let members = ["snd_una", "snd_nxt", "write_seq", "total_retrans", "dsack_dups"];
        let [unacknowledged, next, end, retransmitted, dsacks] =
            btf::positions("tcp_sock", members)?;
        let [delivered_us, rtt_filter] =
            btf::positions("tcp_sock", ["delivered_mstamp", "rtt_min"])?;
        // `struct minmax` begins with the minimum: its time, and its value.
        let least_rtt = rtt_filter + 4;
        let timestamps = btf::flag("tcp_sock", "rx_opt", "tcp_options_received", "tstamp_ok")?;
        let peer = btf::peer()?;
        let socket = Socket {
            unacknowledged,
            next,
            end,
            retransmitted,
            dsacks,
            timestamps,
            peer,
            delivered_us,
            least_rtt,
        };
        let records = Map::ring(RING)?;
        let ring = Ring::new(records.as_fd(), RING as usize)
            .map_err(|error| Error::new("map the ring of a BPF program", error))?;
        let mut trial = Self {
            connections: Map::by_cookie(VALUE_BYTES, CONNECTIONS)?,
            counters: Map::array(8, COUNTERS)?,
            assignments: Map::prefixes(PREFIXES)?,
            ended: Map::shared_array(4, TRIALS)?,
            records,
            ring,
            links: Vec::new(),
            socket,
        };
        trial.assign(Prefix::ALL, Assignment { share: 0, arm: 0, trial: 0 })?;
        let code = trial.beginning();
        for device in devices {
            let program = Program::load(Place::Egress, c"tcpsf_begin", &code)?;
            trial.links.push(program.attach_to_device(device.index)?);
        }
        let program = Program::load(Place::SocketEvents, c"tcpsf_trial", &trial.events(selection))?;
        trial.links.push(program.attach_to_cgroup(cgroup)?);
        Ok(trial)
    }

    /// Assigns the connections that are accepted from now on and whose peer has this prefix, and no
    /// longer one with another assignment.
    ///
    /// # Errors
    /// Returns the error of the system, also if there are too many prefixes.
    pub fn assign(&self, prefix: Prefix, assignment: Assignment) -> Result<(), Error> {
        let Assignment { share, arm, trial } = assignment;
        self.assignments.set_prefix(prefix, [share, trial << 8 | u32::from(arm % ARMS) << 2])
    }

    /// Ends the remedies that look up the connection for each packet (`dup-tail`), also for the
    /// connections of the trial that have them. Trials whose numbers differ by a multiple of 65536
    /// end together.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn end(&self, trial: u32) -> Result<(), Error> {
        self.ended.set(trial % TRIALS, 1)
    }

    /// Passes each record since the last call to `take`.
    pub fn drain(&mut self, mut take: impl FnMut(Measured)) {
        self.ring.drain(|record| {
            if let Some(measured) = Measured::read(record) {
                take(measured);
            }
        });
    }

    /// Connections so far.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn assigned(&self) -> Result<Assigned, Error> {
        let sum = |index| self.counters.sum(index);
        Ok(Assigned {
            without: sum(WITHOUT)?,
            remedied: sum(REMEDIED)?,
            before: sum(BEFORE)?,
            left_out: sum(LEFT_OUT)?,
            lost: sum(LOST)?,
        })
    }

    /// Ends the measurement. The counts remain.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Puts a pointer to the value of the context's connection into `R0`, or jumps.
    fn look_up(&self, program: &mut Assembler, slot: i16, otherwise: Label) {
        parts::store_cookie(program, slot);
        program.load_map(R1, &self.connections);
        program.stack_pointer(R2, slot);
        program.call(Helper::MapLookup);
        program.jump_if(Equal, R0, 0, otherwise);
    }

    /// The program at the sockets, which assigns connections and measures the ends of transfers.
    fn events(&self, selection: &Selection) -> Vec<u8> {
        let mut program = Assembler::default();
        let end = program.label();
        program.set(R6, R1);
        program.load(Width::Word, R2, R6, parts::EVENT);
        self.handle_ends(&mut program, end);
        parts::require_accepted(&mut program, selection, end);
        self.assign_accepted(&mut program, end);
        program.bind(end);
        program.exit_with(1);
        program.finish()
    }

    /// Copies the address of the peer of the socket in `R7` to the stack.
    fn copy_peer(&self, program: &mut Assembler, to: i16) {
        for at in [0, 4, 8, 12] {
            program.load(Width::Word, R2, R7, self.socket.peer + at);
            program.store(Width::Word, R10, to + at, R2);
        }
    }

    /// Assigns an accepted connection, whose context is in `R6`, to a group.
    fn assign_accepted(&self, program: &mut Assembler, end: Label) {
        let (measured, left_out) = (program.label(), program.label());
        load_socket(program, end);
        program.load(Width::Byte, R2, R7, self.socket.timestamps.position);
        program.arithmetic(And, R2, self.socket.timestamps.mask);
        program.jump_if(Equal, R2, 0, left_out);
        program.store(Width::Word, R10, KEY, 128);
        self.copy_peer(program, KEY + 4);
        program.load_map(R1, &self.assignments);
        program.stack_pointer(R2, KEY);
        program.call(Helper::MapLookup);
        program.jump_if(Equal, R0, 0, end);
        // R9: the share in 256ths. R8: the trial and the arm.
        program.load(Width::Word, R9, R0, 0);
        program.load(Width::Word, R8, R0, 4);
        program.call(Helper::Random);
        program.arithmetic(And, R0, 0xff);
        program.set(R7, BEFORE.cast_signed());
        program.jump_if(Equal, R9, 0, measured);
        program.set(R7, WITHOUT.cast_signed());
        program.jump_if(AtMost, R9, R0, measured);
        program.set(R7, REMEDIED.cast_signed());
        program.bind(measured);
        program.set(R2, 0);
        for at in [8, 16, 24] {
            program.store(Width::Double, R10, VALUE + at, R2);
        }
        program.store(Width::Word, R10, VALUE + FIRST, R2);
        program.arithmetic(Or, R8, R7);
        program.store(Width::Word, R10, VALUE + GROUP, R8);
        parts::store_cookie(program, COOKIE);
        program.load_map(R1, &self.connections);
        program.stack_pointer(R2, COOKIE);
        program.stack_pointer(R3, VALUE);
        program.set(R4, 0);
        program.call(Helper::MapUpdate);
        program.jump_if(NotEqual, R0, 0, left_out);
        program.set(R1, R6);
        program.load(Width::Word, R2, R6, EVENTS);
        program.arithmetic(Or, R2, EVENT_FLAGS);
        program.call(Helper::SetSocketEvents);
        for group in [REMEDIED, WITHOUT, BEFORE] {
            let other = program.label();
            program.jump_if(NotEqual, R7, group.cast_signed(), other);
            parts::count(program, &self.counters, COUNTER, group, 1);
            program.jump(end);
            program.bind(other);
        }
        program.bind(left_out);
        parts::count(program, &self.counters, COUNTER, LEFT_OUT, 1);
    }
}

impl Arm<'_> {
    /// Jumps unless the socket of the context in `R6` has the remedy. `slot` is a position of eight
    /// bytes on the stack. It overwrites `R0` to `R5`.
    pub(crate) fn require_remedied(&self, program: &mut Assembler, slot: i16, otherwise: Label) {
        let trial = self.trial;
        let code = u32::from(self.number % ARMS) << 2 | REMEDIED;
        trial.look_up(program, slot, otherwise);
        program.load(Width::Word, R1, R0, GROUP);
        program.set(R2, R1);
        program.arithmetic(And, R2, 0xff);
        program.jump_if(NotEqual, R2, code.cast_signed(), otherwise);
        program.arithmetic(ShiftRight, R1, 8);
        program.arithmetic(And, R1, (TRIALS - 1).cast_signed());
        program.store(Width::Word, R10, slot, R1);
        program.load_map(R1, &trial.ended);
        program.stack_pointer(R2, slot);
        program.call(Helper::MapLookup);
        program.jump_if(Equal, R0, 0, otherwise);
        program.load(Width::Word, R0, R0, 0);
        program.jump_if(NotEqual, R0, 0, otherwise);
    }
}

/// Puts `struct tcp_sock` of the context into `R7`, or jumps.
fn load_socket(program: &mut Assembler, otherwise: Label) {
    parts::load_tcp_socket(program, SOCKET, otherwise);
    program.set(R7, R0);
}
