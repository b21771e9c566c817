//! What hosts see: lists, files, and skills that somebody changes by hand.

use serde_json::json;

use super::*;

#[test]
fn lists_by_scope_and_of_all() {
    let house = House::new();
    let scopes = [
        "global",
        "preset:openai/one",
        "profile:writer",
        "character:安",
    ];
    for scope in scopes {
        house
            .skills
            .install_import(&skill("tea", scope), &scope.parse().unwrap(), None)
            .unwrap();
    }
    house.install(&skill("coffee", "x")).unwrap();
    assert_eq!(house.names("global"), ["coffee", "tea"]);
    assert_eq!(house.names("profile:nobody"), [""; 0]);
    let all = house.skills.list(&SkillFilter::All).unwrap();
    let told: Vec<String> = all
        .skills
        .iter()
        .map(|skill| format!("{} {}", skill.scope, skill.about.name))
        .collect();
    assert_eq!(
        told,
        [
            "global coffee",
            "global tea",
            "preset:openai/one tea",
            "profile:writer tea",
            "character:安 tea"
        ]
    );
    let folder = "installed/preset_0000000000000000";
    write(
        &house.folder().join(folder).join("x/SKILL.md"),
        SKILL.as_bytes(),
    );
    let issues = house.skills.list(&SkillFilter::All).unwrap().issues;
    assert_eq!(issues[0].reason.as_deref(), Some("skill.scope_unknown"));
    let wire = json!(all.skills[1]);
    for key in [
        "scope",
        "name",
        "description",
        "displayName",
        "fileCount",
        "totalBytes",
        "installedHash",
    ] {
        assert!(wire.get(key).is_some(), "{key}");
    }
}

#[test]
fn a_skill_that_somebody_changes_is_known_as_it_is_now() {
    let house = House::new();
    house.install(&skill("tea", "green")).unwrap();
    let path = house
        .folder()
        .join("installed/global/tea/references/more.md");
    let hash = || {
        house
            .skills
            .show(&SkillScope::Global, "tea")
            .unwrap()
            .installed_hash
    };
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3_600);
    let age = |path: &Path| {
        let file = std::fs::File::options().write(true).open(path).unwrap();
        file.set_modified(long_ago).unwrap();
    };
    age(&path);
    age(&house.folder().join("installed/global/tea/SKILL.md"));
    let first = hash();
    assert_eq!(first, hash());
    // As long as before, and as old as before.
    std::fs::write(&path, "black").unwrap();
    age(&path);
    assert_ne!(first, hash());
}

#[test]
fn only_files_of_the_skill_are_read() {
    let house = House::new();
    house.install(&skill("tea", "green")).unwrap();
    let folder = house.folder().join("installed/global/tea");
    write(&folder.join("binary"), &[0xff, 0xfe]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/hostname", folder.join("link")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", folder.join("etc")).unwrap();
    for (name, path, code, reason) in [
        (
            "tea",
            "none.md",
            "skill.not_found",
            Some("skill.file_not_found"),
        ),
        (
            "tea",
            "references",
            "skill.not_found",
            Some("skill.file_not_found"),
        ),
        (
            "tea",
            "SKILL.md/x",
            "skill.not_found",
            Some("skill.file_not_found"),
        ),
        (
            "tea",
            "../coffee/SKILL.md",
            "skill.invalid_request",
            Some("skill.path_invalid"),
        ),
        (
            "tea",
            "/etc/hostname",
            "skill.invalid_request",
            Some("skill.path_invalid"),
        ),
        (
            "tea",
            "",
            "skill.invalid_request",
            Some("skill.path_invalid"),
        ),
        (
            "tea",
            "binary",
            "skill.invalid_request",
            Some("skill.not_text"),
        ),
        ("coffee", SKILL_MD, "skill.not_found", None),
        (
            "..",
            SKILL_MD,
            "skill.invalid_request",
            Some("skill.name_invalid"),
        ),
        (
            "Tea",
            SKILL_MD,
            "skill.invalid_request",
            Some("skill.name_invalid"),
        ),
    ] {
        let error = house
            .skills
            .read_file(&SkillScope::Global, name, path, &Part::default())
            .unwrap_err();
        assert_eq!(
            (error.code.as_str(), error.reason),
            (code, reason),
            "{name} {path}"
        );
    }
    #[cfg(unix)]
    for path in ["link", "etc/hostname"] {
        let read = house
            .skills
            .read_file(&SkillScope::Global, "tea", path, &Part::default());
        assert!(read.is_err(), "{path} was followed");
    }
}

#[test]
fn inputs_as_hosts_write_them() {
    for (wire, input) in [
        (
            json!({"kind": "inlineFiles", "files": [{"path": "a", "content": "eA==", "encoding": "base64"}]}),
            ImportInput::InlineFiles {
                files: vec![InlineFile {
                    path: "a".to_owned(),
                    content: "eA==".to_owned(),
                    encoding: InlineEncoding::Base64,
                }],
            },
        ),
        (
            json!({"kind": "directory", "path": "/x"}),
            ImportInput::Directory { path: "/x".into() },
        ),
        (
            json!({"kind": "archiveFile", "path": "/x"}),
            ImportInput::ArchiveFile { path: "/x".into() },
        ),
        (
            json!({"kind": "archiveBase64", "file_name": "x.zip", "content_base64": "eA=="}),
            ImportInput::ArchiveBase64 {
                file_name: "x.zip".to_owned(),
                content_base64: "eA==".to_owned(),
            },
        ),
    ] {
        assert_eq!(serde_json::from_value::<ImportInput>(wire).unwrap(), input);
    }
}
