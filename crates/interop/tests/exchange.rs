//! A few hundred connections between the host and the kernel. `verification/interop.py` runs a
//! hundred thousand.

mod common;

use common::{results, start};
use serde_json::json;

#[test]
fn all_bytes_arrive_between_host_and_kernel() {
    let full = "reno+sack / full / iw=rfc6928";
    // The kernel does not support its option.
    let santa_cruz = "santa-cruz / full / iw=2";
    let framed = "reno+sack / fs(n=4) / iw=1";
    let clean = json!({});
    let rough = json!({"both": {"delay": "2ms", "loss": "2%", "duplicate": "3%", "corrupt": "1%", "reorder": "3%,3ms"}});
    let off = json!({"tcp_sack": "0", "tcp_timestamps": "0", "tcp_window_scaling": "0"});
    let on = json!({});
    let mut cases = Vec::new();
    for (ours, ip, sender, link, sysctls, offload) in [
        ("server", 4, full, &clean, &on, false),
        ("server", 6, framed, &rough, &off, false),
        ("server", 4, framed, &rough, &on, true),
        ("client", 4, full, &rough, &off, false),
        ("client", 6, framed, &clean, &on, true),
        ("server", 4, santa_cruz, &rough, &on, false),
        ("client", 6, santa_cruz, &rough, &off, false),
    ] {
        for (connections, size) in [(150, 5_000), (6, 400_000)] {
            cases.push(json!({
                "ours": ours, "ip": ip, "sender": sender, "link": link, "sysctls": sysctls, "offload": offload, "congestion": "reno",
                "quick_ack": offload, "connections": connections, "concurrency": 30, "up": [1, size],
                "down": [1, 2 * size], "seed": cases.len(),
            }));
        }
    }
    let runs: Vec<_> = cases.iter().map(|case| start(&["exchange", &case.to_string()])).collect();
    for (case, run) in cases.iter().zip(runs) {
        let found = &results(run)[0];
        let wanted = case["connections"].as_u64();
        for end in ["ours", "kernel"] {
            assert_eq!(found[end]["good"].as_u64(), wanted, "{end} of {case}: {found}");
            assert_eq!(found[end]["bad"], json!({}), "{end} of {case}: {found}");
            assert!(found[end]["compared_bytes"].as_u64() > wanted, "{end} of {case}: {found}");
        }
        assert_eq!(found["open"], 0, "{case}: {found}");
    }
}

/// RFC 5681 §2 (e), §4.2: without SACK the kernel needs three duplicate acknowledgments, and three
/// of the seven segments follow the lost one. The segments before it arrive with them and are
/// acknowledged separately.
#[test]
fn kernel_without_sack_counts_duplicate_acks() {
    let case = json!({
        "ours": "server", "ip": 4, "sender": "reno+sack / full / iw=rfc6928",
        "link": {"both": {"delay": "10ms"}, "up": {"loss-mask": "0,0,0,0,1"}},
        "sysctls": {"tcp_sack": "0", "tcp_timestamps": "1"}, "congestion": "reno",
        "connections": 1, "concurrency": 1, "up": [8000, 8000], "down": [1, 1],
    });
    for _ in 0..3 {
        let found = &results(start(&["exchange", &case.to_string()]))[0];
        assert_eq!(found["kernel"]["good"], 1, "{found}");
        assert_eq!(
            (&found["kernel_fast_retransmits"], &found["kernel_timeouts"]),
            (&json!(1), &json!(0)),
            "{found}"
        );
    }
}
