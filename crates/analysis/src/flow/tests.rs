use units::Duration;

use crate::testing::Trace;
use crate::{Cause, Closing, SenderKind, Spurious, Vantage};

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
fn responses_are_transfers() {
    let mut trace = Trace::at_server(true);
    trace.request(101.0, 0, 100, 0);
    trace.data(101.5, 0, 1448);
    // A packet that offload has joined.
    trace.data(101.6, 1448, 2896);
    trace.ack(201.0, 1448, &[]);
    trace.data(201.1, 4344, 100);
    trace.ack(300.0, 4444, &[]);
    // The second request also acknowledges, and the response follows at once.
    trace.request(400.0, 100, 100, 4444);
    trace.data(400.2, 4444, 700);
    trace.data(700.2, 4444, 700);
    trace.ack(800.2, 5144, &[]);
    // The server has more to send on its own.
    trace.data(950.0, 5144, 50);
    let found: Vec<_> = trace.transfers().iter().map(|each| each.transfer).collect();
    let numbers: Vec<_> = found
        .iter()
        .map(|each| (each.number, each.bytes, each.segments, each.first_segments))
        .collect();
    assert_eq!(numbers, [(0, 4444, 4, 3), (1, 700, 1, 1), (2, 50, 1, 1)]);
    let ms = |one: crate::flow::Transfer| {
        one.acknowledged_at.map(|at| at.since(one.started_at).as_nanos() / 100_000)
    };
    assert_eq!(
        found.iter().map(|&one| ms(one)).collect::<Vec<_>>(),
        [Some(1985), Some(4000), None]
    );
    let again: Vec<_> = found.iter().map(|each| each.retransmitted_packets).collect();
    assert_eq!(again, [0, 1, 0]);
}

#[test]
fn a_window_of_one_segment_is_one_transfer() {
    let mut trace = Trace::at_server(true);
    for number in 0..4_u32 {
        let at = 101.0 + 100.0 * f64::from(number);
        trace.data(at, 1000 * number, 1000);
        trace.ack(at + 99.9, 1000 * (number + 1), &[]);
    }
    let found = trace.transfers();
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].transfer.segments, found[0].transfer.first_segments), (4, 1));
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

#[test]
fn acknowledgments_of_a_flight_measure_the_rate() {
    let mut trace = Trace::at_server(true);
    for number in 0..6 {
        trace.data(101.0, 1448 * number, 1448);
    }
    for number in 1..=5 {
        trace.ack(201.0 + 2.0 * f64::from(number), 1448 * number, &[]);
    }
    // The last one was delayed, and does not count.
    trace.ack(251.0, 1448 * 6, &[]);
    // The next flight is limited by the window, and has a lower rate.
    for number in 6..12 {
        trace.data(211.0 + 40.0, 1448 * number, 1448);
    }
    for number in 7..=12 {
        trace.ack(281.0 + 10.0 * f64::from(number), 1448 * number, &[]);
    }
    let transfer = trace.transfers()[0].transfer;
    assert_eq!(transfer.rate_bps(), Some(4 * 1448 * 8 * 1000 / 8));
    assert_eq!(transfer.min_rtt, Some(Duration::from_millis(100)));
    assert_eq!(transfer.first_segments, 6);
}

#[test]
fn a_retransmission_ends_the_measurement_of_the_rate() {
    let rate = |repeats: bool| {
        let mut trace = Trace::at_server(true);
        for number in 0..6 {
            trace.data(101.0, 1448 * number, 1448);
        }
        trace.ack(203.0, 1448, &[]);
        if repeats {
            trace.data(403.0, 1448, 1448);
        }
        trace.ack(503.0, 1448 * 3, &[]);
        trace.ack(503.1, 1448 * 5, &[]);
        trace.transfers()[0].transfer.rate_bps()
    };
    assert!(rate(false).is_some());
    assert_eq!(rate(true), None);
}

/// Direction, cause, need and delay in milliseconds of each episode of a handshake.
fn of_handshake(packets: &[(bool, f64)]) -> Vec<(usize, Cause, Spurious, u64)> {
    let (_, episodes) = Trace::handshake(packets).analyse();
    let mut found: Vec<_> = episodes
        .iter()
        .map(|each| {
            let one = &each.episode.retransmissions[0];
            let delay = each.episode.delay.as_nanos() / 1_000_000;
            (one.frame, (each.direction, one.cause, one.spurious, delay))
        })
        .collect();
    found.sort_by_key(|&(frame, _)| frame);
    found.into_iter().map(|(_, row)| row).collect()
}

#[test]
fn the_time_of_a_handshake_counts_once() {
    use Cause::{SynAckTimeout, SynTimeout};
    use Spurious::{Acknowledged, No};
    // A lost SYN.
    assert_eq!(
        of_handshake(&[(true, 0.0), (true, 1000.0), (false, 1000.1)]),
        [(0, SynTimeout, No, 1000)]
    );
    // A lost SYN-ACK, which the repeated SYN repairs: the SYN itself had arrived.
    assert_eq!(
        of_handshake(&[(true, 0.0), (false, 50.0), (true, 1000.0), (false, 1000.1)]),
        [(0, SynTimeout, Acknowledged, 1000), (1, SynTimeout, No, 950)]
    );
    // The timers of both ends expire at the same time.
    assert_eq!(
        of_handshake(&[(true, 0.0), (false, 0.1), (true, 1000.0), (false, 1000.1)]),
        [(0, SynTimeout, Acknowledged, 1000), (1, SynAckTimeout, No, 1000)]
    );
    // The server's timer is earlier, and its SYN-ACK crosses the repeated SYN.
    assert_eq!(
        of_handshake(&[
            (true, 0.0),
            (false, 0.1),
            (false, 1000.1),
            (true, 1020.0),
            (false, 1020.1)
        ]),
        [
            (1, SynAckTimeout, No, 1000),
            (0, SynTimeout, Acknowledged, 1020),
            (1, SynTimeout, No, 20)
        ]
    );
}
