//! The state of a port.
//!
//! An arriving frame is a train of evenly spaced cells, and the driver gives the times of the first
//! and the last. Cells are therefore no events: when the port's state is advanced, it merges the
//! trains up to that time in a loop. Cells leave in order and back to back. The buffer is therefore
//! represented by the number of its cells and the time at which its first cell leaves.

use std::collections::{BTreeMap, VecDeque};

use units::{Duration, Instant, Rate};

use super::{CELL_BYTES, CellBooks, Circuit, PortConfig, cells};
use crate::balanced::Thresholds;
use crate::books::Tally;
use crate::decision::{Decision, DecisionKind, DeferringQueue, QueueParameters};
use crate::meter::Meter;
use crate::packet::{DropReason, Offered};
use crate::statistics::QueueStatistics;

/// A port and the frames that are arriving.
#[derive(Debug)]
pub(crate) struct Port {
    line: CellLine,
    capacity: u64,
    /// The thresholds for new packets; `None` if each cell is accepted independently.
    thresholds: Option<Thresholds>,
    circuit: Circuit,
    /// The arriving frames, in order of their first cells. The arrival time of each frame's next
    /// cell is kept in a separate list, because the merge reads all of them for every cell.
    trains: Vec<Train>,
    arrivals: Vec<u64>,
    /// The earliest arrival of a train's last cell.
    next_end: Instant,
    /// The state of the circuits that are in recovery or have an unterminated frame.
    circuits: BTreeMap<u64, CircuitState>,
    /// Departure times of the delivered frames that have not been retired.
    leaving: VecDeque<Instant>,
    cells: Meter,
    frames: Meter,
    busy: Meter,
    books: CellBooks,
}

/// An arriving frame.
#[derive(Debug)]
struct Train {
    circuit: u64,
    cells: u32,
    /// Cells that have not arrived yet.
    remaining: u32,
    /// Cells that have been stored.
    stored: u32,
    /// The time between two cells: whole nanoseconds, and a remainder in units of 1/`parts` ns.
    step: u64,
    step_remainder: u64,
    remainder: u64,
    parts: u64,
    end: Instant,
    /// The first cell was refused although there was room for it.
    refused: bool,
    /// The last cell has arrived and is stored.
    has_end: bool,
    /// The packet is lost on the line behind the port.
    lost: bool,
}

/// The state of a virtual circuit between two frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CircuitState {
    /// Packets until the circuit's recovery period ends.
    remaining: u32,
    /// The last cell sent was not the last of its frame. The receiver merges the next frame with
    /// it.
    dangling: bool,
}

impl Port {
    pub(crate) fn new(config: PortConfig, rate: Rate) -> Self {
        Self {
            line: CellLine::new(rate),
            capacity: u64::from(config.cells.get()),
            thresholds: config.discard.thresholds(config.cells.get()),
            circuit: config.circuit,
            trains: Vec::new(),
            arrivals: Vec::new(),
            next_end: Instant::NEVER,
            circuits: BTreeMap::new(),
            leaving: VecDeque::new(),
            cells: Meter::default(),
            frames: Meter::default(),
            busy: Meter::default(),
            books: CellBooks::default(),
        }
    }

    /// The train with the next cell, and the cell's arrival in nanoseconds. Ties go to the train
    /// that began first.
    #[inline]
    fn next_arrival(&self) -> Option<(usize, u64)> {
        let (&first, others) = self.arrivals.split_first()?;
        let mut next = (0, first);
        for (number, &at) in (1..).zip(others) {
            if at < next.1 {
                next = (number, at);
            }
        }
        Some(next)
    }

    /// Processes the next cell of a train. Returns true if it is the train's last.
    #[inline]
    fn cell(&mut self, number: usize, at: Instant) -> bool {
        let room = self.cells.level() < self.capacity;
        let train = &mut self.trains[number];
        let (is_first, is_last) = (train.remaining == train.cells, train.remaining == 1);
        let whole_so_far = train.stored + train.remaining == train.cells;
        let wanted = match &self.thresholds {
            None => true,
            // §3: only the first cell is refused early. A packet that has begun is stored as long
            // as there is room.
            Some(thresholds) if is_first => {
                let remaining =
                    self.circuits.get(&train.circuit).map_or(0, |circuit| circuit.remaining);
                train.refused = room && thresholds.refuse(self.cells.level(), remaining);
                !train.refused
            }
            // §3, PPD: after a dropped cell only the one with the AUU bit is stored.
            Some(_) => whole_so_far || is_last,
        };
        self.books.offered += 1;
        if wanted && room {
            train.stored += 1;
            train.has_end = is_last;
            if self.cells.level() == 0 {
                self.line.start(at);
                self.busy.up(at, 1);
            }
            self.cells.up(at, 1);
        } else {
            self.books.dropped += 1;
        }
        train.remaining -= 1;
        train.remainder += train.step_remainder;
        let carry = train.remainder >= train.parts;
        train.remainder -= if carry { train.parts } else { 0 };
        let next = &mut self.arrivals[number];
        *next = next.saturating_add(train.step + u64::from(carry));
        is_last
    }

    /// Decides on a packet whose last cell has arrived.
    fn end(&mut self, number: usize, at: Instant) -> Decision {
        let train = self.trains.remove(number);
        self.arrivals.remove(number);
        self.next_end = self.trains.iter().map(|train| train.end).min().unwrap_or(Instant::NEVER);
        let before = self.circuits.get(&train.circuit).copied().unwrap_or_default();
        let lost = train.stored < train.cells;
        let circuit = CircuitState {
            remaining: self
                .thresholds
                .map_or(0, |thresholds| thresholds.after(lost, before.remaining)),
            dangling: !train.has_end && (before.dangling || train.stored > 0),
        };
        if circuit == CircuitState::default() {
            self.circuits.remove(&train.circuit);
        } else if circuit != before {
            self.circuits.insert(train.circuit, circuit);
        }
        let why = match (lost || before.dangling, train.refused) {
            (true, true) => Some(DropReason::Early),
            (true, false) => Some(DropReason::Buffer),
            (false, _) => train.lost.then_some(DropReason::Loss),
        };
        let kind = if let Some(why) = why {
            self.books.wasted += u64::from(train.stored);
            self.frames.down(at, 1);
            DecisionKind::Dropped(why)
        } else {
            let departure = self.line.departure(self.cells.level());
            self.leaving.push_back(departure);
            DecisionKind::Leaves(departure)
        };
        Decision { at, index: number, kind }
    }

    /// Removes the cells whose last bit has left by `now`.
    #[inline]
    fn retire(&mut self, now: Instant) {
        while self.cells.level() > 0 && self.line.first_leaves() <= now {
            let at = self.line.first_leaves();
            self.cells.down(at, 1);
            self.books.delivered += 1;
            if self.cells.level() == 0 {
                self.busy.down(at, 1);
            } else {
                self.line.next();
            }
        }
    }

    fn retire_frames(&mut self, now: Instant) {
        while let Some(at) = self.leaving.pop_front_if(|at| *at <= now) {
            self.frames.down(at, 1);
        }
    }
}

impl DeferringQueue for Port {
    /// The configuration of a port is fixed.
    fn change(&mut self, _to: QueueParameters) {}

    /// A port decides on each cell as it arrives.
    fn has_room(&self, _bytes: u32) -> bool {
        true
    }

    fn offer(&mut self, now: Instant, packet: Offered, lost: bool) {
        self.retire_frames(now);
        self.frames.up(now, 1);
        let cells = cells(packet.bytes);
        let (parts, lag) = (u64::from(cells).saturating_sub(1).max(1), packet.lag.as_nanos());
        let end = if cells > 1 { now + packet.lag } else { now };
        self.next_end = self.next_end.min(end);
        self.arrivals.push(now.as_nanos());
        self.trains.push(Train {
            circuit: match self.circuit {
                Circuit::Flow => packet.flow,
                Circuit::Path => packet.path,
            },
            cells,
            remaining: cells,
            stored: 0,
            step: lag / parts,
            step_remainder: lag % parts,
            remainder: 0,
            parts,
            end,
            refused: false,
            has_end: false,
            lost,
        });
    }

    fn next_decision(&self) -> Option<Instant> {
        (!self.trains.is_empty()).then_some(self.next_end)
    }

    fn poll_decision(&mut self, now: Instant) -> Option<Decision> {
        while let Some((number, at)) = self.next_arrival().filter(|&(_, at)| at <= now.as_nanos()) {
            let at = Instant::from_nanos(at);
            self.retire(at);
            let is_last = self.cell(number, at);
            if is_last {
                return Some(self.end(number, at));
            }
        }
        self.retire(now);
        None
    }

    fn depth(&mut self, now: Instant) -> Tally {
        self.retire_frames(now);
        Tally { packets: self.frames.level(), bytes: self.cells.level() * u64::from(CELL_BYTES) }
    }

    fn statistics(&mut self, now: Instant, elapsed: Duration) -> QueueStatistics {
        self.retire_frames(now);
        let (cells, busy) = (self.cells.integral(now), self.busy.integral(now));
        let (frames, bytes) = (self.frames.integral(now), u128::from(CELL_BYTES));
        QueueStatistics {
            elapsed,
            packet_nanos: frames,
            byte_nanos: cells * bytes,
            waiting_packet_nanos: frames.saturating_sub(busy),
            waiting_byte_nanos: cells.saturating_sub(busy) * bytes,
            busy: Duration::from_nanos(u64::try_from(busy).unwrap_or(u64::MAX)),
            max: Tally {
                packets: self.frames.max(),
                bytes: self.cells.max() * u64::from(CELL_BYTES),
            },
        }
    }

    fn reset_statistics(&mut self, now: Instant) {
        self.retire_frames(now);
        for meter in [&mut self.cells, &mut self.frames, &mut self.busy] {
            meter.reset(now);
        }
        let offered = self.cells.level();
        self.books = CellBooks { offered, ..CellBooks::default() };
    }

    fn cell_books(&self) -> Option<CellBooks> {
        Some(CellBooks { held: self.cells.level(), ..self.books })
    }
}

/// The serializer of cells, exact to the fraction of a nanosecond.
#[derive(Debug)]
struct CellLine {
    rate: u64,
    /// The transmission time of a cell: whole nanoseconds, and a remainder in units of 1/`rate`
    /// ns.
    step: (u64, u64),
    /// The departure of the first cell in the buffer, in the same units.
    first: (u64, u64),
}

impl CellLine {
    fn new(rate: Rate) -> Self {
        let (rate, scaled) = (rate.bits_per_sec(), u64::from(CELL_BYTES) * 8_000_000_000);
        Self { rate, step: (scaled / rate, scaled % rate), first: (0, 0) }
    }

    /// Starts to send a cell on an idle line.
    fn start(&mut self, at: Instant) {
        self.first = (at.as_nanos(), 0);
        self.next();
    }

    /// The departure of the first cell's last bit, rounded up to whole nanoseconds.
    #[inline]
    fn first_leaves(&self) -> Instant {
        Instant::from_nanos(self.first.0.saturating_add(u64::from(self.first.1 > 0)))
    }

    /// Starts to send the next cell after the first has left.
    #[inline]
    fn next(&mut self) {
        let remainder = self.first.1 + self.step.1;
        let carry = remainder >= self.rate;
        self.first.1 = remainder - if carry { self.rate } else { 0 };
        self.first.0 = self.first.0.saturating_add(self.step.0 + u64::from(carry));
    }

    /// The departure of the last of `cells` cells in the buffer. `cells` is at least 1.
    fn departure(&self, cells: u64) -> Instant {
        let behind = u128::from(cells - 1);
        let remainder = u128::from(self.first.1) + behind * u128::from(self.step.1);
        let nanos = u128::from(self.first.0)
            + behind * u128::from(self.step.0)
            + remainder.div_ceil(u128::from(self.rate));
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
