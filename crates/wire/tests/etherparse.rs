//! Comparison with the codec `etherparse`. Each reads packets that the other writes. Both give the
//! same result for damaged packets, as far as both parse them.

#![expect(clippy::unwrap_used, reason = "a packet that cannot be made is a mistake of the test")]

use std::net::IpAddr;

use etherparse::{
    Icmpv4Header, Icmpv4Slice, Icmpv4Type, Icmpv6Header, Icmpv6Slice, Icmpv6Type, IpEcn,
    IpFragOffset, IpHeaders, IpNumber, IpSlice, Ipv4Header, Ipv6Extensions, Ipv6FlowLabel,
    Ipv6FragmentHeader, Ipv6Header, Ipv6RawExtHeader, Ipv6RoutingExtensions, TcpHeader,
    TcpOptionElement, TcpSlice,
};
use proptest::prelude::*;
use proptest::sample::Index;
use wire::ip::Version;
use wire::tcp::{Flags, KnownOption, Ports};
use wire::{
    Checksum, Control, Ecn, Mss, Options, Report, Segment, SeqNum, SeqRange, Timestamps,
    UnscaledWindow, WindowScale, icmp, ip, ipv6, tcp,
};

prop_compose! {
    fn their_tcp()(
        (source_port, destination_port, sequence_number) in any::<(u16, u16, u32)>(),
        (acknowledgment_number, window_size, urgent_pointer) in any::<(u32, u16, u16)>(),
        flags in any::<[bool; 9]>(),
        options in proptest::collection::vec(prop_oneof![
            Just(TcpOptionElement::Noop),
            any::<u16>().prop_map(TcpOptionElement::MaximumSegmentSize),
            any::<u8>().prop_map(TcpOptionElement::WindowScale),
            Just(TcpOptionElement::SelectiveAcknowledgementPermitted),
            any::<[(u32, u32); 2]>().prop_map(|[a, b]| {
                TcpOptionElement::SelectiveAcknowledgement(a, [Some(b), None, None])
            }),
            any::<(u32, u32)>().prop_map(|(val, ecr)| TcpOptionElement::Timestamp(val, ecr)),
        ], 0..5),
    ) -> TcpHeader {
        let mut header = TcpHeader::new(source_port, destination_port, sequence_number, window_size);
        (header.acknowledgment_number, header.urgent_pointer) = (acknowledgment_number, urgent_pointer);
        let [fin, syn, rst, psh, ack, urg, ece, cwr, ns] = flags;
        (header.fin, header.syn, header.rst, header.psh, header.ack) = (fin, syn, rst, psh, ack);
        (header.urg, header.ece, header.cwr, header.ns) = (urg, ece, cwr, ns);
        // Options that do not fit are omitted.
        let fitting = (0..=options.len()).rev().find(|count| header.set_options(&options[..*count]).is_ok());
        assert!(fitting.is_some());
        header
    }
}

prop_compose! {
    fn their_ipv4()(
        (source, destination, identification, time_to_live) in any::<([u8; 4], [u8; 4], u16, u8)>(),
        (dont_fragment, ecn) in (any::<bool>(), 0..4u8),
        options in proptest::collection::vec(any::<u8>(), 0..=40),
    ) -> IpHeaders {
        let mut header = Ipv4Header::new(0, time_to_live, IpNumber::TCP, source, destination).unwrap();
        (header.identification, header.dont_fragment) = (identification, dont_fragment);
        header.ecn = IpEcn::try_new(ecn).unwrap();
        header.options = options[..options.len() & !3].try_into().unwrap();
        IpHeaders::Ipv4(header, etherparse::Ipv4Extensions::default())
    }
}

/// Padding of a hop-by-hop or destination options header: six bytes, or 8 more.
fn padding(long: bool) -> Ipv6RawExtHeader {
    let options: &[u8] =
        if long { &[0, 0, 5, 2, 0, 0, 1, 6, 0, 0, 0, 0, 0, 0] } else { &[1, 4, 0, 0, 0, 0] };
    Ipv6RawExtHeader::new_raw(IpNumber::TCP, options).unwrap()
}

prop_compose! {
    fn their_ipv6()(
        (source, destination, hop_limit) in any::<([u8; 16], [u8; 16], u8)>(),
        (traffic_class, flow_label) in (any::<u8>(), 0..1u32 << 20),
        hop_by_hop in proptest::option::of(any::<bool>()),
        before in proptest::option::of(any::<bool>()),
        routing in proptest::option::of((any::<[u8; 14]>(), proptest::option::of(any::<bool>()))),
        atomic in proptest::option::of(any::<u32>()),
    ) -> IpHeaders {
        let routing = routing.map(|(mut data, last)| {
            // No segments left: the packet has reached its destination.
            data[1] = 0;
            let routing = Ipv6RawExtHeader::new_raw(IpNumber::TCP, &data).unwrap();
            Ipv6RoutingExtensions { routing, final_destination_options: last.map(padding) }
        });
        let mut extensions = Ipv6Extensions {
            hop_by_hop_options: hop_by_hop.map(padding),
            destination_options: before.map(padding),
            routing,
            // RFC 6946: a fragment that is the whole packet.
            fragment: atomic.map(|id| Ipv6FragmentHeader::new(IpNumber::TCP, IpFragOffset::ZERO, false, id)),
            auth: None,
        };
        let next_header = extensions.set_next_headers(IpNumber::TCP);
        let flow_label = Ipv6FlowLabel::try_new(flow_label).unwrap();
        let header =
            Ipv6Header { traffic_class, flow_label, payload_length: 0, next_header, hop_limit, source, destination };
        IpHeaders::Ipv6(header, extensions)
    }
}

/// Returns a packet written by `etherparse`, with its checksums.
fn their_packet(
    mut ip: IpHeaders,
    mut tcp: TcpHeader,
    payload: &[u8],
) -> (IpHeaders, TcpHeader, Vec<u8>) {
    ip.set_payload_len(tcp.header_len() + payload.len()).unwrap();
    match &mut ip {
        IpHeaders::Ipv4(header, _) => {
            header.header_checksum = header.calc_header_checksum();
            tcp.checksum = tcp.calc_checksum_ipv4(header, payload).unwrap();
        }
        IpHeaders::Ipv6(header, _) => {
            tcp.checksum = tcp.calc_checksum_ipv6(header, payload).unwrap();
        }
    }
    let mut bytes = Vec::new();
    ip.write(&mut bytes).unwrap();
    tcp.write(&mut bytes).unwrap();
    bytes.extend(payload);
    (ip, tcp, bytes)
}

fn any_payload() -> BoxedStrategy<Vec<u8>> {
    proptest::collection::vec(any::<u8>(), 0..200).boxed()
}

/// Converts a parsed option to that of `etherparse`.
fn to_etherparse(option: KnownOption<'_>) -> TcpOptionElement {
    let edge = |bytes: &[u8; 8]| {
        let [a, b] = [bytes.first_chunk(), bytes.last_chunk()]
            .map(|edge| u32::from_be_bytes(*edge.unwrap()));
        (a, b)
    };
    match option {
        KnownOption::Mss(mss) => TcpOptionElement::MaximumSegmentSize(mss),
        KnownOption::WindowScale(shift) => TcpOptionElement::WindowScale(shift),
        KnownOption::SackPermitted => TcpOptionElement::SelectiveAcknowledgementPermitted,
        KnownOption::Timestamps(Timestamps { val, ecr }) => TcpOptionElement::Timestamp(val, ecr),
        KnownOption::Sack(edges) => {
            let more = [1, 2, 3].map(|at| edges.get(at).map(edge));
            TcpOptionElement::SelectiveAcknowledgement(edge(&edges[0]), more)
        }
        other => panic!("{other:?} is none of theirs"),
    }
}

proptest! {
    #[test]
    fn etherparse_packets_are_parsed(
        ip in prop_oneof![their_ipv4(), their_ipv6()],
        tcp in their_tcp(),
        payload in any_payload(),
    ) {
        let (ip, tcp, bytes) = their_packet(ip, tcp, &payload);
        let ours = ip::View::new(&bytes).unwrap();
        prop_assert_eq!((ours.protocol(), ours.is_fragment(), ours.packet_len()), (ip::TCP, false, bytes.len()));
        prop_assert!(ours.checksum_is_good());
        match (&ip, ours) {
            (IpHeaders::Ipv4(theirs, _), ip::View::V4(ours)) => {
                prop_assert_eq!((ours.source().octets(), ours.destination().octets()), (theirs.source, theirs.destination));
                prop_assert_eq!((ours.ttl(), ours.identification()), (theirs.time_to_live, theirs.identification));
                prop_assert_eq!((ours.dont_fragment(), ours.ecn() as u8), (theirs.dont_fragment, theirs.ecn.value()));
            }
            (IpHeaders::Ipv6(theirs, extensions), ip::View::V6(ours)) => {
                prop_assert_eq!((ours.source().octets(), ours.destination().octets()), (theirs.source, theirs.destination));
                prop_assert_eq!((ours.hop_limit(), ours.flow_label().value()), (theirs.hop_limit, theirs.flow_label.value()));
                prop_assert_eq!(ours.ecn() as u8, theirs.traffic_class & 3);
                let len: usize = ours.extensions().map(|extension| extension.bytes.len()).sum();
                prop_assert_eq!(len, extensions.header_len());
            }
            _ => prop_assert!(false, "two versions"),
        }
        let ours_tcp = tcp::View::new(ours.payload()).unwrap();
        prop_assert!(ours_tcp.checksum_is_good(ours.pseudo_header()));
        prop_assert_eq!(ours_tcp.payload(), &payload[..]);
        prop_assert_eq!(ours_tcp.ports(), Ports { source: tcp.source_port, destination: tcp.destination_port });
        prop_assert_eq!(ours_tcp.seq().value(), tcp.sequence_number);
        prop_assert_eq!(ours_tcp.ack().value(), tcp.acknowledgment_number);
        prop_assert_eq!(ours_tcp.window().value(), tcp.window_size);
        prop_assert_eq!((ours_tcp.checksum(), ours_tcp.urgent()), (tcp.checksum, tcp.urgent_pointer));
        prop_assert_eq!(ours_tcp.reserved(), u8::from(tcp.ns));
        let theirs = [tcp.fin, tcp.syn, tcp.rst, tcp.psh, tcp.ack, tcp.urg, tcp.ece, tcp.cwr];
        let all = [Flags::FIN, Flags::SYN, Flags::RST, Flags::PSH, Flags::ACK, Flags::URG, Flags::ECE, Flags::CWR];
        prop_assert_eq!(all.map(|flag| ours_tcp.flags().has(flag)), theirs);
        let options: Vec<_> =
            ours_tcp.options().map(|option| to_etherparse(option.unwrap().known().unwrap())).collect();
        let theirs: Vec<_> = tcp.options_iterator().map(Result::unwrap).filter(|option| *option != TcpOptionElement::Noop).collect();
        prop_assert_eq!(options, theirs);
    }

    #[test]
    fn etherparse_parses_our_packets(
        (v6, addresses) in any::<(bool, [[u8; 16]; 2])>(),
        (seq, ack, window, val, ecr) in any::<(u32, u32, u16, u32, u32)>(),
        (syn, ecn) in (any::<bool>(), 0..4usize),
        blocks in proptest::collection::vec((any::<u32>(), 1..1u32 << 31), 0..=3),
        payload in any_payload(),
    ) {
        let ends: [IpAddr; 2] = addresses.map(|bytes| if v6 { bytes.into() } else { bytes.first_chunk::<4>().copied().unwrap().into() });
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][ecn];
        let options = Options {
            mss: Mss::new(1440).filter(|_| syn),
            window_scale: syn.then_some(WindowScale::clamped(7)),
            sack_permitted: syn,
            timestamps: Some(Timestamps { val, ecr }),
            reports: if syn { Report::None.into() } else {
                blocks.iter().filter_map(|&(start, len)| SeqRange::new(SeqNum::new(start), SeqNum::new(start) + len)).collect()
            },
            ..Options::default()
        };
        let segment = Segment {
            seq: SeqNum::new(seq),
            ack: Some(SeqNum::new(ack)),
            control: if syn { Control::Syn } else { Control::Fin },
            flags: wire::Flags::PSH.with_ecn(ecn),
            window: UnscaledWindow::new(window),
            payload_len: u32::try_from(payload.len()).unwrap(),
            options,
        };
        let tcp = tcp::Repr::new(Ports { source: 1, destination: 65_535 }, segment).unwrap();
        let ip = ip::Repr::new(ends[0], ends[1], ip::TCP, tcp.len()).unwrap().with_ecn(ecn);
        let mut bytes = Vec::new();
        ip.write(&mut bytes);
        tcp.write(ip.pseudo_header(), Checksum::of(&payload), &mut bytes);
        bytes.extend(&payload);
        let theirs = IpSlice::from_slice(&bytes).unwrap();
        prop_assert_eq!([theirs.source_addr(), theirs.destination_addr()], ends);
        prop_assert_eq!((theirs.payload_ip_number(), theirs.is_fragmenting_payload()), (IpNumber::TCP, false));
        let their_tcp = TcpSlice::from_slice(theirs.payload().payload).unwrap();
        match &theirs {
            IpSlice::Ipv4(ip) => {
                let header = ip.header().to_header();
                prop_assert_eq!((header.calc_header_checksum(), header.ecn.value()), (header.header_checksum, ecn as u8));
                let sum = their_tcp.calc_checksum_ipv4(header.source, header.destination);
                prop_assert_eq!(sum.unwrap(), their_tcp.checksum());
            }
            IpSlice::Ipv6(ip) => {
                prop_assert_eq!(ip.header().ecn().value(), ecn as u8);
                let sum = their_tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination());
                prop_assert_eq!(sum.unwrap(), their_tcp.checksum());
            }
        }
        prop_assert_eq!((their_tcp.sequence_number(), their_tcp.acknowledgment_number()), (seq, ack));
        prop_assert_eq!((their_tcp.source_port(), their_tcp.destination_port()), (1, 65_535));
        prop_assert_eq!((their_tcp.syn(), their_tcp.fin(), their_tcp.rst(), their_tcp.psh()), (syn, !syn, false, true));
        prop_assert_eq!((their_tcp.window_size(), their_tcp.payload()), (window, &payload[..]));
        let view = tcp::View::new(theirs.payload().payload).unwrap();
        let ours: Vec<_> = view.options().map(|option| to_etherparse(option.unwrap().known().unwrap())).collect();
        let theirs: Vec<_> = their_tcp.options_iterator().map(Result::unwrap).filter(|option| *option != TcpOptionElement::Noop).collect();
        prop_assert_eq!(ours, theirs);
    }

    #[test]
    fn damaged_packets_parse_equally(
        ip in prop_oneof![their_ipv4(), their_ipv6()],
        tcp in their_tcp(),
        payload in any_payload(),
        damage in proptest::collection::vec((any::<Index>(), any::<u8>()), 0..4),
        keep in any::<Index>(),
    ) {
        let (.., mut bytes) = their_packet(ip, tcp, &payload);
        for (at, byte) in damage {
            // Most changes are in the headers.
            let most = bytes.len().min(100);
            bytes[at.index(most)] = byte;
        }
        bytes.truncate(bytes.len() - keep.index(bytes.len()) / 20);
        match (ip::View::new(&bytes), IpSlice::from_slice(&bytes)) {
            (Err(_), theirs) => {
                prop_assert!(theirs.is_err());
            }
            (Ok(ours), Ok(theirs)) => {
                prop_assert_eq!((ours.source(), ours.destination()), (theirs.source_addr(), theirs.destination_addr()));
                // `etherparse` differs in four points. It treats an IPv6 packet without payload as
                // a jumbogram, skips AH, reads headers after that of a later fragment, and skips
                // options where RFC 8200 §4 forbids it.
                let (walked, theirs_number) = (ours.protocol(), theirs.payload_ip_number());
                let jumbo = ours.version() == Version::V6 && ours.packet_len() == ipv6::HEADER_LEN;
                if jumbo || matches!(walked, 51 | 0 | 43 | 44 | 60) || ours.is_later_fragment() {
                    return Ok(());
                }
                prop_assert_eq!(walked, theirs_number.0);
                prop_assert_eq!(ours.payload(), theirs.payload().payload);
                prop_assert_eq!(ours.is_fragment(), theirs.is_fragmenting_payload());
                match (tcp::View::new(ours.payload()), TcpSlice::from_slice(ours.payload())) {
                    (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours.payload(), theirs.payload()),
                    (ours, theirs) => prop_assert!(ours.is_err() && theirs.is_err()),
                }
            }
            // For incomplete extension headers and similar errors our parser ends there.
            (Ok(ours), Err(_)) => prop_assert!(matches!(ours.protocol(), 51 | 0 | 43 | 44 | 60)),
        }
    }

    #[test]
    fn icmp_messages_parse_equally(v6 in any::<bool>(), (kind, code, number) in any::<(u8, u8, u32)>(), payload in any_payload(), small in any::<bool>()) {
        // Most message types and codes are small numbers.
        let (kind, code) = if small { ((kind % 13) | (kind & (u8::from(v6) << 7)), code % 16) } else { (kind, code) };
        let bytes5to8 = number.to_be_bytes();
        let (source, destination) = ([1; 16], [2; 16]);
        let mut bytes = Vec::new();
        if v6 {
            let unknown = Icmpv6Type::Unknown { type_u8: kind, code_u8: code, bytes5to8 };
            Icmpv6Header::with_checksum(unknown, source, destination, &payload).unwrap().write(&mut bytes).unwrap();
        } else {
            let unknown = Icmpv4Type::Unknown { type_u8: kind, code_u8: code, bytes5to8 };
            Icmpv4Header::with_checksum(unknown, &payload).write(&mut bytes).unwrap();
        }
        bytes.extend(&payload);
        let ends: [IpAddr; 2] = if v6 { [source.into(), destination.into()] } else { [[1; 4].into(), [2; 4].into()] };
        let version = Version::of(ends[0]);
        let ip = ip::Repr::new(ends[0], ends[1], version.icmp(), bytes.len()).unwrap();
        let packet = [&ip.header()[..], &bytes].concat();
        let view = icmp::View::new(&ip::View::new(&packet).unwrap()).unwrap();
        prop_assert!(view.checksum_is_good());
        let message = view.repr().map(|repr| repr.message());
        if v6 {
            let theirs = Icmpv6Slice::from_slice(&bytes).unwrap().icmp_type();
            compare_v6(message, &theirs)?;
        } else if let Ok(theirs) = Icmpv4Slice::from_slice(&bytes) {
            compare_v4(message, &theirs.icmp_type())?;
        }
    }
}

fn compare_v4(ours: Option<icmp::Message<'_>>, theirs: &Icmpv4Type) -> Result<(), TestCaseError> {
    use etherparse::icmpv4::DestUnreachableHeader::FragmentationNeeded;
    match (ours, theirs) {
        (Some(icmp::Message::EchoRequest(ours)), Icmpv4Type::EchoRequest(theirs))
        | (Some(icmp::Message::EchoReply(ours)), Icmpv4Type::EchoReply(theirs)) => {
            prop_assert_eq!((ours.identifier, ours.sequence), (theirs.id, theirs.seq));
        }
        (Some(icmp::Message::TooBig { mtu, .. }), Icmpv4Type::DestinationUnreachable(theirs)) => {
            let next_hop_mtu = u16::try_from(mtu).unwrap();
            prop_assert_eq!(theirs, &FragmentationNeeded { next_hop_mtu });
        }
        (
            Some(icmp::Message::Unreachable { reason, .. }),
            Icmpv4Type::DestinationUnreachable(theirs),
        ) => {
            prop_assert_eq!(reason.code(Version::V4), Some(theirs.code_u8()));
        }
        (Some(icmp::Message::TimeExceeded { .. }), Icmpv4Type::TimeExceeded(_))
        | (Some(icmp::Message::ParameterProblem { .. }), Icmpv4Type::ParameterProblem(_)) => {}
        // RFC 1108 defines a code that `etherparse` does not have.
        (Some(icmp::Message::ParameterProblem { code, .. }), Icmpv4Type::Unknown { .. }) => {
            prop_assert!(code > 2);
        }
        (None, theirs) => {
            let known = matches!(
                theirs,
                Icmpv4Type::EchoRequest(_)
                    | Icmpv4Type::EchoReply(_)
                    | Icmpv4Type::DestinationUnreachable(_)
                    | Icmpv4Type::TimeExceeded(_)
            );
            prop_assert!(!known);
        }
        (ours, theirs) => prop_assert!(false, "{ours:?}, {theirs:?}"),
    }
    Ok(())
}

fn compare_v6(ours: Option<icmp::Message<'_>>, theirs: &Icmpv6Type) -> Result<(), TestCaseError> {
    match (ours, theirs) {
        (Some(icmp::Message::EchoRequest(ours)), Icmpv6Type::EchoRequest(theirs))
        | (Some(icmp::Message::EchoReply(ours)), Icmpv6Type::EchoReply(theirs)) => {
            prop_assert_eq!((ours.identifier, ours.sequence), (theirs.id, theirs.seq));
        }
        (Some(icmp::Message::TooBig { mtu: ours, .. }), Icmpv6Type::PacketTooBig { mtu }) => {
            prop_assert_eq!(ours, *mtu);
        }
        // RFC 4443 §3.2: any code is accepted; `etherparse` requires zero.
        (Some(icmp::Message::TooBig { .. }), Icmpv6Type::Unknown { code_u8, .. }) => {
            prop_assert!(*code_u8 != 0);
        }
        (
            Some(icmp::Message::Unreachable { reason, .. }),
            Icmpv6Type::DestinationUnreachable(theirs),
        ) => {
            prop_assert_eq!(reason.code(Version::V6), Some(theirs.code_u8()));
        }
        // RFC 6550 and RFC 8883 have added two codes.
        (Some(icmp::Message::Unreachable { reason, .. }), Icmpv6Type::Unknown { .. }) => {
            prop_assert!(matches!(
                reason,
                icmp::Unreachable::SourceRoute | icmp::Unreachable::HeadersTooLong
            ));
        }
        (Some(icmp::Message::TimeExceeded { .. }), Icmpv6Type::TimeExceeded(_)) => {}
        (
            Some(icmp::Message::ParameterProblem { pointer, .. }),
            Icmpv6Type::ParameterProblem(theirs),
        ) => {
            prop_assert_eq!(pointer, theirs.pointer);
        }
        (Some(icmp::Message::ParameterProblem { code, .. }), Icmpv6Type::Unknown { .. }) => {
            prop_assert!(code > 2);
        }
        (None, theirs) => {
            let known = matches!(
                theirs,
                Icmpv6Type::EchoRequest(_)
                    | Icmpv6Type::EchoReply(_)
                    | Icmpv6Type::DestinationUnreachable(_)
                    | Icmpv6Type::PacketTooBig { .. }
                    | Icmpv6Type::TimeExceeded(_)
            );
            prop_assert!(!known);
        }
        (ours, theirs) => prop_assert!(false, "{ours:?}, {theirs:?}"),
    }
    Ok(())
}
