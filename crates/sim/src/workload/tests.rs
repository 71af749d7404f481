use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::convert::float;
use crate::{Plan, Scenario};

/// A plan of two nodes and one workload with these keys.
fn workload(keys: &Value) -> PlannedWorkload {
    let mut scenario = json!({
        "name": "workload", "duration": "1000s",
        "link": [
            { "name": "there", "from": "a", "to": "b", "rate": "10Mb/s" },
            { "name": "back", "from": "b", "to": "a" },
        ],
        "workload": [{ "name": "w", "from": "a", "to": "b" }],
    });
    scenario["workload"][0].as_object_mut().unwrap().extend(keys.as_object().unwrap().clone());
    let scenario = Scenario::from_json(&scenario.to_string()).unwrap();
    Plan::new(&scenario).unwrap().workloads.remove(0)
}

fn starts(workload: &PlannedWorkload, seed: u64, seconds: u64) -> Vec<FlowStart> {
    Starts::new(workload, Seed(seed), Instant::ZERO + Duration::from_secs(seconds)).collect()
}

const CLASSIC: &str = "reno+sack / full / iw=1";
const FRAMED: &str = "reno+sack / fs(n=4) / iw=1";

fn shares(first: f64, second: f64) -> Value {
    json!([{ "sender": CLASSIC, "share": first }, { "sender": FRAMED, "share": second }])
}

#[test]
fn a_poisson_workload_has_its_rate_sizes_and_shares() {
    let web = workload(&json!({
        "kind": "poisson", "rate": 50, "sizes": { "classes": [100, 200, 300] }, "senders": shares(1.0, 3.0),
    }));
    let flows = starts(&web, 1, 1000);
    let n = float(u64::try_from(flows.len()).unwrap());
    // Five standard deviations of a count of mean 50 000, and of shares of it.
    assert!((n - 50_000.0).abs() < 5.0 * 50_000f64.sqrt(), "{n}");
    let share = |count: usize| float(u64::try_from(count).unwrap()) / n;
    let framed = share(flows.iter().filter(|flow| flow.sender == 1).count());
    assert!((framed - 0.75).abs() < 5.0 * (0.75 * 0.25 / n).sqrt(), "{framed}");
    let second = share(flows.iter().filter(|flow| flow.class == Some(2)).count());
    assert!((second - 1.0 / 3.0).abs() < 5.0 * (2.0 / 9.0 / n).sqrt(), "{second}");
    assert!(flows.iter().all(|flow| flow.size == flow.class.map(|class| u64::from(class) * 100)));
    assert!(flows.is_sorted_by_key(|flow| flow.at));
}

#[test]
fn gaps_of_a_poisson_workload_are_exponential() {
    let web = workload(&json!({
        "kind": "poisson", "rate": 100, "sizes": { "fixed": 1 }, "sender": CLASSIC,
    }));
    let flows = starts(&web, 2, 1000);
    let mut gaps: Vec<u64> =
        flows.windows(2).map(|pair| pair[1].at.since(pair[0].at).as_nanos()).collect();
    gaps.sort_unstable();
    // Kolmogorov and Smirnov: the largest distance stays below 2.23/√n with probability 1 − 1e-4.
    let n = float(u64::try_from(gaps.len()).unwrap());
    let distance = gaps
        .iter()
        .zip(1u64..)
        .map(|(&gap, i)| (1.0 - libm::exp(-float(gap) / 1e7) - float(i) / n).abs());
    let largest = distance.fold(0.0, f64::max);
    assert!(largest < 2.23 / n.sqrt(), "{largest}");
}

#[test]
fn flows_do_not_depend_on_the_senders() {
    let keys = |senders: Value| {
        workload(&json!({
            "kind": "poisson", "load": 0.5, "of": "there",
            "sizes": { "exponential": 1e4 }, "senders": senders,
        }))
    };
    let facts = |workload: &PlannedWorkload| {
        starts(workload, 3, 100).into_iter().map(|flow| (flow.at, flow.size)).collect::<Vec<_>>()
    };
    let classic = facts(&keys(json!([{ "sender": CLASSIC, "share": 1 }])));
    assert!(classic.len() > 1000);
    assert_eq!(classic, facts(&keys(shares(0.5, 0.5))));
    let other = workload(&json!({
        "kind": "poisson", "load": 0.5, "of": "there",
        "sizes": { "pareto": { "mean": 1e4, "shape": 1.5 } }, "sender": CLASSIC,
    }));
    let at = |facts: &[(Instant, Option<u64>)]| facts.iter().map(|fact| fact.0).collect::<Vec<_>>();
    assert_eq!(at(&classic), at(&facts(&other)), "arrivals do not depend on sizes of equal mean");
}

#[test]
fn flows_do_not_change_with_a_rebuild() {
    let web = workload(&json!({
        "kind": "poisson", "rate": 1, "sizes": { "exponential": 1e4 }, "senders": shares(1.0, 1.0),
    }));
    let first: Vec<_> = starts(&web, 4, 1000).into_iter().take(3).collect();
    let facts: Vec<_> =
        first.iter().map(|flow| (flow.at.as_nanos(), flow.size, flow.sender)).collect();
    assert_eq!(facts, GOLDEN_FLOWS);
}

const GOLDEN_FLOWS: [(u64, Option<u64>, usize); 3] = [
    (235_765_901, Some(4526), 1),
    (3_013_033_363, Some(11_939), 0),
    (3_110_351_973, Some(7291), 1),
];

#[test]
fn greedy_flows_spread_and_keep_their_shares_exactly() {
    let greedy = workload(&json!({
        "kind": "greedy", "flows": 10, "start": "2s", "spread": "1s", "senders": shares(0.3, 0.7),
    }));
    let flows = starts(&greedy, 5, 1000);
    assert_eq!(flows.len(), 10);
    assert!(flows.is_sorted_by_key(|flow| flow.at));
    let two = Instant::ZERO + Duration::from_secs(2);
    assert!(flows.iter().all(|flow| flow.at >= two && flow.at.since(two) < Duration::from_secs(1)));
    assert!(flows.iter().all(|flow| flow.size.is_none() && flow.class.is_none()));
    assert_eq!(flows.iter().filter(|flow| flow.sender == 0).count(), 3);
    let together = workload(&json!({ "kind": "greedy", "flows": 2, "sender": CLASSIC }));
    assert!(starts(&together, 5, 1).iter().all(|flow| flow.at == Instant::ZERO));
}

#[test]
fn transfers_follow_their_list_until_the_end() {
    let one = workload(&json!({
        "kind": "transfers", "sizes": [1460, 2920, 10], "start": "1s", "spacing": "10s", "sender": CLASSIC,
    }));
    let seconds = |n| Instant::ZERO + Duration::from_secs(n);
    let flows = starts(&one, 6, 21);
    let facts: Vec<_> = flows.iter().map(|flow| (flow.at, flow.size, flow.class)).collect();
    assert_eq!(facts, [(seconds(1), Some(1460), Some(1)), (seconds(11), Some(2920), Some(2))]);
    assert_eq!(starts(&one, 6, 22).len(), 3);
}

proptest! {
    #[test]
    fn deterministic_senders_stay_within_one_flow_of_their_share(mut weights in prop::collection::vec(0u32..5, 1..5), flows in 1u32..60) {
        if weights.iter().all(|&weight| weight == 0) {
            weights[0] = 1;
        }
        let names = ["tahoe / full / iw=1", "reno / full / iw=1", "reno+sack / full / iw=1", "reno+newreno / full / iw=1"];
        let senders: Vec<Value> =
            names.iter().zip(&weights).map(|(name, share)| json!({ "sender": name, "share": share })).collect();
        let greedy = workload(&json!({ "kind": "greedy", "flows": flows, "senders": senders }));
        let total: u32 = weights.iter().sum();
        let mut served = vec![0u32; weights.len()];
        for (i, flow) in starts(&greedy, 7, 10).into_iter().enumerate() {
            served[flow.sender] += 1;
            let so_far = f64::from(u32::try_from(i).unwrap() + 1);
            for (count, weight) in served.iter().zip(&weights) {
                let due = so_far * f64::from(*weight) / f64::from(total);
                prop_assert!((f64::from(*count) - due).abs() < f64::from(u32::try_from(weights.len()).unwrap()));
                prop_assert!(*weight > 0 || *count == 0);
            }
        }
    }
}
