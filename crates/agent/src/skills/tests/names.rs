//! Names of files: what is taken comes out again as it was, and what could be another file elsewhere is not taken.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

/// Exports it, imports that into another house, and gives both hashes.
fn there_and_back(files: &[(&str, &str)]) -> Result<(), SkillError> {
    let mut all = vec![(SKILL_MD, SKILL)];
    all.extend_from_slice(files);
    let (house, other) = (House::new(), House::new());
    let installed = house.install(&inline(&all))?;
    let export = house
        .skills
        .export(&SkillScope::Global, "haiku")
        .expect("what is installed can be exported");
    let again = ImportInput::ArchiveBase64 {
        file_name: export.file_name.clone(),
        content_base64: export.content_base64.clone(),
    };
    let back = other
        .install(&again)
        .expect("what is exported can be imported");
    assert_eq!(back.skill, installed.skill);
    assert_eq!(
        tree(&house.folder().join("installed")),
        tree(&other.folder().join("installed"))
    );
    // In a form in which others read the names too: those beyond ASCII are marked as UTF-8.
    let bytes = STANDARD.decode(export.content_base64).unwrap();
    for at in bytes
        .windows(4)
        .enumerate()
        .filter(|(_, four)| *four == b"PK\x01\x02")
    {
        let length = usize::from(bytes[at.0 + 28]) + 256 * usize::from(bytes[at.0 + 29]);
        let name = &bytes[at.0 + 46..at.0 + 46 + length];
        assert!(name.is_ascii() || bytes[at.0 + 9] & 8 == 8, "{name:?}");
    }
    Ok(())
}

#[test]
fn names_that_are_good_everywhere() {
    there_and_back(&[
        (".hidden/.x", "a"),
        ("a..b", "b"),
        ("references/Act 1 - The inn.md", "c"),
        ("references/第一幕.md", "d"),
        ("what?*<>|\"'.md", "e"),
        ("~tilde/%41/#/&;.md", "f"),
        ("console.md", "g"),
        ("com10.md", "h"),
        ("references/auxiliary", "i"),
    ])
    .unwrap();
}

#[test]
fn names_that_are_not() {
    for (reason, files) in [
        ("skill.path_invalid", &["references/Act 1: The inn.md"][..]),
        ("skill.path_invalid", &["refs/x:SKILL.md"]),
        ("skill.path_invalid", &["zz:b.md"]),
        ("skill.path_invalid", &["dot."]),
        ("skill.path_invalid", &["refs /x.md"]),
        ("skill.path_invalid", &["a/.git./x"]),
        ("skill.path_invalid", &["con.md"]),
        ("skill.path_invalid", &["refs/NUL"]),
        ("skill.path_invalid", &["Com1.tar.gz"]),
        ("skill.path_duplicate", &["caf\u{e9}.md", "cafe\u{301}.md"]),
        ("skill.path_duplicate", &["CAF\u{c9}.md", "cafe\u{301}.md"]),
        ("skill.path_duplicate", &["Refs/a.md", "refs/b.md"]),
        (
            "skill.path_duplicate",
            &["r/\u{e9}/a.md", "r/e\u{301}/b.md"],
        ),
        ("skill.path_conflict", &["\u{e9}/a.md", "e\u{301}"]),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|name| (*name, "x")).collect();
        let error = there_and_back(&files).expect_err(reason);
        assert_eq!(error.reason, Some(reason), "{files:?}: {error}");
    }
}

#[cfg(unix)]
#[test]
fn a_backslash_in_a_folder_is_no_slash() {
    let house = House::new();
    let from = tempfile::tempdir().unwrap();
    write(&from.path().join(SKILL_MD), SKILL.as_bytes());
    write(&from.path().join("a\\b.md"), b"x");
    let error = house.install(&ImportInput::at(from.path())).unwrap_err();
    assert_eq!(error.reason, Some("skill.path_invalid"), "{error}");
    assert!(error.message.contains("backslash"), "{error}");
    // Also where somebody puts it into a skill that is there.
    std::fs::remove_file(from.path().join("a\\b.md")).unwrap();
    house.install(&ImportInput::at(from.path())).unwrap();
    write(&house.folder().join("installed/global/haiku/a\\b.md"), b"x");
    let issues = house.skills.list(&SkillFilter::All).unwrap().issues;
    assert_eq!(issues[0].reason.as_deref(), Some("skill.path_invalid"));
}

#[cfg(unix)]
#[test]
fn a_folder_that_is_too_deep() {
    let house = House::new();
    let from = tempfile::tempdir().unwrap();
    write(&from.path().join(SKILL_MD), SKILL.as_bytes());
    let deep = "d/".repeat(crate::limits::MAX_WORKSPACE_PATH_SEGMENTS) + "x";
    write(&from.path().join(deep), b"x");
    let error = house.install(&ImportInput::at(from.path())).unwrap_err();
    assert_eq!(error.reason, Some("skill.path_invalid"), "{error}");
}

fn name() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        Just("a"),
        Just("B"),
        Just("."),
        Just(":"),
        Just(" "),
        Just("\\"),
        Just("é"),
        Just("e\u{301}"),
        Just("字"),
        Just("con"),
        Just("\""),
        Just("~"),
        Just("-"),
        Just("\u{202e}"),
        Just("🍵"),
        Just("%00")
    ];
    let segment = proptest::collection::vec(part, 1..5).prop_map(|parts| parts.concat());
    proptest::collection::vec(segment, 1..4).prop_map(|segments| segments.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    /// Whatever it is called: it is refused, or it comes back as it was.
    #[test]
    fn what_is_taken_comes_back(names in proptest::collection::vec(name(), 1..4)) {
        let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "x")).collect();
        if let Err(error) = there_and_back(&files) {
            prop_assert!(error.reason.is_some_and(|reason| reason.starts_with("skill.path_")), "{error}");
        }
    }
}
