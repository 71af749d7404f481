//! Result tables, a `Vec` for each column, as small as the data allows.
//!
//! Column names carry their units. A missing value is a null, never a NaN. Texts that repeat are
//! codes into a list of names. [`Flows::into_columns`] and its siblings hand the columns over in
//! the layout Arrow uses, so that turning them into Arrow arrays copies nothing but the
//! dictionaries.
//!
//! A digest covers rows in their order, each name by its text: it does not depend on how a run's
//! rows were split over several tables, nor on the numbering of names.

mod column;

use std::sync::Arc;

use units::{Duration, Instant};

use self::column::Store;
pub use self::column::{Coded, Column, Nullable, Object, Objects};
use crate::convert::{float, seconds, seconds_at};
use units::hash::Fnv;

/// Texts that codes stand for, shared by the tables of a run.
pub type Names = Arc<[String]>;

/// Declares a table: its columns in order, a row with one value for each, and what all tables can
/// do.
macro_rules! table {
    (
        $(#[$table_doc:meta])* $table:ident,
        $(#[$row_doc:meta])* $row:ident {
            $($(#[$doc:meta])* $column:ident: $store:ty,)*
        }
    ) => {
        $(#[$table_doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub struct $table {
            $($(#[$doc])* pub $column: $store,)*
        }

        $(#[$row_doc])*
        #[derive(Debug, Clone, Copy, PartialEq)]
        pub struct $row {
            $($(#[$doc])* pub $column: <$store as Store>::Item,)*
        }

        impl $table {
            /// Adds a row.
            pub fn push(&mut self, row: $row) {
                $(Store::push(&mut self.$column, row.$column);)*
            }

            /// Takes memory for so many more rows, and no more: for whoever knows how many there will be.
            pub fn reserve(&mut self, rows: usize) {
                $(Store::reserve(&mut self.$column, rows);)*
            }

            /// The number of rows.
            pub fn len(&self) -> usize {
                [$(Store::len(&self.$column)),*].into_iter().max().unwrap_or(0)
            }

            /// Whether there are none.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Takes all rows out. The table keeps its names and may be filled again.
            pub fn take(&mut self) -> Self {
                let empty = Self { $($column: Store::emptied(&self.$column),)* };
                std::mem::replace(self, empty)
            }

            /// The columns by name, in order.
            pub fn into_columns(self) -> Vec<(&'static str, Column)> {
                vec![$((stringify!($column), Store::into_column(self.$column)),)*]
            }

            /// A number that two tables share if they hold the same rows, and hardly ever otherwise.
            pub fn digest(&self) -> u64 {
                let mut digest = Digest::new();
                self.digest_into(&mut digest);
                digest.finish()
            }

            /// Adds the rows to a digest, for results that come in several tables.
            pub fn digest_into(&self, digest: &mut Digest) {
                for row in 0..self.len() {
                    $(Store::digest(&self.$column, row, digest);)*
                }
            }
        }
    };
}

table! {
    /// One row for each flow that completed, and at the end for each that did not.
    Flows,
    /// What became of a flow.
    FlowRow {
        /// Number of the flow, in order of starting.
        flow: Vec<u64>,
        /// Its workload.
        workload: Coded,
        /// The name of its sender.
        variant: Coded,
        /// Number from 1 of its size among the workload's classes or transfers.
        class: Nullable<u32>,
        /// Bytes to transfer; null for an endless flow.
        size_bytes: Nullable<u64>,
        /// When it started.
        start_s: Vec<f64>,
        /// From the start until the sender had everything acknowledged.
        sender_s: Nullable<f64>,
        /// From the start until the receiver had the last byte in order.
        receiver_s: Nullable<f64>,
        /// Data segments sent, retransmissions included.
        segments: Vec<u32>,
        /// Payload bytes sent, retransmissions included.
        sent_bytes: Vec<u64>,
        /// Data segments sent again.
        retransmitted_segments: Vec<u32>,
        /// Payload bytes sent again.
        retransmitted_bytes: Vec<u64>,
        /// Losses found by duplicate acknowledgements or SACK.
        fast_retransmits: Vec<u32>,
        /// Expiries of the retransmission timer with data outstanding.
        timeouts: Vec<u32>,
        /// Expiries of the retransmission timer during the handshake.
        syn_timeouts: Vec<u32>,
        /// Payload bytes that the receiver had in order.
        received_bytes: Vec<u64>,
        /// Silence of the sender before expiries of its timer, and with data outstanding at the end of the run.
        waited_s: Vec<f64>,
        /// Its smoothed round-trip time at the end; null if it never had a sample.
        srtt_s: Nullable<f64>,
        /// Its retransmission timeout at the end, back-off included.
        rto_s: Vec<f64>,
    }
}

table! {
    /// One row for each detected loss, and each mark that was answered like one.
    Recoveries,
    /// A detected loss or a mark, with the state just before the reaction to it.
    RecoveryRow {
        /// When.
        time_s: Vec<f64>,
        /// Number of the flow.
        flow: Vec<u64>,
        /// Its workload.
        workload: Coded,
        /// The name of its sender.
        variant: Coded,
        /// Number from 1 of its size among the workload's classes or transfers.
        class: Nullable<u32>,
        /// A [`Cause`].
        cause: Coded,
        /// Congestion window.
        cwnd_bytes: Vec<u64>,
        /// Data sent and not acknowledged.
        flight_bytes: Vec<u64>,
    }
}

table! {
    /// One row for each link: what happened since the warm-up ended.
    Links,
    /// What happened on a link.
    LinkRow {
        /// The link.
        link: Coded,
        /// The time covered.
        duration_s: Vec<f64>,
        /// Packets handed to the link.
        offered_packets: Vec<u64>,
        /// Their bytes.
        offered_bytes: Vec<u64>,
        /// Packets that left at the far end.
        delivered_packets: Vec<u64>,
        /// Their bytes.
        delivered_bytes: Vec<u64>,
        /// Packets that found no room.
        dropped_buffer_packets: Vec<u64>,
        /// Their bytes.
        dropped_buffer_bytes: Vec<u64>,
        /// Packets dropped by the discipline although there was room.
        dropped_early_packets: Vec<u64>,
        /// Their bytes.
        dropped_early_bytes: Vec<u64>,
        /// Packets lost on the line.
        dropped_loss_packets: Vec<u64>,
        /// Their bytes.
        dropped_loss_bytes: Vec<u64>,
        /// Packets still in the link.
        held_packets: Vec<u64>,
        /// Their bytes.
        held_bytes: Vec<u64>,
        /// Packets marked by the discipline, whatever became of them.
        marked_packets: Vec<u64>,
        /// Their bytes.
        marked_bytes: Vec<u64>,
        /// Share of the time in which the line was sending.
        utilisation: Vec<f64>,
        /// Mean over time of the packets in the queue, the one in transmission included.
        mean_queue_packets: Vec<f64>,
        /// Mean over time of the bytes in the queue.
        mean_queue_bytes: Vec<f64>,
        /// The most packets in the queue at once.
        max_queue_packets: Vec<u64>,
        /// The most bytes in the queue at once.
        max_queue_bytes: Vec<u64>,
        /// Cells that came to a port; null for any other link, here and below.
        offered_cells: Nullable<u64>,
        /// Cells that it sent.
        delivered_cells: Nullable<u64>,
        /// Cells that it dropped.
        dropped_cells: Nullable<u64>,
        /// Cells still in its buffer.
        held_cells: Nullable<u64>,
        /// Cells that it stored for packets that are not delivered.
        wasted_cells: Nullable<u64>,
    }
}

table! {
    /// Values read at regular intervals.
    Samples,
    /// One value at one time.
    SampleRow {
        /// When.
        time_s: Vec<f64>,
        /// Of which link or flow; a flow is called `greedy/3`.
        object: Objects,
        /// A [`Quantity`].
        quantity: Coded,
        /// The value, in the unit its quantity names.
        value: Vec<f64>,
    }
}

table! {
    /// What happened to the packets of traced workloads, in order of time.
    Packets,
    /// Something that happened to a packet.
    PacketRow {
        /// When.
        time_s: Vec<f64>,
        /// Number of the flow.
        flow: Vec<u64>,
        /// Its workload.
        workload: Coded,
        /// Number of the packet in its flow, from 0; both directions count together.
        packet: Vec<u32>,
        /// A [`PacketEvent`].
        event: Coded,
        /// Which end sent it: `sender` (of the flow's data) or `receiver`.
        from: Coded,
        /// `SYN`, `FIN`, `RST` or nothing.
        control: Coded,
        /// Sequence number counted from that end's initial one: a SYN has 0, the first byte 1.
        seq: Vec<u32>,
        /// Bytes of payload.
        payload_bytes: Vec<u32>,
        /// Acknowledgment number, counted from the other end's initial one.
        ack: Nullable<u32>,
        /// Number of SACK blocks.
        sack_blocks: Vec<u32>,
        /// Congestion window of the sender of the data.
        cwnd_bytes: Vec<u32>,
    }
}

/// What happened to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketEvent {
    /// An end sent it.
    Sent,
    /// The other end received it.
    Arrived,
    /// A link had no room for it.
    DroppedBuffer,
    /// A link lost it.
    DroppedLoss,
    /// A link's discipline dropped it although there was room.
    DroppedEarly,
    /// A link's discipline marked it.
    Marked,
}

/// How a loss was found, or what was taken for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate acknowledgements or SACK.
    FastRetransmit,
    /// The retransmission timer, with data outstanding.
    Timeout,
    /// The retransmission timer, during the handshake.
    SynTimeout,
    /// No loss: a router's mark, echoed by the receiver.
    Ecn,
}

/// What a sample measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// A flow's congestion window.
    CwndBytes,
    /// A flow's slow start threshold.
    SsthreshBytes,
    /// A flow's data sent and not acknowledged.
    FlightBytes,
    /// Bytes in a link's queue.
    QueueBytes,
    /// Packets in a link's queue.
    QueuePackets,
    /// The relative delay of a flow's packets against its first, on the way there (TCP Santa Cruz).
    ForwardDelay,
    /// That of their acknowledgments on the way back.
    ReturnDelay,
    /// A flow's estimate of its packets that wait at the bottleneck.
    WaitingPackets,
    /// Reports of packets that arrived before what had left earlier, so far.
    ForwardReordered,
    /// Reports that came after a report of a later arrival, so far.
    ReturnReordered,
}

impl Cause {
    const NAMES: [&str; 4] = ["fast-retransmit", "timeout", "syn-timeout", "ecn"];

    /// The code in the column `cause`.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

impl PacketEvent {
    const NAMES: [&str; 6] =
        ["sent", "arrived", "dropped-buffer", "dropped-loss", "dropped-early", "marked"];

    /// The code in the column `event`.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

impl Quantity {
    const NAMES: [&str; 10] = [
        "cwnd_bytes",
        "ssthresh_bytes",
        "flight_bytes",
        "queue_bytes",
        "queue_packets",
        "forward_delay_s",
        "return_delay_s",
        "waiting_packets",
        "forward_reordered",
        "return_reordered",
    ];

    /// The code in the column `quantity`.
    pub const fn code(self) -> u32 {
        self as u32
    }
}

impl Flows {
    /// An empty table about these workloads and senders.
    pub fn new(workloads: &Names, variants: &Names) -> Self {
        Self { workload: Coded::new(workloads), variant: Coded::new(variants), ..Self::default() }
    }
}

impl Recoveries {
    /// An empty table about these workloads and senders.
    pub fn new(workloads: &Names, variants: &Names) -> Self {
        Self {
            workload: Coded::new(workloads),
            variant: Coded::new(variants),
            cause: Coded::new(&names(Cause::NAMES)),
            ..Self::default()
        }
    }
}

impl Links {
    /// An empty table about these links.
    pub fn new(links: &Names) -> Self {
        Self { link: Coded::new(links), ..Self::default() }
    }
}

impl Samples {
    /// An empty table about these workloads' flows and these links.
    pub fn new(workloads: &Names, links: &Names) -> Self {
        Self {
            object: Objects::new(workloads, links),
            quantity: Coded::new(&names(Quantity::NAMES)),
            ..Self::default()
        }
    }
}

impl Packets {
    const ENDS: [&str; 2] = ["sender", "receiver"];
    const CONTROLS: [&str; 4] = ["", "SYN", "FIN", "RST"];

    /// An empty table about these workloads' flows.
    pub fn new(workloads: &Names) -> Self {
        Self {
            workload: Coded::new(workloads),
            event: Coded::new(&names(PacketEvent::NAMES)),
            from: Coded::new(&names(Self::ENDS)),
            control: Coded::new(&names(Self::CONTROLS)),
            ..Self::default()
        }
    }
}

impl LinkRow {
    /// The row of link number `link` from its books and statistics, which must cover the same time.
    pub fn new(
        link: u32,
        books: &link::Books,
        cells: Option<link::atm::CellBooks>,
        queue: &link::QueueStatistics,
    ) -> Self {
        let mean = |integral: u128| ratio(integral, u128::from(queue.elapsed.as_nanos()));
        Self {
            link,
            duration_s: seconds(queue.elapsed),
            offered_packets: books.offered.packets,
            offered_bytes: books.offered.bytes,
            delivered_packets: books.delivered.packets,
            delivered_bytes: books.delivered.bytes,
            dropped_buffer_packets: books.dropped_buffer.packets,
            dropped_buffer_bytes: books.dropped_buffer.bytes,
            dropped_early_packets: books.dropped_early.packets,
            dropped_early_bytes: books.dropped_early.bytes,
            dropped_loss_packets: books.dropped_loss.packets,
            dropped_loss_bytes: books.dropped_loss.bytes,
            held_packets: books.held.packets,
            held_bytes: books.held.bytes,
            marked_packets: books.marked.packets,
            marked_bytes: books.marked.bytes,
            utilisation: mean(u128::from(queue.busy.as_nanos())),
            mean_queue_packets: mean(queue.packet_nanos),
            mean_queue_bytes: mean(queue.byte_nanos),
            max_queue_packets: queue.max.packets,
            max_queue_bytes: queue.max.bytes,
            offered_cells: cells.map(|cells| cells.offered),
            delivered_cells: cells.map(|cells| cells.delivered),
            dropped_cells: cells.map(|cells| cells.dropped),
            held_cells: cells.map(|cells| cells.held),
            wasted_cells: cells.map(|cells| cells.wasted),
        }
    }
}

/// A running digest over the rows of several tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(Fnv);

impl Digest {
    /// Of no rows yet.
    pub const fn new() -> Self {
        Self(Fnv::new())
    }

    /// The digest of the rows so far.
    pub const fn finish(self) -> u64 {
        self.0.finish()
    }
}

impl Default for Digest {
    fn default() -> Self {
        Self::new()
    }
}

/// A moment as a time column holds it.
pub fn time_s(at: Instant) -> f64 {
    seconds_at(at)
}

/// A span as a time column holds it.
pub fn span_s(span: Duration) -> f64 {
    seconds(span)
}

/// A list of names from texts.
pub fn names<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Names {
    texts.into_iter().map(Into::into).collect()
}

/// The quotient of two whole numbers; zero when the second is.
fn ratio(dividend: u128, divisor: u128) -> f64 {
    if divisor == 0 {
        return 0.0;
    }
    let whole = u64::try_from(dividend / divisor).unwrap_or(u64::MAX);
    // The remainder is below the divisor, which is a time and fits.
    let rest = u64::try_from(dividend % divisor).unwrap_or(0);
    let divisor = u64::try_from(divisor).unwrap_or(u64::MAX);
    float(whole) + float(rest) / float(divisor)
}

#[cfg(test)]
mod tests;
