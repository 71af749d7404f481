//! Random settings for property tests.
//!
//! The environment variable `TCPSF_CASES` sets the number of cases of a property, otherwise
//! `PROPTEST_CASES`. Without both it is some thousands.

use policy::SenderPolicy;
use policy::congestion::{Counting, Halving, MAX_WINDOW, WindowRules};
use policy::rtt::RtoConfig;
use proptest::prelude::*;
use proptest::sample::select;
use tcp::{
    Acceptance, Challenges, Config, DelayedAck, LinuxReceiver, Receiving, RttSamples, SendMemory,
    Timeouts,
};
use units::Duration;
use wire::{Mss, SeqNum};

use crate::pair::{EndConfig, PairConfig, Plan};
use crate::path::PathConfig;

/// Maximum number of segments in a direction. More would only make a case longer.
const MAX_SEGMENTS: u32 = 60;

/// Configuration with the number of cases from the environment, or `default`.
///
/// # Panics
/// Panics if the variable is not a number.
pub fn cases(default: u32) -> ProptestConfig {
    let said =
        ["TCPSF_CASES", "PROPTEST_CASES"].into_iter().find_map(|name| std::env::var(name).ok());
    let cases = said.map_or(default, |text| text.parse().expect("a number of cases"));
    ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..ProptestConfig::default()
    }
}

fn millis(range: std::ops::Range<u64>) -> BoxedStrategy<Duration> {
    range.prop_map(Duration::from_millis).boxed()
}

prop_compose! {
    /// Any sender policy.
    pub fn sender()(
        control in select(vec!["tahoe", "reno", "reno+newreno", "reno+sack", "reno+sack1", "reno+fack", "reno+ackwindow", "vegas", "vegas+newreno", "vegas+sack", "vegas+fack", "santa-cruz", "fixed(n=6)+sack", "reno+rack", "cubic(hystart=rfc9406)+rack+tlp", "reno+rack(undo=off)+prr", "cubic+rack+tlp+prr", "cubic+rack+tlp+prr+pacing"]),
        limited_transmit in any::<bool>(),
        early in select(vec!["", "", "+er", "+er-bytes"]),
        byte_counting in any::<bool>(),
        framing in select(vec!["full", "fs", "vs", "tail", "tiny-tail"]),
        (n, min) in (2..9u8, 1..9u8),
        copy in select(vec!["", "", "+dup-tail", "+dup-tail(delay=1ms)", "+dup-tail(delay=30ms)", "+dup-tail(delay=400ms)"]),
        rto_min in select(vec!["", "", "+rto-min(ms=1)", "+rto-min(ms=20)"]),
        iw in prop_oneof![(1..=10u8).prop_map(|n| n.to_string()), Just("rfc6928".to_owned())],
        lw in 1..4u8,
    ) -> SenderPolicy {
        let packets = control.contains("rack");
        let lt = if limited_transmit && !packets { "+lt" } else { "" };
        let early = if packets || control.contains("ackwindow") || control == "santa-cruz" { "" } else { early };
        let abc = if byte_counting && !packets && !control.starts_with("fixed") { "+abc" } else { "" };
        let arguments = match framing {
            "fs" | "vs" => format!("(n={n}, min={min})"),
            "tail" => format!("(n={n})"),
            _ => String::new(),
        };
        let copy = if control.contains("ackwindow") || control == "santa-cruz" { "" } else { copy };
        format!("{control}{lt}{early}{abc} / {framing}{arguments}{copy}{rto_min} / iw={iw}, lw={lw}").parse().expect("a sender")
    }
}

prop_compose! {
    /// Any retransmission timer with moderate timeouts.
    pub fn timer()(
        tick in select(vec![0u64, 1, 10, 100]),
        min in 100..1000u64,
        above in 0..2000u64,
        ticks_expire in any::<bool>(),
    ) -> RtoConfig {
        let [tick, min, initial] = [tick, min, min + above].map(Duration::from_millis);
        RtoConfig::new(initial, min, Duration::from_secs(60), tick, ticks_expire).expect("a timer")
    }
}

fn buffer() -> BoxedStrategy<u32> {
    prop_oneof![1..20u32, 20..3000u32, 3000..70_000u32, Just(1 << 20)].boxed()
}

/// Smallest receive buffer: Linux counts memory, and has room for a segment at least.
fn least_buffer(receiver: Receiving) -> u32 {
    if receiver == Receiving::Rfc { 0 } else { 2304 }
}

fn receiver() -> BoxedStrategy<Receiving> {
    let linux = (1..200_000u32, any::<[bool; 3]>()).prop_map(
        |(initial_buffer, [dsack, measures_out_of_order, limits_unscaled_window])| {
            Receiving::Linux(LinuxReceiver {
                initial_buffer,
                dsack,
                measures_out_of_order,
                limits_unscaled_window,
                ..LinuxReceiver::LINUX_6_18
            })
        },
    );
    prop_oneof![2 => Just(Receiving::Rfc), 1 => linux].boxed()
}

prop_compose! {
    /// Any TCP configuration.
    pub fn tcp()(
        (sender, rto, mss) in (sender(), timer(), prop_oneof![1..30u16, 30..600u16, Just(1460u16)]),
        ssthresh in prop_oneof![Just(MAX_WINDOW), 1..100_000u32],
        counting in select(vec![Counting::Acks, Counting::Bytes]),
        halving in select(vec![Halving::Flight, Halving::Window]),
        rtt_samples in select(vec![RttSamples::EveryAck, RttSamples::OnePerWindow]),
        (every, timeout) in (1..5u8, millis(1..500)),
        acceptance in select(vec![Acceptance::RFC, Acceptance::LINUX]),
        receiver in receiver(),
        (receive_buffer, send_buffer) in (buffer(), buffer()),
        [window_scaling, timestamps, sack, santa_cruz, ecn, nagle, restart_after_idle, compact_syn] in any::<[bool; 8]>(),
        min_mss in select(vec![1u16, 48, 536]),
        window_divisor in 0..8u8,
        challenges in prop_oneof![Just(Challenges::DEFAULT), (0..3u8, millis(1..2000)).prop_map(|(count, per)| Challenges { count, per })],
    ) -> Config {
        Config {
            sender,
            controller: None,
            window: WindowRules { counting, halving, ssthresh },
            mss: Mss::new(mss).expect("at least one byte"),
            rto: sender.rto(rto),
            rtt_samples,
            delayed_ack: DelayedAck { every, timeout },
            receiver,
            acceptance,
            receive_buffer: receive_buffer.max(least_buffer(receiver)),
            send_buffer,
            // A byte stream does not wake its writer.
            send_memory: SendMemory::Unlimited,
            window_scaling,
            timestamps,
            sack,
            santa_cruz,
            compact_syn,
            ecn,
            nagle,
            restart_after_idle,
            window_divisor,
            msl: Duration::from_secs(30),
            // With a loss rate of 30 % a segment may need many transmissions; no connection may
            // time out.
            max_timeouts: u8::MAX,
            max_syn_timeouts: u8::MAX,
            linear_syn_timeouts: 0,
            min_mss: Mss::new(min_mss).expect("at least one byte"),
            challenges,
            timeouts: Timeouts::NONE,
        }
    }
}

prop_compose! {
    fn plan(eager: bool)(
        bytes in prop_oneof![1 => Just(0u32), 8 => 1..30_000u32],
        (write, write_every) in (1..5000u32, millis(0..50)),
        (read, read_every) in (1..5000u32, millis(0..300)),
    ) -> Plan {
        if eager { Plan::eager(bytes) } else { Plan { bytes, write, write_every, read, read_every } }
    }
}

prop_compose! {
    fn end()(
        tcp in tcp(),
        // Half of the streams cross the wrap of sequence numbers.
        iss in prop_oneof![any::<u32>(), (0..2000u32).prop_map(|n| u32::MAX - n)],
        plan in any::<bool>().prop_flat_map(plan),
    ) -> EndConfig {
        EndConfig { tcp, iss: SeqNum::new(iss), plan }
    }
}

prop_compose! {
    fn path()(
        (delay, hold) in (millis(0..100), millis(0..100)),
        loss in rate(300), corruption in rate(50), duplication in rate(300), reordering in rate(300), marking in rate(500),
    ) -> PathConfig {
        PathConfig { delay, loss, corruption, duplication, reordering, hold, marking, mtu: None }
    }
}

/// A rate in per mille, which is zero in a third of the cases.
fn rate(most: u16) -> BoxedStrategy<u16> {
    prop_oneof![1 => Just(0), 2 => 0..=most].boxed()
}

prop_compose! {
    /// Any pair of compatible ends, on any path.
    pub fn pair()(
        a in end(), b in end(),
        there in path(), back in path(),
        mtus in prop::array::uniform2(prop::option::of(0..1500u16)),
        both_connect in prop::bool::weighted(0.1),
        seed in any::<u64>(),
    ) -> PairConfig {
        let mut ends = [a, b];
        let largest = |config: &Config| u32::from(config.mss.get()).min(config.receive_buffer);
        let least = largest(&ends[0].tcp).min(largest(&ends[1].tcp));
        for end in &mut ends {
            end.plan.bytes = end.plan.bytes.min(least * MAX_SEGMENTS);
            // An application that reads one byte every 300 ms represents other slow ones.
            end.plan.read = end.plan.read.max(end.plan.bytes / 100 + 1);
            end.plan.write = end.plan.write.max(end.plan.bytes / 100 + 1);
        }
        if ends.iter().any(|end| end.tcp.sender.rack().is_some()) {
            // A probe of a window without data is answered with a challenge ACK.
            for end in &mut ends {
                end.tcp.challenges.count = end.tcp.challenges.count.max(1);
            }
        }
        let mut paths = [there, back];
        for ((path, more), end) in paths.iter_mut().zip(mtus).zip(&ends) {
            // An acknowledgment with all its blocks must fit, and the sender's minimum segment.
            path.mtu = more.map(|more| more + 100.max(40 + end.tcp.min_mss.get()));
        }
        PairConfig { ends, paths, both_connect, seed }
    }
}
