//! Suggestions for misspelt names.

/// A hint: the nearest of the `known` names if it is near, otherwise all of them.
pub(crate) fn suggestion(unknown: &str, known: &[&str]) -> String {
    // A third of the letters may be wrong; beyond that a suggestion would look arbitrary.
    let allowed = (unknown.chars().count() / 3).max(1);
    let nearest = known.iter().map(|name| (distance(unknown, name), *name)).min();
    match nearest {
        Some((distance, name)) if distance <= allowed => format!("did you mean `{name}`?"),
        Some(_) => format!("known: {}", known.join(", ")),
        None => "there are none".to_owned(),
    }
}

/// The number of edits (insert, delete, replace, swap neighbours) that turn one word into the
/// other, ignoring case: the optimal string alignment distance.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) =
        (a.to_lowercase().chars().collect(), b.to_lowercase().chars().collect());
    // Rows i − 2 and i − 1 of the table.
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replaced = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replaced.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_count_edits() {
        for (a, b, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("laod", "load", 1),
            ("kitten", "sitting", 3),
            ("Rate", "rate", 0),
        ] {
            assert_eq!((distance(a, b), distance(b, a)), (edits, edits), "{a} {b}");
        }
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_lists_all() {
        let known = ["load", "rate", "sizes"];
        assert_eq!(suggestion("lod", &known), "did you mean `load`?");
        assert_eq!(suggestion("speed_of_light", &known), "known: load, rate, sizes");
        assert_eq!(suggestion("x", &[]), "there are none");
    }
}
