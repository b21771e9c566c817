//! What lies where skills lie: known by heart, in the way, or without a word whose it is.

use std::time::{Duration, SystemTime};

use super::*;
use crate::profile::SkillRules;

fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(3_600)
}

fn scope(text: &str) -> SkillScope {
    text.parse().unwrap()
}

/// What a process found, the next one need not hash; what somebody touched it must.
#[cfg(unix)]
#[test]
fn what_was_found_is_known_to_the_next_process() {
    let house = House::new();
    house.install(&skill("tea", "green")).unwrap();
    let next = || Skills::with_clock(house.home.path(), later);
    let about = |skills: &Skills| skills.show(&SkillScope::Global, "tea").unwrap();
    let known = house.folder().join("index/global/tea.json");
    // What has only just been written may be written again within the same tick.
    let first = about(&house.skills);
    assert!(!known.exists());
    assert_eq!(about(&next()), first);
    let text = std::fs::read_to_string(&known).unwrap();
    // That it is believed is seen by what only stands there.
    std::fs::write(&known, text.replace("About tea.", "By heart.")).unwrap();
    assert_eq!(about(&next()).about.description, "By heart.");
    assert_eq!(about(&next()).installed_hash, first.installed_hash);
    let files = next().list_files(&SkillScope::Global, "tea").unwrap();
    assert_eq!(files.len(), 2);
    // Whatever cannot be read, or is another's, is not.
    for damaged in [
        "",
        "{",
        "{\"version\":1}",
        &text.replace("\"version\":1", "\"version\":2"),
    ] {
        std::fs::write(&known, damaged).unwrap();
        assert_eq!(about(&next()), first, "{damaged}");
    }
    let tea = house
        .folder()
        .join("installed/global/tea/references/more.md");
    let text = std::fs::read_to_string(&known).unwrap();
    std::fs::write(&known, text.replace("About tea.", "By heart.")).unwrap();
    let modified = std::fs::metadata(&tea).unwrap().modified().unwrap();
    std::fs::write(&tea, "black").unwrap();
    let file = std::fs::File::options().write(true).open(&tea).unwrap();
    file.set_modified(modified).unwrap();
    let changed = about(&next());
    assert_eq!(changed.about, first.about);
    assert_ne!(changed.installed_hash, first.installed_hash);
    next().delete(&SkillScope::Global, "tea").unwrap();
    assert!(!known.exists());
}

#[cfg(unix)]
#[test]
fn what_is_no_skill_is_told_of_and_can_be_replaced_or_deleted() {
    let house = House::new();
    house.install(&skill("tea", "green")).unwrap();
    let global = house.folder().join("installed/global");
    write(&global.join("Haiku/SKILL.md"), SKILL.as_bytes());
    write(&global.join("haiku v2/SKILL.md"), SKILL.as_bytes());
    write(&global.join("plain"), b"x");
    write(&global.join(".DS_Store"), b"x");
    std::os::unix::fs::symlink("/etc", global.join("coffee")).unwrap();
    let list = house.skills.list(&SkillFilter::All).unwrap();
    let issues: Vec<(&str, &str)> = list
        .issues
        .iter()
        .map(|issue| (issue.name.as_str(), issue.reason.as_deref().unwrap()))
        .collect();
    assert_eq!(
        issues,
        [
            ("Haiku", "skill.name_invalid"),
            ("coffee", "skill.not_plain"),
            ("haiku v2", "skill.name_invalid"),
            ("plain", "skill.not_plain"),
        ]
    );
    assert_eq!(list.skills.len(), 1);
    let shown = house
        .skills
        .show(&SkillScope::Global, "coffee")
        .unwrap_err();
    assert_eq!(shown.reason, Some("skill.not_plain"));
    let coffee = skill("coffee", "black");
    let error = house.install(&coffee).unwrap_err();
    assert_eq!(error.code.as_str(), "skill.conflict");
    let replace = Some(ConflictStrategy::Replace);
    house
        .skills
        .install_import(&coffee, &SkillScope::Global, replace)
        .unwrap();
    house.skills.delete(&SkillScope::Global, "plain").unwrap();
    assert!(std::path::Path::new("/etc").is_dir() && !global.join("plain").exists());
    house.skills.show(&SkillScope::Global, "coffee").unwrap();
    assert!(house.is_tidy());
}

#[test]
fn a_folder_says_whose_it_is_again_when_something_is_imported_into_it() {
    let house = House::new();
    let poet = scope("profile:poet");
    let install = |input: &ImportInput, strategy| {
        house
            .skills
            .install_import(input, &poet, strategy)
            .unwrap()
            .action
    };
    install(&skill("tea", "green"), None);
    let file = house
        .folder()
        .join("installed")
        .join(poet.folder())
        .join(".scope.json");
    for (content, other, strategy, action) in [
        (&b""[..], "green", None, InstallAction::AlreadyInstalled),
        (
            b"{",
            "black",
            Some(ConflictStrategy::Skip),
            InstallAction::Skipped,
        ),
        (
            br#"{"kind":"profile","profileId":"somebody else"}"#,
            "black",
            Some(ConflictStrategy::Replace),
            InstallAction::Replaced,
        ),
    ] {
        std::fs::write(&file, content).unwrap();
        let issues = house.skills.list(&SkillFilter::All).unwrap().issues;
        assert_eq!(issues[0].reason.as_deref(), Some("skill.scope_unknown"));
        assert_eq!(install(&skill("tea", other), strategy), action);
        assert_eq!(house.names("all"), ["tea"]);
    }
    std::fs::remove_file(&file).unwrap();
    install(&skill("tea", "black"), None);
    assert_eq!(house.names("all"), ["tea"]);
    assert!(house.is_tidy());
}

/// The folder itself may lie elsewhere; whatever is wrong with it, a run that needs no skill goes without.
#[cfg(unix)]
#[test]
fn the_folder_of_all_skills_may_be_a_link_or_a_trouble() {
    let house = House::new();
    let elsewhere = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), house.folder()).unwrap();
    house.install(&skill("tea", "green")).unwrap();
    assert_eq!(house.names("all"), ["tea"]);
    assert!(elsewhere.path().join("installed/global/tea").is_dir());

    let house = House::new();
    write(&house.folder(), b"no folder");
    let rules = |visible: &[&str], deny: &[&str]| SkillRules {
        visible: visible.iter().map(ToString::to_string).collect(),
        deny: deny.iter().map(ToString::to_string).collect(),
        ..SkillRules::default()
    };
    assert!(house.skills.list(&SkillFilter::All).is_err());
    for (visible, deny, expected) in [
        (&["*"][..], &[][..], Ok(true)),
        (&["*"], &["*"], Ok(false)),
        (&["tea"], &["tea"], Ok(true)),
        (&["tea"], &[], Err("skill.storage_failed")),
        (&["*", "tea"], &[], Err("skill.storage_failed")),
    ] {
        let found = house
            .skills
            .effective(vec![SkillScope::Global], &rules(visible, deny));
        let found = found.as_ref().map(|run| {
            assert_eq!(run.effective, []);
            assert_eq!(run.extra().contains_key("issue"), run.issue.is_some());
            run.issue.is_some()
        });
        assert_eq!(found.map_err(|error| error.code.as_str()), expected);
    }
}

#[test]
fn numbers_are_words_as_they_are_written() {
    let house = House::new();
    let front = |front: &str| inline(&[(SKILL_MD, &format!("---\n{front}\n---\n"))]);
    for (written, version) in [
        ("1.10", "1.10"),
        ("1e3 # the third", "1e3"),
        ("'2.0'", "2.0"),
        ("007", "007"),
        ("1_000", "1_000"),
    ] {
        let input = front(&format!(
            "name: v\ndescription: d\nmetadata: {{author: x, version: {written}\n  }}"
        ));
        let preview = house
            .skills
            .preview_import(&input, &SkillScope::Global)
            .unwrap();
        assert_eq!(
            preview.skill.about.version.as_deref(),
            Some(version),
            "{written}"
        );
    }
    for name in ["0x10", "007", "1_000", "12"] {
        let input = front(&format!("name: {name}\ndescription: d"));
        let preview = house
            .skills
            .preview_import(&input, &SkillScope::Global)
            .unwrap();
        assert_eq!(preview.skill.about.name, name);
    }
}

#[test]
fn what_cannot_be_used_follows_its_scope_too() {
    let house = House::new();
    let (old, new) = (scope("profile:old"), scope("profile:new"));
    for name in ["tea", "broken"] {
        house
            .skills
            .install_import(&skill(name, "x"), &old, None)
            .unwrap();
    }
    let place = house.folder().join("installed").join(old.folder());
    std::fs::write(place.join("broken/SKILL.md"), "no front matter").unwrap();
    let moved = house.skills.retarget_scope(&old, &new, None).unwrap();
    assert_eq!(moved.len(), 1);
    let list = house.skills.list(&SkillFilter::Of(new.clone())).unwrap();
    assert_eq!((list.skills.len(), list.issues.len()), (1, 1));
    assert!(house.names("profile:old").is_empty());
    assert!(
        house
            .skills
            .retarget_scope(&new, &new, None)
            .unwrap()
            .is_empty()
    );
    assert!(house.is_tidy());
}

/// Where there is no room for all of them, none goes.
#[test]
fn a_scope_that_has_no_room_takes_none() {
    let house = House::new();
    let (old, new) = (scope("profile:old"), scope("profile:new"));
    for name in ["one", "two"] {
        house
            .skills
            .install_import(&skill(name, "x"), &old, None)
            .unwrap();
    }
    let place = house.folder().join("installed").join(new.folder());
    for number in 0..crate::limits::MAX_SKILLS_OF_SCOPE - 1 {
        std::fs::create_dir_all(place.join(format!("s{number}"))).unwrap();
    }
    let error = house.skills.retarget_scope(&old, &new, None).unwrap_err();
    assert_eq!(error.reason, Some("skill.too_many_skills"));
    assert_eq!(house.names("profile:old"), ["one", "two"]);
}

#[test]
fn the_file_that_a_skill_begins_with_is_not_all_of_it() {
    let from = tempfile::tempdir().unwrap();
    write(&from.path().join(SKILL_MD), SKILL.as_bytes());
    let house = House::new();
    let error = house.install(&ImportInput::at(&from.path().join(SKILL_MD)));
    assert!(error.unwrap_err().message.contains("give the folder"));
    for (path, named) in [
        ("skill.md", "'skill.md'"),
        ("a/b/SKILL.md", "'a/b/SKILL.md'"),
    ] {
        let error = house
            .install(&inline(&[(path, SKILL), ("x", "")]))
            .unwrap_err();
        assert_eq!(error.reason, Some("skill.skill_md_missing"));
        assert!(error.message.contains(named), "{error}");
    }
}
