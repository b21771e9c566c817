use serde_json::{Value as Json, json};

use super::*;

fn preset(api_id: &str, name: &str) -> SkillScope {
    SkillScope::Preset {
        api_id: api_id.to_owned(),
        name: name.to_owned(),
    }
}

#[test]
fn folders_are_those_of_the_other_application() {
    for (scope, folder) in [
        ("global", "global"),
        ("preset:openai/preset-one", "preset_5d82fd92a6263116"),
        ("profile:writer", "profile_5ac77d8ac722e8ea"),
        ("character:Seraphina", "character_67e8be56c9a02c32"),
    ] {
        let scope: SkillScope = scope.parse().unwrap();
        assert_eq!(scope.folder(), folder, "{scope}");
    }
}

#[test]
fn scopes_are_written_and_read_the_same() {
    for (text, wire) in [
        ("global", json!({"kind": "global"})),
        (
            "preset:openai/a/b: c",
            json!({"kind": "preset", "apiId": "openai", "name": "a/b: c"}),
        ),
        (
            "profile:writer",
            json!({"kind": "profile", "profileId": "writer"}),
        ),
        (
            "character:赛拉",
            json!({"kind": "character", "characterId": "赛拉"}),
        ),
    ] {
        let scope: SkillScope = text.parse().unwrap();
        assert_eq!(scope.to_string(), text);
        assert_eq!(serde_json::to_value(&scope).unwrap(), wire);
        assert_eq!(serde_json::from_value::<SkillScope>(wire).unwrap(), scope);
    }
    let old: Json = json!({"kind": "preset", "api_id": "openai", "name": "x"});
    let old: SkillScope = serde_json::from_value(old).unwrap();
    assert_eq!(old, preset("openai", "x"));
}

#[test]
fn what_is_no_scope() {
    let long = format!("profile:{}", "x".repeat(MAX_SCOPE_PART_BYTES + 1));
    for text in [
        "",
        "Global",
        "all",
        "preset:openai",
        "preset:/x",
        "preset:openai/ ",
        "profile:",
        "character:\u{0}a",
        "world:x",
        &long,
    ] {
        let error = text.parse::<SkillScope>().unwrap_err();
        assert_eq!(error.reason, Some("skill.scope_invalid"), "{text:?}");
    }
    assert_eq!("all".parse(), Ok(SkillFilter::All));
}

/// A NUL in a part would let one scope pass for another.
#[test]
fn parts_cannot_run_into_each_other() {
    let (one, other) = (preset("a", "b\0c"), preset("a\0b", "c"));
    assert_eq!(one.folder(), other.folder());
    assert!(one.check().is_err() && other.check().is_err());
}
