//! Packets of chosen connections, as tables.

use std::net::IpAddr;

use analysis::{Choice, End, KeptPacket, Watch, Watched};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use sim::tables::Column;
use units::Instant;

use super::columns::{f64s, optional_u64s, seconds, text, u32s, u64s};
use crate::table::Table;

/// Chosen connections as Python gives them: address and port of both ends, interface, earliest and
/// latest time in nanoseconds since 1970, and the packet around which packets are kept.
pub(super) type Wanted = (
    (Option<String>, Option<u16>),
    (Option<String>, Option<u16>),
    Option<u32>,
    Option<(u64, u64)>,
    u64,
);

/// Converts the choices of Python. An address that is none raises a `ValueError`.
pub(super) fn watch(wanted: Vec<Wanted>, limit: usize) -> PyResult<Watch> {
    let choices = wanted.into_iter().map(choice).collect::<PyResult<_>>()?;
    Ok(Watch::new(choices, limit))
}

fn choice((one, other, interface, between, around): Wanted) -> PyResult<Choice> {
    let between = between.map_or([Instant::ZERO, Instant::NEVER], |(from, to)| {
        [Instant::from_nanos(from), Instant::from_nanos(to)]
    });
    Ok(Choice { ends: [end(one)?, end(other)?], interface, between, around })
}

fn end((address, port): (Option<String>, Option<u16>)) -> PyResult<End> {
    let address = address.map(|address| {
        let parsed = address.parse::<IpAddr>();
        parsed.map_err(|_| PyValueError::new_err(format!("`{address}` is no IP address")))
    });
    let bits = |address| match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    };
    Ok(End { address: address.transpose()?.map(bits), port })
}

/// Tables of connections, packets and SACK blocks. Times are in seconds since `start`.
pub(super) fn tables(watch: &Watch, start: Instant) -> PyResult<(Table, Table, Table)> {
    let watched = watch.watched();
    let packets: Vec<_> = rows(watched, start).collect();
    let blocks: Vec<_> = rows(watched, start)
        .flat_map(|row| row.packet.sack.iter().enumerate().map(move |(i, block)| (row, i, block)))
        .collect();
    let sack = vec![
        ("connection", u32s(&blocks, |(row, ..)| row.connection)),
        ("frame", u64s(&blocks, |(row, ..)| row.packet.frame)),
        ("at_s", f64s(&blocks, |(row, ..)| row.at_s())),
        ("forward", u32s(&blocks, |(row, ..)| row.packet.is_forward.into())),
        ("place", u32s(&blocks, |(_, place, _)| u32::try_from(*place).unwrap_or(0))),
        ("ack", u32s(&blocks, |(row, ..)| row.packet.ack.value())),
        ("start", u32s(&blocks, |(.., block)| block.start().value())),
        ("end", u32s(&blocks, |(.., block)| block.end().value())),
    ];
    Ok((Table::new(connections(watched))?, Table::new(columns(&packets))?, Table::new(sack)?))
}

/// A kept packet with its connection.
#[derive(Clone, Copy)]
struct Row<'a> {
    connection: u32,
    packet: &'a KeptPacket,
    start: Instant,
}

impl Row<'_> {
    fn at_s(&self) -> f64 {
        seconds(self.packet.at.since(self.start))
    }
}

fn rows(watched: &[Watched], start: Instant) -> impl Iterator<Item = Row<'_>> {
    (0..).zip(watched).flat_map(move |(connection, each)| {
        each.packets().map(move |packet| Row { connection, packet, start })
    })
}

fn connections(watched: &[Watched]) -> Vec<(&'static str, Column)> {
    vec![
        ("flow", optional_u64s(watched, |each| each.flow)),
        ("source", text(watched, |each| each.source.ip().to_string())),
        ("source_port", u32s(watched, |each| each.source.port.into())),
        ("destination", text(watched, |each| each.destination.ip().to_string())),
        ("destination_port", u32s(watched, |each| each.destination.port.into())),
        ("interface", u32s(watched, |each| each.interface)),
        ("left_out", u64s(watched, |each| each.left_out)),
    ]
}

fn columns(rows: &[Row<'_>]) -> Vec<(&'static str, Column)> {
    vec![
        ("connection", u32s(rows, |row| row.connection)),
        ("frame", u64s(rows, |row| row.packet.frame)),
        ("at_s", f64s(rows, Row::at_s)),
        ("forward", u32s(rows, |row| row.packet.is_forward.into())),
        ("seq", u32s(rows, |row| row.packet.seq.value())),
        ("ack", u32s(rows, |row| row.packet.ack.value())),
        ("flags", u32s(rows, |row| row.packet.flags.bits().into())),
        ("window", u32s(rows, |row| row.packet.window.into())),
        ("payload_bytes", u32s(rows, |row| row.packet.payload_len)),
    ]
}
