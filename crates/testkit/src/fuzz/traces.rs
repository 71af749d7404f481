//! Interprets any bytes as the text files of a link: a trace of a rate, a mask of losses, delays.

use link::{
    Jitter, Link, LinkConfig, LossModel, LossTrace, Offered, RateTrace, parse_delays, parse_mask,
};
use units::Instant;

/// Parses `bytes` as each kind of file, and sends packets over a link with what they describe.
///
/// # Panics
/// Panics if an error names a line that the text does not have, if packets leave in another order
/// without reordering, or if the books of the link do not balance.
pub fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().count().max(1);
    let check = |line: usize| assert!((1..=lines).contains(&line), "line {line} of {lines}");
    let rate_trace = RateTrace::parse(&text).map_err(|error| check(error.line)).ok();
    let mask = parse_mask(&text).map_err(|error| check(error.line)).ok();
    let delays = parse_delays(&text).map_err(|error| check(error.line)).ok();
    if let Some(trace) = &rate_trace {
        assert!(trace.mean_rate().bits_per_sec() > 0);
    }
    let loss = mask.map_or(LossModel::None, |mask| LossModel::Trace(LossTrace::new(mask, false)));
    let jitter = delays.and_then(|delays| Jitter::samples(delays).ok());
    let mut link = Link::new(LinkConfig { rate_trace, loss, jitter, ..LinkConfig::default() });
    let mut last = Instant::ZERO;
    let mut expected = 0;
    for number in 0..20_u32 {
        let now = Instant::from_nanos(u64::from(number) * 700_000);
        let packet = Offered { bytes: 77 * number, ..Offered::default() };
        let draw = u64::from(number).wrapping_mul(units::hash::GOLDEN);
        if link.offer(now, packet, number, |_| draw).is_accepted() {
            expected += 1;
        }
        assert!(link.books().balance(), "{:?}", link.books());
    }
    let mut earlier = None;
    while let Some(due) = link.next_delivery() {
        assert!(due >= last, "a delivery at {due} follows one at {last}");
        last = due;
        let number = link.deliver(due).expect("a delivery that is due");
        assert!(earlier.is_none_or(|earlier| earlier < number), "one packet overtook another");
        (earlier, expected) = (Some(number), expected - 1);
    }
    assert_eq!(expected, 0, "packets are missing");
    assert!(link.books().balance());
}
