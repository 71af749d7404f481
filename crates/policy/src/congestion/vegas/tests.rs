use super::*;

const SMSS: u32 = 1000;
const BASE_MS: u64 = 100;

fn vegas(initial: u32) -> Vegas {
    Vegas::new(initial, WindowRules::RFC, VegasThresholds::PAPER)
}

/// A path that holds `holds` segments in a round trip of 100 ms. Further segments wait in a queue.
struct Path {
    vegas: Vegas,
    holds: u32,
    una: SeqNum,
    nxt: SeqNum,
    now: Instant,
}

impl Path {
    fn new(vegas: Vegas, holds: u32) -> Self {
        let start = SeqNum::new(u32::MAX - 5000);
        Self { vegas, holds, una: start, nxt: start, now: Instant::ZERO }
    }

    /// Sends the segments that the window allows, then acknowledges one segment.
    fn step(&mut self) {
        while self.nxt.distance_from(self.una) + SMSS <= self.vegas.cwnd() {
            self.nxt += SMSS;
        }
        let segments = self.nxt.distance_from(self.una) / SMSS;
        let rtt = Duration::from_millis(BASE_MS) * u64::from(segments.max(self.holds));
        let rtt = Duration::from_nanos(rtt.as_nanos() / u64::from(self.holds));
        self.now += Duration::from_millis(1);
        self.una += SMSS;
        let ack = AckSample {
            acked: SMSS,
            smss: SMSS,
            app_limited: false,
            now: self.now,
            rtt: Some(rtt),
            una: self.una,
            nxt: self.nxt,
            forward: None,
        };
        self.vegas.on_ack(&ack, Growth::Standard { step: SMSS, per_rtt: SMSS });
    }

    /// Returns the window after each of the next `acks` acknowledgments.
    fn windows(&mut self, acks: usize) -> Vec<u32> {
        (0..acks)
            .map(|_| {
                self.step();
                self.vegas.cwnd()
            })
            .collect()
    }
}

fn loss(sent_at: u64, now: u64, resent: bool) -> LossSample {
    let at = |ms| Instant::ZERO + Duration::from_millis(ms);
    LossSample {
        smss: SMSS,
        flight: 20_000,
        segment: SMSS,
        duplicates: 3,
        loss_window: SMSS,
        now: at(now),
        sent_at: Some(at(sent_at)),
        resent,
        timer_expired: false,
        already_reduced: false,
    }
}

/// §III-C: the window doubles every other round trip and is constant in between.
#[test]
fn slow_start_doubles_in_every_second_round() {
    let mut path = Path::new(vegas(SMSS), 100);
    assert_eq!(path.windows(2), [1000, 2000], "the first round measures");
    assert_eq!(path.windows(2), [2000, 2000]);
    assert_eq!(path.windows(2), [3000, 4000]);
    assert_eq!(path.windows(4), [4000; 4]);
    assert_eq!(path.windows(4), [5000, 6000, 7000, 8000]);
}

/// §III-C: with more than γ segments in the queue the window is reduced by an eighth.
#[test]
fn slow_start_ends_when_a_queue_grows() {
    let mut path = Path::new(vegas(SMSS), 5);
    let windows = path.windows(60);
    let top = *windows.iter().max().unwrap();
    let end = windows
        .iter()
        .position(|&w| w < top && w > top / 2 && w == top - top / 8)
        .expect("an eighth");
    assert_eq!(top, 8000, "with 4 the queue is empty, with 8 it holds 3");
    assert!(windows[end..].iter().all(|&w| w <= top));
}

/// §III-B: from either side the window converges to one to three queued segments and remains there.
#[test]
fn the_window_settles_between_alpha_and_beta() {
    for (initial, holds) in [(SMSS, 17), (8 * SMSS, 17), (40 * SMSS, 17), (SMSS, 60)] {
        let rules = WindowRules { ssthresh: 2 * SMSS, ..WindowRules::RFC };
        let mut path = Path::new(Vegas::new(initial, rules, VegasThresholds::PAPER), holds);
        // If the window is too large from the first segment on, no packet measures the path without
        // a queue.
        path.vegas.base = Some(Duration::from_millis(BASE_MS));
        path.windows(10_000);
        let last = path.windows(200);
        assert!(last.iter().all(|w| *w == last[0]), "{last:?}");
        let queued = last[0].div_ceil(SMSS) - holds;
        assert!((1..=3).contains(&queued), "{initial} {holds}: {queued}");
    }
}

/// §III-A: losses of one window reduce it once, by a quarter. The loss of a retransmission halves
/// it.
#[test]
fn losses_before_a_decrease_are_ignored() {
    let mut vegas = vegas(20 * SMSS);
    vegas.on_loss(&loss(100, 200, false));
    assert_eq!((vegas.cwnd(), vegas.ssthresh()), (15_000, 15_000));
    vegas.on_loss(&loss(150, 250, false));
    vegas.on_loss(&loss(200, 300, true));
    assert_eq!(vegas.cwnd(), 15_000, "sent before the decrease, or with it");
    vegas.on_loss(&loss(201, 310, false));
    assert_eq!(vegas.cwnd(), 12_000);
    vegas.on_loss(&loss(320, 400, true));
    assert_eq!(vegas.cwnd(), 6000);
    for at in 5..20 {
        vegas.on_loss(&loss(100 * at, 100 * at + 50, false));
    }
    assert_eq!(vegas.cwnd(), 2000);
}

/// A timeout begins a slow start up to half of the previous window. Recovery that sets a window
/// below the threshold begins slow start again.
#[test]
fn a_timeout_begins_a_slow_start() {
    let mut vegas = vegas(20 * SMSS);
    vegas.on_timeout(&loss(100, 200, false));
    assert_eq!((vegas.cwnd(), vegas.ssthresh()), (1000, 10_000));
    vegas.on_timeout(&LossSample { already_reduced: true, ..loss(100, 300, true) });
    assert_eq!(vegas.ssthresh(), 10_000, "held while the same data keep timing out");
    let mut path = Path::new(vegas, 100);
    let windows = path.windows(100);
    assert!(windows.contains(&2000) && windows.contains(&9000), "{windows:?}");
    assert!(windows.iter().all(|&w| w < 20_000), "linear from the threshold on");
}

/// RFC 3168 §6.1.2: marks reduce the window as losses do, down to one segment. At one segment the
/// sender has to wait.
#[test]
fn marks_reduce_down_to_one_segment() {
    let mut vegas = vegas(4 * SMSS);
    let seen: Vec<(u32, bool)> = (0..4)
        .map(|_| {
            let must_wait = vegas.on_mark(&loss(1, 2, false));
            (vegas.cwnd(), must_wait)
        })
        .collect();
    assert_eq!(seen, [(3000, false), (2000, false), (1000, false), (1000, true)]);
}

/// A window that is not used does not grow.
#[test]
fn unused_window_does_not_grow() {
    let mut vegas = vegas(10 * SMSS);
    for n in 1..100 {
        let una = SeqNum::new(n * SMSS);
        let now = Instant::ZERO + Duration::from_millis(u64::from(n) * 100);
        let rtt = Some(Duration::from_millis(100));
        let ack = AckSample {
            acked: SMSS,
            smss: SMSS,
            app_limited: false,
            now,
            rtt,
            una,
            nxt: una + SMSS,
            forward: None,
        };
        vegas.on_ack(&ack, Growth::Standard { step: SMSS, per_rtt: SMSS });
    }
    assert_eq!(vegas.cwnd(), 10_000);
}

/// Variable-size framing sets the small window.
#[test]
fn framing_sets_the_small_window() {
    let mut vegas = vegas(SMSS);
    let (una, nxt) = (SeqNum::new(500), SeqNum::new(1500));
    let ack = AckSample {
        acked: 500,
        smss: SMSS,
        app_limited: false,
        now: Instant::ZERO,
        rtt: None,
        una,
        nxt,
        forward: None,
    };
    vegas.on_ack(&ack, Growth::Window(1320));
    assert_eq!(vegas.cwnd(), 1320);
}
