//! The generated system prompt.

use innkeeper_protocol::Locale;
use serde_json::json;

use super::{comfy, read, version_1, with};
use crate::profile::{BuiltIn, CHAT, system_prompt};

#[test]
fn it_tells_how_a_run_ends() {
    let background = with(version_1(), "/run/presentation", json!("background"));
    let chat = BuiltIn::find(CHAT).unwrap().profile().unwrap();
    let paths = ["output/main.md"];
    for (profile, has, has_not) in [
        (
            read(&version_1()),
            vec![
                "workspace.commit",
                "workspace.finish",
                paths[0],
                "`persist/`",
            ],
            vec![],
        ),
        (
            read(&background),
            vec!["workspace.finish", paths[0]],
            vec!["workspace.commit"],
        ),
        (
            chat,
            vec!["`scratch/`"],
            vec!["workspace.commit", "workspace.finish"],
        ),
        // No workspace tools: no word of a workspace.
        (
            read(&comfy()),
            vec!["Merchant", "Sells things."],
            vec!["workspace", "persist"],
        ),
    ] {
        for locale in [Locale::En, Locale::Zh] {
            let prompt = system_prompt(&profile, locale);
            for word in &has {
                assert!(prompt.contains(word), "{word} in {prompt}");
            }
            for word in &has_not {
                assert!(!prompt.contains(word), "{word} in {prompt}");
            }
            assert!(prompt.contains(&profile.display_name));
            assert!(prompt.contains("80"), "the budget in {prompt}");
            assert!(!prompt.contains(['{', '}']), "{prompt}");
        }
    }
}

#[test]
fn it_is_in_the_language_of_the_house() {
    let profile = read(&version_1());
    assert!(system_prompt(&profile, Locale::En).is_ascii());
    assert!(system_prompt(&profile, Locale::Zh).contains("工作区"));
}

#[test]
fn what_may_only_be_read_is_marked() {
    let json = with(version_1(), "/workspace/writableRoots", json!(["output"]));
    let prompt = system_prompt(&read(&json), Locale::En);
    assert_eq!(prompt.matches("(read only)").count(), 4, "{prompt}");
}

#[test]
fn the_profiles_own_words_win() {
    let json = with(
        version_1(),
        "/instructions/agentSystemPrompt",
        json!("Rhyme."),
    );
    assert_eq!(system_prompt(&read(&json), Locale::Zh), "Rhyme.");
}
