use units::Duration;

use super::*;

fn config(plan: Plan, path: PathConfig) -> PairConfig {
    let end = |iss| EndConfig { tcp: Config::default(), iss: SeqNum::new(iss), plan };
    PairConfig { ends: [end(1), end(u32::MAX)], paths: [path; 2], both_connect: false, seed: 1 }
}

#[test]
fn both_directions_are_delivered_and_both_ends_close() {
    let path = PathConfig { delay: Duration::from_millis(10), ..PathConfig::default() };
    let mut pair = Pair::new(&config(Plan::eager(100_000), path));
    let connected = pair.drive(Goal::Connected).unwrap();
    // SYN, SYN-ACK and ACK take 10 ms each.
    assert_eq!(connected.at, Instant::from_nanos(30_000_000));
    let trace = pair.trace().to_string();
    let lines: Vec<&str> = trace.lines().take(3).collect();
    assert_eq!(
        lines,
        [
            "    0s A S 0:0(0) win 65535 mss 1460 ws 5 sackOK ts 1:0",
            "    0.01s B S. 0:0(0) ack 1 win 65535 mss 1460 ws 5 sackOK ts 11:1",
            "    0.02s A . 1:1(0) ack 1 win 1048576 ts 21:11",
        ]
    );
    pair.drive(Goal::Delivered).unwrap();
    let closed = pair.drive(Goal::Closed).unwrap();
    assert!(closed.at > Instant::ZERO + Config::default().msl * 2);
    assert_eq!(pair.connection(End::A).statistics().retransmitted_segments, 0);
}

#[test]
fn failed_run_shows_its_last_segments() {
    let path = PathConfig { loss: 1000, ..PathConfig::default() };
    let failure =
        Pair::new(&config(Plan::eager(1), path)).drive(Goal::Connected).unwrap_err().to_string();
    let lines: Vec<&str> = failure.lines().collect();
    // The connection times out when the last of eight SYNs is not answered.
    assert_eq!(lines.len(), 1 + 8 + 2, "{failure}");
    assert!(lines[0].ends_with("both ends wait for ever; the goal was Connected"), "{failure}");
    assert_eq!(lines[1], "    0s A S 0:0(0) win 65535 mss 1460 ws 5 sackOK ts 1:0  (lost)");
    assert!(lines[9].starts_with("    A CLOSED"), "{failure}");
    assert!(lines[10].starts_with("    B LISTEN"), "{failure}");
}
