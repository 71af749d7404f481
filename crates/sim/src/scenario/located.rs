//! Conversion of a JSON value to a type of a scenario, with the path of an error.
//!
//! `serde_path_to_error` does this for any format by wrapping each visitor. Here the path is part
//! of the error, so each type needs one visitor less. That is a tenth of the web page's module.

use std::fmt::Display;

use serde::de::value::StringDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, Expected, IntoDeserializer,
    MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::{Error, Value, map};

/// An error, and the path of the value in which it is, e.g. `workload[1].load`.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {error}")]
pub(super) struct Located {
    /// Path; empty if the error is in the value itself.
    path: String,
    /// The error.
    pub(super) error: Error,
}

impl Located {
    /// The path; `.` is the value itself.
    pub(super) fn path(&self) -> &str {
        if self.path.is_empty() { "." } else { &self.path }
    }

    fn below(self, parent: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        Self { path: format!("{parent}{dot}{}", self.path), ..self }
    }
}

impl From<Error> for Located {
    fn from(error: Error) -> Self {
        Self { path: String::new(), error }
    }
}

impl serde::de::Error for Located {
    fn custom<T: Display>(message: T) -> Self {
        Error::custom(message).into()
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Error::invalid_type(found, expected).into()
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Error::invalid_value(found, expected).into()
    }
}

/// Converts a value. An error has its path within the value.
pub(super) fn read<T: DeserializeOwned>(value: Value) -> Result<T, Located> {
    T::deserialize(Reader(value))
}

/// A deserializer of a value. It reads a struct from a table only, not from a list.
struct Reader(Value);

impl Reader {
    fn refuse<T>(&self, expected: &dyn Expected) -> Result<T, Located> {
        let found = match &self.0 {
            Value::Null => Unexpected::Unit,
            Value::Bool(found) => Unexpected::Bool(*found),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(found), _) => Unexpected::Unsigned(found),
                (None, Some(found)) => Unexpected::Signed(found),
                (None, None) => Unexpected::Float(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(found) => Unexpected::Str(found),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        };
        Err(Located::invalid_type(found, expected))
    }
}

/// Methods that take a number, or refuse the value.
macro_rules! numbers {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Located> {
            match &self.0 {
                Value::Number(number) => Ok(number.deserialize_any(visitor)?),
                _ => self.refuse(&visitor),
            }
        })+
    };
}

/// Methods that take a text, or refuse the value.
macro_rules! texts {
    ($($method:ident)+) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Located> {
            match self.0 {
                Value::String(text) => visitor.visit_string(text),
                _ => self.refuse(&visitor),
            }
        })+
    };
}

impl<'de> Deserializer<'de> for Reader {
    type Error = Located;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Located> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(found) => visitor.visit_bool(found),
            Value::Number(number) => Ok(number.deserialize_any(visitor)?),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(_) => self.deserialize_seq(visitor),
            Value::Object(_) => self.deserialize_map(visitor),
        }
    }

    numbers! {
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_u8
        deserialize_u16 deserialize_u32 deserialize_u64 deserialize_f32 deserialize_f64
    }

    texts! { deserialize_char deserialize_str deserialize_string deserialize_identifier }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Located> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Located> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Located> {
        let Value::Array(values) = self.0 else { return self.refuse(&visitor) };
        let length = values.len();
        let mut entries = Entries { values: values.into_iter(), index: 0 };
        let found = visitor.visit_seq(&mut entries)?;
        if entries.values.len() > 0 {
            return Err(Located::invalid_length(length, &"fewer elements in array"));
        }
        Ok(found)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Located> {
        let Value::Object(table) = self.0 else { return self.refuse(&visitor) };
        visitor.visit_map(Keys { table: table.into_iter(), next: None })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Located> {
        self.deserialize_map(visitor)
    }

    /// The enums of a scenario are names.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Located> {
        match self.0 {
            Value::String(name) => {
                visitor.visit_enum(IntoDeserializer::<Located>::into_deserializer(name))
            }
            _ => self.refuse(&"a string"),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i128 u128 bytes byte_buf unit unit_struct tuple tuple_struct ignored_any
    }
}

/// Entries of a list that have not been read, and the index of the next one.
struct Entries {
    values: std::vec::IntoIter<Value>,
    index: usize,
}

impl<'de> SeqAccess<'de> for Entries {
    type Error = Located;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Located> {
        let Some(value) = self.values.next() else { return Ok(None) };
        let index = self.index;
        self.index += 1;
        let found = seed.deserialize(Reader(value));
        found.map(Some).map_err(|error| error.below(&format!("[{index}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.values.len())
    }
}

/// Keys of a table that have not been read, and the key and value of which the key has been read.
struct Keys {
    table: map::IntoIter,
    next: Option<(String, Value)>,
}

impl<'de> MapAccess<'de> for Keys {
    type Error = Located;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Located> {
        let Some((key, value)) = self.table.next() else { return Ok(None) };
        let text: StringDeserializer<Located> = key.clone().into_deserializer();
        let found = seed.deserialize(text).map_err(|error| error.below(&key))?;
        self.next = Some((key, value));
        Ok(Some(found))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Located> {
        let (key, value) = self.next.take().unwrap_or_default();
        seed.deserialize(Reader(value)).map_err(|error| error.below(&key))
    }
}
