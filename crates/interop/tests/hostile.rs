//! A genuine client under short attacks. `verification/interop.py` runs longer ones with more
//! peers.

mod common;

use common::{results, start};
use serde_json::Value;

#[test]
fn good_client_is_served_under_attack() {
    let (mut quiet, mut attacked) = (0, 0);
    let over = |version| results(start(&["hostile", version, "0.6", "2000"]));
    let found = [over("4"), over("6")].concat();
    assert_eq!(found.len(), 2 * interop::hostile::Attack::ALL.len());
    for one in found {
        let number =
            |name: &str| one[name].as_u64().unwrap_or_else(|| panic!("no {name} in {one}"));
        assert_eq!((number("lost_files"), number("wrong")), (0, 0), "{one}");
        assert!(number("quiet_files") > 0 && number("attacked_files") > 0, "{one}");
        assert!(number("hostile_packets") > 100, "{one}");
        assert!(number("most_buffered_bytes") <= number("allowed_buffered_bytes"), "{one}");
        // The limit, as much again for the overhead of the allocator, and a constant.
        assert!(
            number("grown_bytes") <= 2 * number("allowed_buffered_bytes") + (32 << 20),
            "{one}"
        );
        quiet += number("quiet_files");
        attacked += number("attacked_files");
    }
    // A single attack takes about a second, in which other load of the machine could decide the
    // result.
    assert!(2 * attacked >= quiet, "{attacked} files among the bad, {quiet} without");
}

/// Resources held by hostile peers are small, and are released when their connections have ended.
#[test]
fn held_connections_are_cheap_and_released() {
    let held = [
        ("4", "window-edge", 1000, 8 << 20),
        ("4", "unread-lists", 300, 64 << 20),
        ("4", "endless-trailers", 900, 8 << 20),
        ("6", "late-bytes", 1000, 160 << 20),
    ];
    // A run waits most of the time, for up to 20 s until the server closes idle connections.
    for two in held.chunks(2) {
        let runs: Vec<_> = two
            .iter()
            .map(|(version, holding, ..)| start(&["hold", version, "2", "0.5", "2.5", holding]))
            .collect();
        for (run, &(.., connections, most)) in runs.into_iter().zip(two) {
            check_held(&results(run)[0], connections, most);
        }
    }
}

/// Checks the results of one run: connections held at once, and buffered bytes at most.
fn check_held(one: &Value, connections: u64, most: u64) {
    let number =
        |of: &Value, name: &str| of[name].as_u64().unwrap_or_else(|| panic!("no {name} in {one}"));
    assert!(number(one, "most_connections") >= connections, "{one}");
    assert!(number(one, "most_buffered_bytes") <= most, "{one}");
    assert!(number(one, "grown_bytes") <= most + (64 << 20), "{one}");
    assert_eq!(number(one, "lost_files"), 0, "{one}");
    for pair in one["pairs"].as_array().expect("pairs of turns") {
        assert!(number(pair, "quiet_files") > 0 && number(pair, "attacked_files") > 0, "{one}");
    }
    let left = &one["after_resets"];
    assert_eq!((number(left, "connections"), number(left, "server_bytes")), (0, 0), "{one}");
    // The genuine client's connections in TIME-WAIT, at most 16 384, hold less than 128 bytes
    // each.
    assert!(number(left, "buffered_bytes") <= 128 * 16_384, "{one}");
    assert!(number(left, "grown_bytes") <= 64 << 20, "{one}");
}

#[test]
fn required_transfers_are_correct() {
    for (attack, rate, version) in [
        ("wraps", "10000", "4"),
        ("overlaps", "2000", "4"),
        ("too-big", "2000", "4"),
        ("too-big", "2000", "6"),
    ] {
        // The initial sequence number is random, and only some are close enough to the wrap.
        let mut right = 0;
        for _ in 0..5 {
            let found = results(start(&["hostile", version, "1", rate, attack]));
            assert_eq!(found[0]["wrong"], 0, "{}", found[0]);
            right += found[0]["right"].as_u64().unwrap_or(0);
            if right > 0 {
                break;
            }
        }
        assert!(right > 0, "{attack}: not one transfer was completed");
    }
}
