//! Recursive descent over the tokens of a block.

use super::token::{Token, TokenKind, tokens};
use super::{Binary, Expression, Function, Kind, Relation, Statement, Unary};
use crate::cursor::{DEEPEST, Problem};

type Read<T> = Result<T, Problem>;

/// Reads the statements of a block.
pub(super) fn code(text: &str, line: u32) -> Read<Vec<Statement>> {
    let tokens = tokens(text, line)?;
    let mut parser = Parser { tokens: &tokens, next: 0, end: text.len(), depth: 0 };
    let mut statements = Vec::new();
    loop {
        while parser.skip(|kind| *kind == TokenKind::End) {}
        let Some(first) = parser.peek() else { return Ok(statements) };
        let (start, line) = (first.at, first.line);
        let kind = parser.statement()?;
        let end = parser.peek().map_or(text.len(), |token| token.at);
        if parser.peek().is_some_and(|token| token.kind != TokenKind::End) {
            return parser.expected("`;` or a new line");
        }
        let words = text.get(start..end).unwrap_or_default();
        let text = words.split_whitespace().collect::<Vec<_>>().join(" ");
        statements.push(Statement { line, text, kind });
    }
}

struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    end: usize,
    depth: u32,
}

/// Binary operators by precedence, the weakest first.
const LEVELS: [&[(&str, Binary)]; 6] = [
    &[("|", Binary::Or)],
    &[("^", Binary::Xor)],
    &[("&", Binary::And)],
    &[("<<", Binary::ShiftLeft), (">>", Binary::ShiftRight)],
    &[("+", Binary::Add), ("-", Binary::Subtract)],
    &[
        ("*", Binary::Multiply),
        ("//", Binary::FloorDivide),
        ("/", Binary::Divide),
        ("%", Binary::Modulo),
    ],
];

const RELATIONS: [(&str, Relation); 6] = [
    ("==", Relation::Equal),
    ("!=", Relation::NotEqual),
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

const ASSIGNMENTS: [(&str, Option<Binary>); 5] = [
    ("=", None),
    ("+=", Some(Binary::Add)),
    ("-=", Some(Binary::Subtract)),
    ("|=", Some(Binary::Or)),
    ("&=", Some(Binary::And)),
];

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.next)
    }

    fn skip(&mut self, wanted: impl Fn(&TokenKind) -> bool) -> bool {
        let found = self.peek().is_some_and(|token| wanted(&token.kind));
        self.next += usize::from(found);
        found
    }

    fn eat(&mut self, symbol: &str) -> bool {
        self.skip(|kind| matches!(kind, TokenKind::Symbol(found) if *found == symbol))
    }

    fn eat_name(&mut self, name: &str) -> bool {
        self.skip(|kind| matches!(kind, TokenKind::Name(found) if found == name))
    }

    fn expected<T>(&self, wanted: &str) -> Read<T> {
        let (at, shown) = match self.peek() {
            None => (self.end, "the end of the block".to_owned()),
            Some(token) => (token.at, shown(&token.kind)),
        };
        Err(Problem { at, text: format!("expected {wanted}, got {shown}") })
    }

    fn statement(&mut self) -> Read<Kind> {
        if self.eat_name("assert") {
            let condition = self.expression()?;
            let message = if self.eat(",") { Some(self.expression()?) } else { None };
            return Ok(Kind::Assert(condition, message));
        }
        if let Some(TokenKind::Name(name)) = self.peek().map(|token| &token.kind) {
            if name == "print" {
                self.next += 1;
                if !self.eat("(") {
                    return self.expected("`(` after `print`");
                }
                return Ok(Kind::Print(self.arguments()?));
            }
            let after = self.tokens.get(self.next + 1).map(|token| &token.kind);
            if let Some(TokenKind::Symbol(symbol)) = after
                && let Some((_, operator)) = ASSIGNMENTS.iter().find(|(name, _)| name == symbol)
            {
                self.next += 2;
                return Ok(Kind::Assign(name.clone(), *operator, self.expression()?));
            }
        }
        self.expression().map(Kind::Evaluate)
    }

    fn expression(&mut self) -> Read<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.expected(&format!("at most {DEEPEST} nested expressions"));
        }
        let found = self.either();
        self.depth -= 1;
        found
    }

    fn either(&mut self) -> Read<Expression> {
        let mut all = vec![self.both()?];
        while self.eat_name("or") {
            all.push(self.both()?);
        }
        Ok(single_or(all, Expression::Or))
    }

    fn both(&mut self) -> Read<Expression> {
        let mut all = vec![self.negation()?];
        while self.eat_name("and") {
            all.push(self.negation()?);
        }
        Ok(single_or(all, Expression::And))
    }

    fn negation(&mut self) -> Read<Expression> {
        let mut negated = false;
        let mut any = false;
        while self.eat_name("not") {
            (negated, any) = (!negated, true);
        }
        let value = self.comparison()?;
        if !any {
            return Ok(value);
        }
        let once = Expression::Unary(Unary::Not, Box::new(value));
        Ok(if negated { once } else { Expression::Unary(Unary::Not, Box::new(once)) })
    }

    fn comparison(&mut self) -> Read<Expression> {
        let first = self.level(0)?;
        let mut rest = Vec::new();
        while let Some((_, relation)) = RELATIONS.iter().find(|(symbol, _)| self.eat(symbol)) {
            rest.push((*relation, self.level(0)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        Ok(Expression::Comparison(Box::new(first), rest))
    }

    fn level(&mut self, level: usize) -> Read<Expression> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        let mut operands = 0;
        while let Some((_, operator)) = operators.iter().find(|(symbol, _)| self.eat(symbol)) {
            // The tree leans to the left, and dropping it must not overflow the stack.
            operands += 1;
            if operands > DEEPEST {
                return self.expected(&format!("at most {DEEPEST} operands"));
            }
            let right = self.level(level + 1)?;
            left = Expression::Binary(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Read<Expression> {
        let operator = if self.eat("-") {
            Unary::Minus
        } else if self.eat("~") {
            Unary::Invert
        } else if self.eat("+") {
            return self.nested_unary();
        } else {
            return self.atom();
        };
        Ok(Expression::Unary(operator, Box::new(self.nested_unary()?)))
    }

    fn nested_unary(&mut self) -> Read<Expression> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return self.expected(&format!("at most {DEEPEST} nested expressions"));
        }
        let found = self.unary();
        self.depth -= 1;
        found
    }

    fn atom(&mut self) -> Read<Expression> {
        let Some(token) = self.peek() else { return self.expected("a value") };
        let found = match &token.kind {
            TokenKind::Number(value) => Expression::Number(*value),
            TokenKind::Decimal(value) => Expression::Decimal(*value),
            TokenKind::Text(text) => Expression::Text(text.clone()),
            TokenKind::Template(text) => {
                self.next += 1;
                return self.template(text, token);
            }
            TokenKind::Symbol("(") => {
                self.next += 1;
                return self.parenthesis();
            }
            TokenKind::Name(name) => {
                self.next += 1;
                return self.name(name);
            }
            _ => return self.expected("a value"),
        };
        self.next += 1;
        Ok(found)
    }

    fn name(&mut self, name: &str) -> Read<Expression> {
        match name {
            "True" => return Ok(Expression::Truth(true)),
            "False" => return Ok(Expression::Truth(false)),
            "if" | "else" | "for" | "while" | "import" | "def" | "lambda" | "in" | "is" => {
                self.next -= 1;
                return self.expected("an expression without `if`, loops and imports");
            }
            _ => {}
        }
        if !self.eat("(") {
            return Ok(Expression::Name(name.to_owned()));
        }
        let function = match name {
            "int" => Function::Int,
            "abs" => Function::Abs,
            "min" => Function::Min,
            "max" => Function::Max,
            "str" => Function::Str,
            "hex" => Function::Hex,
            _ => {
                self.next -= 2;
                return self.expected("int, abs, min, max, str or hex");
            }
        };
        Ok(Expression::Call(function, self.arguments()?))
    }

    /// Reads values up to `)`.
    fn arguments(&mut self) -> Read<Vec<Expression>> {
        let mut all = Vec::new();
        while !self.eat(")") {
            all.push(self.expression()?);
            if self.eat(")") {
                break;
            }
            if !self.eat(",") {
                return self.expected("`,` or `)`");
            }
        }
        Ok(all)
    }

    fn parenthesis(&mut self) -> Read<Expression> {
        let first = self.expression()?;
        if self.eat(")") {
            return Ok(first);
        }
        if !self.eat(",") {
            return self.expected("`)`");
        }
        let mut all = vec![first];
        all.extend(self.arguments()?);
        Ok(Expression::Tuple(all))
    }

    /// Reads the parts of an f-string.
    fn template(&self, text: &str, token: &Token) -> Read<Expression> {
        let here = |problem: &str| Problem { at: token.at, text: problem.to_owned() };
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find('{') {
            let (before, after) = rest.split_at(start);
            parts.push(Expression::Text(before.to_owned()));
            let Some(end) = after.find('}') else { return Err(here("expected `}` in the text")) };
            let inner = after.get(1..end).unwrap_or_default();
            let inner = inner.split(':').next().unwrap_or_default().trim_end_matches('=');
            let tokens = tokens(inner, token.line).map_err(|problem| here(&problem.text))?;
            let mut parser =
                Parser { tokens: &tokens, next: 0, end: inner.len(), depth: self.depth + 1 };
            parts.push(parser.expression().map_err(|problem| here(&problem.text))?);
            if parser.peek().is_some() {
                return Err(here("expected one expression between `{` and `}`"));
            }
            rest = after.get(end + 1..).unwrap_or_default();
        }
        parts.push(Expression::Text(rest.to_owned()));
        Ok(Expression::Template(parts))
    }
}

fn single_or(mut all: Vec<Expression>, many: fn(Vec<Expression>) -> Expression) -> Expression {
    match all.pop() {
        Some(only) if all.is_empty() => only,
        Some(last) => {
            all.push(last);
            many(all)
        }
        None => many(all),
    }
}

fn shown(kind: &TokenKind) -> String {
    match kind {
        TokenKind::Name(name) => format!("`{name}`"),
        TokenKind::Number(value) => format!("`{value}`"),
        TokenKind::Decimal(value) => format!("`{value}`"),
        TokenKind::Text(text) | TokenKind::Template(text) => format!("the text `{text}`"),
        TokenKind::Symbol(symbol) => format!("`{symbol}`"),
        TokenKind::End => "the end of the statement".to_owned(),
    }
}
