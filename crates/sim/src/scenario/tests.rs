use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::plan::Plan;

mod links;
mod settings;

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
                "changes": [{ "at": "5s", "delay": "80ms" }, { "at": "7s", "delay": "20ms" }],
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
    assert_eq!(scenario.workloads[0].opener(), &Opener::Sender);
    assert!(!scenario.to_json().unwrap().contains("samples"));
}

#[test]
fn an_unknown_key_is_refused_with_the_nearest_known_one() {
    let cases = [
        ("/duraton", json!("1s"), "duraton: unknown key | did you mean `duration`?"),
        ("/link/0/rat", json!("1Mb/s"), "link[0].rat: unknown key | did you mean `rate`?"),
        (
            "/link/0/loss/prob",
            json!(0.1),
            "link[0].loss.prob: unknown key | known: kind, probability",
        ),
        (
            "/link/1/changes/0/dely",
            json!("1s"),
            "link[1].changes[0].dely: unknown key | did you mean `delay`?",
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
    ];
    for (pointer, value, message) in cases {
        assert_eq!(spoilt(pointer, value), message);
    }
}

#[test]
fn an_unknown_name_is_refused_with_the_nearest_known_one() {
    let cases = [
        (
            "/workload/0/kind",
            json!("greedi"),
            "workload[0].kind: `greedi` is none of `greedy`, `poisson`, `transfers` | did you mean `greedy`?",
        ),
        (
            "/tcp/profile",
            json!("windows"),
            "tcp.profile: `windows` is none of `ns2`, `bsd`, `rfc`, `linux-6.12`, `linux-6.18` | known: ns2, bsd, rfc, linux-6.12, linux-6.18",
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
            "workload[1].sizes: expected a table with a distribution such as { classes = [119, 179] } or \
             { fixed = 10000 }, found string \"big\""
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
fn a_key_given_twice_is_refused_in_a_table_with_a_kind() {
    let text =
        full().to_string().replacen(r#""kind":"greedy""#, r#""kind":"greedy","kind":"greedy""#, 1);
    assert_eq!(
        Scenario::from_json(&text).unwrap_err().to_string(),
        "workload[0].kind: given twice"
    );
}

#[test]
fn the_schema_has_a_text_for_every_key() {
    let schema: Value = serde_json::from_str(&Scenario::json_schema()).unwrap();
    let definitions = schema["$defs"].as_object().unwrap();
    let tables = definitions.values().chain([&schema]).filter_map(|table| table.get("properties"));
    let mut keys = 0;
    for (key, found) in tables.flat_map(|table| table.as_object().unwrap()) {
        keys += 1;
        assert!(found.get("const").is_some() || found["description"].is_string(), "{key}");
    }
    assert!(keys > 100, "{keys}");
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

proptest! {
    /// The two readers have different deserializers. Only the text may have a list for a table.
    #[test]
    fn a_value_is_read_as_its_text_is(
        path in 0usize..1000,
        key in "[a-z]{1,6}|kind|name|rate",
        value in prop_oneof![
            Just(Value::Null), Just(json!("")), Just(json!(true)), Just(json!({})), Just(json!([])),
            any::<f64>().prop_map(Value::from), any::<i64>().prop_map(Value::from),
            "[0-9]{0,20}(ns|s|h|B|GB|Gb/s)".prop_map(Value::from), ".{0,8}".prop_map(Value::from),
        ],
        change in 0..3,
    ) {
        let mut scenario = full();
        let mut pointers = Vec::new();
        collect("", &scenario, &mut pointers);
        let pointer = &pointers[path % pointers.len()];
        let is_scalar = !value.is_object() && !value.is_array();
        match scenario.pointer_mut(pointer).unwrap() {
            Value::Object(table) if change == 1 => {
                table.insert(key, value);
            }
            Value::Object(table) if change == 2 => {
                let key = table.keys().nth(path % table.len()).cloned().unwrap();
                table.remove(&key);
            }
            found => *found = value,
        }
        let text = Scenario::from_json(&scenario.to_string());
        let found = Scenario::from_value(scenario);
        prop_assert_eq!(found.is_ok(), text.is_ok());
        // The text has no value that begins with a digit where a name is expected.
        let is_json = !matches!(&text, Err(error) if error.problem().starts_with("not JSON: "));
        if is_scalar && is_json {
            prop_assert_eq!(found, text);
        }
    }
}

#[test]
fn a_list_is_not_a_table() {
    let mut scenario = full();
    scenario["link"][0] = json!(["down", "a", "b"]);
    let error = Scenario::from_value(scenario).unwrap_err().to_string();
    assert!(error.starts_with("link[0]: expected a link, "), "{error}");
    assert!(error.ends_with(", found a list"), "{error}");
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
