//! A segment becomes the bytes of an IPv4 packet, and is read from them again.
//!
//! `cargo run -p wire --example headers` prints the bytes and the fields.

#![expect(clippy::print_stdout, reason = "the example shows its result")]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};

use wire::tcp::Ports;
use wire::{Checksum, Control, Flags, Mss, Options, Segment, SeqNum, UnscaledWindow, ip, tcp};

/// A SYN with the option for the maximum segment size.
fn syn() -> Segment {
    Segment {
        seq: SeqNum::new(1000),
        ack: None,
        control: Control::Syn,
        flags: Flags::NONE,
        window: UnscaledWindow::new(64_000),
        payload_len: 0,
        options: Options { mss: Mss::new(1460), ..Options::default() },
    }
}

/// Returns the bytes of a packet with the segment.
fn packet(segment: Segment) -> Result<Vec<u8>, Box<dyn Error>> {
    let [source, destination] = [1, 2].map(|host| IpAddr::V4(Ipv4Addr::new(10, 0, 0, host)));
    let tcp = tcp::Repr::new(Ports { source: 50_000, destination: 80 }, segment)?;
    let ip = ip::Repr::new(source, destination, ip::TCP, tcp.len())?;
    let mut bytes = Vec::new();
    ip.write(&mut bytes);
    tcp.write(ip.pseudo_header(), Checksum::default(), &mut bytes);
    Ok(bytes)
}

/// Returns the segment of a packet, if it is valid.
fn segment(bytes: &[u8]) -> Result<Option<Segment>, Box<dyn Error>> {
    let ip = ip::View::new(bytes)?;
    let tcp = tcp::View::new(ip.payload())?;
    if !tcp.checksum_is_good(ip.pseudo_header()) {
        return Ok(None);
    }
    Ok(tcp.repr(ip.ecn()).map(|repr| *repr.segment()))
}

fn main() -> Result<(), Box<dyn Error>> {
    let bytes = packet(syn())?;
    println!("{} bytes: {bytes:02x?}", bytes.len());
    println!("{:?}", segment(&bytes)?);
    Ok(())
}

/// The segment is read as it was written, and a changed bit makes the checksum wrong.
#[test]
fn a_segment_is_read_as_it_was_written() -> Result<(), Box<dyn Error>> {
    let mut bytes = packet(syn())?;
    assert_eq!(bytes.len(), 20 + 24);
    assert_eq!(segment(&bytes)?, Some(syn()));
    bytes[24] ^= 1;
    assert_eq!(segment(&bytes)?, None);
    main()
}
