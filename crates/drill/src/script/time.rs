//! Times of events.

use units::Duration;

use crate::cursor::{Cursor, Read};

/// Time of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Whether it counts from the event before, and not from the start of the script.
    pub relative: bool,
    /// The offset.
    pub when: When,
}

/// Offset of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Exactly then.
    At(Duration),
    /// Any moment from the first to the second.
    Range(Duration, Duration),
    /// A call at the first, which returns at the second.
    Blocking(Duration, Duration),
    /// Any moment.
    Any,
}

/// Latest time in a script, in seconds.
const LATEST: u64 = 100_000;

/// Reads `0.25`, `+.1`, `+.3~+.4`, `+.1...0.2` or `*`.
pub(super) fn time(cursor: &mut Cursor) -> Read<Time> {
    if cursor.eat("*")? {
        return Ok(Time { relative: false, when: When::Any });
    }
    let relative = cursor.eat("+")?;
    let first = seconds(cursor)?;
    let when = if cursor.eat("...")? {
        When::Blocking(first, ordered(cursor, first)?)
    } else if cursor.eat("~")? {
        if relative {
            // The sign of the second number is often left out.
            cursor.eat("+")?;
        }
        When::Range(first, ordered(cursor, first)?)
    } else {
        When::At(first)
    };
    Ok(Time { relative, when })
}

/// Reads the end of a range.
fn ordered(cursor: &mut Cursor, first: Duration) -> Read<Duration> {
    cursor.skip_blank()?;
    let start = cursor.clone();
    let second = seconds(cursor)?;
    if second < first {
        return start.problem(format!(
            "the end of a time range is before its start: {} < {}",
            super::seconds(second),
            super::seconds(first)
        ));
    }
    Ok(second)
}

/// Reads a decimal number of seconds.
fn seconds(cursor: &mut Cursor) -> Read<Duration> {
    cursor.skip_blank()?;
    let start = cursor.clone();
    let whole = cursor.take_while(|c| c.is_ascii_digit());
    let mut fraction = "";
    if cursor.rest().starts_with('.') && !cursor.rest().starts_with("...") {
        cursor.eat(".")?;
        fraction = cursor.take_while(|c| c.is_ascii_digit());
    }
    if whole.is_empty() && fraction.is_empty() {
        return start.expected("a time such as `+.1`");
    }
    let units: u64 = if whole.is_empty() { 0 } else { whole.parse().unwrap_or(u64::MAX) };
    if units > LATEST {
        return start.problem(format!("a time is at most {LATEST} seconds, got {whole}"));
    }
    if fraction.len() > 9 {
        return start.problem(format!("a time has at most nine decimals, got `.{fraction}`"));
    }
    let nanos: u64 = format!("{fraction:0<9}").parse().unwrap_or(0);
    Ok(Duration::from_secs(units) + Duration::from_nanos(nanos))
}
