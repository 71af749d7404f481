//! Columns of connections, episodes and retransmissions. Times are in seconds since the first
//! packet of the capture.

use std::collections::HashSet;
use std::sync::Arc;

use analysis::{
    Block, BlockOf, Cause, Cell, Closing, Confidence, EpisodeOf, Flow, Half, LossOf, Policing,
    Retransmission, SenderKind, Spurious, TransferOf, Vantage,
};
use sim::tables::{Column, Nullable};
use units::{Duration, Instant};

/// Names of the directions.
const DIRECTIONS: [&str; 2] = ["originator", "responder"];

type Columns = Vec<(&'static str, Column)>;

/// Names of the columns of a wide table that the caller needs; `None` for all.
pub(super) struct Wanted(pub(super) Option<HashSet<String>>);

impl Wanted {
    fn has(&self, name: &str) -> bool {
        self.0.as_ref().is_none_or(|names| names.contains(name))
    }
}

/// Columns, of which only those that are wanted are computed.
macro_rules! columns {
    ($wanted:expr; $(($name:expr, $column:expr $(,)?)),* $(,)?) => {{
        let mut found = Columns::new();
        $(if $wanted.has($name) {
            found.push(($name, $column));
        })*
        found
    }};
}

/// Span in seconds.
#[expect(clippy::cast_precision_loss, reason = "spans below 2⁵³ ns, 104 days, are exact")]
pub(super) fn seconds(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// A direction of a connection.
pub(super) struct FlowRow<'a> {
    flow: &'a Flow,
    half: &'a Half,
    direction: usize,
    start: Instant,
}

impl<'a> FlowRow<'a> {
    /// Rows of both directions.
    pub(super) fn of(flow: &'a Flow, start: Instant) -> [Self; 2] {
        [0, 1].map(|direction| Self { flow, half: &flow.halves[direction], direction, start })
    }

    /// Columns of these rows, of those that are wanted.
    pub(super) fn columns(rows: &[Self], wanted: &Wanted) -> Columns {
        let mut columns = Self::connection(rows, wanted);
        columns.extend(Self::counts(rows, wanted));
        columns.extend(Self::sizes(rows, wanted));
        columns.extend(Self::times(rows, wanted));
        columns.extend(Self::policing(rows, wanted));
        columns
    }

    fn policing(rows: &[Self], wanted: &Wanted) -> Columns {
        let found: Vec<_> = rows.iter().map(|row| row.half.policing()).collect();
        let names = Policing::ALL.map(Policing::name);
        columns![wanted;
            ("policing", named(&found, &names, |(result, _)| result.name())),
            ("policer_rate_bps", optional_f64s(&found, |(_, rate)| rate.map(|rate| rate * 8.0))),
        ]
    }

    fn connection(rows: &[Self], wanted: &Wanted) -> Columns {
        let other = |row: &Self| row.flow.halves[1 - row.direction].endpoint;
        columns![wanted;
            ("flow", u64s(rows, |row| row.flow.number)),
            ("direction", choice(rows, &DIRECTIONS, |row| row.direction)),
            ("interface", u32s(rows, |row| row.flow.interface)),
            ("source", text(rows, |row| row.half.endpoint.ip().to_string())),
            ("source_port", u32s(rows, |row| row.half.endpoint.port.into())),
            ("destination", text(rows, |row| other(row).ip().to_string())),
            ("destination_port", u32s(rows, |row| other(row).port.into())),
            ("start_s", f64s(rows, |row| seconds(row.flow.start.since(row.start)))),
            ("duration_s", f64s(rows, |row| seconds(row.flow.end.since(row.flow.start)))),
            (
                "closing",
                named(rows, &Closing::ALL.map(Closing::name), |row| row.flow.closing.name()),
            ),
            ("first_fin", u32s(rows, |row| u32::from(row.flow.first_fin == Some(row.direction)))),
            ("reset", u32s(rows, |row| u32::from(row.flow.reset_by == Some(row.direction)))),
            (
                "vantage",
                named(rows, &Vantage::ALL.map(Vantage::name), |row| row.half.vantage().name()),
            ),
            (
                "kind",
                named(rows, &SenderKind::ALL.map(SenderKind::name), |row| row.half.kind().name()),
            ),
        ]
    }

    fn counts(rows: &[Self], wanted: &Wanted) -> Columns {
        let count = |of: fn(&analysis::flow::Facts) -> u64| u64s(rows, |row| of(&row.half.facts));
        columns![wanted;
            ("packets", count(|facts| facts.packets)),
            ("data_packets", count(|facts| facts.data_packets)),
            ("pure_acks", count(|facts| facts.pure_acks)),
            ("payload_bytes", count(|facts| facts.payload_bytes)),
            ("unique_bytes", count(|facts| facts.unique_bytes)),
            ("retransmitted_packets", count(|facts| facts.retransmitted_packets)),
            ("retransmitted_bytes", count(|facts| facts.retransmitted_bytes)),
            ("reordered_packets", count(|facts| facts.reordered_packets)),
            ("duplicate_packets", count(|facts| facts.duplicate_packets)),
            ("duplicate_acks", count(|facts| facts.duplicate_acks)),
            ("sack_packets", count(|facts| facts.sack_packets)),
            ("dsack_packets", count(|facts| facts.dsack_packets)),
            ("acks_of_unseen", count(|facts| facts.acks_of_unseen)),
            ("keep_alives", count(|facts| facts.keep_alives)),
            ("window_probes", count(|facts| facts.window_probes)),
            ("zero_windows", count(|facts| facts.zero_windows)),
            ("syns", count(|facts| facts.syns)),
            ("fins", count(|facts| facts.fins)),
            ("resets", count(|facts| facts.resets)),
            ("pushes", count(|facts| facts.pushes)),
            ("congestion_marks", count(|facts| facts.congestion_marks)),
        ]
    }

    fn sizes(rows: &[Self], wanted: &Wanted) -> Columns {
        columns![wanted;
            ("mss_bytes", u32s(rows, |row| row.half.mss())),
            ("mss_option", optional_u32s(rows, |row| row.half.facts.mss_option.map(Into::into))),
            (
                "window_scale",
                optional_u32s(rows, |row| row.half.facts.window_scale.map(Into::into)),
            ),
            ("sack_permitted", u32s(rows, |row| row.half.facts.sack_permitted.into())),
            ("timestamps", u32s(rows, |row| row.half.facts.timestamps.into())),
            ("largest_payload_bytes", u32s(rows, |row| row.half.facts.largest_payload)),
            ("smallest_payload_bytes", u32s(rows, |row| row.half.facts.smallest_payload)),
            ("window_max_bytes", u32s(rows, |row| row.half.facts.window_max_bytes)),
            ("flight_max_bytes", u64s(rows, |row| row.half.facts.flight_max_bytes)),
            ("initial_window_bytes", u64s(rows, |row| row.half.facts.initial_window_bytes)),
            ("initial_window_packets", u64s(rows, |row| row.half.facts.initial_window_packets)),
            ("hops_left", u32s(rows, |row| row.half.facts.hops.into())),
        ]
    }

    fn times(rows: &[Self], wanted: &Wanted) -> Columns {
        let spread = |row: &Self| *row.half.round_trips();
        let measured = |row: &Self, span: Duration| (spread(row).count > 0).then(|| seconds(span));
        columns![wanted;
            ("syn_rtt_s", optional_f64s(rows, |row| row.flow.syn_rtt.map(seconds))),
            ("ack_rtt_s", optional_f64s(rows, |row| row.flow.ack_rtt.map(seconds))),
            ("lag_s", f64s(rows, |row| seconds(row.half.lag()))),
            ("rtt_count", u64s(rows, |row| spread(row).count)),
            ("rtt_min_s", optional_f64s(rows, |row| measured(row, spread(row).min))),
            ("rtt_mean_s", optional_f64s(rows, |row| spread(row).mean_s())),
            ("rtt_max_s", optional_f64s(rows, |row| measured(row, spread(row).max))),
            ("rtt_deviation_s", optional_f64s(rows, |row| spread(row).deviation_s())),
            ("srtt_s", optional_f64s(rows, |row| row.half.srtt().map(seconds))),
            (
                "first_data_s",
                optional_f64s(rows, |row| {
                    row.half.facts.first_data_at.map(|at| seconds(at.since(row.start)))
                }),
            ),
            (
                "completion_s",
                optional_f64s(rows, |row| {
                    let facts = &row.half.facts;
                    facts.first_data_at.map(|first| seconds(facts.last_data_at.since(first)))
                }),
            ),
            ("idle_max_s", f64s(rows, |row| seconds(row.half.facts.idle_max))),
            ("idle_s", f64s(rows, |row| seconds(row.half.waits().idle))),
            ("idle_restarts", u64s(rows, |row| row.half.waits().restarts)),
            ("application_limited_s", f64s(rows, |row| seconds(row.half.waits().application))),
            ("window_limited_s", f64s(rows, |row| seconds(row.half.waits().window))),
            ("congestion_limited_s", f64s(rows, |row| seconds(row.half.waits().congestion))),
            ("recovery_s", f64s(rows, |row| seconds(row.half.waits().recovery))),
            (
                "closed_s",
                optional_f64s(rows, |row| {
                    row.flow.closed_at.map(|at| seconds(at.since(row.start)))
                }),
            ),
        ]
    }
}

/// A loss episode.
pub(super) struct EpisodeRow<'a> {
    pub(super) of: &'a EpisodeOf,
    pub(super) start: Instant,
}

impl EpisodeRow<'_> {
    /// Columns of these rows.
    pub(super) fn columns(rows: &[Self]) -> Columns {
        let since = |row: &Self, at: Instant| seconds(at.since(row.start));
        let spurious = |row: &Self| {
            let each = row.of.episode.retransmissions.iter();
            u64::try_from(each.filter(|each| each.spurious != Spurious::No).count()).unwrap_or(0)
        };
        vec![
            ("flow", u64s(rows, |row| row.of.flow)),
            ("direction", choice(rows, &DIRECTIONS, |row| row.of.direction)),
            ("lost_s", f64s(rows, |row| since(row, row.of.episode.lost_at))),
            ("lost_frame", u64s(rows, |row| row.of.episode.lost_frame)),
            ("repaired_frame", u64s(rows, |row| row.of.episode.repaired_frame)),
            ("repaired_s", f64s(rows, |row| since(row, row.of.episode.repaired_at))),
            (
                "ended_s",
                optional_f64s(rows, |row| row.of.episode.ended_at.map(|at| since(row, at))),
            ),
            ("cause", named(rows, &Cause::ALL.map(Cause::name), |row| row.of.episode.cause.name())),
            (
                "confidence",
                named(rows, &Confidence::ALL.map(Confidence::name), |row| {
                    row.of.episode.confidence.name()
                }),
            ),
            ("following", u32s(rows, |row| row.of.episode.following)),
            ("delay_s", f64s(rows, |row| seconds(row.of.episode.delay))),
            ("timeouts", u32s(rows, |row| row.of.episode.timeouts)),
            ("probes", u32s(rows, |row| row.of.episode.probes)),
            ("retransmissions", u64s(rows, |row| row.of.episode.count)),
            ("spurious", u64s(rows, spurious)),
            ("bytes", u64s(rows, |row| row.of.episode.bytes)),
            ("forward_rto", u32s(rows, |row| row.of.episode.forward_rto.into())),
        ]
    }
}

/// A transfer.
pub(super) struct TransferRow<'a> {
    pub(super) of: &'a TransferOf,
    pub(super) start: Instant,
}

impl TransferRow<'_> {
    /// Columns of these rows, of those that are wanted.
    pub(super) fn columns(rows: &[Self], wanted: &Wanted) -> Columns {
        let count =
            |of: fn(&analysis::flow::Transfer) -> u64| u64s(rows, |row| of(&row.of.transfer));
        let since = |row: &Self, at: Instant| seconds(at.since(row.start));
        // From the first transmission at the sender to the acknowledgment there.
        let completion = |row: &Self| {
            let transfer = &row.of.transfer;
            let at_capture = transfer.acknowledged_at?.since(transfer.started_at);
            Some(seconds(at_capture + transfer.lag))
        };
        columns![wanted;
            ("flow", u64s(rows, |row| row.of.flow)),
            ("direction", choice(rows, &DIRECTIONS, |row| row.of.direction)),
            ("number", count(|each| each.number)),
            ("start_s", f64s(rows, |row| since(row, row.of.transfer.started_at))),
            ("completion_s", optional_f64s(rows, completion)),
            ("bytes", count(|each| each.bytes)),
            ("segments", count(|each| each.segments)),
            ("first_segments", count(|each| each.first_segments)),
            ("retransmitted_packets", count(|each| each.retransmitted_packets)),
            ("srtt_s", optional_f64s(rows, |row| row.of.transfer.srtt.map(seconds))),
            ("rtt_min_s", optional_f64s(rows, |row| row.of.transfer.min_rtt.map(seconds))),
            ("rate_bps", optional_u64s(rows, |row| row.of.transfer.rate_bps())),
        ]
    }
}

/// A retransmission.
pub(super) struct RetransmissionRow<'a> {
    of: &'a EpisodeOf,
    each: &'a Retransmission,
    start: Instant,
}

impl<'a> RetransmissionRow<'a> {
    /// Rows of an episode.
    pub(super) fn of(of: &'a EpisodeOf, start: Instant) -> impl Iterator<Item = Self> {
        of.episode.retransmissions.iter().map(move |each| Self { of, each, start })
    }

    /// Columns of these rows.
    pub(super) fn columns(rows: &[Self]) -> Columns {
        vec![
            ("flow", u64s(rows, |row| row.of.flow)),
            ("direction", choice(rows, &DIRECTIONS, |row| row.of.direction)),
            ("frame", u64s(rows, |row| row.each.frame)),
            ("at_s", f64s(rows, |row| seconds(row.each.at.since(row.start)))),
            ("seq", u32s(rows, |row| row.each.seq)),
            ("bytes", u32s(rows, |row| row.each.len)),
            ("previous_frame", u64s(rows, |row| row.each.previous_frame)),
            ("transmission", u32s(rows, |row| row.each.transmission.into())),
            ("cause", named(rows, &Cause::ALL.map(Cause::name), |row| row.each.cause.name())),
            (
                "confidence",
                named(rows, &Confidence::ALL.map(Confidence::name), |row| {
                    row.each.confidence.name()
                }),
            ),
            (
                "spurious",
                named(rows, &Spurious::ALL.map(Spurious::name), |row| row.each.spurious.name()),
            ),
            ("since_ack_s", f64s(rows, |row| seconds(row.each.since_ack))),
            ("waited_s", f64s(rows, |row| seconds(row.each.waited))),
            ("rto_s", f64s(rows, |row| seconds(row.each.rto))),
            ("pto_s", optional_f64s(rows, |row| row.each.pto.map(seconds))),
            ("backoff", u32s(rows, |row| row.each.backoff)),
            ("duplicates", u32s(rows, |row| row.each.duplicates)),
            ("sacked_above", u32s(rows, |row| row.each.sacked_above)),
            ("forward", u32s(rows, |row| row.each.forward)),
            ("flight", u32s(rows, |row| row.each.flight)),
        ]
    }
}

/// Counts of first transmissions of one class.
pub(super) struct CountRow<'a> {
    of: &'a BlockOf,
    cell: Cell,
    is_first: bool,
}

impl<'a> CountRow<'a> {
    /// Rows of a block. The first one also has the counts that belong to no class.
    pub(super) fn of(of: &'a BlockOf) -> impl Iterator<Item = Self> {
        let empty = of.block.cells.is_empty().then(Cell::default);
        let cells = of.block.cells.iter().copied().chain(empty).enumerate();
        cells.map(move |(index, cell)| Self { of, cell, is_first: index == 0 })
    }

    /// Columns of these rows.
    pub(super) fn columns(rows: &[Self]) -> Columns {
        let count = |of: fn(&Cell) -> u64| u64s(rows, |row| of(&row.cell));
        let once = |of: fn(&Block) -> u64| {
            u64s(rows, |row| if row.is_first { of(&row.of.block) } else { 0 })
        };
        vec![
            ("flow", u64s(rows, |row| row.of.flow)),
            ("direction", choice(rows, &DIRECTIONS, |row| row.of.direction)),
            ("vantage", named(rows, &Vantage::ALL.map(Vantage::name), |row| row.of.vantage.name())),
            ("block", u64s(rows, |row| row.of.block.number)),
            ("position", u64s(rows, |row| row.cell.first_position())),
            ("size_bytes", u32s(rows, |row| row.cell.least_size())),
            ("packets", count(|cell| cell.followed.packets + cell.last.packets)),
            ("bytes", count(|cell| cell.followed.bytes + cell.last.bytes)),
            ("lost", count(|cell| cell.followed.lost + cell.last.lost)),
            ("last_packets", count(|cell| cell.last.packets)),
            ("last_bytes", count(|cell| cell.last.bytes)),
            ("last_lost", count(|cell| cell.last.lost)),
            ("unknown", once(|block| block.unknown)),
            ("interrupted", once(|block| block.interrupted)),
        ]
    }
}

/// A first transmission that was lost.
pub(super) struct LossRow {
    pub(super) of: LossOf,
    pub(super) start: Instant,
}

impl LossRow {
    /// Columns of these rows.
    pub(super) fn columns(rows: &[Self]) -> Columns {
        vec![
            ("flow", u64s(rows, |row| row.of.flow)),
            ("direction", choice(rows, &DIRECTIONS, |row| row.of.direction)),
            ("vantage", named(rows, &Vantage::ALL.map(Vantage::name), |row| row.of.vantage.name())),
            ("frame", u64s(rows, |row| row.of.loss.frame)),
            ("at_s", f64s(rows, |row| seconds(row.of.loss.at.since(row.start)))),
            ("number", u64s(rows, |row| row.of.loss.number)),
            ("size_bytes", u32s(rows, |row| row.of.loss.size)),
            ("run", u32s(rows, |row| row.of.loss.run)),
            ("last", u32s(rows, |row| u32::from(!row.of.loss.is_followed))),
            ("passed_bytes", u64s(rows, |row| row.of.loss.passed_bytes)),
            ("rtt_s", optional_f64s(rows, |row| row.of.loss.round_trip.map(seconds))),
        ]
    }
}

pub(super) fn u32s<T>(rows: &[T], value: impl Fn(&T) -> u32) -> Column {
    Column::U32(rows.iter().map(value).collect())
}

pub(super) fn u64s<T>(rows: &[T], value: impl Fn(&T) -> u64) -> Column {
    Column::U64(rows.iter().map(value).collect())
}

pub(super) fn f64s<T>(rows: &[T], value: impl Fn(&T) -> f64) -> Column {
    Column::F64(rows.iter().map(value).collect())
}

fn optional_u32s<T>(rows: &[T], value: impl Fn(&T) -> Option<u32>) -> Column {
    let mut column = Nullable::default();
    for row in rows {
        column.push(value(row));
    }
    Column::NullableU32(column)
}

pub(super) fn optional_u64s<T>(rows: &[T], value: impl Fn(&T) -> Option<u64>) -> Column {
    let mut column = Nullable::default();
    for row in rows {
        column.push(value(row));
    }
    Column::NullableU64(column)
}

fn optional_f64s<T>(rows: &[T], value: impl Fn(&T) -> Option<f64>) -> Column {
    let mut column = Nullable::default();
    for row in rows {
        column.push(value(row));
    }
    Column::NullableF64(column)
}

/// A column of names by their index.
fn choice<T>(rows: &[T], names: &[&str], index: impl Fn(&T) -> usize) -> Column {
    let codes = rows.iter().map(|row| u32::try_from(index(row)).unwrap_or(0)).collect();
    Column::Text { codes, names: names.iter().map(|name| (*name).to_owned()).collect() }
}

/// A column of names out of a list.
fn named<T>(rows: &[T], names: &[&str], name: impl Fn(&T) -> &'static str) -> Column {
    choice(rows, names, |row| {
        let found = name(row);
        names.iter().position(|each| *each == found).unwrap_or(0)
    })
}

/// A column of texts, each of which occurs in few rows.
pub(super) fn text<T>(rows: &[T], value: impl Fn(&T) -> String) -> Column {
    let names: Arc<[String]> = rows.iter().map(value).collect();
    Column::Text { codes: (0..u32::try_from(rows.len()).unwrap_or(u32::MAX)).collect(), names }
}
