//! Position in the text of a script, and its tokens.

use std::collections::BTreeMap;

/// Replacements for bare words, given by `-D NAME=value`.
pub type Definitions = BTreeMap<String, String>;

/// Maximum depth of nested values and expressions. It bounds the stack for any input.
pub(crate) const DEEPEST: u32 = 64;

/// Problem at a byte of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) at: usize,
    pub(crate) text: String,
}

/// Result of reading a part of a script.
pub(crate) type Read<T> = Result<T, Problem>;

/// Position in a text. Every method that reads a token first skips blanks and comments.
#[derive(Debug, Clone)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    definitions: &'a Definitions,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str, definitions: &'a Definitions) -> Self {
        Self { text, at: 0, definitions }
    }

    /// Byte offset.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn problem<T>(&self, text: impl Into<String>) -> Read<T> {
        Err(Problem { at: self.at, text: text.into() })
    }

    /// Problem "expected X, got Y" at the next token.
    pub(crate) fn expected<T>(&self, wanted: &str) -> Read<T> {
        self.problem(format!("expected {wanted}, got {}", self.shown()))
    }

    /// The next token for a message.
    fn shown(&self) -> String {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return "the end of the script".to_owned() };
        let len = if first.is_ascii_alphanumeric() || first == '_' {
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len())
        } else {
            rest.find(|c: char| c.is_whitespace() || c.is_alphanumeric())
                .filter(|&len| len > 0)
                .unwrap_or(first.len_utf8())
        };
        let token: String = rest.get(..len).unwrap_or_default().chars().take(40).collect();
        format!("`{token}`")
    }

    /// Skips blanks and comments.
    pub(crate) fn skip_blank(&mut self) -> Read<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                match trimmed.find("*/") {
                    Some(end) => self.at += end + 2,
                    None => return self.problem("expected `*/` after `/*`, got the end"),
                }
            } else {
                return Ok(());
            }
        }
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.rest().is_empty()
    }

    /// Returns whether the text continues with this token, after blanks.
    pub(crate) fn sees(&mut self, token: &str) -> Read<bool> {
        self.skip_blank()?;
        Ok(self.rest().starts_with(token))
    }

    /// Skips this token if it follows.
    pub(crate) fn eat(&mut self, token: &str) -> Read<bool> {
        let seen = self.sees(token)?;
        if seen {
            self.at += token.len();
        }
        Ok(seen)
    }

    /// Skips a word if it follows as a whole word.
    pub(crate) fn eat_word(&mut self, word: &str) -> Read<bool> {
        self.skip_blank()?;
        let seen = self.peek_word() == word;
        if seen {
            self.at += word.len();
        }
        Ok(seen)
    }

    pub(crate) fn expect(&mut self, token: &str) -> Read<()> {
        if self.eat(token)? { Ok(()) } else { self.expected(&format!("`{token}`")) }
    }

    /// Letters, digits and underscores at the position; may be empty.
    pub(crate) fn peek_word(&self) -> &'a str {
        self.peek_while(|c| c.is_ascii_alphanumeric() || c == '_')
    }

    /// Characters at the position that satisfy a condition; may be empty.
    pub(crate) fn peek_while(&self, keep: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let len = rest.find(|c: char| !keep(c)).unwrap_or(rest.len());
        rest.get(..len).unwrap_or_default()
    }

    /// Takes characters that satisfy a condition; may be empty.
    pub(crate) fn take_while(&mut self, keep: impl Fn(char) -> bool) -> &'a str {
        let found = self.peek_while(keep);
        self.at += found.len();
        found
    }

    /// Takes the text up to `end`, and `end`.
    pub(crate) fn take_until(&mut self, end: &str) -> Option<&'a str> {
        let len = self.rest().find(end)?;
        let found = self.rest().get(..len)?;
        self.at += len + end.len();
        Some(found)
    }

    /// Takes an identifier, which begins with a letter or an underscore.
    pub(crate) fn word(&mut self, wanted: &str) -> Read<&'a str> {
        self.skip_blank()?;
        let word = self.peek_word();
        if word.is_empty() || word.starts_with(|c: char| c.is_ascii_digit()) {
            return self.expected(wanted);
        }
        self.at += word.len();
        Ok(word)
    }

    /// Replacement of a word by `-D`.
    pub(crate) fn definition(&self, word: &str) -> Option<&'a str> {
        self.definitions.get(word).map(String::as_str)
    }

    /// Takes an integer: decimal, or hexadecimal with `0x`. A defined word is replaced.
    pub(crate) fn integer(&mut self, wanted: &str) -> Read<u64> {
        self.skip_blank()?;
        let word = self.peek_word();
        let text = self.definition(word).unwrap_or(word);
        let Some(value) = integer_of(text) else { return self.expected(wanted) };
        self.at += word.len();
        Ok(value)
    }

    /// Takes an integer of a smaller type.
    pub(crate) fn small<T: TryFrom<u64>>(&mut self, wanted: &str) -> Read<T> {
        self.skip_blank()?;
        let mut ahead = self.clone();
        let value = ahead.integer(wanted)?;
        let Ok(value) = T::try_from(value) else {
            return self.problem(format!("{wanted} is too large: {value}"));
        };
        self.at = ahead.at;
        Ok(value)
    }
}

/// Value of a decimal number, or of a hexadecimal one with `0x`.
pub(crate) fn integer_of(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hexadecimal.map_or((text, 10), |digits| (digits, 16));
    // `from_str_radix` would accept a sign.
    let valid = digits.chars().all(|digit| digit.is_digit(radix));
    u64::from_str_radix(digits, radix).ok().filter(|_| valid)
}
