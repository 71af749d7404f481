//! The JSON Schema of a scenario file, derived from the types of a scenario. The Python classes,
//! the reference page and editors take names, types, defaults and texts from it.

use std::borrow::Cow;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::{Profile, Scenario};

/// A probability, or a share of a whole. A file may have it as a percentage, which the reader of
/// files converts.
pub(super) struct Share;

impl JsonSchema for Share {
    fn schema_name() -> Cow<'static, str> {
        "Share".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A probability, or a share of a whole: a number from 0 to 1, or text such as \"1%\".",
            "anyOf": [
                { "type": "number" },
                { "type": "string", "pattern": r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*%\s*$" },
            ],
        })
    }
}

/// The name of a sender, which `policy` parses.
pub(super) struct Sender;

impl JsonSchema for Sender {
    fn schema_name() -> Cow<'static, str> {
        "Sender".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string",
            "description": "Name of a sender: congestion control with loss recovery / segmentation / windows.",
            "pattern": "^[^/]+/[^/]+/[^/]+$",
            "examples": ["reno+sack / fs(n=4) / iw=1"],
        })
    }
}

impl Scenario {
    /// The JSON Schema (draft 2020-12) of a scenario file, on one line.
    pub fn json_schema() -> String {
        let generator = SchemaSettings::draft2020_12().into_generator();
        let mut schema = generator.into_root_schema_for::<Self>().to_value();
        simplify(&mut schema);
        schema["title"] = "tcpsf scenario".into();
        schema.to_string()
    }
}

impl Profile {
    /// The tables of all profiles, as JSON on one line.
    pub fn tables_json() -> String {
        serde_json::to_string(&Self::ALL.map(Self::table)).unwrap_or_default()
    }
}

/// Removes parts that a file cannot use: null, which TOML does not have, and the widths of numbers.
/// Joins the lines of each paragraph of a description.
fn simplify(schema: &mut Value) {
    match schema {
        Value::Object(table) => {
            table.values_mut().for_each(simplify);
            if let Some(Value::String(text)) = table.get_mut("description") {
                let paragraphs = text.split("\n\n").map(|lines| lines.replace('\n', " "));
                *text = paragraphs.collect::<Vec<_>>().join("\n\n");
            }
            if table.get("type").is_some_and(|kind| kind == "integer" || kind == "number") {
                table.remove("format");
            }
            remove_null(table);
        }
        Value::Array(list) => list.iter_mut().for_each(simplify),
        _ => {}
    }
}

/// Removes null from the alternatives of a schema.
fn remove_null(table: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = table.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = &types[..] {
            let only = only.clone();
            table.insert("type".to_owned(), only);
            table.remove("format");
        }
    }
    if let Some(Value::Array(options)) = table.get_mut("anyOf") {
        options.retain(|option| option.get("type").is_none_or(|kind| kind != "null"));
        if let [Value::Object(only)] = &options[..] {
            let only = only.clone();
            table.remove("anyOf");
            table.extend(only);
        }
    }
    if table.get("default").is_some_and(Value::is_null) {
        table.remove("default");
    }
}
