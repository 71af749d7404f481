use wire::tcp::Flags;

use super::*;
use crate::simulation::Status;
use crate::tables::{PacketRow, Packets};

/// Losses of both kinds in both directions. `more` is added to the workload.
fn scenario(more: &str) -> Scenario {
    let json = format!(
        r#"{{
            "name": "test", "duration": "20s", "drain": "0s", "trace": ["web"],
            "link": [
                {{"name": "first", "from": "server", "to": "router", "rate": "10Mb/s", "delay": "5ms"}},
                {{"name": "there", "from": "router", "to": "client", "rate": "2Mb/s", "delay": "20ms",
                  "buffer": {{"bytes": "15kB"}}, "loss": {{"kind": "packet", "probability": 0.02}}}},
                {{"name": "back", "from": "client", "to": "server", "rate": "2Mb/s", "delay": "20ms",
                  "loss": {{"kind": "packet", "probability": 0.02}}}}
            ],
            "workload": [{{"name": "web", "kind": "poisson", "from": "server", "to": "client", "load": 0.7,
                "of": "there", "sizes": {{"classes": [500, 5000, 50000]}},
                "sender": "reno+sack / fs(n=4) / iw=1", {more}}}],
            "tcp": {{"profile": "rfc"}}
        }}"#
    );
    Scenario::from_json(&json).unwrap()
}

const BARE: &str = r#""handshake": false"#;
const WHOLE: &str = r#""handshake": true, "opener": "receiver""#;

struct Run {
    file: Vec<u8>,
    simulation: Simulation,
    packets: Packets,
    /// The maximum numbers of frames in memory and of packets in the network.
    most: (usize, usize),
}

/// Captures a run, with the file written after every `events` events.
fn capture(scenario: &Scenario, vantage_point: VantagePoint, snap_len: u32, events: u64) -> Run {
    let mut simulation = Simulation::new(scenario, 1).unwrap();
    let mut capture = Capture::new(Vec::new(), scenario, 1, vantage_point, snap_len).unwrap();
    capture.start(&mut simulation);
    let mut most = (0, 0);
    while simulation.advance(events) == Status::Running {
        capture.drain(&mut simulation).unwrap();
        most = (most.0.max(capture.frames.len()), most.1.max(capture.in_flight.len()));
        assert_eq!(
            capture.stories.len(),
            simulation.active_flows(),
            "a flow that is over is forgotten"
        );
    }
    capture.drain(&mut simulation).unwrap();
    let packets = simulation.take_packets();
    Run { file: capture.finish().unwrap(), simulation, packets, most }
}

/// A packet as read from the file.
#[derive(Debug)]
struct Found {
    nanos: u64,
    outbound: bool,
    bytes: Vec<u8>,
    wire_len: usize,
    comments: Vec<String>,
}

fn found(mut file: &[u8]) -> Vec<Found> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut packets = Vec::new();
    while !file.is_empty() {
        let (block, rest) = file.split_at(word(file, 4) as usize);
        file = rest;
        if word(block, 0) != 6 {
            continue;
        }
        let kept = word(block, 20) as usize;
        let (mut comments, mut outbound) = (Vec::new(), false);
        let mut options = &block[28 + kept.next_multiple_of(4)..];
        while options[0] != 0 {
            let len = usize::from(u16::from_le_bytes([options[2], options[3]]));
            match options[0] {
                1 => comments.push(String::from_utf8(options[4..4 + len].to_vec()).unwrap()),
                _ => outbound = options[4] == 2,
            }
            options = &options[4 + len.next_multiple_of(4)..];
        }
        packets.push(Found {
            nanos: u64::from(word(block, 12)) << 32 | u64::from(word(block, 16)),
            outbound,
            bytes: block[28..28 + kept].to_vec(),
            wire_len: word(block, 24) as usize,
            comments,
        });
    }
    packets
}

fn rows(packets: &Packets) -> Vec<PacketRow> {
    (0..packets.len())
        .map(|row| PacketRow {
            time_s: packets.time_s[row],
            flow: packets.flow[row],
            workload: packets.workload.codes()[row],
            packet: packets.packet[row],
            event: packets.event.codes()[row],
            from: packets.from.codes()[row],
            control: packets.control.codes()[row],
            seq: packets.seq[row],
            payload_bytes: packets.payload_bytes[row],
            ack: packets.ack.get(row),
            sack_blocks: packets.sack_blocks[row],
            cwnd_bytes: packets.cwnd_bytes[row],
        })
        .collect()
}

/// The packets table has the same packets, recorded independently.
#[test]
fn captured_packets_equal_the_packets_table() {
    for (more, vantage_point) in [
        (BARE, VantagePoint::Sender),
        (WHOLE, VantagePoint::Sender),
        (WHOLE, VantagePoint::Receiver),
        (WHOLE, VantagePoint::Both),
    ] {
        let run = capture(&scenario(more), vantage_point, 65_535, 1000);
        let found = found(&run.file);
        let seen = |row: &&PacketRow| match row.event {
            0 => vantage_point.is_at(row.from == 1),
            1 => vantage_point.is_at(row.from == 0),
            _ => false,
        };
        let rows = rows(&run.packets);
        let expected: Vec<&PacketRow> = rows.iter().filter(seen).collect();
        assert!(found.len() > 5000);
        assert_eq!(found.len(), expected.len());
        let mut initial = HashMap::new();
        for (found, row) in found.iter().zip(expected) {
            let at = crate::tables::time_s(Instant::from_nanos(found.nanos));
            assert_eq!(at.to_bits(), row.time_s.to_bits());
            assert_eq!(found.outbound, row.event == 0);
            let ip = ipv4::View::new(&found.bytes).unwrap();
            let tcp = tcp::View::new(ip.payload()).unwrap();
            assert!(ip.checksum_is_good() && tcp.checksum_is_good(ip.pseudo_header()));
            assert_eq!(found.bytes.len(), found.wire_len);
            assert!(tcp.payload().iter().all(|&byte| byte == 0));
            assert_eq!(u32::from(ip.identification()), row.packet & 0xffff);
            // One router on the forward path, none on the return path.
            assert_eq!(ip.ttl(), 64 - u8::from(row.event == 1 && row.from == 0));
            let segment = *tcp.repr(ip.ecn()).unwrap().segment();
            assert_eq!(segment.payload_len, row.payload_bytes);
            assert_eq!(segment.options.sack_blocks().len(), row.sack_blocks as usize);
            assert_eq!(segment.ack.is_some(), row.ack.is_some());
            let flags =
                [Flags::default(), Flags::SYN, Flags::FIN, Flags::RST][row.control as usize];
            assert!(tcp.flags().has(flags));
            // Sequence numbers are relative to a constant initial one.
            let own = segment.seq - row.seq;
            assert_eq!(*initial.entry((row.flow, row.from)).or_insert(own), own);
            if let (Some(ack), Some(relative)) = (segment.ack, row.ack) {
                let other = ack - relative;
                assert_eq!(*initial.entry((row.flow, 1 - row.from)).or_insert(other), other);
            }
        }
    }
}

#[test]
fn comments_name_every_drop_and_retransmission() {
    let run = capture(&scenario(BARE), VantagePoint::Sender, 128, 1000);
    let mut simulation = run.simulation;
    let (flows, packets) = (simulation.take_flows(), rows(&run.packets));
    let comments: Vec<String> =
        found(&run.file).into_iter().flat_map(|found| found.comments).collect();
    let count = |what: &str| comments.iter().filter(|comment| comment.contains(what)).count();
    let events = |from: u32, events: &[u32]| {
        packets.iter().filter(|row| row.from == from && events.contains(&row.event)).count()
    };
    let sum = |column: &[u32]| column.iter().sum::<u32>() as usize;

    assert!(events(0, &[2]) > 50 && events(0, &[3]) > 50 && events(1, &[3]) > 50);
    let starts = |what: &str| comments.iter().filter(|comment| comment.starts_with(what)).count();
    assert_eq!(starts("Dropped at"), events(0, &[2, 3]));
    // The sender's host cannot know of a lost acknowledgment after the last that arrived.
    let unseen = starts("Before it, packet");
    assert!(
        unseen <= events(1, &[3]) && unseen + 5 > events(1, &[3]),
        "{unseen} of {}",
        events(1, &[3])
    );

    assert_eq!(starts("Flow "), flows.len());
    assert_eq!(starts("Fast retransmit (SACK); "), sum(&flows.fast_retransmits));
    assert_eq!(starts("Retransmission timeout; "), sum(&flows.timeouts));
    let again = count("; repairs the loss at") + count("; none of it lost so far");
    assert_eq!(again, sum(&flows.retransmitted_segments));
    assert_eq!(starts("Sent again; "), 0, "there is always a reason");
}

/// In a completed flow, every drop of a first transmission is repaired: by a retransmission whose
/// comment names that loss, or by a segment already sent when the loss happened.
#[test]
fn retransmissions_name_their_losses() {
    let mut run = capture(&scenario(BARE), VantagePoint::Sender, 128, 1000);
    let flows = run.simulation.take_flows();
    let ends = flows.flow.iter().zip(flows.sender_s.iter());
    let complete: Vec<u64> = ends.filter(|(_, end)| end.is_some()).map(|(&flow, _)| flow).collect();
    let (mut losses, mut repaired, mut sooner, mut more) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for found in found(&run.file).into_iter().filter(|found| found.outbound) {
        let ip = &found.bytes[20..];
        let flow = u64::from(u16::from_be_bytes([ip[0], ip[1]])) - 57_344;
        let seq = (flow, u32::from_be_bytes([ip[4], ip[5], ip[6], ip[7]]));
        let again = found.comments.iter().any(|comment| comment.contains("; "));
        for comment in &found.comments {
            if let Some(loss) = comment.strip_prefix("Dropped ") {
                losses.push((loss.to_owned(), seq, !again && complete.contains(&flow)));
            } else if let Some((_, loss)) = comment.split_once("; repairs the loss ") {
                let (loss, others) = loss.split_once(" (and ").unwrap_or((loss, "0 more)"));
                more += others.strip_suffix(" more)").unwrap().parse::<usize>().unwrap();
                assert!(
                    losses.iter().any(|(known, ..)| known == loss),
                    "`{loss}` comes before its comment"
                );
                repaired.push(loss.to_owned());
            } else if comment.ends_with("lost so far") {
                sooner.push(seq);
            }
        }
    }
    let first: Vec<_> = losses.into_iter().filter(|(.., first)| *first).collect();
    assert!(first.len() > 300 && repaired.len() > 300);
    let left = first
        .iter()
        .filter(|(loss, seq, _)| !repaired.contains(loss) && !sooner.contains(seq))
        .count();
    assert!(left <= more, "{left} losses never repaired");
}

#[test]
fn comments_cover_lost_handshakes() {
    let run = capture(&scenario(WHOLE), VantagePoint::Both, 128, 1000);
    let comments: Vec<String> =
        found(&run.file).into_iter().flat_map(|found| found.comments).collect();
    assert!(
        comments
            .iter()
            .any(|c| c.starts_with("Retransmission timeout of the SYN; repairs the loss at"))
    );
    assert!(
        !comments.iter().any(|c| c.starts_with("Before it")),
        "with both there is nothing unseen"
    );
}

#[test]
fn captures_do_not_depend_on_the_drain_interval() {
    let scenario = scenario(WHOLE);
    let mut plain = Simulation::new(&scenario, 1).unwrap();
    while plain.advance(10_000) == Status::Running {}
    let mut often = capture(&scenario, VantagePoint::Both, 128, 7);
    let seldom = capture(&scenario, VantagePoint::Both, 128, 100_000);
    assert_eq!(often.simulation.take_flows().digest(), plain.take_flows().digest());
    assert_eq!(often.packets.digest(), plain.take_packets().digest());
    assert!(often.file == seldom.file);
}

/// A frame is kept while an earlier packet is in the network, so at most one transit time's worth
/// of packets is in memory.
#[test]
fn memory_does_not_grow_with_the_run() {
    let json = scenario(WHOLE).to_json().unwrap();
    let longer = Scenario::from_json(&json.replace("\"20s\"", "\"100s\"")).unwrap();
    let run = capture(&longer, VantagePoint::Both, 128, 100);
    assert!(found(&run.file).len() > 100_000);
    assert!(run.most.0 < 1500, "{:?} frames and packets at once", run.most);
}

#[test]
fn snap_len_keeps_headers() {
    let run = capture(&scenario(WHOLE), VantagePoint::Sender, 80, 1000);
    let found = found(&run.file);
    assert!(found.iter().any(|found| found.wire_len > 80));
    for found in found {
        assert_eq!(found.bytes.len(), found.wire_len.min(80));
        assert_eq!(
            usize::from(u16::from_be_bytes([found.bytes[2], found.bytes[3]])),
            found.wire_len
        );
    }
}

#[test]
fn segments_beyond_ipv4_are_refused() {
    let json = scenario(BARE).to_json().unwrap();
    let json = json.replace("15kB", "150kB").replace("\"rfc\"", "\"rfc\",\"mss\":65456");
    let scenario = Scenario::from_json(&json).unwrap();
    let error = Capture::new(Vec::new(), &scenario, 1, VantagePoint::Sender, 128).unwrap_err();
    assert_eq!(
        error.to_string(),
        "workload `web` has segments of 65456 bytes: with their headers they exceed an IPv4 packet's 65535"
    );
}

#[test]
fn marked_packets_arrive_marked() {
    let json = r#"{
        "name": "test", "duration": "20s", "trace": ["web"],
        "link": [
            {"name": "there", "from": "server", "to": "client", "rate": "2Mb/s", "delay": "20ms",
             "buffer": {"bytes": "60kB", "red": {"min_bytes": "6kB", "max_bytes": "30kB"}}},
            {"name": "back", "from": "client", "to": "server", "rate": "2Mb/s", "delay": "20ms"}
        ],
        "workload": [{"name": "web", "kind": "greedy", "flows": 3, "from": "server", "to": "client",
            "sender": "reno+sack / full / iw=1"}],
        "tcp": {"profile": "rfc", "ecn": true}
    }"#;
    let run = capture(&Scenario::from_json(json).unwrap(), VantagePoint::Receiver, 2000, 1000);
    let found = found(&run.file);
    let ecn = |found: &Found| ipv4::View::new(&found.bytes).unwrap().ecn();
    let arrived: Vec<&Found> = found.iter().filter(|found| !found.outbound).collect();
    let told = |found: &&&Found| found.comments.iter().any(|comment| comment.starts_with("Marked"));
    let marked: Vec<&&Found> = arrived.iter().filter(told).collect();
    assert!(marked.len() > 20 && marked.len() < arrived.len() / 2);
    assert!(marked.iter().all(|found| ecn(found) == Ecn::Ce));
    assert_eq!(arrived.iter().filter(|found| ecn(found) == Ecn::Ce).count(), marked.len());
    let echoes = found.iter().filter(|found| {
        let ip = ipv4::View::new(&found.bytes).unwrap();
        found.outbound && tcp::View::new(ip.payload()).unwrap().flags().has(Flags::ECE)
    });
    assert!(echoes.count() >= marked.len(), "every mark is echoed, some more than once");
}
