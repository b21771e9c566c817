//! Every rule of a package, crossed once.

use super::*;
use crate::limits::*;

fn with_front(front: &str) -> ImportInput {
    inline(&[(SKILL_MD, &format!("---\n{front}---\ntext\n"))])
}

fn with_manifest(manifest: &str) -> ImportInput {
    inline(&[(SKILL_MD, SKILL), (MANIFEST, manifest)])
}

fn with_path(path: &str) -> ImportInput {
    inline(&[(SKILL_MD, SKILL), (path, "x")])
}

#[test]
fn what_a_package_says_about_itself() {
    let house = House::new();
    let front = "name: my_skill-2\ndescription: >\n  Does this\n  and that.\nlicense: MIT\nallowed-tools: x\nmetadata:\n  author: Ann\n  version: 1.5\n  tags: [a, b]\n  other: y\n";
    let manifest = r#"{"version": 1, "displayName": "My Skill", "sourceKind": "user", "allowImplicitInvocation": true,
        "recommendedTools": ["chat.search"], "recommendedContext": {"defaultBudgetTokens": 500, "preferredMode": "summary"},
        "tags": ["x"], "notes": "n"}"#;
    let input = inline(&[
        (
            SKILL_MD,
            &format!("\u{feff}---\r\n{}---\r\ntext", front.replace('\n', "\r\n")),
        ),
        (MANIFEST, manifest),
    ]);
    let skill = house.install(&input).unwrap().skill;
    assert_eq!(
        skill.about,
        SkillAbout {
            name: "my_skill-2".to_owned(),
            description: "Does this and that.".to_owned(),
            license: Some("MIT".to_owned()),
            author: Some("Ann".to_owned()),
            version: Some("1.5".to_owned()),
            tags: vec!["a".to_owned(), "b".to_owned()],
        }
    );
    assert_eq!(skill.display_name, "My Skill");
    let context = skill.manifest.unwrap().recommended_context.unwrap();
    assert_eq!(context.default_budget_tokens, Some(500));
    let listed = with_front("name: a\ndescription: b\nmetadata: {tags: 'x, y,'}\n");
    let tags = house.install(&listed).unwrap().skill.about.tags;
    assert_eq!(tags, ["x", "y"]);
}

#[test]
fn bad_packages_are_refused_and_leave_nothing() {
    let long = |chars: usize| "x".repeat(chars);
    let front = |front: &str| with_front(front);
    let name = |name: &str| with_front(&format!("name: {name}\ndescription: d\n"));
    let deep = (0..MAX_WORKSPACE_PATH_SEGMENTS + 1)
        .map(|_| "a")
        .collect::<Vec<_>>()
        .join("/");
    let many: Vec<InlineFile> = (0..MAX_SKILL_FILES)
        .map(|at| file(&format!("f{at}"), ""))
        .chain([file(SKILL_MD, SKILL)])
        .collect();
    let cases: Vec<(&str, ImportInput)> = vec![
        ("skill.skill_md_missing", inline(&[("README.md", "x")])),
        ("skill.skill_md_missing", inline(&[("skill.md", SKILL)])),
        (
            "skill.skill_md_missing",
            inline(&[("haiku/SKILL.md", SKILL)]),
        ),
        ("skill.skill_md_missing", inline(&[])),
        ("skill.front_matter_missing", inline(&[(SKILL_MD, "")])),
        (
            "skill.front_matter_missing",
            inline(&[(SKILL_MD, "# Haiku\n")]),
        ),
        (
            "skill.front_matter_missing",
            inline(&[(SKILL_MD, "\n---\nname: a\n---\n")]),
        ),
        (
            "skill.front_matter_missing",
            inline(&[(SKILL_MD, "---\nname: a\n")]),
        ),
        ("skill.front_matter_invalid", front("- a\n")),
        ("skill.front_matter_invalid", front("name: [\n")),
        (
            "skill.front_matter_invalid",
            front("name: a\nname: b\ndescription: d\n"),
        ),
        (
            "skill.front_matter_invalid",
            front("name: a\ndescription: [x]\n"),
        ),
        (
            "skill.front_matter_invalid",
            front("name: a\ndescription: d\nmetadata: x\n"),
        ),
        (
            "skill.front_matter_invalid",
            front("name: a\ndescription: d\nlicense: {a: b}\n"),
        ),
        (
            "skill.front_matter_invalid",
            front(&format!(
                "name: a\ndescription: d\nlicense: {}\n",
                long(MAX_SKILL_WORD_CHARS + 1)
            )),
        ),
        (
            "skill.front_matter_invalid",
            front(&format!("x: '{}'\n", long(MAX_FRONT_MATTER_BYTES))),
        ),
        ("skill.name_invalid", front("description: d\n")),
        ("skill.name_invalid", name("Haiku")),
        ("skill.name_invalid", name("'a b'")),
        ("skill.name_invalid", name("../a")),
        ("skill.name_invalid", name("俳句")),
        ("skill.name_invalid", name(&long(MAX_SKILL_NAME_CHARS + 1))),
        ("skill.description_invalid", front("name: a\n")),
        (
            "skill.description_invalid",
            front("name: a\ndescription: ' '\n"),
        ),
        (
            "skill.description_invalid",
            front(&format!(
                "name: a\ndescription: {}\n",
                long(MAX_SKILL_DESCRIPTION_CHARS + 1)
            )),
        ),
        ("skill.manifest_invalid", with_manifest("{")),
        ("skill.manifest_invalid", with_manifest("{}")),
        ("skill.manifest_invalid", with_manifest(r#"{"version": 2}"#)),
        (
            "skill.manifest_invalid",
            with_manifest(r#"{"version": 1, "colour": "red"}"#),
        ),
        (
            "skill.manifest_invalid",
            with_manifest(r#"{"version": 1, "recommendedContext": {"x": 1}}"#),
        ),
        (
            "skill.manifest_invalid",
            with_manifest(&format!(
                r#"{{"version": 1, "displayName": "{}"}}"#,
                long(MAX_SKILL_WORD_CHARS + 1)
            )),
        ),
        (
            "skill.manifest_invalid",
            with_manifest(&format!(
                r#"{{"version": 1}}{}"#,
                " ".repeat(MAX_SKILL_MANIFEST_BYTES as usize)
            )),
        ),
        ("skill.path_invalid", with_path("../x")),
        ("skill.path_invalid", with_path("a/../../x")),
        ("skill.path_invalid", with_path("/etc/x")),
        ("skill.path_invalid", with_path("\\x")),
        ("skill.path_invalid", with_path("C:x")),
        ("skill.path_invalid", with_path("a\0b")),
        ("skill.path_invalid", with_path("a ")),
        ("skill.path_invalid", with_path("")),
        ("skill.path_invalid", with_path(&deep)),
        (
            "skill.path_invalid",
            with_path(&long(MAX_WORKSPACE_NAME_BYTES + 1)),
        ),
        ("skill.path_forbidden", with_path(".git/config")),
        ("skill.path_forbidden", with_path("a/.SSH/id")),
        ("skill.path_forbidden", with_path("a\\.env")),
        ("skill.path_duplicate", with_path("skill.MD")),
        (
            "skill.path_duplicate",
            inline(&[(SKILL_MD, SKILL), ("a/B", ""), ("A\\./b", "")]),
        ),
        (
            "skill.path_conflict",
            inline(&[(SKILL_MD, SKILL), ("a", ""), ("A/b", "")]),
        ),
        (
            "skill.path_conflict",
            inline(&[(SKILL_MD, SKILL), ("A/b/c", ""), ("a/B", "")]),
        ),
        (
            "skill.skill_md_too_large",
            inline(&[(SKILL_MD, &format!("{SKILL}{}", long(1 << 20)))]),
        ),
        (
            "skill.file_too_large",
            inline(&[
                (SKILL_MD, SKILL),
                ("big", &long(MAX_SKILL_FILE_BYTES as usize + 1)),
            ]),
        ),
        (
            "skill.too_many_files",
            ImportInput::InlineFiles { files: many },
        ),
        (
            "skill.base64_invalid",
            ImportInput::InlineFiles {
                files: vec![
                    file(SKILL_MD, SKILL),
                    InlineFile {
                        path: "x".to_owned(),
                        content: "!".to_owned(),
                        encoding: InlineEncoding::Base64,
                    },
                ],
            },
        ),
    ];
    let house = House::new();
    for (at, (reason, input)) in cases.iter().enumerate() {
        for refused in [
            house.install(input).map(drop),
            house
                .skills
                .preview_import(input, &SkillScope::Global)
                .map(drop),
        ] {
            let error = refused.expect_err(&format!("case {at}, {reason}"));
            assert_eq!(error.reason, Some(*reason), "case {at}: {error}");
            assert!(!error.message.ends_with('.'), "{error}");
        }
    }
    assert!(
        !house.folder().exists(),
        "a refused package has left something"
    );
}

#[test]
fn what_is_just_within_the_bounds_is_taken() {
    let house = House::new();
    let name = "x".repeat(MAX_SKILL_NAME_CHARS);
    let description = "d".repeat(MAX_SKILL_DESCRIPTION_CHARS);
    let text = format!("---\nname: {name}\ndescription: {description}\n---\n");
    let padding = " ".repeat(MAX_SKILL_MD_BYTES as usize - text.len());
    let mut files: Vec<InlineFile> = (0..MAX_SKILL_FILES - 1)
        .map(|at| file(&format!("f{at}"), ""))
        .collect();
    files.push(file(SKILL_MD, &format!("{text}{padding}")));
    let installed = house.install(&ImportInput::InlineFiles { files }).unwrap();
    assert_eq!(installed.skill.file_count, MAX_SKILL_FILES);
    assert!(house.is_tidy());
}

/// `installedHash` is sha256 over each path and content in order, a NUL after both.
#[test]
fn the_hash_of_a_skill() {
    use sha2::{Digest, Sha256};

    let house = House::new();
    let input = inline(&[("b", "2"), (SKILL_MD, SKILL), ("a/x", "1"), ("Z", "")]);
    let installed = house.install(&input).unwrap();
    let by_hand = format!("SKILL.md\0{SKILL}\0Z\0\0a/x\x001\0b\x002\0");
    let by_hand = super::super::package::hex(&Sha256::digest(by_hand));
    assert_eq!(installed.skill.installed_hash, by_hand);
    let listed = house.skills.show(&SkillScope::Global, "haiku").unwrap();
    assert_eq!(listed, installed.skill);
}

#[cfg(unix)]
#[test]
fn folders_are_taken_without_links_and_litter() {
    let house = House::new();
    let from = tempfile::tempdir().unwrap();
    let at = |name: &str| from.path().join(name);
    write(&at(SKILL_MD), SKILL.as_bytes());
    write(&at("assets/a.bin"), &[0, 159, 146, 150]);
    write(&at(".DS_Store"), b"x");
    write(&at("__MACOSX/._a"), b"x");
    let input = ImportInput::at(from.path());
    assert!(matches!(input, ImportInput::Directory { .. }));
    house.install(&input).unwrap();
    let there = tree(&house.folder().join("installed/global/haiku"));
    let names: Vec<&str> = there.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [SKILL_MD, "assets/a.bin"]);

    for link in ["assets/link", "folder"] {
        std::os::unix::fs::symlink("/etc", at(link)).unwrap();
        let error = house.install(&input).unwrap_err();
        assert_eq!(error.reason, Some("skill.not_plain"), "{error}");
        std::fs::remove_file(at(link)).unwrap();
    }
    let nowhere = ImportInput::Directory { path: at("none") };
    let error = house.install(&nowhere).unwrap_err();
    assert_eq!(error.code.as_str(), "skill.storage_failed");
}
