use std::sync::Arc;

use innkeeper_protocol::event::CallId;
use serde_json::{Value as Json, json};

use super::*;
use crate::profile::SkillRules;
use crate::skills::effective::RunSkills;
use crate::skills::tests::{House as Shelf, inline, skill};
use crate::skills::{SKILL_MD, SkillFilter, SkillScope};
use crate::workspace::testing::House;

const HAIKU: &str = "---\nname: haiku\ndescription: Writes haiku.\n---\n# Haiku\n\nFive, seven, five.\nName the season.\n";

struct Room {
    house: House,
    shelf: Shelf,
    desk: Arc<SkillDesk>,
}

impl Room {
    fn new(rules: Json, left: u64) -> Self {
        let shelf = Shelf::new();
        let haiku = inline(&[
            (SKILL_MD, HAIKU),
            ("references/seasons.md", "spring\nsummer\nautumn\nwinter\n"),
            ("long.md", &"season ".repeat(2_000)),
        ]);
        shelf.install(&haiku).unwrap();
        shelf.install(&skill("tea", "green")).unwrap();
        shelf.install(&skill("secret", "x")).unwrap();
        let rules: SkillRules = serde_json::from_value(rules).unwrap();
        let run: RunSkills = shelf
            .skills
            .effective(vec![SkillScope::Global], &rules)
            .unwrap();
        let desk = Arc::new(SkillDesk::new(shelf.skills.clone(), run, rules, left));
        let house = House::new(&[]);
        *house.door.skills.lock().unwrap() = Some(desk.clone());
        Self { house, shelf, desk }
    }

    async fn refused(&self, tool: &str, arguments: Json) -> (String, String) {
        let error = self.house.call(tool, arguments).await.unwrap_err();
        let reason = error.reason.unwrap_or_default();
        (error.code.as_str().to_owned(), reason)
    }
}

fn usual() -> Json {
    json!({"visible": ["haiku", "secret"], "deny": ["secret"]})
}

#[tokio::test]
async fn what_the_agent_may_see_is_listed() {
    let room = Room::new(usual(), 1_000);
    let listed = room.house.call("skill.list", json!({})).await.unwrap();
    assert_eq!(
        listed,
        json!({"skills": [{"name": "haiku", "description": "Writes haiku."}], "truncated": false})
    );
}

/// However many there are and however long they are described: every name is seen, in one call or in those that follow.
#[tokio::test]
async fn no_skill_hides_another_in_the_list() {
    let room = Room::new(json!({"visible": ["*"]}), 1_000);
    for (count, described, calls) in [(30, 3_950, 1), (150, 3_950, 3)] {
        for number in 0..count {
            let text = format!(
                "---\nname: s{number:03}\ndescription: '{}'\n---\n",
                "\\\"字".repeat(described / 3)
            );
            let input = inline(&[(SKILL_MD, &text)]);
            let replace = Some(crate::skills::ConflictStrategy::Replace);
            let skills = &room.shelf.skills;
            skills
                .install_import(&input, &SkillScope::Global, replace)
                .unwrap();
        }
        let rules: SkillRules = serde_json::from_value(json!({"visible": ["*"]})).unwrap();
        let run = room
            .shelf
            .skills
            .effective(vec![SkillScope::Global], &rules)
            .unwrap();
        let desk = SkillDesk::new(room.shelf.skills.clone(), run, rules, 0);
        *room.house.door.skills.lock().unwrap() = Some(Arc::new(desk));
        let (mut names, mut asked, mut after) = (Vec::new(), 0, json!(""));
        loop {
            let listed = room
                .house
                .call("skill.list", json!({"after": after}))
                .await
                .unwrap();
            assert!(listed.to_string().chars().count() <= innkeeper_tools::limits::MAX_SHOWN_CHARS);
            let skills = listed["skills"].as_array().unwrap();
            names.extend(
                skills
                    .iter()
                    .map(|skill| skill["name"].as_str().unwrap().to_owned()),
            );
            assert_eq!(listed["truncated"], true);
            asked += 1;
            match listed.get("next") {
                Some(next) => after = next.clone(),
                None => break,
            }
        }
        assert_eq!(names.len(), count + 3);
        assert!(names.is_sorted() && asked <= calls + 3, "{asked}");
        assert_eq!(asked == 1, calls == 1, "{asked}");
    }
}

#[tokio::test]
async fn a_skill_is_read() {
    let room = Room::new(usual(), 80_000);
    let read = room
        .house
        .call("skill.read", json!({"name": "haiku"}))
        .await
        .unwrap();
    let file = &room
        .shelf
        .skills
        .list_files(&SkillScope::Global, "haiku")
        .unwrap()[0];
    let chars = HAIKU.len();
    assert_eq!(
        read,
        json!({
            "name": "haiku", "path": "SKILL.md", "sha256": file.sha256,
            "resourceRef": "skills/haiku/SKILL.md#L1-L8",
            "bytes": chars, "chars": chars, "words": 12,
            "totalBytes": chars, "totalChars": chars, "totalWords": 12,
            "startChar": 0, "endChar": chars, "truncated": false,
            "totalLines": 8, "startLine": 1, "endLine": 8, "content": HAIKU,
        })
    );
    let empty = json!({"name": "haiku", "path": "", "max_chars": 0});
    assert!(room.house.call("skill.read", empty).await.is_err());
    let empty = json!({"name": "haiku", "path": " ", "start_line": 1, "line_count": 1});
    let read = room.house.call("skill.read", empty).await.unwrap();
    assert_eq!(
        (&read["path"], &read["content"]),
        (&json!("SKILL.md"), &json!("---\n"))
    );
    let part = json!({"name": "haiku", "path": "./references/seasons.md", "start_line": 2, "line_count": 2});
    let read = room.house.call("skill.read", part).await.unwrap();
    assert_eq!(read["content"], "summer\nautumn\n");
    assert_eq!(
        read["resourceRef"],
        "skills/haiku/references/seasons.md#L2-L3"
    );
    assert_eq!(room.desk.left().unwrap(), 80_000 - chars as u64 - 4 - 14);
}

#[tokio::test]
async fn refusals() {
    let room = Room::new(usual(), 80_000);
    for (tool, arguments, code, reason) in [
        (
            "skill.read",
            json!({"name": "secret"}),
            "skill.policy_denied",
            "skill.policy_denied",
        ),
        (
            "skill.read",
            json!({"name": "tea"}),
            "skill.not_visible",
            "skill.not_visible",
        ),
        (
            "skill.search",
            json!({"name": "tea", "query": "x"}),
            "skill.not_visible",
            "skill.not_visible",
        ),
        (
            "skill.read",
            json!({"name": "../tea"}),
            "skill.invalid_request",
            "skill.name_invalid",
        ),
        (
            "skill.read",
            json!({"name": "haiku", "path": "none"}),
            "skill.not_found",
            "skill.file_not_found",
        ),
        (
            "skill.read",
            json!({"name": "haiku", "path": "../tea/SKILL.md"}),
            "skill.invalid_request",
            "skill.path_invalid",
        ),
        (
            "skill.read",
            json!({"name": "haiku", "start_line": 99}),
            "skill.invalid_request",
            "skill.range_invalid",
        ),
        (
            "skill.read",
            json!({"name": "haiku", "start_line": 1, "start_char": 1}),
            "skill.invalid_request",
            "skill.range_invalid",
        ),
        (
            "skill.search",
            json!({"name": "haiku", "query": " "}),
            "skill.invalid_request",
            "skill.search_query_empty",
        ),
        (
            "skill.search",
            json!({"name": "haiku", "query": "x", "limit": 0}),
            "skill.invalid_request",
            "skill.search_limit_invalid",
        ),
        (
            "skill.search",
            json!({"name": "haiku", "query": "x", "limit": 51}),
            "skill.invalid_request",
            "skill.search_limit_too_large",
        ),
        (
            "skill.search",
            json!({"name": "haiku", "query": "x", "context_lines": 6}),
            "skill.invalid_request",
            "skill.search_context_too_large",
        ),
        (
            "skill.search",
            json!({"name": "haiku", "query": "x", "path": "none"}),
            "skill.not_found",
            "skill.file_not_found",
        ),
    ] {
        let refused = room.refused(tool, arguments.clone()).await;
        assert_eq!(
            refused,
            (code.to_owned(), reason.to_owned()),
            "{tool} {arguments}"
        );
    }
    // Deleted while the run goes on.
    room.shelf
        .skills
        .delete(&SkillScope::Global, "haiku")
        .unwrap();
    let refused = room.refused("skill.read", json!({"name": "haiku"})).await;
    assert_eq!(refused.0, "skill.not_found");
    assert_eq!(
        room.desk.left().unwrap(),
        80_000,
        "what was refused costs nothing"
    );
    assert_eq!(
        room.shelf
            .skills
            .list(&SkillFilter::All)
            .unwrap()
            .skills
            .len(),
        2
    );
    let everything = Room::new(json!({"visible": ["*"]}), 80_000);
    let refused = everything
        .refused("skill.read", json!({"name": "nobody"}))
        .await;
    assert_eq!(refused.0, "skill.not_found");
}

#[tokio::test]
async fn hits_are_shown_and_cost_what_they_show() {
    let room = Room::new(usual(), 80_000);
    let asked = json!({"name": "haiku", "query": "SEASON", "path": "SKILL.md", "context_lines": 0});
    let found = room.house.call("skill.search", asked).await.unwrap();
    assert_eq!(
        (
            &found["searchedFiles"],
            &found["skippedFiles"],
            &found["truncated"]
        ),
        (&json!(1), &json!(0), &json!(false))
    );
    let hits = found["hits"].as_array().unwrap();
    assert_eq!(hits[0]["snippet"], "Name the season.");
    assert_eq!(hits[0]["resourceRef"], "skills/haiku/SKILL.md#L8-L8");
    let shown: usize = hits
        .iter()
        .map(|hit| hit["snippet"].as_str().unwrap().chars().count())
        .sum();
    assert_eq!(found["returnedChars"], shown);
    assert_eq!(room.desk.left().unwrap(), 80_000 - shown as u64);
    let nothing = json!({"name": "haiku", "query": "zzz"});
    let found = room.house.call("skill.search", nothing).await.unwrap();
    assert_eq!(
        (&found["hits"], &found["searchedFiles"]),
        (&json!([]), &json!(3))
    );
}

/// What there is, what is asked for, what comes of it and what is left then.
#[tokio::test]
async fn budgets_of_a_call_and_of_a_run() {
    let long = |more: Json| {
        let mut asked = json!({"name": "haiku", "path": "long.md"});
        asked
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        asked
    };
    const EXCEEDED: &str = "skill.read_budget_exceeded";
    const EXHAUSTED: &str = "skill.read_budget_exhausted";
    for (per_call, left, asked, outcome, then) in [
        (100, 500, long(json!({})), Ok(100), 400),
        (100, 500, long(json!({"max_chars": 100})), Ok(100), 400),
        (
            100,
            500,
            long(json!({"max_chars": 101})),
            Err(EXCEEDED),
            500,
        ),
        (100, 500, long(json!({"line_count": 1})), Err(EXCEEDED), 500),
        (100, 60, long(json!({})), Ok(60), 0),
        (100, 60, long(json!({"max_chars": 60})), Ok(60), 0),
        (100, 60, long(json!({"max_chars": 61})), Err(EXHAUSTED), 60),
        (100, 0, long(json!({})), Err(EXHAUSTED), 0),
        (1_000_000, 1_000_000, long(json!({})), Ok(14_000), 986_000),
    ] {
        let rules = json!({"visible": ["*"], "maxReadCharsPerCall": per_call});
        let room = Room::new(rules, left);
        let read = room.house.call("skill.read", asked.clone()).await;
        match (read, outcome) {
            (Ok(read), Ok(chars)) => assert_eq!(read["chars"], chars, "{asked}"),
            (Err(error), Err(code)) => assert_eq!(error.code.as_str(), code, "{asked}"),
            (read, _) => panic!("{asked}: {read:?}"),
        }
        assert_eq!(room.desk.left().unwrap_or(0), then, "{asked}");
        let spent = room.desk.take(&CallId::new("call_1"));
        assert_eq!(spent, left - then);
        assert_eq!(room.desk.take(&CallId::new("call_1")), 0);
    }
    for (per_call, left, outcome) in [
        (100, 10, Err(EXHAUSTED)),
        (10, 100, Err(EXCEEDED)),
        (16, 16, Ok(16)),
    ] {
        let room = Room::new(
            json!({"visible": ["*"], "maxReadCharsPerCall": per_call}),
            left,
        );
        let asked =
            json!({"name": "haiku", "query": "season", "path": "SKILL.md", "context_lines": 0});
        match (room.house.call("skill.search", asked).await, outcome) {
            (Ok(found), Ok(chars)) => {
                assert_eq!(
                    (&found["returnedChars"], &found["truncated"]),
                    (&json!(chars), &json!(true))
                );
            }
            (Err(error), Err(code)) => assert_eq!(error.code.as_str(), code),
            (found, _) => panic!("{found:?}"),
        }
    }
}
