//! A link in real time decides as the same link in virtual time, for the same seed. Needs root and
//! `/dev/net/tun`.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

#[expect(dead_code, reason = "the tests of `link` use all of it")]
mod common;

use common::{OUTSIDE, PORT, Run, captured, scratch, traffic};
use emulator::Settings;
use emulator::line::Line;
use units::{Duration, Instant};

/// The number of datagrams, and their size with headers.
const COUNT: u32 = 400;
const SIZE: usize = 628;

/// Laws whose decisions depend on the packets and their order, not on their times.
#[test]
fn the_same_seed_has_the_decisions_of_virtual_time() {
    let file = scratch("decisions.pcapng");
    for up in [
        r#""loss": "20%""#,
        r#""loss-per-byte": "3e-4""#,
        r#""loss-linear": "0.3@1500B""#,
        r#""loss-burst": "0.2,4""#,
        r#""loss-gilbert": "0.1,0.3,0.9,0.05""#,
        r#""loss-mask-all": "0,1,0,0,1,1""#,
        r#""loss": "5%", "duplicate": "10%", "corrupt": "15%", "reorder": "20%,3ms""#,
        r#""loss": "10%", "jitter": "normal:2ms", "delay": "5ms""#,
    ] {
        let settings = format!(r#"{{"up": {{{up}}}, "seed": 7}}"#);
        let arguments = ["blast", OUTSIDE, PORT, &COUNT.to_string(), &(SIZE - 28).to_string()];
        let run = Run::of(&settings, &traffic(&arguments))
            .with(&["--pcap", file.to_str().unwrap()])
            .alone();
        assert_eq!(run.status, 0, "{}", run.errors);
        let real: Vec<bool> = captured(&file)
            .into_iter()
            .filter(|packet| packet.outbound)
            .map(|packet| packet.says("Dropped: random loss") || packet.says("Dropped: loss mask"))
            .collect();
        std::fs::remove_file(&file).unwrap();

        let config = Settings::from_json(&settings).unwrap();
        let mut line = Line::new(&config.up, config.seed, "up");
        let mut packet = [0; SIZE];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&u16::try_from(SIZE).unwrap().to_be_bytes());
        packet[9] = 17;
        let outcomes = (0..COUNT).map(|number| {
            let now = Instant::ZERO + Duration::from_millis(1) * u64::from(number);
            !line.offer(now, &packet).outcome.is_accepted()
        });
        let simulated: Vec<bool> = outcomes.collect();
        assert_eq!(real, simulated, "{up}");
        assert!(simulated.contains(&true), "{up}");
        let extras = line.extras();
        for (column, tally) in [
            ("duplicated_packets", extras.duplicated),
            ("corrupted_packets", extras.corrupted),
            ("reordered_packets", extras.reordered),
        ] {
            assert_eq!(run.count("up", column), tally.packets, "{up}: {column}");
        }
        let books = line.books(Instant::ZERO + Duration::from_secs(60));
        assert_eq!(run.count("up", "dropped_loss_packets"), books.dropped_loss.packets, "{up}");
    }
}
