//! On an idle link a flow's completion time can be calculated: store and forward, and the ACK
//! clock.

mod common;

use common::{CLASSES, CLASSIC, FIXED, Run, VARIABLE, network};

const MSS: u64 = 1460;
const HEADER: u64 = 40;
/// 10 Mb/s is 800 ns a byte.
const NANOS_PER_BYTE: u64 = 800;
const DELAY: u64 = 50_000_000;

/// The window rules of slow start, implemented again from the papers without the simulator's code.
enum Rule {
    Classic,
    Fixed,
    Variable,
}

/// The times of the last byte's arrival and of its acknowledgment, in nanoseconds from the first
/// transmission.
fn arithmetic(rule: &Rule, size: u64) -> (u64, u64) {
    let mut cwnd = MSS;
    let mut sent = 0;
    let mut acked = 0;
    let mut step = 0u32;
    let mut line_free = 0;
    let mut arrivals: Vec<(u64, u64)> = Vec::new();
    let mut answered = 0;
    let mut now = 0;
    let mut acks_free = 0;
    loop {
        loop {
            let small = cwnd < 4 * MSS;
            let largest = match rule {
                Rule::Fixed if small => MSS / 4,
                Rule::Variable if small => variable_size(step),
                _ => MSS,
            };
            let len = largest.min(size - sent);
            let full = matches!(rule, Rule::Variable) && small && arrivals.len() - answered == 4;
            if len == 0 || full || sent - acked + len > cwnd {
                break;
            }
            line_free = now.max(line_free) + (len + HEADER) * NANOS_PER_BYTE;
            arrivals.push((line_free + DELAY, len));
            sent += len;
        }
        let (arrived, len) = arrivals[answered];
        answered += 1;
        acks_free = acks_free.max(arrived) + HEADER * NANOS_PER_BYTE;
        now = acks_free + DELAY;
        acked += len;
        if acked == size {
            return (arrived, now);
        }
        let small = cwnd < 4 * MSS;
        match rule {
            Rule::Fixed if small => cwnd += MSS / 4,
            Rule::Variable if small => {
                step += 1;
                let in_flight = arrivals.len() - answered;
                cwnd = cwnd.max(sent - acked + (4 - in_flight as u64) * variable_size(step));
            }
            _ => cwnd += MSS,
        }
    }
}

/// `MSS/4 · 1.32^step`, at most MSS, in whole bytes.
fn variable_size(step: u32) -> u64 {
    if step > 6 { MSS } else { ((MSS / 4) * 132u64.pow(step) / 100u64.pow(step)).min(MSS) }
}

#[test]
fn completion_times_are_exact_to_the_nanosecond() {
    for (name, rule) in [(CLASSIC, Rule::Classic), (FIXED, Rule::Fixed), (VARIABLE, Rule::Variable)]
    {
        let workload = format!(
            r#"{{"name": "one", "kind": "transfers", "from": "servers", "to": "clients", "sizes": {CLASSES:?},
                "start": "0s", "spacing": "100s", "sender": "{name}"}}"#
        );
        let run = Run::new(&network("2000s", "", &workload), 1);
        assert_eq!(run.flows.len(), CLASSES.len());
        for (row, &size) in CLASSES.iter().enumerate() {
            let (arrived, acknowledged) = arithmetic(&rule, size);
            let seconds =
                |nanos: u64| Some(sim::tables::span_s(units::Duration::from_nanos(nanos)));
            assert_eq!(
                run.flows.receiver_s.get(row),
                seconds(arrived),
                "{name}, {size} bytes, at the receiver"
            );
            assert_eq!(
                run.flows.sender_s.get(row),
                seconds(acknowledged),
                "{name}, {size} bytes, at the sender"
            );
            assert_eq!(run.flows.sent_bytes[row], size);
        }
    }
}
