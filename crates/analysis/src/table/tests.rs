use units::{Duration, Instant};
use wire::tcp::Flags;

use super::*;
use crate::packet::decode;
use crate::records::{LinkType, Record};

/// A packet with these flags between a client and port 80.
fn packet(millis: u64, client: u32, port: u16, flags: Flags, seq: u32, reverse: bool) -> Packet {
    let mut bytes = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0];
    let (client, server) = (client.to_be_bytes(), [192, 168, 0, 1]);
    let (from, to) = if reverse { (server, client) } else { (client, server) };
    let (source, destination) = if reverse { (80, port) } else { (port, 80_u16) };
    bytes.extend(from);
    bytes.extend(to);
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend(seq.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend([0x50, flags.bits(), 1, 0, 0, 0, 0, 0]);
    let record = Record {
        frame: 1,
        at: Instant::ZERO + Duration::from_millis(millis),
        interface: 0,
        link_type: LinkType(101),
        bytes: &bytes,
        wire_len: 40,
    };
    match decode(&record) {
        Ok(packet) => packet,
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_scan_of_a_million_addresses_keeps_few_entries() {
    let mut table = Table::new(Limits::default());
    for client in 0..1_000_000 {
        table.take(&packet(u64::from(client) / 1000, client, 5000, Flags::SYN, 1, false));
    }
    assert!(table.slots.len() <= Limits::default().unanswered + 1);
    assert!(table.index.capacity() < 4 * Limits::default().unanswered);
    table.finish();
    assert_eq!(table.unlisted().unanswered, 1_000_000);
    assert!(table.take_ended().is_empty());
}

#[test]
fn refused_connections_are_counted_and_removed() {
    let mut table = Table::new(Limits::default());
    for client in 0..1000 {
        table.take(&packet(0, client, 5000, Flags::SYN, 1, false));
        table.take(&packet(1, client, 5000, Flags::RST, 0, true));
    }
    assert_eq!(table.unlisted(), Unlisted { unanswered: 0, refused: 1000 });
    assert_eq!(table.slots.len(), 1);
}

#[test]
fn a_syn_with_another_number_begins_a_new_connection() {
    let mut table = Table::new(Limits::default());
    for seq in [1, 2] {
        table.take(&packet(0, 7, 5000, Flags::SYN, 1000 * seq, false));
        table.take(&packet(1, 7, 5000, Flags::SYN, 1, true));
        table.take(&packet(2, 7, 5000, Flags::ACK, 1000 * seq + 1, false));
        table.take(&packet(3, 7, 5000, Flags::RST, 1000 * seq + 1, false));
    }
    table.finish();
    let numbers: Vec<_> = table.take_ended().iter().map(|flow| flow.number).collect();
    assert_eq!(numbers, [0, 1]);
}

#[test]
fn idle_and_surplus_connections_are_removed() {
    let limits = Limits { flows: 10, ..Limits::default() };
    let mut table = Table::new(limits);
    for client in 0..100 {
        table.take(&packet(u64::from(client), client, 5000, Flags::SYN, 1, false));
        table.take(&packet(u64::from(client), client, 5000, Flags::ACK, 2, false));
    }
    assert!(table.flow_count <= limits.flows + 1);
    // Half an hour later all are idle.
    table.take(&packet(1_800_000, 1000, 5000, Flags::SYN, 1, false));
    assert_eq!(table.flow_count, 0);
    assert_eq!(table.take_ended().len(), 100);
}
