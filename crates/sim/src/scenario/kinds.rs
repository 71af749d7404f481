//! Tables whose keys depend on their `kind`.

use std::fmt;

use serde::de::{DeserializeOwned, Deserializer, Error, MapAccess, Visitor};
use serde_json::{Map, Value};

use super::error::{missing_key, nested};
use super::located::{self, Located};

/// Declares a table whose keys depend on its `kind`: a struct for each kind, an enum of these
/// structs, and an enum of the kinds. In the structs, the keys of `first` stand before `kind`,
/// those of `then` after it, and those of `last` at the end.
macro_rules! kinds {
    (
        $(#[$about:meta])*
        pub enum $Table:ident of $Kind:ident expecting $expecting:literal;
        first $first:tt then $then:tt last $last:tt
        $(
            $(#[$doc:meta])*
            $name:literal => $Variant:ident($Struct:ident) {
                $($(#[$meta:meta])* $key:ident: $type:ty,)*
            }
        )+
    ) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[serde(untagged)]
        pub enum $Table {
            $($(#[$doc])* $Variant($Struct),)+
        }

        /// The value of `kind`, which determines the other keys.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        enum $Kind {
            $($(#[$doc])* #[serde(rename = $name)] $Variant,)+
        }

        $(
            kinds!(@table
                $(#[$doc])* $Struct of $Kind $name expecting $expecting;
                $first $then { $($(#[$meta])* pub $key: $type,)* } $last
            );
        )+

        impl<'de> Deserialize<'de> for $Table {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                const KEYS: &[(&str, &[&str])] = &[$(($name, &[$(stringify!($key)),*])),+];
                let table = super::kinds::Table::read(deserializer, $expecting)?;
                match table.kind()? {
                    $($Kind::$Variant => table.decode($name, KEYS).map(Self::$Variant),)+
                }
            }
        }
    };
    (
        @table $(#[$doc:meta])* $Struct:ident of $Kind:ident $name:literal expecting $expecting:literal;
        { $($first:tt)* } { $($then:tt)* } { $($keys:tt)* } { $($last:tt)* }
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, expecting = $expecting)]
        pub struct $Struct {
            $($first)*
            #[schemars(with = "String", extend("const" = $name))]
            kind: $Kind,
            $($then)*
            $($keys)*
            $($last)*
        }
    };
}

pub(super) use kinds;

/// A table as read, without the keys whose value is null.
pub(super) struct Table(Map<String, Value>);

impl Table {
    pub(super) fn read<'de, D: Deserializer<'de>>(
        deserializer: D,
        expecting: &'static str,
    ) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor(expecting)).map(Self)
    }

    /// The table's kind.
    pub(super) fn kind<K: DeserializeOwned, E: Error>(&self) -> Result<K, E> {
        let kind = self.0.get("kind").ok_or_else(|| E::missing_field("kind"))?;
        K::deserialize(kind).map_err(|error| nested("kind", &error))
    }

    /// Converts the table to the struct of its kind. `keys` has the keys of each kind that not all
    /// kinds have. An error has its path within the table.
    pub(super) fn decode<T: DeserializeOwned, E: Error>(
        self,
        kind: &str,
        keys: &[(&str, &[&str])],
    ) -> Result<T, E> {
        if let Some(key) = self.0.keys().find(|key| belongs(key, kind, keys) == Some(false)) {
            return Err(nested(key, &format!("does not belong to kind `{kind}`")));
        }
        located::read(Value::Object(self.0)).map_err(|error| {
            let (path, problem) = located_problem(&error, kind, keys);
            nested(&path, &problem)
        })
    }
}

/// Whether a key belongs to a kind; `None` if it is not a key of single kinds.
fn belongs(key: &str, kind: &str, keys: &[(&str, &[&str])]) -> Option<bool> {
    let has =
        |own: bool| keys.iter().any(|(name, keys)| (*name == kind) == own && keys.contains(&key));
    if has(true) { Some(true) } else { has(false).then_some(false) }
}

/// Path and text of an error in a table of a kind.
fn located_problem(error: &Located, kind: &str, keys: &[(&str, &[&str])]) -> (String, String) {
    let message = error.error.to_string();
    match missing_key(&message) {
        Some(key) if belongs(key, kind, keys) == Some(true) => {
            (key.to_owned(), format!("missing; kind `{kind}` needs it"))
        }
        _ => (error.path().to_owned(), message),
    }
}

struct TableVisitor(&'static str);

impl<'de> Visitor<'de> for TableVisitor {
    type Value = Map<String, Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut table = Map::new();
        while let Some((key, value)) = entries.next_entry::<String, Value>()? {
            if table.contains_key(&key) {
                return Err(A::Error::custom(format!("duplicate field `{key}`")));
            }
            table.insert(key, value);
        }
        table.retain(|_, value| !value.is_null());
        Ok(table)
    }
}
