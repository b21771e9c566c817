//! Profiles in their folders.

use std::fs;

use innkeeper_protocol::{ErrorCode, Locale};
use innkeeper_tools::{ProjectId, UserId};
use serde_json::{Value as Json, json};

use super::house::{House, named, put, refused};
use super::{comfy, read, with};
use crate::limits::{MAX_PROFILE_BYTES, MAX_PROFILE_FILES};
use crate::profile::{
    BuiltIn, CHAT, DEFAULT_WRITER, ProfileSource, Profiles, RepairAction, Unseen,
};

#[test]
fn the_writer_is_always_there_and_first() {
    let home = tempfile::tempdir().unwrap();
    let profiles = Profiles::of_house(&home.path().join("not/yet"));
    let list = serde_json::to_value(profiles.list().unwrap()).unwrap();
    assert_eq!(list["profiles"][0]["id"], DEFAULT_WRITER);
    assert_eq!(list["profiles"][0]["displayName"], "Default Writer");
    assert_eq!(list["profiles"][0]["directRunnable"], true);
    assert_eq!(list["profiles"][1]["id"], CHAT);
    assert_eq!(list["issues"], json!([]));
    let loaded = profiles.load(DEFAULT_WRITER, None).unwrap();
    assert_eq!(loaded.source.to_string(), "built_in");

    let house = House::new();
    put(&house.house(), "a.json", &named("a"));
    put(
        &house.project(),
        "default-writer.json",
        &named(DEFAULT_WRITER),
    );
    assert_eq!(house.ids(), [DEFAULT_WRITER, "a", CHAT]);
    let loaded = house.profiles.load(DEFAULT_WRITER, None).unwrap();
    assert_eq!(loaded.profile.display_name, "My Writer");
    assert_eq!(loaded.source.to_string(), "file:default-writer");
    // A broken one is told; the list still has the writer, and loading does not pretend.
    fs::write(house.project().join("default-writer.json"), "{").unwrap();
    assert_eq!(house.ids(), [DEFAULT_WRITER, "a", CHAT]);
    let broken = house.profiles.load(DEFAULT_WRITER, None);
    refused(
        broken,
        ErrorCode::AgentInvalidProfile,
        "agent.profile_contract_invalid",
    );
    house.profiles.delete(DEFAULT_WRITER).unwrap();
    assert_eq!(
        house.profiles.load(DEFAULT_WRITER, None).unwrap().source,
        ProfileSource::BuiltIn
    );
}

#[test]
fn the_project_comes_before_the_house() {
    let house = House::new();
    put(
        &house.house(),
        "a.json",
        &with(named("a"), "/displayName", json!("of the house")),
    );
    put(&house.house(), "b.json", &named("b"));
    put(
        &house.project(),
        "a.json",
        &with(named("a"), "/displayName", json!("of the project")),
    );
    assert_eq!(house.ids(), [DEFAULT_WRITER, "a", "b", CHAT]);
    let name = || house.profiles.load("a", None).unwrap().profile.display_name;
    assert_eq!(name(), "of the project");
    // A broken file in the project does not bring back the other.
    fs::write(house.project().join("a.json"), "[]").unwrap();
    assert!(house.profiles.load("a", None).is_err());
    assert_eq!(house.ids(), [DEFAULT_WRITER, "b", CHAT]);
    house.profiles.delete("a").unwrap();
    assert_eq!(name(), "of the house");

    let other = UserId::try_from("ann").unwrap();
    let project = ProjectId::try_from("p").unwrap();
    let of_ann = Profiles::of_project(house.home.path(), &other, &project);
    of_ann.save_json(&named("hers"), None).unwrap();
    let file = house
        .home
        .path()
        .join("users/ann/projects/p/agent_profiles/hers.json");
    assert!(file.is_file());
    assert!(house.profiles.find("hers", None).unwrap().is_none());
}

#[test]
fn files_that_cannot_be_used_are_told_with_a_remedy() {
    let house = House::new();
    fs::write(house.project().join("broken.json"), "{").unwrap();
    put(&house.project(), "other.json", &named("a"));
    put(&house.project(), "Bad Name.json", &named("bad"));
    put(
        &house.project(),
        "rules.json",
        &with(named("rules"), "/tools/maxRounds", json!(0)),
    );
    fs::write(house.project().join("latin.json"), b"\"\xff\"").unwrap();
    fs::write(house.project().join("notes.txt"), "x").unwrap();
    fs::write(house.project().join(".hidden.json"), "x").unwrap();
    let identity = |stem: &str| {
        json!({"profileId": stem, "fileName": format!("{stem}.json"), "kind": "invalidFileIdentity",
               "recommendedAction": "normalizeIdentity"})
    };
    assert_eq!(
        house.issues(),
        json!([
            identity("Bad Name"),
            {"profileId": "broken", "fileName": "broken.json", "kind": "invalidJson", "recommendedAction": "delete"},
            {"profileId": "latin", "fileName": "latin.json", "kind": "invalidProfile"},
            identity("other"),
            {"profileId": "rules", "fileName": "rules.json", "kind": "invalidProfile"},
        ])
    );
    assert_eq!(house.ids(), [DEFAULT_WRITER, CHAT]);
    refused(
        house.profiles.load("other", None),
        ErrorCode::AgentValidationError,
        "agent.profile_file_identity_invalid",
    );

    let repair = |id: &str, action| house.profiles.repair_file(id, action);
    repair("other", RepairAction::NormalizeIdentity).unwrap();
    repair("Bad Name", RepairAction::NormalizeIdentity).unwrap();
    repair("broken", RepairAction::Delete).unwrap();
    refused(
        repair("latin", RepairAction::NormalizeIdentity),
        ErrorCode::AgentProfileStorageFailed,
        "",
    );
    repair("latin", RepairAction::Delete).unwrap();
    repair("rules", RepairAction::Delete).unwrap();
    assert_eq!(house.issues(), json!([]));
    assert_eq!(house.ids(), [DEFAULT_WRITER, "bad", CHAT, "other"]);
    assert!(!house.project().join("Bad Name.json").exists());
}

#[test]
fn a_repair_destroys_nothing() {
    let house = House::new();
    put(&house.project(), "Bad.json", &named("good"));
    put(&house.project(), "good.json", &named("good"));
    put(
        &house.project(),
        "?.json",
        &with(named("x"), "/id", json!("?")),
    );
    fs::write(house.project().join("broken.json"), "{").unwrap();
    put(&house.project(), "list.json", &json!([]));
    for id in ["Bad", "?", "broken", "list"] {
        refused(
            house
                .profiles
                .repair_file(id, RepairAction::NormalizeIdentity),
            ErrorCode::AgentValidationError,
            "agent.profile_repair_action_invalid",
        );
        assert!(house.project().join(format!("{id}.json")).exists());
    }
    for id in ["gone", "../default/agent_profiles/good", "", "."] {
        let gone = house.profiles.repair_file(id, RepairAction::Delete);
        refused(gone, ErrorCode::AgentNotFound, "agent.profile_not_found");
    }
    assert!(RepairAction::named("normalizeIdentity").is_ok());
    assert!(RepairAction::named("explode").is_err());
}

#[test]
fn saving_keeps_what_the_author_wrote() {
    let house = House::new();
    // In another order than ours.
    let document = with(named("a"), "/kind", Json::Null);
    let document = with(document, "/kind", json!("tauritavern.agentProfile"));
    house.profiles.save_json(&document, None).unwrap();
    let file = house.project().join("a.json");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(text, format!("{document:#}\n"));
    assert!(!text.contains("delegation"));

    let mut profile = house.profiles.load("a", None).unwrap().profile;
    profile.tools.max_rounds = 7;
    house.profiles.save(&profile, None).unwrap();
    let saved: Json = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let keys = |json: &Json| -> Vec<String> { json.as_object().unwrap().keys().cloned().collect() };
    let old = keys(&document);
    assert_eq!(keys(&saved)[..old.len()], old);
    assert_eq!(saved["tools"]["maxRounds"], 7);
    assert_eq!(keys(&saved["tools"])[..2], ["allow", "deny"]);
    assert_eq!(house.profiles.load("a", None).unwrap().profile, profile);

    // Where a profile lies it stays.
    put(&house.house(), "b.json", &named("b"));
    house
        .profiles
        .save_json(&with(named("b"), "/displayName", json!("B")), None)
        .unwrap();
    assert!(!house.project().join("b.json").exists());
    assert_eq!(
        house.profiles.load("b", None).unwrap().profile.display_name,
        "B"
    );
    // No remains of writing.
    let count = fs::read_dir(house.project()).unwrap().count();
    assert_eq!(count, 1);
}

#[test]
fn nothing_bad_is_saved() {
    let house = House::new();
    put(&house.project(), "a.json", &named("a"));
    let before = fs::read_to_string(house.project().join("a.json")).unwrap();
    let bad = with(named("a"), "/tools/maxRounds", json!(0));
    refused(
        house.profiles.save_json(&bad, None),
        ErrorCode::AgentInvalidProfile,
        "agent.profile_max_rounds_invalid",
    );
    let mut profile = read(&named("a"));
    profile.tools.max_rounds = 0;
    refused(
        house.profiles.save(&profile, None),
        ErrorCode::AgentInvalidProfile,
        "agent.profile_max_rounds_invalid",
    );
    assert_eq!(
        profile.check(None).unwrap_err().reason(),
        "agent.profile_max_rounds_invalid"
    );
    profile.tools.max_rounds = 1;
    profile.id = "../x".into();
    refused(
        house.profiles.save(&profile, None),
        ErrorCode::AgentInvalidProfile,
        "agent.profile_id_invalid",
    );
    assert_eq!(
        fs::read_to_string(house.project().join("a.json")).unwrap(),
        before
    );
}

#[test]
fn a_comfy_file_has_any_name() {
    let house = House::new();
    put(&house.project(), "merchant.json", &comfy());
    assert_eq!(house.ids(), [DEFAULT_WRITER, CHAT, "npc-merchant"]);
    let mut profile = house.profiles.load("npc-merchant", None).unwrap().profile;
    profile.display_name = "Grocer".to_owned();
    house.profiles.save(&profile, None).unwrap();
    let text = fs::read_to_string(house.project().join("merchant.json")).unwrap();
    let expected = with(comfy(), "/name", json!("Grocer"));
    let expected = with(
        expected,
        "/skill_workflow_ids_inventory",
        json!(["haggle", "greet"]),
    );
    // To the letter: its own order, and the fields that nobody here understands.
    assert_eq!(text, format!("{expected:#}\n"));
    assert!(!house.project().join("npc-merchant.json").exists());
    // Another profile of the file's name would take its place.
    refused(
        house.profiles.save_json(&named("merchant"), None),
        ErrorCode::AgentValidationError,
        "agent.profile_file_identity_invalid",
    );
    house.profiles.delete("npc-merchant").unwrap();
    assert!(!house.project().join("merchant.json").exists());
}

#[test]
fn ids_are_never_paths() {
    let house = House::new();
    put(house.home.path(), "secret.json", &named("secret"));
    for id in [
        "../../../secret",
        "..",
        ".",
        "",
        "a/b",
        "a\\b",
        "A",
        "x\0",
        "/etc/passwd",
        "a:b",
    ] {
        for result in [
            house.profiles.load(id, None).map(drop),
            house.profiles.find(id, None).map(drop),
            house.profiles.delete(id),
            house.profiles.diagnose(id, None, &Unseen).map(drop),
        ] {
            let error = result.unwrap_err();
            assert_eq!(
                error.code(),
                ErrorCode::AgentValidationError,
                "{id:?}: {error}"
            );
        }
    }
    assert!(house.home.path().join("secret.json").exists());
}

#[cfg(unix)]
#[test]
fn links_lead_nowhere() {
    use std::os::unix::fs::symlink;
    let house = House::new();
    let outside = tempfile::tempdir().unwrap();
    put(outside.path(), "a.json", &named("a"));
    let target = outside.path().join("a.json");
    symlink(&target, house.project().join("a.json")).unwrap();
    refused(
        house.profiles.load("a", None),
        ErrorCode::AgentProfileStorageFailed,
        "",
    );
    refused(
        house.profiles.save_json(&named("a"), None),
        ErrorCode::AgentProfileStorageFailed,
        "",
    );
    assert_eq!(house.issues()[0]["kind"], "invalidProfile");
    // The link goes, and not what it points to.
    house.profiles.delete("a").unwrap();
    assert!(target.exists());

    // Not even to a neighbour.
    put(&house.project(), "b.json", &named("b"));
    symlink("b.json", house.project().join("c.json")).unwrap();
    let error = house.profiles.load("c", None).unwrap_err().to_string();
    assert!(error.contains("links are not followed"), "{error}");

    // A folder that is a link is no folder of the project.
    fs::remove_dir_all(house.project()).unwrap();
    symlink(outside.path(), house.project()).unwrap();
    assert!(house.profiles.load("a", None).is_err());
    assert!(house.profiles.save_json(&named("b"), None).is_err());
    assert!(!outside.path().join("b.json").exists());
}

#[cfg(unix)]
#[test]
fn a_pipe_is_not_waited_for() {
    let house = House::new();
    let made = std::process::Command::new("mkfifo")
        .arg(house.project().join("a.json"))
        .status();
    assert!(made.unwrap().success());
    refused(
        house.profiles.load("a", None),
        ErrorCode::AgentProfileStorageFailed,
        "",
    );
}

#[test]
fn folders_and_files_are_bounded() {
    let house = House::new();
    fs::write(
        house.project().join("big.json"),
        " ".repeat(MAX_PROFILE_BYTES + 1),
    )
    .unwrap();
    refused(
        house.profiles.load("big", None),
        ErrorCode::AgentProfileStorageFailed,
        "",
    );
    fs::create_dir(house.project().join("folder.json")).unwrap();
    refused(
        house.profiles.load("folder", None),
        ErrorCode::AgentProfileStorageFailed,
        "",
    );
    for at in 0..MAX_PROFILE_FILES {
        fs::write(house.project().join(format!("{at:04}.json")), "{").unwrap();
    }
    let list = house.profiles.list().unwrap();
    assert_eq!(list.issues.len(), MAX_PROFILE_FILES);
    assert_eq!(list.issues[0].profile_id, "0000");
}

#[test]
fn what_is_not_there() {
    let house = House::new();
    put(&house.project(), "writer.json", &named("writer"));
    let error = house.profiles.load("writr", None).unwrap_err();
    assert_eq!(error.code(), ErrorCode::AgentNotFound);
    assert_eq!(
        error.to_string(),
        "there is no profile 'writr', did you mean 'writer'?"
    );
    assert!(house.profiles.find("gone", None).unwrap().is_none());
    refused(
        house.profiles.delete("gone"),
        ErrorCode::AgentNotFound,
        "agent.profile_not_found",
    );
    for built_in in BuiltIn::ALL {
        refused(
            house.profiles.delete(built_in.id),
            ErrorCode::AgentValidationError,
            "agent.profile_built_in",
        );
    }
}

#[test]
fn prompts_are_resolved() {
    let house = House::new();
    let own = with(
        named("a"),
        "/instructions/agentSystemPrompt",
        json!("Rhyme."),
    );
    put(&house.project(), "a.json", &own);
    let prompt = |id| {
        house
            .profiles
            .resolve_system_prompt(id, Locale::En)
            .unwrap()
    };
    assert_eq!(prompt(Some("a")), "Rhyme.");
    assert!(prompt(None).starts_with("You are Default Writer"));
}
