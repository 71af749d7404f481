//! Requests and the answers of this crate, as lines of JSON: `cargo run --example answers [COUNT]`.
//!
//! A test sends the requests to the WebAssembly module in a browser, and compares. There are COUNT
//! runs of random scenarios, and for each fiftieth one its first flow, capture and analysis.

#![expect(clippy::unwrap_used, reason = "a program that can't be set up must stop")]
#![expect(clippy::print_stdout, reason = "the lines are the result")]

use std::fmt::Write;

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use web::Session;

/// Number of random scenarios, if it is not given.
const SCENARIOS: u32 = 1000;

/// Distance of two scenarios of which the first flow is described too.
const DESCRIBED: u32 = 50;

prop_compose! {
    fn link(name: &'static str, from: &'static str, to: &'static str)(
        rate in 200..20_000u32,
        delay in 1..120u32,
        packets in 3..40u32,
        loss in select(vec![
            Value::Null,
            json!({"kind": "packet", "probability": 0.03}),
            json!({"kind": "byte", "probability": 0.000_02}),
            json!({"kind": "burst", "probability": 0.02, "run": 2.5}),
            json!({"kind": "gilbert-elliott", "good_to_bad": 0.02, "bad_to_good": 0.4}),
            json!({"kind": "mask", "drops": "0,1,0,0,1", "repeat": true}),
        ]),
        jitter in select(vec![
            Value::Null,
            Value::Null,
            json!({"kind": "normal", "deviation": "3ms"}),
            json!({"kind": "pareto", "mean": "2ms", "reorder": true}),
            json!({"kind": "uniform", "by": "1ms"}),
        ]),
        discipline in 0..4u8,
    ) -> Value {
        let mut buffer = json!({"packets": packets});
        match discipline {
            0 => buffer["codel"] = json!({}),
            1 => buffer["fq_codel"] = json!({}),
            2 => buffer["balanced"] = json!({"lower": 0.4, "upper": 0.9, "gap": 5}),
            _ => {}
        }
        json!({
            "name": name, "from": from, "to": to, "rate": format!("{rate}kb/s"),
            "delay": format!("{delay}ms"), "buffer": buffer, "loss": loss, "jitter": jitter,
        })
    }
}

prop_compose! {
    fn workload(name: &'static str)(
        kind in 0..3u8,
        sender in select(vec![
            "reno+sack / full / iw=1", "reno+sack / fs(n=4) / iw=1", "reno+sack / vs(n=4) / iw=1",
            "reno+newreno+lt / full / iw=3", "tahoe / full / iw=2", "vegas / full / iw=1",
            "linux", "linux / tail(n=4) / iw=10", "linux / dup-tail / iw=4", "linux+pacing",
            "santa-cruz / full / iw=1", "reno+fack / tiny-tail / iw=2",
        ]),
        handshake in any::<bool>(),
        size in 1..90_000u64,
        rate in 1..20u32,
    ) -> Value {
        let sender = if handshake || !sender.contains("santa") { sender } else { "linux" };
        let mut workload = json!({
            "name": name, "from": "a", "to": "b", "sender": sender, "handshake": handshake,
        });
        let keys = match kind {
            0 => json!({"kind": "greedy", "flows": 2, "spread": "500ms"}),
            1 => json!({"kind": "transfers", "sizes": [size, 2 * size, 400], "spacing": "90ms"}),
            _ => json!({
                "kind": "poisson", "rate": rate,
                "sizes": {"classes": [400, size, 12_000]},
            }),
        };
        for (key, value) in keys.as_object().unwrap() {
            workload[key] = value.clone();
        }
        if sender.starts_with("linux") {
            workload["tcp"] = json!({"profile": "linux-6.18"});
        }
        workload
    }
}

fn scenario() -> BoxedStrategy<Value> {
    (
        link("there", "a", "b"),
        link("back", "b", "a"),
        workload("one"),
        workload("two"),
        200..2000u32,
    )
        .prop_map(|(there, back, one, two, duration)| {
            json!({
                "name": "random", "duration": format!("{duration}ms"), "drain": "2s",
                "link": [there, back], "workload": [one, two], "trace": ["one"],
                "samples": {"every": "100ms", "workloads": ["one"], "links": ["there"]},
            })
        })
        .boxed()
}

/// Prints a request with its answer. The answer to `capture` is a file, in hexadecimal notation.
fn print(session: &mut Session, request: &Value, file: &[u8]) -> Vec<u8> {
    let answer = session.answer(request.to_string().as_bytes(), file.to_vec());
    let value = if request["do"] == "capture" {
        let mut text = String::new();
        for byte in &answer {
            write!(text, "{byte:02x}").unwrap();
        }
        text.into()
    } else {
        serde_json::from_slice::<Value>(&answer).unwrap()
    };
    assert!(value.get("error").is_none(), "{request}: {value}");
    println!("{}", json!({"request": request, "answer": value}));
    answer
}

fn main() {
    let count = std::env::args().nth(1).map_or(SCENARIOS, |text| text.parse().unwrap());
    let mut session = Session::default();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[26; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for seed in 0..count {
        let scenario = scenario().new_tree(&mut runner).unwrap().current();
        let mut ask = |request: Value, file: &[u8]| print(&mut session, &request, file);
        ask(json!({"do": "run", "scenario": scenario, "seed": seed}), &[]);
        if seed % DESCRIBED != 0 {
            continue;
        }
        ask(json!({"do": "flow", "view": 0, "scenario": scenario, "seed": seed}), &[]);
        ask(json!({"do": "moment", "view": 0, "at_s": 0.2}), &[]);
        ask(json!({"do": "toml", "scenario": scenario}), &[]);
        let capture = ask(json!({"do": "capture", "view": 0}), &[]);
        ask(json!({"do": "open"}), &capture);
        ask(json!({"do": "analyze", "packets": 1_000_000}), &[]);
        ask(json!({"do": "connection", "flow": 0}), &[]);
    }
}
