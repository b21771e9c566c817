use std::path::Path;

use serde_json::Value;

use super::description;

/// What is checked in is what the server says of itself.
#[test]
fn the_description_that_is_checked_in_is_the_one_that_is_served() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("openapi.json");
    let made = serde_json::to_value(description()).unwrap();
    if std::env::var_os("INNKEEPER_WRITE_OPENAPI").is_some() {
        let mut text = serde_json::to_string_pretty(&made).unwrap();
        text.push('\n');
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let kept: Value = serde_json::from_str(&kept).unwrap_or_default();
    let same = kept == made;
    assert!(
        same,
        "crates/server/openapi.json is not up to date; `make openapi` writes it anew"
    );
}

#[test]
fn every_operation_has_a_name_of_its_own_and_says_what_it_answers() {
    let made = serde_json::to_value(description()).unwrap();
    let mut names = std::collections::BTreeSet::new();
    for (path, operations) in made["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            let name = operation["operationId"].as_str().unwrap_or_default();
            assert!(
                !name.is_empty() && names.insert(name.to_owned()),
                "{method} {path}: {name}"
            );
            let answers = operation["responses"].as_object().unwrap();
            let succeeds = answers.keys().any(|status| status.starts_with(['1', '2']));
            assert!(succeeds, "{method} {path}");
            assert!(!answers.contains_key("default"), "{method} {path}");
        }
    }
}
