//! Evaluation of a block.

use std::cmp::Ordering;

use super::format::{formatted, hexadecimal};
use super::{
    Binary, Code, Expression, Function, Kind, Relation, Statement, Unary, Value, Variables,
};

/// Names that a block can use.
pub struct Scope<'a> {
    /// Values of `TCP_INFO` and constants.
    pub known: &'a dyn Fn(&str) -> Option<i64>,
    /// Variables of this and earlier blocks.
    pub variables: &'a mut Variables,
    /// Lines that `print` wrote.
    pub printed: &'a mut Vec<String>,
}

/// An assertion that does not hold, or a statement that cannot be evaluated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Line of the statement.
    pub line: u32,
    /// The statement.
    pub statement: String,
    /// Description of the failure.
    pub problem: String,
}

type Result<T, E = String> = std::result::Result<T, E>;

impl Code {
    /// Evaluates the block.
    ///
    /// # Errors
    /// Returns the first assertion that does not hold, or the first error of a statement.
    pub fn run(&self, scope: &mut Scope) -> Result<(), Failure> {
        for statement in &self.statements {
            statement.run(scope).map_err(|problem| Failure {
                line: statement.line,
                statement: statement.text.clone(),
                problem,
            })?;
        }
        Ok(())
    }
}

impl Statement {
    fn run(&self, scope: &mut Scope) -> Result<()> {
        match &self.kind {
            Kind::Assert(condition, message) => {
                if condition.value(scope)?.is_true() {
                    return Ok(());
                }
                let message = message.as_ref().map(|message| message.value(scope)).transpose()?;
                let seen = condition.seen(scope);
                Err(match message {
                    Some(message) if !seen.contains(&format!("= {message}")) => {
                        format!("the assertion does not hold: {message}{seen}")
                    }
                    _ => format!("the assertion does not hold{seen}"),
                })
            }
            Kind::Print(values) => {
                let texts: Result<Vec<String>> =
                    values.iter().map(|value| Ok(value.value(scope)?.to_string())).collect();
                scope.printed.push(texts?.join(" "));
                Ok(())
            }
            Kind::Assign(name, operator, value) => {
                let mut value = value.value(scope)?;
                if let Some(operator) = operator {
                    value = operator.apply(&scope.value_of(name)?, value)?;
                }
                scope.variables.insert(name.clone(), value);
                Ok(())
            }
            Kind::Evaluate(value) => value.value(scope).map(drop),
        }
    }
}

impl Scope<'_> {
    fn value_of(&self, name: &str) -> Result<Value> {
        if let Some(value) = self.variables.get(name) {
            return Ok(value.clone());
        }
        match (self.known)(name) {
            Some(value) => Ok(Value::Integer(value)),
            None => Err(format!("the name `{name}` has no value")),
        }
    }
}

impl Value {
    fn is_true(&self) -> bool {
        match self {
            Self::Integer(value) => *value != 0,
            Self::Decimal(value) => value.abs() > 0.0,
            Self::Truth(value) => *value,
            Self::Text(text) => !text.is_empty(),
            Self::Tuple(values) => !values.is_empty(),
        }
    }

    /// The value as an integer; truth values count as 0 and 1.
    pub(super) fn integer(&self) -> Option<i64> {
        match self {
            Self::Integer(value) => Some(*value),
            Self::Truth(value) => Some(i64::from(*value)),
            _ => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "as in Python, a float has 53 bits")]
    pub(super) fn decimal(&self) -> Option<f64> {
        match self {
            Self::Decimal(value) => Some(*value),
            other => other.integer().map(|value| value as f64),
        }
    }

    fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Text(left), Self::Text(right)) => Some(left.cmp(right)),
            (left, right) => match (left.integer(), right.integer()) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => left.decimal()?.partial_cmp(&right.decimal()?),
            },
        }
    }
}

impl Expression {
    fn value(&self, scope: &mut Scope) -> Result<Value> {
        match self {
            Self::Number(value) => Ok(Value::Integer(*value)),
            Self::Decimal(value) => Ok(Value::Decimal(*value)),
            Self::Truth(value) => Ok(Value::Truth(*value)),
            Self::Text(text) => Ok(Value::Text(text.clone())),
            Self::Name(name) => scope.value_of(name),
            Self::Tuple(all) => values(all, scope).map(Value::Tuple),
            Self::Template(parts) => {
                let texts = values(parts, scope)?;
                Ok(Value::Text(texts.iter().map(Value::to_string).collect()))
            }
            Self::Unary(operator, value) => operator.apply(&value.value(scope)?),
            Self::Binary(operator, left, right) => {
                let left = left.value(scope)?;
                operator.apply(&left, right.value(scope)?)
            }
            Self::Comparison(first, rest) => compared(first, rest, scope),
            Self::And(all) | Self::Or(all) => {
                let stop = matches!(self, Self::Or(_));
                let mut last = Value::Truth(!stop);
                for each in all {
                    last = each.value(scope)?;
                    if last.is_true() == stop {
                        break;
                    }
                }
                Ok(last)
            }
            Self::Call(function, arguments) => function.apply(&values(arguments, scope)?),
        }
    }

    /// The names in the expression with their values, for the message of an assertion.
    fn seen(&self, scope: &Scope) -> String {
        let mut names = Vec::new();
        self.collect(0, &mut names);
        let mut texts: Vec<String> = Vec::new();
        for (_, name) in names {
            if let Ok(value) = scope.value_of(name) {
                let text = format!("{name} = {value}");
                if !texts.contains(&text) {
                    texts.push(text);
                }
            }
        }
        if texts.is_empty() { String::new() } else { format!(", with {}", texts.join(", ")) }
    }
}

fn values(all: &[Expression], scope: &mut Scope) -> Result<Vec<Value>> {
    all.iter().map(|each| each.value(scope)).collect()
}

fn compared(
    first: &Expression,
    rest: &[(Relation, Expression)],
    scope: &mut Scope,
) -> Result<Value> {
    let mut left = first.value(scope)?;
    for (relation, right) in rest {
        let right = right.value(scope)?;
        let order = left.compare(&right);
        let holds = match relation {
            Relation::Equal => order == Some(Ordering::Equal) || left == right,
            Relation::NotEqual => order != Some(Ordering::Equal) && left != right,
            _ if order.is_none() => return Err(format!("cannot compare {left} with {right}")),
            Relation::Less => order == Some(Ordering::Less),
            Relation::LessOrEqual => order != Some(Ordering::Greater),
            Relation::Greater => order == Some(Ordering::Greater),
            Relation::GreaterOrEqual => order != Some(Ordering::Less),
        };
        if !holds {
            return Ok(Value::Truth(false));
        }
        left = right;
    }
    Ok(Value::Truth(true))
}

impl Unary {
    fn apply(self, value: &Value) -> Result<Value> {
        let wrong = || format!("cannot apply an operator to {value}");
        match (self, value) {
            (Self::Not, value) => Ok(Value::Truth(!value.is_true())),
            (Self::Minus, Value::Decimal(value)) => Ok(Value::Decimal(-value)),
            (Self::Minus, value) => {
                value.integer().and_then(i64::checked_neg).map(Value::Integer).ok_or_else(wrong)
            }
            (Self::Invert, value) => {
                value.integer().map(|value| Value::Integer(!value)).ok_or_else(wrong)
            }
        }
    }
}

impl Binary {
    fn apply(self, left: &Value, right: Value) -> Result<Value> {
        if let (Self::Modulo, Value::Text(pattern)) = (self, left) {
            let arguments = match right {
                Value::Tuple(values) => values,
                single => vec![single],
            };
            return formatted(pattern, &arguments).map(Value::Text);
        }
        if let (Self::Add, Value::Text(first), Value::Text(second)) = (self, left, &right) {
            return Ok(Value::Text(format!("{first}{second}")));
        }
        let whole = left.integer().zip(right.integer());
        if let Some((first, second)) = whole.filter(|_| self != Self::Divide) {
            return self.of_integers(first, second).map(Value::Integer);
        }
        let (Some(first), Some(second)) = (left.decimal(), right.decimal()) else {
            return Err(format!("cannot calculate with {left} and {right}"));
        };
        let value = match self {
            Self::Add => first + second,
            Self::Subtract => first - second,
            Self::Multiply => first * second,
            Self::Divide if second.abs() > 0.0 => first / second,
            Self::FloorDivide if second.abs() > 0.0 => (first / second).floor(),
            _ => return Err(format!("cannot calculate with {left} and {right}")),
        };
        Ok(Value::Decimal(value))
    }

    fn of_integers(self, left: i64, right: i64) -> Result<i64> {
        let shift = u32::try_from(right).ok().filter(|&shift| shift < 63);
        let value = match self {
            Self::Add => left.checked_add(right),
            Self::Subtract => left.checked_sub(right),
            Self::Multiply => left.checked_mul(right),
            // Python rounds towards minus infinity.
            Self::Divide | Self::FloorDivide => left
                .checked_div_euclid(right)
                .and_then(|value| value.checked_sub(i64::from(right < 0 && left % right != 0))),
            Self::Modulo => left.checked_rem(right).map(|rest| {
                if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }
            }),
            Self::And => Some(left & right),
            Self::Or => Some(left | right),
            Self::Xor => Some(left ^ right),
            Self::ShiftLeft => shift.and_then(|shift| left.checked_mul(1 << shift)),
            Self::ShiftRight => shift.map(|shift| left >> shift),
        };
        value.ok_or_else(|| format!("cannot calculate with {left} and {right}"))
    }
}

impl Function {
    fn apply(self, arguments: &[Value]) -> Result<Value> {
        let wrong = || "wrong arguments of a function".to_owned();
        let first = arguments.first().ok_or_else(wrong)?;
        match self {
            Self::Str => Ok(Value::Text(first.to_string())),
            Self::Hex => {
                first.integer().map(|value| Value::Text(hexadecimal(value))).ok_or_else(wrong)
            }
            Self::Int => truncated(first).map(Value::Integer).ok_or_else(wrong),
            Self::Abs => match first {
                Value::Decimal(value) => Ok(Value::Decimal(value.abs())),
                other => {
                    other.integer().and_then(i64::checked_abs).map(Value::Integer).ok_or_else(wrong)
                }
            },
            Self::Min | Self::Max => {
                let wanted = if self == Self::Min { Ordering::Less } else { Ordering::Greater };
                let mut best = first;
                for each in arguments {
                    if each.compare(best).ok_or_else(wrong)? == wanted {
                        best = each;
                    }
                }
                Ok(best.clone())
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "as in Python, `int` cuts the fraction off")]
fn truncated(value: &Value) -> Option<i64> {
    match value {
        Value::Decimal(value) if value.abs() < 9.0e18 => Some(value.trunc() as i64),
        Value::Decimal(_) => None,
        Value::Text(text) => text.trim().parse().ok(),
        other => other.integer(),
    }
}
