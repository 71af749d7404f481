use proptest::prelude::*;
use units::Instant;

use super::*;
use crate::{DropReason, Link, LinkConfig, Offered, Outcome, Verdict};

/// A line on which a cell takes 1 µs.
const MICRO: u64 = 1000;

fn at(nanos: u64) -> Instant {
    Instant::from_nanos(nanos)
}

fn p(share: f64) -> Probability {
    Probability::new(share).unwrap()
}

fn bpd(lower: f64, upper: f64, gap: u32) -> Discard {
    Discard::Bpd(Balanced::new(p(lower), p(upper), gap).unwrap())
}

fn port(cells: u32, discard: Discard) -> Link<usize> {
    Link::new(LinkConfig {
        rate: Rate::from_bits_per_sec(u64::from(CELL_BYTES) * 8 * 1_000_000),
        port: Some(PortConfig::new(cells, discard, Circuit::Flow).unwrap()),
        ..LinkConfig::default()
    })
}

/// A frame of so many cells on a circuit: when its first cell comes, and how far apart they are.
#[derive(Debug, Clone, Copy)]
struct Frame {
    first: u64,
    apart: u64,
    cells: u32,
    circuit: u64,
}

impl Frame {
    fn bytes(&self) -> u32 {
        self.cells * CELL_PAYLOAD - TRAILER_BYTES
    }

    fn offered(&self) -> Offered {
        let lag = Duration::from_nanos(self.apart * u64::from(self.cells - 1));
        Offered { bytes: self.bytes(), flow: self.circuit, lag, ..Offered::default() }
    }
}

/// What became of a packet: when it was delivered, or why not.
type Result = std::result::Result<u64, DropReason>;

/// Offers the frames, which are in order of their first cells, and does what the link asks for in
/// between.
fn run(link: &mut Link<usize>, frames: &[Frame]) -> Vec<Result> {
    let mut fates = vec![None; frames.len()];
    for (number, frame) in frames.iter().enumerate() {
        drive(link, frame.first, &mut fates);
        assert_eq!(link.offer(at(frame.first), frame.offered(), number, |_| 0), Outcome::Pending);
        assert_eq!(link.newest_mut().copied(), Some(number));
        check(link, frame.first);
    }
    drive(link, u64::MAX - 1, &mut fates);
    assert_eq!(link.next_delivery(), None);
    // The last cells may belong to no packet that is delivered.
    check(link, last_moment(frames));
    fates.into_iter().map(Option::unwrap).collect()
}

/// When the last cell has left for certain.
fn last_moment(frames: &[Frame]) -> u64 {
    let cells: u64 = frames.iter().map(|frame| u64::from(frame.cells)).sum();
    let last = frames.iter().map(|frame| frame.first + frame.apart * u64::from(frame.cells)).max();
    last.unwrap_or(0) + cells * MICRO
}

fn drive(link: &mut Link<usize>, until: u64, fates: &mut [Option<Result>]) {
    while let Some(now) = link.next_delivery().filter(|next| next.as_nanos() < until) {
        if let Some(number) = link.deliver(now) {
            assert_eq!(fates[number].replace(Ok(now.as_nanos())), None);
            continue;
        }
        link.advance_to(now);
        while let Some(Verdict::Dropped(number, why)) = link.poll_verdict() {
            assert_eq!(fates[number].replace(Err(why)), None);
        }
        check(link, now.as_nanos());
    }
}

fn check(link: &mut Link<usize>, now: u64) {
    link.queue(at(now));
    assert!(link.books().balance(), "{:?}", link.books());
    let cells = link.cell_books().unwrap();
    assert!(cells.balance() && cells.wasted <= cells.delivered + cells.held, "{cells:?}");
}

/// I.363.5: the trailer fits in behind the packet, or takes another cell.
#[test]
fn a_packet_takes_whole_cells() {
    for (bytes, wanted) in
        [(0, 1), (40, 1), (41, 2), (88, 2), (576, 13), (1500, 32), (u32::MAX, 89_478_486)]
    {
        assert_eq!(cells(bytes), wanted, "{bytes} bytes");
    }
    assert_eq!(Framing::Aal5.line_bytes(576), 13 * 53);
    assert_eq!(Framing::Packet.line_bytes(576), 576);
}

#[test]
fn a_frame_lags_by_all_cells_but_one() {
    let rate = |bits| Rate::from_bits_per_sec(bits).unwrap();
    assert_eq!(Framing::Aal5.lag(rate(424_000_000), 576), Duration::from_micros(12));
    assert_eq!(Framing::Aal5.lag(rate(424_000_000), 40), Duration::ZERO);
    // 576 bytes take 13 µs, and are 13 cells.
    assert_eq!(Framing::Packet.lag(rate(576 * 8_000_000 / 13), 576).as_nanos(), 12_000);
    assert_eq!(Framing::Aal5.lag(rate(1), u32::MAX).as_nanos(), u64::MAX);
}

/// The cells of two lines take turns, and each packet leaves with its last cell.
#[test]
fn cells_are_interleaved() {
    let mut link = port(100, Discard::Plain);
    let frame = |first, circuit| Frame { first, apart: 2 * MICRO, cells: 3, circuit };
    let fates = run(&mut link, &[frame(0, 1), frame(500, 2)]);
    // Arrivals at 0, 0.5, 2, 2.5, 4 and 4.5 µs.
    assert_eq!(fates, [Ok(5000), Ok(6000)]);
    let books = link.cell_books().unwrap();
    assert_eq!((books.offered, books.delivered, books.wasted), (6, 6, 0));
    assert_eq!(link.queue_statistics(at(20_000)).busy, Duration::from_micros(6));
}

/// §1: a single cell that is dropped corrupts its packet, and the rest travels on for nothing.
#[test]
fn plain_cells_are_on_their_own() {
    let mut link = port(2, Discard::Plain);
    // Cells at 0, 0.5, 1, 1.5 and 2: with room for two, the fourth finds the second and the third.
    let fates = run(&mut link, &[Frame { first: 0, apart: 500, cells: 5, circuit: 1 }]);
    assert_eq!(fates, [Err(DropReason::Buffer)]);
    let books = link.cell_books().unwrap();
    assert_eq!((books.offered, books.delivered, books.dropped, books.wasted), (5, 4, 1, 4));
}

/// §3: behind a dropped cell all are dropped except the last, which is stored if there is room.
#[test]
fn ppd_drops_the_rest_of_the_packet_but_its_end() {
    let mut link = port(2, Discard::Ppd);
    let frame = Frame { first: 0, apart: 500, cells: 7, circuit: 1 };
    // The fourth finds no room; the fifth and the sixth would; the seventh, at 3, has room.
    assert_eq!(run(&mut link, &[frame]), [Err(DropReason::Buffer)]);
    let books = link.cell_books().unwrap();
    assert_eq!((books.delivered, books.dropped, books.wasted), (4, 3, 4));
    // The packet behind it is whole: the end was there to tell them apart.
    let next = Frame { first: 100_000, apart: MICRO, cells: 2, circuit: 1 };
    assert_eq!(run(&mut link, &[next]), [Ok(102_000)]);
}

/// AAL5: without the cell that ends it, a frame runs into the next of its circuit, and both are
/// lost. Another circuit's is not.
#[test]
fn a_lost_end_joins_two_frames() {
    for discard in [Discard::Plain, Discard::Ppd] {
        let mut link = port(2, discard);
        let frame = |first, apart, cells, circuit| Frame { first, apart, cells, circuit };
        let frames = [
            // Of four cells at once two are stored; the last is not.
            frame(0, 0, 4, 1),
            frame(10_000, MICRO, 2, 2),
            frame(20_000, MICRO, 2, 1),
            frame(30_000, MICRO, 2, 1),
        ];
        let fates = run(&mut link, &frames);
        assert_eq!(
            fates,
            [Err(DropReason::Buffer), Ok(12_000), Err(DropReason::Buffer), Ok(32_000)],
            "{discard:?}"
        );
        assert_eq!(link.cell_books().unwrap().wasted, 4);
    }
}

/// §3: where more than the threshold is taken, no packet begins; what has begun goes on.
#[test]
fn epd_refuses_packets_at_their_first_cell() {
    // Three of six cells.
    let mut link = port(6, Discard::Epd(p(0.5)));
    let frame = |first, apart, cells, circuit| Frame { first, apart, cells, circuit };
    let fates = run(
        &mut link,
        &[
            // Finds nothing, and has four cells at once: more than the threshold is not too much
            // for what has begun.
            frame(0, 0, 4, 1),
            // Finds four, and there would be room: only its last cell is stored.
            frame(10, 0, 2, 2),
            // Finds four still: the one at the end came into the fifth place, and one has left.
            frame(1010, 0, 2, 3),
            // Finds three: that is not more than three.
            frame(3_000, 0, 2, 4),
        ],
    );
    assert_eq!(fates, [Ok(4000), Err(DropReason::Early), Err(DropReason::Early), Ok(8000)]);
    let books = link.books();
    assert_eq!((books.dropped_early.packets, books.dropped_buffer.packets), (2, 0));
    let cells = link.cell_books().unwrap();
    assert_eq!((cells.dropped, cells.wasted), (2, 2));
}

/// A packet of a single cell is refused as a whole: its only cell is the first as well as the last.
#[test]
fn a_single_cell_is_refused_like_a_packet() {
    let mut link = port(4, Discard::Epd(p(0.0)));
    let frame = |first, cells, circuit| Frame { first, apart: 0, cells, circuit };
    let fates = run(&mut link, &[frame(0, 2, 1), frame(10, 1, 2), frame(5000, 1, 2)]);
    assert_eq!(fates, [Ok(2000), Err(DropReason::Early), Ok(6000)]);
    assert_eq!(link.cell_books().unwrap().wasted, 0);
}

/// §4: who has lost a packet is under the upper threshold for the next `gap` packets, everybody
/// else under the lower.
#[test]
fn bpd_spares_whoever_has_just_lost() {
    // Lower: 2 of 10; upper: 8.
    let mut link = port(10, bpd(0.2, 0.8, 2));
    let frame = |first, circuit| Frame { first, apart: 0, cells: 1, circuit };
    let filler = Frame { first: 0, apart: 0, cells: 5, circuit: 9 };
    // Four or five cells are there all the time.
    let fates = run(
        &mut link,
        &[
            filler,
            frame(1, 1),
            frame(2, 2),
            frame(3, 1),
            frame(4, 1),
            frame(5, 1),
            frame(6, 1),
            frame(7, 3),
        ],
    );
    let (early, fine) = (Err(DropReason::Early), |n: u64| Ok(n * MICRO));
    // The first of circuit 1 is lost, two pass, the fourth is lost again, and the fifth passes: it
    // is the first of another period.
    assert_eq!(fates, [fine(5), early, early, fine(6), fine(7), early, fine(8), early]);
}

/// §4: a buffer that overflows damages a circuit too; above the upper threshold even the damaged
/// lose.
#[test]
fn bpd_counts_losses_of_every_kind() {
    let frame = |first, cells, circuit| Frame { first, apart: 0, cells, circuit };
    // Lower: 2 of 6; upper: 4.
    let mut link = port(6, bpd(1.0 / 3.0, 2.0 / 3.0, 1));
    let fates = run(
        &mut link,
        &[
            // Overflows: six of seven cells.
            frame(0, 7, 1),
            // Finds five: above the upper threshold, so even circuit 1 loses, and its period
            // begins anew.
            frame(1500, 1, 1),
            // Find four: circuit 1 passes, circuit 2 does not.
            frame(2500, 1, 2),
            frame(2600, 1, 1),
            // Finds five, and circuit 1 has had its packet.
            frame(2700, 1, 1),
        ],
    );
    // The cell that passed is the end of what overflowed: its packet is lost with that.
    let (full, early) = (Err(DropReason::Buffer), Err(DropReason::Early));
    assert_eq!(fates, [full, early, early, full, early]);
    assert_eq!(link.cell_books().unwrap().wasted, 7);
}

/// The port as the paper describes it, a cell at a time and without any cleverness.
struct Specification {
    capacity: u32,
    policy: Discard,
    /// When each cell in the buffer leaves, in nanoseconds.
    buffer: Vec<u64>,
    free: u64,
    circuits: std::collections::HashMap<u64, Gap>,
}

#[derive(Default)]
struct Gap {
    left: u32,
    dropping: bool,
    /// Cells at the receiver that no end has come for, and whether one of them is missing.
    open: Vec<(usize, u32)>,
}

impl Specification {
    /// Which packets arrive, and when.
    fn run(&mut self, frames: &[Frame]) -> Vec<Option<u64>> {
        let mut cells: Vec<(u64, usize, u32)> = Vec::new();
        for (number, frame) in frames.iter().enumerate() {
            let times = (0..frame.cells).map(|cell| frame.first + u64::from(cell) * frame.apart);
            cells.extend(times.zip(0..).map(|(time, cell)| (time, number, cell)));
        }
        cells.sort_unstable();
        let mut arrived = vec![None; frames.len()];
        for (now, number, cell) in cells {
            self.buffer.retain(|&leaves| leaves > now);
            let frame = frames[number];
            let (is_first, is_last) = (cell == 0, cell + 1 == frame.cells);
            let stored = self.stores(frame.circuit, is_first, is_last);
            let circuit = self.circuits.entry(frame.circuit).or_default();
            if !stored {
                continue;
            }
            self.free = self.free.max(now) + MICRO;
            self.buffer.push(self.free);
            // The receiver puts together what comes until an end comes.
            circuit.open.push((number, cell));
            if is_last {
                let whole: Vec<(usize, u32)> =
                    (0..frame.cells).map(|cell| (number, cell)).collect();
                if std::mem::take(&mut circuit.open) == whole {
                    arrived[number] = Some(self.free);
                }
            }
        }
        arrived
    }

    fn stores(&mut self, circuit: u64, is_first: bool, is_last: bool) -> bool {
        let taken = u32::try_from(self.buffer.len()).unwrap();
        let full = taken == self.capacity;
        let state = self.circuits.entry(circuit).or_default();
        let share = |share: Probability| share.as_f64() * f64::from(self.capacity);
        let exceeded = match self.policy {
            Discard::Plain => return !full,
            Discard::Ppd => false,
            Discard::Epd(threshold) => f64::from(taken) > share(threshold).round(),
            Discard::Bpd(_) if state.left > 0 => f64::from(taken) > share(self.upper()).round(),
            Discard::Bpd(_) => f64::from(taken) > share(self.lower()).round(),
        };
        let state = self.circuits.entry(circuit).or_default();
        let stored = if state.dropping {
            is_last && !full
        } else {
            let drop = full || (is_first && exceeded);
            state.dropping = drop;
            !drop
        };
        if is_last {
            // The end of the packet: it begins the period if it was damaged, else it counts.
            state.left = match (state.dropping, self.policy) {
                (true, Discard::Bpd(balanced)) => balanced.parts().2,
                _ => state.left.saturating_sub(1),
            };
            state.dropping = false;
        }
        stored
    }

    fn lower(&self) -> Probability {
        let Discard::Bpd(balanced) = self.policy else { unreachable!() };
        balanced.parts().0
    }

    fn upper(&self) -> Probability {
        let Discard::Bpd(balanced) = self.policy else { unreachable!() };
        balanced.parts().1
    }
}

fn any_discard() -> impl Strategy<Value = Discard> {
    prop_oneof![
        Just(Discard::Plain),
        Just(Discard::Ppd),
        (0.0..=1.0).prop_map(|threshold| Discard::Epd(p(threshold))),
        (0.0..=1.0, 0.0..=1.0, 0..5u32).prop_map(|(a, b, gap)| bpd(
            f64::min(a, b),
            f64::max(a, b),
            gap
        )),
    ]
}

/// Frames on a few lines, each a circuit or two, one frame behind the other on each.
fn any_frames() -> impl Strategy<Value = Vec<Frame>> {
    let line = (1..4u64, prop::collection::vec((1..9u32, 0..9000u64, any::<bool>()), 1..30));
    prop::collection::vec(line, 1..5).prop_map(|lines| {
        let mut frames = Vec::new();
        for (number, (speed, line)) in (0..).zip(lines) {
            let (apart, mut free) = (speed * 700, 0);
            for (cells, gap, other) in line {
                let first = free + gap;
                frames.push(Frame { first, apart, cells, circuit: 2 * number + u64::from(other) });
                free = first + u64::from(cells) * apart;
            }
        }
        frames.sort_by_key(|frame| frame.first);
        frames
    })
}

proptest! {
    #[test]
    fn a_port_does_what_the_paper_says(cells in 1..30u32, policy in any_discard(), frames in any_frames()) {
        let mut specification = Specification {
            capacity: cells,
            policy,
            buffer: Vec::new(),
            free: 0,
            circuits: std::collections::HashMap::new(),
        };
        let mut link = port(cells, policy);
        let fates: Vec<Option<u64>> = run(&mut link, &frames).into_iter().map(std::result::Result::ok).collect();
        prop_assert_eq!(&fates, &specification.run(&frames));
        let books = link.cell_books().unwrap();
        let total: u64 = frames.iter().map(|frame| u64::from(frame.cells)).sum();
        let useful: u64 =
            frames.iter().zip(&fates).filter(|(_, fate)| fate.is_some()).map(|(frame, _)| u64::from(frame.cells)).sum();
        prop_assert_eq!((books.offered, books.delivered), (total, useful + books.wasted));
    }

    #[test]
    fn extreme_policies_are_each_other(
        cells in 1..30u32, share in 0.0..=1.0, more in 0.0..=1.0, gap in 0..9u32, frames in any_frames()
    ) {
        let fates = |discard| run(&mut port(cells, discard), &frames);
        let upper = share + (1.0 - share) * more;
        prop_assert_eq!(fates(bpd(1.0, 1.0, gap)), fates(Discard::Ppd));
        prop_assert_eq!(fates(Discard::Epd(Probability::ONE)), fates(Discard::Ppd));
        prop_assert_eq!(fates(bpd(share, upper, 0)), fates(Discard::Epd(p(share))));
        prop_assert_eq!(fates(bpd(share, share, gap)), fates(Discard::Epd(p(share))));
    }

    /// Whoever asks in between changes nothing, and the statistics are those of a clock.
    #[test]
    fn looking_changes_nothing(
        cells in 1..20u32, policy in any_discard(), frames in any_frames(), looks in prop::collection::vec(0..200_000u64, 0..20)
    ) {
        let quiet = run(&mut port(cells, policy), &frames);
        let mut link = port(cells, policy);
        let mut fates = vec![None; frames.len()];
        let mut looks = looks;
        looks.sort_unstable();
        let mut looks = looks.into_iter().peekable();
        for (number, frame) in frames.iter().enumerate() {
            while let Some(look) = looks.next_if(|&look| look < frame.first) {
                drive(&mut link, look, &mut fates);
                link.queue_statistics(at(look));
            }
            drive(&mut link, frame.first, &mut fates);
            link.offer(at(frame.first), frame.offered(), number, |_| 0);
        }
        drive(&mut link, u64::MAX - 1, &mut fates);
        prop_assert_eq!(fates.into_iter().map(Option::unwrap).collect::<Vec<_>>(), quiet);
        let end = link.queue_statistics(at(10_000_000));
        prop_assert_eq!(end.busy.as_nanos(), link.cell_books().unwrap().delivered * MICRO);
        prop_assert!(end.byte_nanos >= u128::from(end.busy.as_nanos()) * u128::from(CELL_BYTES));
    }
}

#[test]
fn books_and_statistics_open_anew_with_what_the_port_holds() {
    let mut link = port(10, Discard::Ppd);
    let frame = Frame { first: 0, apart: 0, cells: 4, circuit: 1 };
    link.offer(at(0), frame.offered(), 0, |_| 0);
    link.reset_statistics(at(2500));
    let cells = link.cell_books().unwrap();
    assert_eq!(cells, CellBooks { offered: 2, held: 2, ..CellBooks::default() });
    let books = link.books();
    assert_eq!((books.offered.packets, books.held.packets), (1, 1));
    let read = link.queue_statistics(at(5000));
    assert_eq!((read.elapsed.as_nanos(), read.busy.as_nanos()), (2500, 1500));
    // Two cells for half a cell's time, and then one for a whole one.
    assert_eq!(read.byte_nanos, 53 * (2 * 500 + 1000));
    assert_eq!((read.packet_nanos, read.max.packets, read.max.bytes), (1500, 1, 2 * 53));
    assert_eq!(link.cell_books().unwrap().delivered, 2);
}

#[test]
fn what_makes_a_circuit_is_chosen() {
    let fates = |circuit| {
        let mut link = Link::new(LinkConfig {
            port: Some(PortConfig::new(4, bpd(0.0, 1.0, 9), circuit).unwrap()),
            ..port_config()
        });
        let offer = |link: &mut Link<usize>, number: u64, flow, path| {
            let packet = Offered { bytes: 40, flow, path, ..Offered::default() };
            link.offer(at(number), packet, 0, |_| 0);
        };
        // The second is refused; the third is of the same path.
        for (number, flow, path) in [(0, 0, 0), (1, 1, 7), (2, 2, 7)] {
            offer(&mut link, number, flow, path);
        }
        link.queue(at(10));
        link.books().dropped_early.packets
    };
    assert_eq!((fates(Circuit::Flow), fates(Circuit::Path)), (2, 1));
}

fn port_config() -> LinkConfig {
    LinkConfig {
        rate: Rate::from_bits_per_sec(u64::from(CELL_BYTES) * 8 * 1_000_000),
        ..LinkConfig::default()
    }
}

#[test]
fn nothing_is_no_port() {
    assert_eq!(PortConfig::new(0, Discard::Ppd, Circuit::Flow), Err(ConfigError::EmptyBuffer));
    assert_eq!(
        Balanced::new(p(0.5), p(0.25), 3).unwrap_err().to_string(),
        "balanced discard between 0.5 and 0.25 of the buffer is impossible: the first must not be above the second"
    );
}

#[test]
fn the_end_of_time_is_survived() {
    let mut link = port(2, Discard::Ppd);
    for number in 0..5 {
        let frame =
            Frame { first: u64::MAX - 5 + number, apart: u64::MAX / 8, cells: 3, circuit: number };
        link.offer(at(frame.first), frame.offered(), 0, |_| 0);
    }
    link.advance_to(Instant::NEVER);
    while link.poll_verdict().is_some() {}
    link.queue_statistics(Instant::NEVER);
    assert!(link.books().balance());
}
