//! A port at work.
//!
//! A frame on its way in is a train of cells, evenly spaced: the driver says when the first and the
//! last arrive. So no cell is an event: whenever the port is told the time, it merges the trains up
//! to then, cell by cell, in a loop. Cells leave in order, one behind the other, so the buffer is a
//! number and the moment at which its first cell leaves.

use std::collections::{BTreeMap, VecDeque};

use units::{Duration, Instant, Rate};

use super::{CELL_BYTES, CellBooks, Circuit, PortConfig, cells};
use crate::balanced::Thresholds;
use crate::books::Tally;
use crate::deferred::{Decision, Fate};
use crate::link::{DropReason, Offered};
use crate::meter::Meter;
use crate::statistics::QueueStatistics;

/// A port and the frames that come in.
#[derive(Debug)]
pub(crate) struct Port {
    line: CellLine,
    capacity: u64,
    /// `None`: cells are on their own.
    thresholds: Option<Thresholds>,
    circuit: Circuit,
    /// In order of their first cells, and when the next cell of each arrives: apart, since every
    /// cell looks at all of them.
    trains: Vec<Train>,
    arrivals: Vec<u64>,
    /// The earliest end of a train.
    next_end: Instant,
    /// What is to be known of circuits of which there is something to be known.
    circuits: BTreeMap<u64, CircuitState>,
    /// When the frames that are delivered leave the port, as far as they are known not to have.
    leaving: VecDeque<Instant>,
    cells: Meter,
    frames: Meter,
    busy: Meter,
    books: CellBooks,
}

/// A frame coming in.
#[derive(Debug)]
struct Train {
    circuit: u64,
    cells: u32,
    /// Cells still to come.
    left: u32,
    /// Cells stored.
    stored: u32,
    /// From one cell to the next: whole nanoseconds, and a rest in `parts`.
    step: u64,
    step_rest: u64,
    rest: u64,
    parts: u64,
    end: Instant,
    /// The first cell was refused although there was room for it.
    refused: bool,
    /// The last cell, which has come, is stored.
    has_end: bool,
    /// The packet vanishes on the line, behind the port.
    lost: bool,
}

/// What is known of a virtual circuit from one frame to the next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CircuitState {
    /// Packets until its recovery is over.
    left: u32,
    /// The last cell sent was not the last of its frame: the next frame will be taken for a part
    /// of it.
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

    /// A frame whose first cell arrives at `now`. All that was before must have been
    /// [settled](Self::poll_decision).
    pub(crate) fn offer(&mut self, now: Instant, packet: Offered, lost: bool) {
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
            left: cells,
            stored: 0,
            step: lag / parts,
            step_rest: lag % parts,
            rest: 0,
            parts,
            end,
            refused: false,
            has_end: false,
            lost,
        });
    }

    /// When a packet's fate will be known, at the earliest.
    pub(crate) fn next_decision(&self) -> Option<Instant> {
        (!self.trains.is_empty()).then_some(self.next_end)
    }

    /// The next packet whose fate is known by `now`: call until `None`, then all cells that have
    /// come by then are settled.
    pub(crate) fn poll_decision(&mut self, now: Instant) -> Option<Decision> {
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

    /// The train whose cell is next, and when: of several at once, the one that began first.
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

    /// The next cell of a train arrives. Returns whether it is its last.
    #[inline]
    fn cell(&mut self, number: usize, at: Instant) -> bool {
        let room = self.cells.level() < self.capacity;
        let train = &mut self.trains[number];
        let (is_first, is_last) = (train.left == train.cells, train.left == 1);
        let whole_so_far = train.stored + train.left == train.cells;
        let wanted = match &self.thresholds {
            None => true,
            // §3: only the first cell is refused early; what has begun is stored as long as there
            // is room.
            Some(thresholds) if is_first => {
                let left = self.circuits.get(&train.circuit).map_or(0, |circuit| circuit.left);
                train.refused = room && thresholds.refuse(self.cells.level(), left);
                !train.refused
            }
            // §3, PPD: behind a dropped cell nothing but the one with the AUU bit.
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
        train.left -= 1;
        train.rest += train.step_rest;
        let carry = train.rest >= train.parts;
        train.rest -= if carry { train.parts } else { 0 };
        let next = &mut self.arrivals[number];
        *next = next.saturating_add(train.step + u64::from(carry));
        is_last
    }

    /// The last cell of a train has come: the fate of its packet is known.
    fn end(&mut self, number: usize, at: Instant) -> Decision {
        let train = self.trains.remove(number);
        self.arrivals.remove(number);
        self.next_end = self.trains.iter().map(|train| train.end).min().unwrap_or(Instant::NEVER);
        let before = self.circuits.get(&train.circuit).copied().unwrap_or_default();
        let lost = train.stored < train.cells;
        let circuit = CircuitState {
            left: self.thresholds.map_or(0, |thresholds| thresholds.after(lost, before.left)),
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
        let fate = if let Some(why) = why {
            self.books.wasted += u64::from(train.stored);
            self.frames.down(at, 1);
            Fate::Dropped(why)
        } else {
            let departure = self.line.departure(self.cells.level());
            self.leaving.push_back(departure);
            Fate::Leaves(departure)
        };
        Decision { at, index: number, fate }
    }

    /// Sends the cells whose last bit has left by `now`.
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

    /// Frames of which the first cell has come, and not yet left the port or been dropped; and the
    /// bytes of all cells stored.
    pub(crate) fn depth(&mut self, now: Instant) -> Tally {
        self.retire_frames(now);
        Tally { packets: self.frames.level(), bytes: self.cells.level() * u64::from(CELL_BYTES) }
    }

    pub(crate) fn statistics(&mut self, now: Instant, elapsed: Duration) -> QueueStatistics {
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

    pub(crate) fn reset_statistics(&mut self, now: Instant) {
        self.retire_frames(now);
        for meter in [&mut self.cells, &mut self.frames, &mut self.busy] {
            meter.reset(now);
        }
        let offered = self.cells.level();
        self.books = CellBooks { offered, ..CellBooks::default() };
    }

    pub(crate) fn books(&self) -> CellBooks {
        CellBooks { held: self.cells.level(), ..self.books }
    }
}

/// A line that sends cells, exact to the fraction of a nanosecond.
#[derive(Debug)]
struct CellLine {
    rate: u64,
    /// The time of a cell: whole nanoseconds, and a rest in units of 1/rate nanoseconds.
    step: (u64, u64),
    /// When the first cell in the buffer has left.
    first: (u64, u64),
}

impl CellLine {
    fn new(rate: Rate) -> Self {
        let (rate, scaled) = (rate.bits_per_sec(), u64::from(CELL_BYTES) * 8_000_000_000);
        Self { rate, step: (scaled / rate, scaled % rate), first: (0, 0) }
    }

    /// An idle line begins to send a cell.
    fn start(&mut self, at: Instant) {
        self.first = (at.as_nanos(), 0);
        self.next();
    }

    /// When the last bit of the first cell has left, in whole nanoseconds.
    #[inline]
    fn first_leaves(&self) -> Instant {
        Instant::from_nanos(self.first.0.saturating_add(u64::from(self.first.1 > 0)))
    }

    /// The first cell has left, and there is another.
    #[inline]
    fn next(&mut self) {
        let rest = self.first.1 + self.step.1;
        let carry = rest >= self.rate;
        self.first.1 = rest - if carry { self.rate } else { 0 };
        self.first.0 = self.first.0.saturating_add(self.step.0 + u64::from(carry));
    }

    /// When the last of `cells` in the buffer, which are more than none, will have left.
    fn departure(&self, cells: u64) -> Instant {
        let behind = u128::from(cells - 1);
        let rest = u128::from(self.first.1) + behind * u128::from(self.step.1);
        let nanos = u128::from(self.first.0)
            + behind * u128::from(self.step.0)
            + rest.div_ceil(u128::from(self.rate));
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}
