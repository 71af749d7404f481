use std::io::Cursor;

use super::*;
use crate::packet::decode;
use crate::testing::{CLIENT, SERVER, Trace};
use crate::{Analysis, Limits, Records};

/// A connection with a handshake and `count` segments, each of which is acknowledged.
fn trace(count: u32) -> Vec<u8> {
    let mut trace = Trace::at_server(true);
    for number in 0..count {
        trace.data(200.0 + f64::from(number), number * 100, 100);
        trace.ack(300.0 + f64::from(number), (number + 1) * 100, &[(5000, 5100)]);
    }
    trace.file()
}

fn end((address, port): ([u8; 4], u16)) -> End {
    let address = std::net::Ipv4Addr::from(address).to_ipv6_mapped().to_bits();
    End { address: Some(address), port: Some(port) }
}

fn choice() -> Choice {
    Choice {
        ends: [end(SERVER), End::default()],
        interface: None,
        between: [Instant::ZERO, Instant::NEVER],
        around: 0,
    }
}

/// Numbers of the kept packets, and of those that were left out.
fn kept(file: &[u8], choice: Choice, limit: usize) -> (Vec<u64>, u64) {
    let analysis = watching(file, choice, limit);
    let watched = analysis.watched().watched();
    let frames = watched.iter().flat_map(Watched::packets).map(|each| each.frame);
    (frames.collect(), watched.iter().map(|each| each.left_out).sum())
}

fn watching(file: &[u8], choice: Choice, limit: usize) -> Analysis<Cursor<Vec<u8>>> {
    let records = Records::new(Cursor::new(file.to_vec())).expect("a capture");
    let mut analysis = Analysis::new(records, Limits::default());
    analysis.watch(Watch::new(vec![choice], limit));
    while analysis.advance(3) {}
    analysis
}

#[test]
fn all_packets_of_a_connection_are_kept_with_their_fields() {
    let file = trace(2);
    assert_eq!(kept(&file, choice(), 100), ((1..=7).collect(), 0));
    let analysis = watching(&file, choice(), 100);
    let [watched] = analysis.watched().watched() else { panic!("one connection") };
    assert_eq!((watched.source.port, watched.destination.port), (CLIENT.1, SERVER.1));
    assert_eq!(watched.flow, Some(0));
    let ack = watched.packets().last().expect("seven packets");
    assert!(ack.is_forward && ack.sack.len() == 1 && ack.flags.has(Flags::ACK));
}

#[test]
fn other_ends_interfaces_and_times_are_not_kept() {
    let file = trace(2);
    let ends = [End { port: Some(81), ..End::default() }, End::default()];
    assert_eq!(kept(&file, Choice { ends, ..choice() }, 100).0, []);
    assert_eq!(kept(&file, Choice { interface: Some(1), ..choice() }, 100).0, []);
    let second = Instant::from_nanos(1_000_000_000_250_000_000);
    let between = [Instant::ZERO, second];
    assert_eq!(kept(&file, Choice { between, ..choice() }, 100).0, [1, 2, 3, 4, 6]);
}

#[test]
fn a_long_connection_keeps_the_packets_around_the_given_one() {
    let file = trace(20);
    assert_eq!(kept(&file, choice(), 8), ((1..=8).collect(), 35));
    let (frames, left_out) = kept(&file, Choice { around: 20, ..choice() }, 8);
    assert_eq!((frames, left_out), ((16..24).collect(), 35));
}

#[test]
fn few_connections_are_kept() {
    let mut watch = Watch::new(vec![choice()], 10);
    let file = trace(0);
    let mut records = Records::new(Cursor::new(file)).expect("a capture");
    let Some(record) = records.next() else { panic!("a packet") };
    let Ok(first) = decode(&record) else { panic!("a segment") };
    for port in 0..20 {
        let mut packet = first;
        packet.source.port = port;
        watch.take(&packet, None);
    }
    assert_eq!((watch.watched().len(), watch.unwatched()), (MAX_CONNECTIONS, 4));
}
