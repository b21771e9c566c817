//! What the page for authors says is true.

use super::read;

const PAGE: &str = include_str!("../../../../../docs/agent-profiles.md");

#[test]
fn its_examples_are_good() {
    let blocks: Vec<_> = PAGE.split("```json").skip(1).collect();
    assert!(!blocks.is_empty());
    for block in blocks {
        let text = block.split("```").next().unwrap();
        read(&serde_json::from_str(text).unwrap());
    }
}

#[test]
fn it_names_every_reason() {
    let sources = [
        include_str!("../check.rs"),
        include_str!("../check_state.rs"),
        include_str!("../check_tools.rs"),
        include_str!("../id.rs"),
        include_str!("../problem.rs"),
        include_str!("../read.rs"),
        include_str!("../read_sections.rs"),
    ];
    let mut count = 0;
    for source in sources {
        let literals = source.split('"').filter(|text| text.starts_with("agent.p"));
        for reason in literals.filter(|text| !text.contains(char::is_whitespace)) {
            let name = reason.strip_prefix("agent.profile_").unwrap_or(reason);
            assert!(
                PAGE.contains(&format!("`{name}`")),
                "{reason} is not on the page"
            );
            count += 1;
        }
    }
    assert!(count > 60, "{count}");
}
