//! docs/workflows.md lists every event and every code that the engine itself can tell.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn engine() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../engine/src")
}

fn page() -> String {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/workflows.md");
    fs::read_to_string(page).unwrap()
}

/// Sources of the engine, without tests (`laws` are some) and without the nodes, which have a page of their own.
fn sources(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            if name != "nodes" && name != "laws" && !name.ends_with("_tests") {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && !name.ends_with("_tests.rs") && name != "testing.rs" {
            found.push(fs::read_to_string(path).unwrap());
        }
    }
}

/// Texts in quotes, one after the other.
fn quoted(source: &str) -> impl Iterator<Item = &str> {
    source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split('"').skip(1).step_by(2))
}

fn is_code(text: &str) -> bool {
    let Some((kind, name)) = text.split_once('.') else {
        return false;
    };
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    };
    is_word(kind) && is_word(name) && !matches!(name, "rs" | "json")
}

#[test]
fn every_code_is_listed() {
    let (mut all, page) = (Vec::new(), page());
    sources(&engine(), &mut all);
    let codes: BTreeSet<&str> = all
        .iter()
        .flat_map(|source| quoted(source))
        .filter(|text| is_code(text))
        .collect();
    // A test that finds no codes would find none missing.
    assert!(
        codes.contains("edge.unknown_node") && codes.contains("run.timeout"),
        "{codes:?}"
    );
    let missing: Vec<_> = codes
        .iter()
        .filter(|code| !page.contains(&format!("`{code}`")))
        .collect();
    assert!(missing.is_empty(), "not in docs/workflows.md: {missing:?}");
}

#[test]
fn every_event_is_listed() {
    let source = fs::read_to_string(engine().join("run/event.rs")).unwrap();
    let page = page();
    let is_name = |text: &&str| {
        text.len() > 5
            && text
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
    };
    let names: BTreeSet<&str> = quoted(&source).filter(is_name).collect();
    assert!(
        names.contains("NODE_EXECUTING") && names.contains("AGENT_TRACE"),
        "{names:?}"
    );
    let missing: Vec<_> = names
        .iter()
        .filter(|name| !page.contains(&format!("`{name}`")))
        .collect();
    assert!(missing.is_empty(), "not in docs/workflows.md: {missing:?}");
}
