//! Result tables with a `Vec` for each column, as small as the data allows.
//!
//! Column names include their units. A missing value is a null, never a NaN. Repeating texts are
//! codes into a list of names. [`Flows::into_columns`] and the same method of the other tables
//! export columns in Arrow's layout. Their conversion to Arrow arrays copies only the dictionaries.
//!
//! A digest covers rows in order and each name by its text. It does not depend on how a run's rows
//! were split over several tables, nor on the numbering of names.

mod column;
mod kinds;

use std::sync::Arc;

use units::{Duration, Instant};

use self::column::Store;
pub use self::column::{Coded, Column, Nullable, Object, Objects};
pub use self::kinds::{Cause, PacketEvent, Quantity};
use crate::convert::{float, seconds, seconds_at};
use units::hash::Fnv;

/// The names that codes index, shared by the tables of a run.
pub type Names = Arc<[String]>;

/// Declares a table: its columns in order, a row with one value for each, and the methods of all
/// tables.
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

            /// Reserves memory for exactly this number of further rows, if the caller knows it.
            pub fn reserve(&mut self, rows: usize) {
                $(Store::reserve(&mut self.$column, rows);)*
            }

            /// The number of rows.
            pub fn len(&self) -> usize {
                [$(Store::len(&self.$column)),*].into_iter().max().unwrap_or(0)
            }

            /// Returns true if there are no rows.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Takes all rows out. The table keeps its names and may be filled again.
            pub fn take(&mut self) -> Self {
                let empty = Self { $($column: Store::emptied(&self.$column),)* };
                std::mem::replace(self, empty)
            }

            /// The columns with their names, in order.
            pub fn into_columns(self) -> Vec<(&'static str, Column)> {
                vec![$((stringify!($column), Store::into_column(self.$column)),)*]
            }

            /// A hash of the rows: equal for tables with the same rows.
            pub fn digest(&self) -> u64 {
                let mut digest = Digest::new();
                self.digest_into(&mut digest);
                digest.finish()
            }

            /// Adds the rows to a digest, for results that are split over several tables.
            pub fn digest_into(&self, digest: &mut Digest) {
                for row in 0..self.len() {
                    $(Store::digest(&self.$column, row, digest);)*
                }
            }
        }
    };
}

table! {
    /// One row for each completed flow, and at the end of the run one for each incomplete flow.
    Flows,
    /// The result of a flow.
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
        /// The time of its start.
        start_s: Vec<f64>,
        /// From the start until all data was acknowledged at the sender.
        sender_s: Nullable<f64>,
        /// From the start until the receiver had the last byte in order.
        receiver_s: Nullable<f64>,
        /// Data segments sent, retransmissions and copies included.
        segments: Vec<u32>,
        /// Payload bytes sent, retransmissions and copies included.
        sent_bytes: Vec<u64>,
        /// Data segments retransmitted.
        retransmitted_segments: Vec<u32>,
        /// Payload bytes retransmitted.
        retransmitted_bytes: Vec<u64>,
        /// Losses detected by duplicate acknowledgments or SACK.
        fast_retransmits: Vec<u32>,
        /// Expirations of the retransmission timer with data outstanding.
        timeouts: Vec<u32>,
        /// Expirations of the retransmission timer during the handshake.
        syn_timeouts: Vec<u32>,
        /// Payload bytes that the receiver had in order.
        received_bytes: Vec<u64>,
        /// Silence of the sender before expirations of its timer, and with data outstanding at the
        /// end of the run.
        waited_s: Vec<f64>,
        /// Its smoothed round-trip time at the end; null without any sample.
        srtt_s: Nullable<f64>,
        /// Its retransmission timeout at the end, including back-off.
        rto_s: Vec<f64>,
    }
}

table! {
    /// One row for each detected loss, and for each mark with the same response.
    Recoveries,
    /// A detected loss or a mark, with the state just before the response to it.
    RecoveryRow {
        /// The time of the detection.
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
        /// `FlightSize` (RFC 5681 §2).
        flight_bytes: Vec<u64>,
    }
}

table! {
    /// One row for each link: counts since the end of the warm-up.
    Links,
    /// The counts and the queue of a link.
    LinkRow {
        /// The link.
        link: Coded,
        /// The time covered.
        duration_s: Vec<f64>,
        /// Packets offered to the link.
        offered_packets: Vec<u64>,
        /// Their bytes.
        offered_bytes: Vec<u64>,
        /// Packets delivered at the far end.
        delivered_packets: Vec<u64>,
        /// Their bytes.
        delivered_bytes: Vec<u64>,
        /// Packets dropped by a full buffer.
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
        /// Packets marked by the discipline, including those lost later.
        marked_packets: Vec<u64>,
        /// Their bytes.
        marked_bytes: Vec<u64>,
        /// Share of the time in which the line was sending.
        utilisation: Vec<f64>,
        /// Mean over time of the packets in the queue, the one in transmission included.
        mean_queue_packets: Vec<f64>,
        /// Mean over time of the bytes in the queue.
        mean_queue_bytes: Vec<f64>,
        /// The maximum number of packets in the queue.
        max_queue_packets: Vec<u64>,
        /// The maximum number of bytes in the queue.
        max_queue_bytes: Vec<u64>,
        /// Cells that arrived at a port; null for any other link, here and below.
        offered_cells: Nullable<u64>,
        /// Cells that the port sent.
        delivered_cells: Nullable<u64>,
        /// Cells that the port dropped.
        dropped_cells: Nullable<u64>,
        /// Cells still in the port's buffer.
        held_cells: Nullable<u64>,
        /// Cells that the port stored for packets that are not delivered.
        wasted_cells: Nullable<u64>,
    }
}

table! {
    /// Values sampled at regular intervals.
    Samples,
    /// One value at one time.
    SampleRow {
        /// The time of the sample.
        time_s: Vec<f64>,
        /// The link or flow; a flow is named like `greedy/3`.
        object: Objects,
        /// A [`Quantity`].
        quantity: Coded,
        /// The value, in the unit its quantity names.
        value: Vec<f64>,
    }
}

table! {
    /// Events of the packets of traced workloads, in order of time.
    Packets,
    /// An event of a packet.
    PacketRow {
        /// The time of the event.
        time_s: Vec<f64>,
        /// Number of the flow.
        flow: Vec<u64>,
        /// Its workload.
        workload: Coded,
        /// Number of the packet in its flow, from 0; both directions count together.
        packet: Vec<u32>,
        /// A [`PacketEvent`].
        event: Coded,
        /// The end that sent the packet: `sender` (of the flow's data) or `receiver`.
        from: Coded,
        /// `SYN`, `FIN`, `RST` or empty.
        control: Coded,
        /// Sequence number relative to that end's initial one: a SYN has 0, the first byte 1.
        seq: Vec<u32>,
        /// Bytes of payload.
        payload_bytes: Vec<u32>,
        /// Acknowledgment number, relative to the other end's initial one.
        ack: Nullable<u32>,
        /// Number of SACK blocks.
        sack_blocks: Vec<u32>,
        /// Congestion window of the sender of the data.
        cwnd_bytes: Vec<u32>,
    }
}

impl Flows {
    /// An empty table for these workloads and senders.
    pub fn new(workloads: &Names, variants: &Names) -> Self {
        Self { workload: Coded::new(workloads), variant: Coded::new(variants), ..Self::default() }
    }
}

impl Recoveries {
    /// An empty table for these workloads and senders.
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
    /// An empty table for these links.
    pub fn new(links: &Names) -> Self {
        Self { link: Coded::new(links), ..Self::default() }
    }
}

impl Samples {
    /// An empty table for these workloads' flows and these links.
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

    /// An empty table for these workloads' flows.
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
    /// The digest of no rows.
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

/// A time as in a time column, in seconds.
pub fn time_s(at: Instant) -> f64 {
    seconds_at(at)
}

/// A span as in a time column, in seconds.
pub fn span_s(span: Duration) -> f64 {
    seconds(span)
}

/// A list of names from texts.
pub fn names<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Names {
    texts.into_iter().map(Into::into).collect()
}

/// The quotient of two integers; zero for a divisor of zero.
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
