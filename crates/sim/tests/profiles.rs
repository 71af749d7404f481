//! Profiles in scenarios: the receiver and the sender that they select.

mod common;

use common::Run;
use sim::Scenario;

/// One reply of `size` bytes over a path with a round-trip time of 100 ms.
fn reply(size: u64, tcp: &str, sender: &str) -> Run {
    let json = format!(
        r#"{{
            "name": "test", "duration": "20s",
            "link": [
                {{"name": "down", "from": "server", "to": "client", "delay": "50ms"}},
                {{"name": "up", "from": "client", "to": "server", "delay": "50ms"}}
            ],
            "workload": [{{
                "name": "one", "kind": "transfers", "from": "server", "to": "client",
                "sizes": [{size}]{sender}
            }}],
            "tcp": {tcp}
        }}"#
    );
    Run::new(&Scenario::from_json(&json).expect("a scenario"), 1)
}

const RENO: &str = r#", "sender": "reno+sack / full / iw=10""#;

/// A Linux receiver acknowledges the first segments at once. RFC 5681 delays the acknowledgment of
/// one segment.
#[test]
fn the_receiver_is_that_of_the_host() {
    let cases = [
        (r#"{"profile": "rfc"}"#, 0.3),
        (r#"{"profile": "rfc", "receiver": "linux-6.18"}"#, 0.1),
        (r#"{"profile": "linux-6.18"}"#, 0.1),
        (r#"{"profile": "linux-6.12"}"#, 0.1),
        (r#"{"profile": "linux-6.18", "receiver": "rfc"}"#, 0.3),
        (r#"{"profile": "linux-6.18", "ack_every": 1}"#, 0.1),
        (r#"{"profile": "linux-6.18", "ack_delay": "30ms"}"#, 0.13),
    ];
    for (tcp, acknowledged) in cases {
        let run = reply(1000, tcp, RENO);
        let found = run.flows.sender_s.get(0).expect("the reply is acknowledged");
        assert!((found - acknowledged).abs() < 1e-9, "{tcp}: {found}");
    }
}

/// 100 segments: 16 quick acknowledgments or more, then one for two segments.
#[test]
fn a_linux_receiver_sends_fewer_acknowledgments_after_the_first() {
    let acknowledgments = |tcp: &str| reply(144_800, tcp, RENO).links.offered_packets[1];
    let every = acknowledgments(r#"{"profile": "linux-6.18", "ack_every": 1}"#);
    let second = acknowledgments(r#"{"profile": "linux-6.18", "ack_every": 2}"#);
    let linux = acknowledgments(r#"{"profile": "linux-6.18"}"#);
    assert_eq!(every, 100);
    assert!(second <= 55, "{second}");
    assert!(second < linux && linux < every, "{second} < {linux} < {every}");
}

#[test]
fn a_linux_profile_has_a_sender() {
    let run = reply(1000, r#"{"profile": "linux-6.18"}"#, "");
    assert_eq!(run.flows.variant.get(0), Some("cubic+rack+tlp+prr / full / iw=10"));
    let run = reply(1000, r#"{"profile": "linux-6.12"}"#, "");
    let name = "cubic(hystart=late)+rack+tlp+prr / full / iw=10";
    assert_eq!(run.flows.variant.get(0), Some(name));
}

/// Flows without a handshake know the window of the receiver, which begins with about 64 kbytes.
#[test]
fn a_linux_window_grows() {
    let sender = r#", "sender": "reno+sack / full / iw=10""#;
    let run = reply(2_000_000, r#"{"profile": "linux-6.18"}"#, sender);
    assert!(run.flows.sender_s.get(0).is_some_and(|time| time < 2.0));
    assert_eq!(run.flows.retransmitted_segments[0], 0);
}

/// Two replies of one segment each, started 1 ms apart, whose first transmissions are lost. Their
/// timers expire in the same slot of the kernel's wheel, which is a stack.
#[test]
fn timers_of_one_slot_expire_in_the_reverse_order() {
    let first_repaired = |tick: &str| {
        let json = format!(
            r#"{{
                "name": "test", "duration": "5s",
                "tcp": {{"profile": "linux-6.18", "tick": "{tick}"}},
                "link": [
                    {{"name": "down", "from": "server", "to": "client", "delay": "20ms",
                      "rate": "1Mb/s", "loss": {{"kind": "mask", "drops": "1,1"}}}},
                    {{"name": "up", "from": "client", "to": "server", "delay": "20ms"}}
                ],
                "workload": [{{
                    "name": "two", "kind": "transfers", "from": "server", "to": "client",
                    "sizes": [1000, 1000], "spacing": "1ms", "sender": "linux"
                }}]
            }}"#
        );
        let run = Run::new(&Scenario::from_json(&json).expect("a scenario"), 1);
        assert_eq!(run.flows.retransmitted_segments.iter().sum::<u32>(), 2);
        // Rows are in the order of completion.
        run.flows.flow[0]
    };
    assert_eq!(first_repaired("4ms"), 1);
    assert_eq!(first_repaired("0s"), 0);
}
