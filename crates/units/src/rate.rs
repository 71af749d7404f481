//! Transmission rates and exact serialization times.

use std::fmt;
use std::str::FromStr;

use crate::parse::{ParseError, Units, number_and_unit, scaled};
use crate::time::{Duration, Instant};

const NANOS_PER_SEC: u128 = 1_000_000_000;

/// A transmission rate in bits per second: above zero, and no more than [`Rate::MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// A petabit per second: far above any line, and low enough for sums of fractions to fit.
    pub const MAX: Self = Self(1_000_000_000_000_000);

    /// A rate of `bits` per second; `None` outside the range.
    pub const fn from_bits_per_sec(bits: u64) -> Option<Self> {
        if bits == 0 || bits > Self::MAX.0 { None } else { Some(Self(bits)) }
    }

    /// The rate in bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// The time to put `bytes` on the line, rounded up to a nanosecond.
    pub fn transmission_time(self, bytes: u32) -> Duration {
        let nanos = (u128::from(bytes) * 8 * NANOS_PER_SEC).div_ceil(u128::from(self.0));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// Prints the largest unit that leaves a whole number, e.g. `10Mb/s`; it parses back to the same
/// value.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, size) in [("Gb/s", 1_000_000_000), ("Mb/s", 1_000_000), ("kb/s", 1_000)] {
            if self.0.is_multiple_of(size) {
                return write!(f, "{}{unit}", self.0 / size);
            }
        }
        write!(f, "{}b/s", self.0)
    }
}

/// Accepts `b/s`, `bps`, `bit` and `bit/s`, each with the prefix `k`, `M` or `G` (powers of ten).
/// Case matters only for `b`: `B` is a byte, and a rate in bytes per second is an error that shows
/// the rate in bits.
impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        const UNITS: Units = Units {
            names: &[("b/s", 1), ("kb/s", 1_000), ("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)],
            wanted: "a rate above zero such as `10Mb/s` or `32kbit`",
            most: "1000000Gb/s",
        };
        let error = || ParseError::new(text, UNITS.wanted);
        let (number, unit) = number_and_unit(text).ok_or_else(error)?;
        let (bytes, unit) = in_bits(unit).ok_or_else(error)?;
        let rate = scaled(&format!("{number}{unit}"), &UNITS).map_err(|e| e.about(text))?;
        if rate > Self::MAX.0 {
            return Err(ParseError::too_large(text, &UNITS));
        }
        if bytes {
            let eightfold = Self::from_bits_per_sec(rate.saturating_mul(8));
            let meant =
                eightfold.map(|bits| format!(": did you mean `{bits}` or `{number}{unit}`?"));
            let problem = format!(
                "is in bytes per second, and a rate is in bits{}",
                meant.unwrap_or_default()
            );
            return Err(ParseError::because(text, problem));
        }
        Self::from_bits_per_sec(rate).ok_or_else(error)
    }
}

/// Returns whether a unit counts bytes, and the unit of bits with the same prefix. `None` if it
/// is not a unit of a rate.
fn in_bits(unit: &str) -> Option<(bool, &'static str)> {
    let (name, base) = match unit.chars().next()? {
        'k' | 'K' => ("kb/s", &unit[1..]),
        'm' | 'M' => ("Mb/s", &unit[1..]),
        'g' | 'G' => ("Gb/s", &unit[1..]),
        _ => ("b/s", unit),
    };
    let small = base.to_ascii_lowercase();
    match small.as_str() {
        "bit" | "bit/s" => Some((false, name)),
        "b/s" | "bps" => Some((base.starts_with('B'), name)),
        "byte/s" | "bytes/s" => Some((true, name)),
        _ if base == "B" => Some((true, name)),
        _ => None,
    }
}

/// Serializes packets at a rate. The fraction of a nanosecond is kept between packets, so long busy
/// periods do not drift.
#[derive(Debug, Clone, Copy)]
pub struct Serializer {
    rate: Rate,
    /// When the last packet's final bit leaves, whole nanoseconds.
    free_at: Instant,
    /// The fraction of a nanosecond of `free_at`, in units of 1/rate ns.
    remainder: u64,
    /// The last packet size and its (nanoseconds, remainder). Most packets have one of two sizes,
    /// and a 128-bit division costs more than the rest of this type.
    memo: [(u32, u64, u64); 2],
}

impl Serializer {
    /// An idle line.
    pub fn new(rate: Rate) -> Self {
        Self { rate, free_at: Instant::ZERO, remainder: 0, memo: [(0, 0, 0); 2] }
    }

    /// A line that is busy until `free_at`.
    pub fn busy_until(rate: Rate, free_at: Instant) -> Self {
        Self { free_at, ..Self::new(rate) }
    }

    /// The rate of the line.
    pub fn rate(&self) -> Rate {
        self.rate
    }

    /// When the line has sent everything accepted so far.
    pub fn free_at(&self) -> Instant {
        self.free_at
    }

    /// Accepts a packet of `bytes` at `now` and returns when its last bit leaves.
    pub fn send(&mut self, now: Instant, bytes: u32) -> Instant {
        let (nanos, rest) = self.time_of(bytes);
        // At `now == free_at` the fraction that is carried is still to come.
        let (start, carried) =
            if self.free_at >= now { (self.free_at, self.remainder) } else { (now, 0) };
        let mut remainder = carried + rest;
        let mut nanos = nanos;
        if remainder >= self.rate.0 {
            remainder -= self.rate.0;
            nanos += 1;
        }
        self.remainder = remainder;
        self.free_at = start + Duration::from_nanos(nanos);
        // The last bit of a packet that ends within a nanosecond is there when the nanosecond is
        // over.
        if remainder == 0 { self.free_at } else { self.free_at + Duration::from_nanos(1) }
    }

    fn time_of(&mut self, bytes: u32) -> (u64, u64) {
        for &(size, nanos, rest) in &self.memo {
            if size == bytes {
                return (nanos, rest);
            }
        }
        self.divide(bytes)
    }

    #[cold]
    fn divide(&mut self, bytes: u32) -> (u64, u64) {
        let scaled = u128::from(bytes) * 8 * NANOS_PER_SEC;
        let rate = u128::from(self.rate.0);
        let nanos = u64::try_from(scaled / rate).unwrap_or(u64::MAX / 4);
        let rest = u64::try_from(scaled % rate).unwrap_or(0);
        self.memo = [(bytes, nanos, rest), self.memo[0]];
        (nanos, rest)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rate(bits: u64) -> Rate {
        Rate::from_bits_per_sec(bits).unwrap()
    }

    #[test]
    fn a_full_packet_at_ten_megabit_takes_1_2_ms() {
        assert_eq!(rate(10_000_000).transmission_time(1500), Duration::from_micros(1200));
    }

    #[test]
    fn three_packets_of_a_third_of_a_nanosecond_take_one() {
        let mut line = Serializer::new(rate(24_000_000_000));
        let ends: Vec<u64> = (0..3).map(|_| line.send(Instant::ZERO, 1).as_nanos()).collect();
        assert_eq!(ends, [1, 1, 1]);
    }

    proptest! {
        #[test]
        fn a_busy_line_does_not_drift(bits in 1_000..100_000_000_000u64, sizes in prop::collection::vec(1..9000u32, 1..200), late in any::<bool>()) {
            let mut line = Serializer::new(rate(bits));
            let mut end = Instant::ZERO;
            for &size in &sizes {
                // The line stays busy whether packets come all at once or as each one leaves.
                end = line.send(if late { line.free_at() } else { Instant::ZERO }, size);
            }
            let total: u128 = sizes.iter().map(|&s| u128::from(s)).sum();
            let exact = (total * 8 * NANOS_PER_SEC).div_ceil(u128::from(bits));
            prop_assert_eq!(u128::from(end.as_nanos()), exact);
        }

        #[test]
        fn a_printed_rate_parses_to_itself(bits in 1..=Rate::MAX.bits_per_sec()) {
            prop_assert_eq!(rate(bits).to_string().parse(), Ok(rate(bits)));
        }
    }

    #[test]
    fn rates_are_above_zero() {
        for bad in ["0", "0Mb/s", "-1Mb/s", "ten", "10", "", "10MB"] {
            assert!(bad.parse::<Rate>().is_err(), "{bad} parsed");
        }
        assert_eq!("1.5Mb/s".parse(), Ok(rate(1_500_000)));
    }

    #[test]
    fn every_way_to_write_a_rate_is_read() {
        for (text, bits) in [
            ("8bit", 8),
            ("8b/s", 8),
            ("8bps", 8),
            ("32kbit", 32_000),
            ("32 Kb/s", 32_000),
            ("10Mbps", 10_000_000),
            ("10mbit", 10_000_000),
            ("10Mbit/s", 10_000_000),
            ("10mb/s", 10_000_000),
            ("1Gbps", 1_000_000_000),
            ("2gbit", 2_000_000_000),
        ] {
            assert_eq!(text.parse(), Ok(rate(bits)), "{text}");
        }
    }

    #[test]
    fn bytes_per_second_are_refused_with_the_rate_in_bits() {
        for (text, problem) in [
            ("1MB/s", "did you mean `8Mb/s` or `1Mb/s`?"),
            ("1.5kB/s", "did you mean `12kb/s` or `1.5kb/s`?"),
            ("125B/s", "did you mean `1kb/s` or `125b/s`?"),
            ("10MB", "did you mean `80Mb/s` or `10Mb/s`?"),
            ("10MBps", "did you mean `80Mb/s` or `10Mb/s`?"),
            ("10MBPS", "did you mean `80Mb/s` or `10Mb/s`?"),
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("`{text}` is in bytes per second, and a rate is in bits: {problem}")
            );
        }
        let large = "9999999999Gb/s".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(large, "`9999999999Gb/s` is too large: the most is 1000000Gb/s");
        let huge = "99999999999999999999Gb/s".parse::<Rate>().unwrap_err().to_string();
        assert_eq!(huge, "`99999999999999999999Gb/s` is too large: the most is 1000000Gb/s");
    }
}
