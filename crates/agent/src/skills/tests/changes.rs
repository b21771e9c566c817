//! Installing over what is there, moving, writing, deleting.

use super::*;

fn scope(text: &str) -> SkillScope {
    text.parse().unwrap()
}

#[test]
fn conflicts_and_what_is_done_about_them() {
    use ConflictStrategy::{Replace, Skip};

    let (same, other) = (skill("tea", "green"), skill("tea", "black"));
    for (there, input, strategy, conflict, action, says) in [
        (
            None,
            &same,
            None,
            Conflict::New,
            Some(InstallAction::Installed),
            "green",
        ),
        (
            None,
            &same,
            Some(Skip),
            Conflict::New,
            Some(InstallAction::Installed),
            "green",
        ),
        (
            Some(&same),
            &same,
            None,
            Conflict::Same,
            Some(InstallAction::AlreadyInstalled),
            "green",
        ),
        (
            Some(&same),
            &same,
            Some(Replace),
            Conflict::Same,
            Some(InstallAction::AlreadyInstalled),
            "green",
        ),
        (
            Some(&same),
            &other,
            Some(Skip),
            Conflict::Different,
            Some(InstallAction::Skipped),
            "green",
        ),
        (
            Some(&same),
            &other,
            Some(Replace),
            Conflict::Different,
            Some(InstallAction::Replaced),
            "black",
        ),
        (
            Some(&same),
            &other,
            None,
            Conflict::Different,
            None,
            "green",
        ),
    ] {
        let house = House::new();
        if let Some(there) = there {
            house.install(there).unwrap();
        }
        let global = SkillScope::Global;
        let before = house.folder().exists().then(|| tree(&house.folder()));
        let preview = house.skills.preview_import(input, &global).unwrap();
        assert_eq!(preview.conflict.kind, conflict);
        assert_eq!(preview.conflict.installed_hash.is_some(), there.is_some());
        assert_eq!(
            before,
            house.folder().exists().then(|| tree(&house.folder())),
            "a look changes nothing"
        );
        let done = house.skills.install_import(input, &global, strategy);
        match (done, action) {
            (Ok(installed), Some(action)) => {
                assert_eq!(installed.action, action);
                assert_eq!(installed.skill, house.skills.show(&global, "tea").unwrap());
            }
            (Err(error), None) => assert_eq!(error.code.as_str(), "skill.conflict"),
            (done, _) => panic!("{done:?}"),
        }
        let read = house
            .skills
            .read_file(&global, "tea", "references/more.md", &Part::default());
        assert_eq!(read.unwrap().piece.content, says);
        assert!(house.is_tidy());
    }
}

#[test]
fn a_broken_skill_is_told_of_and_can_be_replaced_or_deleted() {
    let house = House::new();
    house.install(&skill("tea", "green")).unwrap();
    house.install(&skill("coffee", "black")).unwrap();
    let place = house.folder().join("installed/global/tea/SKILL.md");
    std::fs::write(&place, "no front matter").unwrap();
    let list = house.skills.list(&SkillFilter::All).unwrap();
    assert_eq!(list.skills.len(), 1);
    assert_eq!(
        list.issues[0].reason.as_deref(),
        Some("skill.front_matter_missing")
    );
    let tea = skill("tea", "green");
    let error = house.install(&tea).unwrap_err();
    assert_eq!(error.code.as_str(), "skill.conflict");
    let replace = Some(ConflictStrategy::Replace);
    let replaced = house
        .skills
        .install_import(&tea, &SkillScope::Global, replace)
        .unwrap();
    assert_eq!(replaced.action, InstallAction::Replaced);
    std::fs::write(&place, "broken again").unwrap();
    house.skills.delete(&SkillScope::Global, "tea").unwrap();
    assert_eq!(house.names("all"), ["coffee"]);
    let error = house.skills.delete(&SkillScope::Global, "tea").unwrap_err();
    assert_eq!(error.code.as_str(), "skill.not_found");
}

#[test]
fn skills_move_between_scopes() {
    use ConflictStrategy::{Replace, Skip};

    for (there, strategy, action, left, right) in [
        (None, None, Some(InstallAction::Installed), 0, "green"),
        (
            Some("green"),
            None,
            Some(InstallAction::AlreadyInstalled),
            0,
            "green",
        ),
        (
            Some("black"),
            Some(Skip),
            Some(InstallAction::Skipped),
            1,
            "black",
        ),
        (
            Some("black"),
            Some(Replace),
            Some(InstallAction::Replaced),
            0,
            "green",
        ),
        (Some("black"), None, None, 1, "black"),
    ] {
        let house = House::new();
        let (from, to) = (SkillScope::Global, scope("character:Ann"));
        house.install(&skill("tea", "green")).unwrap();
        if let Some(there) = there {
            house
                .skills
                .install_import(&skill("tea", there), &to, None)
                .unwrap();
        }
        match (house.skills.move_to("tea", &from, &to, strategy), action) {
            (Ok(moved), Some(action)) => assert_eq!(moved.action, action),
            (Err(error), None) => assert_eq!(error.code.as_str(), "skill.conflict"),
            (moved, _) => panic!("{moved:?}"),
        }
        assert_eq!(house.names("global").len(), left);
        let read = house
            .skills
            .read_file(&to, "tea", "references/more.md", &Part::default());
        assert_eq!(read.unwrap().piece.content, right);
        assert!(house.is_tidy());
    }
    let house = House::new();
    let error = house
        .skills
        .move_to("tea", &SkillScope::Global, &scope("profile:x"), None);
    assert_eq!(error.unwrap_err().code.as_str(), "skill.not_found");
}

#[test]
fn skills_follow_a_preset_that_was_renamed() {
    let house = House::new();
    let (old, new) = (scope("preset:openai/old"), scope("preset:openai/new"));
    for name in ["tea", "coffee"] {
        house
            .skills
            .install_import(&skill(name, "x"), &old, None)
            .unwrap();
    }
    house
        .skills
        .install_import(&skill("tea", "other"), &new, None)
        .unwrap();
    // Nothing moves where one of them would be in the way.
    assert!(house.skills.retarget_scope(&old, &new, None).is_err());
    assert_eq!(house.names("preset:openai/old"), ["coffee", "tea"]);
    let moved = house
        .skills
        .retarget_scope(&old, &new, Some(ConflictStrategy::Replace))
        .unwrap();
    assert_eq!(moved.len(), 2);
    assert_eq!(house.names("preset:openai/old"), [""; 0]);
    assert_eq!(house.names("preset:openai/new"), ["coffee", "tea"]);
    for (from, to) in [
        ("global", "preset:openai/new"),
        ("profile:x", "character:x"),
        ("global", "global"),
    ] {
        let error = house
            .skills
            .retarget_scope(&scope(from), &scope(to), None)
            .unwrap_err();
        assert_eq!(error.reason, Some("skill.retarget_invalid"));
    }
}

#[test]
fn files_are_written_by_whoever_knows_what_is_there() {
    let house = House::new();
    let skill = house.install(&skill("tea", "green")).unwrap().skill;
    let wanted = |path: &str, content: &str, expected: Option<&str>| WriteFile {
        name: "tea".to_owned(),
        path: path.to_owned(),
        content: content.to_owned(),
        expected_sha256: expected.map(str::to_owned),
        ..WriteFile::default()
    };
    let good = "---\nname: tea\ndescription: New.\n---\n";
    let read = house
        .skills
        .read_file(&SkillScope::Global, "tea", SKILL_MD, &Part::default())
        .unwrap();
    for (path, content, expected, refused) in [
        ("references/more.md", "x", Some("00"), "skill.stale_file"),
        ("new.md", "x", Some("00"), "skill.stale_file"),
        (SKILL_MD, "no front matter", None, "skill.invalid_package"),
        (
            SKILL_MD,
            "---\nname: coffee\ndescription: d\n---\n",
            None,
            "skill.invalid_package",
        ),
        (MANIFEST, "{}", None, "skill.invalid_package"),
        ("references", "x", None, "skill.invalid_package"),
        ("References/MORE.md", "x", None, "skill.invalid_package"),
        ("../x", "x", None, "skill.invalid_request"),
        (".git/x", "x", None, "skill.invalid_request"),
        ("skill.md", good, None, "skill.invalid_package"),
    ] {
        let error = house
            .skills
            .write_file(&wanted(path, content, expected))
            .unwrap_err();
        assert_eq!(error.code.as_str(), refused, "{path}: {error}");
        assert_eq!(
            house.skills.show(&SkillScope::Global, "tea").unwrap(),
            skill,
            "{path}"
        );
    }
    let written = house
        .skills
        .write_file(&wanted(SKILL_MD, good, Some(&read.sha256)))
        .unwrap();
    assert_eq!(
        (written.chars, written.skill.about.description.as_str()),
        (36, "New.")
    );
    house
        .skills
        .write_file(&wanted("deep/er/new.md", "字", None))
        .unwrap();
    let files = house.skills.list_files(&SkillScope::Global, "tea").unwrap();
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, [SKILL_MD, "deep/er/new.md", "references/more.md"]);
    assert_eq!(files[0].sha256, written.sha256);
    assert!(house.is_tidy());
}
