//! Quantities, which a scenario has as texts with a unit.

use std::borrow::Cow;
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use units::{Duration, ParseError, Rate, parse_bytes};

/// A quantity that a scenario has as text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Text<T>(pub T);

/// A duration: text with one of the units ns, us, ms, s, min, h.
pub type Time = Text<Duration>;

/// A size: text with one of the units B, kB, MB, GB (powers of ten), KiB, MiB (powers of two).
pub type Size = Text<Bytes>;

/// A quantity that a text with a unit denotes.
pub trait Quantity: FromStr<Err = ParseError> + Display {
    /// The name in the JSON Schema.
    const NAME: &str;
    /// The units, in a sentence.
    const UNITS: &str;
    /// A regular expression that accepts every text of this quantity.
    const PATTERN: &str;
    /// An example.
    const EXAMPLE: &str;
}

impl Quantity for Duration {
    const NAME: &str = "Duration";
    const UNITS: &str = "Text with one of the units ns, us, ms, s, min, h.";
    const PATTERN: &str = r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*(ns|us|ms|s|min|h)\s*$";
    const EXAMPLE: &str = "20ms";
}

impl Quantity for Rate {
    const NAME: &str = "Rate";
    const UNITS: &str =
        "Text with one of the units b/s, kb/s, Mb/s, Gb/s (or bit, kbit, Mbit, Gbit).";
    const PATTERN: &str = concat!(
        r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*[kKmMgG]?",
        r"([bB][iI][tT](/[sS])?|b/[sS]|b[pP][sS])\s*$"
    );
    const EXAMPLE: &str = "10Mb/s";
}

impl Quantity for Bytes {
    const NAME: &str = "Size";
    const UNITS: &str =
        "Text with one of the units B, kB, MB, GB (powers of ten), KiB, MiB (powers of two).";
    const PATTERN: &str = r"^\s*([0-9]+(\.[0-9]*)?|\.[0-9]+)\s*(B|kB|KiB|MB|MiB|GB)\s*$";
    const EXAMPLE: &str = "150kB";
}

impl<T: Display> Serialize for Text<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de, T: Quantity> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor(PhantomData)).map(Self)
    }
}

impl<T: Quantity> JsonSchema for Text<T> {
    fn schema_name() -> Cow<'static, str> {
        T::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": T::UNITS,
            "pattern": T::PATTERN,
            "examples": [T::EXAMPLE],
        })
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: Quantity> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text with a unit such as \"20ms\", \"10Mb/s\" or \"150kB\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// A number of bytes; prints with the largest power of ten that leaves a whole number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl Size {
    /// The size in bytes.
    pub fn bytes(self) -> u64 {
        self.0.0
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        parse_bytes(text).map(Self)
    }
}

impl Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (unit, size) in [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)] {
            if self.0 != 0 && self.0.is_multiple_of(size) {
                return write!(f, "{}{unit}", self.0 / size);
            }
        }
        write!(f, "{}B", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_print_short_and_parse_to_themselves() {
        for (bytes, text) in [
            (0, "0B"),
            (1500, "1500B"),
            (150_000, "150kB"),
            (1 << 16, "65536B"),
            (2_000_000, "2MB"),
        ] {
            assert_eq!(Bytes(bytes).to_string(), text);
            assert_eq!(parse_bytes(text), Ok(bytes));
        }
    }
}
