//! The page about the protocols names everything that it should explain.

use innkeeper_protocol::{Code, TypeHint, limits};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/protocol.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_code_has_a_row() {
    let page = page();
    for code in Code::ALL {
        let row = format!("| `{}` |", code.as_str());
        assert!(
            page.contains(&row),
            "docs/protocol.md does not explain `{}`",
            code.as_str()
        );
    }
}

#[test]
fn every_type_hint_and_limit_is_named() {
    let page = page();
    for hint in TypeHint::ALL {
        assert!(
            page.contains(&format!("`{}`", hint.as_str())),
            "{}",
            hint.as_str()
        );
    }
    for number in [
        limits::MAX_KEY_BYTES,
        limits::MAX_FIELDS,
        limits::MAX_BLOCKS,
        limits::MAX_CALLS,
        limits::MAX_DEPTH,
        limits::MAX_ELEMENTS,
        limits::MAX_DIAGNOSTICS,
        usize::from(limits::MAX_RETRY),
    ] {
        assert!(
            page.contains(&format!("| {number} |")),
            "docs/protocol.md does not name {number}"
        );
    }
}
