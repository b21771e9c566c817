//! What the page for authors says is true.

use super::*;

const PAGE: &str = include_str!("../../../../../docs/skills.md");
const ERRORS: &str = include_str!("../../../../../docs/errors.md");

#[test]
fn its_example_is_a_skill() {
    let example = PAGE.split("```markdown\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let skill = House::new()
        .install(&inline(&[(SKILL_MD, example)]))
        .unwrap()
        .skill;
    assert_eq!(skill.about.name, "haiku");
    assert_eq!(skill.about.tags, ["poetry", "short"]);
}

#[test]
fn every_rule_of_packages_is_on_it() {
    let sources = [
        include_str!("../archive.rs"),
        include_str!("../change.rs"),
        include_str!("../error.rs"),
        include_str!("../folder.rs"),
        include_str!("../front.rs"),
        include_str!("../import.rs"),
        include_str!("../manifest.rs"),
        include_str!("../package.rs"),
        include_str!("../path.rs"),
        include_str!("../source.rs"),
    ];
    let mut count = 0;
    for source in sources {
        for part in source.split("SkillError::package(").skip(1) {
            let reason = part.split('"').nth(1).unwrap();
            if reason.starts_with("skill.") {
                assert!(
                    PAGE.contains(&format!("`{reason}`")),
                    "{reason} is not on the page"
                );
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count}");
    for reason in [
        "skill.range_invalid",
        "skill.search_limit_invalid",
        "skill.scope_invalid",
    ] {
        assert!(ERRORS.contains(reason), "{reason}");
    }
}
