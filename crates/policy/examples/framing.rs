//! Sizes of the segments of a slow start, as each segmenter decides them.
//!
//! `cargo run -p policy --example framing` prints a line for each sender.

#![expect(clippy::print_stdout, reason = "the example shows its result")]

use policy::{ParseSenderError, Segmenter, SendView, SenderPolicy};

const SMSS: u32 = 1460;

/// Returns the size of the next segment after each of the first acknowledgments.
fn sizes(sender: &str, acknowledgments: u32) -> Result<Vec<u32>, ParseSenderError> {
    let policy: SenderPolicy = sender.parse()?;
    let mut segmenter = policy.segmenter();
    let mut view = SendView { smss: SMSS, cwnd: SMSS, flight: 0, flight_segments: 0 };
    segmenter.on_slow_start(view.cwnd, &view);
    let mut found = vec![segmenter.mss_c(&view)];
    for _ in 0..acknowledgments {
        view.cwnd += segmenter.mss_c(&view);
        segmenter.on_ack(&view);
        found.push(segmenter.mss_c(&view));
    }
    Ok(found)
}

fn main() -> Result<(), ParseSenderError> {
    for sender in ["reno / full / iw=1", "reno / fs(n=4) / iw=1", "reno / vs(n=4) / iw=1"] {
        println!("{sender}: {:?}", sizes(sender, 6)?);
    }
    Ok(())
}

/// The sizes are those of the draft's table for an SMSS of 1460 bytes and α = 1.32.
#[test]
fn sizes_are_those_of_the_draft() -> Result<(), ParseSenderError> {
    assert_eq!(sizes("reno / full / iw=1", 3)?, [SMSS; 4]);
    assert_eq!(sizes("reno / fs(n=4) / iw=1", 3)?, [365; 4]);
    assert_eq!(sizes("reno / vs(n=4) / iw=1", 5)?, [365, 481, 635, 839, 1108, 1460]);
    main()
}
