//! Conditions and ranges (RFC 9110 §13, §14): which part of a file is sent, if any.

use super::date;
use super::request::{Fields, Method};

/// What tells one state of a file from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Validators {
    /// With its quotes, and strong: it changes when the file does.
    pub(super) etag: String,
    /// Seconds since 1970.
    pub(super) modified: u64,
}

/// What is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selection {
    All,
    /// From this byte up to and without that one.
    Part(u64, u64),
    NotModified,
    PreconditionFailed,
    NotSatisfiable,
}

/// RFC 9110 §13.2.2: conditions in their order, then the range.
pub(super) fn select(
    method: Method,
    fields: &Fields,
    validators: &Validators,
    len: u64,
    now: u64,
) -> Selection {
    let Validators { etag, modified } = validators;
    let time = |text: &Option<String>| text.as_deref().and_then(date::read);
    if let Some(tags) = &fields.if_match {
        if !lists(tags, |tag| tag == etag) {
            return Selection::PreconditionFailed;
        }
    } else if time(&fields.if_unmodified_since).is_some_and(|since| *modified > since) {
        return Selection::PreconditionFailed;
    }
    if let Some(tags) = &fields.if_none_match {
        // RFC 9110 §13.1.2: by weak comparison.
        if lists(tags, |tag| tag.strip_prefix("W/").unwrap_or(tag) == etag) {
            return Selection::NotModified;
        }
    } else if time(&fields.if_modified_since).is_some_and(|since| *modified <= since) {
        return Selection::NotModified;
    }
    // RFC 9110 §14.2: only for GET.
    let Some(range) = fields.range.as_deref().filter(|_| method == Method::Get) else {
        return Selection::All;
    };
    if let Some(condition) = &fields.if_range {
        // RFC 9110 §13.1.5: the very same state. A date is worth nothing if the file may have changed twice in it.
        let same_time = date::read(condition) == Some(*modified) && modified + 1 < now;
        if condition != etag && !same_time {
            return Selection::All;
        }
    }
    part(range, len)
}

fn lists(tags: &str, matches: impl Fn(&str) -> bool) -> bool {
    tags.trim() == "*" || tags.split(',').any(|tag| matches(tag.trim()))
}

/// RFC 9110 §14.1.2. What makes no sense, another unit and several ranges at once are as good as none, as §14.2 allows.
fn part(range: &str, len: u64) -> Selection {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that no file is as long as stands for its end.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let ends = range.trim().split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"));
    let Some((first, last)) = ends.and_then(|(_, ends)| ends.trim().split_once('-')) else {
        return Selection::All;
    };
    let (start, end) = match (first, number(first), last, number(last)) {
        ("", None, _, Some(suffix)) => (if suffix == 0 { len } else { len.saturating_sub(suffix) }, len),
        (_, Some(start), "", None) => (start, len),
        (_, Some(start), _, Some(last)) if start <= last => (start, last.saturating_add(1).min(len)),
        _ => return Selection::All,
    };
    if start < end { Selection::Part(start, end) } else { Selection::NotSatisfiable }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: u64 = 784_120_000;

    fn validators() -> Validators {
        Validators { etag: "\"a1\"".to_owned(), modified: 784_111_777 }
    }

    fn selected(fields: &Fields) -> Selection {
        select(Method::Get, fields, &validators(), 1000, NOW)
    }

    #[test]
    fn ranges_of_one_part() {
        for (range, expected) in [
            ("bytes=0-0", Selection::Part(0, 1)),
            ("bytes=10-", Selection::Part(10, 1000)),
            ("bytes=990-2000", Selection::Part(990, 1000)),
            ("bytes=-5", Selection::Part(995, 1000)),
            ("bytes=-5000", Selection::Part(0, 1000)),
            ("bytes=0-99999999999999999999999", Selection::Part(0, 1000)),
            ("bytes=1000-", Selection::NotSatisfiable),
            ("bytes=-0", Selection::NotSatisfiable),
            ("bytes=5-4", Selection::All),
            ("bytes=-", Selection::All),
            ("bytes=a-b", Selection::All),
            ("lines=0-1", Selection::All),
            ("bytes=0-1,5-6", Selection::All),
        ] {
            let fields = Fields { range: Some(range.to_owned()), ..Fields::default() };
            assert_eq!(selected(&fields), expected, "{range}");
            assert_eq!(select(Method::Head, &fields, &validators(), 1000, NOW), Selection::All, "{range}");
        }
    }

    /// RFC 9110 §13.2.2
    #[test]
    fn conditions_in_their_order() {
        let some = |text: &str| Some(text.to_owned());
        let (at, before) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT");
        let none = Fields::default();
        for (fields, expected) in [
            (Fields { if_none_match: some("\"b\", W/\"a1\""), ..none.clone() }, Selection::NotModified),
            (Fields { if_none_match: some("*"), ..none.clone() }, Selection::NotModified),
            (
                Fields { if_none_match: some("\"b\""), if_modified_since: some(at), ..none.clone() },
                Selection::All,
            ),
            (Fields { if_modified_since: some(at), ..none.clone() }, Selection::NotModified),
            (Fields { if_modified_since: some(before), ..none.clone() }, Selection::All),
            (Fields { if_modified_since: some("yesterday"), ..none.clone() }, Selection::All),
            (Fields { if_match: some("\"b\""), ..none.clone() }, Selection::PreconditionFailed),
            (Fields { if_match: some("W/\"a1\""), ..none.clone() }, Selection::PreconditionFailed),
            (
                Fields { if_match: some("\"a1\""), if_unmodified_since: some(before), ..none.clone() },
                Selection::All,
            ),
            (Fields { if_unmodified_since: some(before), ..none.clone() }, Selection::PreconditionFailed),
        ] {
            assert_eq!(selected(&fields), expected, "{fields:?}");
        }
        for (condition, expected) in [
            ("\"a1\"", Selection::Part(0, 2)),
            ("W/\"a1\"", Selection::All),
            ("\"b\"", Selection::All),
            (at, Selection::Part(0, 2)),
            (before, Selection::All),
        ] {
            let fields = Fields { range: some("bytes=0-1"), if_range: some(condition), ..none.clone() };
            assert_eq!(selected(&fields), expected, "{condition}");
        }
    }

    proptest! {
        #[test]
        fn a_part_lies_within_the_file(range: String, len: u64, from: u64, to: u64) {
            for range in [range, format!("bytes={from}-{to}"), format!("bytes=-{to}")] {
                if let Selection::Part(start, end) = part(&range, len) {
                    prop_assert!(start < end && end <= len);
                }
            }
        }
    }
}
