//! System calls: arguments and expected results.

use std::fmt;

use crate::cursor::{Cursor, DEEPEST, Read};

/// A system call with its expected result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Name of the call.
    pub name: String,
    /// Arguments.
    pub arguments: Vec<Value>,
    /// Expected result.
    pub result: CallResult,
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// Return value; `None` for `...`, which is not compared.
    pub value: Option<i64>,
    /// Name of the error, such as `EAGAIN`.
    pub error: Option<String>,
}

/// An argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// `...`: an address or a buffer.
    Any,
    /// An integer.
    Integer(i64),
    /// A constant such as `SOCK_STREAM`.
    Word(String),
    /// A text in quotes.
    Text(String),
    /// Values joined by `|`.
    Or(Vec<Value>),
    /// `[…]`: a pointer to values.
    List(Vec<Value>),
    /// `{…}`: a structure.
    Struct(Vec<Field>),
    /// A function of values, such as `htons(80)`.
    Function(String, Vec<Value>),
}

/// A field of a structure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Name; empty if the structure lists its values in order.
    pub name: String,
    /// Length in parentheses after the name.
    pub length: Option<Value>,
    /// Value.
    pub value: Value,
}

impl Value {
    /// Field of a structure.
    pub fn field(&self, name: &str) -> Option<&Self> {
        let Self::Struct(fields) = self else { return None };
        fields.iter().find(|field| field.name == name).map(|field| &field.value)
    }

    /// The only value of a list.
    pub fn pointee(&self) -> Option<&Self> {
        match self {
            Self::List(values) if values.len() == 1 => values.first(),
            _ => None,
        }
    }

    /// Words of the value: one, or several joined by `|`.
    pub fn words(&self) -> Vec<&str> {
        match self {
            Self::Word(word) => vec![word],
            Self::Or(values) => values.iter().flat_map(Self::words).collect(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let joined = |values: &[Self], by: &str| {
            values.iter().map(Self::to_string).collect::<Vec<_>>().join(by)
        };
        match self {
            Self::Any => f.write_str("..."),
            Self::Integer(value) => write!(f, "{value}"),
            Self::Word(word) => f.write_str(word),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Or(values) => f.write_str(&joined(values, "|")),
            Self::List(values) => write!(f, "[{}]", joined(values, ", ")),
            Self::Function(name, values) => write!(f, "{name}({})", joined(values, ", ")),
            Self::Struct(fields) => {
                let fields: Vec<String> = fields
                    .iter()
                    .map(|field| match (&field.length, field.name.as_str()) {
                        (_, "") => field.value.to_string(),
                        (Some(length), name) => format!("{name}({length})={}", field.value),
                        (None, name) => format!("{name}={}", field.value),
                    })
                    .collect();
                write!(f, "{{{}}}", fields.join(", "))
            }
        }
    }
}

impl fmt::Display for CallResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Some(value) => write!(f, "{value}")?,
            None => f.write_str("...")?,
        }
        match &self.error {
            Some(error) => write!(f, " {error}"),
            None => Ok(()),
        }
    }
}

/// Reads `name(arguments) = result ERRNO (text)`.
pub(super) fn call(cursor: &mut Cursor) -> Read<Call> {
    let name = cursor.word("a packet, a system call, a command or `%{`")?.to_owned();
    cursor.expect("(")?;
    let arguments = values(cursor, ")", 0)?;
    cursor.expect("=")?;
    let result = result(cursor)?;
    Ok(Call { name, arguments, result })
}

fn result(cursor: &mut Cursor) -> Read<CallResult> {
    let value = if cursor.eat("...")? || cursor.eat("?")? {
        None
    } else {
        Some(integer(cursor, "the result of the call")?)
    };
    cursor.skip_blank()?;
    let error = if cursor.rest().starts_with(|c: char| c.is_ascii_alphabetic()) {
        Some(cursor.word("an error")?.to_owned())
    } else {
        None
    };
    if cursor.eat("(")? && cursor.take_until(")").is_none() {
        return cursor.expected("`)`");
    }
    Ok(CallResult { value, error })
}

fn integer(cursor: &mut Cursor, wanted: &str) -> Read<i64> {
    let negative = cursor.eat("-")?;
    let value: i64 = cursor.small(wanted)?;
    Ok(if negative { -value } else { value })
}

/// Reads values separated by commas up to `end`.
fn values(cursor: &mut Cursor, end: &str, depth: u32) -> Read<Vec<Value>> {
    let mut found = Vec::new();
    if cursor.eat(end)? {
        return Ok(found);
    }
    loop {
        found.push(value(cursor, depth + 1)?);
        if cursor.eat(end)? {
            return Ok(found);
        }
        if !cursor.eat(",")? {
            return cursor.expected(&format!("`,` or `{end}`"));
        }
    }
}

fn value(cursor: &mut Cursor, depth: u32) -> Read<Value> {
    let first = single(cursor, depth)?;
    if !cursor.sees("|")? {
        return Ok(first);
    }
    let mut all = vec![first];
    while cursor.eat("|")? {
        all.push(single(cursor, depth)?);
    }
    Ok(Value::Or(all))
}

fn single(cursor: &mut Cursor, depth: u32) -> Read<Value> {
    if depth > DEEPEST {
        return cursor.problem(format!("values are nested more than {DEEPEST} times"));
    }
    if cursor.eat("...")? {
        return Ok(Value::Any);
    }
    if cursor.eat("[")? {
        return values(cursor, "]", depth).map(Value::List);
    }
    if cursor.eat("{")? {
        return structure(cursor, depth).map(Value::Struct);
    }
    if cursor.eat("\"")? {
        return match cursor.take_until("\"") {
            Some(text) => Ok(Value::Text(text.to_owned())),
            None => cursor.expected("`\"` at the end of the text"),
        };
    }
    if cursor.rest().starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return named(cursor, depth);
    }
    integer(cursor, "a value").map(Value::Integer)
}

/// Reads a constant, a defined word or a function.
fn named(cursor: &mut Cursor, depth: u32) -> Read<Value> {
    let word = cursor.word("a value")?;
    if cursor.eat("(")? {
        return Ok(Value::Function(word.to_owned(), values(cursor, ")", depth)?));
    }
    let text = cursor.definition(word).unwrap_or(word);
    if let Some(text) = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')) {
        return Ok(Value::Text(text.to_owned()));
    }
    let number = crate::cursor::integer_of(text).and_then(|value| i64::try_from(value).ok());
    Ok(number.map_or_else(|| Value::Word(text.to_owned()), Value::Integer))
}

fn structure(cursor: &mut Cursor, depth: u32) -> Read<Vec<Field>> {
    let mut fields = Vec::new();
    loop {
        fields.push(field(cursor, depth + 1)?);
        if cursor.eat("}")? {
            return Ok(fields);
        }
        if !cursor.eat(",")? {
            return cursor.expected("`,` or `}`");
        }
    }
}

/// Reads `name = value`, `name(length) = value`, or a value.
fn field(cursor: &mut Cursor, depth: u32) -> Read<Field> {
    cursor.skip_blank()?;
    let first = value(cursor, depth)?;
    if !cursor.eat("=")? {
        return Ok(Field { name: String::new(), length: None, value: first });
    }
    let (name, length) = match first {
        Value::Word(name) => (name, None),
        Value::Function(name, mut values) if values.len() == 1 => (name, values.pop()),
        other => return cursor.problem(format!("expected the name of a field, got `{other}`")),
    };
    Ok(Field { name, length, value: value(cursor, depth)? })
}
