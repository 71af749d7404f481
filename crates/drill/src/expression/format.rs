//! Python's `%` formatting of texts.

use super::Value;

/// Replaces `%d`, `%s` and their kind by the arguments.
pub(super) fn formatted(pattern: &str, arguments: &[Value]) -> Result<String, String> {
    let mut text = String::new();
    let mut arguments = arguments.iter();
    let mut rest = pattern;
    while let Some(start) = rest.find('%') {
        text += rest.get(..start).unwrap_or_default();
        let after = rest.get(start + 1..).unwrap_or_default();
        let len = after
            .find(|c: char| c.is_ascii_alphabetic() || c == '%')
            .ok_or_else(|| format!("a format without a letter in `{pattern}`"))?;
        let letter = after.get(len..=len).unwrap_or_default();
        rest = after.get(len + 1..).unwrap_or_default();
        if letter == "%" {
            text.push('%');
            continue;
        }
        let value =
            arguments.next().ok_or_else(|| format!("too few values for the text `{pattern}`"))?;
        let shown = match letter {
            "d" | "i" | "u" | "s" | "r" => value.to_string(),
            "x" => value.integer().map_or_else(|| value.to_string(), |value| format!("{value:x}")),
            "f" | "g" => match (value.decimal(), decimals(after, len)) {
                (Some(value), Some(decimals)) => format!("{value:.decimals$}"),
                _ => value.to_string(),
            },
            other => return Err(format!("the format `%{other}` is not supported")),
        };
        text += &shown;
    }
    Ok(text + rest)
}

/// Number of decimals between `%` and the letter.
fn decimals(after: &str, len: usize) -> Option<usize> {
    let digits = after.get(..len)?.split_once('.')?.1;
    digits.parse().ok().filter(|&decimals| decimals <= 9)
}

/// A number as `hex` prints it.
pub(super) fn hexadecimal(value: i64) -> String {
    let sign = if value < 0 { "-" } else { "" };
    format!("{sign}{:#x}", value.unsigned_abs())
}
