//! Two endpoints with random senders, options, buffers and applications. The invariants of
//! `testkit::pair` are checked at every step.

use policy::rtt::RtoConfig;
use proptest::prelude::*;
use tcp::{Config, DelayedAck, Receiving};
use testkit::generate::{cases, pair};
use testkit::pair::{End, EndConfig, Goal, Pair, PairConfig, Plan};
use testkit::path::PathConfig;
use units::Duration;
use wire::{Mss, SeqNum};

/// Returns the pair with ECN, on a path without losses that marks.
fn marked(config: PairConfig) -> PairConfig {
    let marking = [config.paths[0].marking.max(20), config.paths[1].marking.max(20)];
    let mut config = undisturbed(config);
    for (path, marking) in config.paths.iter_mut().zip(marking) {
        path.marking = marking;
    }
    for end in &mut config.ends {
        end.tcp.ecn = true;
    }
    config
}

/// Returns the pair on a good path, with fast applications and large buffers.
fn undisturbed(mut config: PairConfig) -> PairConfig {
    config.both_connect = false;
    for path in &mut config.paths {
        *path = PathConfig {
            delay: Duration::from_nanos(path.delay.as_nanos() / 3),
            ..PathConfig::default()
        };
    }
    for end in &mut config.ends {
        end.plan = Plan::eager(end.plan.bytes);
        end.tcp.receive_buffer = end.tcp.receive_buffer.max(10 * end.tcp.mss.bytes());
        // The sum of a round trip and a delayed acknowledgment remains below the shortest timeout,
        // 100 ms.
        end.tcp.delayed_ack.timeout = Duration::from_millis(30);
        if end.tcp.sender.rto_min.take().is_some() {
            // A lower minimum makes the timer expire before an acknowledgment that is delayed.
            end.tcp.rto = end.tcp.rto.with_min(Duration::from_millis(100));
        }
    }
    let [a, b] = &mut config.ends;
    let linux = [&*b, &*a].map(|peer| peer.tcp.receiver != Receiving::Rfc);
    for (sender, _) in [&mut *a, &mut *b].into_iter().zip(linux).filter(|&(_, linux)| linux) {
        // Linux delays an acknowledgment by up to 200 ms.
        let min = sender.tcp.rto.min().max(Duration::from_millis(300));
        sender.tcp.rto = sender.tcp.rto.with_min(min);
    }
    let longest = a.tcp.mss.max(b.tcp.mss);
    a.tcp.receive_buffer = a.tcp.receive_buffer.max(10 * longest.bytes());
    b.tcp.receive_buffer = b.tcp.receive_buffer.max(10 * longest.bytes());
    config
}

fn drive(config: &PairConfig) -> Result<Pair, TestCaseError> {
    let mut pair = Pair::new(config);
    match pair.drive(Goal::Closed) {
        Ok(_) => Ok(pair),
        Err(failure) => Err(TestCaseError::fail(failure.to_string())),
    }
}

/// An end of `probes_that_cross_are_acknowledged`.
fn tiny(mss: u16, rto_ms: u64, send_buffer: u32, plan: Plan) -> EndConfig {
    let rto = Duration::from_millis(rto_ms);
    let tcp = Config {
        sender: "tahoe / full / iw=1".parse().expect("a sender"),
        mss: Mss::new(mss).expect("an MSS"),
        rto: RtoConfig::new(rto, rto, Duration::from_secs(60), Duration::ZERO, false)
            .expect("a timer"),
        delayed_ack: DelayedAck { every: 1, timeout: Duration::from_millis(1) },
        receive_buffer: 4,
        send_buffer,
        window_scaling: false,
        timestamps: false,
        sack: false,
        nagle: false,
        restart_after_idle: false,
        max_timeouts: 255,
        max_syn_timeouts: 255,
        min_mss: Mss::new(1).expect("an MSS"),
        ..Config::default()
    };
    EndConfig { tcp, iss: SeqNum::new(0), plan }
}

/// Case that random cases found: both ends probe each other's closed window at the same time, and
/// both accept the byte.
#[test]
fn probes_that_cross_are_acknowledged() {
    let plan = |bytes, write, read_ms| Plan {
        bytes,
        write,
        write_every: Duration::ZERO,
        read: 2,
        read_every: Duration::from_millis(read_ms),
    };
    let path = |delay| PathConfig { delay: Duration::from_millis(delay), ..PathConfig::default() };
    let config = PairConfig {
        ends: [tiny(30, 219, 20, plan(53, 3, 289)), tiny(10, 100, 1, plan(7, 1, 290))],
        paths: [path(18), path(20)],
        both_connect: false,
        seed: 0,
    };
    drive(&config).expect("both ends close");
}

proptest! {
    #![proptest_config(cases(12_000))]

    /// Random loss, reordering and duplication, up to 30 % each: exactly the written bytes are
    /// read, and both ends close.
    #[test]
    fn every_byte_arrives_and_both_ends_close(config in pair()) {
        drive(&config)?;
    }
}

/// Retransmissions and their causes. A tail loss probe may precede a delayed acknowledgment, so the
/// retransmissions of a sender with probes do not count. Nor do those of a sender of copies whose
/// peer has no SACK: it acknowledges a copy without a DSACK, and three such acknowledgments look
/// like a loss.
///
/// Nothing counts if the end dropped an acknowledgment of new data, as it does if only a duplicate
/// carried it (RFC 9293 §3.10.7.4). Tail loss probes and copies are such duplicates.
fn repairs(config: &PairConfig, pair: &Pair, end: End) -> (u32, u32, u32, u32) {
    if pair.dropped_acknowledgments(end) > 0 {
        return (0, 0, 0, 0);
    }
    let sent = pair.connection(end).statistics();
    let sender = &config.ends[end as usize].tcp.sender;
    let probes = sender.rack().is_some_and(|options| options.tlp);
    let has_sack = config.ends.iter().all(|end| end.tcp.sack);
    let copies = sender.tail_copy.is_some() && !has_sack;
    let retransmitted = if probes || copies { 0 } else { sent.retransmitted_segments };
    let fast_retransmits = if copies { 0 } else { sent.fast_retransmits };
    (retransmitted, fast_retransmits, sent.timeouts, sent.syn_timeouts)
}

proptest! {
    #![proptest_config(cases(4_000))]

    /// RFC 3168 §6.1.2: marks slow a sender down, even to one segment per timeout. They cause no
    /// retransmission.
    #[test]
    fn marks_cause_no_retransmission(config in pair().prop_map(marked)) {
        let pair = drive(&config)?;
        for end in End::BOTH {
            prop_assert_eq!(repairs(&config, &pair, end), (0, 0, 0, 0), "{:?}", end);
        }
    }
}

proptest! {
    #![proptest_config(cases(4_000))]

    /// Without losses there is no retransmission, and no loss is detected.
    #[test]
    fn good_path_needs_no_retransmission(config in pair().prop_map(undisturbed)) {
        let pair = drive(&config)?;
        for end in End::BOTH {
            prop_assert_eq!(repairs(&config, &pair, end), (0, 0, 0, 0), "{:?}", end);
        }
    }
}
