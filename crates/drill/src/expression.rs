//! Assertions between `%{` and `}%`: a small part of Python over the fields of `TCP_INFO`.
//!
//! Statements are `assert`, `print`, assignments and nothing else. They are evaluated at their
//! event, unlike in packetdrill, which evaluates all of them after the script, so that a failure
//! has its time.

mod evaluate;
mod format;
mod parse;
mod token;

use std::collections::BTreeMap;
use std::fmt;

pub use evaluate::{Failure, Scope};

use crate::cursor::Problem;

/// Statements of a block.
#[derive(Debug, Clone, PartialEq)]
pub struct Code {
    statements: Vec<Statement>,
}

/// A statement with its line.
#[derive(Debug, Clone, PartialEq)]
struct Statement {
    line: u32,
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Assert(Expression, Option<Expression>),
    Print(Vec<Expression>),
    /// `name = value`, or `name += value` with the operator.
    Assign(String, Option<Binary>, Expression),
    /// An expression alone.
    Evaluate(Expression),
}

#[derive(Debug, Clone, PartialEq)]
enum Expression {
    Number(i64),
    Decimal(f64),
    Truth(bool),
    Text(String),
    /// An f-string: texts and expressions.
    Template(Vec<Expression>),
    Name(String),
    Tuple(Vec<Expression>),
    Unary(Unary, Box<Expression>),
    Binary(Binary, Box<Expression>, Box<Expression>),
    /// `a < b <= c`.
    Comparison(Box<Expression>, Vec<(Relation, Expression)>),
    And(Vec<Expression>),
    Or(Vec<Expression>),
    Call(Function, Vec<Expression>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unary {
    Minus,
    Invert,
    Not,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    FloorDivide,
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Int,
    Abs,
    Min,
    Max,
    Str,
    Hex,
}

/// Value of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// An integer.
    Integer(i64),
    /// A number with a fraction.
    Decimal(f64),
    /// A truth value.
    Truth(bool),
    /// A text.
    Text(String),
    /// Several values.
    Tuple(Vec<Value>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Decimal(value) => write!(f, "{value:?}"),
            Self::Truth(true) => f.write_str("True"),
            Self::Truth(false) => f.write_str("False"),
            Self::Text(text) => f.write_str(text),
            Self::Tuple(values) => {
                let texts: Vec<String> = values.iter().map(Self::to_string).collect();
                write!(f, "({})", texts.join(", "))
            }
        }
    }
}

/// Variables that the blocks of a script assign.
pub type Variables = BTreeMap<String, Value>;

impl Code {
    /// Reads a block that begins in this line.
    ///
    /// # Errors
    /// Returns the byte offset and the problem of the first place that cannot be read.
    pub(crate) fn parse(text: &str, line: u32) -> Result<Self, Problem> {
        parse::code(text, line).map(|statements| Self { statements })
    }

    /// Names of the block that no statement before assigns, and the line of each.
    pub fn names(&self) -> Vec<(u32, &str)> {
        let mut names = Vec::new();
        for statement in &self.statements {
            for expression in statement.expressions() {
                expression.collect(statement.line, &mut names);
            }
        }
        names
    }

    /// Names that the block assigns.
    pub fn assigned(&self) -> impl Iterator<Item = &str> {
        self.statements.iter().filter_map(|statement| match &statement.kind {
            Kind::Assign(name, ..) => Some(name.as_str()),
            _ => None,
        })
    }
}

impl Statement {
    fn expressions(&self) -> Vec<&Expression> {
        match &self.kind {
            Kind::Assert(condition, message) => [condition].into_iter().chain(message).collect(),
            Kind::Print(values) => values.iter().collect(),
            Kind::Assign(_, _, value) | Kind::Evaluate(value) => vec![value],
        }
    }
}

impl Expression {
    /// Appends the names in the expression.
    fn collect<'a>(&'a self, line: u32, names: &mut Vec<(u32, &'a str)>) {
        match self {
            Self::Name(name) => names.push((line, name)),
            Self::Number(_) | Self::Decimal(_) | Self::Truth(_) | Self::Text(_) => {}
            Self::Unary(_, value) => value.collect(line, names),
            Self::Binary(_, left, right) => {
                left.collect(line, names);
                right.collect(line, names);
            }
            Self::Comparison(first, rest) => {
                first.collect(line, names);
                for (_, value) in rest {
                    value.collect(line, names);
                }
            }
            Self::Template(all)
            | Self::Tuple(all)
            | Self::And(all)
            | Self::Or(all)
            | Self::Call(_, all) => {
                for value in all {
                    value.collect(line, names);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
