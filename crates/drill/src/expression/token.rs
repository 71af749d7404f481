//! Tokens of a block of Python.

use crate::cursor::{Problem, integer_of};

/// A token with its byte offset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) line: u32,
    pub(super) kind: TokenKind,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum TokenKind {
    Name(String),
    Number(i64),
    Decimal(f64),
    Text(String),
    /// Contents of an f-string.
    Template(String),
    Symbol(&'static str),
    /// End of a statement: a line break outside of parentheses, or `;`.
    End,
}

/// Symbols; a longer one precedes its beginning.
const SYMBOLS: [&str; 29] = [
    "<<", ">>", "//", "==", "!=", "<=", ">=", "+=", "-=", "**", "|=", "&=", "(", ")", ",", "=",
    "<", ">", "+", "-", "*", "/", "%", "&", "|", "^", "~", ":", "[",
];

/// Divides a block into tokens.
pub(super) fn tokens(text: &str, line: u32) -> Result<Vec<Token>, Problem> {
    let mut found = Vec::new();
    let (mut at, mut line, mut nested) = (0, line, 0_u32);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let (len, kind) = next(rest).map_err(|problem| Problem { at, text: problem })?;
        let broken = rest.starts_with('\n') || rest.starts_with("\\\n");
        let kind = match kind {
            Some(TokenKind::End) if rest.starts_with('\n') && nested > 0 => None,
            kind => kind,
        };
        match &kind {
            Some(TokenKind::Symbol("(" | "[")) => nested += 1,
            Some(TokenKind::Symbol(")")) => nested = nested.saturating_sub(1),
            _ => {}
        }
        if let Some(kind) = kind {
            found.push(Token { at, line, kind });
        }
        line += u32::from(broken);
        at += len;
    }
    Ok(found)
}

/// Length of the next token, and the token; `None` for blanks and comments.
fn next(rest: &str) -> Result<(usize, Option<TokenKind>), String> {
    let Some(first) = rest.chars().next() else { return Ok((0, None)) };
    if first == '\n' || first == ';' {
        return Ok((1, Some(TokenKind::End)));
    }
    if rest.starts_with("\\\n") {
        return Ok((2, None));
    }
    if first == '#' {
        return Ok((rest.find('\n').unwrap_or(rest.len()), None));
    }
    if first.is_whitespace() {
        return Ok((first.len_utf8(), None));
    }
    if first.is_ascii_digit() {
        return number(rest);
    }
    if first == '"' || first == '\'' {
        let (len, text) = quoted(rest, first)?;
        return Ok((len, Some(TokenKind::Text(text))));
    }
    if first.is_ascii_alphabetic() || first == '_' {
        let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (name, after) = rest.split_at(len);
        if let ("f", Some(quote @ ('"' | '\''))) = (name, after.chars().next()) {
            let (inner, text) = quoted(after, quote)?;
            return Ok((len + inner, Some(TokenKind::Template(text))));
        }
        return Ok((len, Some(TokenKind::Name(name.to_owned()))));
    }
    match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        Some(symbol) => Ok((symbol.len(), Some(TokenKind::Symbol(symbol)))),
        None => Err(format!("expected Python, got `{first}`")),
    }
}

fn number(rest: &str) -> Result<(usize, Option<TokenKind>), String> {
    let len = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '.').unwrap_or(rest.len());
    let text = rest.get(..len).unwrap_or_default();
    if let Some(value) = integer_of(text) {
        let Ok(value) = i64::try_from(value) else {
            return Err(format!("the number `{text}` is too large"));
        };
        return Ok((len, Some(TokenKind::Number(value))));
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((len, Some(TokenKind::Decimal(value)))),
        _ => Err(format!("expected a number, got `{text}`")),
    }
}

/// Length of a text with its quotes, and the text between them.
fn quoted(rest: &str, quote: char) -> Result<(usize, String), String> {
    let inner = rest.get(1..).unwrap_or_default();
    match inner.find([quote, '\n']) {
        Some(len) if !inner[len..].starts_with('\n') => Ok((len + 2, inner[..len].to_owned())),
        _ => Err(format!("expected a closing {quote}")),
    }
}
