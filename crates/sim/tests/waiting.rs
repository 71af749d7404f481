//! The time for which a sender waits for its retransmission timer, and the data received by the
//! end.

mod common;

use common::{CLASSIC, Run, greedy, network};

const SIZE: u64 = 14_600;

fn transfer(duration: &str, drops: &str) -> Run {
    let transfer = format!(
        r#"{{"name": "one", "kind": "transfers", "from": "servers", "to": "clients", "sizes": [{SIZE}],
            "start": "500ms", "spacing": "1s", "sender": "{CLASSIC}"}}"#
    );
    let loss = format!(r#", "loss": {{"kind": "mask", "drops": "{drops}"}}"#);
    Run::new(&network(duration, &loss, &transfer), 1)
}

/// The first segment and its first retransmission are lost: the sender receives nothing until the
/// timer has expired twice.
#[test]
fn silence_before_each_timeout_counts() {
    let run = transfer("100s", "1,1");
    assert_eq!((run.flows.timeouts[0], run.recoveries.len()), (2, 2));
    let since_start = run.recoveries.time_s[1] - 0.5;
    assert!((run.flows.waited_s[0] - since_start).abs() < 1e-9, "{}", run.flows.waited_s[0]);
    assert_eq!(run.flows.received_bytes[0], SIZE);
}

/// The last of ten segments is lost. The acknowledgment of the ninth is the last segment that the
/// sender receives.
#[test]
fn an_acknowledgment_ends_the_silence() {
    let run = transfer("100s", "0,0,0,0,0,0,0,0,0,1");
    assert_eq!((run.flows.timeouts[0], run.flows.fast_retransmits[0]), (1, 0));
    let (waited, until) = (run.flows.waited_s[0], run.recoveries.time_s[0] - 0.5);
    // Three round trips of 100 ms and more are spent on the segments that arrive.
    assert!(waited > 0.5 && waited < until - 0.3, "{waited} of {until}");
}

#[test]
fn fast_retransmit_does_not_wait() {
    let run = transfer("100s", "0,0,0,1");
    assert_eq!((run.flows.timeouts[0], run.flows.fast_retransmits[0]), (0, 1));
    assert_eq!(run.flows.waited_s[0].to_bits(), 0.0_f64.to_bits());
}

/// A run that ends during the wait counts the silence up to its end.
#[test]
fn the_end_of_the_run_ends_a_silence() {
    let run = transfer("2s", "1");
    assert_eq!((run.flows.timeouts[0], run.flows.received_bytes[0]), (0, 0));
    assert!((run.flows.waited_s[0] - 1.5).abs() < 1e-9, "{}", run.flows.waited_s[0]);
}

/// Without loss the last silence is the time between two acknowledgments, and the missing data is
/// in the network.
#[test]
fn a_busy_flow_hardly_waits() {
    let flows = Run::new(&network("20s", "", &greedy(CLASSIC, 1)), 3).flows;
    assert_eq!((flows.len(), flows.timeouts[0]), (1, 0));
    let out = flows.sent_bytes[0] - flows.received_bytes[0];
    assert!(out > 0 && out < flows.sent_bytes[0] / 2, "{out}");
    assert!(flows.waited_s[0] < 0.01, "{}", flows.waited_s[0]);
}
