use units::Duration;

use crate::testing::Trace;
use crate::{Closing, SenderKind, Vantage};

#[test]
fn facts_of_a_transfer() {
    let mut trace = Trace::at_server(true);
    trace.data(101.0, 0, 1448);
    trace.data(101.1, 1448, 1000);
    trace.ack(201.0, 2448, &[]);
    trace.data(301.0, 2448, 500);
    trace.ack(401.0, 2948, &[]);
    let (flows, episodes) = trace.analyse();
    assert!(episodes.is_empty());
    let flow = &flows[0];
    let (client, server) = (&flow.halves[0], &flow.halves[1]);
    assert_eq!((client.endpoint.port, server.endpoint.port), (40_000, 80));
    assert_eq!((server.facts.packets, server.facts.data_packets), (4, 3));
    assert_eq!((server.facts.unique_bytes, server.facts.payload_bytes), (2948, 2948));
    assert_eq!((server.facts.initial_window_bytes, server.facts.initial_window_packets), (2448, 2));
    assert_eq!((client.facts.pure_acks, client.facts.duplicate_acks), (3, 0));
    assert_eq!(server.round_trips().count, 2);
    // The newest segment of an acknowledgment is measured.
    assert_eq!(server.round_trips().min, Duration::from_micros(99_900));
    assert_eq!(server.kind(), SenderKind::Linux);
    assert_eq!(server.mss(), 1448);
    assert_eq!(server.vantage(), Vantage::Sender);
    assert_eq!(flow.server_completion(), Some(Duration::from_millis(200)));
    assert_eq!(flow.closing, Closing::Open);
    assert_eq!(flow.syn_rtt.map(|rtt| rtt.as_nanos() / 1000), Some(50));
}

#[test]
fn vantage_is_given_by_the_halves_of_the_round_trip() {
    let ms = Duration::from_millis;
    assert_eq!(Vantage::of(Duration::from_micros(30), ms(20)), Vantage::Sender);
    assert_eq!(Vantage::of(ms(20), Duration::from_micros(30)), Vantage::Receiver);
    assert_eq!(Vantage::of(ms(8), ms(12)), Vantage::Middle);
    assert_eq!(Vantage::of(ms(1), ms(99)), Vantage::Sender);
}

#[test]
fn a_keep_alive_does_not_end_the_server_completion_time() {
    let mut trace = Trace::at_server(true);
    trace.data(101.0, 0, 1448);
    trace.data(151.0, 1448, 1000);
    trace.ack(251.0, 2448, &[]);
    trace.data(60_000.0, 2447, 1);
    trace.ack(60_100.0, 2448, &[]);
    let (flows, _) = trace.analyse();
    assert_eq!(flows[0].halves[1].facts.keep_alives, 1);
    assert_eq!(flows[0].server_completion(), Some(Duration::from_millis(50)));
}
