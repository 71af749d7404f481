//! Random early detection and ECN in whole runs.

mod common;

use common::{CLASSIC, FIXED, Run, VARIABLE, greedy, network, web};
use sim::Scenario;

const DROP_TAIL: &str = r#", "buffer": {"bytes": "150kB"}"#;
const RED: &str = r#", "buffer": {"bytes": "150kB",
    "red": {"min_bytes": "30kB", "max_bytes": "90kB", "gentle": true}}"#;
const RED_IN_PACKETS: &str = r#", "buffer": {"packets": 100, "counts_in_service": false,
    "red": {"min_packets": 20, "max_packets": 60}}"#;

fn with_ecn(mut scenario: Scenario) -> Scenario {
    scenario.tcp.ecn = Some(true);
    scenario
}

/// The bottleneck's early drops, buffer drops and marks, in packets.
fn bottleneck(run: &Run) -> [u64; 3] {
    let links = &run.links;
    for row in 0..links.len() {
        let gone = links.dropped_buffer_packets[row]
            + links.dropped_early_packets[row]
            + links.dropped_loss_packets[row];
        let balance = links.delivered_packets[row] + gone + links.held_packets[row];
        assert_eq!(links.offered_packets[row], balance);
        let gone = links.dropped_buffer_bytes[row]
            + links.dropped_early_bytes[row]
            + links.dropped_loss_bytes[row];
        assert_eq!(
            links.offered_bytes[row],
            links.delivered_bytes[row] + gone + links.held_bytes[row]
        );
    }
    [links.dropped_early_packets[0], links.dropped_buffer_packets[0], links.marked_packets[0]]
}

fn causes(run: &Run, cause: &str) -> usize {
    (0..run.recoveries.len()).filter(|&row| run.recoveries.cause.get(row) == Some(cause)).count()
}

#[test]
fn early_detection_limits_the_queue_and_the_books_balance() {
    for red in [RED, RED_IN_PACKETS] {
        let workloads = [web(FIXED, 0.5), greedy(CLASSIC, 10)].join(",");
        let tail = Run::new(&network("60s", DROP_TAIL, &workloads), 1);
        let early = Run::new(&network("60s", red, &workloads), 1);
        assert_eq!(bottleneck(&tail)[0], 0);
        let [chosen, _, marked] = bottleneck(&early);
        assert!(chosen > 100 && marked == 0, "{chosen} chosen, {marked} marked");
        assert_eq!(causes(&early, "ecn"), 0);
        assert!(early.links.mean_queue_bytes[0] < tail.links.mean_queue_bytes[0] / 2.0);
        assert!(early.links.utilisation[0] > 0.9);
    }
}

#[test]
fn ecn_replaces_drops_by_marks() {
    for sender in [CLASSIC, FIXED, VARIABLE] {
        let workloads = [web(sender, 0.5), greedy(sender, 10)].join(",");
        let dropped = Run::new(&network("60s", RED, &workloads), 2);
        let marked = Run::new(&with_ecn(network("60s", RED, &workloads)), 2);
        let [early, _, marks] = bottleneck(&marked);
        // The average cannot reach twice max_th, so packets dropped early are not ECN-capable. On
        // this path these are retransmissions of packets lost in a full buffer.
        let again: u32 = marked.flows.retransmitted_segments.iter().sum();
        assert!(early <= u64::from(again), "{sender}: {early} dropped, {again} sent again");
        assert!(marks > 1000, "{sender}: {marks} marked");
        let reductions = causes(&marked, "ecn");
        assert!(
            reductions > 100 && reductions as u64 <= marks,
            "{sender}: {reductions} reductions"
        );
        let resent = |run: &Run| run.flows.retransmitted_bytes.iter().sum::<u64>();
        assert!(resent(&marked) < resent(&dropped) / 2, "{sender}");
        assert!(marked.links.utilisation[0] > 0.9);
    }
}

/// Without marks ECN has no effect.
#[test]
fn ecn_without_marks_has_no_effect() {
    let workloads = [web(VARIABLE, 0.8), greedy(CLASSIC, 5)].join(",");
    let scenario = network("30s", DROP_TAIL, &workloads);
    assert_eq!(Run::new(&scenario, 3).digest(), Run::new(&with_ecn(scenario), 3).digest());
}

/// A handshake negotiates ECN, which is otherwise assumed to be negotiated.
#[test]
fn ecn_is_negotiated_with_a_handshake() {
    let workload = |handshake: bool| {
        let flows = greedy(CLASSIC, 10);
        format!(r#"{}, "handshake": {handshake}}}"#, flows.strip_suffix('}').unwrap())
    };
    for handshake in [true, false] {
        let run = Run::new(&with_ecn(network("20s", RED, &workload(handshake))), 4);
        assert!(causes(&run, "ecn") > 10 && bottleneck(&run)[2] > 10, "handshake {handshake}");
    }
}

#[test]
fn early_detection_has_a_stream_of_its_own() {
    let lossy = r#", "loss": {"kind": "packet", "probability": 0.01}"#;
    let workloads = [web(FIXED, 0.5), greedy(CLASSIC, 5)].join(",");
    let scenario = network("20s", &format!("{RED}{lossy}"), &workloads);
    assert_eq!(Run::new(&scenario, 5).digest(), Run::new(&scenario, 5).digest());
    assert_ne!(Run::new(&scenario, 5).digest(), Run::new(&scenario, 6).digest());
    bottleneck(&Run::new(&scenario, 5));
}
