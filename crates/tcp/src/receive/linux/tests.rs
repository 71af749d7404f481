use std::sync::Arc;

use proptest::prelude::*;
use wire::Mss;

use super::acknowledging::Decision;
use super::window::Tuning;
use super::*;
use crate::config::Receiving;
use crate::receive::Receiver;

const MILLI: u64 = 1_000_000;

fn at(millis: u64) -> Instant {
    Instant::from_nanos(millis * MILLI)
}

fn config(buffer: u32) -> Arc<Config> {
    let options = LinuxReceiver { initial_buffer: buffer, ..LinuxReceiver::LINUX_6_18 };
    Arc::new(Config {
        receiver: Receiving::Linux(options),
        receive_buffer: buffer,
        timestamps: false,
        ..Config::default()
    })
}

fn state(buffer: u32, smss: u32) -> LinuxState {
    let config = config(buffer);
    let options = *config.receiver.linux().unwrap();
    let negotiated = Negotiated::between_equals(&config);
    let offered = LinuxState::initial_window(&options, &config, false);
    LinuxState::new(options, &config, &negotiated, smss, offered)
}

fn text(seq: u32, len: u32, push: bool) -> Text {
    Text {
        seq: SeqNum::new(seq),
        len,
        fin: false,
        push,
        option_bytes: 0,
        ecn: false,
        mark: None,
        echoes_mark: false,
    }
}

/// `tcp_select_initial_window`: half of the buffer, in whole segments.
#[test]
fn initial_window_is_half_of_the_buffer_in_segments() {
    for (buffer, mss, wanted) in [
        (131_072, 1460, 64_240),
        (131_072, 1448, 65_160),
        (540_000, 1460, 268_640),
        (2304, 1460, 1152),
    ] {
        assert_eq!(Window::initial(buffer, mss), wanted, "{buffer} {mss}");
    }
}

/// `tcp_initialize_rcv_mss`: the smallest of the segment sizes, half of the window and 536 bytes,
/// but at least 88.
#[test]
fn first_estimate_of_the_segment_size_is_small() {
    for (buffer, smss, wanted) in [(131_072, 1460, 536), (131_072, 300, 300), (131_072, 50, 88)] {
        assert_eq!(state(buffer, smss).mss, wanted, "{buffer} {smss}");
    }
}

/// `tcp_measure_rcv_mss`: the longest segment up to the announced size. A shorter one counts if two
/// in succession are equal, and long or without PSH.
#[test]
fn segment_size_follows_the_segments() {
    for (arrivals, wanted) in [
        (&[(1000, false)][..], 1000),
        (&[(2000, false)], 1460),
        (&[(1000, false), (800, false)], 1000),
        (&[(1000, false), (800, false), (800, false)], 800),
        (&[(1000, false), (800, true), (800, true)], 800),
        (&[(1000, false), (500, true), (500, true)], 1000),
        (&[(1000, false), (500, false), (500, false)], 500),
        (&[(1000, false), (80, false), (80, false)], 1000),
        (&[(1000, false), (800, false), (900, false), (800, false)], 1000),
    ] {
        let mut state = state(131_072, 1460);
        for &(len, push) in arrivals {
            state.measure(&text(1, len, push), 2304);
        }
        assert_eq!(state.mss, wanted, "{arrivals:?}");
    }
}

/// Segments that a network device has joined count with their own length.
#[test]
fn joined_segments_count_with_their_length() {
    let mut state = state(540_000, 1460);
    state.unit = Some(1000);
    state.measure(&text(1, 10_000, false), 23_040);
    assert_eq!(state.mss, 1000);
}

/// A live kernel of version 6.18 reads 11 segments in its first round trip and 20 in the second.
/// Its window is then bounded by 152 697 bytes. `tcp_rcvbuf_grow`.
#[test]
fn buffer_follows_the_data_of_a_round_trip() {
    const SEGMENT: u32 = 1448;
    let bound = |out_of_order: Option<u32>, late: u32| {
        let scale = WindowScale::for_buffer(32 << 20);
        let mut window = Window::new((131_072, 32 << 20), 64_240, SEGMENT, scale);
        window.measure(SEGMENT, 2304, true);
        window.start(SeqNum::new(0), at(0));
        let facts = Tuning { unread: 0, out_of_order };
        let rtt = Duration::from_millis(15);
        window.tune(SeqNum::new(11 * SEGMENT), rtt, at(15), &facts);
        window.tune(SeqNum::new(12 * SEGMENT), rtt, at(20), &facts);
        window.tune(SeqNum::new(31 * SEGMENT), rtt, at(30), &facts);
        window.tune_for_out_of_order(&Tuning { unread: 0, out_of_order: Some(late) });
        window.full()
    };
    assert_eq!(bound(Some(0), 0), 152_697);
    // Data out of order adds to twice the data of a round trip, without the growth of slow start.
    assert_eq!(bound(Some(0), 90_000), 152_697);
    assert_eq!(bound(Some(0), 100_000), 157_920);
    // Version 6.12 adds 16 segments before the growth.
    assert!(bound(None, 0) > 200_000);
}

/// Receiver of segments of 1448 bytes on a path of 15 ms.
struct Arrivals {
    receiver: Receiver,
    base: SeqNum,
    timer: Instant,
}

impl Arrivals {
    const SEGMENT: u32 = 1448;

    fn new() -> Self {
        let config = Config { receive_buffer: 32 << 20, ..(*config(131_072)).clone() };
        let negotiated = Negotiated::between_equals(&config);
        let mut receiver = Receiver::new(&config);
        receiver.synchronize(SeqNum::new(0));
        let options = *config.receiver.linux().unwrap();
        receiver.become_linux(options, &config, &negotiated, Self::SEGMENT, 64_240);
        receiver.start_linux(false, at(0));
        receiver.measure_echo(1, Some(Duration::from_millis(15)), Self::SEGMENT);
        Self { base: receiver.nxt, receiver, timer: Instant::NEVER }
    }

    /// The segment with this number arrives.
    fn arrive(&mut self, number: u32, millis: u64) {
        let mut text = text(0, Self::SEGMENT, false);
        text.seq = self.base + number * Self::SEGMENT;
        let facts = facts(at(millis), Some(15));
        self.receiver.text_as_linux(&text, &facts, &mut self.timer);
        self.receiver.settle_acknowledgment(&facts, &mut self.timer);
    }

    /// The application reads everything. Returns the full window of the buffer after it.
    fn read(&mut self) -> u32 {
        let taken = self.receiver.read(1 << 20);
        self.receiver.note_read(taken, true);
        self.receiver.special.linux().unwrap().window.full()
    }

    /// Sends the acknowledgment that is due. Returns its window in kbytes, as with a scale of 10.
    fn acknowledge(&mut self) -> u32 {
        assert!(self.receiver.ack_is_due());
        self.receiver.advertise_as_linux(WindowScale::clamped(10));
        self.receiver.acknowledge_as_linux(&mut self.timer);
        self.receiver.special.linux().unwrap().window.offered.div_ceil(1024)
    }
}

/// A segment that fills a hole releases 16 others. The live kernel reads the first of the 17 and
/// measures then, so that the buffer grows one round trip later (`tcp_rcv_space_adjust`).
#[test]
fn long_read_ends_the_measurement_at_its_first_packet() {
    let mut flow = Arrivals::new();
    for number in 1..17 {
        flow.arrive(number, 100);
    }
    flow.arrive(0, 110);
    let before = flow.read();
    assert_eq!(before, 81_920);
    flow.arrive(17, 126);
    assert!(flow.read() > before);
}

/// `tcp_rcv_space_adjust` runs when data is copied. An application is not woken by data out of
/// order, so such data ends no measurement of what the application reads in a round trip.
#[test]
fn reads_without_data_end_no_measurement() {
    let mut flow = Arrivals::new();
    flow.arrive(0, 100);
    let before = flow.read();
    for number in 2..14 {
        flow.arrive(number, 120);
        assert_eq!(flow.read(), before);
    }
    // Fourteen segments since the first read, of which twelve wait behind the first of this read.
    flow.arrive(1, 121);
    assert_eq!(flow.read(), before);
    flow.arrive(15, 122);
    flow.read();
    flow.arrive(16, 140);
    assert_eq!(flow.read(), before, "the measurement that began at 121 ms has 12 segments");
}

/// Linux sends an acknowledgment without delay before the application can read. What it releases
/// is still in the buffer then. Live replies of the kernel show these windows where 11, 14 and 8
/// segments had arrived with the one that filled the hole.
#[test]
fn window_of_an_acknowledgment_at_once_precedes_the_read() {
    for (segments, wanted) in [(11, 65), (14, 61), (8, 69)] {
        let mut flow = Arrivals::new();
        for number in 1..segments {
            flow.arrive(number, 100);
            flow.read();
        }
        flow.arrive(0, 110);
        flow.read();
        assert_eq!(flow.acknowledge(), wanted, "{segments}");
    }
}

fn acknowledging() -> Acknowledging {
    Acknowledging::new(LinuxRtoConfig::HZ_1000, false)
}

fn facts(now: Instant, srtt: Option<u64>) -> Facts {
    Facts { now, rto: Duration::from_millis(300), srtt: srtt.map(Duration::from_millis) }
}

/// `tcp_event_data_recv`: the delay follows the time between arrivals. It is halved towards 40 ms,
/// or raised up to 200 ms; a silence longer than the timeout begins acknowledgments at once.
#[test]
fn delay_follows_the_arrivals() {
    for (gaps, wanted, begins) in [
        (&[0][..], 40, true),
        (&[0, 10], 40, false),
        (&[0, 30], 50, false),
        (&[0, 39, 50], 79, false),
        (&[0, 39, 50, 10], 59, false),
        (&[0, 39, 50, 70, 90, 110], 182, false),
        (&[0, 39, 50, 70, 90, 110, 120], 200, false),
        (&[0, 250], 40, false),
        (&[0, 301], 40, true),
    ] {
        let mut acks = acknowledging();
        let mut now = 1000;
        let mut last = false;
        for gap in gaps {
            now += gap;
            last = acks.note_data(&facts(at(now), None));
        }
        let delay = acks.delay();
        assert_eq!((delay, last), (Duration::from_millis(wanted), begins), "{gaps:?}");
    }
}

/// `tcp_send_delayed_ack`: a delay of more than 40 ms is at most the round-trip time. One that runs
/// is not extended, and ends at once within a quarter of the delay.
#[test]
fn delay_is_bounded_by_the_round_trip() {
    let raised = || {
        let mut acks = acknowledging();
        for now in [1000, 1039, 1089] {
            acks.note_data(&facts(at(now), None));
        }
        acks
    };
    for (srtt, wanted) in [(None, 79), (Some(10), 40), (Some(50), 50), (Some(90), 79)] {
        let expiry = LinuxRtoConfig::HZ_1000.wheel_expiry(at(1089), Duration::from_millis(wanted));
        let decision = raised().delayed(&facts(at(1089), srtt));
        assert_eq!(decision, Decision::At(expiry), "{srtt:?}");
    }
    let mut acks = raised();
    assert!(matches!(acks.delayed(&facts(at(1089), None)), Decision::At(_)));
    assert_eq!(acks.delayed(&facts(at(1100), None)), Decision::Nothing);
    assert_eq!(acks.delayed(&facts(at(1150), None)), Decision::Now);
}

/// `tcp_delack_timer_handler`: a delay that expires doubles, or ends the interactive mode.
#[test]
fn expiry_changes_the_delay() {
    for (interactive, wanted) in [(false, 80), (true, 40)] {
        let mut acks = acknowledging();
        acks.note_data(&facts(at(1000), None));
        acks.schedule();
        if interactive {
            acks.note_reply(at(1010));
        }
        assert!(matches!(acks.delayed(&facts(at(1010), None)), Decision::At(_)));
        assert!(acks.on_timeout(Duration::from_millis(300)));
        assert_eq!(acks.delay(), Duration::from_millis(wanted), "{interactive}");
        acks.raise_quick(1);
        assert!(acks.is_immediate(), "no longer interactive");
    }
}

/// `tcp_event_data_sent`: data within the delay after data is a reply.
#[test]
fn reply_makes_the_connection_interactive() {
    for (after, interactive) in [(0, true), (39, true), (40, false)] {
        let mut acks = acknowledging();
        acks.note_data(&facts(at(1000), None));
        acks.raise_quick(16);
        acks.note_reply(at(1000 + after));
        assert_eq!(acks.is_immediate(), !interactive, "{after}");
    }
}

/// `__tcp_ack_snd_check`: three duplicates at once, then at most 44 together, in 5 % of the
/// round-trip time and at most 1 ms. The count begins again when RCV.NXT advances.
#[test]
fn acknowledgments_of_out_of_order_data_are_compressed() {
    let options = LinuxReceiver::LINUX_6_18;
    let mut acks = acknowledging();
    let mut decide = |nxt: u32, rtt: u64| {
        let rtt = Duration::from_millis(rtt);
        acks.of_out_of_order(&options, SeqNum::new(nxt), rtt, at(1000))
    };
    for _ in 0..3 {
        assert_eq!(decide(7, 10), Decision::Now);
    }
    assert_eq!(decide(7, 10), Decision::At(at(1000) + Duration::from_micros(500)));
    for _ in 1..44 {
        assert_eq!(decide(7, 10), Decision::Nothing);
    }
    assert_eq!(decide(7, 10), Decision::Now);
    acks.note_sent();
    let mut decide = |nxt: u32| {
        acks.of_out_of_order(&options, SeqNum::new(nxt), Duration::from_millis(100), at(1000))
    };
    assert_eq!(decide(7), Decision::At(at(1001)));
    assert_eq!(decide(8), Decision::Now);
}

/// The receiver measures the minimum time of a window, and averages the echoes of full segments.
#[test]
fn round_trip_of_the_receiver() {
    let mut rtt = ReceiverRtt::default();
    rtt.measure_window(SeqNum::new(1), 1000, at(0));
    rtt.measure_window(SeqNum::new(900), 1000, at(50));
    assert_eq!(rtt.get(), None);
    rtt.measure_window(SeqNum::new(1001), 1000, at(80));
    assert_eq!(rtt.get(), Some(Duration::from_millis(80)));
    rtt.measure_window(SeqNum::new(2001), 1000, at(180));
    assert_eq!(rtt.get(), Some(Duration::from_millis(80)));
    rtt.measure_echo(1, Some(Duration::from_millis(160)), false);
    rtt.measure_echo(1, Some(Duration::from_millis(160)), true);
    assert_eq!(rtt.get(), Some(Duration::from_millis(80)), "short, then echoed before");
    rtt.measure_echo(2, Some(Duration::from_millis(160)), true);
    assert_eq!(rtt.get(), Some(Duration::from_millis(90)));
    rtt.measure_echo(3, Some(Duration::from_millis(40)), true);
    assert_eq!(rtt.get(), Some(Duration::from_millis(40)));
}

fn blocks_of(blocks: &Blocks) -> Vec<(u32, u32)> {
    blocks.iter().map(|block| (block.start().value(), block.end().value())).collect()
}

fn range(start: u32, end: u32) -> SeqRange {
    SeqRange::new(SeqNum::new(start), SeqNum::new(end)).unwrap()
}

/// `tcp_sack_new_ofo_skb`: the newest first, adjacent ones joined, a fifth displaces the oldest.
#[test]
fn four_blocks_are_kept() {
    let mut blocks = Blocks::default();
    for start in [10, 20, 30, 40, 50] {
        blocks.add(range(start, start + 5));
    }
    assert_eq!(blocks_of(&blocks), [(50, 55), (40, 45), (30, 35), (20, 25)]);
    blocks.add(range(25, 30));
    assert_eq!(blocks_of(&blocks), [(20, 35), (50, 55), (40, 45)]);
    blocks.remove_below(SeqNum::new(40));
    assert_eq!(blocks_of(&blocks), [(50, 55)]);
}

proptest! {
    /// The rules for acknowledgments do not change which data is accepted.
    #[test]
    fn data_is_accepted_as_by_the_rfc_receiver(
        start in prop_oneof![Just(0u32), Just(u32::MAX - 3000)],
        order in prop::collection::vec((0..40u32, 1..5u32, any::<bool>()), 1..200),
    ) {
        let config = config(131_072);
        let plain = Config { receive_buffer: 64_240, ..Config::default() };
        let negotiated = Negotiated::between_equals(&config);
        let mut rfc = Receiver::new(&plain);
        let mut linux = Receiver::new(&config);
        rfc.synchronize(SeqNum::new(start));
        linux.synchronize(SeqNum::new(start));
        let options = *config.receiver.linux().unwrap();
        linux.become_linux(options, &config, &negotiated, 1460, 64_240);
        let base = rfc.nxt;
        let (mut timers, mut now) = ([Instant::NEVER; 2], 0);
        for (block, count, reads) in order {
            now += 1;
            let seq = base + block * 50;
            let len = count * 50;
            let delays = crate::config::DelayedAck::RFC;
            let a = rfc.text(seq, len, 1, at(now), &delays, &mut timers[0]);
            let mut text = text(0, len, reads);
            text.seq = seq;
            let facts = facts(at(now), Some(10));
            let b = linux.text_as_linux(&text, &facts, &mut timers[1]);
            linux.settle_acknowledgment(&facts, &mut timers[1]);
            prop_assert_eq!(a, b);
            prop_assert_eq!((rfc.nxt, rfc.unread()), (linux.nxt, linux.unread()));
            if reads {
                let taken = rfc.read(1000);
                prop_assert_eq!(linux.read(1000), taken);
                linux.note_read(taken, true);
            }
            let out_of_order = linux.has_out_of_order();
            prop_assert_eq!(rfc.has_out_of_order(), out_of_order);
            // RFC 2018 §4: blocks lie above RCV.NXT and do not overlap. They report nothing else.
            let reported: Vec<SeqRange> = linux.special.linux().unwrap().blocks.iter().collect();
            prop_assert!(reported.is_empty() || out_of_order);
            for (index, block) in reported.iter().enumerate() {
                prop_assert!(block.start().after(linux.nxt));
                prop_assert!(linux.out_of_order.iter().any(|held| held.contains(*block)));
                prop_assert!(reported[..index].iter().all(|other| !other.touches(*block)));
            }
            // An acknowledgment is due, or a timer runs, or everything is acknowledged.
            let waits = linux.nxt != linux.last_ack_sent;
            prop_assert!(!waits || linux.ack_is_due() || timers[1] != Instant::NEVER);
            if linux.ack_is_due() {
                linux.advertise_as_linux(WindowScale::NONE);
                linux.acknowledge_as_linux(&mut timers[1]);
                linux.blocks_as_linux(4);
                while linux.ack_is_due() {
                    linux.acknowledge_as_linux(&mut timers[1]);
                    linux.blocks_as_linux(4);
                }
            }
        }
    }

    /// The window never shrinks below what was promised, and fits the buffer.
    #[test]
    fn promised_window_is_kept(
        arrivals in prop::collection::vec((1..3000u32, any::<bool>()), 1..100),
        buffer in 2304..600_000u32,
    ) {
        let config = config(buffer);
        let negotiated = Negotiated::between_equals(&config);
        let options = *config.receiver.linux().unwrap();
        let mut linux = Receiver::new(&config);
        linux.synchronize(SeqNum::new(0));
        linux.become_linux(options, &config, &negotiated, 1460, Window::initial(buffer, 1460));
        let (mut timer, mut now) = (Instant::NEVER, 0);
        let mut edge = linux.nxt + linux.window();
        for (len, reads) in arrivals {
            now += 1;
            let facts = facts(at(now), None);
            let mut text = text(0, len, false);
            text.seq = linux.nxt;
            linux.text_as_linux(&text, &facts, &mut timer);
            linux.settle_acknowledgment(&facts, &mut timer);
            if reads {
                let taken = linux.read(u32::MAX);
                linux.note_read(taken, true);
            }
            linux.advertise_as_linux(negotiated.receive_scale);
            linux.acknowledge_as_linux(&mut timer);
            let next = linux.nxt + linux.window();
            prop_assert!(!next.before(edge));
            prop_assert!(linux.window() <= buffer + (1 << negotiated.receive_scale.shift()));
            edge = next;
        }
    }
}

#[test]
fn smallest_segment_size_is_accepted() {
    let config = Config { mss: Mss::LEAST, ..Config::default() };
    let options = LinuxReceiver::LINUX_6_12;
    assert!(LinuxState::initial_window(&options, &config, true) > 0);
}
