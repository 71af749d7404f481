//! Suggestions for misspelt names.

use strsim::osa_distance;

/// A hint: the nearest of the `known` names if it is near, otherwise all of them. Case is ignored.
pub(crate) fn suggestion(unknown: &str, known: &[&str]) -> String {
    // A third of the letters may be wrong; beyond that a suggestion would look arbitrary.
    let allowed = (unknown.chars().count() / 3).max(1);
    let distance = |name: &str| osa_distance(&unknown.to_lowercase(), &name.to_lowercase());
    let nearest = known.iter().map(|name| (distance(name), *name)).min();
    match nearest {
        Some((distance, name)) if distance <= allowed => format!("did you mean `{name}`?"),
        Some(_) => format!("known: {}", known.join(", ")),
        None => "there are none".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_lists_all() {
        let known = ["load", "rate", "sizes"];
        assert_eq!(suggestion("lod", &known), "did you mean `load`?");
        assert_eq!(suggestion("laod", &known), "did you mean `load`?");
        assert_eq!(suggestion("RATE", &known), "did you mean `rate`?");
        assert_eq!(suggestion("speed_of_light", &known), "known: load, rate, sizes");
        assert_eq!(suggestion("x", &[]), "there are none");
    }
}
