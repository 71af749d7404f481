//! Interprets any bytes as a capture file: reads and analyses it, compressed or not.

use std::io::Cursor;

use analysis::{Analysis, Choice, End, Flow, Limits, Records, Watch, decompressed};
use units::{Duration, Instant};

/// Limits that are small, so that short inputs reach them.
const LIMITS: Limits = Limits {
    flows: 4,
    unanswered: 4,
    idle: Duration::from_secs(600),
    closed: Duration::from_secs(60),
    ranges: 16,
};

/// All connections.
const EVERY: Choice = Choice {
    ends: [End { address: None, port: None }; 2],
    interface: None,
    between: [Instant::ZERO, Instant::NEVER],
    around: 3,
};

/// Analyses `bytes` with the limits of the product, and with small ones.
///
/// # Panics
/// Panics if facts about the same connection contradict each other.
pub fn run(bytes: &[u8]) {
    for limits in [Limits::default(), LIMITS] {
        let Ok(source) = decompressed(Cursor::new(bytes.to_vec())) else { return };
        let Ok(records) = Records::new(source) else { return };
        let mut analysis = Analysis::new(records, limits);
        analysis.watch(Watch::new(vec![EVERY], 3));
        while analysis.advance(100) {}
        let watched = analysis.watched().watched();
        assert!(watched.len() <= analysis::MAX_CONNECTIONS);
        assert!(watched.iter().all(|each| (1..=3).contains(&each.packets().count())));
        assert!(analysis.ending().is_some());
        assert!(analysis.counts().tcp <= analysis.frames());
        let flows = analysis.take_flows();
        flows.iter().for_each(check);
        for found in analysis.take_episodes() {
            assert!(found.episode.count > 0, "an episode has a retransmission");
            assert!(flows.iter().any(|flow| flow.number == found.flow));
        }
        for found in analysis.take_transfers() {
            assert!(found.transfer.first_segments <= found.transfer.segments);
            assert!(flows.iter().any(|flow| flow.number == found.flow));
        }
        let (blocks, losses) = analysis.take_outcomes();
        let counts = || {
            let cells = blocks.iter().flat_map(|found| &found.block.cells);
            cells.flat_map(|cell| [cell.followed, cell.last])
        };
        assert!(counts().all(|count| count.lost <= count.packets));
        assert_eq!(counts().map(|count| count.lost).sum::<u64>(), losses.len() as u64);
        for found in losses {
            assert!(found.loss.size > 0 && found.loss.run > 0);
            assert!(flows.iter().any(|flow| flow.number == found.flow));
        }
    }
}

fn check(flow: &Flow) {
    assert!(flow.end >= flow.start);
    for half in &flow.halves {
        let facts = &half.facts;
        assert!(facts.data_packets <= facts.packets && facts.pure_acks <= facts.packets);
        assert!(facts.unique_bytes <= facts.payload_bytes);
        assert!(facts.smallest_payload <= facts.largest_payload);
        assert!(half.mss() > 0);
        assert!(half.policing().1.is_none_or(|rate| rate >= 0.0));
    }
}
