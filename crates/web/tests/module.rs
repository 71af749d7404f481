//! The WebAssembly module that `make web` builds gives the answers of this crate, for random
//! scenarios. It runs in the interpreter wasmi, so the test needs no browser.

#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};
use wasmi::{Engine, Instance, Linker, Memory, Module, Store};
use web::Session;

/// Number of random scenarios.
const SCENARIOS: u32 = 1000;

/// The module in its interpreter.
struct Page {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
}

impl Page {
    fn new() -> Self {
        let path = std::env::var("TCPSF_MODULE").expect("TCPSF_MODULE: the file of the module");
        let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        let engine = Engine::default();
        let module = Module::new(&engine, &bytes).unwrap();
        let mut store = Store::new(&engine, ());
        // A module that imported something would not run here, nor in a page.
        let instance = Linker::new(&engine).instantiate_and_start(&mut store, &module).unwrap();
        let memory = instance.get_memory(&store, "memory").unwrap();
        Self { store, instance, memory }
    }

    fn call(&mut self, name: &str) -> u32 {
        let function = self.instance.get_typed_func::<(), u32>(&self.store, name).unwrap();
        function.call(&mut self.store, ()).unwrap()
    }

    fn put(&mut self, name: &str, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).unwrap();
        let function = self.instance.get_typed_func::<u32, u32>(&self.store, name).unwrap();
        let address = function.call(&mut self.store, length).unwrap();
        self.memory.write(&mut self.store, address as usize, bytes).unwrap();
    }

    fn answer(&mut self, request: &[u8], file: &[u8]) -> Vec<u8> {
        self.put("request", request);
        self.put("file", file);
        let function = self.instance.get_typed_func::<(), ()>(&self.store, "answer").unwrap();
        function.call(&mut self.store, ()).unwrap();
        let (address, length) = (self.call("result_address"), self.call("result_length"));
        let mut found = vec![0; length as usize];
        self.memory.read(&self.store, address as usize, &mut found).unwrap();
        found
    }
}

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

fn scenario() -> impl Strategy<Value = Value> {
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
}

#[test]
fn random_scenarios_have_the_same_rows_in_the_module() {
    let mut page = Page::new();
    let mut session = Session::default();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[26; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let (mut runs, mut events) = (0, 0);
    for seed in 0..SCENARIOS {
        let scenario = scenario().new_tree(&mut runner).unwrap().current();
        let request = json!({"do": "run", "scenario": scenario, "seed": seed}).to_string();
        let native = session.answer(request.as_bytes(), Vec::new());
        assert_eq!(page.answer(request.as_bytes(), &[]), native, "{request}");
        let found: Value = serde_json::from_slice(&native).unwrap();
        assert!(found.get("error").is_none(), "{request}: {found}");
        runs += u32::from(found["flows"].as_u64() > Some(0));
        events += found["events"].as_u64().unwrap();
    }
    assert!(runs > SCENARIOS * 9 / 10, "only {runs} runs have flows");
    eprintln!("{SCENARIOS} scenarios with {events} events have the same rows");
}

#[test]
fn flows_captures_and_states_are_the_same_in_the_module() {
    let mut page = Page::new();
    let mut session = Session::default();
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[27; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    for seed in 0..20 {
        let scenario = scenario().new_tree(&mut runner).unwrap().current();
        let mut both = |request: Value, file: &[u8]| {
            let request = request.to_string();
            let native = session.answer(request.as_bytes(), file.to_vec());
            assert_eq!(page.answer(request.as_bytes(), file), native, "{request}");
            native
        };
        both(json!({"do": "flow", "view": 0, "scenario": scenario, "seed": seed}), &[]);
        both(json!({"do": "moment", "view": 0, "at_s": 0.2}), &[]);
        let capture = both(json!({"do": "capture", "view": 0}), &[]);
        both(json!({"do": "toml", "scenario": scenario}), &[]);
        both(json!({"do": "open"}), &capture);
        let end = both(json!({"do": "analyze", "packets": 1_000_000}), &[]);
        let end: Value = serde_json::from_slice(&end).unwrap();
        assert_eq!(end["is_done"], true);
        both(json!({"do": "connection", "flow": 0}), &[]);
    }
}
