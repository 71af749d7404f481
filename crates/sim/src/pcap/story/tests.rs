use wire::{Options, UnscaledWindow};

use super::*;

fn data(seq: u32, payload_len: u32) -> Segment {
    Segment {
        seq: SeqNum::new(seq),
        ack: None,
        control: Control::None,
        flags: wire::Flags::NONE,
        window: UnscaledWindow::default(),
        payload_len,
        options: Options::default(),
    }
}

fn story() -> Story {
    Story::new(Started { workload: 0, index: 0, size: None, sender: 0 })
}

fn causes(sack: bool) -> Causes {
    Causes {
        links: vec![("x".to_owned(), LinkConfig::default())],
        workloads: vec!["w".into()],
        senders: vec![("s".into(), sack)],
    }
}

impl Story {
    fn data(&mut self, seq: u32, payload_len: u32, history: History) -> Option<String> {
        let sent = Sent { packet: 0, back: false, segment: data(seq, payload_len), history };
        self.sent(&sent, &causes(false))
    }

    fn loses(&mut self, seq: u32, payload_len: u32, millis: u64) {
        let at = Instant::from_nanos(millis * 1_000_000);
        self.lost(&data(seq, payload_len), false, &causes(false).loss(at, 0, DropReason::Buffer));
    }
}

const FRESH: History = History {
    fast_retransmits: 0,
    timeouts: 0,
    syn_timeouts: 0,
    copied_segments: 0,
    recovering: false,
};

#[test]
fn smaller_segments_repair_a_loss_in_parts() {
    let mut story = story();
    assert_eq!(story.data(1, 1000, FRESH), None);
    story.loses(1, 1000, 5);
    let timeout = History { timeouts: 1, ..FRESH };
    let repairs = "repairs the loss at 0.005s on link `x`: buffer full";
    assert_eq!(story.data(1, 400, timeout), Some(format!("Retransmission timeout; {repairs}")));
    assert_eq!(
        story.data(401, 400, timeout),
        Some(format!("Sent again after the timeout; {repairs}"))
    );
    let again = story.data(401, 200, timeout).unwrap();
    assert_eq!(again, "Sent again after the timeout; none of it lost so far");
    // New data follows the last 200 bytes; the comment names the repaired loss all the same.
    assert_eq!(
        story.data(801, 400, timeout),
        Some(format!("Sent again after the timeout; {repairs}"))
    );
    assert_eq!(story.data(1201, 400, timeout), None);
}

#[test]
fn one_segment_may_repair_several_losses() {
    let mut story = story();
    for seq in [1, 101, 201] {
        story.data(seq, 100, FRESH);
        story.loses(seq, 100, u64::from(seq));
    }
    let history = History { fast_retransmits: 1, recovering: true, ..FRESH };
    assert_eq!(
        story.data(1, 150, history).unwrap(),
        "Fast retransmit (duplicate ACKs); repairs the loss at 0.001s on link `x`: buffer full (and 1 more)"
    );
    assert_eq!(
        story.data(151, 150, history).unwrap(),
        "Sent again in fast recovery (partial ACK); repairs the loss at 0.101s on link `x`: buffer full (and 1 more)"
    );
    assert!(story.ends[0].lost.is_empty());
}

/// Tahoe has no fast recovery: it retransmits everything, as after a timeout.
#[test]
fn tahoe_retransmits_after_a_fast_retransmit() {
    let mut story = story();
    story.data(1, 100, FRESH);
    story.data(101, 100, FRESH);
    let history = History { fast_retransmits: 1, ..FRESH };
    assert!(story.data(1, 100, history).unwrap().starts_with("Fast retransmit (duplicate ACKs); "));
    assert!(
        story
            .data(101, 100, history)
            .unwrap()
            .starts_with("Sent again after the fast retransmit; ")
    );
}

#[test]
fn acknowledged_bytes_end_a_loss() {
    let mut story = story();
    story.data(1, 100, FRESH);
    story.loses(1, 100, 1);
    let acknowledges = |ack| Segment { ack: Some(SeqNum::new(ack)), ..data(1, 0) };
    for (ack, left) in [(100, 1), (101, 0)] {
        let sent = Sent { packet: 0, back: true, segment: acknowledges(ack), history: FRESH };
        assert_eq!(story.sent(&sent, &causes(false)), None);
        assert_eq!(story.ends[0].lost.len(), left);
    }
}

#[test]
fn unseen_packets_are_reported_with_the_next() {
    let mut story = story();
    let loss = causes(false).loss(Instant::ZERO, 0, DropReason::Loss);
    for packet in [3, 5] {
        story.unseen(packet, true, &data(1, 0), &loss);
    }
    let mut reported = |packet| story.unseen_before(packet, true).collect::<Vec<_>>();
    assert!(reported(2).is_empty());
    assert_eq!(
        reported(4),
        ["Before it, packet 3 of the flow (ACK) was dropped at 0s on link `x`: random loss"]
    );
    assert_eq!(reported(6).len(), 1);
    assert!(reported(7).is_empty());
}
