use std::sync::Barrier;

use super::*;
use crate::skills::tests::{House, skill, tree, write};
use crate::skills::{ConflictStrategy, Part};

fn says(house: &House) -> String {
    let read = house.skills.read_file(
        &SkillScope::Global,
        "tea",
        "references/more.md",
        &Part::default(),
    );
    read.unwrap().piece.content
}

/// A process ended at each moment of a replacement: afterwards the old or the new skill is there, whole, and nothing else.
#[test]
fn whatever_ends_a_process_a_skill_is_there_wholly() {
    for (moment, then) in [
        ("while it was staged", "green"),
        ("before the renames", "green"),
        ("after the old one was taken away", "green"),
        ("after the new one was put there", "black"),
        ("before the stage was removed", "black"),
    ] {
        let house = House::new();
        house.install(&skill("tea", "green")).unwrap();
        let other = House::new();
        other.install(&skill("tea", "black")).unwrap();
        let installed = house.folder().join("installed/global/tea");
        let stage = house.folder().join(".staging/0123");
        let copy = |into: &Path| {
            for (name, content) in tree(&other.folder().join("installed/global/tea")) {
                write(&into.join(name), &content);
            }
        };
        std::fs::create_dir_all(&stage).unwrap();
        match moment {
            "while it was staged" => write(&stage.join("new/SKILL.md"), b"half"),
            "before the renames" => {
                copy(&stage.join(NEW));
                write(&stage.join(PLACE), b"global/tea");
            }
            "after the old one was taken away" => {
                copy(&stage.join(NEW));
                write(&stage.join(PLACE), b"global/tea");
                std::fs::rename(&installed, stage.join(OLD)).unwrap();
            }
            "after the new one was put there" => {
                write(&stage.join(PLACE), b"global/tea");
                std::fs::rename(&installed, stage.join(OLD)).unwrap();
                copy(&installed);
            }
            _ => {
                write(&stage.join(PLACE), b"global/tea");
                std::fs::rename(&installed, stage.join(GONE)).unwrap();
                copy(&installed);
            }
        }
        // Whoever only reads finds it too.
        assert_eq!(says(&house), then, "{moment}");
        assert_eq!(house.names("all"), ["tea"], "{moment}");
        house.install(&skill("coffee", "x")).unwrap();
        assert_eq!(says(&house), then, "{moment}");
        assert!(house.is_tidy(), "{moment}");
    }
}

/// Whoever reads while a skill is replaced again and again always finds one, and never a mixture.
#[test]
fn readers_and_writers_at_once() {
    let house = House::new();
    let inputs = ["green", "black"].map(|says| skill("tea", says));
    let known = inputs.each_ref().map(|input| {
        let preview = house.skills.preview_import(input, &SkillScope::Global);
        preview.unwrap().skill.installed_hash
    });
    assert_ne!(known[0], known[1]);
    house.install(&inputs[0]).unwrap();
    let start = Barrier::new(3);
    std::thread::scope(|threads| {
        for _ in 0..2 {
            threads.spawn(|| {
                let skills = crate::skills::Skills::new(house.home.path());
                start.wait();
                for _ in 0..40 {
                    let found = skills.show(&SkillScope::Global, "tea").unwrap();
                    assert!(known.contains(&found.installed_hash));
                }
            });
        }
        start.wait();
        for round in 0..40 {
            let replace = Some(ConflictStrategy::Replace);
            house
                .skills
                .install_import(&inputs[round % 2], &SkillScope::Global, replace)
                .unwrap();
        }
    });
    assert!(house.is_tidy());
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_home() {
    let house = House::new();
    let elsewhere = tempfile::tempdir().unwrap();
    write(
        &elsewhere.path().join("tea/SKILL.md"),
        crate::skills::tests::SKILL.as_bytes(),
    );
    std::fs::create_dir_all(house.folder().join("installed")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), house.folder().join("installed/global")).unwrap();
    assert!(house.skills.show(&SkillScope::Global, "tea").is_err());
    assert!(house.skills.delete(&SkillScope::Global, "tea").is_err());
    assert!(house.install(&skill("coffee", "x")).is_err());
    assert_eq!(tree(elsewhere.path()).len(), 1);
}
