//! Conditional and range requests (RFC 9110 §13, §14): the parts of a file to send, if any.

use std::ops::Range;

use super::date;
use super::request::{Fields, Method};

/// Validators of a file version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Validators {
    /// Strong entity tag with its quotes; it changes with the file.
    pub(super) etag: String,
    /// Modification time in seconds since 1970.
    pub(super) modified: u64,
}

/// Maximum number of ranges in a request. No client needs more, and each costs work.
const MAX_ASKED: usize = 256;

/// Maximum number of parts in a response.
const MAX_PARTS: usize = 64;

/// Ranges separated by at most this many bytes are merged: the delimiter between two parts is as
/// long.
const GAP: u64 = 128;

/// Result of the evaluation of conditions and ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Selection {
    All,
    Part(Range<u64>),
    /// Two or more ranges, in the order of the request.
    Parts(Vec<Range<u64>>),
    NotModified,
    PreconditionFailed,
    NotSatisfiable,
}

/// Evaluates the conditions in the order of RFC 9110 §13.2.2, then the range.
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
        // RFC 9110 §13.1.2: weak comparison.
        if lists(tags, |tag| tag.strip_prefix("W/").unwrap_or(tag) == etag) {
            return Selection::NotModified;
        }
    } else if time(&fields.if_modified_since).is_some_and(|since| *modified <= since) {
        return Selection::NotModified;
    }
    // RFC 9110 §14.2: ranges apply to GET only.
    let Some(range) = fields.range.as_deref().filter(|_| method == Method::Get) else {
        return Selection::All;
    };
    if let Some(condition) = &fields.if_range {
        // RFC 9110 §13.1.5: strong comparison. A date is a strong validator only if the file cannot
        // have changed twice within that second.
        let same_time = date::read(condition) == Some(*modified) && modified + 1 < now;
        if condition != etag && !same_time {
            return Selection::All;
        }
    }
    parts(range, len)
}

fn lists(tags: &str, matches: impl Fn(&str) -> bool) -> bool {
    tags.trim() == "*" || tags.split(',').any(|tag| matches(tag.trim()))
}

/// Evaluates a Range field (RFC 9110 §14.1.2). A malformed field, another unit, and too many ranges
/// are ignored, as §14.2 allows.
fn parts(range: &str, len: u64) -> Selection {
    let unit = range.trim().split_once('=').filter(|(unit, _)| unit.eq_ignore_ascii_case("bytes"));
    let Some((_, set)) = unit else { return Selection::All };
    let mut found: Vec<Range<u64>> = Vec::new();
    // RFC 9110 §5.6.1.2: list elements may be empty.
    let asked = set.split(',').map(str::trim).filter(|one| !one.is_empty());
    let mut count = 0;
    for one in asked {
        count += 1;
        let Some(range) = part(one, len).filter(|_| count <= MAX_ASKED) else {
            return Selection::All;
        };
        if !range.is_empty() {
            join(&mut found, range);
        }
    }
    match &found[..] {
        [] if count == 0 => Selection::All,
        // RFC 9110 §15.5.17: none of the ranges overlaps the file.
        [] => Selection::NotSatisfiable,
        // RFC 9110 §15.3.7.1, §15.3.7.2: a request for one range must not get a multipart response,
        // and a single part needs none.
        [only] => Selection::Part(only.clone()),
        all if all.len() > MAX_PARTS => Selection::All,
        _ => Selection::Parts(found),
    }
}

/// Adds a range. Overlapping or nearly adjacent ranges are merged at the position of the first (RFC
/// 9110 §15.3.7.2). No byte is thus sent twice, however often it is requested, and a response is
/// hardly longer than the file.
fn join(found: &mut Vec<Range<u64>>, mut range: Range<u64>) {
    let near = |one: &Range<u64>, other: &Range<u64>| one.start <= other.end.saturating_add(GAP);
    let mut index = found.len();
    // The merged range may touch ranges at any position.
    while let Some(at) = found.iter().position(|other| near(&range, other) && near(other, &range)) {
        let other = found.remove(at);
        range = range.start.min(other.start)..range.end.max(other.end);
        index = index.min(at);
    }
    found.insert(index.min(found.len()), range);
}

/// Parses one range and clips it to the file. `None` if it is malformed.
fn part(one: &str, len: u64) -> Option<Range<u64>> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        // A number that overflows is beyond the end of any file.
        digits.then(|| text.parse().unwrap_or(u64::MAX))
    };
    let (first, last) = one.split_once('-')?;
    match (first, number(first), last, number(last)) {
        ("", None, _, Some(suffix)) => Some(len.saturating_sub(suffix)..len),
        (_, Some(start), "", None) => Some(start..len),
        (_, Some(start), _, Some(last)) if start <= last => {
            Some(start..last.saturating_add(1).min(len))
        }
        _ => None,
    }
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
    fn single_ranges() {
        for (range, expected) in [
            ("bytes=0-0", Selection::Part(0..1)),
            ("bytes=10-", Selection::Part(10..1000)),
            ("bytes=990-2000", Selection::Part(990..1000)),
            ("bytes=-5", Selection::Part(995..1000)),
            ("bytes=-5000", Selection::Part(0..1000)),
            ("bytes=0-99999999999999999999999", Selection::Part(0..1000)),
            ("bytes=1000-", Selection::NotSatisfiable),
            ("bytes=-0", Selection::NotSatisfiable),
            ("bytes=5-4", Selection::All),
            ("bytes=-", Selection::All),
            ("bytes=a-b", Selection::All),
            ("lines=0-1", Selection::All),
            ("bytes=", Selection::All),
            ("bytes=,", Selection::All),
        ] {
            let fields = Fields { range: Some(range.to_owned()), ..Fields::default() };
            assert_eq!(selected(&fields), expected, "{range}");
            assert_eq!(
                select(Method::Head, &fields, &validators(), 1000, NOW),
                Selection::All,
                "{range}"
            );
        }
    }

    /// RFC 9110 §13.2.2
    #[test]
    fn conditions_are_evaluated_in_rfc_order() {
        let some = |text: &str| Some(text.to_owned());
        let (at, before) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:36 GMT");
        let none = Fields::default();
        for (fields, expected) in [
            (
                Fields { if_none_match: some("\"b\", W/\"a1\""), ..none.clone() },
                Selection::NotModified,
            ),
            (Fields { if_none_match: some("*"), ..none.clone() }, Selection::NotModified),
            (
                Fields {
                    if_none_match: some("\"b\""),
                    if_modified_since: some(at),
                    ..none.clone()
                },
                Selection::All,
            ),
            (Fields { if_modified_since: some(at), ..none.clone() }, Selection::NotModified),
            (Fields { if_modified_since: some(before), ..none.clone() }, Selection::All),
            (Fields { if_modified_since: some("yesterday"), ..none.clone() }, Selection::All),
            (Fields { if_match: some("\"b\""), ..none.clone() }, Selection::PreconditionFailed),
            (Fields { if_match: some("W/\"a1\""), ..none.clone() }, Selection::PreconditionFailed),
            (
                Fields {
                    if_match: some("\"a1\""),
                    if_unmodified_since: some(before),
                    ..none.clone()
                },
                Selection::All,
            ),
            (
                Fields { if_unmodified_since: some(before), ..none.clone() },
                Selection::PreconditionFailed,
            ),
        ] {
            assert_eq!(selected(&fields), expected, "{fields:?}");
        }
        for (condition, expected) in [
            ("\"a1\"", Selection::Part(0..2)),
            ("W/\"a1\"", Selection::All),
            ("\"b\"", Selection::All),
            (at, Selection::Part(0..2)),
            (before, Selection::All),
        ] {
            let fields =
                Fields { range: some("bytes=0-1"), if_range: some(condition), ..none.clone() };
            assert_eq!(selected(&fields), expected, "{condition}");
        }
    }

    /// RFC 9110 §14.1.1, §14.2, §15.3.7.2, §15.5.17
    #[test]
    fn multiple_ranges() {
        let long = |step: u64, count: u64| {
            let asked: Vec<_> = (0..count).map(|n| format!("{}-{}", n * step, n * step)).collect();
            format!("bytes={}", asked.join(","))
        };
        for (range, expected) in [
            ("bytes=0-499, 9500-".to_owned(), Selection::Parts(vec![0..500, 9_500..10_000])),
            // In the order of the request, even if the file is then read backwards.
            ("bytes=-1,0-0".to_owned(), Selection::Parts(vec![9_999..10_000, 0..1])),
            ("bytes=5000-5001 ,, 0-1,".to_owned(), Selection::Parts(vec![5_000..5_002, 0..2])),
            // Overlapping, adjacent and nearly adjacent ranges are merged at the position of the
            // first.
            ("bytes=0-1,5-6".to_owned(), Selection::Part(0..7)),
            (
                "bytes=5000-6000,0-9,5500-7000".to_owned(),
                Selection::Parts(vec![5_000..7_001, 0..10]),
            ),
            ("bytes=0-99,200-299,100-199".to_owned(), Selection::Part(0..300)),
            (
                "bytes=9000-9099,0-99,8000-8999,50-200".to_owned(),
                Selection::Parts(vec![8_000..9_100, 0..201]),
            ),
            ("bytes=0-99,228-299".to_owned(), Selection::Part(0..300)),
            ("bytes=0-99,229-299".to_owned(), Selection::Parts(vec![0..100, 229..300])),
            // Only one range overlaps the file, or none.
            ("bytes=10000-,0-4".to_owned(), Selection::Part(0..5)),
            ("bytes=-0,10000-".to_owned(), Selection::NotSatisfiable),
            // One malformed range invalidates all.
            ("bytes=0-0,5-4".to_owned(), Selection::All),
            ("bytes=0-0,x".to_owned(), Selection::All),
            // Many small ranges, up to and beyond the limits.
            (long(140, 64), Selection::Parts((0..64).map(|n| n * 140..n * 140 + 1).collect())),
            (long(140, 65), Selection::All),
            (long(1, 256), Selection::Part(0..256)),
            (long(1, 257), Selection::All),
        ] {
            assert_eq!(parts(&range, 10_000), expected, "{range}");
        }
        let none = Fields { range: Some("bytes=0-0,9000-".to_owned()), ..Fields::default() };
        assert_eq!(select(Method::Head, &none, &validators(), 10_000, NOW), Selection::All);
        let other = Fields { if_range: Some("\"b\"".to_owned()), ..none.clone() };
        assert_eq!(select(Method::Get, &other, &validators(), 10_000, NOW), Selection::All);
        let same = Fields { if_range: Some("\"a1\"".to_owned()), ..none };
        let expected = Selection::Parts(vec![0..1, 9_000..10_000]);
        assert_eq!(select(Method::Get, &same, &validators(), 10_000, NOW), expected);
    }

    proptest! {
        #[test]
        fn parts_lie_within_the_file(range: String, len: u64, from: u64, to: u64) {
            for range in [range.clone(), format!("bytes={range}"), format!("bytes={from}-{to},-{to},{from}-")] {
                match parts(&range, len) {
                    Selection::Part(part) => prop_assert!(!part.is_empty() && part.end <= len),
                    Selection::Parts(all) => {
                        prop_assert!(all.iter().all(|part| !part.is_empty() && part.end <= len));
                    }
                    _ => {}
                }
            }
        }

        #[test]
        fn every_requested_byte_is_sent_once(
            asked in prop::collection::vec((0..3_000u64, 1..200u64), 1..20),
        ) {
            const LEN: u64 = 2_500;
            let set: Vec<_> = asked.iter().map(|(at, len)| format!("{at}-{}", at + len - 1)).collect();
            let sent = match parts(&format!("bytes={}", set.join(",")), LEN) {
                Selection::Part(part) => vec![part],
                Selection::Parts(all) => all,
                other => {
                    prop_assert_eq!(other, Selection::NotSatisfiable);
                    vec![]
                }
            };
            for byte in 0..LEN {
                let wanted = asked.iter().any(|&(at, len)| (at..at + len).contains(&byte));
                let count = sent.iter().filter(|part| part.contains(&byte)).count();
                prop_assert!(count <= 1 && (count == 1 || !wanted), "byte {} {} times", byte, count);
            }
            // The gap between two parts is at least as long as the delimiter between them.
            let mut sorted = sent;
            sorted.sort_by_key(|part| part.start);
            prop_assert!(sorted.windows(2).all(|pair| pair[0].end + GAP < pair[1].start));
        }
    }
}
