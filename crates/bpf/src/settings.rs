//! The remedies `rto-min` and `iw`: a program that changes settings of sockets when a connection is
//! accepted (`BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB`). It also puts the socket into the map of those
//! whose writes are cut.

use std::os::fd::AsFd;

use tun::Error;

use crate::assembler::Condition::Equal;
use crate::assembler::Register::{R0, R1, R2, R3, R4, R5, R6, R10};
use crate::assembler::{Assembler, Helper, Width};
use crate::cuts::{Cut, CutSockets, Cuts};
use crate::kernel::{Link, Map, Place, Program};
use crate::parts;
use crate::selection::Selection;
use crate::trial::Arm;

const SOL_TCP: i32 = 6;
const TCP_NODELAY: i32 = 1;
const TCP_BPF_IW: i32 = 1001;
const TCP_BPF_RTO_MIN: i32 = 1004;

/// Positions on the stack.
const COOKIE: i16 = -16;
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
    /// Cuts in what the server writes. They need `TCP_NODELAY`, which is set as well.
    pub cut: Option<Cut>,
}

/// The remedy, at the sockets of a cgroup.
#[derive(Debug)]
pub struct SocketSettings {
    counters: Map,
    link: Option<Link>,
    cut: Option<CutSockets>,
}

/// Connections that were changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Changed {
    /// Accepted connections.
    pub connections: u64,
    /// Settings that the kernel refused.
    pub refused: u64,
    /// Writes that were cut.
    pub cuts: Cuts,
}

impl SocketSettings {
    /// Attaches the remedy to the sockets of a cgroup, the descriptor of its folder. The cgroup of
    /// the selection does not count. In a trial, the remedy is for the connections of one arm.
    ///
    /// # Errors
    /// Returns an error without privileges.
    pub fn attach(
        cgroup: &impl AsFd,
        selection: &Selection,
        settings: &Settings,
        arm: Option<Arm<'_>>,
    ) -> Result<Self, Error> {
        let counters = Map::array(8, 2)?;
        let most_data = selection.most_data();
        let cut = settings.cut.map(|cut| CutSockets::new(cut, most_data)).transpose()?;
        let code = write(selection, settings, &counters, cut.as_ref(), arm);
        let program = Program::load(Place::SocketEvents, c"tcpsf_settings", &code)?;
        Ok(Self { counters, link: Some(program.attach_to_cgroup(cgroup)?), cut })
    }

    /// Ends the remedy. The counts remain.
    pub fn detach(&mut self) {
        self.link = None;
        if let Some(cut) = &mut self.cut {
            cut.detach();
        }
    }

    /// Connections so far.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn changed(&self) -> Result<Changed, Error> {
        let sum = |index| self.counters.sum(index);
        let cuts = self.cut.as_ref().map(CutSockets::cuts).transpose()?.unwrap_or_default();
        Ok(Changed { connections: sum(CONNECTIONS)?, refused: sum(REFUSED)?, cuts })
    }
}

fn write(
    selection: &Selection,
    settings: &Settings,
    counters: &Map,
    cut: Option<&CutSockets>,
    arm: Option<Arm<'_>>,
) -> Vec<u8> {
    let mut program = Assembler::default();
    let end = program.label();
    program.set(R6, R1);
    program.load(Width::Word, R2, R6, parts::EVENT);
    parts::require_accepted(&mut program, selection, end);
    if let Some(arm) = arm {
        arm.require_remedied(&mut program, COOKIE, end);
    }
    parts::count(&mut program, counters, KEY, CONNECTIONS, 1);
    let options = [
        (TCP_BPF_RTO_MIN, settings.rto_min_us),
        (TCP_BPF_IW, settings.initial_window),
        (TCP_NODELAY, cut.map(|_| 1)),
    ];
    for (option, value) in options {
        let Some(value) = value else { continue };
        program.store(Width::Word, R10, VALUE, value.cast_signed());
        program.set(R1, R6);
        program.set(R2, SOL_TCP);
        program.set(R3, option);
        program.stack_pointer(R4, VALUE);
        program.set(R5, 4);
        program.call(Helper::SetSocketOption);
        count_refusal(&mut program, counters);
    }
    if let Some(sockets) = cut.and_then(CutSockets::sockets) {
        parts::store_cookie(&mut program, COOKIE);
        program.set(R1, R6);
        program.load_map(R2, sockets);
        program.stack_pointer(R3, COOKIE);
        program.set(R4, 0);
        program.call(Helper::SocketHashUpdate);
        count_refusal(&mut program, counters);
    }
    program.bind(end);
    program.exit_with(1);
    program.finish()
}

/// Counts a refusal if the kernel's function has returned an error.
fn count_refusal(program: &mut Assembler, counters: &Map) {
    let done = program.label();
    program.jump_if(Equal, R0, 0, done);
    parts::count(program, counters, KEY, REFUSED, 1);
    program.bind(done);
}
