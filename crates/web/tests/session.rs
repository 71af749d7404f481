//! Requests of a page, and their answers.

#![expect(clippy::float_cmp, reason = "whole numbers")]
#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

use serde_json::{Value, json};
use web::Session;

#[path = "../examples/types.rs"]
#[expect(dead_code, reason = "the program's `main`")]
mod types;

const RTT_S: f64 = 0.08;

/// A flow of 14 480 bytes over a path with a round-trip time of 80 ms.
fn scenario(sender: &str) -> Value {
    let link = |name: &str, from: &str, to: &str| json!({"name": name, "from": from, "to": to, "rate": "10Mb/s", "delay": "40ms"});
    let profile = if sender.contains("linux") { "linux-6.18" } else { "rfc" };
    json!({
        "name": "one flow", "duration": "60s",
        "link": [link("there", "server", "client"), link("back", "client", "server")],
        "workload": [{
            "name": "one", "kind": "transfers", "from": "server", "to": "client",
            "sizes": [14_480], "sender": sender, "handshake": true,
        }],
        "tcp": {"profile": profile, "mss": 1448},
    })
}

fn ask(session: &mut Session, request: &Value, file: &[u8]) -> Value {
    serde_json::from_slice(&session.answer(request.to_string().as_bytes(), file.to_vec())).unwrap()
}

fn flow(session: &mut Session, scenario: &Value, edits: &Value) -> Value {
    let request = json!({"do": "flow", "view": 0, "scenario": scenario, "seed": 1, "edits": edits});
    ask(session, &request, &[])
}

fn place(packet: &Value) -> Value {
    json!({"link": packet["link"], "position": packet["position"]})
}

/// The data packets of a flow.
fn data(flow: &Value) -> Vec<&Value> {
    let packets = flow["packets"].as_array().unwrap();
    packets.iter().filter(|packet| packet["payload_bytes"].as_u64() > Some(0)).collect()
}

#[test]
fn a_flow_without_edits_loses_nothing() {
    for sender in ["linux", "reno+sack / full / iw=10", "reno+sack / fs(n=4) / iw=1"] {
        let found = flow(&mut Session::default(), &scenario(sender), &json!({}));
        assert_eq!(found["repairs"], json!([]), "{sender}");
        let packets = found["packets"].as_array().unwrap();
        assert!(packets.iter().all(|packet| packet["fate"] == "arrived"));
        let bytes: u64 = data(&found).iter().map(|p| p["payload_bytes"].as_u64().unwrap()).sum();
        assert_eq!(bytes, 14_480);
        assert!(found["sender_s"].as_f64().unwrap() > 2.0 * RTT_S);
        assert_eq!(packets[0]["control"], "SYN");
    }
}

#[test]
fn a_flow_has_the_number_of_its_row_and_a_number_in_its_workload() {
    let mut scenario = scenario("linux");
    let mut other = scenario["workload"][0].clone();
    other["name"] = json!("two");
    other["sizes"] = json!([100, 200]);
    scenario["workload"].as_array_mut().unwrap().push(other);
    let session = &mut Session::default();
    let mut places = Vec::new();
    for number in 0..3 {
        let request =
            json!({"do": "flow", "view": 0, "scenario": scenario, "seed": 1, "flow": number});
        let by_number = ask(session, &request, &[]);
        let request = json!({
            "do": "flow", "view": 0, "scenario": scenario, "seed": 1,
            "workload": by_number["workload"], "index": by_number["index"],
        });
        assert_eq!(ask(session, &request, &[]), by_number);
        places.push((by_number["workload"].to_string(), by_number["index"].as_u64().unwrap()));
    }
    places.sort();
    let place = |name: &str, index| (format!("\"{name}\""), index);
    assert_eq!(places, [place("one", 0), place("two", 0), place("two", 1)]);
    let request = json!({"do": "flow", "view": 0, "scenario": scenario, "seed": 1, "flow": 3});
    let none = ask(session, &request, &[]);
    assert_eq!((&none["workload"], &none["packets"]), (&Value::Null, &json!([])));
}

#[test]
fn a_mask_without_losses_may_be_replaced() {
    let mut scenario = scenario("linux");
    let session = &mut Session::default();
    let whole = flow(session, &scenario, &json!({}));
    let edits = json!({"drops": [place(data(&whole)[3])]});
    let dropped = flow(session, &scenario, &edits);
    scenario["link"][0]["loss"] = json!({"kind": "mask", "drops": "0,0"});
    assert_eq!(flow(session, &scenario, &edits)["packets"], dropped["packets"]);
    scenario["link"][0]["loss"]["drops"] = json!("0,1");
    let refused = flow(session, &scenario, &edits);
    assert_eq!(refused["error"], "edits: link `there` has losses of its own");
}

#[test]
fn the_dropped_packet_is_lost_and_its_repair_has_a_cause() {
    let scenario = scenario("linux");
    let session = &mut Session::default();
    let whole = flow(session, &scenario, &json!({}));
    let segments = data(&whole);
    for (index, cause) in [(0, "rack"), (segments.len() - 1, "tail_loss_probe")] {
        let edits = json!({"drops": [place(segments[index])]});
        let found = flow(session, &scenario, &edits);
        let lost = data(&found)[index];
        assert_eq!(lost["fate"], "dropped-loss");
        let repairs = found["repairs"].as_array().unwrap();
        assert_eq!(repairs.len(), 1, "{found}");
        assert_eq!(repairs[0]["cause"], cause, "{}", repairs[0]);
        assert_eq!(repairs[0]["lost"], lost["number"]);
        assert!(found["sender_s"].as_f64() > whole["sender_s"].as_f64());
        // The scenario of the answer repeats the flow.
        let again = flow(session, &found["scenario"], &json!({}));
        assert_eq!(again["packets"], found["packets"]);
    }
}

#[test]
fn a_dropped_syn_is_repaired_by_its_timeout() {
    let edits = json!({"drops": [{"link": "there", "position": 0}]});
    let found = flow(&mut Session::default(), &scenario("linux"), &edits);
    assert_eq!(found["repairs"][0]["cause"], "syn_timeout", "{}", found["repairs"]);
    assert_eq!(found["timeouts"], 1);
    assert!(found["sender_s"].as_f64() > Some(1.0));
}

#[test]
fn the_delayed_packet_arrives_later_by_the_delay_and_earlier_ones_as_before() {
    let scenario = scenario("reno+sack / full / iw=10");
    let session = &mut Session::default();
    let whole = flow(session, &scenario, &json!({}));
    for index in [1, 4, 8] {
        let packet = data(&whole)[index].clone();
        let mut delay = place(&packet);
        delay["by_ns"] = json!(25_000_000);
        let found = flow(session, &scenario, &json!({"delays": [delay]}));
        let number = usize::try_from(packet["number"].as_u64().unwrap()).unwrap();
        let (before, after) = (&whole["packets"], &found["packets"]);
        for earlier in 0..number {
            assert_eq!(before[earlier], after[earlier]);
        }
        let at = |packets: &Value| packets[number]["ended_s"].as_f64().unwrap();
        assert!((at(after) - at(before) - 0.025).abs() < 1e-12);
        let again = flow(session, &found["scenario"], &json!({}));
        assert_eq!(again["packets"], found["packets"]);
    }
}

#[test]
fn several_delays_and_drops_go_together() {
    let scenario = scenario("linux");
    let session = &mut Session::default();
    let whole = flow(session, &scenario, &json!({}));
    let segments = data(&whole);
    let delayed = |index: usize, by_ns: u64| {
        let mut found = place(segments[index]);
        found["by_ns"] = json!(by_ns);
        found
    };
    let edits = json!({
        "drops": [place(segments[3])],
        "delays": [delayed(5, 11_000_000), delayed(2, 30_000_000), delayed(6, 7_000_000)],
    });
    let found = flow(session, &scenario, &edits);
    let arrival = |flow: &Value, index: usize| data(flow)[index]["ended_s"].as_f64().unwrap();
    for (index, by_s) in [(2, 0.030), (5, 0.011), (6, 0.007)] {
        assert!((arrival(&found, index) - arrival(&whole, index) - by_s).abs() < 1e-9);
    }
    assert_eq!(data(&found)[3]["fate"], "dropped-loss");
    assert_eq!(flow(session, &found["scenario"], &json!({}))["packets"], found["packets"]);
}

#[test]
fn the_state_at_a_time_has_the_queue_and_the_timers() {
    let session = &mut Session::default();
    let whole = flow(session, &scenario("linux"), &json!({}));
    let segments = data(&whole);
    let edits = json!({"drops": [place(segments[0])]});
    let found = flow(session, &scenario("linux"), &edits);
    let repaired = found["repairs"][0]["repaired_s"].as_f64().unwrap();
    let moment = ask(session, &json!({"do": "moment", "view": 0, "at_s": repaired}), &[]);
    assert_eq!(moment["at_s"].as_f64(), Some(repaired));
    let first = &moment["queue"][0];
    assert_eq!((&first["lost"], &first["resent"]), (&json!(true), &json!(true)), "{moment}");
    assert!(moment["queue"].as_array().unwrap().iter().any(|each| each["reported"] == true));
    assert_eq!(moment["congestion"], "Recovery");
    assert!(moment["rack"]["rtt_s"].as_f64() >= Some(RTT_S));
    let timers = moment["timers"].as_array().unwrap();
    assert!(timers.iter().any(|timer| timer["at_s"].as_f64() > Some(repaired)), "{moment}");
    // Before the handshake is complete nothing is measured.
    let start = ask(session, &json!({"do": "moment", "view": 0, "at_s": 0.0}), &[]);
    assert_eq!(start["timers"][0]["name"], "retransmission timeout");
}

#[test]
fn the_capture_of_a_flow_can_be_opened() {
    let session = &mut Session::default();
    let edits = json!({"drops": [{"link": "there", "position": 3}]});
    let found = flow(session, &scenario("linux"), &edits);
    let bytes = session.answer(br#"{"do": "capture", "view": 0}"#, Vec::new());
    assert_eq!(bytes[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    ask(session, &json!({"do": "open"}), &bytes);
    let end = ask(session, &json!({"do": "analyze", "packets": 1000}), &[]);
    assert_eq!((&end["is_done"], &end["connections"]), (&json!(true), &json!(1)));
    assert_eq!(end["causes"][0]["cause"], found["repairs"][0]["cause"]);
    let connection = ask(session, &json!({"do": "connection", "flow": 0}), &[]);
    assert_eq!(connection["segments"].as_array().unwrap().len(), data(&found).len());
    // Every byte is sent, and the last acknowledgment covers all of them and the FIN.
    let ends = |name: &str, place: usize| -> Vec<f64> {
        let rows = connection[name].as_array().unwrap();
        rows.iter().map(|row| row[place].as_f64().unwrap()).collect()
    };
    assert_eq!(ends("segments", 1)[0], 0.0);
    assert_eq!(ends("segments", 2).into_iter().fold(0.0, f64::max), 14_480.0);
    assert_eq!(ends("acknowledgments", 1).into_iter().fold(0.0, f64::max), 14_481.0);
    let again = connection["again"].as_array().unwrap();
    assert_eq!(again.len(), 1);
    let lost = data(&found).into_iter().find(|packet| packet["fate"] == "dropped-loss").unwrap();
    assert_eq!(again[0]["first"].as_f64().unwrap() + 1.0, lost["seq"].as_f64().unwrap());
}

#[test]
fn a_scenario_file_has_the_same_flow() {
    let session = &mut Session::default();
    let edits = json!({"drops": [{"link": "there", "position": 5}],
        "delays": [{"link": "back", "position": 2, "by_ns": 1_234_567}]});
    let found = flow(session, &scenario("linux / tail(n=4) / iw=10"), &edits);
    let text = ask(session, &json!({"do": "toml", "scenario": found["scenario"]}), &[]);
    let read: Value = toml::from_str(text["text"].as_str().unwrap()).unwrap();
    assert_eq!(read, found["scenario"]);
    assert_eq!(flow(session, &read, &json!({}))["packets"], found["packets"]);
}

#[test]
fn steps_have_the_rows_of_the_whole_run() {
    let session = &mut Session::default();
    let mut scenario = scenario("reno+sack / full / iw=1");
    scenario["samples"] = json!({"every": "50ms", "links": ["there"]});
    scenario["workload"][0]["sizes"] = json!([3000, 90_000, 20_000]);
    let whole = ask(session, &json!({"do": "run", "scenario": scenario, "seed": 3}), &[]);
    ask(session, &json!({"do": "start", "scenario": scenario, "seed": 3}), &[]);
    let (mut flows, mut samples, mut steps) = (0, 0, 0);
    loop {
        let step = ask(session, &json!({"do": "advance", "events": 37}), &[]);
        flows += step["flow_sender"].as_array().unwrap().len();
        samples += step["sample_s"].as_array().unwrap().len();
        steps += 1;
        if step["is_done"] == true {
            assert_eq!(step["events"], whole["events"]);
            break;
        }
    }
    assert_eq!(flows, 3);
    assert!(steps > 3 && samples > 10);
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_hint() {
    let session = &mut Session::default();
    let mut lossy = scenario("linux");
    lossy["link"][0]["loss"] = json!({"kind": "packet", "probability": 0.1});
    let of = |scenario: &Value, edits: Value| json!({"do": "flow", "view": 0, "scenario": scenario, "seed": 1, "edits": edits});
    let drop = json!({"drops": [{"link": "there", "position": 0}]});
    let table = [
        (json!({"do": "fly"}), "request: unknown variant `fly`"),
        (json!({"do": "moment", "view": 3, "at_s": 0}), "view 3: no flow is kept"),
        (json!({"do": "advance", "events": 1}), "advance: no run was started"),
        (json!({"do": "analyze", "packets": 1}), "analyze: no file is open"),
        (json!({"do": "open"}), "cannot read the capture: the file is empty"),
        (of(&scenario("lunix"), json!({})), "workload[0].sender: "),
        (of(&lossy, drop), "edits: link `there` has losses of its own"),
        (
            of(&scenario("linux"), json!({"drops": [{"link": "x", "position": 0}]})),
            "edits: there is no link `x`",
        ),
        (
            of(&scenario("linux"), json!({"drops": [{"link": "back", "position": 2_000_000}]})),
            "edits: packet 2000000 of link `back`: too large a number",
        ),
    ];
    for (request, error) in table {
        let found = ask(session, &request, &[]);
        let text = found["error"].as_str().unwrap_or_default();
        assert!(text.starts_with(error), "{request}: {found}");
        assert!(found["hint"].is_string(), "{request}: {found}");
        assert!(!text.contains('\n'));
    }
}

#[test]
fn the_types_are_those_of_the_requests_and_answers() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/page/tcpsf.d.ts");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == types::declarations(), "`{path}` is out of date: run `make docs`");
}
