use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::plan::Plan;

/// The scenario of the contract between Python and Rust, with every key in use.
fn full() -> Value {
    json!({
        "name": "smart-framing-web",
        "duration": "4000s",
        "warm_up": "10s",
        "samples": { "every": "100ms", "workloads": ["greedy"], "links": ["bottleneck"] },
        "link": [
            {
                "name": "bottleneck", "from": "servers", "to": "clients", "rate": "10Mb/s", "delay": "50ms",
                "buffer": { "bytes": "150kB", "chunk": "256B", "counts_in_service": false,
                    "red": { "min_bytes": "30kB", "max_bytes": "90kB", "max_p": 0.05, "gentle": true } },
                "loss": { "kind": "packet", "probability": 0.01 },
            },
            {
                "name": "back", "from": "clients", "to": "servers", "delay": "50ms",
                "delay_changes": [{ "at": "5s", "delay": "80ms" }, { "at": "7s", "delay": "20ms" }],
                "reorder": { "probability": 0.01, "by": "20ms" },
            },
        ],
        "route": [{ "from": "servers", "to": "clients", "via": ["bottleneck"] }],
        "workload": [
            {
                "name": "greedy", "kind": "greedy", "from": "servers", "to": "clients", "flows": 10,
                "start": "0s", "spread": "1s", "sender": "reno+sack / full / iw=1",
            },
            {
                "name": "web", "kind": "poisson", "from": "servers", "to": "clients",
                "load": 0.8, "of": "bottleneck", "sizes": { "classes": [119, 179, 251] },
                "senders": [
                    { "sender": "reno+sack / full / iw=1", "share": 0.5 },
                    { "sender": "reno+sack / fs(n=4) / iw=1", "share": 0.5 },
                ],
                "handshake": true, "opener": "receiver", "tcp": { "ack_every": 2 },
            },
            {
                "name": "one", "kind": "transfers", "from": "servers", "to": "clients",
                "sizes": [1460, 2920], "start": "0s", "spacing": "10s", "sender": "tahoe / full / iw=2",
            },
        ],
        "tcp": {
            "profile": "ns2", "mss": 1460, "rto_initial": "3s", "rto_min": "1s", "rto_max": "64s",
            "tick": "100ms", "rtt_sample": "window", "growth": "ack", "ack_every": 1, "ack_delay": "200ms",
            "receive_buffer": "1MB", "nagle": true, "timestamps": false, "ecn": true, "header": "40B", "send_jitter": "0s",
        },
    })
}

/// Parses a scenario and checks its values.
fn read(value: &Value) -> Result<Scenario, ScenarioError> {
    let scenario = Scenario::from_json(&value.to_string())?;
    Plan::new(&scenario)?;
    Ok(scenario)
}

/// The error after setting the value at `pointer`.
fn spoilt(pointer: &str, value: Value) -> String {
    let mut scenario = full();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    let parent = scenario.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(list) => list[key.parse::<usize>().unwrap()] = value,
        table => table[key] = value,
    }
    let error = read(&scenario).unwrap_err();
    let hint = error.hint().map(|hint| format!(" | {hint}")).unwrap_or_default();
    format!("{error}{hint}")
}

#[test]
fn a_written_scenario_reads_back_equal() {
    let scenario = read(&full()).unwrap();
    let text = scenario.to_json().unwrap();
    assert_eq!(Scenario::from_json(&text).unwrap(), scenario);
    assert_eq!(Scenario::from_json(&text).unwrap().to_json().unwrap(), text);
    assert!(text.starts_with(
        r#"{"name":"smart-framing-web","duration":"4000s","warm_up":"10s","samples":{"#
    ));
    assert!(
        text.contains(
            r#""buffer":{"bytes":"150kB","chunk":"256B","counts_in_service":false,"red":{"#
        ),
        "{text}"
    );
    assert!(!text.contains("null") && !text.contains('\n'));
}

#[test]
fn keys_with_a_default_may_be_absent_or_null() {
    let mut scenario = full();
    for key in ["warm_up", "samples", "route", "tcp"] {
        scenario.as_object_mut().unwrap().remove(key);
    }
    scenario["link"][0]["loss"] = Value::Null;
    let scenario = read(&scenario).unwrap();
    assert_eq!(scenario.tcp, Tcp::default());
    assert_eq!(scenario.links[0].loss, None);
    assert_eq!(scenario.workloads[0].opener, Opener::Sender);
    assert!(!scenario.to_json().unwrap().contains("samples"));
}

#[test]
fn unknown_names_are_refused_with_the_nearest_known_one() {
    let cases = [
        ("/duraton", json!("1s"), "duraton: unknown key | did you mean `duration`?"),
        ("/link/0/rat", json!("1Mb/s"), "link[0].rat: unknown key | did you mean `rate`?"),
        (
            "/link/0/loss/prob",
            json!(0.1),
            "link[0].loss.prob: unknown key | known: kind, probability, at, run, drops",
        ),
        (
            "/link/1/delay_changes/0/dely",
            json!("1s"),
            "link[1].delay_changes[0].dely: unknown key | did you mean `delay`?",
        ),
        (
            "/link/1/reorder/bye",
            json!("1s"),
            "link[1].reorder.bye: unknown key | did you mean `by`?",
        ),
        ("/workload/1/lod", json!(0.8), "workload[1].lod: unknown key | did you mean `load`?"),
        (
            "/workload/1/sizes/clases",
            json!([1]),
            "workload[1].sizes.clases: unknown key | did you mean `classes`?",
        ),
        (
            "/workload/1/senders/1/shar",
            json!(1),
            "workload[1].senders[1].shar: unknown key | did you mean `share`?",
        ),
        ("/tcp/rto_mim", json!("1s"), "tcp.rto_mim: unknown key | did you mean `rto_min`?"),
        (
            "/workload/0/kind",
            json!("greedi"),
            "workload[0].kind: `greedi` is none of `greedy`, `poisson`, `transfers` | did you mean `greedy`?",
        ),
        (
            "/tcp/profile",
            json!("windows"),
            "tcp.profile: `windows` is none of `ns2`, `bsd`, `rfc` | known: ns2, bsd, rfc",
        ),
        (
            "/workload/1/of",
            json!("botleneck"),
            "workload[1].of: there is no link `botleneck` | did you mean `bottleneck`?",
        ),
        (
            "/workload/0/from",
            json!("server"),
            "workload[0].from: there is no node `server` | did you mean `servers`?",
        ),
        (
            "/route/0/via",
            json!(["bak"]),
            "route[0].via[0]: there is no link `bak` | did you mean `back`?",
        ),
        (
            "/samples/workloads",
            json!(["gredy"]),
            "samples.workloads[0]: there is no workload `gredy` | did you mean `greedy`?",
        ),
        (
            "/samples/links",
            json!(["back", "x"]),
            "samples.links[1]: there is no link `x` | known: bottleneck, back",
        ),
    ];
    for (pointer, value, message) in cases {
        assert_eq!(spoilt(pointer, value), message);
    }
}

#[test]
fn wrong_types_are_reported_in_terms_of_the_file() {
    let unit = "a text with a unit such as \"20ms\", \"10Mb/s\" or \"150kB\"";
    let cases = [
        ("/duration", json!(4000), format!("duration: expected {unit}, found integer `4000`")),
        ("/duration", json!("4000"), "duration: `4000` is not a duration such as `20ms` or `1.5s`".to_owned()),
        (
            "/link/0/rate",
            json!("-1Mb/s"),
            "link[0].rate: `-1Mb/s` is not a rate above zero such as `10Mb/s` or `32kbit`".to_owned(),
        ),
        (
            "/link/0/buffer/bytes",
            json!("150"),
            "link[0].buffer.bytes: `150` is not a size such as `150kB` or `64KiB`".to_owned(),
        ),
        ("/link", json!({}), "link: expected a list, found a table".to_owned()),
        ("/link/1", json!(7), "link[1]: expected a link, a table of keys, found integer `7`".to_owned()),
        (
            "/workload/0/flows",
            json!(-1),
            "workload[0].flows: expected a whole number from 0 to 4294967295, found integer `-1`".to_owned(),
        ),
        (
            "/workload/2/sizes",
            json!([1460, 1.5]),
            "workload[2].sizes[1]: expected a whole number from 0 to 18446744073709551615, found floating point `1.5`"
                .to_owned(),
        ),
        (
            "/workload/1/sizes",
            json!("big"),
            "workload[1].sizes: expected a list of sizes or a table with a distribution, found string \"big\""
                .to_owned(),
        ),
        ("/workload/0/name", json!(3), "workload[0].name: expected a text, found integer `3`".to_owned()),
    ];
    for (pointer, value, message) in cases {
        assert_eq!(spoilt(pointer, value), message);
    }
}

#[test]
fn a_missing_key_is_named() {
    for (pointer, message) in [
        ("", "duration: missing"),
        ("/link/0", "link[0].from: missing"),
        ("/workload/1", "workload[1].kind: missing"),
    ] {
        let mut scenario = full();
        let key = message.split(':').next().unwrap().rsplit('.').next().unwrap();
        scenario.pointer_mut(pointer).unwrap().as_object_mut().unwrap().remove(key);
        assert_eq!(read(&scenario).unwrap_err().to_string(), message);
    }
}

#[test]
fn invalid_json_is_reported_as_such() {
    for text in ["", "{", "{} x", "[", "nonsense"] {
        let error = Scenario::from_json(text).unwrap_err();
        assert!(
            error.problem().starts_with("not JSON: ") || error.path() == "name",
            "{text}: {error}"
        );
    }
    assert_eq!(
        Scenario::from_json(r#"{"name":"a","name":"b"}"#).unwrap_err().to_string(),
        "name: given twice"
    );
    assert_eq!(Scenario::from_json("[]").unwrap_err().path(), "scenario");
}

#[test]
fn an_error_stays_on_its_line() {
    let error = spoilt("/workload/0/na\nme\u{1b}[31m", json!(1));
    assert_eq!(error.lines().count(), 1);
    assert!(!error.contains('\u{1b}'), "{error}");
}

#[test]
fn early_detection_has_thresholds_of_one_kind_in_order() {
    let red = "/link/0/buffer/red";
    let both = "link[0].buffer.red: needs `min_bytes` and `max_bytes`, or `min_packets` and `max_packets` | for example \
                { min_packets = 5, max_packets = 15 }";
    let cases = [
        (json!({}), both),
        (json!({ "min_bytes": "1kB", "max_packets": 9 }), both),
        (json!({ "min_bytes": "1kB", "max_bytes": "3kB", "max_packets": 9 }), both),
        (
            json!({ "min_packets": 9, "max_packets": 9 }),
            "link[0].buffer.red.max_packets: RED between averages of 9 and 9 is impossible: the first must be below the \
             second, which is at most 2^38",
        ),
        (
            json!({ "min_packets": 5, "max_packets": 9, "max_p": 0.0 }),
            "link[0].buffer.red.max_p: 0.0 is not a number above zero",
        ),
        (
            json!({ "min_packets": 5, "max_packets": 9, "w_q": 1.5 }),
            "link[0].buffer.red.w_q: 1.5 is not a probability: it must lie between 0 and 1",
        ),
        (
            json!({ "min_packets": 5, "max_packets": 9, "mean_packet": "0B" }),
            "link[0].buffer.red.mean_packet: a mean packet of 0 bytes is impossible: its size must be above zero",
        ),
    ];
    for (value, message) in cases {
        assert_eq!(spoilt(red, value), message);
    }
    let mut scenario = full();
    scenario["link"][0]["buffer"]["red"] = json!({ "min_packets": 5, "max_packets": 9 });
    read(&scenario).unwrap();
    scenario["link"][1]["buffer"] = scenario["link"][0]["buffer"].clone();
    let error = read(&scenario).unwrap_err().to_string();
    assert_eq!(error, "link[1].buffer.red: needs a link with a `rate`");
}

#[test]
fn buffers_and_losses_take_the_keys_of_their_kind() {
    let loss = "/link/0/loss";
    let buffer = "/link/0/buffer";
    let cases = [
        (buffer, json!({}), "link[0].buffer: needs `bytes`, `packets` or `cells`"),
        (
            buffer,
            json!({ "bytes": "100B" }),
            "link[0].buffer: cannot hold a packet of workload `greedy`, which has 1500 bytes | it would drop every packet: \
             make the buffer larger, or `tcp.mss` smaller",
        ),
        (
            buffer,
            json!({ "bytes": "1kB", "packets": 1 }),
            "link[0].buffer: has `bytes` and `packets`; only one can be the limit",
        ),
        (
            buffer,
            json!({ "packets": 9, "chunk": "1B" }),
            "link[0].buffer.chunk: goes with `bytes`, not with `packets`",
        ),
        (
            buffer,
            json!({ "packets": 0 }),
            "link[0].buffer.packets: a buffer of size 0 accepts nothing: its size must be above zero",
        ),
        (
            buffer,
            json!({ "bytes": "1kB", "chunk": "2kB" }),
            "link[0].buffer.chunk: a chunk of 2000 bytes does not fit in a buffer of 1000 bytes",
        ),
        (
            loss,
            json!({ "kind": "packet", "probability": 1.5 }),
            "link[0].loss.probability: 1.5 is not a probability: it must lie between 0 and 1",
        ),
        (
            loss,
            json!({ "kind": "packet" }),
            "link[0].loss.probability: missing; kind `packet` needs it",
        ),
        (
            loss,
            json!({ "kind": "byte", "probability": 0.1, "run": 2 }),
            "link[0].loss.run: does not belong to kind `byte`",
        ),
        (
            loss,
            json!({ "kind": "linear", "probability": 0.1, "at": "0B" }),
            "link[0].loss.at: loss proportional to size must be given at a size above 0 bytes",
        ),
        (
            loss,
            json!({ "kind": "burst", "probability": 0.1, "run": 0.5 }),
            "link[0].loss.run: a mean run of 0.5 lost packets is impossible: it must be a number of at least 1",
        ),
        (
            loss,
            json!({ "kind": "mask", "drops": "1,2" }),
            "link[0].loss.drops: `2` at position 2 is neither 0 nor 1 | one for each data packet in order, 1 for \
             lost, e.g. `1,0,0,1`",
        ),
        (
            loss,
            json!({ "kind": "mask", "drops": "" }),
            "link[0].loss.drops: `` at position 1 is neither 0 nor 1 | one for each data packet in order, 1 for \
             lost, e.g. `1,0,0,1`",
        ),
    ];
    for (pointer, value, message) in cases {
        assert_eq!(spoilt(pointer, value), message);
    }
    for loss in [
        json!({ "kind": "byte", "probability": 1e-6 }),
        json!({ "kind": "linear", "probability": 0.1, "at": "1500B" }),
        json!({ "kind": "burst", "probability": 0.1, "run": 3.0 }),
        json!({ "kind": "mask", "drops": "1, 0,0,1" }),
    ] {
        let mut scenario = full();
        scenario["link"][0]["loss"] = loss;
        read(&scenario).unwrap();
    }
}

#[test]
fn tcp_errors_name_the_table_that_has_the_key() {
    let cases = [
        ("/tcp/mss", json!(7), "tcp.mss: 7 is not a segment size from 8 to 65495"),
        ("/tcp/mss", json!(65_496), "tcp.mss: 65496 is not a segment size from 8 to 65495"),
        ("/tcp/ack_every", json!(0), "tcp.ack_every: must be at least 1"),
        (
            "/tcp/tick",
            json!("2s"),
            "tcp.tick: tick, 2s, is more than rto_min, 1s: every timeout would be one tick",
        ),
        ("/tcp/rto_max", json!("0.5s"), "tcp.rto_max: rto_max, 0.5s, is below rto_min, 1s"),
        ("/tcp/rto_min", json!("0s"), "tcp.rto_min: must be above zero"),
        (
            "/tcp/rto_initial",
            json!("100s"),
            "tcp.rto_initial: rto_initial, 100s, is not between rto_min, 1s, and rto_max, 64s",
        ),
        (
            "/tcp/receive_buffer",
            json!("1kB"),
            "tcp.receive_buffer: receive_buffer, 1000 B, cannot hold one segment of 1460 B",
        ),
        (
            "/tcp/receive_buffer",
            json!("2GB"),
            "tcp.receive_buffer: must be at most 1 GiB, the largest window",
        ),
        ("/tcp/header", json!("0B"), "tcp.header: must be from 1 B to 65535 B"),
        (
            "/tcp/header",
            json!("64200B"),
            "tcp.header: a full segment with its headers, 65660 B, exceeds an IP packet of 65535 B",
        ),
        (
            "/workload/1/tcp/rto_min",
            json!("50ms"),
            "workload[1].tcp.rto_min: tick, 0.1s, is more than rto_min, 0.05s: every timeout would be one tick",
        ),
        (
            "/workload/1/tcp/mss",
            json!(7),
            "workload[1].tcp.mss: 7 is not a segment size from 8 to 65495",
        ),
        (
            "/workload/1/tcp/tick",
            json!("2s"),
            "workload[1].tcp.tick: tick, 2s, is more than rto_min, 1s: every timeout would be one tick",
        ),
    ];
    for (pointer, value, message) in cases {
        assert_eq!(spoilt(pointer, value), message);
    }
}

#[test]
fn settings_come_from_the_workload_then_the_common_table_then_the_profile() {
    let common =
        Tcp { profile: Some(Profile::Ns2), ack_every: Some(3), mss: Some(536), ..Tcp::default() };
    let own = Tcp { ack_every: Some(2), ..Tcp::default() };
    let path = KeyPath::element("workload", 0);
    let settings = common.resolve(&own, &path).unwrap();
    assert_eq!((settings.ack_every, settings.mss.get(), settings.header), (2, 536, Some(40)));
    let own = Tcp { profile: Some(Profile::Bsd), ..own };
    let settings = common.resolve(&own, &path).unwrap();
    assert_eq!((settings.mss.get(), settings.header, settings.timers_on_ticks), (536, None, true));
}

#[test]
fn profiles_are_valid_and_as_documented() {
    for profile in [Profile::Ns2, Profile::Bsd, Profile::Rfc] {
        let tcp = Tcp { profile: Some(profile), ..Tcp::default() };
        let settings = tcp.resolve(&Tcp::default(), &KeyPath::default()).unwrap();
        assert_eq!(settings, profile.settings());
        assert!(settings.rto().is_some());
    }
    let rfc = Profile::Rfc.settings();
    assert_eq!((rfc.rto_initial, rfc.tick), (Duration::from_secs(1), Duration::from_millis(1)));
    assert_eq!((rfc.rtt_sample, rfc.growth, rfc.ack_every), (RttSample::Ack, Growth::Bytes, 2));
    assert!(rfc.timestamps && rfc.header.is_none());
}

proptest! {
    #[test]
    fn no_text_makes_reading_panic(text in ".{0,60}") {
        prop_assert!(Scenario::from_json(&text).is_err());
    }

    #[test]
    fn no_value_anywhere_makes_reading_panic(
        path in 0usize..1000,
        value in prop_oneof![
            Just(Value::Null), Just(json!({})), Just(json!([])), Just(json!([[]])), Just(json!("")), Just(json!(true)),
            any::<f64>().prop_map(Value::from), any::<i64>().prop_map(Value::from), any::<u64>().prop_map(Value::from),
            "[0-9]{0,20}(ns|s|h|B|GB|Gb/s)".prop_map(Value::from), ".{0,8}".prop_map(Value::from),
        ],
    ) {
        let mut scenario = full();
        let mut pointers = Vec::new();
        collect("", &scenario, &mut pointers);
        let pointer = &pointers[path % pointers.len()];
        *scenario.pointer_mut(pointer).unwrap() = value;
        // A scenario that is read can be written, and is then read as the same scenario.
        if let Ok(read_back) = read(&scenario) {
            prop_assert_eq!(Scenario::from_json(&read_back.to_json().unwrap()).unwrap(), read_back);
        }
    }
}

/// Collects pointers to all values below the top.
fn collect(at: &str, value: &Value, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(table) => table.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(list) => {
            list.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect()
        }
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{at}/{key}");
        collect(&pointer, child, pointers);
        pointers.push(pointer);
    }
}
