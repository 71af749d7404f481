use std::net::IpAddr;
use std::num::NonZeroU16;

use wire::gso::Cutter;
use wire::{Control, Flags, Options, Segment, SeqNum, Timestamps, UnscaledWindow, ip, tcp};

use super::*;

const DEVICE: u32 = 7;

/// A packet with this payload. Its checksum is left to a device.
fn packet(source: &str, destination: &str, payload: &[u8]) -> (Vec<u8>, usize) {
    let segment = Segment {
        seq: SeqNum::new(u32::MAX - 100),
        ack: Some(SeqNum::new(9)),
        control: Control::Fin,
        flags: Flags::PSH.with(Flags::CWR, true),
        window: UnscaledWindow::new(100),
        payload_len: u32::try_from(payload.len()).unwrap(),
        options: Options { timestamps: Some(Timestamps { val: 1, ecr: 2 }), ..Options::default() },
    };
    let ports = tcp::Ports { source: 443, destination: 50_000 };
    let tcp = tcp::Repr::new(ports, segment).unwrap();
    let [source, destination] = [source, destination].map(|text| text.parse::<IpAddr>().unwrap());
    let ip = ip::Repr::new(source, destination, ip::TCP, tcp.len()).unwrap();
    let mut bytes = Vec::new();
    ip.write(&mut bytes);
    bytes.extend_from_slice(&tcp.partial_header(ip.pseudo_header()));
    let headers = bytes.len();
    bytes.extend_from_slice(payload);
    (bytes, headers)
}

/// The record of the last segment of a packet behind a link-layer header of 14 bytes.
fn record(packet: &[u8], headers: usize, transport: usize, size: usize) -> Vec<u8> {
    let payload = packet.len() - headers;
    let skipped = (payload - 1) / size * size;
    let words =
        [14, 14 + transport, 14 + headers, payload - skipped, skipped, payload.div_ceil(size)];
    let mut record = DEVICE.to_ne_bytes().to_vec();
    record.extend(words.iter().flat_map(|word| u32::try_from(*word).unwrap().to_ne_bytes()));
    record.resize(usize::try_from(PREFIX).unwrap(), 0);
    record.extend([0xee; 14]);
    record.extend(&packet[..headers]);
    record.resize(usize::try_from(PREFIX + HEADERS).unwrap(), 0);
    record.extend(&packet[headers + skipped..]);
    record
}

#[test]
fn a_copy_is_the_last_segment_that_offload_sends() {
    for (source, destination, transport, protocol) in
        [("10.0.0.1", "10.0.0.2", 20, 0x0800), ("2001:db8::1", "2001:db8::2", 40, 0x86dd)]
    {
        for (length, size) in [(1, 1448), (1448, 1448), (1449, 1448), (5000, 536), (2896, 1448)] {
            let payload: Vec<u8> = (0..=u8::MAX).cycle().take(length).collect();
            let (packet, headers) = packet(source, destination, &payload);
            let mut cutter = Cutter::new(&packet, NonZeroU16::new(size).unwrap()).unwrap();
            let mut expected = Vec::new();
            let mut segment = Vec::new();
            while cutter.write_next(&mut segment) {
                expected = std::mem::take(&mut segment);
            }
            let size = usize::from(size);
            let copy = Copy::read(&record(&packet, headers, transport, size)).unwrap();
            assert_eq!((copy.device, copy.protocol), (DEVICE, protocol));
            assert_eq!(copy.frame[..14], [0xee; 14]);
            let (view, other) = [&copy.frame[14..], &expected]
                .map(|bytes| {
                    let ip = ip::View::new(bytes).unwrap();
                    assert!(ip.checksum_is_good());
                    (ip.payload().to_vec(), bytes.to_vec())
                })
                .into();
            assert_eq!(view.0, other.0, "{length} bytes by {size}");
            assert_eq!(view.1, other.1, "{length} bytes by {size}");
        }
    }
}

#[test]
fn a_record_that_is_too_short_is_no_copy() {
    let (packet, headers) = packet("10.0.0.1", "10.0.0.2", &[1; 100]);
    let whole = record(&packet, headers, 20, 1448);
    for length in 0..whole.len() {
        assert_eq!(Copy::read(&whole[..length]), None, "{length} bytes");
    }
    assert!(Copy::read(&whole).is_some());
}
