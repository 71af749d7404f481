//! Replies that exceed the memory of a sender of Linux.

#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

use sim::{Scenario, Simulation, Status};

/// Simulates a reply of 40 segments, the last one 100 bytes shorter, with an RTT of 20 ms. `drops`
/// are the lost data segments. Returns the numbers of the segments in the order in which they were
/// sent.
fn sent(memory: &str, drops: &[usize]) -> Vec<u32> {
    let mask: Vec<&str> = (0..=drops.iter().copied().max().unwrap_or(0))
        .map(|i| if drops.contains(&i) { "1" } else { "0" })
        .collect();
    let json = format!(
        r#"{{"name": "reply", "duration": "60s", "trace": ["one"],
        "tcp": {{"profile": "linux-6.18"{memory}}},
        "link": [
            {{"name": "down", "from": "server", "to": "client", "delay": "10ms",
              "loss": {{"kind": "mask", "drops": "{}"}}}},
            {{"name": "up", "from": "client", "to": "server", "delay": "10ms", "rate": "10Gb/s"}}],
        "workload": [{{"name": "one", "kind": "transfers", "from": "server", "to": "client",
            "sizes": [{}], "start": "2s", "sender": "linux", "handshake": true,
            "opener": "receiver"}}]}}"#,
        mask.join(","),
        40 * 1448 - 100
    );
    let scenario = Scenario::from_json(&json).unwrap();
    let mut simulation = Simulation::new(&scenario, 1).unwrap();
    while simulation.advance(100_000) == Status::Running {}
    let packets = simulation.take_packets();
    (0..packets.len())
        .filter(|&row| packets.event.get(row) == Some("sent"))
        .filter(|&row| packets.from.get(row) == Some("sender") && packets.payload_bytes[row] > 0)
        .map(|row| packets.seq[row] / 1448)
        .collect()
}

/// The segments that Linux 6.18 sent in replies of 40 segments over `tcpsf link`. After the first
/// 32 there is nothing to send before the application is woken, and the end of the data follows the
/// retransmission, because the application closes the connection later.
#[test]
fn segments_are_those_of_the_kernel() {
    let to = |count: u32| 0..count;
    let repaired = |lost: u32| to(39).chain([lost, 39]).collect::<Vec<u32>>();
    assert_eq!(sent("", &[14]), repaired(14));
    assert_eq!(sent("", &[22]), repaired(22));
    assert_eq!(sent("", &[5]), to(22).chain([5]).chain(22..40).collect::<Vec<u32>>());
    assert_eq!(sent("", &[]), to(40).collect::<Vec<u32>>());
}

/// With all data in memory, the last segment leaves before the retransmission.
#[test]
fn unlimited_memory_takes_a_reply_at_once() {
    let found = sent(r#", "send_memory": "unlimited""#, &[14]);
    assert_eq!(found, (0..40).chain([14]).collect::<Vec<u32>>());
}

/// Records longer and shorter than a buffer arrive, and so do replies that lost packets delay.
#[test]
fn replies_and_records_of_every_length_complete() {
    let json = |memory: &str, records: &str| {
        format!(
            r#"{{"name": "records", "duration": "300s",
            "tcp": {{"profile": "linux-6.18", "send_memory": "{memory}"}},
            "link": [
                {{"name": "down", "from": "server", "to": "client", "delay": "10ms",
                  "rate": "10Mb/s", "buffer": {{"bytes": "60kB"}}, "loss": {{"kind": "packet", "probability": 0.02}}}},
                {{"name": "up", "from": "client", "to": "server", "delay": "10ms"}}],
            "workload": [{{"name": "one", "kind": "transfers", "from": "server", "to": "client",
                "sizes": [300000, 7, 46080, 31856, 1000000], "spacing": "20s", "start": "1s",
                "sender": "linux", "handshake": true, "opener": "receiver"{records}}}]}}"#
        )
    };
    for memory in ["linux", "unlimited"] {
        for records in ["", r#", "records": [400]"#, r#", "records": [40000, 1, 3000]"#] {
            let scenario = Scenario::from_json(&json(memory, records)).unwrap();
            let mut simulation = Simulation::new(&scenario, 4).unwrap();
            while simulation.advance(1_000_000) == Status::Running {}
            let flows = simulation.take_flows();
            assert_eq!(flows.len(), 5, "{memory} {records}");
            assert_eq!(flows.receiver_s.nulls(), 0, "{memory} {records}");
        }
    }
}
