use units::Instant;

use super::*;
use crate::{DropReason, Link, LinkConfig, Offered, Outcome, Verdict};

mod specification;

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

/// A frame on a circuit: the arrival of its first cell and the distance between its cells, in
/// nanoseconds.
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

/// The result of a packet: its delivery time, or the reason for its loss.
type Result = std::result::Result<u64, DropReason>;

/// Offers the frames, which are in order of their first cells, and drives the link in between.
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

/// A time by which the last cell has certainly left.
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

/// I.363.5: the trailer fits behind the packet, or takes another cell.
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
fn the_lag_of_a_frame_is_all_cells_but_one() {
    let rate = |bits| Rate::from_bits_per_sec(bits).unwrap();
    assert_eq!(Framing::Aal5.lag(rate(424_000_000), 576), Duration::from_micros(12));
    assert_eq!(Framing::Aal5.lag(rate(424_000_000), 40), Duration::ZERO);
    // 576 bytes take 13 µs and are 13 cells.
    assert_eq!(Framing::Packet.lag(rate(576 * 8_000_000 / 13), 576).as_nanos(), 12_000);
    assert_eq!(Framing::Aal5.lag(rate(1), u32::MAX).as_nanos(), u64::MAX);
}

/// The cells of two lines are interleaved, and each packet leaves with its last cell.
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

/// §1: a single dropped cell corrupts its packet, and the other cells are sent in vain.
#[test]
fn plain_discard_drops_single_cells() {
    let mut link = port(2, Discard::Plain);
    // Cells at 0, 0.5, 1, 1.5 and 2: with room for two, the fourth finds the second and the third.
    let fates = run(&mut link, &[Frame { first: 0, apart: 500, cells: 5, circuit: 1 }]);
    assert_eq!(fates, [Err(DropReason::Buffer)]);
    let books = link.cell_books().unwrap();
    assert_eq!((books.offered, books.delivered, books.dropped, books.wasted), (5, 4, 1, 4));
}

/// §3: after a dropped cell all are dropped except the last, which is stored if there is room.
#[test]
fn ppd_drops_the_rest_of_a_packet_except_its_last_cell() {
    let mut link = port(2, Discard::Ppd);
    let frame = Frame { first: 0, apart: 500, cells: 7, circuit: 1 };
    // The fourth finds no room; the fifth and the sixth would; the seventh, at 3, has room.
    assert_eq!(run(&mut link, &[frame]), [Err(DropReason::Buffer)]);
    let books = link.cell_books().unwrap();
    assert_eq!((books.delivered, books.dropped, books.wasted), (4, 3, 4));
    // The next packet is whole, because the stored last cell separates the two.
    let next = Frame { first: 100_000, apart: MICRO, cells: 2, circuit: 1 };
    assert_eq!(run(&mut link, &[next]), [Ok(102_000)]);
}

/// AAL5: a frame without its last cell merges with the next frame of its circuit, and both are
/// lost. A frame of another circuit is not affected.
#[test]
fn a_lost_last_cell_merges_two_frames() {
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

/// §3: no packet begins above the threshold; a packet that has begun continues.
#[test]
fn epd_refuses_packets_at_their_first_cell() {
    // Three of six cells.
    let mut link = port(6, Discard::Epd(p(0.5)));
    let frame = |first, apart, cells, circuit| Frame { first, apart, cells, circuit };
    let fates = run(
        &mut link,
        &[
            // Finds an empty buffer, and has four cells at once. The threshold does not apply to a
            // packet that has begun.
            frame(0, 0, 4, 1),
            // Finds four cells, and there would be room: only its last cell is stored.
            frame(10, 0, 2, 2),
            // Still finds four: the last cell of the frame before was stored, and one has left.
            frame(1010, 0, 2, 3),
            // Finds three, which is not more than three.
            frame(3_000, 0, 2, 4),
        ],
    );
    assert_eq!(fates, [Ok(4000), Err(DropReason::Early), Err(DropReason::Early), Ok(8000)]);
    let books = link.books();
    assert_eq!((books.dropped_early.packets, books.dropped_buffer.packets), (2, 0));
    let cells = link.cell_books().unwrap();
    assert_eq!((cells.dropped, cells.wasted), (2, 2));
}

/// A packet of a single cell is refused as a whole: its only cell is both first and last.
#[test]
fn a_single_cell_is_refused_like_a_packet() {
    let mut link = port(4, Discard::Epd(p(0.0)));
    let frame = |first, cells, circuit| Frame { first, apart: 0, cells, circuit };
    let fates = run(&mut link, &[frame(0, 2, 1), frame(10, 1, 2), frame(5000, 1, 2)]);
    assert_eq!(fates, [Ok(2000), Err(DropReason::Early), Ok(6000)]);
    assert_eq!(link.cell_books().unwrap().wasted, 0);
}

/// §4: a circuit that has lost a packet has the upper threshold for the next `gap` packets, all
/// others have the lower.
#[test]
fn bpd_raises_the_threshold_after_a_loss() {
    // Lower: 2 of 10; upper: 8.
    let mut link = port(10, bpd(0.2, 0.8, 2));
    let frame = |first, circuit| Frame { first, apart: 0, cells: 1, circuit };
    let filler = Frame { first: 0, apart: 0, cells: 5, circuit: 9 };
    // Four or five cells are stored at any time.
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
    // The first packet of circuit 1 is lost, two pass, the fourth is lost again, and the fifth
    // passes: it is the first of another period.
    assert_eq!(fates, [fine(5), early, early, fine(6), fine(7), early, fine(8), early]);
}

/// §4: an overflow damages a circuit too; above the upper threshold even damaged circuits lose
/// packets.
#[test]
fn bpd_counts_overflows_and_early_drops() {
    let frame = |first, cells, circuit| Frame { first, apart: 0, cells, circuit };
    // Lower: 2 of 6; upper: 4.
    let mut link = port(6, bpd(1.0 / 3.0, 2.0 / 3.0, 1));
    let fates = run(
        &mut link,
        &[
            // Overflows: six of seven cells.
            frame(0, 7, 1),
            // Finds five, above the upper threshold: even circuit 1 loses the packet, and its
            // period restarts.
            frame(1500, 1, 1),
            // Find four: circuit 1 passes, circuit 2 does not.
            frame(2500, 1, 2),
            frame(2600, 1, 1),
            // Finds five, and circuit 1 has used its packet.
            frame(2700, 1, 1),
        ],
    );
    // The cell that passed ends the frame that overflowed, so its packet is lost too.
    let (full, early) = (Err(DropReason::Buffer), Err(DropReason::Early));
    assert_eq!(fates, [full, early, early, full, early]);
    assert_eq!(link.cell_books().unwrap().wasted, 7);
}

#[test]
fn a_reset_keeps_the_stored_cells() {
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
fn a_circuit_is_a_flow_or_a_path() {
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
fn a_port_without_cells_is_refused() {
    assert_eq!(PortConfig::new(0, Discard::Ppd, Circuit::Flow), Err(ConfigError::EmptyBuffer));
    assert_eq!(
        Balanced::new(p(0.5), p(0.25), 3).unwrap_err().to_string(),
        "balanced discard between 0.5 and 0.25 of the buffer is impossible: the first must not be above the second"
    );
}

#[test]
fn times_saturate_at_the_end() {
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
