//! A burst of packets meets a line of 10 Mb/s with a buffer of three packets.
//!
//! `cargo run -p link --example queue` prints when each packet arrives, or that it is dropped.

#![expect(clippy::print_stdout, reason = "the example shows its result")]

use link::{Buffer, ConfigError, Link, LinkConfig, Offered, Outcome};
use units::{Duration, Instant, Rate};

/// Offers a burst of full-sized packets. Returns the arrivals, and the number of dropped packets.
fn burst(packets: u32) -> Result<(Vec<(u32, Instant)>, usize), ConfigError> {
    let mut link = Link::new(LinkConfig {
        rate: Rate::from_bits_per_sec(10_000_000),
        delay: Duration::from_millis(20),
        buffer: Buffer::bytes(4500)?,
        ..LinkConfig::default()
    });
    let packet = Offered { bytes: 1500, data: true, ..Offered::default() };
    let no_draw = |_| unreachable!("there is no random loss");
    let outcomes = (0..packets).map(|number| link.offer(Instant::ZERO, packet, number, no_draw));
    let dropped = outcomes.filter(|outcome| *outcome != Outcome::Accepted).count();
    let mut arrivals = Vec::new();
    while let Some(at) = link.next_delivery() {
        arrivals.extend(link.deliver(at).map(|number| (number, at)));
    }
    Ok((arrivals, dropped))
}

fn main() -> Result<(), ConfigError> {
    let (arrivals, dropped) = burst(6)?;
    for (number, at) in arrivals {
        println!("packet {number} arrives after {} us", at.as_nanos() / 1000);
    }
    println!("{dropped} packets are dropped");
    Ok(())
}

/// Packets leave 1.2 ms apart, and those beyond the buffer are dropped.
#[test]
fn packets_leave_at_the_rate_of_the_line() -> Result<(), ConfigError> {
    let (arrivals, dropped) = burst(6)?;
    assert_eq!(arrivals.len() + dropped, 6);
    assert!(dropped > 0);
    for (number, at) in arrivals {
        let micros = 20_000 + 1200 * u64::from(number + 1);
        assert_eq!(at, Instant::ZERO + Duration::from_micros(micros));
    }
    main()
}
