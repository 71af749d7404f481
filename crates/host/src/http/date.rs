//! HTTP dates (RFC 9110 §5.6.7), from and to seconds since 1970.
//!
//! The crate `httpdate` 1.0.3 has no format for listings, panics on file times after the year 9999,
//! and refuses leap seconds.

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Writes a date, e.g. `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn write(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    let name = usize::try_from(days % 7).map_or("", |index| DAYS[index]);
    let month = MONTHS[month - 1];
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{name}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT")
}

/// Writes a date for directory listings, in UTC, e.g. `1994-11-06 08:49`.
pub(super) fn write_short(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    let (year, month, day) = civil(days);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", rest / 3600, rest / 60 % 60)
}

/// Parses a date in the preferred format or in one of the two obsolete ones. `None` for anything
/// else and for times before 1970.
pub(super) fn read(text: &str) -> Option<u64> {
    let words: Vec<&str> = text.split([' ', ',', '-']).filter(|word| !word.is_empty()).collect();
    // `Sun, 06 Nov 1994 08:49:37 GMT`, and `Sunday, 06-Nov-94 08:49:37 GMT`; or `Sun Nov  6
    // 08:49:37 1994`.
    let ([_, day, month, year, time, "GMT"] | [_, month, day, time, year]) = words[..] else {
        return None;
    };
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let day: u64 = number(day, 31)?;
    let year = match (number(year, 9999)?, year.len()) {
        // RFC 9110 §5.6.7: a two-digit year is in the past, or less than 50 years in the future.
        (year, 2) => year + if year < 70 { 2000 } else { 1900 },
        (year, 4) => year,
        _ => return None,
    };
    let mut parts = time.split(':');
    let (hour, minute) = (number(parts.next()?, 23)?, number(parts.next()?, 59)?);
    // 60 is a leap second.
    let second = number(parts.next()?, 60)?;
    if parts.next().is_some() || day == 0 {
        return None;
    }
    Some(days(year, month, day)? * 86_400 + hour * 3600 + minute * 60 + second)
}

fn number(text: &str, most: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|&number| digits && number <= most)
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && !year.is_multiple_of(100) || year.is_multiple_of(400)
}

fn month_len(year: u64, month: usize) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Number of leap days before a year, counted from year 1.
fn leap_days(year: u64) -> u64 {
    let past = year - 1;
    past / 4 - past / 100 + past / 400
}

fn days(year: u64, month: usize, day: u64) -> Option<u64> {
    if year < 1970 || day > month_len(year, month) {
        return None;
    }
    let months: u64 = (1..month).map(|month| month_len(year, month)).sum();
    Some((year - 1970) * 365 + leap_days(year) - leap_days(1970) + months + day - 1)
}

/// Year, month and day of a number of days since 1970.
fn civil(days_since: u64) -> (u64, usize, u64) {
    let begins = |year: u64| (year - 1970) * 365 + leap_days(year) - leap_days(1970);
    // A lower bound, because no year is longer than 366 days.
    let mut year = 1970 + days_since / 366;
    while begins(year + 1) <= days_since {
        year += 1;
    }
    let (mut month, mut day) = (1, days_since - begins(year));
    while day >= month_len(year, month) {
        day -= month_len(year, month);
        month += 1;
    }
    (year, month, day + 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// RFC 9110 §5.6.7
    #[test]
    fn dates_of_rfc_9110_examples() {
        assert_eq!(write(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(read(text), Some(784_111_777), "{text}");
        }
        for text in [
            "",
            "now",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8 GMT",
            "Sun, 06 Nov 1969 08:49:37 GMT",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn written_dates_are_parsed_back(seconds in 0..253_402_300_800u64) {
            prop_assert_eq!(read(&write(seconds)), Some(seconds));
        }

        #[test]
        fn arbitrary_text_never_panics(text: String) {
            let _ = read(&text);
        }
    }
}
