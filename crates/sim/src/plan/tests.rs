use serde_json::{Value, json};

use super::*;

/// Two nodes, a link in each direction, one Poisson workload.
fn simple() -> Value {
    json!({
        "name": "simple",
        "duration": "10s",
        "link": [
            { "name": "there", "from": "a", "to": "b", "rate": "10Mb/s", "delay": "50ms" },
            { "name": "back", "from": "b", "to": "a" },
        ],
        "workload": [{
            "name": "web", "kind": "poisson", "from": "a", "to": "b",
            "load": 0.8, "of": "there", "sizes": { "fixed": 10_000 }, "sender": "reno+sack / full / iw=1",
        }],
    })
}

fn plan(scenario: &Value) -> Result<Plan, ScenarioError> {
    Plan::new(&Scenario::from_json(&scenario.to_string())?)
}

/// The error after merging `change` into the scenario.
fn spoilt(change: &Value) -> String {
    fn merge(into: &mut Value, change: &Value) {
        match (into, change) {
            (Value::Object(into), Value::Object(change)) => {
                for (key, value) in change {
                    merge(into.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
            (Value::Array(into), Value::Array(change)) => {
                into.resize(into.len().max(change.len()), Value::Null);
                into.iter_mut().zip(change).for_each(|(into, change)| merge(into, change));
            }
            (into, change) => *into = change.clone(),
        }
    }
    let mut scenario = simple();
    merge(&mut scenario, change);
    let error = plan(&scenario).unwrap_err();
    let hint = error.hint().map(|hint| format!(" | {hint}")).unwrap_or_default();
    format!("{error}{hint}")
}

#[test]
fn a_load_becomes_a_rate_of_arrivals() {
    let plan = plan(&simple()).unwrap();
    let Demand::Poisson { per_second, .. } = &plan.workloads[0].demand else {
        panic!("not Poisson")
    };
    assert!((per_second - 0.8 * 10e6 / 80_000.0).abs() < 1e-9);
    assert_eq!((&plan.workloads[0].forward[..], &plan.workloads[0].back[..]), (&[0][..], &[1][..]));
    assert_eq!(plan.workloads[0].choices, [Choice { sender: 0, share: 1.0 }]);
    assert_eq!(plan.workloads[0].tcp.profile, crate::scenario::Profile::Rfc);
    assert_eq!(plan.end(), Instant::from_nanos(10_000_000_000));
}

#[test]
fn equal_senders_are_one_however_they_are_spelt() {
    let mut scenario = simple();
    scenario["workload"][0].as_object_mut().unwrap().remove("sender");
    scenario["workload"][0]["senders"] = json!([
        { "sender": "reno+sack / full / iw=1", "share": 1 },
        { "sender": "reno+sack/fs(n=4)/iw=1", "share": 2 },
        { "sender": "reno+sack / full / iw=1, lw=1", "share": 1 },
    ]);
    let plan = plan(&scenario).unwrap();
    let names: Vec<String> = plan.senders.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["reno+sack / full / iw=1", "reno+sack / fs(n=4) / iw=1"]);
    let senders: Vec<usize> =
        plan.workloads[0].choices.iter().map(|choice| choice.sender).collect();
    assert_eq!(senders, [0, 1, 0]);
}

#[test]
fn an_explicit_route_replaces_the_shortest() {
    let mut scenario = simple();
    let links = scenario["link"].as_array_mut().unwrap();
    links.push(json!({ "name": "up", "from": "a", "to": "c", "delay": "1ms" }));
    links.push(json!({ "name": "down", "from": "c", "to": "b", "rate": "1Mb/s" }));
    scenario["route"] = json!([{ "from": "a", "to": "b", "via": ["up", "down"] }]);
    scenario["workload"][0]["of"] = json!("down");
    assert_eq!(plan(&scenario).unwrap().workloads[0].forward, [2, 3]);
    scenario["route"][0]["via"] = json!(["up", "back"]);
    let error = plan(&scenario).unwrap_err().to_string();
    assert_eq!(error, "route[0].via: link 1 of the route starts at `b`, but the packet is at `c`");
}

/// A change of the first workload.
fn workload(change: &Value) -> Value {
    json!({ "workload": [change] })
}

#[test]
fn contradictions_of_a_network_are_refused_by_path() {
    let cases = [
        (json!({ "name": "" }), "name: must not be empty"),
        (json!({ "duration": "0s" }), "duration: must be above zero"),
        (json!({ "warm_up": "10s" }), "warm_up: 10s is not before the end, 10s"),
        (json!({ "link": [{ "to": "a" }] }), "link[0].to: a link must lead to another node"),
        (
            json!({ "link": [{}, { "name": "there" }] }),
            "link[1].name: `there` is the name of link[0] already",
        ),
        (
            json!({ "link": [{ "name": "a/b" }] }),
            "link[0].name: must not contain `/` or control characters",
        ),
        (
            json!({ "link": [{}, { "from": "b", "to": "c" }] }),
            "workload[0].from: no return path from `b` to `a` for acknowledgments",
        ),
        (
            json!({ "link": [{ "from": "c" }] , "workload": [{ "from": "b", "to": "c" }] }),
            "workload[0].to: no path from `b` to `c`",
        ),
        (
            json!({ "link": [{ "rate": null, "delay": "0s" }] }),
            "workload[0]: the way there and back takes no time: no link on it has a rate or a delay",
        ),
        (
            json!({ "link": [{ "changes": [{ "at": "2s", "delay": "1ms" }, { "at": "1s", "delay": "2ms" }] }] }),
            "link[0].changes: a change at 1s after one at 2s is impossible: each must be later than the one \
             before it",
        ),
        (
            json!({ "link": [{ "reorder": { "probability": 2.0, "by": "1ms" } }] }),
            "link[0].reorder.probability: 2 is not a probability: it must lie between 0 and 1",
        ),
        (
            json!({ "link": [{ "reorder": { "probability": 0.5, "by": "0s" } }] }),
            "link[0].reorder.by: must be above zero",
        ),
        (json!({ "samples": { "every": "0s" } }), "samples.every: must be above zero"),
    ];
    for (change, message) in cases {
        assert_eq!(spoilt(&change), message);
    }
}

#[test]
fn contradictions_of_a_load_are_refused_by_path() {
    let cases = [
        (workload(&json!({ "to": "a" })), "workload[0].to: must be another node than `from`"),
        (workload(&json!({ "load": 0 })), "workload[0].load: 0.0 is not a number above zero"),
        (
            workload(&json!({ "load": 1e-300 })),
            "workload[0].load: means 1.25e-298 flows per second, which is out of range",
        ),
        (workload(&json!({ "rate": 5 })), "workload[0]: has `load` and `rate`; give one"),
        (
            workload(&json!({ "load": null, "of": null })),
            "workload[0]: needs `load` (with `of`) or `rate`",
        ),
        (
            workload(&json!({ "load": null, "rate": 5 })),
            "workload[0].of: goes with `load`, not with `rate`",
        ),
        (
            workload(&json!({ "of": null })),
            "workload[0].of: missing; `load` needs the name of the link it refers to",
        ),
        (
            workload(&json!({ "of": "back" })),
            "workload[0].of: `back` is not on the way of the data | on the way: there",
        ),
        (
            json!({ "link": [{ "rate": null }] }),
            "workload[0].of: `there` is infinitely fast, so no load can be a share of its rate",
        ),
    ];
    for (change, message) in cases {
        assert_eq!(spoilt(&change), message);
    }
}

#[test]
fn contradictions_of_sizes_are_refused_by_path() {
    let cases = [
        (workload(&json!({ "flows": 1 })), "workload[0].flows: does not belong to kind `poisson`"),
        (
            workload(&json!({ "sizes": null })),
            "workload[0].sizes: missing; kind `poisson` needs it",
        ),
        (
            workload(&json!({ "sizes": [5] })),
            "workload[0].sizes: expected a table with a distribution such as { classes = [119, 179] } or \
             { fixed = 10000 }, found a list",
        ),
        (
            workload(&json!({ "sizes": { "exponential": 5 } })),
            "workload[0].sizes: needs exactly one distribution | one of classes, fixed, exponential, pareto, \
             lognormal, cdf",
        ),
        (
            workload(&json!({ "sizes": { "weights": [5] } })),
            "workload[0].sizes.weights: goes with `classes`",
        ),
        (
            workload(&json!({ "sizes": { "fixed": null, "pareto": { "mean": 1e4, "shape": 1 } } })),
            "workload[0].sizes.pareto.shape: 1 is not above 1, so there is no mean",
        ),
    ];
    for (change, message) in cases {
        assert_eq!(spoilt(&change), message);
    }
}

#[test]
fn contradictions_of_senders_are_refused_by_path() {
    let cases = [
        (workload(&json!({ "sender": null })), "workload[0]: needs `sender` or `senders`"),
        (workload(&json!({ "senders": [] })), "workload[0]: has `sender` and `senders`; give one"),
        (
            workload(&json!({ "sender": null, "senders": [] })),
            "workload[0].senders: the shares must have a sum above zero",
        ),
        (
            workload(
                &json!({ "sender": null, "senders": [{ "sender": "tahoe / full / iw=1", "share": -1 }] }),
            ),
            "workload[0].senders[0].share: -1 is not zero or more",
        ),
    ];
    for (change, message) in cases {
        assert_eq!(spoilt(&change), message);
    }
    let error = spoilt(&workload(&json!({ "sender": "reno / ful / iw=1" })));
    assert!(error.starts_with("workload[0].sender: "), "{error}");
}

#[test]
fn keys_of_other_kinds_are_refused() {
    let greedy = json!({
        "name": "g", "kind": "greedy", "from": "a", "to": "b", "flows": 3, "sender": "tahoe / full / iw=1",
    });
    let transfers = json!({
        "name": "t", "kind": "transfers", "from": "a", "to": "b", "sizes": [1, 2], "sender": "tahoe / full / iw=1",
    });
    let with = |base: &Value, key: &str, value: Value| {
        let mut scenario = simple();
        scenario["workload"][0] = base.clone();
        scenario["workload"][0][key] = value;
        plan(&scenario).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(with(&greedy, "start", json!("9s")), Ok(()));
    assert_eq!(with(&transfers, "spacing", json!("1s")), Ok(()));
    let cases = [
        (&greedy, "flows", json!(0), "workload[0].flows: 0 is not a number from 1 to 10000000"),
        (&greedy, "flows", Value::Null, "workload[0].flows: missing; kind `greedy` needs it"),
        (&greedy, "sizes", json!([1]), "workload[0].sizes: does not belong to kind `greedy`"),
        (
            &greedy,
            "start",
            json!("10s"),
            "workload[0].start: 10s is not before the end of the run, 10s",
        ),
        (&transfers, "sizes", json!([]), "workload[0].sizes: must not be empty"),
        (&transfers, "sizes", json!([1, 0]), "workload[0].sizes[1]: must be at least 1 byte"),
        (
            &transfers,
            "sizes",
            json!({ "fixed": 1 }),
            "workload[0].sizes: expected a list, found a table",
        ),
        (&transfers, "load", json!(0.5), "workload[0].load: does not belong to kind `transfers`"),
    ];
    for (base, key, value, message) in cases {
        assert_eq!(with(base, key, value), Err(message.to_owned()));
    }
}

#[test]
fn an_empty_scenario_is_refused() {
    let mut scenario = simple();
    scenario["workload"] = json!([]);
    assert_eq!(plan(&scenario).unwrap_err().to_string(), "workload: there must be at least one");
    scenario["link"] = json!([]);
    assert_eq!(plan(&scenario).unwrap_err().to_string(), "link: there must be at least one");
}
