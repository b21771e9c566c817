//! What was probably meant by a name that does not exist.

/// The nearest of some names, if it is near enough.
pub(crate) fn nearest<'n>(given: &str, names: impl IntoIterator<Item = &'n str>) -> Option<String> {
    let given = given.to_lowercase();
    names
        .into_iter()
        .map(|name| (strsim::osa_distance(&given, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= (name.chars().count().max(3) / 3))
        .min()
        .map(|(_, name)| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_only() {
        for (given, expected) in [
            ("polcy", Some("policy")),
            ("POLICY", Some("policy")),
            ("scripst", Some("scripts")),
            ("weather", None),
            ("", None),
        ] {
            let found = nearest(given, ["policy", "scripts"]);
            assert_eq!(found.as_deref(), expected, "{given}");
        }
    }
}
