//! The loss of any one packet causes one recovery: its retransmissions must not look like another
//! loss.

mod common;

use common::{Run, network};

const STACKS: [&str; 6] = ["tahoe", "reno", "reno+newreno", "reno+sack", "reno+sack1", "reno+fack"];
const FRAMINGS: [&str; 3] = ["full", "vs(n=4)", "fs(n=4)"];
/// 28 full-sized segments, or more smaller ones.
const SIZE: u64 = 40_000;

/// RFC 6582 §3.2, step 2. With a loss window of four segments, three of them are retransmitted
/// unnecessarily.
#[test]
fn one_loss_is_one_recovery() {
    for sender in STACKS
        .iter()
        .flat_map(|stack| FRAMINGS.map(|framing| format!("{stack} / {framing} / iw=1")))
    {
        let transfer = format!(
            r#"{{"name": "one", "kind": "transfers", "from": "servers", "to": "clients", "sizes": [{SIZE}],
                "start": "0s", "spacing": "1s", "sender": "{sender}"}}"#
        );
        for lost in 0..28 {
            let drops = format!("{}1", "0,".repeat(lost));
            let loss = format!(r#", "loss": {{"kind": "mask", "drops": "{drops}"}}"#);
            let flows = Run::new(&network("100s", &loss, &transfer), 1).flows;
            assert_eq!(flows.len(), 1);
            let recoveries = (flows.fast_retransmits[0], flows.timeouts[0]);
            assert!(
                matches!(recoveries, (1, 0) | (0, 1)),
                "{sender}, packet {lost}: {recoveries:?}"
            );
            assert!(flows.sender_s.get(0).is_some(), "{sender}, packet {lost}: never done");
        }
    }
}
