//! TCP Santa Cruz in the network of its paper's section 4.1: 1.5 Mb/s, 17 packets of buffer, 40 ms
//! and 1 kB packets.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

use sim::tables::{Flows, Links, Quantity, Samples};
use sim::{Scenario, Simulation, Status};

/// The payload of a segment, and the MSS that leaves this payload beside the option.
const PAYLOAD: u32 = 960;
const MSS: u32 = PAYLOAD + 16;

struct Run {
    flows: Flows,
    links: Links,
    samples: Samples,
}

impl Run {
    /// A flow of 10 s. `data` and `back` are additional keys of the forward and return links.
    fn new(sender: &str, data: &str, back: &str) -> Self {
        Self::with_seed(sender, data, back, 1)
    }

    fn with_seed(sender: &str, data: &str, back: &str, seed: u64) -> Self {
        let mss = if sender.contains("+sack") { PAYLOAD } else { MSS };
        let json = format!(
            r#"{{
                "name": "test", "duration": "10s",
                "samples": {{"every": "10ms", "workloads": ["ftp"], "links": ["bottleneck"]}},
                "link": [
                    {{"name": "in", "from": "a", "to": "r1", "rate": "10Mb/s", "delay": "5ms"}},
                    {{"name": "bottleneck", "from": "r1", "to": "r2", "rate": "1.5Mb/s", "delay": "30ms",
                        "buffer": {{"packets": 17}}{data}}},
                    {{"name": "out", "from": "r2", "to": "b", "rate": "10Mb/s", "delay": "5ms"}},
                    {{"name": "back", "from": "b", "to": "a", "rate": "1.5Mb/s", "delay": "40ms"{back}}}
                ],
                "workload": [{{"name": "ftp", "kind": "greedy", "from": "a", "to": "b", "flows": 1, "start": "0s",
                    "handshake": false, "sender": "{sender}"}}],
                "tcp": {{"profile": "ns2", "mss": {mss}, "receive_buffer": "64000B", "ssthresh_initial": "32000B"}}
            }}"#
        );
        let scenario = Scenario::from_json(&json).unwrap();
        let mut simulation = Simulation::new(&scenario, seed).unwrap();
        while simulation.advance(100_000) == Status::Running {}
        Self {
            flows: simulation.take_flows(),
            links: simulation.links(),
            samples: simulation.take_samples(),
        }
    }

    /// Packets delivered by the bottleneck; the link has capacity for 1875.
    fn delivered(&self) -> u64 {
        self.links.delivered_packets[1]
    }

    /// The samples of a quantity from this second on.
    fn since(&self, second: f64, quantity: Quantity) -> Vec<f64> {
        let all = &self.samples;
        let rows = 0..all.time_s.len();
        rows.filter(|&row| {
            all.quantity.codes()[row] == quantity.code() && all.time_s[row] >= second
        })
        .map(|row| all.value[row])
        .collect()
    }
}

/// Section 4.1: the window stays slightly above the path's capacity (16.5 packets), without losses
/// and with full utilization. Two or three packets are queued, including the one in transmission.
#[test]
fn the_window_settles_at_the_operating_point() {
    let run = Run::new("santa-cruz(n=1.5) / full / iw=2", "", "");
    assert_eq!(run.links.dropped_buffer_packets[1], 0);
    assert!(run.delivered() > 1875 * 9 / 10, "{}", run.delivered());
    let cwnd = run.since(2.0, Quantity::CwndBytes);
    let segments = |n: u32| f64::from(n * PAYLOAD);
    assert!(
        cwnd.len() > 700 && cwnd.iter().all(|&cwnd| (segments(16)..=segments(20)).contains(&cwnd))
    );
    let queue = run.since(2.0, Quantity::QueuePackets);
    let mean = queue.iter().sum::<f64>() / f64::from(u32::try_from(queue.len()).unwrap());
    assert!((2.0..3.5).contains(&mean), "{mean}");
}

/// Section 4.1, Fig. 9: "The algorithm maintains this steady-state value for the duration of the
/// connection". While every window is judged, it varies by one segment in either direction.
#[test]
fn a_held_window_is_constant() {
    let spread = |reading: &str| {
        let run = Run::new(&format!("santa-cruz(n=1.5, delta=0.5{reading}) / full / iw=2"), "", "");
        assert_eq!(run.links.dropped_buffer_packets[1], 0);
        let cwnd = run.since(5.0, Quantity::CwndBytes);
        assert!(cwnd.len() > 400);
        let [least, most] = [f64::min, f64::max].map(|of| cwnd.iter().copied().reduce(of).unwrap());
        (most - least) / f64::from(PAYLOAD)
    };
    assert!(spread(", hold=window") < 0.5, "{}", spread(", hold=window"));
    assert!(spread("") >= 1.0, "{}", spread(""));
}

/// The abstract: "resilient use of any acknowledgments". With four in ten acknowledgments lost,
/// over ten runs, the flow loses a smaller part of its throughput than a flow that counts
/// acknowledgments.
#[test]
fn lost_acknowledgments_cost_less_than_with_ack_counting() {
    let lossy = r#", "loss": {"kind": "packet", "probability": 0.4}"#;
    let [santa_cruz, sack] =
        ["santa-cruz(n=3) / full / iw=2", "reno+sack / full / iw=2"].map(|sender| {
            let [whole, lost] = ["", lossy].map(|back| {
                let runs = (1..=10).map(|seed| Run::with_seed(sender, "", back, seed));
                runs.fold((0, 0), |(delivered, dropped), run| {
                    (delivered + run.delivered(), dropped + run.links.dropped_loss_packets[3])
                })
            });
            assert!(lost.1 > 3000 && whole.1 == 0, "{} {}", lost.1, whole.1);
            lost.0 * 1000 / whole.0
        });
    assert!(santa_cruz > sack && santa_cruz > 750, "{santa_cruz} {sack} thousandths");
}

/// The abstract: "determine the direction of congestion". Delay in one direction is counted only
/// there. The flow's queue equals the relative delay on the forward path.
#[test]
fn delays_are_measured_per_direction() {
    let jittered = r#", "reorder": {"probability": 0.05, "by": "20ms"}"#;
    for (data, back, forward, returning) in
        [("", "", false, false), (jittered, "", true, false), ("", jittered, false, true)]
    {
        let run = Run::new("santa-cruz(n=3) / full / iw=2", data, back);
        let last = |quantity| run.since(9.9, quantity).last().copied().unwrap();
        assert_eq!(last(Quantity::ForwardReordered) > 0.0, forward, "{data} {back}");
        assert_eq!(last(Quantity::ReturnReordered) > 0.0, returning, "{data} {back}");
        // The return path has no queue: an acknowledgment can only be late.
        assert!(last(Quantity::ReturnDelay).abs() < 0.021, "{}", last(Quantity::ReturnDelay));
    }
    let run = Run::new("santa-cruz(n=3) / full / iw=2", "", "");
    let mean = |quantity| {
        let values = run.since(5.0, quantity);
        values.iter().sum::<f64>() / f64::from(u32::try_from(values.len()).unwrap())
    };
    // The queue includes the packet in transmission, which takes 5.33 ms.
    let queue = mean(Quantity::QueuePackets) - 1.0;
    for found in [mean(Quantity::WaitingPackets), mean(Quantity::ForwardDelay) / 0.005_333] {
        assert!((found - queue).abs() < 1.0, "{found} {queue}");
    }
    assert!(
        Run::new("reno+sack / full / iw=2", "", "").since(0.0, Quantity::ForwardDelay).is_empty()
    );
}

/// Section 3.2.3: a lost retransmission is repaired without a timeout, which SACK cannot do.
#[test]
fn lost_retransmissions_need_no_timeout() {
    let lossy = r#", "loss": {"kind": "packet", "probability": 0.15}"#;
    // Data packets through the bottleneck, retransmissions and timeouts, over ten runs of ten
    // seconds.
    let [santa_cruz, ack_window, sack] = [
        "santa-cruz(n=3) / full / iw=2",
        "reno+ackwindow / full / iw=2",
        "reno+sack / full / iw=2",
    ]
    .map(|sender| {
        (1..=10).fold((0, 0, 0), |(delivered, resent, timeouts), seed| {
            let run = Run::with_seed(sender, lossy, "", seed);
            let flow = &run.flows;
            (
                delivered + run.delivered(),
                resent + flow.retransmitted_segments[0],
                timeouts + flow.timeouts[0],
            )
        })
    });
    for (delivered, resent, timeouts) in [santa_cruz, ack_window] {
        // About one retransmission in seven is lost, too.
        assert!(resent > 200, "{resent}");
        assert!(2 * timeouts < sack.2, "{timeouts} {}", sack.2);
        assert!(2 * delivered > 3 * sack.0, "{delivered} {}", sack.0);
    }
}

/// The controller can be combined with framing.
#[test]
fn framing_can_be_combined() {
    for framing in ["fs(n=4)", "vs(n=4)"] {
        let run = Run::new(&format!("santa-cruz(n=1.5) / {framing} / iw=1"), "", "");
        assert_eq!(run.links.dropped_buffer_packets[1], 0);
        assert!(run.delivered() > 1875 * 9 / 10, "{framing} {}", run.delivered());
    }
}
