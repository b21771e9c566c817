//! The vectors of `tests/vectors/*.json`: a text, and what is to be understood of it.
//!
//! To add one, write it into the file of its subject; the forms of an expectation are in `matcher.rs`. Every
//! vector's text is also held against every law.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use innkeeper_protocol::{Dialect, parse_response, parse_with};
use serde::Deserialize;
use serde_json::Value as Json;

use super::{laws, matcher};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Vector {
    name: String,
    /// The rule it stands for: a document and section, a decision, or a section of `docs/protocol.md`.
    why: String,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    input: Option<Input>,
    /// A provider's response instead of a text.
    #[serde(default)]
    native: Option<Json>,
    /// `null` where nothing may come back.
    expect: Json,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Text(String),
    Lines(Vec<String>),
}

impl Vector {
    pub(crate) fn text(&self) -> Option<String> {
        match self.input.as_ref()? {
            Input::Text(text) => Some(text.clone()),
            Input::Lines(lines) => Some(lines.join("\n")),
        }
    }

    fn dialect(&self) -> Dialect {
        match self.protocol.as_deref() {
            None | Some("auto") => Dialect::Auto,
            Some("tam") => Dialect::Tam,
            Some("action") => Dialect::Action,
            Some("tool-call") => Dialect::ToolCall,
            Some(other) => panic!("{}: no such protocol: {other}", self.name),
        }
    }

    fn failures(&self) -> Vec<String> {
        let actual = match (&self.native, self.text()) {
            (Some(response), None) => match parse_response(response) {
                Some(reply) => laws::json(&reply),
                None => Json::Null,
            },
            (None, Some(text)) => {
                let dialect = self.dialect();
                let mut failures =
                    matcher::differences(&self.expect, &laws::json(&parse_with(&text, dialect)));
                failures.extend(laws::check(&text, dialect).err());
                return failures;
            }
            _ => return vec!["wants either an input or a native response".to_owned()],
        };
        matcher::differences(&self.expect, &actual)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors")
}

/// All vectors, each with the stem of its file.
pub(crate) fn all() -> Vec<(String, Vector)> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "json")
        })
        .collect();
    files.sort();
    let mut vectors = Vec::new();
    for path in files {
        let subject = path.file_stem().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let read: Vec<Vector> = serde_json::from_str(&text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(!read.is_empty(), "{} holds no vector", path.display());
        vectors.extend(read.into_iter().map(|vector| (subject.clone(), vector)));
    }
    vectors
}

/// The texts of all vectors.
pub(crate) fn texts() -> Vec<String> {
    all()
        .iter()
        .filter_map(|(_, vector)| vector.text())
        .collect()
}

#[test]
fn every_vector_holds() {
    let vectors = all();
    let mut report = String::new();
    let mut failed = 0;
    for (subject, vector) in &vectors {
        let failures = vector.failures();
        if failures.is_empty() {
            continue;
        }
        failed += 1;
        report.push_str(&format!("\n{subject} / {} ({})\n", vector.name, vector.why));
        if let Some(text) = vector.text() {
            report.push_str(&format!("  input: {text:?}\n"));
        }
        for failure in failures {
            report.push_str(&format!("  - {}\n", failure.replace('\n', "\n    ")));
        }
    }
    assert!(
        failed == 0,
        "{failed} of {} vectors fail:\n{report}",
        vectors.len()
    );
}

#[test]
fn arguments_told_while_streaming_do_not_depend_on_the_cutting() {
    let mut report = String::new();
    for text in texts() {
        if let Err(verdict) = laws::tells_the_same_arguments(&text, Dialect::Auto) {
            report.push_str(&format!("\n{text:?}\n  {verdict}\n"));
        }
    }
    let failed = report.matches("streamed in pieces").count();
    assert!(failed == 0, "{failed} texts:{report}");
}

#[test]
fn every_vector_has_a_name_of_its_own_and_a_reason() {
    let vectors = all();
    let mut seen = BTreeSet::new();
    for (subject, vector) in &vectors {
        assert!(
            !vector.name.trim().is_empty(),
            "{subject}: a vector without a name"
        );
        assert!(
            !vector.why.trim().is_empty(),
            "{subject} / {}: why?",
            vector.name
        );
        assert!(
            seen.insert((subject, &vector.name)),
            "{subject} / {}: there are two of this name",
            vector.name
        );
        if let Json::Object(fields) = &vector.expect {
            assert!(
                !fields.is_empty(),
                "{subject} / {}: expects nothing",
                vector.name
            );
        }
    }
}
