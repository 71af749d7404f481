//! The remedies `rto-min` and `iw`: a program that changes settings of sockets when a connection is
//! accepted (`BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB`).

use std::os::fd::AsFd;

use tun::Error;

use crate::assembler::Condition::{Equal, NotEqual};
use crate::assembler::Register::{R0, R1, R2, R3, R4, R5, R6, R10};
use crate::assembler::{Assembler, Helper, Width};
use crate::kernel::{Link, Map, MapKind, Place, Program};
use crate::selection::Selection;

// Positions in `struct bpf_sock_ops`.
const EVENT: i16 = 0;
const LOCAL_PORT: i16 = 68;

const PASSIVE_ESTABLISHED: i32 = 5;
const SOL_TCP: i32 = 6;
const TCP_BPF_IW: i32 = 1001;
const TCP_BPF_RTO_MIN: i32 = 1004;

/// Positions on the stack.
const KEY: i16 = -8;
const VALUE: i16 = -4;

/// Numbers of the counters: connections, and settings that the kernel refused.
const CONNECTIONS: u32 = 0;
const REFUSED: u32 = 1;

/// Settings of an accepted connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Settings {
    /// Minimum of the retransmission timeout in microseconds (`TCP_BPF_RTO_MIN`).
    pub rto_min_us: Option<u32>,
    /// Initial congestion window in segments (`TCP_BPF_IW`).
    pub initial_window: Option<u32>,
}

/// The remedy, at the sockets of a cgroup.
#[derive(Debug)]
pub struct SocketSettings {
    counters: Map,
    link: Option<Link>,
}

/// Connections that were changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Accepted connections.
    pub connections: u64,
    /// Settings that the kernel refused.
    pub refused: u64,
}

impl SocketSettings {
    /// Attaches the remedy to the sockets of a cgroup, the descriptor of its folder. The cgroup of
    /// the selection does not count.
    ///
    /// # Errors
    /// Returns an error without privileges.
    pub fn attach(
        cgroup: &impl AsFd,
        selection: &Selection,
        settings: &Settings,
    ) -> Result<Self, Error> {
        let counters = Map::array(MapKind::PerCpuArray, 8, 2)?;
        let code = write(selection, settings, &counters);
        let program = Program::load(Place::SocketEvents, c"tcpsf_settings", &code)?;
        Ok(Self { counters, link: Some(program.attach_to_cgroup(cgroup)?) })
    }

    /// Ends the remedy. The counts remain.
    pub fn detach(&mut self) {
        self.link = None;
    }

    /// Connections so far.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn changed(&self) -> Result<Changed, Error> {
        let sum = |index| self.counters.sum(index);
        Ok(Changed { connections: sum(CONNECTIONS)?, refused: sum(REFUSED)? })
    }
}

fn write(selection: &Selection, settings: &Settings, counters: &Map) -> Vec<u8> {
    let mut program = Assembler::default();
    let end = program.label();
    program.set(R6, R1);
    program.load(Width::Word, R2, R6, EVENT);
    program.jump_if(NotEqual, R2, PASSIVE_ESTABLISHED, end);
    if !selection.ports.is_empty() {
        let selected = program.label();
        program.load(Width::Word, R2, R6, LOCAL_PORT);
        for port in &selection.ports {
            program.jump_if(Equal, R2, i32::from(*port), selected);
        }
        program.jump(end);
        program.bind(selected);
    }
    count(&mut program, counters, CONNECTIONS);
    let options = [(TCP_BPF_RTO_MIN, settings.rto_min_us), (TCP_BPF_IW, settings.initial_window)];
    for (option, value) in options {
        let Some(value) = value else { continue };
        let done = program.label();
        program.store(Width::Word, R10, VALUE, value.cast_signed());
        program.set(R1, R6);
        program.set(R2, SOL_TCP);
        program.set(R3, option);
        program.stack_pointer(R4, VALUE);
        program.set(R5, 4);
        program.call(Helper::SetSocketOption);
        program.jump_if(Equal, R0, 0, done);
        count(&mut program, counters, REFUSED);
        program.bind(done);
    }
    program.bind(end);
    program.exit_with(1);
    program.finish()
}

/// Adds one to a counter of this processor.
fn count(program: &mut Assembler, counters: &Map, counter: u32) {
    let none = program.label();
    program.store(Width::Word, R10, KEY, counter.cast_signed());
    program.load_map(R1, counters);
    program.stack_pointer(R2, KEY);
    program.call(Helper::MapLookup);
    program.jump_if(Equal, R0, 0, none);
    program.load(Width::Double, R1, R0, 0);
    program.add(R1, 1);
    program.store(Width::Double, R0, 0, R1);
    program.bind(none);
}
