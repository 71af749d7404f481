//! RFC 9406 §4.2, clause by clause.

use proptest::prelude::*;
use units::{Duration, Instant};

use super::*;

const MSS: u32 = 1000;
const START: SeqNum = SeqNum::new(1);

/// A connection in slow start whose every acknowledgment covers one packet.
struct Flow {
    exit: HyStartPlusPlus,
    window: PacketWindow,
    una: SeqNum,
    nxt: SeqNum,
    paced: bool,
}

impl Flow {
    fn new(cwnd: u32) -> Self {
        let nxt = START + cwnd * MSS;
        let window = PacketWindow::new(cwnd);
        Self { exit: HyStartPlusPlus::new(nxt), window, una: START, nxt, paced: true }
    }

    fn ack(&mut self, rtt_ms: u32) {
        self.una += MSS;
        let rtt = Duration::from_millis(u64::from(rtt_ms));
        let (now, una, nxt, paced) = (Instant::ZERO, self.una, self.nxt, self.paced);
        let sample = PacketRtt { now, rtt, una, nxt, paced, pacing_rate: 0 };
        self.exit.on_rtt(&mut self.window, &sample, rtt_ms * 1000);
        let growth = self.exit.growth(&self.window, 1);
        self.window.slow_start(growth);
        self.nxt = self.una + self.window.cwnd * MSS;
    }

    /// Acknowledges the rest of a round. Each packet has the same round-trip time.
    fn round(&mut self, rtt_ms: u32) {
        let end = self.exit.window_end;
        while self.exit.window_end == end {
            self.ack(rtt_ms);
        }
    }
}

/// CSS begins with the eighth sample of a round whose minimum exceeds that of the round before by
/// an eighth, at least 4 ms and at most 16 ms.
#[test]
fn a_higher_delay_begins_css() {
    // Minimum of a round and of the next, in ms; whether CSS begins.
    let table = [
        (10, 13, false),
        (10, 14, true),
        (80, 89, false),
        (80, 90, true),
        (128, 144, true),
        (400, 415, false),
        (400, 416, true),
    ];
    for (before, after, begins) in table {
        let mut flow = Flow::new(20);
        flow.round(before);
        for _ in 0..7 {
            flow.ack(after);
            assert!(!flow.exit.is_in_css(), "{before} {after}");
        }
        flow.ack(after);
        assert_eq!(flow.exit.is_in_css(), begins, "{before} {after}");
        assert!(flow.window.is_in_slow_start());
    }
}

/// A round ends when `windowEnd` is acknowledged, and not before.
#[test]
fn a_round_ends_at_window_end() {
    let mut flow = Flow::new(4);
    let end = flow.exit.window_end;
    for _ in 0..3 {
        flow.ack(100);
        assert_eq!(flow.exit.window_end, end);
    }
    flow.ack(100);
    // The window had grown to seven packets when the acknowledgment arrived.
    assert_eq!((flow.una, flow.exit.window_end), (end, START + 10 * MSS));
    assert_eq!(flow.exit.samples, 0);
}

/// The first round has no round before it. A round with fewer than eight samples begins nothing.
#[test]
fn css_needs_two_rounds_and_eight_samples() {
    let mut flow = Flow::new(20);
    flow.round(100);
    assert_eq!(flow.exit.last_round_min, 100_000);
    let mut small = Flow::new(3);
    for rtt in [100, 300] {
        small.round(rtt);
        assert!(!small.exit.is_in_css());
    }
}

/// In CSS the window grows by a quarter of the packets. After five rounds, of which the first is
/// partial, slow start ends at the window.
#[test]
fn css_ends_slow_start_after_five_rounds() {
    let mut flow = Flow::new(20);
    flow.round(100);
    for _ in 0..8 {
        flow.ack(150);
    }
    assert!(flow.exit.is_in_css());
    for round in 1..=5 {
        assert!(flow.window.is_in_slow_start(), "round {round}");
        let (cwnd, packets) =
            (flow.window.cwnd, flow.exit.window_end.distance_from(flow.una) / MSS);
        flow.round(150);
        let grown = flow.window.cwnd - cwnd;
        assert!(grown.abs_diff(packets / 4) <= 1, "round {round}: {grown} of {packets}");
    }
    assert_eq!(flow.window.ssthresh, flow.window.cwnd);
    assert!(!flow.window.is_in_slow_start());
}

/// A minimum below that at the begin of CSS resumes slow start, with the full growth. A later
/// increase begins CSS again, for five rounds.
#[test]
fn a_lower_delay_resumes_slow_start() {
    let mut flow = Flow::new(20);
    flow.round(100);
    flow.round(150);
    assert!(flow.exit.is_in_css());
    assert_eq!(flow.exit.css_rounds, 1);
    for _ in 0..8 {
        flow.ack(149);
    }
    assert!(!flow.exit.is_in_css());
    let cwnd = flow.window.cwnd;
    flow.ack(149);
    assert_eq!((flow.window.cwnd, flow.exit.css_rounds), (cwnd + 1, 0));
    flow.round(149);
    flow.round(180);
    assert!(flow.exit.is_in_css() && flow.exit.css_rounds == 1);
}

/// L: an acknowledgment counts at most 8 packets without pacing, and any number with pacing. CSS
/// divides after the limit and keeps the remainder.
#[test]
fn growth_is_limited_and_divided() {
    // Paced, in CSS, packets acknowledged; packets of growth of three acknowledgments.
    let table = [
        (true, false, 20, [20, 20, 20]),
        (false, false, 20, [8, 8, 8]),
        (false, false, 3, [3, 3, 3]),
        (true, true, 20, [5, 5, 5]),
        (false, true, 20, [2, 2, 2]),
        (false, true, 3, [0, 1, 1]),
    ];
    for (paced, css, acked, growth) in table {
        let mut flow = Flow::new(20);
        flow.exit.paced = paced;
        flow.exit.css_baseline = if css { 100 } else { NONE };
        let seen = [0; 3].map(|_: u32| flow.exit.growth(&flow.window, acked));
        assert_eq!(seen, growth, "{paced} {css} {acked}");
    }
}

/// RFC 9406 §4.3: after a loss, slow start ends at `ssthresh` only, and every packet counts.
#[test]
fn later_slow_starts_are_unchanged() {
    let mut flow = Flow::new(20);
    flow.window.ssthresh = 1000;
    for rtt in [100, 300] {
        for _ in 0..40 {
            flow.ack(rtt);
        }
    }
    assert!(!flow.exit.is_in_css());
    assert_eq!(flow.exit.growth(&flow.window, 20), 20);
}

proptest! {
    /// The window grows at most by the packets acknowledged, and slow start ends at the window.
    #[test]
    fn growth_never_exceeds_the_packets(
        cwnd in 2..60u32,
        paced: bool,
        rtts in proptest::collection::vec(1..300u32, 1..2000),
    ) {
        let mut flow = Flow { paced, ..Flow::new(cwnd) };
        for rtt in rtts {
            let before = flow.window.cwnd;
            flow.ack(rtt);
            prop_assert!(flow.window.cwnd - before <= 1);
            prop_assert!(flow.exit.css_rounds <= CSS_ROUNDS);
            if !flow.window.is_in_slow_start() {
                prop_assert_eq!(flow.window.ssthresh, flow.window.cwnd);
                break;
            }
        }
    }

    /// Constant delays never begin CSS.
    #[test]
    fn a_steady_delay_keeps_slow_start(rtt in 1..400u32, jitter in 0..4u32) {
        let mut flow = Flow::new(10);
        for index in 0..500 {
            flow.ack(rtt + index * jitter % 4);
            prop_assert!(!flow.exit.is_in_css());
        }
    }
}
