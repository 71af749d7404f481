use wire::SeqNum;

use super::*;

const SMSS: u32 = 1000;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn seq(segment: u32) -> SeqNum {
    SeqNum::new(segment * SMSS)
}

/// Returns a scoreboard of segments sent one millisecond apart.
fn board(segments: u32) -> Scoreboard {
    let mut board = Scoreboard::default();
    for n in 0..segments {
        board.push(seq(n), SMSS, at(u64::from(n)), false);
    }
    board
}

fn duplicate(ms: u64) -> Duplicate {
    Duplicate { exact: true, newly_sacked: 0, now: at(ms) }
}

fn ack(ms: u64, una: u32, rtt: Option<u64>) -> AckSample {
    let rtt = rtt.map(Duration::from_millis);
    AckSample {
        acked: SMSS,
        smss: SMSS,
        app_limited: false,
        now: at(ms),
        rtt,
        una: seq(una),
        nxt: seq(20),
        forward: None,
    }
}

/// Returns a detector after a round trip of 100 ms. Its timeout is 100 + 2 · (25 − 25/4) ms plus a
/// sixteenth: 146 ms.
fn detector() -> Vegas {
    let mut vegas = Vegas::new();
    vegas.on_ack(&ack(0, 0, Some(100)), &Scoreboard::default());
    assert_eq!(vegas.0.timeout, Duration::from_nanos(146_093_750));
    vegas
}

/// §III-A: the first duplicate is enough once the timeout has passed, and the third in any case.
#[test]
fn duplicate_checks_the_timeout() {
    let board = board(8);
    assert_eq!(detector().on_duplicate(&duplicate(147), &board), Lost::First);
    let mut vegas = detector();
    assert_eq!(vegas.on_duplicate(&duplicate(144), &board), Lost::Nothing);
    assert_eq!(vegas.on_duplicate(&duplicate(145), &board), Lost::Nothing);
    assert_eq!(vegas.on_duplicate(&duplicate(145), &board), Lost::First);
    let window_update = Duplicate { exact: false, ..duplicate(500) };
    assert_eq!(detector().on_duplicate(&window_update, &board), Lost::Nothing);
    assert_eq!(
        Vegas::new().on_duplicate(&duplicate(500), &board),
        Lost::Nothing,
        "nothing measured, no timeout"
    );
}

/// §III-A: the first two acknowledgments after a retransmission are checked, the second only if the
/// first found a loss.
#[test]
fn acks_after_retransmission_check_the_timeout() {
    let mut board = board(8);
    let mut vegas = detector();
    assert_eq!(
        vegas.on_ack(&ack(300, 0, None), &board),
        Lost::Nothing,
        "there was no retransmission"
    );
    for (una, finds) in [(1, true), (2, true), (3, false)] {
        if una == 1 {
            assert_eq!(vegas.on_duplicate(&duplicate(300), &board), Lost::First);
        }
        board.ack(seq(una));
        let lost = vegas.on_ack(&ack(400, una, None), &board);
        assert_eq!(lost == Lost::First, finds, "{una}");
    }
    assert_eq!(vegas.on_duplicate(&duplicate(400), &board), Lost::First);
    board.ack(seq(4));
    board.resend(seq(4), SMSS, at(390));
    assert_eq!(vegas.on_ack(&ack(401, 4, None), &board), Lost::Nothing, "sent a moment ago");
    board.ack(seq(5));
    assert_eq!(vegas.on_ack(&ack(402, 5, None), &board), Lost::Nothing, "the first found none");
}

/// The timeout grows by an eighth for a retransmission, and doubles when the retransmission is lost
/// too.
#[test]
fn lost_retransmission_is_detected_in_recovery() {
    let mut board = board(8);
    let mut vegas = detector();
    assert_eq!(vegas.on_duplicate(&duplicate(200), &board), Lost::First);
    board.resend(seq(0), SMSS, at(200));
    assert_eq!(vegas.on_duplicate_in_recovery(&duplicate(364), &board), Lost::Nothing);
    assert_eq!(vegas.on_duplicate_in_recovery(&duplicate(365), &board), Lost::First);
    board.resend(seq(0), SMSS, at(365));
    assert_eq!(vegas.on_duplicate_in_recovery(&duplicate(365 + 328), &board), Lost::Nothing);
    assert_eq!(vegas.on_duplicate_in_recovery(&duplicate(365 + 329), &board), Lost::First);
}
