//! Error messages of links: buffers, early detection and losses.

use serde_json::json;

use super::{full, read, spoilt};

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
fn buffers_take_the_keys_of_their_kind() {
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
    ];
    for (pointer, value, message) in cases {
        assert_eq!(spoilt(pointer, value), message);
    }
}

#[test]
fn losses_take_the_keys_of_their_kind() {
    let loss = "/link/0/loss";
    let cases = [
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
}

#[test]
fn every_kind_of_loss_is_read() {
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
