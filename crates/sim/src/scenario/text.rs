//! Conversion of quantities: texts with a unit in the file, types of `units` here.

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{Deserializer, Error, Visitor};
use serde::{Deserialize, Serializer};
use units::{ParseError, parse_bytes};

pub(super) fn serialize<T: Display, S: Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

pub(super) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: FromStr<Err = ParseError>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_str(TextVisitor(PhantomData))
}

/// Conversion for a key that may be absent.
pub(super) mod optional {
    use super::{Deserialize, Deserializer, Display, FromStr, ParseError, Serializer, Text};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(in crate::scenario) fn serialize<T: Display, S: Serializer>(
        value: &Option<T>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => serializer.collect_str(value),
            None => serializer.serialize_none(),
        }
    }

    pub(in crate::scenario) fn deserialize<'de, T, D>(
        deserializer: D,
    ) -> Result<Option<T>, D::Error>
    where
        T: FromStr<Err = ParseError>,
        D: Deserializer<'de>,
    {
        Ok(Option::<Text<T>>::deserialize(deserializer)?.map(|text| text.0))
    }
}

/// Conversion for an optional number of bytes.
pub(super) mod optional_bytes {
    use super::{Bytes, Deserializer, Serializer, optional};

    #[expect(clippy::ref_option, reason = "serde passes a reference")]
    pub(in crate::scenario) fn serialize<S: Serializer>(
        value: &Option<u64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        optional::serialize(&value.map(Bytes), serializer)
    }

    pub(in crate::scenario) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<u64>, D::Error> {
        Ok(optional::deserialize::<Bytes, _>(deserializer)?.map(|bytes| bytes.0))
    }
}

struct Text<T>(T);

impl<'de, T: FromStr<Err = ParseError>> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize(deserializer).map(Self)
    }
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err = ParseError>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text with a unit such as \"20ms\", \"10Mb/s\" or \"150kB\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// A number of bytes; prints with the largest power of ten that leaves a whole number.
struct Bytes(u64);

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
