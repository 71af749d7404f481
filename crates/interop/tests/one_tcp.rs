//! The packets on the wire are those of the simulator. `verification/interop.py` compares more
//! cases.

mod common;

use common::{results, start};

/// No loss; the first, a middle and the last segment lost; two losses; a lost retransmission.
const MASKS: [&str; 6] = ["0", "1", "0,1", "0,0,0,1", "0,1,0,1", "1,0,0,0,0,1"];

#[test]
fn wire_transfer_equals_simulation() {
    let senders = [
        "reno+sack / full / iw=1",
        "reno+sack / fs(n=4) / iw=1",
        "reno+sack / vs(n=4) / iw=1",
        "reno+ackwindow / full / iw=2",
        "santa-cruz / full / iw=2",
    ];
    let runs: Vec<_> = senders
        .iter()
        .map(|sender| {
            let words = MASKS.iter().flat_map(|mask| [*sender, "7000", *mask]);
            start(&["one-tcp"].into_iter().chain(words).collect::<Vec<_>>())
        })
        .collect();
    let mut late = Vec::new();
    for (sender, run) in senders.iter().zip(runs) {
        let found = results(run);
        assert_eq!(found.len(), MASKS.len());
        for mut one in found {
            if !one["difference"].is_null() {
                // The machine may cause a spurious timeout once; an error of TCP would occur every
                // time.
                let mask = one["transfer"]["mask"].as_str().expect("a text").to_owned();
                let again =
                    results(start(&["one-tcp", sender, "7000", &mask, sender, "7000", &mask]));
                assert!(
                    again.iter().all(|run| run["difference"].is_null()),
                    "{sender}: {one}, {again:?}"
                );
                one = again[0].clone();
            }
            assert!(one["packets"].as_u64() > Some(10), "{one}");
            let lost = one["transfer"]["mask"].as_str().is_some_and(|mask| mask.contains('1'));
            assert_eq!(one["resent"].as_u64() > Some(0), lost, "{one}");
            // Data segments and their acknowledgments.
            let speaks = !sender.contains("sack");
            assert_eq!(one["santa_cruz"].as_u64() > Some(8), speaks, "{one}");
            let number = |name: &str| one[name].as_f64().expect("a number");
            // Times have the resolution of a timer tick.
            assert!(number("early_s") > -0.001, "{one}");
            late.push(number("late_median_s") / number("error_p99_s").max(0.001));
        }
    }
    // Relative to a link delay of 50 ms. The median over all runs tolerates delays of the machine
    // in some of them.
    late.sort_by(f64::total_cmp);
    assert!(late[late.len() / 2] < 3.0, "late by so many times the emulator's own error: {late:?}");
}
