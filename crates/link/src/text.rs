//! Texts with one entry or more a line: masks of losses, and delays.
//!
//! `#` begins a comment, and empty lines are ignored. Files come from other programs, so the errors
//! have line numbers.

use thiserror::Error;
use units::Duration;

/// The maximum size of a text, in bytes. It bounds the memory of what is read from it.
pub const MAX_TEXT_BYTES: u64 = 64 << 20;

/// An error in a text of several lines.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}: {problem}")]
pub struct TextError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The description of the error.
    pub problem: String,
}

impl TextError {
    pub(crate) fn new(line: usize, problem: impl Into<String>) -> Self {
        Self { line, problem: problem.into() }
    }
}

/// The lines of a text with their numbers, without comments and empty lines.
pub(crate) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    // Some editors write a byte order mark at the beginning of a file.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    (1..).zip(text.lines()).filter_map(|(number, line)| {
        let content = line.split('#').next().unwrap_or_default().trim();
        (!content.is_empty()).then_some((number, content))
    })
}

/// Parses a mask of losses: `0` and `1`, separated by line breaks, spaces or commas. 1 is lost.
///
/// # Errors
/// If an entry is neither 0 nor 1, or if there is no entry.
pub fn parse_mask(text: &str) -> Result<Vec<bool>, TextError> {
    let mut mask = Vec::new();
    for (number, line) in lines(text) {
        for part in line.split(',') {
            let words = part.split_whitespace().chain(part.trim().is_empty().then_some(""));
            for word in words {
                match word {
                    "0" => mask.push(false),
                    "1" => mask.push(true),
                    other => {
                        let problem = format!("`{other}` is neither 0 nor 1");
                        return Err(TextError::new(number, problem));
                    }
                }
            }
        }
    }
    if mask.is_empty() { Err(TextError::new(1, "there is no entry")) } else { Ok(mask) }
}

/// Parses delays in nanoseconds, one a line or several with commas: `1.5ms`, `-200us`.
///
/// # Errors
/// If an entry is not a duration, or longer than a day, or if there is no entry.
pub fn parse_delays(text: &str) -> Result<Vec<i64>, TextError> {
    const LONGEST: u64 = 86_400_000_000_000;
    let mut delays = Vec::new();
    for (number, line) in lines(text) {
        for word in line.split(',').map(str::trim) {
            let (negative, size) = match word.strip_prefix('-') {
                Some(size) => (true, size),
                None => (false, word),
            };
            let wanted =
                || TextError::new(number, format!("`{word}` is not a delay such as `1.5ms`"));
            let size: Duration = size.parse().map_err(|_| wanted())?;
            let nanos = i64::try_from(size.as_nanos()).unwrap_or(i64::MAX);
            if size.as_nanos() > LONGEST {
                return Err(TextError::new(number, format!("`{word}` is longer than a day")));
            }
            delays.push(if negative { -nanos } else { nanos });
        }
    }
    if delays.is_empty() { Err(TextError::new(1, "there is no entry")) } else { Ok(delays) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn masks_are_read_with_comments_and_line_breaks() {
        let mask = parse_mask("# losses\n0,1, 1\n\n0 0\r\n1 # the last\n");
        assert_eq!(mask, Ok(vec![false, true, true, false, false, true]));
        for (text, wanted) in [
            ("0\n1\n2\n", "line 3: `2` is neither 0 nor 1"),
            ("0,,1", "line 1: `` is neither 0 nor 1"),
            ("1\n0,", "line 2: `` is neither 0 nor 1"),
            ("0110", "line 1: `0110` is neither 0 nor 1"),
            ("# none\n", "line 1: there is no entry"),
        ] {
            assert_eq!(parse_mask(text).unwrap_err().to_string(), wanted);
        }
    }

    #[test]
    fn delays_are_read_with_signs_and_units() {
        assert_eq!(parse_delays("1.5ms, -20us\n0s\n"), Ok(vec![1_500_000, -20_000, 0]));
        for (text, wanted) in [
            ("1ms\n5\n", "line 2: `5` is not a delay such as `1.5ms`"),
            ("--1ms", "line 1: `--1ms` is not a delay such as `1.5ms`"),
            ("25h", "line 1: `25h` is longer than a day"),
            ("", "line 1: there is no entry"),
        ] {
            assert_eq!(parse_delays(text).unwrap_err().to_string(), wanted);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused_at_a_line(text in "[01,# x\n\t.\\-msu\u{e4}]{0,60}") {
            let lines = text.lines().count().max(1);
            for error in [parse_mask(&text).err(), parse_delays(&text).err()].into_iter().flatten() {
                prop_assert!((1..=lines).contains(&error.line));
            }
            if let Ok(mask) = parse_mask(&text) {
                let ones = text.lines().map(|line| line.split('#').next().unwrap().matches('1').count());
                prop_assert_eq!(mask.iter().filter(|lost| **lost).count(), ones.sum::<usize>());
            }
        }

        #[test]
        fn a_printed_mask_is_read_again(mask in prop::collection::vec(any::<bool>(), 1..50)) {
            let text: Vec<&str> = mask.iter().map(|&lost| if lost { "1" } else { "0" }).collect();
            for separator in [",", "\n", " ", ", "] {
                prop_assert_eq!(parse_mask(&text.join(separator)), Ok(mask.clone()));
            }
        }
    }
}
