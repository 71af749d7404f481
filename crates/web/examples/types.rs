//! Prints the TypeScript types of requests and answers.
//!
//! `cargo run -p web --example types > crates/web/page/tcpsf.d.ts`

use std::fmt::Write;

use schemars::generate::SchemaSettings;
use schemars::schema_for;
use serde_json::{Map, Value};
use web::{Answers, Request};

fn main() {
    #[expect(clippy::print_stdout, reason = "the output of the program")]
    {
        print!("{}", declarations());
    }
}

/// The file of types.
pub(crate) fn declarations() -> String {
    let mut text = String::from(
        "// Types of the module's requests and answers, written by `make docs` from crates/web.\n",
    );
    let request = schema_for!(Request).to_value();
    // Answers are written, so that keys with nulls are always there.
    let mut written = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let answers = written.root_schema_for::<Answers>().to_value();
    let mut named = Map::new();
    for schema in [&request, &answers] {
        if let Some(definitions) = schema.get("$defs").and_then(Value::as_object) {
            named.extend(definitions.clone());
        }
    }
    named.insert("Answers".to_owned(), answers);
    for (name, schema) in &named {
        text.push('\n');
        comment(&mut text, schema, "");
        let _ = writeln!(text, "export interface {name} {}", object(schema, ""));
    }
    text.push('\n');
    comment(&mut text, &request, "");
    text.push_str("export type Request =");
    for variant in request["oneOf"].as_array().into_iter().flatten() {
        let about = variant.get("description").and_then(Value::as_str).unwrap_or_default();
        let _ = write!(text, "\n  /** {about} */\n  | ");
        text.push_str(&object(variant, "  "));
    }
    text.push_str(";\n");
    text
}

fn comment(text: &mut String, schema: &Value, indent: &str) {
    let Some(about) = schema.get("description").and_then(Value::as_str) else { return };
    let _ = writeln!(text, "{indent}/** {} */", about.replace('\n', " "));
}

/// An object type. `indent` is that of its line.
fn object(schema: &Value, indent: &str) -> String {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let inner = format!("{indent}  ");
    let mut text = String::from("{\n");
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        comment(&mut text, property, &inner);
        let optional = if required.contains(&name.as_str()) { "" } else { "?" };
        let quoted = if name.contains('-') { format!("\"{name}\"") } else { name.clone() };
        let _ = writeln!(text, "{inner}{quoted}{optional}: {};", type_of(property, &inner));
    }
    let _ = write!(text, "{indent}}}");
    text
}

fn type_of(schema: &Value, indent: &str) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return name.rsplit('/').next().unwrap_or("unknown").to_owned();
    }
    if let Some(constant) = schema.get("const") {
        return constant.to_string();
    }
    if let Some(parts) = schema.get("anyOf").and_then(Value::as_array) {
        let parts: Vec<_> = parts.iter().map(|part| type_of(part, indent)).collect();
        return parts.join(" | ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => simple(kind, schema, indent),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            kinds.map(|kind| simple(kind, schema, indent)).collect::<Vec<_>>().join(" | ")
        }
        _ => "unknown".to_owned(),
    }
}

fn simple(kind: &str, schema: &Value, indent: &str) -> String {
    match kind {
        "integer" | "number" => "number".to_owned(),
        "array" => match (schema["minItems"].as_u64(), schema["maxItems"].as_u64()) {
            (Some(least), Some(most)) if least == most && most < 9 => {
                let items = vec![type_of(&schema["items"], indent); most.try_into().unwrap_or(0)];
                format!("[{}]", items.join(", "))
            }
            _ => {
                let items = type_of(&schema["items"], indent);
                if items.contains('|') { format!("({items})[]") } else { format!("{items}[]") }
            }
        },
        other => other.to_owned(),
    }
}
